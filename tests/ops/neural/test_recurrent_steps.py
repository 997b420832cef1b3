"""Steps of recurrent nets: the formulas of the literature in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Tensor
from autodiff_compiler.ops.neural.recurrent_steps import RNN_STEPS, gru_step, lstm_step

RANDOM = np.random.default_rng(12)
H, C = RANDOM.normal(size=(2, 4, 3))


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def drawn(gates: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the input's part, the weight and the bias of a step with so many gates."""
    return (RANDOM.normal(size=(4, 3 * gates)), RANDOM.normal(size=(3 * gates, 3)),
            RANDOM.normal(size=3 * gates))  # fmt: skip


def tensors(*arrays: np.ndarray) -> list[Tensor]:
    return [Tensor(array) for array in arrays]


@pytest.mark.parametrize(
    ("name", "function"), [("tanh", np.tanh), ("relu", lambda x: np.maximum(x, 0))]
)
def test_a_plain_step(name: str, function: Any) -> None:
    x, weight, bias = drawn(1)
    given, w, b, h = tensors(x, weight, bias, H)
    (found,) = RNN_STEPS[name](given, (h,), w, b)
    np.testing.assert_allclose(found.asnumpy(), function(x + H @ weight.T + bias), rtol=1e-13)


def test_an_lstm_step() -> None:
    x, weight, bias = drawn(4)
    given, w, b, h, c = tensors(x, weight, bias, H, C)
    new_h, new_c = lstm_step(given, (h, c), w, b)
    i, f, g, o = np.split(x + H @ weight.T + bias, 4, -1)
    wanted = sigmoid(f) * C + sigmoid(i) * np.tanh(g)
    np.testing.assert_allclose(new_c.asnumpy(), wanted, rtol=1e-12)
    np.testing.assert_allclose(new_h.asnumpy(), sigmoid(o) * np.tanh(wanted), rtol=1e-12)


def test_a_gru_step() -> None:
    x, weight, bias = drawn(3)
    given, w, b, h = tensors(x, weight, bias, H)
    (found,) = gru_step(given, (h,), w, b)
    (r_x, z_x, n_x), (r_h, z_h, n_h) = (np.split(part, 3, -1) for part in (x, H @ weight.T + bias))
    new = np.tanh(n_x + sigmoid(r_x + r_h) * n_h)
    z = sigmoid(z_x + z_h)
    np.testing.assert_allclose(found.asnumpy(), (1 - z) * new + z * H, rtol=1e-12)
