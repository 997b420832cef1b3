"""Convolution and pooling layers: names, printing, initial values, channels last, refusals.

Values and gradients are in ``test_measured.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Tensor, nn
from autodiff_compiler.testing import check_grads

X = np.random.default_rng(6).normal(size=(2, 5, 6, 3)).astype(np.float32)


def test_printing_and_initial_values() -> None:
    net = nn.Conv2d(2, 4, (3, 2), pad_mode="pad", padding=(1, 2, 0, 1), group=2, has_bias=True)
    assert repr(net).startswith(
        "Conv2d(input_channels=2, output_channels=4, kernel_size=(3, 2), stride=(1, 1), "
        "pad_mode=pad, padding=(1, 2, 0, 1), dilation=(1, 1), group=2, has_bias=True, weight_init="
    )
    bound = 1 / np.sqrt(6)
    for parameter in net.get_parameters():
        assert 0 < abs(parameter.asnumpy()).max() <= bound
    row = nn.Conv1d(2, 4, 3, pad_mode="pad", padding=2, stride=2)
    assert "kernel_size=(1, 3), stride=(1, 2), pad_mode=pad, padding=(0, 0, 2, 2)" in repr(row)
    assert "bias_init=None, format=NCHW" in repr(row)
    assert (
        repr(nn.MaxPool1d(2, 2)) == "MaxPool1d(kernel_size=(1, 2), stride=(1, 2), pad_mode=VALID)"
    )
    assert repr(nn.AvgPool2d((2, 3), 2, "pad", 1)).endswith("(2, 3), stride=2, pad_mode=PAD)")


def test_channels_last() -> None:
    last = nn.Conv2d(3, 4, 3, stride=2, has_bias=True, data_format="NHWC")
    assert last.weight.shape == (4, 3, 3, 3)
    first = nn.Conv2d(3, 4, 3, 2, has_bias=True, bias_init=Tensor(last.bias.asnumpy()),
                      weight_init=Tensor(last.weight.asnumpy().transpose(0, 3, 1, 2)))  # fmt: skip
    for one, other in (
        (last, first),
        (nn.MaxPool2d(2, 2, data_format="NHWC"), nn.MaxPool2d(2, 2)),
        (nn.AvgPool2d(2, 1, "same", data_format="NHWC"), nn.AvgPool2d(2, 1, "same")),
    ):
        want = other(Tensor(X.transpose(0, 3, 1, 2))).asnumpy().transpose(0, 2, 3, 1)
        np.testing.assert_allclose(one(Tensor(X)).asnumpy(), want, rtol=1e-5, atol=1e-6)
    check_grads(last, [X[:1, :3, :3]], order=1)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: nn.Conv2d(3, 4, 3, group=2), "'group' must divide"),
        (lambda: nn.Conv2d(2, 4, 0), "'kernel_size item' must be int and > 0"),
        (lambda: nn.Conv2d(2, 4, (1, 2, 3)), "'kernel_size' must have 2 items"),
        (lambda: nn.Conv2d(2, 4, 3, pad_mode="SAME"), "'pad_mode' must be in"),
        (lambda: nn.Conv2d(2, 4, 3, padding=1), "'padding' must be 0 when"),
        (lambda: nn.Conv2d(2, 4, 3, pad_mode="pad", padding=(1, 2)), "or have 4 items"),
        (lambda: nn.Conv2d(2, 4, 3, pad_mode="pad", padding=-1), "ints >= 0"),
        (lambda: nn.Conv3d(2, 4, 3, data_format="NHWC"), "'data_format' 'NHWC' is not known"),
        (lambda: nn.Conv2dTranspose(2, 4, 3, output_padding=1), "needs the 'pad_mode' 'pad'"),
        (
            lambda: nn.Conv2dTranspose(2, 4, 3, pad_mode="pad", output_padding=1),
            "less than stride or dilation",
        ),
        (lambda: nn.MaxPool2d(2, 2, ceil_mode=True), "need the 'pad_mode' 'pad'"),
        (lambda: nn.AvgPool2d(2, 2, padding=1), "need the 'pad_mode' 'pad'"),
        (lambda: nn.AvgPool2d(2, 2, divisor_override=0), "must be > 0"),
        (lambda: nn.MaxPool2d(0), "must be int > 0"),
    ],
)
def test_refusals(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
