"""Products of sections: which are made, that users' own are not touched, and that the slopes of an
equation's residual are those that differences tell."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler import Tensor, compile_info, ops
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.ir.printer import print_function
from autodiff_compiler.passes.simplify.algebra.simplify_algebra import simplify_algebra
from autodiff_compiler.passes.simplify.dce import dce

ALL = "('slice', None, None, None)"
COLUMNS = f"({ALL}, ('slice', 1, 3, None))"


def rewritten(params: str, lines: str, out: str) -> str:
    text = f"func @f({params}) -> ({out}) {{\n{lines}\nreturn %y\n}}\n"
    return print_function(dce(simplify_algebra(parse_function(text))))


@pytest.mark.parametrize(
    "factors, shape, product",
    [
        ("%z, %w", "5,6", "f32[5,6] = matmul"),  # columns among zeros meet fewer rows
        ("%t, %u", "4,6", "f32[2,6] = matmul"),  # rows among zeros give rows among zeros
        ("%v, %z", "6,4", "f32[6,2] = matmul"),
        ("%s, %t", "6,5", "f32[6,5] = matmul"),
    ],
)
def test_no_row_is_multiplied_by_zeros(factors: str, shape: str, product: str) -> None:
    text = rewritten(
        "%a: f32[5,2], %w: f32[4,6], %u: f32[5,6], %v: f32[6,5], %s: f32[6,4]",
        f"%z: f32[5,4] = scatter %a {{index={COLUMNS}, shape=(5, 4)}} # adjoint\n"
        "%t: f32[4,5] = swap_last_axes %z # adjoint\n"
        f"%y: f32[{shape}] = matmul {factors} # adjoint",
        f"f32[{shape}]",
    )
    assert product in text
    # What meets zeros is left out, or what comes of it is put among zeros.
    assert ("scatter" in text) == (f"f32[{shape}] = matmul" not in text)


def test_users_products_stay() -> None:
    lines = (
        f"%z: f32[5,4] = scatter %a {{index={COLUMNS}, shape=(5, 4)}}{{0}}\n"
        "%p: f32[5,6] = matmul %z, %w\n"
        f"%y: f32[5,1] = index %p {{index=({ALL}, ('slice', 0, 1, None))}}"
    )
    for about in ("", " # adjoint"):
        text = rewritten("%a: f32[5,2], %w: f32[4,6]", lines.replace("{0}", about), "f32[5,1]")
        assert "f32[5,6] = matmul" in text  # an infinity in w meets a zero there


def test_a_product_that_is_read_elsewhere_stays() -> None:
    lines = (
        "%p: f32[5,6] = matmul %a, %w # adjoint\n"
        f"%i: f32[5] = index %p {{index=({ALL}, 0)}}\n"
        "%s: f32[] = sum %p {axes=None, keepdims=False}\n"
        "%y: f32[5] = add %i, %s"
    )
    assert "f32[5,6] = matmul" in rewritten("%a: f32[5,2], %w: f32[2,6]", lines, "f32[5]")


def wave(x, w, b, v):
    return ops.matmul(ops.tanh(ops.matmul(x, w) + b), v)


def residual(x, w, b, v):
    """The mean square of u_xx - u_tt + u, the derivatives by columns of x."""
    slopes = ops.grad(lambda *given: wave(*given).sum(), 0)
    bent = ops.grad(lambda *given: slopes(*given)[:, 0].sum(), 0)(x, w, b, v)[:, 0]
    later = ops.grad(lambda *given: slopes(*given)[:, 1].sum(), 0)(x, w, b, v)[:, 1]
    left = bent - later + wave(x, w, b, v)[:, 0]
    return (left * left).mean()


def residual_by_hand(x, w, b, v):
    t = np.tanh(x @ w + b)
    bends = -2 * t * (1 - t * t) * v[:, 0]
    left = bends @ (w[0] ** 2 - w[1] ** 2) + t @ v[:, 0]
    return np.mean(left * left)


def test_the_slopes_of_an_equations_residual() -> None:
    rng = np.random.default_rng(5)
    values = [rng.normal(size=size) for size in ((7, 2), (2, 4), (4,), (4, 1))]
    value, found = ops.value_and_grad(residual, (1, 2, 3))(*map(Tensor, values))
    np.testing.assert_allclose(value.asnumpy(), residual_by_hand(*values), rtol=1e-12)
    for place, slope in enumerate(found, 1):
        want = np.empty_like(values[place])
        for at in np.ndindex(want.shape):
            moved = [value.copy() for value in values]
            moved[place][at] += 1e-6
            up = residual_by_hand(*moved)
            moved[place][at] -= 2e-6
            want[at] = (up - residual_by_hand(*moved)) / 2e-6
        np.testing.assert_allclose(slope.asnumpy(), want, rtol=1e-6, atol=1e-8)
    (text,) = [unit.source for unit in compile_info().units if "of residual" in unit.source]
    assert text.count("np.tanh(") == 1  # the values at the points are there from the slopes


def test_an_infinity_outside_the_block_has_no_effect() -> None:
    def first(x, w):
        return ops.matmul(x, w)[:, 0].sum()

    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    w = np.array([[1.0, np.inf], [2.0, np.inf]])
    slope = ops.grad(lambda *given: (ops.grad(first, 0)(*given) * x).sum(), 1)
    np.testing.assert_array_equal(slope(Tensor(x), Tensor(w)).asnumpy(), [[4, 0], [6, 0]])
    np.testing.assert_array_equal(
        ops.grad(first, 0)(Tensor(x), Tensor(w)).asnumpy(), [[1, 2], [1, 2]]
    )
