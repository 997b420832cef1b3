"""Signatures of the functions of a C file, for those who call them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from autodiff_compiler.emit.c.expressions import ELEMENT_TYPES
from autodiff_compiler.emit.c.return_codes import INTERRUPTED, NO_MEMORY
from autodiff_compiler.emit.c.source import COLUMNS, Entry, Parameter
from autodiff_compiler.ir.types import SHORT


@dataclass(frozen=True)
class Port:
    """A parameter of a C function, with the shape and the role of its array or number.

    role   what it is for, for people: ``argument``, ``gradient of x``.
    """

    parameter: Parameter
    shape: tuple[int, ...]
    role: str

    @property
    def name(self) -> str:
        """The name of the parameter."""
        return self.parameter.name

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for each in self.shape:
            size *= each
        return size

    @property
    def type(self) -> str:
        """The type of the array or number, as ``f64[2,3]``."""
        shape = f"[{','.join(map(str, self.shape))}]" if self.shape else ""
        return f"{SHORT[self.parameter.dtype]}{shape}"

    @property
    def declaration(self) -> str:
        """The parameter as a header declares it."""
        c_type = header_type(self.parameter.dtype, self.parameter.by_value)
        if self.parameter.by_value:
            return f"{c_type} {self.name}"
        return f"{'' if self.parameter.is_output else 'const '}{c_type} *{self.name}"


@dataclass(frozen=True)
class Signature:
    """A function of a C file.

    title   what it computes, with the place of the source function.
    errors  the errors that it returns, besides that for missing memory: number and message.
    """

    entry: Entry
    title: str
    ports: tuple[Port, ...]
    errors: tuple[tuple[int, str], ...] = ()

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The ports that the function reads."""
        return tuple(port for port in self.ports if not port.parameter.is_output)

    @property
    def outputs(self) -> tuple[Port, ...]:
        """The ports that the function writes."""
        return tuple(port for port in self.ports if port.parameter.is_output)

    @property
    def all_errors(self) -> tuple[tuple[int, str], ...]:
        """Every error that the function returns: number and message."""
        missing = (NO_MEMORY, "out of memory: reallocate of the services returned NULL")
        ended = (INTERRUPTED, "interrupted: poll of the services returned true")
        first = [*[missing] * bool(self.entry.tapes), *[ended] * self.entry.polls]
        return (*first, *self.errors)

    @property
    def declarations(self) -> list[str]:
        """The parameters of the function as a header declares them."""
        more = ["const Services *services"] if self.entry.services else []
        more += ["void *workspace"] if self.entry.workspace else []
        return [*(port.declaration for port in self.ports), *more]


def header_type(dtype: str, by_value: bool = False) -> str:
    """Returns the type of an element in C and C++, or of a number that is passed by value."""
    return "bool" if dtype == "bool" and by_value else ELEMENT_TYPES[dtype]


def wrapped(head: str, items: Sequence[str], foot: str, indent: int) -> list[str]:
    """Returns the lines of items between commas. A line ends after a comma.

    >>> wrapped("f(", ["first", "second"], ");", indent=4)
    ['f(first, second);']
    """
    lines = [head]
    for number, item in enumerate(items, 1):
        piece = item + (foot if number == len(items) else ", ")
        if len(lines[-1] + piece.rstrip()) > COLUMNS and lines[-1] != head:
            lines[-1] = lines[-1].rstrip()
            lines.append(" " * indent)
        lines[-1] += piece
    return lines if items else [head + foot]


def macro_name(stem: str) -> str:
    """Returns the name of a file as the beginning of macros.

    >>> macro_name("my-net"), macro_name("2d")
    ('MY_NET', 'C_2D')
    """
    name = re.sub(r"\W", "_", stem, flags=re.ASCII).upper()
    return name if name[:1].isalpha() else f"C_{name}"


def in_comment(text: str) -> str:
    """Returns a message in one line, without the ends of comments.

    >>> in_comment("a */ b")
    'a * / b'
    """
    return " ".join(text.replace("*/", "* /").replace("/*", "/ *").split())


__all__ = ["Port", "Signature", "header_type", "in_comment", "macro_name", "wrapped"]
