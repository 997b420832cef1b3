"""Objects and functions that random array programs are given, and changes made to them.

``CHANGES`` lists every change by name: each takes a ``Settings`` and alters one thing that a
program may have read, at one of several depths. ``apply_change`` makes one of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass
class Inner:
    """An object inside another."""

    gain: float = 0.8
    deep: dict[str, float] | None = None


def soft(q):
    return np.tanh(q)


def wavy(q):
    return np.sin(q * 1.5)


class Settings:
    """What a program may read besides its arrays."""

    slope = 0.6

    def __init__(self) -> None:
        self.scale = 0.7
        self.flag = True
        self.turns = 2
        self.act = soft
        self.inner = Inner(deep={"rate": 0.4})
        self.table = {"w": 0.9, "b": [0.1, 0.2]}
        self.weights = [0.5, 1.2]
        self.pair = (0.3, 2)
        self.shift = np.array([0.25])
        offset = 0.35

        def closed(q):
            return q * offset + 0.1

        self.closed = closed

    def apply(self, q):
        return q * self.scale - self.inner.gain

    @property
    def doubled(self):
        return 2 * self.scale


def bump(q):
    q += 0.1


def spread(q, by):
    q[0] = q[0] * by
    return q


def rows_of(q):
    return [row for row in q]


def ends_of(q):
    return q[:1], q[-1:]


def _set_shift(cfg: Settings) -> None:
    cfg.shift[0] -= 0.4


def _set_closure(cfg: Settings) -> None:
    cfg.closed.__closure__[0].cell_contents = -0.6


def _set_method(cfg: Settings) -> None:
    cfg.apply = lambda q: np.cos(q) * cfg.scale


CHANGES: dict[str, Callable[[Settings], None]] = {
    "number": lambda cfg: setattr(cfg, "scale", -0.3),
    "flag": lambda cfg: setattr(cfg, "flag", False),
    "count": lambda cfg: setattr(cfg, "turns", 3),
    "function": lambda cfg: setattr(cfg, "act", wavy),
    "deep number": lambda cfg: setattr(cfg.inner, "gain", 1.3),
    "deep item": lambda cfg: cfg.inner.deep.update(rate=-0.9),
    "dict item": lambda cfg: cfg.table.update(w=-0.5),
    "item of a list in a dict": lambda cfg: cfg.table["b"].__setitem__(1, 0.7),
    "list item": lambda cfg: cfg.weights.__setitem__(0, -0.8),
    "longer list": lambda cfg: cfg.weights.append(0.4),
    "another tuple": lambda cfg: setattr(cfg, "pair", (0.9, 3)),
    "item of an array": _set_shift,
    "another array": lambda cfg: setattr(cfg, "shift", np.array([0.9])),
    "cell of a closure": _set_closure,
    "method": _set_method,
    "another object": lambda cfg: setattr(cfg, "inner", Inner(0.2, {"rate": 2.0})),
    "attribute of the class": lambda cfg: setattr(cfg, "slope", 1.6),
}


def apply_change(cfg: Settings, rng: random.Random) -> str:
    """Alter one thing in ``cfg``; return which."""
    name = rng.choice(list(CHANGES))
    CHANGES[name](cfg)
    return name
