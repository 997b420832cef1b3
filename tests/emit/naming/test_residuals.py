"""Saved values and returned cotangents: their names, and what is not passed."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import nn, ops
from tests.text_rules import broken_rules


class Block(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Dense(3, 4, activation="tanh"), nn.Dense(4, 4)
        self.norm = nn.LayerNorm((4,))

    def construct(self, x: Any) -> Any:
        h = self.norm(self.fc1(x))
        for _ in range(2):
            h = h + self.fc2(h) * ops.exp(-h)
        return self.fc2(h)


class WithLoss(nn.Cell):
    def __init__(self, loss: nn.Cell) -> None:
        super().__init__()
        self.net, self.loss = Block(), loss

    def construct(self, x: Any, y: Any) -> Any:
        return self.loss(self.net(x), y)


def f(*shape: int) -> np.ndarray:
    return np.linspace(0.1, 1.0, int(np.prod(shape)), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_a_saved_value_has_one_name(level: int) -> None:
    text = ms.gradient_source(
        WithLoss(nn.MSELoss()), f(2, 3), f(2, 4), get_by_list=True, opt_level=level
    )
    assert not [rule for rule in broken_rules(text) if "renames" in rule]


def test_a_renamed_value_breaks_a_rule() -> None:
    text = (
        "def f_forward(x):\n    return x, (x,)\n"
        "def f_backward(residuals, d):\n    (y,) = residuals\n    return d * y\n"
    )
    assert broken_rules(text) == ["f_backward renames x to y"]


def named_by_the_user(x: Any) -> Any:
    residuals = x * 2.0
    d_out = residuals * residuals
    return (d_out * residuals).sum()


def test_names_of_the_user_stay() -> None:
    text = ms.gradient_source(named_by_the_user, f(3))
    assert "residuals = x * 2.0" in text and "d_out = residuals * residuals" in text
    ms.check_grads(named_by_the_user, (f(3),))


@pytest.mark.thorough
@pytest.mark.parametrize("loss", [nn.MSELoss(), nn.L1Loss(), nn.SmoothL1Loss()])
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_the_sensitivity_of_a_loss_is_not_passed(loss: nn.Cell, level: int) -> None:
    ms.set_seed(1)  # with other weights the normalisation may be too steep for differences
    net = WithLoss(loss)
    text = ms.gradient_source(net, f(2, 3), f(2, 4), get_by_list=True, opt_level=level)
    assert "loss_backward(residuals)" in text or level == 3
    assert "np.float32(1)" not in text or level == 0
    ms.set_context(opt_level=level)
    try:
        ms.check_grads(net, (f(2, 3), 2 * f(2, 4)))
    finally:
        ms.set_context(opt_level=1)


@pytest.mark.thorough
@pytest.mark.parametrize("loss", [nn.MSELoss(), nn.L1Loss(), nn.SmoothL1Loss()])
@pytest.mark.parametrize("level", [1, 2, 3])
def test_the_sensitivity_is_folded_for_sizes_that_a_run_knows(loss: nn.Cell, level: int) -> None:
    """The text of symbolic sizes has the gradients of each text of fixed sizes."""
    ms.set_seed(1)
    net = WithLoss(loss)
    options: dict[str, Any] = {"get_by_list": True, "opt_level": level}
    symbolic = ms.gradient_source(net, "f32[b,3]", "f32[b,4]", **options)
    assert "np.float32(1)" not in symbolic and "broadcast_to" not in symbolic
    values = {each.name.replace(".", "_"): each.asnumpy() for each in net.trainable_params()}
    for size in (2, 5):
        inputs = (f(size, 3), f(size, 4)[::-1].copy())
        fixed = ms.gradient_source(net, *inputs, **options)
        ours, theirs = (gradients_of(text, inputs, values) for text in (symbolic, fixed))
        assert len(ours) == len(theirs) == len(values)
        for mine, other in zip(ours, theirs):
            assert mine.dtype == other.dtype
            np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-7)


def gradients_of(text: str, inputs: tuple[np.ndarray, ...], values: dict[str, np.ndarray]) -> Any:
    module: dict[str, Any] = {}
    exec(text, module)
    forward, backward = module["with_loss_forward"], module["with_loss_backward"]
    names = [name for name in inspect.signature(forward).parameters if name != "work"]
    return backward(forward(*inputs, *(values[name] for name in names[len(inputs) :])))


class TwoLosses(WithLoss):
    def construct(self, x: Any, y: Any) -> Any:
        return self.loss(self.net(x), y) + 0.5 * self.loss(x, y[:, :3])


def test_another_sensitivity_is_passed() -> None:
    ms.check_grads(TwoLosses(nn.MSELoss()), (f(2, 3), 2 * f(2, 4)), order=2)


def test_returned_cotangents_have_the_names_of_parameters() -> None:
    net = nn.SequentialCell(nn.Conv2d(2, 3, 3, has_bias=True), nn.BatchNorm2d(3)).set_train()
    text = ms.gradient_source(net, f(2, 2, 5, 5), get_by_list=True)
    for name in ("d_weight, d_bias", "d_x, d_gamma, d_beta"):
        assert f"return {name}" in text


def test_batch_norms_of_different_sizes_are_one_function() -> None:
    norms = [nn.BatchNorm2d(3), nn.BatchNorm2d(4)]
    net = nn.SequentialCell(norms[0], nn.Conv2d(3, 4, 3, stride=2), norms[1]).set_train()
    x = np.random.default_rng(0).normal(size=(8, 3, 16, 16)).astype(np.float32)
    text = ms.gradient_source(net, x, get_all=True, get_by_list=True)
    assert text.count("def batch_norm2d") == 3  # forward, backward, update of the statistics
    ms.check_grads(net, (x,), order=1)
