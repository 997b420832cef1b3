"""Inlining of functions with one caller: calls that go, and the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler import (
    Tensor,
    compile_info,
    float32,
    gradient_source,
    nn,
    ops,
    value_and_grad,
)
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.parser import parse_functions
from autodiff_compiler.passes.simplify.inline_single_use import inline_single_use
from tests.passes.conftest import Optimised

HALVES = """
# role='forward', order=1
func @u_forward(%a: float) -> (float) {
  %b: float = mul %a, %a
  return %b
}
# role='gradient', order=1
func @u_grad(%a: float) -> (float) {
  %b: float = call @u_forward(%a)
  return %b
}
func @v(%a: float) -> (float) {
  %b: float = neg %a
  return %b
}
"""


def calls(function: Function) -> list[str]:
    return [op.attrs["callee"].name for op in function.body.walk() if op.name == "call"]


def read(body: str) -> Function:
    text = f"{HALVES}func @f(%x: float) -> (float) {{\n{body}\n}}\n"
    return parse_functions(text, OPERATORS)["f"]


def test_callees_of_derivatives_are_inlined_with_them(optimised: Optimised) -> None:
    f = read("%y: float = call @u_grad(%x)\n%z: float = call @v(%y)\nreturn %z")
    assert calls(optimised(f, inline_single_use)) == ["v"]  # a text of the user's in another stays


def test_functions_with_two_callers_stay(optimised: Optimised) -> None:
    f = read("%y: float = call @u_grad(%x)\n%z: float = call @u_grad(%y)\nreturn %z")
    done = optimised(f, inline_single_use)
    assert calls(done) == ["u_grad", "u_grad"]
    assert [calls(callee) for callee in done.callees()] == [[]]


def test_recomputed_functions_stay() -> None:
    f = read("%y: float = call @u_grad(%x)\nreturn %y")
    assert inline_single_use(f, lambda call: False) is f


def test_without_derivatives_nothing_changes() -> None:
    f = read("%y: float = call @v(%x)\nreturn %y")
    assert inline_single_use(f) is f


def layer(x, w):
    return ops.tanh(ops.matmul(x, w))


def energy(x, w):
    return ops.sum(layer(x, w) ** 3)


def of_one_slope(x, w):
    slope = ops.grad(energy)(x, w)
    return ops.sum(slope * slope)


def of_two_slopes(x, w):
    slope = ops.grad(energy)
    return ops.sum(slope(slope(x, w), w))


def by_hand(x, w):
    """Returns the gradient of ``energy``."""
    h = np.tanh(x @ w)
    return (3 * h * h * (1 - h * h)) @ w.T


def numeric(function, x, step=1e-6):
    slopes = np.empty_like(x)
    for place in np.ndindex(x.shape):
        moved = np.zeros_like(x)
        moved[place] = step
        slopes[place] = (function(x + moved) - function(x - moved)) / (2 * step)
    return slopes


def test_gradients_of_gradients_through_functions() -> None:
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=(2, 3)), rng.normal(size=(3, 3))
    once_more = ops.grad(of_one_slope)(Tensor(x), Tensor(w)).asnumpy()
    np.testing.assert_allclose(
        once_more, numeric(lambda at: (by_hand(at, w) ** 2).sum(), x), rtol=1e-6, atol=1e-7
    )
    (text,) = [unit.source for unit in compile_info().units if "of_one_slope" in unit.source]
    assert text.count("def ") == 2  # forward and backward: ``layer`` is in its derivatives
    twice = ops.grad(of_two_slopes)(Tensor(x), Tensor(w)).asnumpy()
    want = numeric(lambda at: by_hand(by_hand(at, w), w).sum(), x)
    np.testing.assert_allclose(twice, want, rtol=1e-6, atol=1e-7)


def test_the_second_sweep_is_told_by_the_names() -> None:
    ops.grad(of_one_slope)(Tensor(np.ones((2, 3))), Tensor(np.ones((3, 3))))
    (text,) = [unit.source for unit in compile_info().units if "of_one_slope" in unit.source]
    assert "d_slope" in text and "d2_d_" in text


SHARED = """
func @inner(%a: f32[3]) -> (f32[3]) {
  %b: f32[3] = exp %a
  %c: f32[3] = tanh %b
  return %c
}
func @u(%a: f32[3]) -> (f32[3]) {
  %b: f32[3] = sin %a
  %c: f32[3] = call @inner(%b)
  %d: f32[3] = neg %c
  return %d
}
func @f(%x: f32[3], %z: f32[3]) -> (f32[3], f32[3]) {
  %s: f32[3] = sin %x
  %e: f32[3] = exp %s
  %t: f32[3] = tanh %e{about}
  %y: f32[3] = call @u(%x)
  %o: f32[3] = call @u(%z)
  %r: f32[3] = mul %y, %t
  return %r, %o
}
"""


def test_callees_that_the_caller_mostly_computes_are_inlined() -> None:
    f = parse_functions(SHARED.replace("{about}", "  # adjoint"), OPERATORS)["f"]
    done = inline_single_use(f)
    assert calls(done) == ["u"]  # of another argument nothing is known
    assert [op.name for op in done.body.ops].count("exp") == 1
    assert inline_single_use(f, lambda call: False) is f


def test_repeated_calls_in_the_users_function_stay() -> None:
    f = parse_functions(SHARED.replace("{about}", ""), OPERATORS)["f"]
    assert inline_single_use(f) is f


def test_functions_on_large_arrays_with_one_caller_are_inlined() -> None:
    text = """
