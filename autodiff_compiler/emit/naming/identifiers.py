"""Identifiers that Python accepts and that are not used yet."""

from __future__ import annotations

import keyword
import unicodedata


def as_identifier(name: str) -> str:
    """Returns ``name`` in the form that Python reads, made an identifier if needed.

    A name of underscores alone becomes ``i``: a loop's count that the user ignores and backward
    reads.

    >>> as_identifier("lambda"), as_identifier("2 x"), as_identifier("h"), as_identifier("_")
    ('lambda_', '_2_x', 'h', 'i')
    """
    if not name.strip("_"):
        return "i"
    name = unicodedata.normalize("NFKC", name)
    if not name.isidentifier():
        name = "".join(char if f"_{char}".isidentifier() else "_" for char in name)
        name = name if name.isidentifier() else f"_{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def unique_name(wish: str, used: set[str], tried: dict[str, int]) -> str:
    """Returns the first free name of ``wish``, ``wish_1``, ``wish_2`` and so on.

    ``tried`` remembers where the last search for this name ended: used names stay used.
    """
    name, number = wish, 0
    if name in used:
        number = tried.get(wish, 1)
        while (name := f"{wish}_{number}") in used:
            number += 1
    tried[wish] = number + 1
    return name
