"""The accesses of statements to memory, and whether two statements depend on each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Buffer,
    Call,
    Fail,
    Function,
    Let,
    Load,
    Loop,
    Matrix,
    Position,
    Product,
    Read,
    Reserve,
    Scalar,
    Set,
    Statement,
    Store,
    bodies,
    expressions,
    positions,
    subexpressions,
)


class Access(NamedTuple):
    """A read or write of the elements ``at + low`` to ``at + high`` of a buffer.

    loops    the loops around it, from the outside inward.
    combine  the combination of a write, if it is one.
    """

    buffer: Buffer
    at: Affine
    low: int
    high: int
    writes: bool
    combine: str
    loops: tuple[Loop, ...]


@dataclass(frozen=True)
class Summary:
    """Everything that a statement reads and writes, with its bodies."""

    accesses: tuple[Access, ...]
    scalars_read: frozenset[Scalar]
    scalars_written: frozenset[Scalar]
    may_fail: bool

    @cached_property
    def buffers_read(self) -> frozenset[Buffer]:
        return frozenset(a.buffer for a in self.accesses if not a.writes or a.combine)

    @cached_property
    def buffers_written(self) -> frozenset[Buffer]:
        return frozenset(a.buffer for a in self.accesses if a.writes)

    @cached_property
    def is_bounded(self) -> bool:
        """True if its own loops decide every position, so that none depends on a check before."""
        return all(
            {loop.index for loop in access.loops}.issuperset(access.at.scalars)
            for access in self.accesses
        )

    @property
    def buffers(self) -> frozenset[Buffer]:
        return self.buffers_read | self.buffers_written


def summary_of(statement: Statement) -> Summary:
    """Returns the summary of a statement, made of those in its bodies.

    It is stored on the statement, which never changes.
    """
    noted: Summary | None = vars(statement).get("_summary")
    if noted is None:
        read, written = _scalars(statement)
        noted = vars(statement)["_summary"] = Summary(
            tuple(_accesses(statement)), frozenset(read), frozenset(written), _fails(statement)
        )
    return noted


def local_buffers(function: Function) -> list[Buffer]:
    """Returns the temporaries and constants of a function, in the order of their first use."""
    accesses = (access for each in function.body for access in summary_of(each).accesses)
    parameters = {*function.inputs, *function.outputs}
    return [each for each in dict.fromkeys(a.buffer for a in accesses) if each not in parameters]


def depends(later: Statement, earlier: Statement) -> bool:
    """True if two statements cannot change places."""
    a, b = summary_of(earlier), summary_of(later)
    if a.may_fail and b.may_fail:  # the first error is the one that is reported
        return True
    if a.may_fail and not b.is_bounded:  # the failure may be that of a position out of bounds
        return True
    if a.scalars_written & (b.scalars_read | b.scalars_written):
        return True
    if a.scalars_read & b.scalars_written or a.buffers_written & b.buffers:
        return True
    return bool(a.buffers & b.buffers_written)


def _fails(statement: Statement) -> bool:
    if isinstance(statement, (Fail, Reserve)):
        return True
    if isinstance(statement, Call):
        return statement.error is not None
    return any(summary_of(each).may_fail for body in bodies(statement) for each in body)


def scalars_read_by_head(statement: Statement) -> set[Scalar]:
    """Returns the scalars that a statement reads, without those that its bodies read."""
    read = {scalar for at in positions(statement) for scalar in at.scalars}
    for expression in expressions(statement):
        for each in subexpressions(expression):
            if isinstance(each, Read):
                read.add(each.scalar)
            elif isinstance(each, (Load, Position)):
                read.update(each.at.scalars)
    if isinstance(statement, Set) and statement.combine:
        read.add(statement.scalar)
    elif isinstance(statement, Loop) and isinstance(statement.extent, Scalar):
        read.add(statement.extent)
    return read


def _scalars(statement: Statement) -> tuple[set[Scalar], set[Scalar]]:
    read, written = scalars_read_by_head(statement), set()
    if isinstance(statement, (Let, Set)):
        written.add(statement.scalar)
    elif isinstance(statement, Loop):
        written.add(statement.index)
    for body in bodies(statement):
        for inner in map(summary_of, body):
            read |= inner.scalars_read
            written |= inner.scalars_written
    return read, written


def _accesses(statement: Statement) -> Iterator[Access]:
    for expression in expressions(statement):
        for each in subexpressions(expression):
            if isinstance(each, Load):
                yield Access(each.buffer, each.at, 0, 0, False, "", ())
    if isinstance(statement, Store):
        yield Access(statement.buffer, statement.at, 0, 0, True, statement.combine, ())
    elif isinstance(statement, Product):
        m, n, k = statement.m, statement.n, statement.k
        yield _matrix(statement.left, m, k, False, "")
        yield _matrix(statement.right, k, n, False, "")
        yield _matrix(statement.result, m, n, True, "add" if statement.adds else "")
    elif isinstance(statement, Call):
        for part in statement.parts:
            yield Access(part.buffer, part.at, 0, part.size - 1, False, "", ())
        for part in statement.changed:
            yield Access(part.buffer, part.at, 0, part.size - 1, True, "", ())
    elif isinstance(statement, Reserve):
        yield Access(statement.buffer, Affine(), 0, 0, True, "", ())
    outer = (statement,) if isinstance(statement, Loop) else ()
    inside = (summary_of(each).accesses for body in bodies(statement) for each in body)
    for accesses in inside:
        yield from (
            [Access(*each[:-1], outer + each[-1]) for each in accesses] if outer else accesses
        )


def _matrix(matrix: Matrix, rows: int, columns: int, writes: bool, combine: str) -> Access:
    ends = [stride * (size - 1) for stride, size in zip(matrix.strides, (rows, columns))]
    low, high = sum(min(0, each) for each in ends), sum(max(0, each) for each in ends)
    return Access(matrix.buffer, matrix.at, low, high, writes, combine, ())


def span_within(access: Access, fixed: Sequence[Scalar]) -> tuple[Affine, int, int] | None:
    """Returns the part of the position that consists of ``fixed`` scalars, and the bounds of the
    rest; None if the rest has no known bounds."""
    low, high = access.at.constant + access.low, access.at.constant + access.high
    terms = []
    extents = {loop.index: loop.extent for loop in access.loops}
    for scalar, count in access.at.terms:
        if scalar in fixed:
            terms.append((scalar, count))
            continue
        extent = extents.get(scalar)
        if not isinstance(extent, int):
            return None
        reach = count * (extent - 1)
        low, high = low + min(0, reach), high + max(0, reach)
    return Affine(0, tuple(terms)), low, high
