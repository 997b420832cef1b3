"""A place in the user's source: every operation carries one, every error prints one."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """A part of a source line. A longer expression is known by its first line.

    file    the path of the file.
    line    its number, from 1.
    column  the first column, from 1.
    end     the column after the last one.
    text    the whole line.
    note    a comment above the generated lines.
    aside   a comment behind one of them.
    """

    file: str
    line: int
    column: int
    end: int
    text: str
    note: str = ""
    aside: str = ""

    @property
    def tag(self) -> str:
        """The comment that ties a generated line to its source line: ``14| out = f(x, y)``."""
        return f"{self.line}| {self.text.strip()}"

    @property
    def file_name(self) -> str:
        """The name of the file, without its folder."""
        return os.path.basename(self.file)

    def tag_in(self, home: str) -> str:
        """Returns the tag as the text of the file ``home`` shows it: ``basic.py:14| out = x`` if
        the line is of another file."""
        return self.tag if self.file == home else f"{self.file_name}:{self.tag}"

    def number_in(self, home: str) -> str:
        """Returns the tag without the source line: ``14|``, or ``basic.py:14|``."""
        return f"{self.line}|" if self.file == home else f"{self.file_name}:{self.line}|"

    @property
    def where(self) -> str:
        """``net.py:14:15``, without the folder, so that generated text holds no path."""
        return f"{self.file_name}:{self.line}:{self.column}"

    @property
    def place(self) -> str:
        """``src/net.py:14:15``, relative to the working directory if the file is below it."""
        here = os.getcwd() + os.sep
        file = self.file[len(here) :] if self.file.startswith(here) else self.file
        return f"{file}:{self.line}:{self.column}"

    def caret(self) -> str:
        """Returns the source line with carets under the part, indented by four blanks. A long line
        is cut.

        >>> print(Span("net.py", 2, 5, 8, "y = foo(x)").caret())
            y = foo(x)
                ^^^
        """
        body = self.text.strip()
        shift = len(self.text) - len(self.text.lstrip())
        start = max(self.column - 1 - shift, 0)
        width = max(1, min(self.end - self.column, len(body) - start))
        if len(body) > LONGEST:
            first = max(0, start - LONGEST // 2)
            shown = body[first : first + LONGEST]
            width = min(width, len(shown) - start + first)
            front, back = "..." * (first > 0), "..." * (first + LONGEST < len(body))
            body, start = f"{front}{shown}{back}", start - first + len(front)
        below = "".join("\t" if char == "\t" else " " * _cells(char) for char in body[:start])
        return f"    {body}\n    {below}{'^' * sum(map(_cells, body[start : start + width]))}"


def _cells(char: str) -> int:
    """Returns the width of a character in terminal columns."""
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


NOWHERE = Span("<built in>", 0, 1, 2, "")

#: The most characters of a line that are shown.
LONGEST = 240
#: The calls of a long chain that are shown at either end of it.
SHOWN = 4


@dataclass(frozen=True)
class Caller:
    """The place of a call, and the name of the function that contains it."""

    span: Span
    name: str = ""

    def __str__(self) -> str:
        place, inside = self.span.place.rpartition(":")[0], f" in {self.name}" * bool(self.name)
        return f"called from {place}{inside}: {self.span.text.strip()}"


def call_chain(place: Span | None, callers: Sequence[Caller]) -> list[str]:
    """Returns a line for each call on the way to ``place``, the outermost last.

    Calls in one line are listed once. The middle of a long chain is left out.

    >>> inner, outer = Span("net.py", 2, 5, 8, "y = foo(x)"), Span("net.py", 9, 5, 8, "f(x)")
    >>> call_chain(inner, [Caller(inner, "f"), Caller(outer, "construct")])
    ['called from net.py:9 in construct: f(x)']
    """
    lines: list[str] = []
    last = place
    for caller in callers:
        if last is not None and (last.file, last.line) == (caller.span.file, caller.span.line):
            lines[-1:] = [str(caller)] if lines else []
        else:
            lines.append(str(caller))
        last = caller.span
    left_out = len(lines) - 2 * SHOWN
    if left_out > 1:
        lines[SHOWN:-SHOWN] = [f"... and {left_out} more calls"]
    return lines
