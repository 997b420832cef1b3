"""A document of indented lines of code, with comments above or behind them.

The trailing comments of one function start in one column. A comment that does not fit behind its
line goes above it. Long lines of code are broken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from autodiff_compiler.emit.text.line_breaking import STEP, WIDTH, wrap
from autodiff_compiler.errors import UnsupportedSyntax

GAP = 2
#: How many levels of indentation Python's parser reads.
DEEPEST = 100
CUT = " …"


@dataclass(frozen=True)
class Line:
    """Some code, already broken into lines, and its comment.

    begins  True if a function or a definition begins here.
    origin  the place that the code was made from.
    """

    code: tuple[str, ...]
    trailing: str | None = None
    begins: bool = False
    origin: Any = None

    @property
    def end(self) -> int:
        """The first column in which a trailing comment may start."""
        return len(self.code[0]) + GAP

    @property
    def can_carry(self) -> bool:
        """True if the comment fits behind the code."""
        return (
            self.trailing is not None
            and len(self.code) == 1
            and self.end + len(self.trailing) <= WIDTH
        )


@dataclass
class Document:
    """Lines, in order. ``indent`` counts steps of four blanks.

    >>> document = Document()
    >>> document.add("def net_forward(x, z):")
    >>> document.add("x_1 = x * z", 1, "13| x = x * self.z")
    >>> document.add("return x_1, (x, x_1, z)", 1, "15| return x")
    >>> print(document.render(), end="")
    def net_forward(x, z):
        x_1 = x * z              # 13| x = x * self.z
        return x_1, (x, x_1, z)  # 15| return x
    """

    lines: list[Line] = field(default_factory=list)

    def add(
        self, code: str, indent: int = 0, trailing: str | None = None, origin: Any = None
    ) -> None:
        """Adds a line of code, its trailing comment (without the ``#``), and the place that it was
        made from."""
        if indent >= DEEPEST:
            raise UnsupportedSyntax(
                "the generated code would be indented more deeply than Python allows",
                "nest fewer branches: split the function, or use a table or a loop",
            )
        comment = None if trailing is None else f"# {trailing}".rstrip()
        wrapped = tuple(wrap(code.rstrip(), indent * STEP))
        self.lines.append(Line(wrapped, comment, indent == 0, origin))

    def comment(self, text: str, indent: int = 0) -> None:
        """Adds a comment on a line of its own."""
        self.text(_cut(f"# {text}".rstrip(), WIDTH - indent * STEP), indent)

    def text(self, text: str, indent: int = 0) -> None:
        """Adds a line that is printed unchanged, such as a line of a docstring."""
        self.lines.append(Line(((" " * indent * STEP + text).rstrip(),)))

    def blank(self, count: int = 1) -> None:
        """Adds empty lines."""
        self.lines.extend([Line(("",))] * count)

    def render(self) -> str:
        """Returns the text: no trailing blanks, one line break at the end."""
        return "\n".join(text for text, _ in self._printed()) + "\n"

    def origins(self) -> dict[int, Any]:
        """Returns the origin of each printed line, by its number from 1."""
        printed = enumerate(self._printed(), 1)
        return {number: origin for number, (_, origin) in printed if origin is not None}

    def _printed(self) -> list[tuple[str, Any]]:
        """Returns every printed line with its origin, without empty lines at either end."""
        printed = [pair for group in self._functions() for pair in _aligned(group)]
        filled_lines = [number for number, (text, _) in enumerate(printed) if text]
        return printed[filled_lines[0] : filled_lines[-1] + 1] if filled_lines else []

    def _functions(self) -> Iterator[list[Line]]:
        """Yields the lines from one unindented line of code to the next."""
        group: list[Line] = []
        for line in self.lines:
            if line.begins and group:
                yield group
                group = []
            group.append(line)
        yield group


def _aligned(lines: list[Line]) -> Iterator[tuple[str, Any]]:
    """Yields the text of ``lines``, with their trailing comments in one column where possible."""
    column = _column([line for line in lines if line.can_carry])
    for line in lines:
        code = list(line.code)
        if line.trailing is not None:
            start = max(column, line.end)
            if line.can_carry and start + len(line.trailing) <= WIDTH:
                code = [code[0].ljust(start) + line.trailing]
            else:
                indent = len(code[0]) - len(code[0].lstrip())
                code.insert(0, " " * indent + _cut(line.trailing, WIDTH - indent))
        for text in code:
            yield text, line.origin


def _column(lines: list[Line]) -> int:
    """Returns the leftmost column that the most comments can share."""

    def sharing(column: int) -> int:
        return sum(line.end <= column <= WIDTH - len(line.trailing or "") for line in lines)

    return max(sorted({line.end for line in lines}), key=sharing, default=0)


def _cut(comment: str, width: int) -> str:
    if len(comment) <= width:
        return comment
    return comment[: max(width - len(CUT), 1)].rstrip() + CUT