func @v(%a: f32[20000]) -> (f32[20000]) {{
  %b: f32[20000] = neg %a
  return %b
}}
func @f(%x: f32[20000]) -> (f32[20000]) {{
  %y: f32[20000] = call @v(%x)
  {again}
  return %z
}}
"""
    single = parse_functions(text.format(again="%z: f32[20000] = neg %y"), OPERATORS)["f"]
    double = parse_functions(text.format(again="%z: f32[20000] = call @v(%y)"), OPERATORS)["f"]
    assert calls(inline_single_use(single)) == []
    assert inline_single_use(double) is double


IN_A_LOOP = """
func @v(%a: f32[512]) -> (f32[512]) {{
  %b: f32[512] = neg %a
  return %b
}}
func @u(%a: f32[512]) -> (f32[512]) {{
  {inner}
  return %b
}}
func @f(%x: f32[512]) -> (f32[512]) {{
  %y: f32[512], %n: int = for %p, %k in (0, {turns}, 1) carry (%c: f32[512] = %x) {{
    %d: f32[512] = call @u(%c)
    yield carry %d
  }}
  return %y
}}
"""
TURNS_WITHIN = """%b: f32[512], %m: int = for %q, %l in (0, 4, 1) carry (%e: f32[512] = %a) {
    %g: f32[512] = call @v(%e)
    yield carry %g
  }"""


@pytest.mark.parametrize(
    "inner, turns, left",
    [
        ("%b: f32[512] = neg %a", 32, []),
        ("%b: f32[512] = neg %a", 31, ["u"]),
        (TURNS_WITHIN, 8, []),
        (TURNS_WITHIN, 7, ["u"]),
    ],
    ids=["large together", "small together", "loops in loops", "small loops in loops"],
)
def test_results_of_all_iterations_count_together(inner, turns, left):
    f = parse_functions(IN_A_LOOP.format(inner=inner, turns=turns), OPERATORS)["f"]
    assert calls(inline_single_use(f)) == left


@pytest.mark.parametrize("turns, called", [(44, False), (4, True)])
def test_a_cell_in_a_loop_has_the_right_gradient(turns, called):
    """Its products with weights are one before the loop, and one after it; the bias is there for
    each turn, and the state of one turn is kept before the next writes over it."""
    rng = np.random.default_rng(11)
    cell = nn.RNNCell(20, 20)
    for parameter in cell.get_parameters():
        parameter.set_data(Tensor(rng.normal(size=parameter.shape, scale=0.3).astype(np.float32)))
    w, u, b, c = (p.asnumpy().astype(float) for p in (
        cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh))  # fmt: skip

    def states(x):
        h = ops.zeros((20, 20), float32)
        for k in range(turns):
            h = cell(x[k], h)
        return ops.sum(h * h)

    def value(x, w, u, b):
        h = np.zeros((20, 20))
        for row in x:
            h = np.tanh(row @ w.T + b + h @ u.T + c)
        return (h * h).sum()

    x = rng.normal(size=(turns, 20, 20)).astype(np.float32)
    weights = (cell.weight_ih, cell.weight_hh, cell.bias_ih)
    found, (d_x, d_weights) = value_and_grad(states, 0, weights)(Tensor(x))
    at = [x.astype(float), w, u, b]
    np.testing.assert_allclose(found.asnumpy(), value(*at), rtol=1e-4)
    for place, slope in enumerate((d_x, *d_weights)):
        way = rng.normal(size=at[place].shape)
        near = [value(*at[:place], at[place] + s * way, *at[place + 1 :]) for s in (1e-6, -1e-6)]
        np.testing.assert_allclose(
            (slope.asnumpy() * way).sum(), (near[0] - near[1]) / 2e-6, rtol=1e-3, atol=1e-4
        )
    text = compile_info().units[-1].source
    assert ("rnn_cell_backward" in text) == called


class Halved(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.pool = nn.MaxPool2d(2, 2)

    def construct(self, x: Any) -> Any:
        return ops.sum(self.pool(ops.relu(x)) ** 2)


def test_a_cell_keeps_its_name_while_it_is_small() -> None:
    net = Halved()
    small, large = (Tensor(np.ones((1, 1, n, n), np.float32)) for n in (8, 256))
    assert "max_pool2d_backward" in gradient_source(net, small)
    assert "max_pool2d_backward" not in gradient_source(net, large)
    random = np.random.default_rng(5).normal(size=(1, 2, 128, 130)).astype(np.float32)
    found = value_and_grad(net)(Tensor(random))[1].asnumpy()
    blocks = random.reshape(1, 2, 64, 2, 65, 2)
    best = blocks.max(axis=(3, 5), keepdims=True)
    wanted = (np.where(blocks == best, 2 * np.maximum(best, 0), 0)).reshape(random.shape)
    np.testing.assert_array_equal(found, wanted)
