"""The one source of random numbers, so that a seed makes a whole program repeatable."""

from __future__ import annotations

import numpy as np

_state: dict[str, int | None] = {"seed": None}
_generators = [np.random.default_rng()]


def set_seed(seed: int) -> None:
    """Restarts all random numbers, NumPy's global ones among them."""
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"The argument 'seed' must be type of int, but got {type(seed).__name__}.")
    if seed < 0:
        raise ValueError(f"The argument 'seed' must be a non-negative integer, but got {seed}.")
    _state["seed"] = seed
    _generators[:] = [np.random.default_rng(seed)]
    np.random.seed(seed % 2**32)


def get_seed() -> int | None:
    """The last seed that was set, if any."""
    return _state["seed"]


def generator() -> np.random.Generator:
    """What initializers draw from."""
    return _generators[0]
