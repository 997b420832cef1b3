"""Plain functions of arrays and floats that call NumPy, against central differences."""

from __future__ import annotations

import math

import numpy as np
import pytest

import autodiff_compiler as ms
from tests.frontend.numpy_rules.numpy_programs import PROGRAMS

RNG = np.random.default_rng(7)
X = RNG.normal(size=(3, 3)) + 2.0
V = RNG.normal(size=4)


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1.0 - x[:-1]) ** 2.0)


def rows(x):
    y = np.where(x > 2.0, np.sin(x), np.exp(-x))
    return np.mean(np.dot(y, y.T)) + np.linalg.norm(x)


def shapes(x):
    y = np.concatenate([x, np.transpose(x)], axis=0)
    z = np.reshape(y, (2, 9)).sum(axis=0)
    return np.sum(np.stack([z, z * z]) * 0.5) + np.max(x) - np.min(x)


def looped(x):
    y = np.array([x[0], x[1], x[0] * x[2], 1.5 * x[3]])
    for _ in range(3):
        y = np.tanh(y) * np.maximum(y, 0.1)
    return np.prod(np.cosh(y)) + np.std(x)


def numeric(fn, x, step=1e-6):
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        shift = np.zeros_like(x)
        shift[place] = step
        found[place] = (fn(x + shift) - fn(x - shift)) / (2 * step)
    return found


@pytest.mark.parametrize(
    "fn, x", [(rosenbrock, V), (rows, X), (shapes, X), (looped, V)], ids=lambda a: getattr(
        a, "__name__", "x")
)  # fmt: skip
def test_gradient_is_an_array_and_agrees_with_differences(fn, x):
    before = x.copy()
    gradient = ms.grad(fn)(x)
    assert type(gradient) is np.ndarray and gradient.dtype == np.float64
    np.testing.assert_allclose(gradient, numeric(fn, x), rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(x, before)


def cubic(a, k=2.0):
    return k * a**3 + np.sin(a)


def test_floats_in_floats_out():
    value, slope = ms.value_and_grad(cubic)(1.5)
    assert isinstance(value, float) and isinstance(slope, float)
    assert value == pytest.approx(2.0 * 1.5**3 + np.sin(1.5))
    assert slope == pytest.approx(6.0 * 1.5**2 + np.cos(1.5))
    by_a, by_k = ms.grad(cubic, (0, 1))(1.5, 4.0)
    assert (by_a, by_k) == pytest.approx((12.0 * 1.5**2 + np.cos(1.5), 1.5**3))


def test_parameters_in_containers_have_gradients_of_their_structure():
    """The closed form of least squares; arrays in containers have gradients, too."""
    x, y = np.arange(6.0).reshape(2, 3), np.ones(2)
    rows = {"w": [np.array([0.5, -1.0, 2.0])], "b": 0.25}

    def loss(rows):
        return ((x @ rows["w"][0] + rows["b"] - y) ** 2).sum()

    residual = x @ rows["w"][0] + rows["b"] - y
    for _ in range(2):  # compiled, then found
        value, found = ms.value_and_grad(loss)(rows)
        assert type(found) is dict and type(found["w"]) is list
        np.testing.assert_allclose(value, residual @ residual)
        np.testing.assert_allclose(found["w"][0], 2 * residual @ x)
        np.testing.assert_allclose(found["b"], 2 * residual.sum())


def test_second_derivative_of_a_float():
    assert ms.grad(ms.grad(cubic))(1.5) == pytest.approx(12.0 * 1.5 - np.sin(1.5))


def scaled(counts, x):
    return np.sum(counts * x * 2.5)


def test_integer_arrays_promote_as_numpy_does_and_have_no_silent_gradient():
    counts, x = np.array([1, 2], np.int64), np.array([1.0, 2.0], np.float32)
    compiled = ms.jit(scaled)(counts, x)
    assert compiled.dtype == scaled(counts, x).dtype == np.float64
    np.testing.assert_allclose(ms.grad(scaled, 1)(counts, x), [2.5, 5.0])
    assert ms.grad(scaled, 1)(counts, x).dtype == np.float32
    with pytest.raises(TypeError, match="holds integers"):
        ms.grad(scaled)(counts, x)


def unknown(x):
    return np.partition(x, 1)


def test_a_callable_outside_the_table_is_refused_by_name():
    with pytest.raises(ms.errors.UnsupportedSyntax, match="'partition' is not supported"):
        ms.grad(unknown)(V)


@pytest.mark.parametrize("title", PROGRAMS)
def test_value_and_gradient_of_numpy_names(title):
    fn, x = PROGRAMS[title]
    value, gradient = ms.value_and_grad(fn)(x)
    expected = fn(x)
    assert isinstance(value, (np.ndarray, np.float64)) and type(gradient) is np.ndarray
    assert value.dtype == expected.dtype == gradient.dtype
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-13)
    weights = np.cos(np.arange(expected.size)).reshape(expected.shape)
    weighted = ms.grad(lambda v: (fn(v) * weights).sum())(x)
    np.testing.assert_allclose(
        weighted, numeric(lambda v: np.sum(fn(v) * weights), x), rtol=1e-6, atol=1e-7
    )
    np.testing.assert_allclose(gradient, numeric(lambda v: np.sum(fn(v)), x), rtol=1e-6, atol=1e-7)


