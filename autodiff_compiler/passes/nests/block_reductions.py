"""Blocked reductions: a long sum of floats is a sum of sums of blocks.

Rounding errors of a sum grow with the number of additions in a row. Here this number grows with the
logarithm of the length. The innermost loop adds up several partial sums side by side, for vectors.
Their number is fixed, and the result does not depend on the machine. The largest or smallest of
many floats is found side by side, too; it has no rounding errors, and needs no blocks.

>>> from autodiff_compiler.loop_ir.printer import print_nests
>>> from autodiff_compiler.loop_ir.reader import read_nests
>>> before = read_nests('''
... func f(x: f64[100]) -> (sum: f64[1]) {
...   var total: f64 = 0.0
...   for i in 0:100 {
...     let t: f64 = exp(x[i])
...     total += t
...   }
...   sum[0] = total
... }
... ''')
>>> print(print_nests(block_reductions(before)), end="")
func f(x: f64[100]) -> (sum: f64[1]) {
  alloc total_slots: f64[16]
  var total: f64 = 0.0
  for slot in 0:16 {
    total_slots[slot] = 0.0
  }
  serial for i in 0:6 {
    for slot in 0:16 {
      let t: f64 = exp(x[16*i + slot])
      total_slots[slot] += t
    }
  }
  for slot in 0:4 {
    total_slots[slot] += total_slots[slot + 4] + total_slots[slot + 8] + total_slots[slot + 12]
  }
  total += total_slots[0] + total_slots[1] + total_slots[2] + total_slots[3]
  for i in 0:4 {
    let t: f64 = exp(x[i + 96])
    total += t
  }
  sum[0] = total
}
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.types import item_size
from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Apply,
    Body,
    Buffer,
    Expression,
    Function,
    Let,
    Literal,
    Load,
    Loop,
    Position,
    Read,
    Scalar,
    Set,
    Statement,
    Store,
    expressions,
    subexpressions,
    walk,
    with_body,
)
from autodiff_compiler.loop_ir.rewrite import map_statements, renewed, rewrite_loops, substitute

#: The value of each operation that changes no other one.
_NEUTRAL = {"add": 0.0, "maximum": -math.inf, "minimum": math.inf}
#: Scalars, and the operation that a loop combines each with.
Reductions = Mapping[Scalar, str]
#: The statements of some iterations from a position on. They add to other sums in place of some.
Block = Callable[[Affine, "int | Scalar", Mapping[Scalar, Scalar]], Body]


def block_reductions(function: Function) -> Function:
    """Blocks the long reductions of a function."""
    return with_body(function, rewrite_loops(function.body, _blocks))


def _blocks(loop: Loop) -> Sequence[Statement]:
    """Returns the statements in place of a loop; the loop itself if it has no long reduction."""
    sums = _reductions(loop)
    if not sums:
        return [loop]
    chain = costs().sum_chain_terms
    if _has_slots(loop, sums):
        return _Slots(loop, sums).statements()
    if "add" not in sums.values() or isinstance(loop.extent, int) and loop.extent <= chain:
        return [loop]

    def block(start: Affine, count: int | Scalar, parts: Mapping[Scalar, Scalar]) -> Body:
        index = Scalar(loop.index.name, "int64")
        body = substitute(loop.body, {loop.index: start + Affine.of(index)})
        return (replace(loop, index=index, extent=count, body=_redirected(body, parts)),)

    return _chains(loop, loop.extent, sums, block)


def _reductions(loop: Loop) -> dict[Scalar, str]:
    """Returns the floats that a loop combines others with, and uses in no other way.

    The value of each is its operation.
    """
    sums: dict[Scalar, str] = {}
    others: set[Scalar] = set()
    for statement in walk(loop.body):
        if isinstance(statement, Set):
            scalar, combine = statement.scalar, statement.combine
            is_reduction = combine in _NEUTRAL and scalar.dtype.startswith("float")
            if not is_reduction or sums.setdefault(scalar, combine) != combine:
                others.add(scalar)
        elif isinstance(statement, Let):
            others.add(statement.scalar)
        for expression in expressions(statement):
            others.update(e.scalar for e in subexpressions(expression) if isinstance(e, Read))
    return {scalar: combine for scalar, combine in sums.items() if scalar not in others}


def _has_slots(loop: Loop, sums: Reductions) -> bool:
    """True if the iterations of a loop can run side by side, but for its sums."""
    is_plain = all(
        isinstance(each, (Let, Store)) or isinstance(each, Set) and each.scalar in sums
        for each in loop.body
    )
    return is_plain and loop.independent and _width(loop, sums) > 1


def _width(loop: Loop, sums: Reductions) -> int:
    """Returns the number of slots, a power of two: at most half the iterations."""
    width = costs().sum_vector_bytes // max(item_size(each.dtype) for each in sums)
    while isinstance(loop.extent, int) and 2 * width > loop.extent:
        width //= 2
    return width if width >= costs().least_partial_sum_terms else 1


class _Slots:
    """Replaces an innermost loop by a loop over slots in a loop over the steps that they take."""

    def __init__(self, loop: Loop, sums: Reductions) -> None:
        self.loop, self.sums = loop, sums
        self.width = _width(loop, sums)
        self.slots = {each: Buffer(f"{each.name}_slots", each.dtype, self.width) for each in sums}

    def statements(self) -> list[Statement]:
        extent, width = self.loop.extent, self.width
        before: list[Statement] = []
        if isinstance(extent, int):
            steps: int | Scalar = extent // width
            rest: int | Scalar = extent % width
            first = Affine(extent - extent % width)
        else:
            count = _operation("floor_div", Read(extent), Literal(width, "int64"))
            steps, rest = Scalar("steps", "int64"), Scalar("rest", "int64")
            first = Affine.of(steps, width)
            before = [Let(steps, count), Let(rest, Position(Affine.of(extent) + first * -1))]
        chain = costs().sum_chain_terms
        is_short = isinstance(steps, int) and steps <= chain
        if is_short or "add" not in self.sums.values():
            blocks: Sequence[Statement] = self.block(
                Affine(), steps, {each: each for each in self.sums}
            )
        else:
            blocks = self.long(steps)
        return [*before, *blocks, *self.tail(first, rest)]

    def long(self, steps: int | Scalar) -> Sequence[Statement]:
        """Returns blocks of steps, each with a sum of its own."""

        def block(start: Affine, count: int | Scalar, parts: Mapping[Scalar, Scalar]) -> Body:
            return tuple(self.block(start, count, parts))

        return _chains(self.loop, steps, self.sums, block)

    def block(
        self, start: Affine, steps: int | Scalar, parts: Mapping[Scalar, Scalar]
    ) -> list[Statement]:
        """Returns the loops that add up some steps from ``start`` on."""
        slot, step = Scalar("slot", "int64"), Scalar(self.loop.index.name, "int64")
        at = (start + Affine.of(step)) * self.width + Affine.of(slot)
        body = substitute(self.loop.body, {self.loop.index: at})
        inner = Loop(slot, self.width, self.stored(body, slot), span=self.loop.span)
        return [
            self.over(self.width, self.cleared),
            Loop(step, steps, (inner,), False, self.loop.span),
            *self.fold(parts),
        ]

    def cleared(self, scalar: Scalar, at: Affine) -> Store:
        """Returns the statement that makes a slot neutral."""
        return Store(self.slots[scalar], at, _neutral(self.sums[scalar], scalar.dtype))

    def over(self, count: int, store: Callable[[Scalar, Affine], Store]) -> Loop:
        """Returns a loop over the slots of each reduction."""
        slot = Scalar("slot", "int64")
        stores = (store(scalar, Affine.of(slot)) for scalar in self.slots)
        body = tuple(replace(each, span=self.loop.span) for each in stores)
        return Loop(slot, count, body, span=self.loop.span)

    def stored(self, body: Body, slot: Scalar) -> Body:
        """Returns a body that combines with the slots."""
        at = Affine.of(slot)
        return tuple(
            Store(self.slots[each.scalar], at, each.value, each.combine, each.span)
            if isinstance(each, Set)
            else each
            for each in body
        )

    def fold(self, parts: Mapping[Scalar, Scalar]) -> list[Statement]:
        """Returns the statements that combine the slots with a scalar, four at a time."""
        after: list[Statement] = []
        left = self.width
        while left > 4:
            left //= 4 if left > 8 else 2
            stride, count = left, self.left_before(left) // left

            def store(
                scalar: Scalar, at: Affine, stride: int = stride, count: int = count
            ) -> Store:
                buffer, combine = self.slots[scalar], self.sums[scalar]
                others = [Load(buffer, at + stride * k) for k in range(1, count)]
                return Store(buffer, at, _combined(combine, others), combine)

            after.append(self.over(left, store))
        for each, buffer in self.slots.items():
            combine = self.sums[each]
            value = _combined(combine, [Load(buffer, Affine(slot)) for slot in range(left)])
            after.append(Set(parts[each], value, combine, self.loop.span))
        return after

    def left_before(self, left: int) -> int:
        """Returns the number of slots before the fold that leaves ``left``."""
        before = self.width
        while (before // 4 if before > 8 else before // 2) != left:
            before //= 4 if before > 8 else 2
        return before

    def tail(self, first: Affine, rest: int | Scalar) -> list[Statement]:
        """Returns the loop over the iterations that fill no step."""
        if rest == 0:
            return []
        index = Scalar(self.loop.index.name, "int64")
        body = renewed(substitute(self.loop.body, {self.loop.index: first + Affine.of(index)}))
        return [replace(self.loop, index=index, extent=rest, body=body)]


def _chains(
    loop: Loop,
    extent: int | Scalar,
    sums: Reductions,
    block: Block,
    limit: int = 0,
) -> Sequence[Statement]:
    """Returns loops over blocks, and over blocks of blocks if there are many.

    limit   the most iterations, if the extent is a scalar; by default enough for two levels.
    """
    chain = costs().sum_chain_terms
    limit = extent if isinstance(extent, int) else limit or chain**3
    size = chain
    while size * chain < limit:
        size *= chain
    parts = {each: Scalar(f"{each.name}_part", each.dtype, mutable=True) for each in sums}
    index = Scalar("block", "int64")
    start = Affine.of(index, size)
    blocks: int | Scalar
    before: list[Statement] = []
    count: int | Scalar = Scalar("steps", "int64")
    if isinstance(extent, int):
        end, blocks = Affine(extent), -(-extent // size)
        count = count if extent % size else size
    else:
        end, blocks = Affine.of(extent), Scalar("blocks", "int64")
        number = _operation("floor_div", Position(end + (size - 1)), Literal(size, "int64"))
        before = [Let(blocks, number, loop.span)]
    inner: list[Statement] = []
    if isinstance(count, Scalar):
        left = Position(end + start * -1)
        inner = [Let(count, _operation("minimum", left, Literal(size, "int64")), loop.span)]
    for each, part in parts.items():
        inner.append(Let(part, _neutral(sums[each], part.dtype), loop.span))
    if size > chain:
        names = {part: each for each, part in parts.items()}

        def deeper(at: Affine, c: int | Scalar, sums_of: Mapping[Scalar, Scalar]) -> Body:
            return block(start + at, c, {names[part]: each for part, each in sums_of.items()})

        inner += _chains(loop, count, {p: sums[names[p]] for p in names}, deeper, size)
    else:
        inner += block(start, count, parts)
    inner += [Set(each, Read(part), sums[each], loop.span) for each, part in parts.items()]
    return [*before, Loop(index, blocks, tuple(inner), False, loop.span)]


def _redirected(body: Body, parts: Mapping[Scalar, Scalar]) -> Body:
    """Returns a body that adds to other sums."""

    def change(statement: Statement) -> Statement:
        if isinstance(statement, Set) and statement.scalar in parts:
            return replace(statement, scalar=parts[statement.scalar])
        return statement

    return map_statements(body, change)


def _operation(name: str, *operands: Expression) -> Apply:
    return Apply(name, operands, operands[0].dtype)


def _combined(combine: str, terms: Sequence[Expression]) -> Expression:
    total = terms[0]
    for term in terms[1:]:
        total = _operation(combine, total, term)
    return total


def _neutral(combine: str, dtype: str) -> Literal:
    return Literal(_NEUTRAL[combine], dtype)
