"""``vjp`` in a source function: its function runs once, for the value and every pullback."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops, pipeline


@pytest.fixture(autouse=True)
def _verified(monkeypatch):
    monkeypatch.setattr(pipeline, "VERIFY", True)


X = np.array([[0.3, -0.8], [1.1, 0.4]])
W = np.array([[0.5, -0.2], [0.3, 0.8]])


def layer(x, w):
    h = ops.tanh(ops.matmul(x, w))
    print("layer")
    return h * h


def pulled_twice(x, w, n):
    out, pull = ms.vjp(layer, x, w)
    d_x, d_w = pull(out)
    for _ in range(n):
        d_x = d_x + pull(d_x)[0]
    return out, d_x, d_w


def by_hand(x, w, n):
    h = np.tanh(x @ w)

    def pull(ct):
        d_u = ct * 2 * h * (1 - h * h)
        return d_u @ w.T, x.T @ d_u

    d_x, d_w = pull(h * h)
    for _ in range(n):
        d_x = d_x + pull(d_x)[0]
    return h * h, d_x, d_w


@pytest.mark.parametrize("n", [0, 2])
def test_one_run_for_the_value_and_all_gradients(n: int, capsys) -> None:
    found = ms.jit(pulled_twice)(Tensor(X), Tensor(W), n)
    for one, expected in zip(found, by_hand(X, W, n)):
        np.testing.assert_allclose(one.asnumpy(), expected, rtol=1e-12)
    assert capsys.readouterr().out == "layer\n"


def test_the_gradient_of_a_pullback() -> None:
    def total(x, w, n):
        out, d_x, d_w = pulled_twice(x, w, n)
        return (out * d_x).sum() + (d_w * d_w).sum()

    def numbers(x):
        out, d_x, d_w = by_hand(x, W, 2)
        return (out * d_x).sum() + (d_w * d_w).sum()

    found = ms.grad(total)(Tensor(X), Tensor(W), 2).asnumpy()
    for place in np.ndindex(X.shape):
        step = np.zeros_like(X)
        step[place] = 1e-6
        difference = (numbers(X + step) - numbers(X - step)) / 2e-6
        assert found[place] == pytest.approx(difference, rel=1e-7)


def test_value_and_gradient_use_the_same_random_numbers() -> None:
    def dropped(x, scale):
        out, pull = ms.vjp(lambda x: ops.dropout(x, 0.5) * scale, x)
        return out, pull(ops.ones_like(out))[0]

    out, d_x = ms.jit(dropped)(Tensor(np.ones(40, np.float32)), Tensor(np.float32(3.0)))
    np.testing.assert_array_equal(out.asnumpy(), d_x.asnumpy())
    assert {*out.asnumpy().tolist()} == {0.0, 6.0}


def test_each_pullback_is_of_its_own_call() -> None:
    def noisy(x):
        return x * ops.standard_normal((3,))

    def several(x):
        ones = ops.ones_like(x)
        plain = noisy(x)
        one, pull_one = ms.vjp(noisy, x)
        other, pull_other = ms.vjp(noisy, x)
        alone = ms.grad(lambda x: noisy(x).sum())(x)
        return plain, one, pull_one(ones)[0], other, pull_other(ones)[0], alone

    found = ms.jit(several)(Tensor(np.ones(3, np.float32)))
    plain, one, d_one, other, d_other, alone = [each.asnumpy() for each in found]
    np.testing.assert_array_equal(one, d_one)
    np.testing.assert_array_equal(other, d_other)
    assert len({each.tobytes() for each in (plain, one, other, alone)}) == 4


def test_a_gradient_with_a_sensitivity_is_a_run_of_its_own(capsys) -> None:
    def both(x, w, ct):
        gradient = ms.GradOperation(sens_param=True)(layer)
        return layer(x, w), gradient(x, w, ct)

    ms.jit(both)(Tensor(X), Tensor(W), Tensor(X))
    assert capsys.readouterr().out == "layer\nlayer\n"


def test_a_write_happens_once() -> None:
    norm = nn.BatchNorm1d(2)
    norm.set_train()

    def slope(x):
        out, pull = ms.vjp(norm, x)
        return pull(out)[0]

    x = X.astype(np.float32)
    found = ms.jit(slope)(Tensor(x))
    np.testing.assert_allclose(norm.moving_mean.asnumpy(), 0.1 * x.mean(0), rtol=1e-6)
    alone = nn.BatchNorm1d(2)
    alone.set_train()
    out, pull = ms.vjp(alone, Tensor(x))
    np.testing.assert_allclose(found.asnumpy(), pull(out)[0].asnumpy(), rtol=1e-6)


def test_numbers_have_pullbacks_too() -> None:
    def scaled(x, s):
        out, pull = ms.vjp(lambda x, s: np.sum(np.sin(x) * s * s), x, s)
        return pull(out)

    x = np.array([0.3, -0.8])
    d_x, d_s = ms.jit(scaled)(x, 1.5)
    total = np.sum(np.sin(x)) * 1.5**2
    np.testing.assert_allclose(d_x, total * np.cos(x) * 1.5**2, rtol=1e-12)
    np.testing.assert_allclose(d_s, total * np.sum(np.sin(x)) * 3.0, rtol=1e-12)
