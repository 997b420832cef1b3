"""Sums on zeros: what is added to each element once is stored, and the zeros are not.

An array of zeros gets its parts one by one: the rows of a joined array, or the slices of an
argument. Each part is a piece of adjacent elements that a loop visits once. If the parts are apart,
and nothing reads the array before all are there, each addition is a store.

In a loop, this is for arrays that outlive an iteration. Zeros show ``contract_arrays`` that an
iteration fills all elements that it reads.

>>> from autodiff_compiler.loop_ir.printer import print_nests
>>> from autodiff_compiler.loop_ir.reader import read_nests
>>> before = read_nests('''
... func f(x: f64[4], y: f64[8]) -> (d: f64[12]) {
...   for i in 0:12 {
...     d[i] = 0.0
...   }
...   for i in 0:4 {
...     d[i + 8] += x[i]
...   }
...   for i in 0:8 {
...     d[i] += y[i] * 2.0
...   }
... }
... ''')
>>> print(print_nests(store_first_sums(before)), end="")
func f(x: f64[4], y: f64[8]) -> (d: f64[12]) {
  for i in 0:4 {
    d[i + 8] = x[i]
  }
  for i in 0:8 {
    d[i] = y[i] * 2.0
  }
}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from autodiff_compiler.loop_ir.accesses import summary_of
from autodiff_compiler.loop_ir.liveness import covers
from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Body,
    Buffer,
    Function,
    Literal,
    Load,
    Loop,
    Scalar,
    Statement,
    Store,
    expressions,
    map_bodies,
    subexpressions,
    with_body,
)
from autodiff_compiler.loop_ir.rewrite import changed_body, map_statements


class _Piece(NamedTuple):
    """``size`` adjacent elements, from ``low`` on beyond a position of scalars outside."""

    outside: frozenset[tuple[Scalar, int]]
    low: int
    size: int


def store_first_sums(function: Function) -> Function:
    """Replaces zeros, and the sums on them, by stores."""
    return with_body(function, _stored(function.body, _uses(function.body), True))


def _uses(body: Body) -> Counter[Buffer]:
    return Counter(access.buffer for each in body for access in summary_of(each).accesses)


def _stored(body: Body, uses: Counter[Buffer], is_outermost: bool) -> Body:
    after, place = list(body), 0
    while place < len(after):
        zeros = _zeros(after[place])
        outlives = zeros and (is_outermost or uses[zeros.buffer] > _uses(body)[zeros.buffer])
        if not (zeros and outlives and _without_zeros(after, place, zeros)):
            place += 1
    inside = partial(_stored, uses=uses, is_outermost=False)
    return changed_body(body, [map_bodies(each, inside) for each in after])


def _zeros(statement: Statement) -> Store | None:
    """Returns the store of a nest of loops that writes zeros, and does nothing else."""
    while isinstance(statement, Loop) and len(statement.body) == 1:
        (statement,) = statement.body
    if not isinstance(statement, Store) or statement.combine:
        return None
    value = statement.value
    return statement if isinstance(value, Literal) and value.value == 0 else None


def _without_zeros(body: list[Statement], place: int, zeros: Store) -> bool:
    """Removes the zeros at a place, if the sums after them can be stores."""
    buffer = zeros.buffer
    pieces = [_piece(store.at, loops) for store, loops in _stores(body[place], buffer, ())]
    left = pieces[0].size if pieces and pieces[0] is not None else 0
    changed: dict[int, Body] = {place: ()}
    for number in range(place + 1, len(body)):
        if left <= 0:
            break
        summary = summary_of(body[number])
        if buffer not in summary.buffers_read and buffer not in summary.buffers_written:
            continue
        sums = [*_stores(body[number], buffer, ())]
        count = sum(access.buffer is buffer for access in summary.accesses)
        if len(sums) != count or not all(_is_sum(store) for store, _ in sums):
            return False
        pieces += [_piece(store.at, loops) for store, loops in sums]
        left -= sum(piece.size for piece in pieces[-count:] if piece is not None)
        changed[number] = _with_stores(body[number], buffer)
    if left or not _is_partition(pieces):
        return False
    body[:] = [new for k, old in enumerate(body) for new in changed.get(k, (old,))]
    return True


def _stores(
    statement: Statement, buffer: Buffer, loops: tuple[Loop, ...]
) -> Iterator[tuple[Store, tuple[Loop, ...]]]:
    """Yields the stores to a buffer that loops alone stand around, with these loops."""
    if isinstance(statement, Store) and statement.buffer is buffer:
        yield statement, loops
    elif isinstance(statement, Loop):
        for each in statement.body:
            yield from _stores(each, buffer, (*loops, statement))


def _is_sum(store: Store) -> bool:
    reads = (e for value in expressions(store) for e in subexpressions(value))
    return store.combine == "add" and not any(
        isinstance(each, Load) and each.buffer is store.buffer for each in reads
    )


def _piece(at: Affine, loops: Sequence[Loop]) -> _Piece | None:
    """Returns the elements at a position of a store in loops; None if it repeats or skips any."""
    steps = [(loop.index, loop.extent) for loop in loops if isinstance(loop.extent, int)]
    inside = {index for index, _ in steps}
    outside = frozenset(term for term in at.terms if term[0] not in inside)
    size = 1
    for _, extent in steps:
        size *= extent
    within = Affine(0, tuple(term for term in at.terms if term[0] in inside))
    is_fixed = not any(scalar.mutable for scalar, _ in outside)
    if len(steps) != len(loops) or not is_fixed or not covers(within, steps, size):
        return None
    return _Piece(outside, at.constant, size)


def _is_partition(pieces: Sequence[_Piece | None]) -> bool:
    """True if the pieces after the first one are apart, and are the first one together."""
    known = [piece for piece in pieces if piece is not None]
    if len(known) != len(pieces) or len({piece.outside for piece in known}) != 1:
        return False
    end = known[0].low
    for _, low, size in sorted(known[1:], key=lambda piece: piece.low):
        if low != end:
            return False
        end += size
    return end == known[0].low + known[0].size


def _with_stores(statement: Statement, buffer: Buffer) -> Body:
    """Returns a statement whose sums in a buffer are stores."""

    def change(each: Statement) -> Statement:
        if isinstance(each, Store) and each.buffer is buffer:
            return replace(each, combine="")
        return each

    return map_statements((statement,), change)
