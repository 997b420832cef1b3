"""A place in the user's source: every operation carries one, every error prints one."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """A stretch of one source line (a longer expression is known by its first line).

    ``column`` counts from 1, ``end`` is one past the last column; ``text`` is the whole line.
    ``note`` is what a reader of the generated lines should know besides; ``aside`` is said behind
    one of them.
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
        """The join key of the generated source: ``14| out = self.matmul(x, y)``."""
        return f"{self.line}| {self.text.strip()}"

    @property
    def where(self) -> str:
        """``net.py:14:15``, the file by its base name only, so that output never holds a path."""
        return f"{os.path.basename(self.file)}:{self.line}:{self.column}"

    def caret(self) -> str:
        """The source line with carets under the stretch, indented by four blanks.

        >>> print(Span("net.py", 2, 5, 8, "y = foo(x)").caret())
            y = foo(x)
                ^^^
        """
        body = self.text.strip()
        shift = len(self.text) - len(self.text.lstrip())
        start = max(self.column - 1 - shift, 0)
        width = max(1, min(self.end - self.column, len(body) - start))
        return f"    {body}\n    {' ' * start}{'^' * width}"


NOWHERE = Span("<built in>", 0, 1, 2, "")
