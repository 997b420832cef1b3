"""Requests to the compiler: which derivative of a function is wanted, and how it is compiled."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Request:
    """A request to the compiler. The keys of both caches are made of all its fields.

    positions   slots whose cotangent is wanted, in the order wanted; () for none.
    weights     Parameters whose cotangent is wanted; None for every trainable one that is used.
    sens        'ones', 'given' (the last input), 'later' (the input of a pullback), or 'none'
                (forward only: no backward function).
    tangent     forward mode: forward takes the tangents of ``positions`` and ``weights`` after all
                else, and returns that of the value last. There is no backward function then.
    value       True if forward returns the function's value.
    aux         True if only the first of several outputs is differentiated.
    numpy       True if dtypes promote as in NumPy: for a plain function of arrays and floats.
    double      True if float32 means float64 throughout, as ``check_grads`` needs it.
    target      'numpy' or 'c': the language of the generated source.
    opt_level   which passes run: ``passes/registry.py`` says at which level each does.
    stabilise   True if formulas that overflow or cancel are replaced.
    connections True if the answer lists the cotangents that are zero because the output does not
                depend on their values.
    """

    positions: tuple[int, ...] = ()
    weights: tuple[Any, ...] | None = ()
    sens: str = "none"
    tangent: bool = False
    value: bool = True
    aux: bool = False
    numpy: bool = False
    double: bool = False
    target: str = "numpy"
    opt_level: int = 1
    stabilise: bool = True
    connections: bool = False

    @cached_property
    def key(self) -> tuple[Hashable, ...]:
        """Every field, for the key of a cache. Parameters stand in it by identity."""
        return tuple(_by_identity(getattr(self, each.name)) for each in fields(self))

    @property
    def differentiates(self) -> bool:
        """True if there is a backward function."""
        return self.sens != "none"

    @property
    def needs_rules(self) -> bool:
        """True if there is any derivative, so that the rules of operators are needed."""
        return self.differentiates or self.tangent

    @property
    def takes_sens(self) -> bool:
        """True if the caller gives the sensitivity, with the arguments or later."""
        return self.sens in ("given", "later")

    @property
    def returns_value(self) -> bool:
        """True if forward returns the value: it is wanted, or a sensitivity is compared with it.

        C knows the type of the value, so it needs no value for that.
        """
        return self.value or self.takes_sens and self.target == "numpy"


def _by_identity(value: Any) -> Hashable:
    """Returns a value of a Request as it stands in a key."""
    if isinstance(value, tuple):
        return tuple(map(_by_identity, value))
    plain = value is None or isinstance(value, (str, int, float))
    return value if plain else (type(value), id(value))


__all__ = ["Request"]
