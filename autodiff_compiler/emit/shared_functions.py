"""Prints functions of equal code once, and chooses their names.

Functions that were compiled from one source function, each for other types, often have the same
code: NumPy decides by the arrays. They become one function. Functions that differ in nothing but
sizes become one, too. Sizes of arrays must then be able to stand for the literals (see
``size_expressions``). Equal code computes equal values, so the decision needs no fact about the IR.

Functions of different source functions stay apart, even if their code is equal.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from autodiff_compiler.emit.function_text import FunctionText
from autodiff_compiler.emit.naming.residuals import backward_name, forward_name
from autodiff_compiler.emit.size_expressions import SizeAgnosticText
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.span import Span

#: Functions that differ in the key are never printed as one.
Key: TypeAlias = tuple[str, Span, str, int, str]

NUMBER = re.compile(r"_?\d+")


class SharedFunctions:
    """The code of a module's functions. Callees are added before their callers.

    names  the printed names of the functions that have been added, by their names in the IR.
    """

    def __init__(self, functions: Sequence[Function], entries: Collection[str]):
        self.names: dict[str, str] = {}
        self._entries = entries
        self._texts: list[_SharedText] = []
        self._printed: set[str] = set()
        self._groups: dict[Key, _Group] = {}
        for function in functions:
            if function.name not in entries:
                self._groups.setdefault(_key(function), _Group()).free[function.name] = None
        for group in self._groups.values():
            group.free = dict.fromkeys(sorted(group.free, key=_numbers))

    def add(self, text: FunctionText) -> None:
        """Adds the code of a function, or finds the earlier function that has the same."""
        function = text.function
        if function.name in self._entries:
            self._texts.append(_SharedText(function.name, text))
            self.names[function.name] = function.name
            self._printed.add(function.name)
            return
        group = self._groups[_key(function)]
        alike = group.texts.setdefault((text.skeleton, *text.params), [])
        shared = next((each for each in alike if each.admits(text)), None)
        if shared is None:
            name = self._free_name(function, group)
            shared = _SharedText(name, text)
            alike.append(shared)
            self._texts.append(shared)
        self.names[function.name] = shared.name
        self._printed.add(shared.name)

    def texts(self) -> Iterator[tuple[str, FunctionText]]:
        """Yields the printed name and the text of every function, callees first."""
        return ((shared.name, shared.text) for shared in self._texts)

    def _free_name(self, function: Function, group: _Group) -> str:
        """Takes the first free name of a group for the text of ``function``.

        A backward function is named like its forward function, if that name is free, and otherwise
        like none.
        """
        partner = self.names.get(forward_name(function.name))
        if function.role != "backward" or partner is None:
            name = next(iter(group.free))
        elif (name := backward_name(partner)) not in group.free:
            unpaired = (n for n in group.free if forward_name(n) not in self._printed)
            name = next(unpaired, next(iter(group.free)))
        del group.free[name]
        return name


@dataclass
class _Group:
    """The functions of one key: the free names in the IR, and their code by its skeleton. The code
    is printed under the first of the names.
    """

    free: dict[str, None] = field(default_factory=dict)
    texts: dict[tuple[str, ...], list[_SharedText]] = field(default_factory=dict)


class _SharedText:
    """The code that several functions have in common."""

    def __init__(self, name: str, text: FunctionText):
        self.name = name
        self._first, self._asides, self._is_shared = text, [row.aside for row in text.lines], False
        self._sizes = SizeAgnosticText(text)

    def admits(self, text: FunctionText) -> bool:
        """Adds a function of these parameters and this skeleton, if it can share the text."""
        if text.tags != self._first.tags or not self._sizes.admits(text):
            return False
        if any(self._asides):
            pairs = zip(self._asides, text.lines)
            self._asides = [common_words(aside, line.aside) for aside, line in pairs]
        self._is_shared = True
        return True

    @property
    def text(self) -> FunctionText:
        """The text that is printed."""
        if not self._is_shared:
            return self._first
        rows = zip(self._first.lines, self._sizes.codes(), self._asides)
        lines = [line._replace(code=code, aside=aside) for line, code, aside in rows]
        return replace(self._first, lines=lines)


def common_words(one: str, other: str) -> str:
    """Returns the words with which two notes begin.

    >>> common_words("bias was broadcast f32[3] -> f32[2,3]", "bias was broadcast f32[5] -> f32[5]")
    'bias was broadcast'
    """
    if one == other:
        return one
    words = zip(one.split(), other.split())
    return " ".join(_equal_words(words))


def _equal_words(pairs: Iterator[tuple[str, str]]) -> Iterator[str]:
    for word, other in pairs:
        if word != other:
            return
        yield word


def _key(function: Function) -> Key:
    kind = NUMBER.sub("", function.name)
    return function.title, function.span, function.role, function.order, kind


def _numbers(name: str) -> tuple[int, ...]:
    """Returns the numbers in a name, by which names are ordered.

    >>> sorted(["f_10_forward", "f_2_forward", "f_forward", "f_forward_2"], key=_numbers)
    ['f_forward', 'f_2_forward', 'f_forward_2', 'f_10_forward']
    """
    return tuple([int(number) for number in re.findall(r"\d+", name)])


__all__ = ["SharedFunctions", "common_words"]
