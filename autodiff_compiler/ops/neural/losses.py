"""Loss functions under MindSpore's names, as compositions of other functions.

Formulas are written in the form that does not overflow: log_softmax, softplus. Every input
has a gradient, also those that MindSpore takes as constants (targets, weights).
"""

from __future__ import annotations

__macro__ = True

import math
from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.labels import named
from autodiff_compiler.operators.elementwise import activation, arithmetic
from autodiff_compiler.operators.elementwise.activation import huber, logistic_loss
from autodiff_compiler.ops.core.argument_aliases import also
from autodiff_compiler.ops.core.shape_queries import (
    dtype_of,
    in_dtype,
    known_rank,
    rank_of,
    shape_of,
)
from autodiff_compiler.ops.functions import (
    arrays,
    creation,
    elementwise,
    reductions,
    scans_and_norms,
)

#: Keeps the logarithm of a probability finite; smaller than float32 resolves next to 1e-5.
_TINY = 1e-12


def reduced(loss: Any, reduction: str) -> Any:
    """Reduces the elements of a loss: by 'mean', by 'sum', or 'none'."""
    if reduction == "mean":
        return reductions.mean(loss)
    if reduction == "sum":
        return reductions.sum(loss)
    if reduction == "none":
        return loss
    raise ValueError(f"reduction must be 'mean', 'sum' or 'none', not {reduction!r}")


def mse_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """Returns (input - target) ** 2."""
    return reduced(arithmetic.square(named("error", input - target)), reduction)


def l1_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """Returns abs(input - target)."""
    return reduced(arithmetic.abs(named("error", input - target)), reduction)


def smooth_l1_loss(input: Any, target: Any, beta: float = 1.0, reduction: str = "none") -> Tensor:
    """Returns d ** 2 / (2 beta) where d < beta, else d - beta / 2, with d = abs(input - target)."""
    if beta < 0:
        raise ValueError(f"beta of smooth_l1_loss must not be negative, but got {beta}")
    if beta == 0:
        return l1_loss(input, target, reduction)
    loss = huber(named("error", input - target), delta=beta)
    return reduced(loss if beta == 1 else loss / beta, reduction)


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """Returns d ** 2 / 2 up to delta, then delta * (d - delta / 2), with d = abs(input -
    target)."""
    if delta <= 0:
        raise ValueError(f"delta of huber_loss must be positive, but got {delta}")
    return reduced(huber(named("error", input - target), delta=delta), reduction)


def _class_axis(input: Any, what: str) -> int:
    rank = known_rank(input, what)
    if rank == 0:
        raise ShapeError(
            f"the input of {what} must have an axis of classes, but it is 0-d",
            "give the input the shape (classes,), (batch, classes) or (batch, classes, ...)",
        )
    return 0 if rank == 1 else 1


def _along_classes(weight: Any, rank: int) -> Any:
    """Reshapes one weight per class to multiply an input of this rank."""
    return weight if rank < 3 else arrays.reshape(weight, (-1, *(1,) * (rank - 2)))


def nll_terms(
    inputs: Any, target: Any, weight: Any, ignore_index: int, label_smoothing: float = 0.0
) -> tuple[Any, Any]:
    """Returns the terms of nll_loss, and the weight of each."""
    axis = _class_axis(inputs, "nll_loss")
    counted = named("counted", elementwise.not_equal(target, ignore_index))
    target = named("classes", elementwise.where(counted, target, 0))
    chosen = arrays.gather_elements(inputs, axis, arrays.expand_dims(target, axis))
    chosen = named("log_likelihood", arrays.squeeze(named("chosen", chosen), axis))
    loss = named("losses", elementwise.where(counted, -chosen, 0.0))
    share = named("weights", in_dtype(counted, dtype_of(inputs)))
    if weight is not None:
        of_target = named("class_weights", arrays.gather(weight, target, 0))
        loss, share = named("losses", loss * of_target), named("weights", share * of_target)
    if label_smoothing:
        spread = inputs
        if weight is not None:
            spread = inputs * _along_classes(weight, known_rank(inputs, "nll_loss"))
        even = elementwise.where(counted, -reductions.mean(spread, axis), 0.0)
        loss = (1.0 - label_smoothing) * loss + label_smoothing * even
    return loss, share


