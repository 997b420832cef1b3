"""The operator classes of losses."""

from __future__ import annotations

__macro__ = True

from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.operators.elementwise import arithmetic as records
from autodiff_compiler.ops.core.primitive_base import Primitive, primitive
from autodiff_compiler.ops.functions import arrays, masks, reductions
from autodiff_compiler.ops.neural import losses

BCEWithLogitsLoss = primitive(
    "BCEWithLogitsLoss", losses.binary_cross_entropy_with_logits, reduction="mean"
)
KLDivLoss = primitive("KLDivLoss", losses.kl_div, reduction="mean")
SmoothL1Loss = primitive("SmoothL1Loss", losses.smooth_l1_loss, beta=1.0, reduction="none")


class BinaryCrossEntropy(Primitive):
    """``binary_cross_entropy``: ``BinaryCrossEntropy()(logits, labels, weight)``."""

    def __init__(self, reduction: str = "mean"):
        super().__init__()
        self.reduction = reduction

    def __call__(self, logits: Any, labels: Any, weight: Any = None) -> Tensor:
        return losses.binary_cross_entropy(logits, labels, weight, self.reduction)


class L2Loss(Primitive):
    """sum(x ** 2) / 2."""

    def __call__(self, input_x: Any) -> Tensor:
        return 0.5 * reductions.sum(records.square(input_x))


class NLLLoss(Primitive):
    """``nll_loss`` and the sum of the weights used."""

    def __init__(self, reduction: str = "mean", ignore_index: int = -100):
        super().__init__()
        self.reduction, self.ignore_index = reduction, ignore_index

    def __call__(self, logits: Any, labels: Any, weight: Any) -> Any:
        loss, share = losses.nll_terms(logits, labels, weight, self.ignore_index)
        total = reductions.sum(share)
        if self.reduction == "mean":
            return reductions.sum(loss) / total, total
        return losses.reduced(loss, self.reduction), total


class SigmoidCrossEntropyWithLogits(Primitive):
    """The binary cross entropy of sigmoid(logits), element by element."""

    def __call__(self, logits: Any, label: Any) -> Tensor:
        return losses.binary_cross_entropy_with_logits(logits, label, reduction="none")


class SoftmaxCrossEntropyWithLogits(Primitive):
    """The cross entropy of each row with its labels, and softmax(logits) - labels."""

    def __call__(self, logits: Any, labels: Any) -> Any:
        loss = losses.cross_entropy(logits, labels, reduction="none")
        return loss, reductions.softmax(logits) - labels


class SparseSoftmaxCrossEntropyWithLogits(Primitive):
    """The mean cross entropy of rows with their classes; its gradient with ``is_grad``."""

    def __init__(self, is_grad: bool = False, sens: float = 1.0):
        super().__init__()
        self.is_grad, self.sens = is_grad, sens

    def __call__(self, logits: Any, labels: Any) -> Tensor:
        if not self.is_grad:
            return losses.cross_entropy(logits, labels)
        rows, classes = arrays.shape(logits)
        hot = masks.one_hot(labels, classes, 1.0, 0.0)
        return (reductions.softmax(logits) - hot) * (self.sens / rows)


__all__ = [
    "BCEWithLogitsLoss",
    "BinaryCrossEntropy",
    "KLDivLoss",
    "L2Loss",
    "NLLLoss",
    "SigmoidCrossEntropyWithLogits",
    "SmoothL1Loss",
    "SoftmaxCrossEntropyWithLogits",
    "SparseSoftmaxCrossEntropyWithLogits",
]
