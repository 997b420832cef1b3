"""Live ranges of temporaries: from the first statement that writes them to the last that reads.

Statements are numbered in the order of the text. A temporary is live throughout a loop if an
iteration may read what another one wrote.
"""

from __future__ import annotations

from collections.abc import Sequence

from autodiff_compiler.loop_ir.accesses import summary_of
from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Body,
    Buffer,
    Function,
    Loop,
    Product,
    Scalar,
    Statement,
    Store,
    While,
    bodies,
)


def live_ranges(function: Function) -> dict[Buffer, tuple[int, int]]:
    """Returns the numbers of the first and the last statement at which each temporary is live."""
    return _Ranges(function).ranges


class _Ranges:
    def __init__(self, function: Function) -> None:
        self.number = 0
        self.ranges: dict[Buffer, tuple[int, int]] = {}
        self.uses: dict[Buffer, int] = {}
        for statement in function.body:
            for access in summary_of(statement).accesses:
                self.uses[access.buffer] = self.uses.get(access.buffer, 0) + 1
        self.body(function.body)

    def body(self, body: Body) -> None:
        for statement in body:
            start = self.number
            self.number += 1
            if isinstance(statement, (Loop, While)):
                inner = bodies(statement)
                for each in inner:
                    self.body(each)
                end = self.number
                self.number += 1
                repeated = tuple(each for part in inner for each in part)
                for buffer in self.lasting(statement, repeated):
                    self.extend(buffer, start, end)
                continue
            for each in bodies(statement):
                self.body(each)
            for access in () if bodies(statement) else summary_of(statement).accesses:
                self.extend(access.buffer, start, start)

    def extend(self, buffer: Buffer, start: int, end: int) -> None:
        if buffer.role == "temporary":
            first, last = self.ranges.get(buffer, (start, end))
            self.ranges[buffer] = min(first, start), max(last, end)

    def lasting(self, loop: Statement, body: Body) -> list[Buffer]:
        """Returns the buffers that are live throughout a loop: others are written anew first."""
        counts: dict[Buffer, int] = {}
        for access in summary_of(loop).accesses:
            counts[access.buffer] = counts.get(access.buffer, 0) + 1
        return [
            buffer
            for buffer, count in counts.items()
            if count != self.uses[buffer] or not is_filled_first(buffer, body)
        ]


def is_filled_first(buffer: Buffer, body: Body) -> bool:
    """True if the first statement that accesses a buffer writes all its elements."""
    for statement in body:
        if any(access.buffer is buffer for access in summary_of(statement).accesses):
            return fills(statement, buffer)
    return False


def fills(statement: Statement, buffer: Buffer) -> bool:
    """True if a statement writes all elements of a buffer, each before anything reads it."""
    steps: list[tuple[Scalar, int]] = []
    while isinstance(statement, Loop) and isinstance(statement.extent, int):
        steps.append((statement.index, statement.extent))
        users = [
            each
            for each in statement.body
            if any(access.buffer is buffer for access in summary_of(each).accesses)
        ]
        if not users:
            return False
        statement = users[0]
        others = [a for each in users[1:] for a in summary_of(each).accesses]
        if not _same_element(statement, buffer, others):
            return False
    if isinstance(statement, Product):
        return _is_filled_by(statement, buffer, steps)
    if not isinstance(statement, Store) or statement.buffer is not buffer or statement.combine:
        return False
    reads = [a for a in summary_of(statement).accesses if not a.writes]
    if any(access.buffer is buffer for access in reads):
        return False
    return covers(statement.at, steps, buffer.size)


def _same_element(statement: Statement, buffer: Buffer, others: list) -> bool:
    """True if accesses after a store in one iteration are to the element that it writes."""
    accesses = [access for access in others if access.buffer is buffer]
    if not accesses:
        return True
    return isinstance(statement, Store) and all(
        access.at == statement.at and access.low == access.high == 0 for access in accesses
    )


def _is_filled_by(product: Product, buffer: Buffer, steps: Sequence[tuple[Scalar, int]]) -> bool:
    result, (m, n) = product.result, (product.m, product.n)
    if (
        result.buffer is not buffer
        or product.adds
        or buffer
        in (
            product.left.buffer,
            product.right.buffer,
        )
    ):
        return False
    rows, columns = Scalar("i", "int64"), Scalar("j", "int64")
    at = result.at + Affine(0, ((rows, result.strides[0]), (columns, result.strides[1])))
    return covers(at, [*steps, (rows, m), (columns, n)], buffer.size)


def covers(at: Affine, steps: Sequence[tuple[Scalar, int]], size: int) -> bool:
    """True if a position takes all values below ``size`` over loops of these extents."""
    extents = dict(steps)
    if at.constant or not {*at.scalars} <= extents.keys() or 0 in extents.values():
        return False
    reach = 1
    for scalar, count in sorted(at.terms, key=lambda term: term[1]):
        if extents[scalar] == 1:
            continue
        if count != reach:
            return False
        reach *= extents[scalar]
    return reach == size


__all__ = ["covers", "fills", "is_filled_first", "live_ranges"]
