"""Inverses, determinants and solutions in C: value, gradient and exception are those of NumPy."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.loops.core.values import NoNativeText
from autodiff_compiler.loops.lower import lower_to_loops
from autodiff_compiler.runtime.native import Compiler
from tests.differences import by_differences
from tests.loops.native import compiled, joint_gradient

DRAW = np.random.default_rng(4)


def inverses(x: Any, w: Any) -> Any:
    return np.sum(np.linalg.inv(x) * w)


def determinants(x: Any, w: Any) -> Any:
    return np.sum(np.linalg.det(x) * w[..., 0, 0]) + np.sum(np.linalg.det(w.swapaxes(-1, -2)))


def logarithms(x: Any, w: Any) -> Any:
    sign, size = np.linalg.slogdet(x)
    return np.sum(sign * size * w[..., 0, 0])


def solutions(x: Any, w: Any) -> Any:
    return np.sum(np.linalg.solve(x, w) ** 2)


def one_solution(x: Any, w: Any) -> Any:
    return np.sum(np.linalg.solve(x, w[..., :1, :, :].swapaxes(-1, -2)) ** 2)


def factors(x: Any, w: Any) -> Any:
    return np.sum(np.linalg.cholesky(x @ x.swapaxes(-1, -2)) * w)


PROGRAMS = (inverses, determinants, logarithms, solutions, one_solution, factors)
each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)


@each_program
def test_gradients(program: Callable[..., Any], c_compiler: Compiler) -> None:
    for shape in ((2, 3, 3), (2, 1, 3, 3)):
        x, w = DRAW.normal(size=shape) + 2 * np.eye(3), DRAW.normal(size=shape)
        call, _ = compiled(joint_gradient(program, (x, w), 2))
        value, *gradients = call(x, w)
        np.testing.assert_allclose(value, program(x, w), rtol=1e-10)
        for place, found in enumerate(gradients):
            wanted = by_differences(program, place, (x, w))
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("program", "x"),
    (
        (inverses, np.zeros((1, 3, 3))),
        (solutions, np.ones((2, 3, 3))),
        (logarithms, np.ones((3, 3))),
    ),
)
def test_a_singular_matrix_is_numpys_error(
    program: Callable[..., Any], x: np.ndarray, c_compiler: Compiler
) -> None:
    call, _ = compiled(joint_gradient(program, (x, x), 2))
    with pytest.raises(np.linalg.LinAlgError) as numpy_error:
        np.linalg.inv(x)
    with pytest.raises(np.linalg.LinAlgError, match=f"^{re.escape(str(numpy_error.value))}$"):
        call(x, x)


def lower_factor(x: Any) -> Any:
    return np.sum(np.linalg.cholesky(x))


def test_a_matrix_that_is_not_positive_definite(c_compiler: Compiler) -> None:
    x = np.array([[1.0, 2.0], [2.0, 1.0]])
    call, _ = compiled(joint_gradient(lower_factor, (x,), 1))
    with pytest.raises(np.linalg.LinAlgError) as numpy_error:
        lower_factor(x)
    with pytest.raises(np.linalg.LinAlgError, match=f"^{re.escape(str(numpy_error.value))}$"):
        call(x)


@pytest.mark.parametrize("rows", (0, 1, 2))
def test_slopes_of_singular_determinants(rows: int, c_compiler: Compiler) -> None:
    """The derivative of a determinant are the minors, which singular matrices have, too."""
    x = np.diag([1.0] * rows + [0.0] * (3 - rows))
    call, _ = compiled(joint_gradient(determinants, (x, np.eye(3)), 1))
    wanted = by_differences(np.linalg.det, 0, (x,))
    np.testing.assert_allclose(call(x, np.eye(3))[1], wanted, atol=1e-6)


@each_program
@changed_costs(eliminated_rows=2)
def test_large_matrices_are_for_lapack(program: Callable[..., Any]) -> None:
    x = np.eye(3) + np.ones((1, 3, 3))
    with pytest.raises(NoNativeText, match="of 3 rows"):
        lower_to_loops(joint_gradient(program, (x, x), 2))
