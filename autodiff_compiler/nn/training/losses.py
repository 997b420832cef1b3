"""Loss layers: the functions of ``ops/neural/losses.py`` with their settings stored."""

from __future__ import annotations

import math
from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common import Cell, Tensor
from autodiff_compiler.nn.layers.activation import LogSoftmax
from autodiff_compiler.ops.neural.losses import reduced


class LossBase(Cell):
    """Base of losses: the reduction of their elements, 'mean', 'sum' or 'none'."""

    def __init__(self, reduction: str = "mean"):
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(
                f"For '{type(self).__name__}', the 'reduction' must be in ['mean', 'sum', 'none'], "
                f"but got {reduction}."
            )
        self.reduction = reduction

    def get_axis(self, x: Any) -> tuple[int, ...]:
        """Returns all axes of x."""
        return tuple(range(x.ndim))

    def get_loss(self, x: Any, weights: Any = 1.0) -> Any:
        """Reduces the elements of x times weights."""
        return reduced(x * weights, self.reduction)


class BCELoss(LossBase):
    """Binary cross entropy of probabilities: -(y log(p) + (1 - y) log(1 - p))."""

    def __init__(self, weight: Any = None, reduction: str = "mean"):
        super().__init__(reduction)
        self.weight = weight

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.binary_cross_entropy(logits, labels, self.weight, self.reduction)


class BCEWithLogitsLoss(LossBase):
    """Binary cross entropy of sigmoid(logits)."""

    def __init__(self, reduction: str = "mean", weight: Any = None, pos_weight: Any = None):
        super().__init__(reduction)
        self.weight, self.pos_weight = weight, pos_weight

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.binary_cross_entropy_with_logits(
            logits, labels, self.weight, self.pos_weight, self.reduction
        )


class CosineEmbeddingLoss(LossBase):
    """Cosine loss: 1 - cos(x1, x2) for label 1, max(0, cos(x1, x2) - margin) for label -1."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.margin = margin

    def construct(self, logits_x1: Any, logits_x2: Any, labels: Any) -> Tensor:
        return ops.cosine_embedding_loss(logits_x1, logits_x2, labels, self.margin, self.reduction)


class _ClassLoss(LossBase):
    """Base of losses over classes, each with a weight. Labels ``ignore_index`` are left out."""

    def __init__(
        self,
        weight: Any = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ):
        super().__init__(reduction)
        self.weight, self.ignore_index, self.label_smoothing = weight, ignore_index, label_smoothing


class CrossEntropyLoss(_ClassLoss):
    """Cross entropy of softmax(logits) and labels: class indices, or probabilities."""

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.cross_entropy(
            logits, labels, self.weight, self.ignore_index, self.reduction, self.label_smoothing
        )


class DiceLoss(LossBase):
    """Dice loss: 1 - 2 sum(logits * label) / (sum(logits ** 2) + sum(label ** 2) + smooth)."""

    def __init__(self, smooth: float = 1e-5):
        super().__init__()
        if smooth <= 0:
            raise ValueError(f"For 'DiceLoss', the 'smooth' must be > 0, but got {smooth}.")
        self.smooth = smooth

    def construct(self, logits: Any, label: Any) -> Tensor:
        intersection = ops.sum(logits * label)
        total = ops.sum(ops.square(logits)) + ops.sum(ops.square(label))
        return 1.0 - 2.0 * intersection / (total + self.smooth)


class FocalLoss(LossBase):
    """Focal loss: -weight * (1 - p) ** gamma * log(p), for p the softmax of logits at the label.

    Labels (N, 1, *) are class indices; labels (N, C, *), as the logits, are probabilities.
    """

    def __init__(self, weight: Any = None, gamma: float = 2.0, reduction: str = "mean"):
        super().__init__(reduction)
        if weight is not None and weight.ndim != 1:
            raise ValueError(
                f"For 'FocalLoss', the dimension of 'weight' must be 1, but got {weight.ndim}."
            )
        self.weight, self.gamma = weight, gamma
        self.logsoftmax = LogSoftmax(1)

    def construct(self, logits: Any, labels: Any) -> Tensor:
        if labels.ndim != logits.ndim or labels.shape[1] not in (1, logits.shape[1]):
            raise ValueError("the labels of FocalLoss must be of shape (N, 1, *) or (N, C, *)")
        log_probs = self.logsoftmax(logits)
        scale: Any = 1.0
        if self.weight is not None:
            scale = ops.reshape(self.weight, (-1, *[1] * (logits.ndim - 2)))
        if labels.shape[1] == 1:
            if self.weight is not None:
                scale = ops.gather(self.weight, labels, 0)
            log_probs = ops.gather_elements(log_probs, 1, labels)
            loss = -((1.0 - ops.exp(log_probs)) ** self.gamma) * log_probs * scale
            return self.get_loss(loss.reshape((labels.shape[0], -1)).mean(1))
        loss = -((1.0 - ops.exp(log_probs)) ** self.gamma) * log_probs * scale * labels
        return self.get_loss(loss.reshape((*labels.shape[:2], -1)).mean(-1))


class GaussianNLLLoss(LossBase):
    """Negative log-likelihood of normal distributions with variances ``var``."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean"):
        super().__init__(reduction)
        self.full, self.eps = full, eps

    def construct(self, logits: Any, labels: Any, var: Any) -> Tensor:
        return ops.gaussian_nll_loss(logits, labels, var, self.full, self.eps, self.reduction)


