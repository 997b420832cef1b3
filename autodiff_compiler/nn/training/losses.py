"""Loss layers: the functions of ``ops/neural/losses.py`` with their settings."""

from __future__ import annotations

import math
from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common import Cell, Tensor
from autodiff_compiler.nn.layers.activation import LogSoftmax
from autodiff_compiler.ops.neural.losses import reduced


class LossBase(Cell):
    """What losses share: how elements are taken together, 'mean', 'sum' or 'none'."""

    def __init__(self, reduction: str = "mean"):
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(
                f"For '{type(self).__name__}', the 'reduction' must be in ['mean', 'sum', 'none'], "
                f"but got {reduction}."
            )
        self.reduction = reduction

    def get_axis(self, x: Any) -> tuple[int, ...]:
        """All axes of x."""
        return tuple(range(x.ndim))

    def get_loss(self, x: Any, weights: Any = 1.0) -> Any:
        """The elements of x times weights, taken together."""
        return reduced(x * weights, self.reduction)


class BCELoss(LossBase):
    """-(labels log(logits) + (1 - labels) log(1 - logits)) of probabilities."""

    def __init__(self, weight: Any = None, reduction: str = "mean"):
        super().__init__(reduction)
        self.weight = weight

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.binary_cross_entropy(logits, labels, self.weight, self.reduction)


class BCEWithLogitsLoss(LossBase):
    """The binary cross entropy of sigmoid(logits)."""

    def __init__(self, reduction: str = "mean", weight: Any = None, pos_weight: Any = None):
        super().__init__(reduction)
        self.weight, self.pos_weight = weight, pos_weight

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.binary_cross_entropy_with_logits(
            logits, labels, self.weight, self.pos_weight, self.reduction
        )


class CosineEmbeddingLoss(LossBase):
    """1 - cos(x1, x2) for target 1, for -1 what the cosine is above margin."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.margin = margin

    def construct(self, logits_x1: Any, logits_x2: Any, labels: Any) -> Tensor:
        return ops.cosine_embedding_loss(logits_x1, logits_x2, labels, self.margin, self.reduction)


class _OfClasses(LossBase):
    """A loss of classes, each with a weight; ``ignore_index`` is the label of no class."""

    def __init__(
        self,
        weight: Any = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ):
        super().__init__(reduction)
        self.weight, self.ignore_index, self.label_smoothing = weight, ignore_index, label_smoothing


class CrossEntropyLoss(_OfClasses):
    """The cross entropy of softmax(logits) with classes, or with their probabilities."""

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.cross_entropy(
            logits, labels, self.weight, self.ignore_index, self.reduction, self.label_smoothing
        )


class DiceLoss(LossBase):
    """1 - 2 sum(logits * label) / (sum(logits ** 2) + sum(label ** 2) + smooth)."""

    def __init__(self, smooth: float = 1e-5):
        super().__init__()
        if smooth <= 0:
            raise ValueError(f"For 'DiceLoss', the 'smooth' must be > 0, but got {smooth}.")
        self.smooth = smooth

    def construct(self, logits: Any, label: Any) -> Tensor:
        common = ops.sum(logits * label)
        whole = ops.sum(ops.square(logits)) + ops.sum(ops.square(label))
        return 1.0 - 2.0 * common / (whole + self.smooth)


class FocalLoss(LossBase):
    """-weight * (1 - p) ** gamma * log(p), where p is the softmax of logits at a label.

    Labels (N, 1, *) are classes, labels of the shape of logits (N, C, *) their shares.
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
        logs = self.logsoftmax(logits)
        scale: Any = 1.0
        if self.weight is not None:
            scale = ops.reshape(self.weight, (-1, *[1] * (logits.ndim - 2)))
        if labels.shape[1] == 1:
            if self.weight is not None:
                scale = ops.gather(self.weight, labels, 0)
            logs = ops.gather_elements(logs, 1, labels)
            loss = -((1.0 - ops.exp(logs)) ** self.gamma) * logs * scale
            return self.get_loss(loss.reshape((labels.shape[0], -1)).mean(1))
        loss = -((1.0 - ops.exp(logs)) ** self.gamma) * logs * scale * labels
        return self.get_loss(loss.reshape((*labels.shape[:2], -1)).mean(-1))


