"""Derivatives inside a differentiated function: in containers, in numbers, of complex numbers.

A plain function that takes derivatives is Python, too: run as it is, it computes the same values.
Its own gradient is held against central differences of these.
"""

import numpy as np
import pytest

from autodiff_compiler import grad, hvp, jvp, value_and_grad, vjp
from autodiff_compiler.errors import CompileError


def product(pair):
    return pair[0] * pair[1] * np.sin(pair[0])


def named(p):
    return p["a"] * p["b"] * np.sin(p["a"])


def nested(p):
    return p["w"][0] ** 2 * p["w"][1] + p["b"] * p["w"][0]


def stacked(rows):
    return np.sum(np.stack(rows) ** 3)


def of_a_tuple(x):
    d_a, d_b = grad(product)((x, 2.0 * x))
    return d_a * 3 + d_b


def of_a_tuple_of_constants(x):
    return grad(product)((x, 3.0))[1] * grad(product)((2.0, x))[0]


def of_a_list(x):
    found = grad(stacked)([x * np.ones(2), x * x * np.ones(2)])
    return np.sum(found[0] * found[1])


def of_a_dict(x):
    found = grad(named)({"a": x, "b": 2.0 * x})
    return found["a"] * 3 + found["b"]


def of_what_is_nested(x):
    value, found = value_and_grad(nested)({"w": [x, x * x], "b": 3.0 * x})
    return value * found["w"][0] + found["w"][1] * found["b"]


def of_a_dict_beside_a_number(x):
    d_p, d_k = grad(lambda p, k: named(p) * k, (0, 1))({"a": x, "b": 2.0}, x * x)
    return d_p["b"] * d_k


def of_a_number(x):
    return x * grad(lambda y: x * y * y)(2.0)


def of_two_numbers(x):
    d_y, d_z = grad(lambda y, z: x * y * z * z, (0, 1))(2.0, 3.0)
    return d_y * d_z


def along_a_dict(x):
    return jvp(named, {"a": x, "b": 2.0 * x}, {"a": 1.0, "b": x})[1]


def along_a_tuple(x):
    return jvp(product, ((x, 2.0 * x),), ((0.5, 3.0),))[1]


def along_numbers(x):
    return jvp(lambda y, z: y / z, (x, 2.0 * x * x), (0.3, 0.4))[1]


def pulled_from_a_dict(x):
    out, pull = vjp(named, {"a": x, "b": 2.0 * x})
    (found,) = pull(x)
    return out * found["a"] + found["b"]


def hessian_times_a_tuple(x):
    found = hvp(product, ((x, 2.0 * x),), ((1.0, x),))
    return found[0][0] * found[0][1]


FUNCTIONS = (
    of_a_tuple, of_a_tuple_of_constants, of_a_list, of_a_dict, of_what_is_nested,
    of_a_dict_beside_a_number, of_a_number, of_two_numbers, along_a_dict, along_a_tuple,
    along_numbers, pulled_from_a_dict, hessian_times_a_tuple,
)  # fmt: skip


@pytest.mark.parametrize("make", [float, np.float64, np.array])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_derivative_inside_has_its_value_and_a_gradient(function, make):
    at, step = 0.7, 1e-5
    wanted = (function(at + step) - function(at - step)) / (2 * step)
    value, gradient = value_and_grad(function)(make(at))
    np.testing.assert_allclose(value, function(at), rtol=1e-12)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-7)
    second = (function(at + 1e-4) - 2 * function(at) + function(at - 1e-4)) / 1e-8
    np.testing.assert_allclose(grad(grad(function))(make(at)), second, rtol=1e-5)


def real_part(z):
    return np.real(z * z * np.exp(z))


def size(z, x):
    return np.abs(z) ** 2 * x


@pytest.mark.parametrize("make", [complex, np.complex128, np.array])
def test_a_complex_number_has_a_gradient_as_an_array_has(make):
    """In closed form: that of the real part of h is the conjugate of h', that of |z|^2 is 2 z."""
    at = 1.0 + 2.0j
    slope = (2 * at + at * at) * np.exp(at)
    for _ in range(3):  # compiled, again, and the fast path
        np.testing.assert_allclose(grad(real_part)(make(at)), np.conj(slope), rtol=1e-12)
    d_z, d_x = grad(size, (0, 1))(make(at), 3.0)
    np.testing.assert_allclose([d_z, d_x], [6 * at, 5.0], rtol=1e-12)
    (pulled,) = vjp(real_part, make(at))[1](2.0)
    np.testing.assert_allclose(pulled, 2 * np.conj(slope), rtol=1e-12)
    value, dot = jvp(real_part, make(at), make(1j))
    np.testing.assert_allclose([value, dot], [real_part(at), np.real(1j * slope)], rtol=1e-12)
    inner = grad(lambda z: np.abs(grad(real_part)(z)) ** 2)(make(at))
    curve = (2 + 4 * at + at * at) * np.exp(at)
    np.testing.assert_allclose(inner, 2 * slope * np.conj(curve), rtol=1e-11)


def test_a_complex_number_is_a_sensitivity_of_a_complex_output_alone():
    (pulled,) = vjp(lambda z: z * z, 1.0 + 2.0j)[1](3.0 - 1.0j)
    np.testing.assert_allclose(pulled, (3.0 - 1.0j) * np.conj(2 * (1.0 + 2.0j)), rtol=1e-12)
    with pytest.raises(CompileError):
        vjp(lambda x: x * x, 1.5)[1](1.0j)
