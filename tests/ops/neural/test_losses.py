"""Losses: values against closed forms and hand numbers, gradients of two orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ops import operations as P
from autodiff_compiler.testing import check_grads

A = np.array([[0.3, -1.2, 2.1], [-0.7, 1.6, -2.4]], np.float32)
B = np.array([[1.4, 0.65, -0.8], [2.2, -1.1, 0.9]], np.float32)
UNIT = np.array([[0.3, 0.15, 0.8], [0.7, 0.6, 0.4]], np.float32)
SIGNS = np.array([[1, -1, 1], [-1, -1, 1]], np.float32)
ROWS = np.array([1, -1], np.float32)
CLASS = np.array([2, 0], np.int32)
WEIGHT = np.array([0.5, 1.0, 2.0], np.float32)
SIG = 1 / (1 + np.exp(-A))
D = abs(A - B)
LOGS = A - np.log(np.exp(A).sum(1, keepdims=True))
COS = (A * B).sum(1) / np.sqrt((A * A).sum(1) * (B * B).sum(1))
BCE = -(UNIT * np.log(SIG) + (1 - UNIT) * np.log(1 - SIG))
POSITIVE = -(3 * UNIT * np.log(SIG) + (1 - UNIT) * np.log(1 - SIG))
SMOOTH = -(0.8 * LOGS[[0, 1], CLASS] + 0.2 * LOGS.mean(1))
PICKED = -LOGS[[0, 1], CLASS]
VOLUME = np.stack([A, B], 2)
VOLUME_LOGS = VOLUME - np.log(np.exp(VOLUME).sum(1, keepdims=True))
PLACES = np.array([[2, 0], [1, 1]], np.int32)
VOLUME_PICKED = -np.take_along_axis(VOLUME_LOGS, PLACES[:, None], 1)[:, 0]
MARGINS = np.maximum(0, 1 - A[[0, 1], CLASS][:, None] + A) * (np.arange(3) != CLASS[:, None])
NORMS = np.sqrt(np.square(A - B + 1e-6).sum(1)), np.sqrt(np.square(A - UNIT + 1e-6).sum(1))

# Made by ``primitive``, whose signatures are known when they are called.
SMOOTH_L1: Any = P.SmoothL1Loss
WITH_LOGITS: Any = P.BCEWithLogitsLoss

#: A function, its inputs, what it is.
CALLS: list[tuple[Callable[..., Any], tuple[Any, ...], Any]] = [
    (lambda x, y: ops.mse_loss(x, y), (A, B), (D**2).mean()),
    (lambda x, y: ops.mse_loss(x, y, "none"), (A, B), D**2),
    (lambda x, y: ops.l1_loss(x, y, "sum"), (A, B), D.sum()),
    (lambda x, y: ops.smooth_l1_loss(x, y, 2.0), (A, B), np.where(D < 2, D**2 / 4, D - 1)),
    (lambda x, y: ops.smooth_l1_loss(x, y, 0.0), (A, B), D),
    (lambda x, y: SMOOTH_L1(2.0, "sum")(x, y), (A, B), np.where(D < 2, D**2 / 4, D - 1).sum()),
    (lambda x, y: ops.huber_loss(x, y, "none", 2.0), (A, B), np.where(D <= 2, D**2 / 2, 2 * D - 2)),
    (lambda x, t: ops.nll_loss(x, t), (A, CLASS), -(2.1 - 0.7) / 2),
    (lambda x, t, w: ops.nll_loss(x, t, w), (A, CLASS, WEIGHT), -(2 * 2.1 - 0.5 * 0.7) / 2.5),
    (lambda x, t: ops.nll_loss(x, t, ignore_index=0), (A, CLASS), -2.1),
    (lambda x, t: ops.nll_loss(x[0], t[0]), (A, CLASS), -2.1),
    (lambda x, t: ops.cross_entropy(x, t), (A, CLASS), PICKED.mean()),
    (lambda x, t: ops.cross_entropy(x, t, reduction="none"), (VOLUME, PLACES), VOLUME_PICKED),
    (lambda x, t, w: ops.cross_entropy(x, t, w), (A, CLASS, WEIGHT), PICKED @ [2, 0.5] / 2.5),
    (lambda x, t: ops.cross_entropy(x, t, label_smoothing=0.2), (A, CLASS), SMOOTH.mean()),
    (lambda x, t: ops.cross_entropy(x, t, ignore_index=2, reduction="sum"), (A, CLASS), PICKED[1]),
    (lambda x, t: ops.cross_entropy(x, t), (A, UNIT), -(LOGS * UNIT).sum() / 2),
    (lambda x, t, w: ops.cross_entropy(x, t, w, reduction="none"), (A, UNIT, WEIGHT),
     -(LOGS * UNIT * WEIGHT).sum(1)),
    (lambda x, y: ops.binary_cross_entropy(x, y), (SIG, UNIT), BCE.mean()),
    (lambda x, y, w: ops.binary_cross_entropy(x, y, w, "none"), (SIG, UNIT, WEIGHT), BCE * WEIGHT),
    (lambda x, y: P.BinaryCrossEntropy("sum")(x, y), (SIG, UNIT), BCE.sum()),
    (lambda x, y: ops.binary_cross_entropy_with_logits(x, y), (A, UNIT), BCE.mean()),
    (lambda x, y, w: WITH_LOGITS("none")(x, y, w, ops.full_like(w, 3.0)), (A, UNIT, WEIGHT),
     POSITIVE * WEIGHT),
    (lambda x, y: P.SigmoidCrossEntropyWithLogits()(x, y), (A, UNIT), BCE),
    (lambda x, y: ops.kl_div(x, y), (A, UNIT), (UNIT * (np.log(UNIT) - A)).mean()),
    (lambda x, y: ops.kl_div(x, y, "batchmean"), (A, UNIT), (UNIT * (np.log(UNIT) - A)).sum() / 2),
    (lambda x, y, t: ops.cosine_embedding_loss(x, y, t, -0.9, "none"), (A, B, ROWS),
     np.where(ROWS > 0, 1 - COS, np.maximum(COS + 0.9, 0))),
    (lambda x, t: ops.hinge_embedding_loss(x, t, 0.9), (A, SIGNS),
     np.where(SIGNS > 0, A, np.maximum(0, 0.9 - A)).mean()),
    (lambda x, y, t: ops.margin_ranking_loss(x, y, t, 0.35, "none"), (A, B, SIGNS),
     np.maximum(0, 0.35 - SIGNS * (A - B))),
    (lambda x, y, v: ops.gaussian_nll_loss(x, y, v, full=True), (A, B, UNIT),
     ((np.log(UNIT) + (A - B) ** 2 / UNIT) / 2).mean() + np.log(2 * np.pi) / 2),
    (lambda x, y: ops.multilabel_soft_margin_loss(x, y, reduction="none"), (A, UNIT), BCE.mean(1)),
    (lambda x, t: ops.soft_margin_loss(x, t), (A, SIGNS), np.log(1 + np.exp(-SIGNS * A)).mean()),
    (lambda x, t: ops.multi_margin_loss(x, t, reduction="none"), (A, CLASS), MARGINS.sum(1) / 3),
    (lambda x, t, w: ops.multi_margin_loss(x, t, 2, weight=w), (A, CLASS, WEIGHT),
     ((MARGINS**2).sum(1) / 3 * [2, 0.5]).mean()),
    (lambda x, y, z: ops.triplet_margin_loss(x, y, z, reduction="none"), (A, B, UNIT),
     np.maximum(0, 1 + NORMS[0] - NORMS[1])),
    (lambda x: P.L2Loss()(x), (A,), (A * A).sum() / 2),
    (lambda x, y: P.SoftmaxCrossEntropyWithLogits()(x, y)[0], (A, UNIT), -(LOGS * UNIT).sum(1)),
    (lambda x, y: P.SoftmaxCrossEntropyWithLogits()(x, y)[1], (A, UNIT), np.exp(LOGS) - UNIT),
    (lambda x, t: P.SparseSoftmaxCrossEntropyWithLogits()(x, t), (A, CLASS), PICKED.mean()),
    (lambda x, t: P.SparseSoftmaxCrossEntropyWithLogits(is_grad=True)(x, t), (A, CLASS),
     (np.exp(LOGS) - np.eye(3)[CLASS]) / 2),
    (lambda x, t, w: P.NLLLoss()(x, t, w)[0], (A, CLASS, WEIGHT), -(2 * 2.1 - 0.5 * 0.7) / 2.5),
    (lambda x, t, w: P.NLLLoss("sum")(x, t, w)[1], (A, CLASS, WEIGHT), 2.5),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(CALLS)))
def test_values_and_gradients(case: int) -> None:
    function, inputs, expected = CALLS[case]
    got = function(*(Tensor(each) for each in inputs))
    assert got.asnumpy().dtype == np.float32
    np.testing.assert_allclose(got.asnumpy(), expected, rtol=2e-5, atol=1e-6)
    check_grads(function, inputs)


class CrossEntropy(nn.Cell):
    def construct(self, x: Any, t: Any) -> Any:
        return ops.cross_entropy(x, t)


def test_the_gradient_of_a_cross_entropy_points_away_from_the_target() -> None:
    """Two equal logits, target 1: softmax - one_hot = [0.5, -0.5]."""
    x, t = Tensor(np.zeros((1, 2), np.float32)), Tensor(np.array([1], np.int32))
    gradient = ops.GradOperation()(CrossEntropy())(x, t)
    np.testing.assert_allclose(gradient.asnumpy(), [[0.5, -0.5]])
    np.testing.assert_allclose(CrossEntropy()(x, t).asnumpy(), np.log(2.0), rtol=1e-6)


def test_margin_losses_by_hand() -> None:
    """Ranked the right way round by more than the margin costs nothing."""
    high, low, one = (Tensor(np.array([number], np.float32)) for number in (3.0, 1.0, 1.0))
    assert float(ops.margin_ranking_loss(high, low, one, 0.5)) == 0.0
    assert float(ops.margin_ranking_loss(low, high, one, 0.5)) == 2.5
    assert float(ops.hinge_embedding_loss(low, -one, 4.0)) == 3.0
    assert float(ops.kl_div(low, high)) == pytest.approx(3 * (np.log(3) - 1))


def test_losses_stay_finite_far_out() -> None:
    far = Tensor(np.array([[1000.0, -1000.0]], np.float32))
    label = Tensor(np.array([[0.0, 1.0]], np.float32))
    assert float(ops.binary_cross_entropy_with_logits(far, label)) == 1000.0
    assert float(ops.cross_entropy(far, label)) == 2000.0
    assert float(ops.soft_margin_loss(far, Tensor(np.array([[-1.0, 1.0]], np.float32)))) == 1000.0
    sure = Tensor(np.array([0.0, 1.0], np.float32))
    assert float(ops.binary_cross_entropy(sure, sure)) == 0.0
    assert np.isfinite(float(ops.binary_cross_entropy(sure, 1.0 - sure)))


def test_ignored_samples_have_no_gradient() -> None:
    target = Tensor(np.array([2, -100], np.int32))
    gradient = ops.GradOperation()(CrossEntropy())(Tensor(A), target).asnumpy()
    np.testing.assert_allclose(gradient[0], np.exp(LOGS[0]) - [0, 0, 1], rtol=1e-5)
    assert not gradient[1].any()


def test_settings_that_are_wrong() -> None:
    x = Tensor(A)
    with pytest.raises(ValueError, match="'mean', 'sum' or 'none'"):
        ops.mse_loss(x, x, "average")
    with pytest.raises(ValueError, match="delta of huber_loss must be positive"):
        ops.huber_loss(x, x, delta=0.0)
    with pytest.raises(ShapeError, match="axis of classes"):
        ops.cross_entropy(Tensor(1.0), Tensor(0))


def test_multilabel_margin() -> None:
    scores = np.array([[0.1, 0.9, -0.4, 0.3], [0.2, -0.5, 1.5, 0.0]], np.float32)
    wanted = np.array([[1, 3, -1, 0], [2, -1, 0, 1]])
    want = [
        sum(max(0, 1 - row[i] + row[j]) for i in good for j in range(4) if j not in good) / 4
        for row, good in zip(scores, ([1, 3], [2]))
    ]
    got = ops.multilabel_margin_loss(Tensor(scores), Tensor(wanted), "none").asnumpy()
    np.testing.assert_allclose(got, want, rtol=1e-5)
    check_grads(lambda x: ops.multilabel_margin_loss(x, Tensor(wanted)), [scores])
