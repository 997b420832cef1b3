"""Functions of an array whose rank depends on a branch: a number, a vector or a matrix.

Values and gradients are those of plain Python, by differences, on either path.
"""

from __future__ import annotations

import importlib.util
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import grad, value_and_grad
from tests.differences import by_differences

DRAW = np.random.default_rng(5)
VECTOR, OTHER, MATRIX = DRAW.normal(size=3), DRAW.normal(size=3), DRAW.normal(size=(3, 3))

#: Expressions that NumPy takes for arrays without axes and for vectors.
OF_ANY = (
    "np.sum(x)", "np.sum(x, axis=0)", "np.mean(x)", "np.cumsum(x)", "np.cumsum(x, axis=-1)",
    "np.cumprod(x, axis=-1)", "np.max(x, axis=0)", "np.max(x)", "np.min(x, axis=-1)",
    "np.prod(x, axis=-1)", "np.ptp(x, axis=0)", "np.var(x)", "np.std(x + v)",
    "np.ravel(x)", "np.repeat(x, 2)", "np.tile(x, 2)", "np.atleast_2d(x)", "np.expand_dims(x, -1)",
    "np.where(x > 0, x, 2 * x)", "np.clip(x, -1, 1)", "np.outer(x, v)", "np.dot(x, v)",
    "np.dot(v, x)", "np.inner(x, v)", "np.vdot(x, x)", "np.kron(x, v)", "x + v", "x * v",
    "np.maximum(x, v)", "np.hstack([x, v])", "np.append(x, v)", "np.broadcast_to(x, (2, 3))",
    "np.linalg.norm(x)", "np.meshgrid(x, v)[0]", "np.diff(np.ravel(x))",
)  # fmt: skip
#: Expressions that it takes for vectors and matrices.
OF_ROWS = (
    "np.sum(x, axis=0)", "np.mean(x, axis=-1)", "x.T", "x[0]", "x[..., 0]", "x[-1:]", "x[::2]",
    "np.cumsum(x, axis=-1)", "np.sort(x, axis=0)", "np.max(x, axis=0)", "np.flip(x)",
    "np.roll(x, 1, axis=-1)", "np.diag(x)", "x.reshape(-1)", "np.repeat(x, 2, axis=0)",
    "np.concatenate([x, x])", "np.stack([x, x], axis=-1)", "np.vstack([x, x])",
    "np.linalg.norm(x, axis=-1)", "np.diff(x)", "np.diff(x, axis=0)", "np.tril(x)",
    "np.take(x, [0, 1], axis=0)", "np.pad(x, 1)", "np.einsum('...i,...i->...', x, x)",
    "np.gradient(x)[0]", "x @ x", "x @ v", "v @ x", "np.dot(x, v)", "np.inner(v, x)",
    "np.tensordot(x, v, axes=1)", "np.median(x, axis=0)", "np.average(x, axis=0)", "x[:, None]",
)  # fmt: skip

CASES = [
    *((text, np.array(0.7), VECTOR, take) for text in OF_ANY for take in (0.0, 1.0)),
    *((text, 0.7, VECTOR, take) for text in OF_ANY for take in (0.0, 1.0)),
    *((text, VECTOR, MATRIX, take) for text in OF_ROWS for take in (0.0, 1.0)),
]


