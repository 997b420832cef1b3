"""What is said of a name that is not here: whether MindSpore has it, and what comes nearest.

>>> print(no_such("ops", "matmull", ["matmul", "mean"]))
UnknownAttribute: ops has no 'matmull'
  cure: did you mean 'matmul'? [AD103]
>>> print(no_such("ops", "lu_unpack", ["unstack", "mean"]))
UnknownAttribute: MindSpore's ops.lu_unpack is left out here
  cure: the nearest name here is 'unstack'; `autodiff-compiler ops` lists all [AD103]
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from autodiff_compiler.errors import UnknownAttribute
from autodiff_compiler.vocabulary.others import OTHERS
from autodiff_compiler.vocabulary.tiers import TIERS

#: The surfaces that a user sees under one name.
OWNERS = {"ops": ("function", "primitive"), "nn": ("layer",), "Tensor": ("method",)}


ALL = "`autodiff-compiler ops` lists all"


@cache
def names(surface: str, tier: int) -> tuple[str, ...]:
    """The names of a tier of a surface, without marks."""
    return tuple(
        name.rstrip("°") for text in TIERS[surface][tier].values() for name in text.split()
    )


@cache
def left_out(owner: str) -> frozenset[str]:
    """The names that ``owner`` has in MindSpore; of those that are here, nobody asks."""
    return frozenset(
        name
        for surface in OWNERS[owner]
        for name in (*names(surface, 1), *names(surface, 2), *OTHERS[surface].split())
    )


def nearest(name: str, known: Iterable[str], likeness: float = 0.75) -> str | None:
    """The known name that is most like ``name``, case and underscores aside."""
    plain: dict[str, str] = {}
    for other in known:
        if other[0] != "_":
            plain.setdefault(_plain(other), other)
    found = difflib.get_close_matches(_plain(name), plain, 1, likeness)
    return plain[found[0]] if found else None


def _plain(name: str) -> str:
    return name.replace("_", "").lower() or name


def no_such(owner: str, name: str, known: Iterable[str]) -> UnknownAttribute:
    """The error for ``owner.name``, where ``known`` are the names that ``owner`` has."""
    known = list(known)
    if name not in left_out(owner):
        like = nearest(name, known)
        cure = f"did you mean '{like}'?" if like else ALL
        return UnknownAttribute(f"{_owner(owner)} has no {_kind(owner)}'{name}'", cure)
    like = nearest(name, known, 0.3)
    cure = f"the nearest name here is '{like}'; {ALL}" if like else ALL
    return UnknownAttribute(f"MindSpore's {owner}.{name} is left out here", cure)


def _owner(owner: str) -> str:
    return "a Tensor" if owner == "Tensor" else owner


def _kind(owner: str) -> str:
    return "attribute " if owner == "Tensor" else ""


def module_getattr(owner: str, space: dict[str, Any]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module whose names are those in ``space``."""

    def __getattr__(name: str) -> Any:
        if name[:1] == "_":
            raise AttributeError(f"module {space['__name__']!r} has no attribute {name!r}")
        raise no_such(owner, name, (key for key, value in space.items() if callable(value)))

    return __getattr__
