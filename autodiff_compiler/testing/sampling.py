"""The form of samples: operands and attributes of one application of an operator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Sample:
    """Operands (arrays, numbers, lists of arrays) and attributes of one application."""

    operands: tuple[Any, ...]
    attrs: dict[str, Any] = field(default_factory=dict)


def case(*operands: Any, **attrs: Any) -> Sample:
    """Returns a sample, written as a call."""
    arrays = (np.asarray(x) if isinstance(x, np.generic) else x for x in operands)
    return Sample(tuple(arrays), attrs)


def real(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> np.ndarray:
    """Returns distinct float64 numbers strictly between ``low`` and ``high``, in a fixed random
    order."""
    size = int(np.prod(shape, dtype=int))
    numbers = np.linspace(low, high, size + 2)[1:-1] + (high - low) * 0.013 / (size + 2)
    return np.random.default_rng(seed).permutation(numbers).reshape(shape)


def ints(*shape: int, below: int) -> np.ndarray:
    """Returns integers below a bound, some of them repeated."""
    return np.arange(int(np.prod(shape))).reshape(shape) * 2 % below
