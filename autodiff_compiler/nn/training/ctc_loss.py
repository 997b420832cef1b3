"""Connectionist temporal classification: a loss of sequences and shorter, unaligned targets."""

from __future__ import annotations

from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common import Tensor
from autodiff_compiler.nn.training.losses import LossBase


class CTCLoss(LossBase):
    """CTC loss: -log of the probability of the target, summed over all alignments.

    An alignment becomes the target when its repetitions and then its blanks are removed.
    log_probs (T, N, C) are logarithms of probabilities; targets (N, S) have no blanks. A sample
    has ``input_lengths`` steps and ``target_lengths`` labels. The reduction 'mean' first divides
    each loss by the length of its target. ``zero_infinity`` sets the loss of impossible targets
    to 0.
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False):
        super().__init__(reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def construct(
        self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        batched = log_probs.ndim == 3
        if not batched:
            log_probs, targets = ops.expand_dims(log_probs, 1), ops.reshape(targets, (1, -1))
        input_lengths = ops.reshape(input_lengths, (-1, 1))
        target_lengths = ops.reshape(target_lengths, (-1, 1))
        loss = _negative_log_likelihood(
            log_probs, targets, input_lengths, target_lengths, self.blank
        )
        if self.zero_infinity:
            loss = ops.where(loss > -_LOG_ZERO / 2, 0.0, loss)
        if self.reduction == "mean":
            loss = loss / ops.maximum(target_lengths[:, 0], 1)
        return self.get_loss(loss) if batched or self.reduction != "none" else loss[0]


#: Stands for log(0). It is finite, so that the loss of an impossible target has a gradient.
_LOG_ZERO = -1e30


def _negative_log_likelihood(
    log_probs: Any, targets: Any, steps: Any, lengths: Any, blank: int
) -> Any:
    """Computes -log p(target) of each sample by the forward algorithm.

    A state is a label, or a blank before, between or after labels. It is reached from itself,
    from the state before, and from the label before if that differs.
    """
    count = 2 * targets.shape[1] + 1
    labels = ops.full((targets.shape[0], count), blank, dtype=targets.dtype)
    labels[:, 1::2] = targets
    log_zeros = ops.full((targets.shape[0], 2), _LOG_ZERO, dtype=log_probs.dtype)
    differs = ops.logical_and(labels[:, 2:] != labels[:, :-2], labels[:, 2:] != blank)
    log_prob = ops.gather_elements(log_probs[0], 1, labels)
    is_initial = ops.arange(count) < 2
    log_alpha = ops.where(is_initial, log_prob, _LOG_ZERO)
    for t in range(1, log_probs.shape[0]):
        advance = ops.concat((log_zeros[:, :1], log_alpha[:, :-1]), 1)
        skip = ops.concat((log_zeros, ops.where(differs, log_alpha[:, :-2], _LOG_ZERO)), 1)
        log_sum = ops.logaddexp(ops.logaddexp(log_alpha, advance), skip)
        new_log_alpha = log_sum + ops.gather_elements(log_probs[t], 1, labels)
        log_alpha = ops.where(t < steps, new_log_alpha, log_alpha)
    last_blank = ops.gather_elements(log_alpha, 1, 2 * lengths)
    last_label = ops.gather_elements(log_alpha, 1, ops.maximum(2 * lengths - 1, 0))
    return -ops.logaddexp(last_blank, ops.where(lengths > 0, last_label, _LOG_ZERO))[:, 0]


__all__ = ["CTCLoss"]
