"""Central differences of a plain function, in one of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def by_differences(function: Callable[..., Any], place: int, args: Sequence[Any]) -> np.ndarray:
    """Return the gradient of a function in the argument at ``place``: an array of its shape."""
    slope = np.zeros(np.shape(args[place]))
    for index in np.ndindex(slope.shape):
        step = np.zeros(slope.shape)
        step[index] = 1e-6
        sides = [[*args[:place], args[place] + d, *args[place + 1 :]] for d in (step, -step)]
        slope[index] = (function(*sides[0]) - function(*sides[1])) / 2e-6
    return slope