def nll_loss(
    inputs: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Returns -inputs[target]: the negative log-likelihood where ``inputs`` are logarithms.

    Classes are along axis 1, or axis 0 of a single sample. The mean is weighted by ``weight``;
    samples whose target is ``ignore_index`` do not count.
    """
    loss, share = nll_terms(inputs, target, weight, ignore_index, label_smoothing)
    if reduction == "mean":
        return reductions.sum(loss) / named("total_weight", reductions.sum(share))
    return reduced(loss, reduction)


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Returns ``nll_loss`` of log_softmax(input); the target holds classes, or their
    probabilities."""
    axis = _class_axis(input, "cross_entropy")
    logs = named("log_probs", reductions.log_softmax(input, axis))
    if rank_of(target) != rank_of(input):
        return nll_loss(logs, target, weight, ignore_index, reduction, label_smoothing)
    if label_smoothing:
        classes = shape_of(input)
        count = None if classes is None else classes[axis]
        if not isinstance(count, int):
            raise ShapeError(
                "label_smoothing needs the number of classes at compile time",
                "give the shape of the input in the signature, such as input=f32[8,10]",
            )
        target = (1.0 - label_smoothing) * target + label_smoothing / count
    loss = -logs * target
    if weight is not None:
        loss = loss * _along_classes(weight, known_rank(input, "cross_entropy"))
    loss = reductions.sum(loss, axis)
    return reduced(loss, reduction)


@also(logits="input", labels="target")
def binary_cross_entropy(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Tensor:
    """Returns -(target log(input) + (1 - target) log(1 - input)), the logarithms at least -27.6."""
    certain = target * arithmetic.log(input + _TINY)
    loss = -(certain + (1.0 - target) * arithmetic.log(1.0 - input + _TINY))
    return reduced(loss if weight is None else loss * weight, reduction)


@also(input="logits", target="label")
def binary_cross_entropy_with_logits(
    logits: Any, label: Any, weight: Any = None, pos_weight: Any = None, reduction: str = "mean"
) -> Tensor:
    """Returns ``binary_cross_entropy`` of sigmoid(logits); ``pos_weight`` multiplies the label's
    term."""
    if pos_weight is None:
        loss = logistic_loss(logits, label)
    else:
        hit = pos_weight * label
        loss = hit * activation.softplus(-logits) + (1.0 - label) * activation.softplus(logits)
    return reduced(loss if weight is None else loss * weight, reduction)


def kl_div(logits: Any, labels: Any, reduction: str = "mean") -> Tensor:
    """Returns labels * (log(labels) - logits), and 0 with slope 0 where a label is 0.

    'batchmean' divides the sum by the size of axis 0.
    """
    none = named("is_zero", elementwise.equal(labels, 0.0))
    positive = named("positive", elementwise.where(none, 1.0, labels))
    ratio = arithmetic.log(positive) - elementwise.where(none, 0.0, logits)
    loss = labels * named("log_ratio", ratio)
    if reduction == "batchmean":
        return reductions.sum(loss) / arrays.shape(logits)[0]
    return reduced(loss, reduction)


def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """Returns 1 - cos(input1, input2) where the target is 1, else the excess of the cosine over
    margin."""
    axis = _class_axis(input1, "cosine_embedding_loss")
    cosine = named("cosine", scans_and_norms.cosine_similarity(input1, input2, dim=axis))
    excess = named("excess", arithmetic.relu(cosine - margin))
    return reduced(elementwise.where(target > 0, 1.0 - cosine, excess), reduction)


def hinge_embedding_loss(
    inputs: Any, targets: Any, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """Returns inputs where the target is 1, else max(0, margin - inputs)."""
    excess = arithmetic.relu(margin - inputs)
    return reduced(elementwise.where(targets > 0, inputs, excess), reduction)


def margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """Returns max(0, margin - target * (input1 - input2)): target 1 ranks the first input
    higher."""
    return reduced(arithmetic.relu(margin - target * (input1 - input2)), reduction)


def gaussian_nll_loss(
    x: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Returns (log(var) + (x - target) ** 2 / var) / 2, var at least eps; ``full`` adds log(2 pi) /
    2."""
    var = elementwise.clamp(var, eps)
    loss = 0.5 * (arithmetic.log(var) + arithmetic.square(x - target) / var)
    return reduced(loss + 0.5 * math.log(2.0 * math.pi) if full else loss, reduction)


def multilabel_soft_margin_loss(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Tensor:
    """Returns the mean over the last axis of the binary cross entropies of sigmoid(input)."""
    loss = binary_cross_entropy_with_logits(input, target, weight, None, "none")
    return reduced(reductions.mean(loss, -1), reduction)


def soft_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """Returns log(1 + exp(-target * input)) for targets 1 and -1."""
    return reduced(activation.softplus(-target * input), reduction)


def multi_margin_loss(
    input: Any,
    target: Any,
    p: int = 1,
    margin: float = 1,
    weight: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Returns mean over j of max(0, margin - input[target] + input[j]) ** p, with 0 for j =
    target."""
    axis = _class_axis(input, "multi_margin_loss")
    if p not in (1, 2):
        raise ValueError(f"p of multi_margin_loss must be 1 or 2, not {p}")
    place = arrays.expand_dims(target, axis)
    excess = arithmetic.relu(margin - arrays.gather_elements(input, axis, place) + input)
    classes = elementwise.not_equal(creation.arange(arrays.shape(input)[axis]), place)
    excess = in_dtype(classes, dtype_of(input)) * (excess if p == 1 else arithmetic.square(excess))
    loss = reductions.mean(excess, axis)
    return reduced(loss if weight is None else loss * arrays.gather(weight, target, 0), reduction)


def multilabel_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """Returns the mean over classes of the sum, i wanted and j not, of max(0, 1 - input[i] +
    input[j]).

    A row of ``target`` holds the wanted classes, up to the first -1.
    """
    classes = arrays.shape(input)[-1]
    counts = scans_and_norms.cummin(in_dtype(target >= 0, "int32"), -1)[0] > 0
    place = arrays.expand_dims(elementwise.where(counts, target, -1), -1)
    wanted = reductions.any(elementwise.equal(creation.arange(classes), place), -2)
    score = arrays.gather_elements(input, -1, elementwise.maximum(target, 0))
    excess = arithmetic.relu(1.0 - arrays.expand_dims(score, -1) + arrays.expand_dims(input, -2))
    others = 1 - in_dtype(arrays.expand_dims(wanted, -2), "int32")
    excess = excess * (in_dtype(arrays.expand_dims(counts, -1), "int32") * others)
    return reduced(reductions.sum(excess, (-2, -1)) / classes, reduction)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Returns max(0, margin + |anchor - positive| - |anchor - negative|), p-norms of the last
    axis."""

    def distance(one: Any, other: Any) -> Any:
        return scans_and_norms.norm(one - other + eps, p, -1)

    far = distance(anchor, negative)
    if swap:
        far = arithmetic.minimum(far, distance(positive, negative))
    return reduced(arithmetic.relu(margin + distance(anchor, positive) - far), reduction)


__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cross_entropy",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "margin_ranking_loss",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
]
