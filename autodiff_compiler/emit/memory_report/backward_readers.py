"""The readers of saved values in a backward function: the values that hold them, and the lines that
need them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from autodiff_compiler.ir.nodes import Function, Loop, Op, Value
from autodiff_compiler.span import NOWHERE, Span

#: Operations whose result shares its items with a list.
PARTS = ("list_head", "list_slice")


class BackwardFunction:
    """A backward function with its readers.

    users   by a value, the operations that read it, at any depth.
    items   by a tuple and a key, the values taken out of it.
    others  the backward functions met so far, so that each is walked once.
    """

    def __init__(self, function: Function, others: dict[Function, BackwardFunction]):
        self.function, self.others = function, others
        self.users: dict[Value, list[Op]] = {}
        self.items: dict[tuple[Value, Hashable], list[Value]] = {}
        for op in function.body.walk():
            if op.name == "item" and isinstance(source := op.operands[0], Value):
                self.items.setdefault((source, op.attrs["key"]), []).append(op.result)
            for operand in dict.fromkeys(o for o in op.operands if isinstance(o, Value)):
                self.users.setdefault(operand, []).append(op)
        others[function] = self

    def callee(self, function: Function) -> BackwardFunction:
        return self.others.get(function) or BackwardFunction(function, self.others)


@dataclass(frozen=True)
class ResidualReader:
    """A value of a backward function that holds a saved value."""

    owner: BackwardFunction
    value: Value

    @property
    def users(self) -> list[Op]:
        return self.owner.users.get(self.value, [])


def items(readers: Sequence[ResidualReader], key: int) -> list[ResidualReader]:
    """Returns the readers of item ``key`` of a tuple."""
    return [
        ResidualReader(reader.owner, item)
        for reader in readers
        for item in reader.owner.items.get((reader.value, key), ())
    ]


def through_calls(reader: ResidualReader) -> Iterator[ResidualReader]:
    """Yields the parameters of called functions that hold a value."""
    for op in reader.users:
        if op.name == "call":
            callee = op.attrs["callee"]
            param = callee.params[op.operands.index(reader.value)]
            yield ResidualReader(reader.owner.callee(callee), param)


def through_loops(reader: ResidualReader) -> Iterator[ResidualReader]:
    """Yields the loop parameters that hold an item of a list or array, also of a view of it."""
    for op in reader.users:
        if _is_part(op):
            yield from through_loops(ResidualReader(reader.owner, op.result))
        elif _goes_through(op, reader.value):
            param = Loop(op).read_params[Loop(op).reads.index(reader.value)]
            yield ResidualReader(reader.owner, param)


def _goes_through(op: Op, value: Value) -> bool:
    """True if ``op`` is a loop that reads ``value`` item by item."""
    return op.name in ("for", "while") and value in Loop(op).reads


def _is_part(op: Op) -> bool:
    return op.name in PARTS or bool(op.opdef.views)


def reading_lines(reader: ResidualReader) -> list[Span]:
    """Returns the lines of the operations that read a value, an item of it, or a view of it."""
    spans = []
    for op in reader.users:
        if _is_part(op):
            spans += reading_lines(ResidualReader(reader.owner, op.result))
        elif not _goes_through(op, reader.value):
            place = replace(op.span, aside="")
            spans += [place] * (place not in (NOWHERE, reader.owner.function.span))
        else:
            param = Loop(op).read_params[Loop(op).reads.index(reader.value)]
            spans += reading_lines(ResidualReader(reader.owner, param))
    return spans
