"""Makes names that Python can read, and that are not taken."""

from __future__ import annotations

import keyword
import unicodedata


def as_identifier(name: str) -> str:
    """``name`` as Python reads it, or made an identifier; ``_`` stands for what nobody reads, and
    a count that backward reads is called ``i``.

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


def unique_name(wish: str, taken: set[str], tried: dict[str, int]) -> str:
    """``wish``, or ``wish_1``, ``wish_2`` and so on: the first that is free. ``tried`` knows where
    the search for such a name ended before: what was taken stays taken."""
    name, number = wish, 0
    if name in taken:
        number = tried.get(wish, 1)
        while (name := f"{wish}_{number}") in taken:
            number += 1
    tried[wish] = number + 1
    return name
