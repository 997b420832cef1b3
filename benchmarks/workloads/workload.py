"""A workload: inputs, weights, what is asked of them, and the answer written by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal

import numpy as np


@dataclass(frozen=True)
class Workload:
    """``program`` is the name of the function or Cell that each peer has for it. It takes the
    inputs and then the weights, as ``hand`` does.

    ``asked`` says what the answer is, beside the value which the program gives:
    ``weights``, the gradients in the weights; ``all``, those in the inputs too; ``pullback``, the
    same without the value, for the sensitivity that is the last input; ``nothing``, where the
    program itself differentiates.
    ``tolerance`` is the error that float32 may make, as a part of the largest element."""

    program: str
    inputs: tuple[Any, ...]
    weights: tuple[np.ndarray, ...]
    hand: Callable[..., tuple]
    asked: Literal["weights", "all", "pullback", "nothing"] = "weights"
    tolerance: float = 1e-5

    @property
    def names(self) -> list[str]:
        """The names of the weights."""
        return list(signature(self.hand).parameters)[len(self.inputs) :]

    @property
    def given(self) -> tuple[Any, ...]:
        """What the program is called with."""
        inputs = self.inputs[:-1] if self.asked == "pullback" else self.inputs
        return (*inputs, *self.weights)

    @property
    def places(self) -> tuple[int, ...]:
        """The positions in ``given`` whose gradients are asked for."""
        first = len(self.inputs) if self.asked == "weights" else 0
        return tuple(range(first, len(self.given)))

    def answer(self) -> tuple:
        """One run of the hand-written gradient."""
        return self.hand(*self.inputs, *self.weights)

    def check(self, found: Sequence[np.ndarray], tolerance: float = 0.0) -> None:
        """Holds every array against the hand-written one; raises AssertionError at the first that
        differs. A larger ``tolerance`` than that of the workload counts."""
        tolerance = max(tolerance, self.tolerance)
        wanted = [np.asarray(array) for array in self.answer()]
        assert len(found) == len(wanted), f"{len(found)} arrays, not {len(wanted)}"
        for place, (have, want) in enumerate(zip(found, wanted)):
            assert have.shape == want.shape, f"array {place} is {have.shape}, not {want.shape}"
            error = np.max(np.abs(have - want)) / np.max(np.abs(want))
            assert error <= tolerance, f"array {place} is off by {error:.1e}"


def normal(seed: int, *shape: int, scale: float = 1.0) -> np.ndarray:
    """Normal random numbers in float32."""
    made = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    return made * np.float32(scale)
