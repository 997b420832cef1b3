"""The slope of a norm at both ends of the range: the direction of the vector, of length 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, gradient_source, ops

SCALES = {
    "float32": (1.4e-45, 1e-42, 1e-38, 1e-30, 1e-19, 1.0, 1e19, 1e30, 2e37),
    "float64": (5e-324, 1e-320, 1e-308, 1e-200, 1e-160, 1.0, 1e154, 1e200, 1e307),
}
NORMS: dict[str, Callable] = {
    "linalg": lambda x: np.linalg.norm(x),
    "along an axis": lambda x: np.linalg.norm(np.reshape(x, (1, 2)), axis=1).sum(),
    "rows": lambda x: np.linalg.norm(np.stack([x, 0.0 * x, x]), axis=1)[2],
    "root of a sum": lambda x: np.sqrt(np.sum(x * x)),
    "root of a sum of powers": lambda x: np.sqrt(np.sum(x**2)),
    "power of a sum": lambda x: np.sum(np.square(x)) ** 0.5,
    "inner product": lambda x: np.sqrt(x @ x),
    "two squares": lambda x: np.sqrt(x[0] * x[0] + x[1] ** 2),
    "power of two squares": lambda x: (x[0] * x[0] + x[1] * x[1]) ** 0.5,
    "hypot": lambda x: np.hypot(x[0], x[1]),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", SCALES)
@pytest.mark.parametrize("name", NORMS)
def test_the_slope_is_the_direction(name: str, dtype: str) -> None:
    gradient = ms.grad(NORMS[name])
    for scale in SCALES[dtype]:
        x = np.array([3, -4], dtype) * np.dtype(dtype).type(scale)
        np.testing.assert_allclose(gradient(x), [0.6, -0.8], rtol=1e-5, err_msg=str(scale))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", SCALES)
def test_of_tensors_and_in_forward_mode(dtype: str) -> None:
    for scale in SCALES[dtype]:
        x = Tensor(np.array([3, -4], dtype) * np.dtype(dtype).type(scale))
        found = ms.grad(lambda x: ops.norm(x))(x)
        np.testing.assert_allclose(found.asnumpy(), [0.6, -0.8], rtol=1e-5)
        _, dot = ms.jvp(lambda x: ops.norm(x), x, Tensor(np.array([1, 0], dtype)))
        np.testing.assert_allclose(dot.asnumpy(), 0.6, rtol=1e-5)


def test_at_zero_it_is_zero() -> None:
    for norm in NORMS.values():
        np.testing.assert_array_equal(ms.grad(norm)(np.zeros(2)), [0.0, 0.0])


def test_batches_of_norms() -> None:
    rows = np.array([[3.0, -4.0], [3e-200, 4e-200], [0.0, 0.0]])
    found = ms.vmap(ms.grad(lambda x: ops.norm(x)))(Tensor(rows)).asnumpy()
    np.testing.assert_allclose(found, [[0.6, -0.8], [0.6, 0.8], [0.0, 0.0]], rtol=1e-12)


def test_a_root_with_a_number_in_it_stays_as_it_is_written() -> None:
    def rounded(x: np.ndarray) -> np.ndarray:
        return np.sqrt(x * x + 1e-9)

    assert "hypot" not in gradient_source(rounded, np.ones(2))