def on_numbers(a, b=2.0):
    return math.sin(a) * math.exp(b * a) + math.sqrt(a) ** 2 + math.log(a, b) * math.atan2(a, b)


def test_functions_of_math_on_numbers():
    found = ms.grad(on_numbers, (0, 1))(1.3, 2.0)
    for place, slope in enumerate(found):
        points = [(1.3 + h * (place == 0), 2.0 + h * place) for h in (1e-6, -1e-6)]
        difference = (on_numbers(*points[0]) - on_numbers(*points[1])) / 2e-6
        assert isinstance(slope, float) and slope == pytest.approx(difference, rel=1e-8)


def of_several_dtypes(x):
    weights, single = np.arange(6).reshape(3, 2), np.arange(2, dtype=np.float32)
    return (
        np.tensordot(x @ weights, single, 1).dot(np.array([True, False])) + x[0] @ weights @ single
    )


def test_products_promote_as_numpy_does():
    x = np.array([[0.5, -1.0, 2.0], [3.0, 0.25, -0.5]])
    np.testing.assert_allclose(ms.jit(of_several_dtypes)(x), of_several_dtypes(x), rtol=1e-14)
    slope = [[2.0, 6.0, 10.0], [0.0, 0.0, 0.0]]  # twice the odd numbers, in the first row
    np.testing.assert_allclose(ms.grad(of_several_dtypes)(x), slope, rtol=1e-14)


def counts(a):
    return np.eye(int(a)).sum() * a + a * a


def decides(a):
    return {1: 2.0, 2: 3.0}[int(a)] + a * a


def test_a_number_that_decides_what_is_compiled_has_no_silent_gradient():
    for a in (1.5, 2.0, 2.5, 3.75):  # at whole numbers the slope from the right
        assert ms.value_and_grad(counts)(a) == (counts(a), int(a) + 2 * a)
    with pytest.raises(
        ms.errors.DTypeError, match="must be a compile-time constant, but it is comput"
    ):
        ms.grad(decides)(2.0)


@pytest.mark.parametrize("function", [np.sum, np.prod, np.cumsum, np.cumprod])
@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64", "int8", "int32", "bool"])
def test_integers_are_added_and_multiplied_in_64_bits(function, dtype):
    x = np.full(9, 100).astype(dtype)  # running sums leave a byte, and must not wrap
    for fn in (lambda x: function(x), lambda x: getattr(x, function.__name__)()):
        found, expected = ms.jit(fn)(x), function(x)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("function", [np.sum, np.prod])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float64"])
def test_the_result_has_the_dtype_that_is_asked_for(function, dtype):
    x = np.full((3, 9), 100)
    found, expected = ms.jit(lambda x: function(x, 0, dtype))(x), function(x, 0, dtype)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
