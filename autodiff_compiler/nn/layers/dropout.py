"""Dropout layers. Outside of training they return their input."""

from __future__ import annotations

from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common import Cell, Tensor
from autodiff_compiler.common import dtype as mstype


def _probability(p: Any, layer: Cell, open_end: bool = False) -> float:
    """Returns ``p`` if it is a probability, below 1 if ``open_end``; else raises."""
    name = type(layer).__name__
    if not isinstance(p, (int, float)) or isinstance(p, bool):
        raise TypeError(f"For '{name}', the 'p' must be a float, but got {p!r}.")
    if not 0 <= p <= 1 or (open_end and p == 1):
        raise ValueError(f"For '{name}', the 'p' must be in [0, 1{')' if open_end else ']'}: {p}.")
    return float(p)


class Dropout(Cell):
    """Dropout: each element is zeroed with probability ``p``, or else divided by 1 - p."""

    def __init__(
        self, keep_prob: float = 0.5, p: float | None = None, dtype: mstype.Type = mstype.float32
    ):
        super().__init__()
        if p is None and not 0 < keep_prob <= 1:
            raise ValueError(
                f"For 'Dropout', the 'keep_prob' must be in (0, 1], but got {keep_prob}."
            )
        self.p = p if p is None else _probability(p, self, open_end=True)
        self.keep_prob = keep_prob

    def construct(self, x: Any) -> Tensor:
        p = 1.0 - self.keep_prob if self.p is None else self.p
        return ops.dropout(x, p, self.training)

    def extend_repr(self) -> str:
        return f"keep_prob={self.keep_prob}" if self.p is None else f"p={self.p}"


class _ChannelDropout(Cell):
    def __init__(self, p: float = 0.5):
        super().__init__()
        self.p = _probability(p, self)

    def extend_repr(self) -> str:
        return f"p={self.p}"


class Dropout1d(_ChannelDropout):
    """Dropout of whole channels of (N, C, L) or (C, L), with probability ``p``."""

    def construct(self, x: Any) -> Tensor:
        return ops.dropout1d(x, self.p, self.training)


class Dropout2d(_ChannelDropout):
    """Dropout of whole channels of (N, C, H, W), with probability ``p``."""

    def construct(self, x: Any) -> Tensor:
        return ops.dropout2d(x, self.p, self.training)


class Dropout3d(_ChannelDropout):
    """Dropout of whole channels of (N, C, D, H, W), with probability ``p``."""

    def construct(self, x: Any) -> Tensor:
        return ops.dropout3d(x, self.p, self.training)


__all__ = ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d"]
