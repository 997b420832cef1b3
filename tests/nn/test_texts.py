"""The gradients of layers read as in a textbook."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import nn, ops
from tests.text_rules import broken_rules

PACKAGE = Path(ms.__file__).parent
USER_NAMES = {
    word
    for path in [*(PACKAGE / "nn").rglob("*.py"), Path(__file__)]
    for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))
}


class Attention(nn.Cell):
    def construct(self, q: Any, k: Any, v: Any) -> Any:
        scores = ops.matmul(q, ops.swapaxes(k, -1, -2)) / 8.0
        return ops.matmul(ops.softmax(scores), v)


def f(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


IDS = np.array([0, 1], np.int32)
CASES: dict[str, tuple[Any, tuple, str]] = {
    "layer norm": (lambda: nn.LayerNorm((4,)), (f(2, 4),), "centered std x_hat d_gamma"),
    "batch norm": (
        lambda: nn.BatchNorm2d(3).set_train(),
        (f(2, 3, 4, 4),),
        "batch_mean batch_variance centered std x_hat",
    ),
    "group norm": (lambda: nn.GroupNorm(2, 4), (f(2, 4, 3, 3),), "std x_hat d_x_hat"),
    "lstm": (lambda: nn.LSTM(3, 4), (f(5, 2, 3),), "i f g o gates h_proj tanh_c d_h d_c"),
    "lstm cell": (
        lambda: nn.LSTMCell(3, 4),
        (f(2, 3), (f(2, 4), f(2, 4))),
        "i f g o c h tanh_c d_gates",
    ),
    "gru": (lambda: nn.GRU(3, 4), (f(5, 2, 3),), "r z n h_proj"),
    "attention": (Attention, (f(2, 5, 8),) * 3, "scores d_scores"),
    "multi-head attention": (
        lambda: nn.MultiheadAttention(8, 2, batch_first=True),
        (f(2, 5, 8),) * 3,
        "q k v w_q w_k w_v scores weights heads",
    ),
    "cross entropy": (nn.CrossEntropyLoss, (f(2, 3), IDS), "log_probs classes counted d_log_probs"),
    "mean squared error": (nn.MSELoss, (f(4, 2), f(4, 2)), "error"),
    "huber": (nn.HuberLoss, (f(4), f(4)), "error"),
    "convolution": (lambda: nn.Conv2d(3, 4, 3), (f(2, 3, 8, 8),), "columns kernel"),
}


@pytest.mark.parametrize("name", CASES)
def test_layers_use_the_names_of_the_literature(name: str) -> None:
    make, inputs, wanted = CASES[name]
    layer = make()
    by_list = bool(list(layer.trainable_params()))
    text = ms.gradient_source(layer, *inputs, get_all=True, get_by_list=by_list)
    assert not broken_rules(text, USER_NAMES)
    assert set(wanted.split()) <= set(re.findall(r"\w+", text))
