"""Turns a list tape into a preallocated array that the loop fills row by row.

``np.stack(h_tape)`` copies the items of all iterations, so that they exist twice. If nothing else
reads the list, the loop carries the array and sets a row in each iteration.
``update_arrays_in_place`` then makes that an update in place. A row that a single call computes,
and that no later iteration reads, is computed in its place; at level 1 it is assigned after that
line. A list that begins with one more item becomes an array with one more row. The value that
enters an iteration is stored first. Its memory is then free for the value that leaves it.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> from autodiff_compiler.passes.simplify.dce import dce
>>> before = parse_function('''
... func @f(%x: f32[4]) -> (f32[4,4]) {
...   %y: f32[4], %t: list[f32[4]], %n: int = for %p, %k in (0, 3, 1) carry (%c: f32[4] = %x) {
...     %u: f32[4] = sin %c
...     yield carry %u stack %u
...   }
...   %one: list[f32[4]] = make_list %x
...   %all: list[f32[4]] = list_join %one, %t
...   %a: f32[4,4] = stack_rows %all {length=4}
...   return %a
... }
... ''')
>>> print(print_function(dce(preallocate_tapes(before))), end='')
func @f(%x: f32[4]) -> (f32[4,4]) {
  %t: f32[4,4] = empty {dtype='float32', shape=(4, 4)}
  %t.1: f32[4,4] = set_item %t, %x {index=(0,)}
  %y: f32[4], %t.2: f32[4,4], %n: int = for %p, %k in (0, 3, 1) \
carry (%c: f32[4] = %x, %t.3: f32[4,4] = %t.1) {
    %u: f32[4] = sin %c
    %p_plus_one: int = add %p, 1
    %t.4: f32[4,4] = set_item %t.3, %u, %p_plus_one {index=(('op', 0),)}
    yield carry %u, %t.4
  }
  return %t.2
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from autodiff_compiler.analysis.trip_count import trip_count
from autodiff_compiler.ir.aliasing import alias_sets
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import (
    AnyOperand,
    Function,
    Loop,
    Op,
    Region,
    Value,
    array_type,
    expect_value,
)
from autodiff_compiler.ir.rewrite import (
    Producers,
    UseCounts,
    fresh,
    map_regions,
    producers_among,
    use_counts,
)
from autodiff_compiler.operators.destination_ops import after_write, empty
from autodiff_compiler.operators.elementwise.arithmetic import add
from autodiff_compiler.operators.indexing.indexing import index, set_item
from autodiff_compiler.passes.core.traversal import with_body, with_ops
from autodiff_compiler.passes.destinations.operation_calls import (
    accepts_destination,
    build_with_destination,
)

#: The index of the row at a place that is an operand.
ROW = (("op", 0),)


def preallocate_tapes(function: Function, readable: bool = False) -> Function:
    """Replaces the lists of ``function`` that are only stacked by preallocated arrays.

    With ``readable``, each row is assigned, and none is computed in its place.
    """
    if not any(op.name == "stack_rows" for op in function.body.walk()):
        return function
    return with_body(function, _rewrite_region(function.body, use_counts(function.body), readable))


@dataclass(frozen=True)
class _Tape:
    """A list ``items`` that a loop collects and that ``stack`` turns into an array.

    head       the first item, if the list of the loop follows one
    replaced   the operations that the array makes unnecessary
    """

    stack: Op
    items: Value
    replaced: tuple[Op, ...]
    head: AnyOperand = None

    @property
    def array(self) -> Value:
        return self.stack.result

    def named(self, value: Value) -> Value:
        value.name = self.items.name or self.array.name
        return value


def _rewrite_region(region: Region, uses: UseCounts, readable: bool) -> Region:
    makers = producers_among(region.ops)
    tapes_of: dict[Op, list[_Tape]] = {}
    for op in region.ops:
        tape = _tape(op, makers, uses) if op.name == "stack_rows" else None
        if tape is not None:
            tapes_of.setdefault(makers[tape.items], []).append(tape)
    replaced = {op for tapes in tapes_of.values() for tape in tapes for op in tape.replaced}
    ops: list[Op] = []
    for op in region.ops:
        now = map_regions(op, lambda inner: _rewrite_region(inner, uses, readable))
        if op in tapes_of:
            ops += _filling_loop(now, tapes_of[op], readable)
        elif op not in replaced:
            ops.append(now)
    return with_ops(region, ops)


def _tape(stack: Op, makers: Producers, uses: UseCounts) -> _Tape | None:
    """Returns the tape that ``stack`` makes an array of, if each iteration sets one row of it."""
    if len(stack.operands) != 1:
        return None
    tape = _tape_with_head(stack, makers, uses) or _Tape(stack, stack.value_operand(0), (stack,))
    op, type_ = makers.get(tape.items), array_type(stack.result)
    if op is None or op.name != "for" or uses.get(tape.items) != 1:
        return None
    loop = Loop(op)
    steps = trip_count(loop)
    if steps is None or tape.items not in loop.stacked or not type_.is_static:
        return None
    has_head = len(tape.replaced) > 1
    return tape if type_.shape and type_.shape[0] == steps + has_head else None


def _tape_with_head(stack: Op, makers: Producers, uses: UseCounts) -> _Tape | None:
    """Returns the tape of a list of one item joined with the list of a loop."""
    joined = makers.get(stack.operands[0])
    if joined is None or joined.name != "list_join":
        return None
    first, items = makers.get(joined.operands[0]), joined.value_operand(1)
    if first is None or first.name != "make_list" or len(first.operands) != 1:
        return None
    if uses.get(joined.result) != 1 or uses.get(first.result) != 1 or items not in makers:
        return None
    maker, order = makers.get(first.operands[0]), list(makers.values())
    if maker is not None and order.index(maker) >= order.index(makers[items]):
        return None  # the item is made after the loop
    return _Tape(stack, items, (stack, joined, first), first.operands[0])


def _filling_loop(op: Op, tapes: Sequence[_Tape], readable: bool) -> list[Op]:
    """Returns the loop that carries arrays for ``tapes``, after the allocation of these."""
    loop, builder = Loop(op), Builder()
    with builder, builder.at(op.span, op.role):
        inits = [_allocated(builder, tape) for tape in tapes]
        params = [tape.named(fresh(tape.array)) for tape in tapes]
        rows = _RowWriter(loop, builder, readable, list(loop.body.ops))
        with builder.block() as last:
            yields = [tape.named(rows.write(tape, param)) for tape, param in zip(tapes, params)]
    items = {tape.items for tape in tapes}
    other_places = [place for place, tape in enumerate(loop.stacked) if tape not in items]
    lead = loop.body.params[: len(loop.body.params) - loop.carries - len(loop.reads)]
    stack_end = loop.carries + len(loop.stacked)
    body = Region(
        (*lead, *loop.carry_params, *params, *loop.read_params),
        (*rows.first, *rows.ops, *last),
        (
            *loop.carry_yields,
            *yields,
            *[loop.stack_yields[place] for place in other_places],
            *loop.body.yields[stack_end:],
        ),
    )
    arrays = [tape.named(tape.array) for tape in tapes]
    new_loop = replace(
        op,
        operands=(*loop.bounds, *loop.inits, *inits, *loop.reads),
        results=(
            *loop.carried,
            *arrays,
            *[loop.stacked[place] for place in other_places],
            loop.count,
        ),
        attrs={**op.attrs, "carries": loop.carries + len(tapes)},
        regions=(*op.regions[:-1], body),
    )
    return [*builder.ops, new_loop]


def _allocated(builder: Builder, tape: _Tape) -> Value:
    """Returns the array that a tape begins as, with its first row if the tape has a head."""
    type_ = array_type(tape.array)
    attrs = {"shape": type_.shape, "dtype": type_.dtype}
    array = tape.named(builder.make(empty, (), attrs))
    if tape.head is None:
        return array
    return tape.named(set_item(array, tape.head, index=(0,)))


@dataclass
class _RowWriter:
    """Writes one row of each tape per iteration: ``ops`` is the body so far, after ``first``."""

    loop: Loop
    builder: Builder
    readable: bool
    ops: list[Op]
    first: list[Op] = field(default_factory=list)

    def write(self, tape: _Tape, array: Value) -> Value:
        """Returns ``array`` after the iteration has written its row."""
        loop = self.loop
        item = loop.stack_yields[loop.stacked.index(tape.items)]
        if tape.head is None and item in loop.carry_params:
            with self.builder.block() as ops:
                written = set_item(array, item, loop.position, index=ROW)
            self.first += ops
            return expect_value(written)
        if self.readable:
            return self.assigned(tape, array, item)
        maker = self.row_maker(item) if tape.head is None else None
        if maker is None:
            return expect_value(set_item(array, item, self.place(tape), index=ROW))
        with self.builder.block() as ops:
            with self.builder.at(maker.span, maker.role):
                row = index(array, loop.position, index=ROW)
            computed = build_with_destination(self.builder, maker, row, contiguous=True)
        at = self.ops.index(maker)
        self.ops[at : at + 1] = ops
        return self.builder.make(after_write, (computed, array), {})

    def place(self, tape: _Tape) -> AnyOperand:
        """Returns the number of the row of this iteration."""
        return self.loop.position if tape.head is None else add(self.loop.position, 1)

    def assigned(self, tape: _Tape, array: Value, item: AnyOperand) -> Value:
        """Returns ``array`` after its row was assigned, at the end of the line that makes it."""
        maker = next((op for op in self.ops if item in op.results), None)
        shown = self.loop.op if maker is None else maker
        with self.builder.block() as ops, self.builder.at(shown.span, shown.role):
            written = set_item(array, item, self.place(tape), index=ROW)
        at = len(self.ops)
        if maker is not None:
            at = self.ops.index(maker)
            line = [op.span.line == shown.span.line for op in self.ops[at:]]
            at += (*line, False).index(False)
        self.ops[at:at] = ops
        return expect_value(written)

    def row_maker(self, item: AnyOperand) -> Op | None:
        """Returns the single call that makes ``item``, if no other iteration reads that."""
        maker = next((op for op in self.loop.body.ops if item in op.results), None)
        if maker is None or not accepts_destination(maker):
            return None
        aliases = alias_sets(self.loop.body)
        yields = [value for value in self.loop.body.yields if isinstance(value, Value)]
        holders = [value for value in yields if maker.result in aliases.get(value, ())]
        return maker if len(holders) == 1 else None
