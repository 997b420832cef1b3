"""The programs that ``make types`` checks strictly also run: their types are true."""

from __future__ import annotations

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from tests.typed import cell_model, plain_functions


def test_the_model_trains() -> None:
    losses = cell_model.train(30)
    assert losses[-1] < 0.5 * losses[0]
    losses = cell_model.train_in_steps(30)
    assert losses[-1] < 0.5 * losses[0]


def test_a_step_by_hand_descends() -> None:
    loss = cell_model.Loss(cell_model.Net(4))
    x, y = cell_model.data(1)
    before = float(loss(x, y))
    cell_model.descend(loss, x, y, 0.01)
    assert float(loss(x, y)) < before
    assert cell_model.sensitivity(loss.net, x).shape == x.shape


def test_a_jitted_function_keeps_its_value() -> None:
    x = np.linspace(-2.0, 2.0, 5, dtype=np.float32)
    wanted = 1.0 / (1.0 + np.exp(-4.0 * x))
    np.testing.assert_allclose(cell_model.activation(Tensor(x)).asnumpy(), wanted, rtol=1e-5)


def test_plain_functions_have_the_types_that_are_written() -> None:
    x = np.array([0.0, 1.5, 2.0, 4.5])
    np.testing.assert_allclose(plain_functions.force(x), 2.0 * np.array([0.5, -1.0, 2.0, -1.5]))
    at_rest, left = plain_functions.relax(x, 400)
    assert left < 1e-6
    np.testing.assert_allclose(np.diff(at_rest), 1.0, atol=1e-3)
    assert plain_functions.slope(2.0) == 12.0
    chain = np.array([[1.0, -1, 0, 0], [-1, 2, -1, 0], [0, -1, 2, -1], [0, 0, -1, 1]])
    np.testing.assert_allclose(plain_functions.stiffness(x), chain)
    v = np.array([1.0, 0.0, -2.0, 0.5])
    change, product = plain_functions.along(x, v)
    np.testing.assert_allclose(change, -plain_functions.force(x) @ v / 2.0)
    np.testing.assert_allclose(product, chain @ v)


def test_decorated_functions_keep_their_types() -> None:
    x = np.array([-1.2, 0.4])
    s = 1.0 / (1.0 + np.exp(-x))
    np.testing.assert_allclose(plain_functions.smooth(x), s)
    np.testing.assert_allclose(ms.grad(plain_functions.smooth)(x), s * (1.0 - s))
    np.testing.assert_array_equal(plain_functions.rounded(x), [-1.0, 0.0])
    np.testing.assert_array_equal(ms.grad(plain_functions.rounded)(x), [1.0, 1.0])
    assert "smooth_backward" in plain_functions.text()
