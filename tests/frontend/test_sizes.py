"""Known sizes and numbers: across calls, and of values that grow in a loop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autodiff_compiler import Tensor, dtype, grad, gradient_source, jit, ops, value_and_grad
from autodiff_compiler.errors import ShapeError


def measured(x: Tensor) -> dict:
    """Returns a Tensor, and numbers that are known while compiling."""
    doubled = x * 2.0
    return {"rows": x.shape[0], "values": doubled, "kind": "sum", "pair": (3, doubled)}


def of_numbers(x: Tensor) -> Tensor:
    found = measured(x)
    times, values = found["pair"]
    flat = ops.reshape(values, (found["rows"] * times, -1))
    return ops.sum(flat) * len(found["kind"]) if found["kind"] == "sum" else ops.mean(flat)


def test_numbers_that_a_function_returns_beside_tensors_stay_known() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    value, gradient = value_and_grad(of_numbers)(Tensor(x))
    np.testing.assert_allclose(value.asnumpy(), 6 * x.sum())
    np.testing.assert_allclose(gradient.asnumpy(), np.full((2, 3), 6))


def parts(x: Tensor, width: int) -> list:
    """Returns ``x`` in columns of a width, and the rest."""
    begin, found = 0, []
    while begin + width < x.shape[1]:
        found.append(x[:, begin : begin + width])
        begin += width
    found.append(x[:, begin:])
    return found


def of_parts(x: Tensor) -> Tensor:
    first, second, rest = parts(x, 3)
    wide = ops.interpolate(ops.expand_dims(first * second, 0), size=5, mode="linear")
    return ops.sum(wide) + ops.sum(rest)


def test_a_loop_is_unrolled_where_the_size_of_a_growing_value_must_be_known() -> None:
    x = np.random.default_rng(3).normal(size=(2, 8)).astype(np.float32)
    value, gradient = value_and_grad(of_parts)(Tensor(x))
    # at 0, 0.4, 1, 1.6 and 2, between neighbours
    weights = np.array([1.6, 1.8, 1.6])
    product = x[:, :3] * x[:, 3:6] * weights
    np.testing.assert_allclose(value.asnumpy(), product.sum() + x[:, 6:].sum(), rtol=1e-5)
    expected = np.hstack([x[:, 3:6] * weights, x[:, :3] * weights, np.ones((2, 2))])
    np.testing.assert_allclose(gradient.asnumpy(), expected, rtol=1e-5)


def joined(x: Tensor) -> Tensor:
    out = x
    for _ in range(3):
        out = ops.concat((out, ops.tanh(out[:, -1:])), 1)
    return ops.sum(out * out)


def test_a_loop_whose_sizes_are_not_read_stays_a_loop() -> None:
    x = np.random.default_rng(4).normal(size=(2, 3))
    value, gradient = value_and_grad(joined)(Tensor(x))
    a = np.tanh(x[:, 2])
    b = np.tanh(a)
    c = np.tanh(b)
    np.testing.assert_allclose(value.asnumpy(), (x**2).sum() + (a**2 + b**2 + c**2).sum())
    d_b = 2 * b + 2 * c * (1 - c * c)
    d_a = 2 * a + d_b * (1 - b * b)
    expected = 2 * x + np.stack([0 * a, 0 * a, d_a * (1 - a * a)], 1)
    np.testing.assert_allclose(gradient.asnumpy(), expected)
    assert "for " in gradient_source(joined, "f64[2,3]")


def unknown(x: Tensor, times: int) -> Tensor:
    for _ in range(times):
        x = ops.concat((x, x), 1)
    return ops.sum(ops.interpolate(ops.expand_dims(x, 0), size=5, mode="linear"))


def test_a_refusal_of_the_unrolled_loop_is_reported_once() -> None:
    with pytest.raises(ShapeError, match="needs the size of the input") as caught:
        gradient_source(unknown, "f32[2,3]", "int")
    assert len(caught.value.problems) == 1


def test_numpy_makes_arrays_of_run_time_sizes() -> None:
    def f(x: np.ndarray) -> np.ndarray:
        rows = x.shape[0]
        return np.sum((np.ones((rows, 3)) + np.zeros(rows)[:, None]) * x * rows)

    def g(x: Tensor) -> Tensor:
        return ops.sum(x * Tensor(2 * np.ones((x.shape[0], 1)), dtype.float32))

    assert "np.ones" in gradient_source(f, "f64[b,3]")
    x = np.arange(6.0).reshape(2, 3)
    assert grad(f)(x).tolist() == [[2.0] * 3] * 2
    source = gradient_source(g, "f32[b,3]")
    scope: dict = {}
    exec(source, scope)
    residuals = scope["g_forward"](x.astype(np.float32))
    np.testing.assert_array_equal(scope["g_backward"](residuals), np.full((2, 3), 2, np.float32))


def test_an_axis_of_an_array_of_unknown_rank_is_kept() -> None:
    """The sum is along the axis, whichever array the run takes."""

    def program(x, m, n):
        if n:
            x = m
        return np.sum(x.sum(axis=0) * np.mean(x, axis=-1).sum())

    x, m = np.arange(4.0), np.arange(8.0).reshape(2, 4)
    for n in (0, 3):
        np.testing.assert_allclose(jit(program)(x, m, n), program(x, m, n))


@pytest.mark.parametrize(
    "function",
    [lambda x: np.linspace(x, 2.0 * x, 5), lambda x: ops.nonzero(x, as_tuple=True)[0] * x.sum()],
    ids=["linspace", "nonzero"],
)
def test_a_rank_that_is_not_known_is_not_taken_for_none(function: Callable) -> None:
    with pytest.raises(ShapeError, match="needs to know how many dimensions its input has"):
        gradient_source(function)


def _aliased(y: np.ndarray) -> np.ndarray:
    z = y
    z += 1.0
    return y * z


def _kept(y: np.ndarray) -> np.ndarray:
    held = [y]
    y *= 3.0
    return y * held[0]


@pytest.mark.parametrize("function", [_aliased, _kept])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_type_without_axes_is_that_of_an_array(function: Callable, dtype: str) -> None:
    """Augmented assignment writes to it under all its names, as to an array."""
    text = {"float64": "f64[]", "float32": "f32[]"}[dtype]
    given = np.array(2.0, dtype)
    assert gradient_source(function, text) == gradient_source(function, given)
    slope = {_aliased: 6.0, _kept: 36.0}[function]
    assert grad(function)(given) == slope
