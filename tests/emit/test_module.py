"""Emitted modules read like source that a careful person would write."""

from autodiff_compiler.emit.module import emit_module
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import Function, Region, Value
from autodiff_compiler.ir.types import INT, array
from autodiff_compiler.operators import OPERATORS
from autodiff_compiler.operators.core.containers import item, make_tuple
from autodiff_compiler.operators.core.structure import full_like, sum_, swap_last_axes
from autodiff_compiler.span import NOWHERE, Span

F23, F33, F1 = array("float32", 2, 3), array("float32", 3, 3), array("float32", 1)
greater, matmul, mul, sub, tanh = (
    OPERATORS[name] for name in ("greater", "matmul", "mul", "sub", "tanh")
)
LINES = {
    13: "x = x * self.z", 14: "out = self.matmul(x, y)",
}  # fmt: skip
DECAY = {
    11: "for i in range(n):", 12: "    u = self.matmul(h, w)", 13: "    if self.sum(u) > 0:",
    14: "        h = self.tanh(u)", 16: "        h = u * 0.5",
}  # fmt: skip


def span(lines, number):
    return Span("net.py", number, 1, 2, lines[number])


def named(value, name, given=True):
    value.name, value.has_user_name = name, given
    return value


def function(name, params, builder, returns, role="primal"):
    return Function(name, Region(tuple(params), tuple(builder.ops), tuple(returns)), NOWHERE,
                    role=role)  # fmt: skip


def net():
    """Returns the forward and the backward function of the first example."""
    x, y, z = Value(F23, "x"), Value(F33, "y"), Value(F1, "z")
    with Builder() as b:
        with b.at(span(LINES, 13)):
            x_1 = named(mul(x, z), "x")
        with b.at(span(LINES, 14)):
            out = named(matmul(x_1, y), "out")
        kept = named(make_tuple(x, x_1, y, z), "residuals")
    forward = function("net_forward", [x, y, z], b, [out, kept], "forward")
    residuals, d_out = Value(kept.type, "residuals"), Value(F23, "d_out")
    with Builder() as b:
        x, x_1, y, z = (
            named(item(residuals, key=key), name) for key, name in enumerate(("x", "x", "y", "z"))
        )
        with b.at(span(LINES, 14), "adjoint"):
            d_x_1 = named(matmul(d_out, swap_last_axes(y)), "d_x")
            d_y = named(matmul(swap_last_axes(x_1), d_out), "d_y")
        with b.at(span(LINES, 13), "adjoint"):
            d_x = named(mul(d_x_1, z), "d_x")
            d_z = sum_(mul(d_x_1, x), axes=(0, 1), keepdims=False)
            d_z = named(OPERATORS["reshape"](d_z, shape=(1,)), "d_z")
    return forward, function("net_backward", [residuals, d_out], b, [d_x, d_y, d_z], "backward")


def test_the_first_example():
    text = emit_module(net(), lambda printed: ["Net.construct  net.py:12"]).source
    assert text == (
        '''\
"""Net.construct  net.py:12"""

import numpy as np


def net_forward(x, y, z):
    x_1 = x * z           # 13| x = x * self.z
    out = np.dot(x_1, y)  # 14| out = self.matmul(x, y)
    return out, (x, x_1, y, z)


def net_backward(residuals, d_out):
    x, x_1, y, z = residuals
    # 14| out = self.matmul(x, y)
    d_x_1 = np.dot(d_out, y.T)
    d_y = np.dot(x_1.T, d_out)
    # 13| x = x * self.z
    d_x = d_x_1 * z
    d_z = (d_x_1 * x).sum(axis=(0, 1)).reshape(1)
    return d_x, d_y, d_z
'''
    )


def test_lines_know_where_they_come_from():
    emitted = emit_module(net())
    lines = emitted.source.splitlines()
    assert {lines[n - 1].split("#")[0].strip(): s.line for n, s in emitted.line_map.items()} == {
        "x_1 = x * z": 13, "out = np.dot(x_1, y)": 14,
        "d_x_1 = np.dot(d_out, y.T)": 14, "d_y = np.dot(x_1.T, d_out)": 14,
        "d_x = d_x_1 * z": 13, "d_z = (d_x_1 * x).sum(axis=(0, 1)).reshape(1)": 13,
    }  # fmt: skip


