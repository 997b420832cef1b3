"""Random number generators: a seed makes a whole program repeatable.

There is one generator for the whole program, and a stream for each explicit seed. A user may create
any number of ``Generator`` objects. Eager and compiled code draw from the same ones.
"""

from __future__ import annotations

__macro__ = True

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import numpy as np

from autodiff_compiler.common.tensor import Tensor, wrap

#: The limit of streams of explicit seeds. Beyond it, the oldest is forgotten and starts again.
STREAMS = 1024
_all_generators: WeakSet[Generator] = WeakSet()


class Generator:
    """A source of random numbers with a state of its own; its first seed is 0.

    >>> generator = Generator().manual_seed(7)
    >>> before = generator.get_state()
    >>> first = generator.numpy.random()
    >>> _ = generator.set_state(before)
    >>> generator.numpy.random() == first, generator.initial_seed()
    (True, 7)
    """

    #: Its variable in compiled code; empty for a generator of the user.
    name = ""
    _data: np.random.Generator

    def __init__(self) -> None:
        self.manual_seed(0)
        _all_generators.add(self)

    @property
    def numpy(self) -> np.random.Generator:
        """Returns the NumPy generator that draws the numbers."""
        return self._data

    def manual_seed(self, seed: int) -> Generator:
        """Restarts with a seed."""
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise TypeError("Seed must be an integer.")
        self._seed, self._data = seed, np.random.default_rng(seed % 2**64)
        return self

    def seed(self) -> int:
        """Restarts with an unpredictable seed, and returns it."""
        return self.manual_seed(secrets.randbits(32)).initial_seed()

    def initial_seed(self) -> int:
        """Returns the last seed."""
        return self._seed

    def get_state(self) -> Tensor:
        """Returns the state, as a uint8 Tensor of 37 bytes."""
        state: Any = self._data.bit_generator.state
        numbers = (*state["state"].values(), state["uinteger"], state["has_uint32"])
        parts = [int(n).to_bytes(size, "little") for n, size in zip(numbers, (16, 16, 4, 1))]
        return wrap(np.frombuffer(b"".join(parts), np.uint8).copy())

    def set_state(self, state: Tensor) -> None:
        """Restores a state that ``get_state`` returned."""
        text = state.asnumpy().tobytes()
        if len(text) != 37:
            raise ValueError("the state of a Generator must be a value that get_state returned")
        ends = (0, 16, 32, 36, 37)
        known = [int.from_bytes(text[a:b], "little") for a, b in zip(ends, ends[1:])]
        self._data.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": known[0], "inc": known[1]},
            "uinteger": known[2],
            "has_uint32": known[3],
        }


#: The generator of all draws without a seed.
default_generator = Generator()
default_generator.name = "rng"
_streams: dict[tuple[int, ...], Generator] = {}
_state: dict[str, int | None] = {"seed": None}


def set_seed(seed: int) -> None:
    """Restarts all streams of random numbers and NumPy's global one, but no user's Generator."""
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"The argument 'seed' must be type of int, but got {type(seed).__name__}.")
    if seed < 0:
        raise ValueError(f"The argument 'seed' must be a non-negative integer, but got {seed}.")
    _state["seed"] = seed
    default_generator.manual_seed(seed)
    for key, generator in _streams.items():
        _restart(generator, key)
    np.random.seed(seed % 2**32)


def get_seed() -> int | None:
    """Returns the last seed that was set, if any."""
    return _state["seed"]


def manual_seed(seed: int) -> Generator:
    """Restarts the generator of all draws without a seed."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Restarts the generator of all draws without a seed by an unpredictable seed; returns that."""
    return default_generator.seed()


def initial_seed() -> int:
    """Returns the last seed of the generator of all draws without a seed."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Returns the state of the generator of all draws without a seed."""
    return default_generator.get_state()


def set_rng_state(state: Tensor) -> None:
    """Restores a state that ``get_rng_state`` returned."""
    default_generator.set_state(state)


def generator() -> np.random.Generator:
    """Returns the NumPy generator of all draws without a seed."""
    return default_generator.numpy


def stream(*seeds: int) -> Generator:
    """Returns the generator of explicit seeds; a later call with the same seeds continues it."""
    if seeds not in _streams:
        if len(_streams) >= STREAMS:
            del _streams[next(iter(_streams))]
        _restart(_streams.setdefault(seeds, Generator()), seeds)
    return _streams[seeds]


def _restart(generator: Generator, seeds: tuple[int, ...]) -> None:
    entropy = [seed % 2**64 for seed in (_state["seed"] or 0, *seeds)]
    generator.name = f"rng_{max(seeds)}"
    generator._seed, generator._data = max(seeds), np.random.default_rng(entropy)


@contextmanager
def restoring_generators() -> Iterator[None]:
    """Restores all generators after the block, so that the same draws can be run again."""
    states = [(generator, generator.get_state()) for generator in _all_generators]
    try:
        yield
    finally:
        for generator, state in states:
            generator.set_state(state)


default_generator.seed()
