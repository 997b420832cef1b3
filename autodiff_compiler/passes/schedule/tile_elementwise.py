"""Loop tiling with elementwise fusion, for arrays larger than the cache.

Operation by operation, an array larger than the cache travels between memory and processor each
time. A tiled loop applies a group of operations to one tile, which stays in the cache. Then it goes
on to the next tile. A value that only the group reads is never materialised. A sum over the tiles
is a sum of their sums. A reduction within each row, as in a softmax, happens in the tile. All tiles
have one size: arrays whose first axis has no fitting divisor are left alone.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: f32[1000000]) -> (f32[1000000], f32[]) {
...   %a: f32[1000000] = sin %x
...   %b: f32[1000000] = mul %a, %x
...   %c: f32[1000000] = exp %b
...   %s: f32[] = sum %c {axes=None, keepdims=False}
...   return %b, %s
... }
... ''')
>>> print(print_function(tile_elementwise(before)), end='')
func @f(%x: f32[1000000]) -> (f32[1000000], f32[]) {
  %b_whole: f32[1000000] = empty {dtype='float32', shape=(1000000,)}
  %filled: f32[] = full {dtype='float32', shape=(), value=0}
  %b: f32[1000000], %s: f32[], %count: int = for %tile, %tile.1 in (0, 1000000, 62500) \
carry (%b.1: f32[1000000] = %b_whole, %s.1: f32[] = %filled) {
    %x_part: f32[62500] = tile_view %x, %tile.1 {rows=62500}
    %a: f32[62500] = sin %x_part
    %b_part: f32[62500] = tile_view %b.1, %tile.1 {rows=62500}
    %b.2: f32[62500] = compute_into %a, %x_part, %b_part {text='np.multiply({0}, {1}, out={2})'}
    %b.3: f32[1000000] = after_write %b.2, %b.1
    %c: f32[62500] = exp %b.2
    %sum_c: f32[] = sum %c {axes=None, keepdims=False}
    %total: f32[] = add %s.1, %sum_c
    yield carry %b.3, %total
  }
  return %b, %s
}
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.aliasing import NONE, AliasSet, destination_of, is_row
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.labels import composed
from autodiff_compiler.ir.nodes import (
    AnyOperand,
    Function,
    Loop,
    Op,
    Region,
    Value,
    array_type,
    type_of,
)
from autodiff_compiler.ir.rewrite import uses_of
from autodiff_compiler.ir.types import INT, ArrayType, Type, item_size
from autodiff_compiler.operators.core.structure import full
from autodiff_compiler.operators.destination_ops import after_write, compute_into, empty, tile_view
from autodiff_compiler.operators.elementwise.arithmetic import add
from autodiff_compiler.passes.core.traversal import with_body
from autodiff_compiler.passes.destinations.template_calls import Operand, calls_of

#: Reductions that may go over the tiles, and those that may go over the other axes of a tile.
TOTALS = ("sum", "sum_of_products")
REDUCTIONS = (*TOTALS, "max", "min", "mean")


def tile_elementwise(function: Function) -> Function:
    """Fuses groups of elementwise operations on very large arrays into loops over tiles."""
    groups = _FusionGroups(function.body)
    ops = groups.rewritten()
    if not groups.changed:
        return function
    body = function.body
    return with_body(function, Region(body.params, tuple(ops), body.yields))


class _FusionGroups:
    """Collects fusion groups.

    An operation between two members of a group that reads no member goes before the group. A small
    one that reads a member goes after it.
    """

    def __init__(self, body: Region):
        self.body, self.changed = body, False
        self.done: list[Op] = []
        self.group: list[Op] = []
        self.computed: set[Value] = set()
        self.readers: dict[Value, list[Op | None]] = {}
        for op in body.ops:
            for value in uses_of(op):
                self.readers.setdefault(value, []).append(op)
        for returned in body.yields:
            if isinstance(returned, Value):
                self.readers.setdefault(returned, []).append(None)

    def rewritten(self) -> list[Op]:
        ops = list(self.body.ops)
        while ops:
            ops = self.next_group(ops)
        return self.done

    def next_group(self, ops: Sequence[Op]) -> list[Op]:
        """Collects one group and returns the operations after it."""
        delayed: list[Op] = []
        late: set[Value] = set()
        rest: list[Op] = []
        for place, op in enumerate(ops):
            read = uses_of(op)
            if late.isdisjoint(read) and self.can_join(op):
                self.group.append(op)
                self.computed.update(op.results)
            elif self.group and _is_barrier(op):
                rest = list(ops[place:])
                break
            elif self.computed.isdisjoint(read) and late.isdisjoint(read):
                self.done.append(op)
            elif self.group and _is_small(op, _size(self.group[0])):
                delayed.append(op)
                late.update(op.results)
            else:
                rest = list(ops[place:])
                break
        self.finish_group()
        return [*delayed, *rest]

    def can_join(self, op: Op) -> bool:
        """True if ``op`` can be computed tile by tile, with the group so far."""
        if _is_total(op):
            return self.can_join_total(op)
        shape = _worked_on(op)
        if not shape or _shape(op.result) is None or not self.fits_group(op, shape):
            return False
        # Only tiles of the group's results exist, so that no operation reads one as a whole.
        if not all(
            _has_tiles(operand, shape)
            or operand not in self.computed
            and _is_broadcast(operand, shape)
            for operand in op.operands
        ):
            return False
        return {o.result for o in self.group if _is_total(o)}.isdisjoint(uses_of(op))

    def can_join_total(self, op: Op) -> bool:
        if self.computed.isdisjoint(op.operands) or _size(op) != _size(self.group[0]):
            return False
        return all(_has_tiles(operand, _shape(op.operands[0]) or ()) for operand in op.operands)

    def fits_group(self, op: Op, shape: tuple[int, ...]) -> bool:
        """True if arrays of ``shape`` have the tiles of the group, or can begin a group."""
        if not self.group:
            return _tile_rows(shape, op.result.type) is not None
        first, size = _worked_on(self.group[0]) or (0,), math.prod(shape)
        if shape[0] != first[0] or size > math.prod(first):
            return False
        # A narrower operation joins if it depends on the group.
        return size == math.prod(first) or not self.computed.isdisjoint(uses_of(op))

    def finish_group(self) -> None:
        """Ends the group: with a loop if the group is long enough."""
        loop = _TiledLoop(self.group, self.readers) if self.group else None
        if loop is None or loop.length - loop.materialised < loop.least:
            self.done += self.group
        else:
            self.done += loop.build()
            self.changed = True
        self.group, self.computed = [], set()


class _TiledLoop:
    """Builds the loop over the tiles of one group."""

    def __init__(self, group: Sequence[Op], readers: dict[Value, list[Op | None]]):
        self.group, self.builder = group, Builder()
        self.shape = _worked_on(group[0]) or (0,)
        members = set(group)
        #: The operations whose results are read outside of the group.
        self.live_out = [
            op
            for op in group
            if _is_total(op) or any(each not in members for each in readers.get(op.result, ()))
        ]
        arrays = self.tiles_in_use()
        self.rows = _tile_rows(self.shape, group[0].result.type, arrays) or 0
        #: The operations on whole arrays, and the arrays that the loop materialises.
        elements = math.prod(self.shape)
        self.length = sum(_size(op) == elements for op in group)
        self.materialised = sum(
            math.prod(_shape(op.result) or ()) == elements for op in self.live_out
        )
        #: The least difference of both at which the loop pays off.
        self.least = self.least_operations(arrays)
        self.start = Value(INT, "tile")
        self.tiles: dict[Value, Value] = {}

    def least_operations(self, arrays: int) -> int:
        now = costs()
        if _is_large(self.shape):
            return now.tiled_operations
        reduces = any(op.name in REDUCTIONS and _shape(op.result) for op in self.group)
        many = reduces or arrays * now.tile_bytes // 2 > now.cache_bytes
        return now.tiled_operations_of_many if many else now.tiled_operations_of_half

    def tiles_in_use(self) -> int:
        """Returns how many tiles are in use at once."""
        elements, inside = math.prod(self.shape), {op.result for op in self.group}
        last = {value: place for place, op in enumerate(self.group) for value in uses_of(op)}
        full = {value for value in (*last, *inside) if math.prod(_shape(value) or ()) == elements}
        outside = len(full - inside) + len(self.live_out)
        alive = [0] * len(self.group)
        for place, op in enumerate(self.group):
            if op.result in full and op not in self.live_out:
                for at in range(place, last.get(op.result, place) + 1):
                    alive[at] += 1
        return outside + max(alive)

    def build(self) -> list[Op]:
        builder, first = self.builder, self.group[0]
        with builder, builder.at(first.span, first.role):
            inits = [self.initial_value(op) for op in self.live_out]
            self.carried = {op: Value(op.result.type, op.result.name) for op in self.live_out}
            self.after: dict[Op, AnyOperand] = dict(self.carried)
            with builder.block() as ops:
                for op in self.group:
                    with builder.at(op.span, op.role):
                        self.add(op)
            params = (Value(INT, "tile"), self.start, *self.carried.values())
            body = Region(params, tuple(ops), tuple(self.after[op] for op in self.live_out))
            loop = builder.loop((0, self.shape[0], self.rows), inits, (), body)
        results = tuple(op.result for op in self.live_out)
        return [*builder.ops[:-1], replace(loop, results=(*results, loop.results[-1]))]

    def initial_value(self, op: Op) -> Value:
        """Returns the initial value of a carry: zero for a sum, else an array to fill."""
        type_ = array_type(op.result)
        if _is_total(op):
            return full(shape=type_.shape, dtype=type_.dtype, value=0)
        init = self.builder.make(empty, (), {"shape": type_.shape, "dtype": type_.dtype})
        init.name = composed(op.result.name, "whole")
        return init

    def tile_of(self, operand: AnyOperand, shape: Sequence[int]) -> AnyOperand:
        """Returns the tile of an operand, or the operand if every tile reads the same."""
        if not isinstance(operand, Value) or not _has_tiles(operand, shape):
            return operand
        if operand not in self.tiles:
            self.tiles[operand] = self.take_tile(operand)
        return self.tiles[operand]

    def take_tile(self, array: Value) -> Value:
        return self.builder.make(tile_view, (array, self.start), {"rows": self.rows})

    def add(self, op: Op) -> None:
        """Adds an operation of the group, on tiles."""
        if _is_total(op):
            shape = _shape(op.operands[0]) or ()
            factors = [self.tile_of(operand, shape) for operand in op.operands]
            total = self.builder.make(op.opdef, factors, op.attrs)
            self.after[op] = add(self.carried[op], total)
            return
        shape = _worked_on(op) or ()
        operands = tuple(self.tile_of(operand, shape) for operand in op.operands)
        if op not in self.carried:
            result = self.builder.make(op.opdef, operands, op.attrs)
        else:
            result = self.computed_into_tile(op, operands)
            self.after[op] = self.builder.make(after_write, (result, self.carried[op]), {})
        result.name = op.result.name
        self.tiles[op.result] = result

    def computed_into_tile(self, op: Op, operands: Sequence[AnyOperand]) -> Value:
        """Computes the result in a tile of the array to fill; several calls need a copy."""
        calls, target = calls_of(op), self.take_tile(self.carried[op])
        if len(calls) == 1:
            given = [operands[a.place] if isinstance(a, Operand) else a for a in calls[0].arguments]
            return self.builder.make(compute_into, (*given, target), {"text": calls[0].text})
        computed = self.builder.make(op.opdef, operands, op.attrs)
        return self.builder.make(
            compute_into, (computed, target), {"text": "np.maximum({0}, {0}, out={1})"}
        )


@dataclass(frozen=True)
class _Fill:
    """The operation of a loop, at ``place``, that fills a tile or row of a carried array.

    kind    "tile_view" for a tile, "index" for a row
    start   the number of the tile or row
    view    the operation that takes the tile or row of the array, if there is one
    """

    place: int
    kind: str
    start: AnyOperand
    view: Op | None

    def is_of_same_rows(self, taken: Op) -> bool:
        """True if ``taken`` is the same tile or row, of another array."""
        alike = taken.name == self.kind and taken.operands[1] is self.start
        return alike and (self.view is None or taken.attrs == self.view.attrs)


def consumed_arrays(loop: Loop, carry: int, aliases: Mapping[Value, AliasSet]) -> list[Value]:
    """Returns the arrays whose memory a loop may fill with the array that it carries.

    Of each of them the loop reads only the tile, or row, that it fills next.
    """
    param = loop.carry_params[carry]
    takes = [
        op for op in loop.body.ops if op.name == "tile_view" or op.name == "index" and is_row(op)
    ]
    fill = _fill_of(loop, param, takes)
    if fill is None:
        return []
    same = [op for op in takes if fill.is_of_same_rows(op)]
    by_position = fill.start is loop.position
    rows = dict(zip(loop.read_params, loop.reads)) if by_position else {}
    still_read = _read_otherwise(loop, fill, same, {*(op.result for op in takes), *rows})
    still_read.update(v for v in (() if rows else loop.reads) if isinstance(v, Value))
    locations = NONE.union(*(aliases.get(value, NONE) for value in still_read))
    arrays = (*(op.operands[0] for op in same), *rows.values())
    return [
        array
        for array in arrays
        if isinstance(array, Value)
        and array is not param
        and aliases.get(array, NONE)
        and aliases[array].isdisjoint(locations)
    ]


def _fill_of(loop: Loop, param: Value, takes: Sequence[Op]) -> _Fill | None:
    """Returns how ``loop`` fills the array ``param``, a tile or row per iteration, or None."""
    view = next((op for op in takes if op.operands[0] is param), None)
    for place, op in enumerate(loop.body.ops):
        if view is None:
            fills = op.name == "set_item" and is_row(op) and op.operands[0] is param
        else:
            fills = view.result in op.operands
        if fills:
            kind, start = (
                ("index", op.operands[2]) if view is None else (view.name, view.operands[1])
            )
            each_once = start is loop.position or start is loop.index and loop.stride
            return _Fill(place, kind, start, view) if each_once else None
    return None


def _read_otherwise(loop: Loop, fill: _Fill, same: Sequence[Op], views: set[Value]) -> set[Value]:
    """Returns the values that the loop reads in another way, or after the fill.

    ``views`` are tiles and rows; views of these count as such.
    """
    ops = loop.body.ops
    for op in ops:
        if op.opdef.views and op.operands[0] in views:
            views.update(op.results)
    # The call that fills a row may read more than that row.
    late = fill.place + (fill.kind == "tile_view")
    values = {value for op in ops if op not in same for value in uses_of(op)} - views
    values.update(value for op in ops[late:] for value in uses_of(op))
    given = (*loop.bounds, *loop.inits, *loop.body.yields)
    return values | {value for value in given if isinstance(value, Value)}


def _is_barrier(op: Op) -> bool:
    """True if no operation may move after ``op``, which may write to memory that others read."""
    inner = (each for region in op.regions for each in region.walk())
    return any(each.opdef.effect or destination_of(each) is not None for each in (op, *inner))


def _is_small(op: Op, elements: int) -> bool:
    """True if the results of ``op`` are small beside an array of so many elements."""
    sizes = [_shape(result) for result in op.results]
    known, ratio = not op.regions and None not in sizes, costs().waits_for_tiles_ratio
    return known and sum(math.prod(size or ()) for size in sizes) * ratio <= elements


def _is_total(op: Op) -> bool:
    """True if ``op`` is a sum over all tiles with a small result."""
    if op.name not in TOTALS or not (op.attrs["axes"] is None or 0 in op.attrs["axes"]):
        return False
    shape = _shape(op.result)
    return shape is not None and math.prod(shape) * 4 <= costs().tile_bytes


def _worked_on(op: Op) -> tuple[int, ...] | None:
    """Returns the shape on which ``op`` works row by row: of its result, or of a reduced array."""
    if op.name in REDUCTIONS and op.attrs["axes"] and 0 not in op.attrs["axes"]:
        return _shape(op.operands[0])
    return _shape(op.result) if _is_elementwise(op) else None


def _size(op: Op) -> int:
    """Returns the number of elements on which ``op`` works."""
    shape = _shape(op.operands[0]) if op.name in REDUCTIONS else _worked_on(op)
    return math.prod(shape or ())


def _is_elementwise(op: Op) -> bool:
    if op.regions or len(op.results) != 1 or op.opdef.effect or op.opdef.views:
        return False
    if op.opdef.kind == "elementwise" or op.name == "cast":
        return True
    calls = calls_of(op)
    return bool(calls) and all(call.ufunc is not None for call in calls)


def _shape(operand: AnyOperand) -> tuple[int, ...] | None:
    type_ = type_of(operand)
    if not isinstance(type_, ArrayType) or not type_.is_static or type_.dtype == "bfloat16":
        return None
    return type_.static_shape


def _has_tiles(operand: AnyOperand, shape: Sequence[int]) -> bool:
    have = _shape(operand)
    return have is not None and len(have) == len(shape) and have[0] == shape[0]


def _is_broadcast(operand: AnyOperand, shape: Sequence[int]) -> bool:
    """True if every tile reads the same ``operand``."""
    if not isinstance(type_of(operand), ArrayType):
        return True
    have = _shape(operand)
    return have is not None and (len(have) < len(shape) or have[0] == 1)


def _is_large(shape: Sequence[int]) -> bool:
    """True if a single-precision array of this shape has many tiles."""
    return math.prod(shape) * 4 >= costs().full_tiles * costs().tile_bytes


def _tile_rows(shape: Sequence[int], type_: Type, arrays: int = 1) -> int | None:
    """Returns the rows of a tile, so many of which are in use at once.

    It is the largest fitting divisor of the first axis, or None if there is none.
    """
    if not isinstance(type_, ArrayType) or type_.dtype is None:
        return None
    row = math.prod(shape[1:]) * 4
    largest = costs().tile_bytes if _is_large(shape) else costs().tile_bytes // 2
    tile = largest
    if shape[0] * row < costs().least_tiles * largest or item_size(type_.dtype) > 8:
        return None
    while tile * arrays > costs().cache_bytes and tile > costs().smallest_tile_bytes:
        tile //= 2
    while tile <= largest:
        most = tile // row
        for rows in range(most, most // costs().divisor_search_ratio, -1):
            if shape[0] % rows == 0:
                return rows
        tile *= 2
    return None