def decay_forward():
    x, w, n = Value(F23, "x"), Value(F33, "w"), Value(INT, "n")
    k, i, h = Value(INT, "k"), Value(INT, "i", True), Value(F23, "h", True)
    with Builder() as b:
        with b.block() as body:
            with b.at(span(DECAY, 12)):
                u = named(matmul(h, w), "u")
            with b.at(span(DECAY, 13)):
                branch = named(greater(sum_(u, axes=None, keepdims=False), 0.0), "branch", False)
                with b.block() as then, b.at(span(DECAY, 14)):
                    h_then = named(tanh(u), "h")
                with b.block() as orelse, b.at(span(DECAY, 16)):
                    h_else = named(mul(u, 0.5), "h")
                regions = Region((), tuple(then), (h_then,)), Region((), tuple(orelse), (h_else,))
                (h_out,) = b.branch(branch, *regions)
                named(h_out, "h")
        with b.at(span(DECAY, 11)):
            region = Region((k, i, h), tuple(body), (h_out, h, h_out, branch))
            out, entering, leaving, branches, _ = b.loop((0, n, 1), [x], [], region).results
        kept = make_tuple(entering, leaving, branches, w, n)
    return function("decay_forward", [x, w, n], b, [out, kept], "forward")


def decay_backward(kept):
    residuals, d_out = Value(kept, "residuals"), Value(F23, "d_h")
    k, i = Value(INT, "k"), Value(INT, "i", True)
    d_h, d_w = Value(F23, "d_h", True), Value(F33, "d_w", True)
    reads = Value(F23, "h_in"), Value(F23, "h_out"), Value(array("bool"), "branch")
    with Builder() as b:
        names = ("h_tape", "h_tape", "branch_tape", "w", "n")
        tapes = [named(item(residuals, key=key), name) for key, name in enumerate(names)]
        *tapes, w, n = tapes
        with b.at(span(DECAY, 11), "adjoint"):
            zeros = full_like(w, value=0)
        with b.block() as body:
            h_in, h_out, branch = reads
            with b.block() as then, b.at(span(DECAY, 14), "adjoint"):
                d_then = mul(d_h, sub(1.0, mul(h_out, h_out)))
            with b.block() as orelse, b.at(span(DECAY, 16), "adjoint"):
                d_else = mul(d_h, 0.5)
            with b.at(span(DECAY, 13), "adjoint"):
                regions = Region((), tuple(then), (d_then,)), Region((), tuple(orelse), (d_else,))
                (d_u,) = b.branch(branch, *regions)
                named(d_u, "d_u")
            with b.at(span(DECAY, 12), "adjoint"):
                d_h_in = named(matmul(d_u, swap_last_axes(w)), "d_h")
                d_w_out = OPERATORS["add"](d_w, matmul(swap_last_axes(h_in), d_u))
        with b.at(span(DECAY, 11), "adjoint"):
            region = Region((k, i, d_h, d_w, *reads), tuple(body), (d_h_in, d_w_out))
            d_x, d_w, _ = b.loop((0, n, 1), [d_out, zeros], tapes, region, reverse=True).results
    return function("decay_backward", [residuals, d_out], b, [d_x, d_w], "backward")


def test_the_second_example():
    forward = decay_forward()
    backward = decay_backward(forward.returns[1].type)
    text = emit_module([forward, backward]).source
    assert text == (
        """\
import numpy as np


def decay_forward(x, w, n):
    h = x
    h_tape, h_tape_1, branch_tape = [], [], []
    for i in range(n):          # 11| for i in range(n):
        h_tape.append(h)
        u = np.dot(h, w)        # 12| u = self.matmul(h, w)
        branch = u.sum() > 0.0  # 13| if self.sum(u) > 0:
        if branch:
            h = np.tanh(u)      # 14| h = self.tanh(u)
        else:
            h = u * 0.5         # 16| h = u * 0.5
        h_tape_1.append(h)
        branch_tape.append(branch)
    return h, (h_tape, h_tape_1, branch_tape, w, n)


def decay_backward(residuals, d_h):
    h_tape, h_tape_1, branch_tape, w, n = residuals
    d_w = np.zeros_like(w)
    for i in reversed(range(n)):  # 11| for i in range(n):
        h_in, h_out, branch = h_tape[i], h_tape_1[i], branch_tape[i]
        if branch:                # 13| if self.sum(u) > 0:
            # 14| h = self.tanh(u)
            d_u = d_h * (1.0 - h_out * h_out)
        else:
            # 16| h = u * 0.5
            d_u = d_h * 0.5
        # 12| u = self.matmul(h, w)
        d_h = np.dot(d_u, w.T)
        d_w = d_w + np.dot(h_in.T, d_u)
    return d_h, d_w
"""
    )
