"""Tables of measurements in pages of the documentation, whose other text is written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

EXTREMES = Path(__file__).parents[1] / "docs" / "extremes.md"


def with_table(text: str, lines: Sequence[str]) -> str:
    """Return the page with these lines in the place of its table that begins with the same cell.

    >>> page = "About.\\n\\n| a | b |\\n| --- | --- |\\n| 1 | 2 |\\n\\nMore."
    >>> print(with_table(page, ["| a | c |", "| --- | --- |"]))
    About.
    <BLANKLINE>
    | a | c |
    | --- | --- |
    <BLANKLINE>
    More.
    """
    old, mark = text.split("\n"), lines[0].partition("|")[2].partition("|")[0]
    first = next(n for n, line in enumerate(old) if line.startswith(f"|{mark}|"))
    last = next(n for n in range(first, len(old)) if not old[n].startswith("|"))
    return "\n".join([*old[:first], *lines, *old[last:]])
