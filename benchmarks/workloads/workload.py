"""A workload: inputs, weights, and the answer written by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Workload:
    """``hand(*inputs, *weights)`` is the answer. ``tolerance`` is the error that float32 may make,
    as a part of the largest element."""

    inputs: tuple[Any, ...]
    weights: tuple[np.ndarray, ...]
    hand: Callable[..., tuple]
    tolerance: float = 1e-5

    def answer(self) -> tuple:
        """One run of the hand-written gradient."""
        return self.hand(*self.inputs, *self.weights)


def normal(seed: int, *shape: int, scale: float = 1.0) -> np.ndarray:
    """Normal random numbers in float32."""
    made = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    return made * np.float32(scale)
