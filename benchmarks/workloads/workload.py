"""A workload: inputs, weights, and the answer written by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

    def check(self, found: Sequence[np.ndarray]) -> None:
        """Holds every array against the hand-written one; raises AssertionError at the first that
        differs."""
        wanted = [np.asarray(array) for array in self.answer()]
        assert len(found) == len(wanted), f"{len(found)} arrays, not {len(wanted)}"
        for place, (have, want) in enumerate(zip(found, wanted)):
            assert have.shape == want.shape, f"array {place} is {have.shape}, not {want.shape}"
            error = np.max(np.abs(have - want)) / np.max(np.abs(want))
            assert error <= self.tolerance, f"array {place} is off by {error:.1e}"


def normal(seed: int, *shape: int, scale: float = 1.0) -> np.ndarray:
    """Normal random numbers in float32."""
    made = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    return made * np.float32(scale)