class HingeEmbeddingLoss(LossBase):
    """Hinge embedding loss: x for label 1, max(0, margin - x) for label -1."""

    def __init__(self, margin: float = 1.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.margin = margin

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.hinge_embedding_loss(logits, labels, self.margin, self.reduction)


class HuberLoss(LossBase):
    """Huber loss: half the square of the error up to ``delta``, linear beyond."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0):
        super().__init__(reduction)
        self.delta = delta

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.huber_loss(logits, labels, self.reduction, self.delta)


class KLDivLoss(LossBase):
    """Kullback-Leibler divergence: labels * (log(labels) - logits), for logits = log(p)."""

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.kl_div(logits, labels, self.reduction)


class L1Loss(LossBase):
    """Absolute error: abs(logits - labels)."""

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.l1_loss(logits, labels, self.reduction)


class MAELoss(LossBase):
    """Mean absolute error, another name of ``L1Loss``."""

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.l1_loss(logits, labels, self.reduction)


class MSELoss(LossBase):
    """Squared error: (logits - labels) ** 2."""

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.mse_loss(logits, labels, self.reduction)


class MarginRankingLoss(LossBase):
    """Margin ranking loss: max(0, margin - target * (input1 - input2))."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.margin = margin

    def construct(self, input1: Any, input2: Any, target: Any) -> Tensor:
        return ops.margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


class MultiLabelSoftMarginLoss(LossBase):
    """Multi-label loss: the mean over classes of the binary cross entropy of sigmoid(x)."""

    def __init__(self, weight: Any = None, reduction: str = "mean"):
        super().__init__(reduction)
        self.weight = weight

    def construct(self, x: Any, target: Any) -> Tensor:
        return ops.multilabel_soft_margin_loss(x, target, self.weight, self.reduction)


class MultiMarginLoss(LossBase):
    """Multi-class hinge loss: the mean over j of max(0, margin - x[target] + x[j]) ** p.

    The class j = target counts as 0.
    """

    def __init__(
        self, p: int = 1, margin: float = 1.0, reduction: str = "mean", weight: Any = None
    ):
        super().__init__(reduction)
        self.p, self.margin, self.weight = p, margin, weight

    def construct(self, x: Any, target: Any, weight: Any = None) -> Tensor:
        weight = weight if self.weight is None else self.weight
        return ops.multi_margin_loss(x, target, self.p, self.margin, weight, self.reduction)


class MultilabelMarginLoss(LossBase):
    """Multi-label hinge loss: the sum of max(0, 1 - x[i] + x[j]) over the number of classes.

    i is in the target and j is not. A row of targets holds its classes, up to the first -1.
    """

    def construct(self, x: Any, target: Any) -> Tensor:
        return ops.multilabel_margin_loss(x, target, self.reduction)


class NLLLoss(_ClassLoss):
    """Negative log-likelihood: -logits[labels], for logits = log(p)."""

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.nll_loss(
            logits, labels, self.weight, self.ignore_index, self.reduction, self.label_smoothing
        )


class PoissonNLLLoss(LossBase):
    """Poisson loss: exp(x) - target * x, or x - target * log(x + eps) without ``log_input``.

    ``full`` adds Stirling's formula for log(target!) where the target is above 1.
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        eps: float = 1e-8,
        reduction: str = "mean",
    ):
        super().__init__(reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def construct(self, input: Any, target: Any) -> Tensor:
        if self.log_input:
            loss = ops.exp(input) - target * input
        else:
            loss = input - target * ops.log(input + self.eps)
        if self.full:
            n = ops.maximum(target, 1.0)
            log_factorial = (n + 0.5) * ops.log(n) - n + 0.5 * math.log(2.0 * math.pi)
            loss = loss + ops.where(target > 1, log_factorial, 0.0)
        return self.get_loss(loss)


class SmoothL1Loss(LossBase):
    """Smooth L1 loss: d ** 2 / (2 beta) if d < beta, else d - beta / 2, d = |logits - labels|."""

    def __init__(self, beta: float = 1.0, reduction: str = "none"):
        super().__init__(reduction)
        self.beta = beta

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.smooth_l1_loss(logits, labels, self.beta, self.reduction)


class SoftMarginLoss(LossBase):
    """Logistic loss of labels 1 and -1: log(1 + exp(-labels * logits))."""

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.soft_margin_loss(logits, labels, self.reduction)


class SoftmaxCrossEntropyWithLogits(LossBase):
    """Cross entropy of softmax(logits) and probabilities, or class indices if ``sparse``."""

    def __init__(self, sparse: bool = False, reduction: str = "none"):
        super().__init__(reduction)
        self.sparse = sparse

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.cross_entropy(logits, labels, reduction=self.reduction)


class TripletMarginLoss(LossBase):
    """Triplet loss: max(0, margin + |x - positive| - |x - negative|), with p-norms."""

    def __init__(
        self,
        p: float = 2,
        swap: bool = False,
        eps: float = 1e-6,
        reduction: str = "mean",
        margin: float = 1.0,
    ):
        super().__init__(reduction)
        self.p, self.swap, self.eps, self.margin = p, swap, eps, margin

    def construct(self, x: Any, positive: Any, negative: Any, margin: float = 1.0) -> Tensor:
        margin = margin if self.margin == 1.0 else self.margin
        return ops.triplet_margin_loss(
            x, positive, negative, margin, self.p, self.eps, self.swap, self.reduction
        )


class RMSELoss(LossBase):
    """Root of the mean squared error."""

    def __init__(self) -> None:
        super().__init__()

    def construct(self, logits: Any, label: Any) -> Tensor:
        return ops.sqrt(ops.mse_loss(logits, label))


__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "DiceLoss",
    "FocalLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LossBase",
    "MAELoss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "MultilabelMarginLoss",
    "NLLLoss",
    "PoissonNLLLoss",
    "RMSELoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "SoftmaxCrossEntropyWithLogits",
    "TripletMarginLoss",
]