class GaussianNLLLoss(LossBase):
    """The negative log-likelihood of normal distributions of variances ``var``."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean"):
        super().__init__(reduction)
        self.full, self.eps = full, eps

    def construct(self, logits: Any, labels: Any, var: Any) -> Tensor:
        return ops.gaussian_nll_loss(logits, labels, var, self.full, self.eps, self.reduction)


class HingeEmbeddingLoss(LossBase):
    """logits for target 1, for -1 what they are below margin."""

    def __init__(self, margin: float = 1.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.margin = margin

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.hinge_embedding_loss(logits, labels, self.margin, self.reduction)


class HuberLoss(LossBase):
    """Half the square up to delta, then linear."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0):
        super().__init__(reduction)
        self.delta = delta

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.huber_loss(logits, labels, self.reduction, self.delta)


class KLDivLoss(LossBase):
    """labels * (log(labels) - logits)."""

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.kl_div(logits, labels, self.reduction)


class L1Loss(LossBase):
    """abs(logits - labels)."""

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.l1_loss(logits, labels, self.reduction)


class MAELoss(LossBase):
    """As ``L1Loss``."""

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.l1_loss(logits, labels, self.reduction)


class MSELoss(LossBase):
    """(logits - labels) ** 2."""

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.mse_loss(logits, labels, self.reduction)


class MarginRankingLoss(LossBase):
    """max(0, margin - target * (input1 - input2))."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.margin = margin

    def construct(self, input1: Any, input2: Any, target: Any) -> Tensor:
        return ops.margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


class MultiLabelSoftMarginLoss(LossBase):
    """The mean over classes of the binary cross entropies of sigmoid(x)."""

    def __init__(self, weight: Any = None, reduction: str = "mean"):
        super().__init__(reduction)
        self.weight = weight

    def construct(self, x: Any, target: Any) -> Tensor:
        return ops.multilabel_soft_margin_loss(x, target, self.weight, self.reduction)


class MultiMarginLoss(LossBase):
    """The mean over classes j != target of max(0, margin - x[target] + x[j]) ** p."""

    def __init__(
        self, p: int = 1, margin: float = 1.0, reduction: str = "mean", weight: Any = None
    ):
        super().__init__(reduction)
        self.p, self.margin, self.weight = p, margin, weight

    def construct(self, x: Any, target: Any, weight: Any = None) -> Tensor:
        weight = weight if self.weight is None else self.weight
        return ops.multi_margin_loss(x, target, self.p, self.margin, weight, self.reduction)


class MultilabelMarginLoss(LossBase):
    """The mean over classes, i wanted and j not, of max(0, 1 - x[i] + x[j]).

    A row of targets holds the wanted classes, up to the first -1.
    """

    def construct(self, x: Any, target: Any) -> Tensor:
        return ops.multilabel_margin_loss(x, target, self.reduction)


class NLLLoss(_OfClasses):
    """-logits[labels], where ``logits`` are logarithms of probabilities."""

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.nll_loss(
            logits, labels, self.weight, self.ignore_index, self.reduction, self.label_smoothing
        )


class PoissonNLLLoss(LossBase):
    """exp(input) - target * input, or input - target * log(input + eps) without ``log_input``.

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
            above = ops.maximum(target, 1.0)
            factorial = (above + 0.5) * ops.log(above) - above + 0.5 * math.log(2.0 * math.pi)
            loss = loss + ops.where(target > 1, factorial, 0.0)
        return self.get_loss(loss)


class SmoothL1Loss(LossBase):
    """d ** 2 / (2 beta) where d = abs(logits - labels) < beta, else d - beta / 2."""

    def __init__(self, beta: float = 1.0, reduction: str = "none"):
        super().__init__(reduction)
        self.beta = beta

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.smooth_l1_loss(logits, labels, self.beta, self.reduction)


class SoftMarginLoss(LossBase):
    """log(1 + exp(-labels * logits))."""

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.soft_margin_loss(logits, labels, self.reduction)


class SoftmaxCrossEntropyWithLogits(LossBase):
    """The cross entropy of each row with probabilities, or with classes if ``sparse``."""

    def __init__(self, sparse: bool = False, reduction: str = "none"):
        super().__init__(reduction)
        self.sparse = sparse

    def construct(self, logits: Any, labels: Any) -> Tensor:
        return ops.cross_entropy(logits, labels, reduction=self.reduction)


class TripletMarginLoss(LossBase):
    """max(0, margin + |x - positive| - |x - negative|), p-norms of the last axis."""

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
    """The square root of the mean of (logits - label) ** 2."""

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