def function_from(body: str, folder: Path) -> Callable[..., Any]:
    """Returns the function of ``x``, ``other``, ``v`` and ``take`` with these lines."""
    path = folder / "chosen.py"
    head = "import numpy as np\n\n\ndef chosen(x, other, v, take):\n"
    path.write_text(head + textwrap.indent(body, "    "), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("chosen", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.chosen


def chosen(text: str, folder: Path) -> Callable[..., Any]:
    """Returns a function of ``x`` or, if ``take`` is positive, of ``other`` in its place."""
    return function_from(f"if take > 0.0:\n    x = other\nreturn np.sum(np.sin({text}))\n", folder)


@pytest.mark.parametrize(("text", "x", "other", "take"), CASES)
def test_gradients_are_those_of_the_path_taken(
    text: str, x: Any, other: Any, take: float, tmp_path: Path
) -> None:
    function, args = chosen(text, tmp_path), [x, other, OTHER, take]
    for place, slope in enumerate(grad(function, (0, 1, 2))(*args)):
        assert np.shape(slope) == np.shape(args[place])
        np.testing.assert_allclose(slope, by_differences(function, place, args), atol=1e-7)


#: Writes by a mask, which an array without axes takes as well.
WRITES = ("x[x > 0.2] = 0.5", "x[x > 0.2] *= 3.0", "x[...] = 2.0 * x", "x[x > 0.2] += v[0]")


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("take", [0.0, 1.0])
def test_writes_by_a_mask(write: str, take: float, tmp_path: Path) -> None:
    choice = "x = np.array(x * 1.0)\nif take > 0.0:\n    x = other * 1.0\n"
    function = function_from(f"{choice}{write}\nreturn np.sum(np.sin(x))\n", tmp_path)
    args = (np.array(0.7), VECTOR, OTHER, take)
    for place in (0, 1, 2):
        found = grad(function, place)(*args)
        np.testing.assert_allclose(found, by_differences(function, place, args), atol=1e-8)


#: Values that NumPy assigns to a vector: also with more axes than it has, if these have length 1.
VALUES = ("np.expand_dims(x, 0)", "np.expand_dims(x, (0, 1))", "x[None, None]", "x")


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("x", [np.array(0.7), np.array([0.7]), VECTOR[None]])
@pytest.mark.parametrize("take", [0.0, 1.0])
def test_values_with_more_axes_than_their_place(
    value: str, x: np.ndarray, take: float, tmp_path: Path
) -> None:
    choice = "if take > 0.0:\n    x = other\ny = np.zeros(len(other))\n"
    function = function_from(f"{choice}y[...] = {value}\nreturn np.sum(np.sin(y))\n", tmp_path)
    args = (x, VECTOR, OTHER, take)
    for place in (0, 1):
        slope = grad(function, place)(*args)
        np.testing.assert_allclose(slope, by_differences(function, place, args), atol=1e-8)


#: Functions that make an array of a scalar, and views of arrays.
OF_SCALARS = (
    "np.ravel(a)", "np.reshape(a, 1)", "np.atleast_1d(a)", "np.atleast_2d(a)",
    "np.expand_dims(a, 0)", "np.reshape(a, (1, 1))[0]",
)  # fmt: skip


@pytest.mark.parametrize("text", OF_SCALARS)
@pytest.mark.parametrize("source", ["x.max()", "np.array(x.max())", "x[..., 0][...]"])
def test_arrays_of_scalars_are_new_and_those_of_arrays_are_views(
    text: str, source: str, tmp_path: Path
) -> None:
    body = f"a = {source}\nw = {text}\nw[...] = 0.5\nreturn np.sum(a * 3.0) + np.sum(w)\n"
    function = function_from(body, tmp_path)
    args = (VECTOR.copy(), VECTOR, OTHER, 0.0)
    value, slope = value_and_grad(function)(*args)
    np.testing.assert_allclose(value, function(*args))
    np.testing.assert_allclose(slope, by_differences(function, 0, args), atol=1e-8)


@pytest.mark.parametrize("equation", ["ij->ji", "ii->i", "...->..."])
@pytest.mark.parametrize("take", [0, 1, 0.0, 1.0])
def test_einsum_without_a_sum_writes_to_no_argument(
    equation: str, take: float, tmp_path: Path
) -> None:
    choice = "if take > 0:\n    x = np.positive(other)\n"
    body = f"{choice}w = np.einsum('{equation}', x)\nw[0] *= 2.0\nreturn np.sum(np.sin(x))\n"
    function = function_from(body, tmp_path)
    square = np.array([[0.3, -0.2], [0.1, 0.7]])
    first, second = (VECTOR.copy(), square) if take else (square, VECTOR.copy())
    before = first.copy(), second.copy()
    expected = function(first.copy(), second.copy(), OTHER, take)
    value, slope = value_and_grad(function, int(take))(first, second, OTHER, take)
    np.testing.assert_allclose(value, expected)
    assert np.shape(slope) == (2, 2)
    assert np.array_equal(first, before[0]) and np.array_equal(second, before[1])


#: Writes through a view of an array after an augmented assignment of a value of unknown rank.
WRITES = (
    "w = x.reshape(-1); w[0] *= 0.5", "w = x.reshape(-1); w[w > 0.1] *= 0.5",
    "w = x.ravel(); w[1:] *= 0.5", "w = x.T; w[0] *= 0.5", "w = x[1]; w *= 0.5",
    "w = x.reshape(9); w += x[0, 0]", "w = x.reshape(-1); x[0] *= 0.5; x += w.sum()",
)  # fmt: skip
LAYOUTS = {
    "C": lambda m: m.copy(),
    "Fortran": lambda m: np.array(m, order="F"),
    "strided": lambda m: np.repeat(m, 2, axis=1)[:, ::2],
    "reversed": lambda m: m[:, ::-1].copy()[:, ::-1],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.every_case
@pytest.mark.parametrize("sign", ["+=", "*="])
def test_an_augmented_assignment_keeps_the_shape_and_layout_of_its_array(
    sign: str, write: str, layout: str, tmp_path: Path
) -> None:
    """The value that is added is a row or a matrix; the array that is written to stays itself."""
    choice = "y = other\nif take > 0:\n    y = x * 2\n"
    body = f"{choice}x {sign} y\n{write}\nreturn np.sum(np.sin(x)) + np.sum(np.cos(w) * v[0])\n"
    function = function_from(body, tmp_path)
    layout_of = LAYOUTS[layout]
    for take in (0.0, 1.0):
        inputs = (layout_of(MATRIX), VECTOR, OTHER, take)

        def plain(m: np.ndarray, *others: Any) -> Any:
            return function(layout_of(m), *others)  # writes to no array of the caller

        value, slopes = value_and_grad(function, (0, 1))(*inputs)
        np.testing.assert_allclose(value, plain(*inputs), rtol=1e-12)
        for place in range(2):
            expected = by_differences(plain, place, inputs)
            np.testing.assert_allclose(slopes[place], expected, rtol=1e-5, atol=1e-7)
