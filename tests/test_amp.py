"""Loss scalers: the gradients of a scaled loss are scaled, and the scale follows overflows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, amp, nn

X = np.array([1.5, -2.0, 3.0], np.float32)


@pytest.mark.parametrize(
    "scaler", [amp.StaticLossScaler(1024.0), amp.DynamicLossScaler(1024.0, 2, 10)]
)
def test_what_is_scaled_is_unscaled_to_the_bit(scaler: amp.LossScaler) -> None:
    for given in (Tensor(X), Tensor(X.astype(np.float16)), (Tensor(X), Tensor(2 * X)), [Tensor(X)]):
        scaled = scaler.scale(given)
        back = scaler.unscale(scaled)
        assert type(scaled) is type(given) is type(back)
        many = isinstance(given, (tuple, list))
        for one, large, again in zip(*((g if many else [g]) for g in (given, scaled, back))):
            assert one.dtype == large.dtype == again.dtype
            np.testing.assert_array_equal(large.asnumpy(), 1024 * one.asnumpy())
            np.testing.assert_array_equal(again.asnumpy(), one.asnumpy())


def test_the_gradient_of_a_scaled_loss() -> None:
    scaler = amp.StaticLossScaler(256.0)
    slope = ms.grad(lambda x: scaler.scale((x * x).sum()))(Tensor(X))
    np.testing.assert_array_equal(scaler.unscale(slope).asnumpy(), 2 * X)


def test_the_scale_shrinks_after_an_overflow_and_grows_after_a_window() -> None:
    scaler = amp.DynamicLossScaler(8.0, 2, 3)
    scales = []
    for finite in (True, True, True, True, False, True, True, True, False, False, False, False):
        scaler.adjust(Tensor(finite))
        scales.append(float(scaler.scale_value.asnumpy()))
    assert scales == [8, 8, 16, 16, 8, 8, 8, 16, 8, 4, 2, 1]
    scaler.adjust(Tensor(False))
    assert float(scaler.scale_value.asnumpy()) == 1.0  # not below 1


@pytest.mark.parametrize(
    ("given", "kind"), [("8", TypeError), (True, TypeError), (0.5, ValueError), (-1, ValueError)]
)
def test_a_scale_that_makes_no_sense(given: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="scale_value"):
        amp.StaticLossScaler(given)
    with pytest.raises(ValueError, match="scale_window"):
        amp.DynamicLossScaler(8.0, 2, 0)


def test_the_base_does_not_say_how_a_scale_follows() -> None:
    with pytest.raises(NotImplementedError):
        amp.LossScaler(2.0).adjust(Tensor(True))


def test_a_net_in_half_precision_has_results_in_single_precision() -> None:
    dense = nn.Dense(3, 2)
    plain = dense(Tensor(X[None])).asnumpy()
    net = amp.auto_mixed_precision(dense, "O3")
    out = net(Tensor(X[None]))
    half = [each.asnumpy().astype(np.float16) for each in (dense.weight, dense.bias)]
    wanted = X.astype(np.float16)[None] @ half[0].T + half[1]
    assert out.dtype == ms.float32 and wanted.dtype == np.float16
    np.testing.assert_allclose(out.asnumpy(), wanted, rtol=4e-3)
    np.testing.assert_allclose(out.asnumpy(), plain, rtol=2e-2, atol=1e-2)
    with pytest.raises(ValueError, match="amp level O7"):
        amp.auto_mixed_precision(dense, "O7")
    with pytest.raises(TypeError, match="should be Cell"):
        amp.auto_mixed_precision(np.sin)  # type: ignore[arg-type]
