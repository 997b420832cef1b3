"""Copy elimination: reads of a copy read its source, and a copied temporary is its copy.

A copy moves the elements of one array to another one. There are two ways to do without it.

- The copy fills a temporary, and its source does not change while the temporary is used. Each read
  of the temporary becomes a read of the source, also in another order of axes.
- A temporary is copied as one piece. It is computed in the memory of its copy: in a result, in a
  row of a tape, or in a part of a joined array.

A sum over steps of time is not computed in a result: loops come back to it. Temporaries are
aligned to vectors, and results are not.

>>> from autodiff_compiler.loop_ir.printer import print_nests
>>> from autodiff_compiler.loop_ir.reader import read_nests
>>> before = read_nests('''
... func f(x: f64[6]) -> (y: f64[8]) {
...   alloc transposed: f64[6]
...   alloc t: f64[6]
...   for i in 0:3 {
...     for j in 0:2 {
...       transposed[2*i + j] = x[i + 3*j]
...     }
...   }
...   for i in 0:3 {
...     for j in 0:2 {
...       t[i + 3*j] = exp(transposed[2*i - j + 1])
...     }
...   }
...   for i in 0:6 {
...     y[i + 2] = t[i]
...   }
... }
... ''')
>>> print(print_nests(remove_copies(before)), end="")
func f(x: f64[6]) -> (y: f64[8]) {
  for i in 0:3 {
    for j in 0:2 {
      y[i + 3*j + 2] = exp(x[i - 3*j + 3])
    }
  }
}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from autodiff_compiler.loop_ir.accesses import Access, span_within, summary_of
from autodiff_compiler.loop_ir.liveness import covers, fills, is_filled_first
from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Body,
    Buffer,
    Call,
    Expression,
    Function,
    Load,
    Loop,
    Product,
    Scalar,
    Statement,
    Store,
    map_bodies,
    walk,
    with_body,
)
from autodiff_compiler.loop_ir.rewrite import changed_body, relocated, rewrite_statement


def remove_copies(function: Function) -> Function:
    """Removes the copies of a function that it can do without."""
    uses = Counter(access.buffer for each in function.body for access in summary_of(each).accesses)
    return with_body(function, _without_copies(function.body, uses, True))


@dataclass(frozen=True)
class _Copy:
    """A nest of loops that copies elements of ``source`` to the buffer of ``store``."""

    nest: Statement
    store: Store
    source: Load
    extents: Mapping[Scalar, int]

    @property
    def to(self) -> Buffer:
        return self.store.buffer

    @property
    def offset(self) -> Affine:
        """The distance of an element from its source; it has loop indices if they differ."""
        return self.store.at + self.source.at * -1


def _without_copies(body: Body, uses: Counter[Buffer], is_outermost: bool) -> Body:
    after, place = list(body), 0
    while place < len(after):
        copy = _copy_of(after[place])
        if copy is None or not (
            _read_source(after, place, copy, uses)
            or _write_target(after, place, copy, uses, is_outermost)
        ):
            place += 1
    inside = partial(_without_copies, uses=uses, is_outermost=False)
    return changed_body(body, [map_bodies(each, inside) for each in after])


def _copy_of(nest: Statement) -> _Copy | None:
    """Returns the copy that a statement makes, if it does nothing else."""
    statement, extents = nest, {}
    while isinstance(statement, Loop) and len(statement.body) == 1:
        if not isinstance(statement.extent, int):
            return None
        extents[statement.index] = statement.extent
        (statement,) = statement.body
    if not isinstance(statement, Store) or not isinstance(statement.value, Load):
        return None
    source = statement.value
    scalars = (*source.at.scalars, *statement.at.scalars)
    if statement.combine or source.buffer is statement.buffer:
        return None
    if any(each.mutable for each in scalars):
        return None
    return _Copy(nest, statement, source, extents)


def _accesses(statements: Iterable[Statement], buffer: Buffer) -> list[Access]:
    return [
        access
        for each in statements
        if _uses(each, buffer)
        for access in summary_of(each).accesses
        if access.buffer is buffer
    ]


def _uses(statement: Statement, buffer: Buffer) -> bool:
    summary = summary_of(statement)
    return buffer in summary.buffers_read or buffer in summary.buffers_written


# ---- reads of the source


def _read_source(body: list[Statement], place: int, copy: _Copy, uses: Counter[Buffer]) -> bool:
    """Removes the copy at a place, if the statements after it can read the source."""
    to, source, later = copy.to, copy.source.buffer, body[place + 1 :]
    if to.role != "temporary" or not fills(copy.nest, to):
        return False
    reads = _accesses(later, to)
    if len(reads) + 1 != uses[to] or any(each.writes for each in reads):
        return False
    if any(each.writes for each in _accesses(later, source)):
        return False
    moves: dict[Affine, Affine] = {}
    for access in reads:
        at = None if access.low or access.high else _position(copy, access)
        if at is None:
            return False
        moves[access.at] = at

    def change(expression: Expression) -> Expression:
        if isinstance(expression, Load) and expression.buffer is to:
            return Load(source, moves[expression.at])
        return expression

    def rewritten(statement: Statement) -> Statement:
        if not _uses(statement, to):
            return statement
        return rewrite_statement(statement, change, lambda at: at)

    after = [*map(rewritten, later)]
    if _accesses(after, to):
        return False  # a matrix product reads it
    body[place:] = after
    uses[source] += len(reads) - 1
    return True


def _position(copy: _Copy, access: Access) -> Affine | None:
    """Returns the position in the source of an element of the copy."""
    steps = [
        (count, copy.extents[scalar], copy.source.at.coefficient(scalar))
        for scalar, count in copy.store.at.terms
    ]
    steps.sort(key=lambda step: -step[0])
    steps = steps or [(1, 1, 0)]
    at = Affine(
        copy.source.at.constant,
        tuple(term for term in copy.source.at.terms if term[0] not in copy.extents),
    )
    if all(source == steps[-1][2] * count for count, _, source in steps) and steps[-1][0] == 1:
        return at + access.at * steps[-1][2]
    extents = {loop.index: loop.extent for loop in access.loops}
    constant, terms = access.at.constant, list(access.at.terms)
    for number, (count, extent, source) in enumerate(steps):
        digit, constant = divmod(constant, count)
        low = high = digit
        at += digit * source
        for scalar, step in [term for term in terms if term[1] % count == 0]:
            terms.remove((scalar, step))
            reach = extents.get(scalar)
            if isinstance(reach, int):
                ends = (0, step // count * (reach - 1))
                low, high = low + min(ends), high + max(ends)
            elif number:
                return None
            at += Affine.of(scalar, step // count * source)
        if low < 0 or high >= extent:
            return None
    return None if terms or constant else at


# ---- writes to the copy


def _write_target(
    body: list[Statement], place: int, copy: _Copy, uses: Counter[Buffer], is_outermost: bool
) -> bool:
    """Removes the copy at a place, if the source can be computed in the memory of the copy."""
    source, to = copy.source.buffer, copy.to
    if not _is_one_piece(copy) or len(_accesses(body, source)) != uses[source]:
        return False
    first = next(number for number, each in enumerate(body) if _uses(each, source))
    before, later = body[first:place], body[place + 1 :]
    if first > place or not (is_outermost or is_filled_first(source, tuple(body))):
        return False
    defined = {scalar for each in before for scalar in summary_of(each).scalars_written}
    if not defined.isdisjoint(copy.offset.scalars):
        return False
    if any(_meets(copy, each) for each in _accesses(before, to)):
        return False
    if to.role == "output" and any(map(_is_repeated, _accesses(before, source))):
        return False
    reads = _accesses(later, source)
    if any(each.writes for each in reads):
        return False
    if reads and any(each.writes and _meets(copy, each) for each in _accesses(later, to)):
        return False
    offset = copy.offset

    def move(buffer: Buffer, at: Affine) -> tuple[Buffer, Affine]:
        return (to, offset + at) if buffer is source else (buffer, at)

    after = [relocated(each, move) if _uses(each, source) else each for each in (*before, *later)]
    if any(map(_is_in_place, walk(after))):
        return False
    body[first:] = after
    uses[to] += uses.pop(source) - 2
    return True


def _is_one_piece(copy: _Copy) -> bool:
    """True if a temporary is copied as it is, all of it, to adjacent elements."""
    source, to = copy.source.buffer, copy.to
    if source.role != "temporary" or source.grows or to.grows or source.dtype != to.dtype:
        return False
    if not copy.extents.keys().isdisjoint(copy.offset.scalars):
        return False
    return covers(copy.source.at, [*copy.extents.items()], source.size)


def _meets(copy: _Copy, access: Access) -> bool:
    """True if an access to the buffer of the copy may be to elements that the copy writes."""
    offset = copy.offset
    span = span_within(access, offset.scalars)
    if span is None or dict(span[0].terms) != dict(offset.terms):
        return True
    end = offset.constant + copy.source.buffer.size
    return span[1] < end and span[2] >= offset.constant


def _is_repeated(access: Access) -> bool:
    """True if a loop around an access comes back to the same elements."""
    return not all(access.at.coefficient(loop.index) for loop in access.loops)


def _is_in_place(statement: Statement) -> bool:
    """True for a matrix product whose result is in the buffer of an operand, or such a call."""
    if isinstance(statement, Call):
        changed = [part.buffer for part in statement.changed]
        is_apart = len({*changed}) == len(changed)
        return not is_apart or any(part.buffer in changed for part in statement.read)
    if not isinstance(statement, Product):
        return False
    operands = (statement.left.buffer, statement.right.buffer)
    return statement.result.buffer in operands
