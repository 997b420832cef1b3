# ruff: noqa: E501  (IR text has lines of its own length)
"""Derivatives in terms of forward values: the same gradients, also of NaN and infinities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.passes.derivative.reuse_forward_values import reuse_forward_values
from tests.interpreter import run
from tests.passes.conftest import Optimised

W, S = "f32[6,6]", "f32[6,1]"


def program(*lines: str, returns: str) -> Function:
    """Returns a function of primal lines, and of adjoint ones from a line that begins with ``-``."""
    names = [f"  {line.lstrip('- ')}{'  # adjoint' if line[0] == '-' else ''}" for line in lines]
    head = f"func @f(%x: {W}, %t: {W}, %s: {S}, %a: {S}) -> ({W}) {{"
    return parse_function("\n".join([head, *names, f"  return {returns}", "}", ""]))


CENTRED = (f"%m: {S} = mean %x {{axes=(1,), keepdims=True}}", f"%c: {W} = sub %x, %m")
UP = "-%h: f32[1,6] = reshape %g {shape=(1, 6)}"


def over(k: str, *rest: str) -> Function:
    return program(
        *CENTRED, f"%z: {W} = div %c, %s", f"-%u: {W} = mul %t, %z", f"-%g: {S} = {k}", *rest,
        f"-%v: {W} = mul %g, %c", f"-%y: {W} = add %u, %v", returns="%y",
    )  # fmt: skip


def times(*rest: str, c: str = "%c") -> Function:
    return program(
        *CENTRED, f"%z: {W} = mul %c, %s", f"-%u: {W} = mul %t, %z", f"-%w: {W} = mul %t, %c",
        *rest, f"-%v: {W} = mul %g, {c}", f"-%y: {W} = add %u, %v", returns="%y",
    )  # fmt: skip


TOTAL = f"-%p: {S} = sum %w {{axes=(1,), keepdims=True}}"
BETTER = {
    "divided": over("div %a, %s"),
    "a quotient within": program(
        *CENTRED, f"%z: {W} = div %c, %s", f"-%u: {W} = mul %t, %z", f"-%q: {S} = div %a, %s",
        "-%r: f32[6] = reshape %q {shape=(6,)}", "-%n: f32[6] = neg %r", "-%h: f32[6] = mul %n, 3.0",
        f"-%g: {S} = reshape %h {{shape=(6, 1)}}", f"-%v: {W} = mul %g, %c",
        f"-%y: {W} = add %u, %v", returns="%y",
    ),
    "a sum of quotients": program(
        *CENTRED, f"%z: {W} = div %c, %s", f"-%u: {W} = mul %t, %z", f"-%q: {W} = div %u, %s",
        f"-%p: {S} = sum %q {{axes=(1,), keepdims=True}}", f"-%g: {S} = div %p, %a",
        f"-%v: {W} = mul %g, %c", f"-%y: {W} = add %u, %v", returns="%y",
    ),
    "divided by another, too": program(
        *CENTRED, f"%z: {W} = div %c, %s", f"-%u: {W} = mul %t, %z", f"-%g: {S} = div %a, %s",
        f"-%n: {S} = add %s, 1.0", f"-%d: {W} = div %c, %n", f"-%v: {W} = mul %g, %d",
        f"-%y: {W} = add %u, %v", returns="%y",
    ),
    "multiplied": times(f"-%g: {S} = mul %a, %s"),
    "a sum of products": times(TOTAL, f"-%q: {S} = mul %p, %s", f"-%g: {S} = mul %q, %s"),
}  # fmt: skip
WORSE = {
    "not divided": over("mul %a, %s"),
    "divided by another": over("div %s, %a"),
    "one factor for two": times(TOTAL, f"-%g: {S} = mul %p, %s"),
    "along the other axis": program(
        *CENTRED, f"%z: {W} = div %c, %s", f"-%u: {W} = mul %t, %z", f"-%g: {S} = div %a, %s", UP,
        f"-%v: {W} = mul %h, %c", f"-%y: {W} = add %u, %v", returns="%y",
    ),
    "a sum along the scale": times(
        "-%p: f32[1,6] = sum %w {axes=(0,), keepdims=True}", f"-%o: {S} = reshape %p {{shape=(6, 1)}}",
        f"-%q: {S} = mul %o, %s", f"-%k: {S} = neg %q", f"-%g: {S} = add %k, %s",
    ),
    "a sum of quotients along the scale": program(
        *CENTRED, f"%z: {W} = div %c, %s", f"-%u: {W} = mul %t, %z", f"-%q: {W} = div %u, %s",
        "-%p: f32[1,6] = sum %q {axes=(0,), keepdims=True}", f"-%o: {S} = reshape %p {{shape=(6, 1)}}",
        f"-%g: {S} = div %o, %a", f"-%v: {W} = mul %g, %c", f"-%y: {W} = add %u, %v", returns="%y",
    ),
    "an argument": times(f"-%g: {S} = mul %a, %s", c="%x"),
    "a result of a loop": times(
        f"%g: {S}, %n: int = for %k, %i in (0, 2, 1) carry (%p: {S} = %a) {{  # adjoint\n"
        f"    %q: {S} = mul %p, %s  # adjoint\n    yield carry %q\n  }}",
    ),
}  # fmt: skip


def arrays() -> list[np.ndarray]:
    random = np.random.default_rng(0)
    shapes = ((6, 6), (6, 6), (6, 1), (6, 1))
    return [random.uniform(0.5, 2.0, shape).astype("float32") for shape in shapes]


@pytest.mark.parametrize("name", BETTER)
def test_the_scaled_value_is_read_and_not_the_other(name: str, optimised: Optimised) -> None:
    before = BETTER[name]
    after = optimised(before, reuse_forward_values, inputs=arrays(), rtol=5e-6)
    centred = next(op.result for op in after.body.ops if op.name == "sub")
    readers = [op for op in after.body.ops if centred in op.operands]
    assert [op.role for op in readers] == ["primal"]


@pytest.mark.parametrize("name", WORSE)
def test_where_a_factor_is_missing_nothing_changes(name: str) -> None:
    assert reuse_forward_values(WORSE[name]) is WORSE[name]


Y = f"%y: {W} = relu %x"
MASK = "-%b: bool[6,6] = greater %y, 0"


@pytest.mark.parametrize(
    ("lines", "goes"),
    [
        ((f"-%p: {W} = mul %t, %y",), True),
        ((f"-%q: {W} = neg %y", f"-%p: {W} = div %q, %s"), True),
        ((f"-%q: {W} = mul %y, %t", f"-%r: {W} = mul %y, %s", f"-%p: {W} = sub %q, %r"), True),
        ((f"-%p: {W} = div %t, %y",), False),
        ((f"-%p: {W} = add %t, %y",), False),
        ((f"-%p: {W} = mul %t, %x",), False),
        ((f"-%p: {W} = exp %y",), False),
    ],
)
def test_the_mask_of_a_multiple_of_relu_goes(
    lines: tuple[str, ...], goes: bool, optimised: Optimised
) -> None:
    before = program(Y, *lines, MASK, f"-%o: {W} = mul %p, %b", returns="%o")
    x, t, s, a = arrays()
    hostile = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0]
    x[:], t[:] = np.meshgrid(hostile, hostile)
    after = optimised(before, reuse_forward_values, inputs=[x, t, s, a])
    assert ("greater" not in after.op_names) == goes
    with np.errstate(all="ignore"):
        (old,), (new,) = run(before, [x, t, s, a]), run(after, [x, t, s, a])
    np.testing.assert_array_equal(np.signbit(new), np.signbit(old))


@pytest.mark.parametrize("name", ["maximum", "minimum"])
@pytest.mark.parametrize(
    ("factor", "less", "goes"),
    [
        (2.0, "%x, 0", True),
        (float("inf"), "%x, 0", False),  # 0 where the choice takes nothing, else no number
        ("%t", "%x, 0", False),
        (2.0, "0, %x", False),  # the share of the other one
        (2.0, "%t, 0", False),
    ],
)
def test_the_share_of_a_multiple_of_a_maximum_is_all(
    name: str, factor: Any, less: str, goes: bool, optimised: Optimised
) -> None:
    if name == "minimum":
        less = ", ".join(less.split(", ")[::-1])
    factor = (
        f"%k: f32[] = full {{dtype='float32', shape=(), value={factor}}}"
        if factor != "%t"
        else "%k: f32[6,6] = neg %t"
    )
    before = program(
        f"%y: {W} = {name} %x, 0", f"-{factor}", f"-%p: {W} = mul %k, %y", f"-%h: {W} = mul 0.5, %p",
        "-%e: bool[6,6] = equal 0, %x", f"-%u: {W} = where %e, %h, %p",
        f"-%l: bool[6,6] = less {less}", f"-%o: {W} = where %l, 0.0, %u", returns="%o",
    )  # fmt: skip
    x, t, s, a = arrays()
    x[:] = [np.nan, np.inf, -np.inf, 0.0, -2.0, 1.0]
    after = optimised(before, reuse_forward_values, inputs=[x, t, s, a])
    assert ("where" not in after.op_names) == goes


def layer(x: Any) -> Any:
    c = x - ops.mean(x, 1, True)
    return c * ops.rsqrt(ops.mean(c * c, 1, True) + 1e-5)


def by_root(x: Any) -> Any:
    c = x - x.mean(0)
    return c / ((c**2).mean(0) + 1e-5) ** 0.5


def by_inverse(x: Any) -> Any:
    c = x - ops.mean(x, 1, True)
    return c * (1.0 / ops.sqrt(ops.var(x, 1, 0, True) + 1e-5))


def columns(x: Any) -> Any:
    return (x - x.mean(0)) / ops.std(x, 0, 0)


def unit(x: Any) -> Any:
    c = x + 1.0
    return c / ops.sqrt(ops.sum(c * c, -1, True))


def grouped(x: Any) -> Any:
    z = x.reshape(2, 18)
    return ((z - z.mean(1, True)) / ops.sqrt(ops.var(z, 1, 0, True) + 1e-5)).reshape(6, 6)


def rows(x: Any) -> Any:
    return x / ops.sqrt(ops.sum(x * x, 1, True))


NORMS = (layer, by_root, by_inverse, columns, unit, grouped, rows)


def loss(norm: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda x, g: ops.sum(ops.relu(norm(x) * g + 0.1) ** 2) + ops.sum(norm(x) ** 3)


def gradients(norm: Callable[[Any], Any], x: np.ndarray, g: np.ndarray, level: int) -> list[Any]:
    ms.set_context(opt_level=level)
    try:
        with np.errstate(all="ignore"):
            return [d.asnumpy() for d in ops.grad(loss(norm), (0, 1))(Tensor(x), Tensor(g))]
    finally:
        ms.set_context(opt_level=1)


@pytest.mark.parametrize("norm", NORMS, ids=lambda norm: norm.__name__)
def test_gradients_of_norms(norm: Callable[[Any], Any]) -> None:
    """Against central differences; by an array that is as high as wide, so that no axis is taken
    for the other."""
    random = np.random.default_rng(3)
    x, g = random.standard_normal((2, 6, 6))
    found, plain = gradients(norm, x, g, 1), gradients(norm, x, g, 0)
    value = ms.jit(loss(norm))
    for array, have, same in zip((x, g), found, plain):
        np.testing.assert_allclose(have, same, rtol=1e-9, atol=1e-9)
        for place in ((0, 0), (2, 5), (5, 2)):
            step = np.zeros((6, 6))
            step[place] = 1e-6
            ends = [(x + d, g) if array is x else (x, g + d) for d in (step, -step)]
            up, down = (value(*map(Tensor, end)).asnumpy() for end in ends)
            np.testing.assert_allclose(have[place], (up - down) / 2e-6, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("norm", NORMS, ids=lambda norm: norm.__name__)
def test_no_number_is_lost_or_won_where_there_was_one(norm: Callable[[Any], Any]) -> None:
    """Columns without variance, with an infinity, a NaN, or a square that overflows."""
    random = np.random.default_rng(3)
    g = random.standard_normal((6, 6)).astype(np.float32)
    for odd in (
        np.full(6, 2.0),
        [np.inf, *[1.0] * 5],
        [np.nan, *[1.0] * 5],
        np.full(6, 1e25) * range(6),
    ):
        for at in ((slice(None), 1), (1, slice(None))):
            x = random.standard_normal((6, 6)).astype(np.float32)
            x[at] = odd
            found, plain = gradients(norm, x, g, 1), gradients(norm, x, g, 0)
            for have, want in zip(found, plain):
                np.testing.assert_array_equal(np.isnan(have), np.isnan(want))


def test_a_normalization_saves_only_the_normalized_value() -> None:
    def whole(x: Any, g: Any) -> Any:
        c = x - ops.mean(x, 1, True)
        z = c * ops.rsqrt(ops.mean(c * c, 1, True) + 1e-5)
        return ops.sum((z * g) ** 3)

    source = ms.gradient_source(whole, "f32[64,128]", "f32[128]", get_all=True)
    (line,) = (line for line in source.splitlines() if line.endswith(" = residuals"))
    kept = line.strip().removesuffix(" = residuals").split(", ")
    assert "z" in kept and "c" not in kept and "x" not in kept


class Written(nn.Cell):
    """The normalized value is returned and read nowhere else: without that, forward is shorter."""

    def construct(self, x: Any, g: Any) -> Any:
        turned = ops.sin(x).T
        self.kept = turned
        h = ops.sigmoid(turned)
        c = h - ops.mean(h, 0, True)
        z = c / ops.sqrt(ops.mean(c * c, 0, True) + 1e-5)
        return ops.sum(z * g) + ops.sum(ops.tanh(ops.matmul(h.T, g)))


def test_forward_saves_values_that_others_read() -> None:
    random = np.random.default_rng(6)
    x, g = random.standard_normal((9, 8)), random.standard_normal((8, 9))
    cell = Written()
    found, _ = ops.GradOperation(get_all=True)(cell)(Tensor(x), Tensor(g))
    np.testing.assert_allclose(cell.kept.asnumpy(), np.sin(x).T)
    step = np.zeros((9, 8))
    step[2, 3] = 1e-6
    up, down = (cell(Tensor(x + s), Tensor(g)).asnumpy() for s in (step, -step))
    np.testing.assert_allclose(found.asnumpy()[2, 3], (up - down) / 2e-6, rtol=1e-6)


def test_second_derivatives_are_those_of_the_plain_text() -> None:
    random = np.random.default_rng(5)
    x, g = random.standard_normal((2, 6, 6))
    for norm in (layer, columns):
        twice = ops.grad(lambda x, g, n=norm: ops.sum(ops.grad(loss(n))(x, g) ** 2))
        found = twice(Tensor(x), Tensor(g)).asnumpy()
        step = np.zeros((6, 6))
        step[1, 2] = 1e-6
        up, down = ((gradients(norm, x + s, g, 0)[0] ** 2).sum() for s in (step, -step))
        np.testing.assert_allclose(found[1, 2], (up - down) / 2e-6, rtol=1e-4)
