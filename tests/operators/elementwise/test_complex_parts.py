"""Complex numbers: the convention, every operator that takes them, and the refusal of the others.

With the sensitivity s the gradient is that of L = Re(sum(conj(s) f(z))) with respect to the two
parts of z, dL/dx + i dL/dy: held against differences, and against numbers that torch gives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, jit, ops
from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.errors import CompileError
from autodiff_compiler.ops.transforms.gradient import GradOperation

Z = np.array([[1 + 2j, 0.5 - 1j], [-0.7 + 0.3j, 1.5 + 0.2j]])
W = np.array([[2 - 1j, 1 + 1j], [0.4 + 0.9j, -1.1 - 0.6j]])
X = np.array([[2.0, 3.0], [0.5, 1.5]])


def written(z: Any, w: Any, x: Any) -> Any:
    """Complex and real numbers are set, and added, to places of complex ones, also named twice."""
    z = z * w
    z[0] = w[1] * w[0]
    z[1] = x[0]
    z[1] += w[0] * x[1]
    z[[0, 0], 1] = w[:, 0]
    return z * z


FUNCTIONS: list[tuple[Callable[..., Any], list[np.ndarray]]] = [
    (lambda z, w: z * w - z / w + 2j * z, [Z, W]),
    (lambda x, z: x * z + x / z - (1 - 2j) * x, [X, Z]),
    (lambda z: ops.exp(z) * z + z * z, [Z]),
    (lambda z: ops.sin(z) + ops.cos(z) * ops.tan(0.3 * z), [Z]),
    (lambda z: ops.sinh(z) - ops.cosh(z) * ops.tanh(z), [Z]),
    (lambda z: ops.sqrt(ops.log(z)) + ops.rsqrt(z) + ops.reciprocal(z), [Z]),
    (lambda z: ops.log1p(z) + ops.expm1(z) + ops.log2(z) + ops.log10(z), [Z]),
    (lambda z: ops.asin(z) + ops.acos(0.5 * z) + ops.atan(z), [Z]),
    (lambda z: ops.asinh(z) + ops.acosh(z + 2.0) + ops.atanh(z), [Z]),
    (lambda z, w: z**3 + z**w + ops.square(z), [Z, W]),
    (lambda z: ops.abs(z) * ops.angle(z), [Z]),
    (lambda z: ops.real(z) * ops.imag(z) + ops.real(ops.conj(z) * z), [Z]),
    (lambda z: z.sum(0) * z.mean() + ops.prod(z, 0), [Z]),
    (lambda z: ops.cumsum(z, 0) * ops.cumprod(z, 1), [Z]),
    (lambda z, w: ops.matmul(z, w) + ops.tensor_dot(z, w, 1), [Z, W]),
    (lambda x, z: ops.matmul(ops.cast(x, ms.complex128), z.T), [X, Z]),
    (lambda z: ops.inverse(z) * z, [Z]),
    (lambda z, w: ops.concat((z, w))[1:3] * ops.stack((z, w))[0], [Z, W]),
    (lambda z, x: ops.where(x > 1.0, z, z * z).reshape(4)[::-1], [Z, X]),
    (written, [Z, W, X]),
    (lambda x: ops.abs(ops.exp(1j * x)) + ops.cast(x, ms.complex128) ** 2, [X]),
]  # fmt: skip


def numeric(function: Callable[..., Any], args: list[np.ndarray], place: int, s: Any) -> Any:
    """The two parts of the slope by central differences."""

    def loss(step: np.ndarray) -> float:
        moved = [arg + step if n == place else arg for n, arg in enumerate(args)]
        return float(np.sum(np.conj(s) * function(*map(Tensor, moved)).asnumpy()).real)

    found = np.zeros_like(args[place])
    for position in np.ndindex(found.shape):
        step = np.zeros_like(found)
        for unit in (1.0, 1j) if found.dtype.kind == "c" else (1.0,):
            step[position] = 1e-6 * unit
            found[position] += unit * (loss(step) - loss(-step)) / 2e-6
    return found


@pytest.mark.parametrize("position", range(len(FUNCTIONS)))
def test_the_gradient_is_that_of_the_two_parts(position: int) -> None:
    function, args = FUNCTIONS[position]
    tensors = [Tensor(arg) for arg in args]
    value = function(*tensors).asnumpy()
    again = jit(function)(*tensors).asnumpy()
    assert again.dtype == value.dtype and np.allclose(again, value, rtol=1e-14)
    s = np.linspace(0.5, 1.5, value.size).reshape(value.shape).astype(value.dtype)
    if value.dtype.kind == "c":
        s = s * (1 - 0.7j)
    found = GradOperation(get_all=True, sens_param=True)(function)(*tensors, Tensor(s))
    for place, slope in enumerate(found):
        assert slope.asnumpy().dtype == args[place].dtype
        np.testing.assert_allclose(
            slope.asnumpy(), numeric(function, args, place, s), rtol=1e-6, atol=1e-7
        )


#: What torch 2.13 gives for z = [1 + 2j, 0.5 - 1j], w = [2 - 1j, 1 + 1j] and ones.
TORCH: list[tuple[Callable[..., Any], list[list[complex]]]] = [
    (lambda z, w: z * w, [[2 + 1j, 1 - 1j], [1 - 2j, 0.5 + 1j]]),
    (lambda z, w: z / w, [[0.4 - 0.2j, 0.5 + 0.5j], [0.2 + 0.4j, 0.5 - 0.25j]]),
    (lambda z, w: z**w, [[14.932416 + 2.4284472j, 2.6700213 - 3.3437912j],
                         [-14.578187 - 14.705048j, -2.9372721 + 2.3542203j]]),
    (lambda z, w: ops.sin(z), [[2.0327229 + 3.0518978j, 1.3541806 - 0.5634215j], [0, 0]]),
    (lambda z, w: ops.conj(z) * z, [[2 + 4j, 1 - 2j], [0, 0]]),
    (lambda z, w: ops.imag(z), [[1j, 1j], [0, 0]]),
    (lambda z, w: ops.angle(z), [[-0.4 + 0.2j, 0.8 + 0.4j], [0, 0]]),
    (lambda z, w: ops.abs(w), [[0, 0], [0.8944272 - 0.4472136j, 0.7071068 + 0.7071068j]]),
]  # fmt: skip


@pytest.mark.parametrize("position", range(len(TORCH)))
def test_as_torch(position: int) -> None:
    function, expected = TORCH[position]
    z, w = (Tensor(np.array(row, np.complex64)) for row in (Z[0], W[0]))
    for slope, row in zip(GradOperation(get_all=True)(function)(z, w), expected, strict=True):
        np.testing.assert_allclose(slope.asnumpy(), np.array(row), rtol=2e-6, atol=1e-6)


def test_second_order() -> None:
    """L = sum(abs(exp(z))) = sum(e^x): its slope is e^x, and so is the slope of that."""
    first = GradOperation()(lambda z: ops.abs(ops.exp(z)).sum())
    second = GradOperation()(lambda z: first(z))
    for slope in (first, second):
        np.testing.assert_allclose(slope(Tensor(Z)).asnumpy(), np.exp(Z.real), rtol=1e-12)


def test_forward_mode_has_no_conjugates() -> None:
    dot = Tensor(W)
    _, tangent = ops.jvp(lambda z: ops.exp(z) * z, Tensor(Z), dot)
    np.testing.assert_allclose(tangent.asnumpy(), np.exp(Z) * (Z + 1) * W, rtol=1e-12)
    _, tangent = ops.jvp(lambda z: ops.abs(z), Tensor(Z), dot)
    np.testing.assert_allclose(tangent.asnumpy(), (np.conj(Z) * W).real / abs(Z), rtol=1e-12)


@pytest.mark.parametrize(
    "name",
    [
        "relu",
        "sigmoid",
        "softplus",
        "softmax",
        "floor",
        "erf",
        "max",
        "maximum",
        "sort",
        "norm",
        "var",
        "sign",
        "round",
    ],
)
def test_what_is_not_for_complex_numbers_says_so(name: str) -> None:
    def asked(z: Any) -> Any:
        found = getattr(ops, name)(*([z, z] if name == "maximum" else [z]))
        return found[0] if isinstance(found, tuple) else found

    for run in (asked, jit(asked), GradOperation()(asked)):
        with pytest.raises(CompileError, match="complex numbers"):
            run(Tensor(Z))


def test_no_part_of_a_complex_number_is_lost_in_an_array_of_real_ones() -> None:
    def asked(x: Any, z: Any) -> Any:
        x = x * 2.0
        x[0] = z[0]
        return x

    for run in (jit(asked), GradOperation()(asked)):
        with pytest.raises(CompileError, match="complex numbers cannot be written"):
            run(Tensor(X), Tensor(Z))


@pytest.mark.usefixtures("memory_level")
@changed_costs(large_bytes=1, medium_bytes=1, tape_row_bytes=1)
def test_large_arrays_of_complex_numbers_are_put_together_of_parts() -> None:
    """Of parts that are there already, and of the cotangents of slices."""

    def asked(z: Any, w: Any) -> Any:
        h, rows = z[0], []
        for k in range(2):
            rows.append(h)
            h = h * w[k]
        return ops.concat((z * w, w, ops.stack(rows)))[1:] * ops.concat((w, z, z))[:-1]

    s = np.full((5, 2), 0.5 - 0.7j)
    found = GradOperation(get_all=True, sens_param=True)(asked)(Tensor(Z), Tensor(W), Tensor(s))
    for place, slope in enumerate(found):
        expected = numeric(asked, [Z, W], place, s)
        np.testing.assert_allclose(slope.asnumpy(), expected, rtol=1e-6, atol=1e-7)
