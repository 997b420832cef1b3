"""Long rows of elementwise operations on very large arrays, tile by tile.

Operation by operation, an array that no cache holds goes from memory to the machine and back each
time. In tiles the whole row of operations is done on a part that stays in the cache, then on the
next one. What only the row itself needs is never made whole; a sum over the tiles is a sum of
sums, and what is reduced within each row, as in a softmax, is reduced in its tile. Tiles are of
equal size: arrays whose first axis has no fitting divisor are left alone.

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
    %x_part: f32[62500] = part %x, %tile.1 {rows=62500}
    %a: f32[62500] = sin %x_part
    %b_part: f32[62500] = part %b.1, %tile.1 {rows=62500}
    %b.2: f32[62500] = into %a, %x_part, %b_part {text='np.multiply({0}, {1}, out={2})'}
    %b.3: f32[1000000] = filled %b.2, %b.1
    %c: f32[62500] = exp %b.2
    %sum_c: f32[] = sum %c {axes=None, keepdims=False}
    %s_plus_sum_c: f32[] = add %s.1, %sum_c
    yield carry %b.3, %s_plus_sum_c
  }
  return %b, %s
}
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.aliasing import NONE, AliasSet, destination_of, is_row
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value, type_of
from autodiff_compiler.ir.rewrite import uses_of
from autodiff_compiler.ir.types import INT, ArrayType, Type, item_size
from autodiff_compiler.operators.core.structure import full
from autodiff_compiler.operators.destination_ops import empty, filled, into, part
from autodiff_compiler.operators.elementwise.arithmetic import add
from autodiff_compiler.passes.core.traversal import with_body
from autodiff_compiler.passes.destinations.template_calls import Operand, calls_of

#: What adds up tile by tile, and what may be done with the last axes of a tile alone.
TOTALS = ("sum", "dot")
REDUCTIONS = (*TOTALS, "max", "min", "mean")


def tile_elementwise(function: Function) -> Function:
    """``function`` with long rows of elementwise operations in loops over tiles."""
    walk = _FusionGroups(function.body)
    ops = walk.rewritten()
    if not walk.changed:
        return function
    body = function.body
    return with_body(function, Region(body.params, tuple(ops), body.yields))


class _FusionGroups:
    """Collects rows. What stands between two operations of a row and needs neither goes first; what
    needs one, and is small, goes after it."""

    def __init__(self, body: Region):
        self.body, self.changed = body, False
        self.done: list[Op] = []
        self.row: list[Op] = []
        self.made: set[Value] = set()
        self.read_by: dict[Value, list[Op | None]] = {}
        for op in body.ops:
            for value in uses_of(op):
                self.read_by.setdefault(value, []).append(op)
        for returned in body.yields:
            if isinstance(returned, Value):
                self.read_by.setdefault(returned, []).append(None)

    def rewritten(self) -> list[Op]:
        ops = list(self.body.ops)
        while ops:
            ops = self.one_row(ops)
        return self.done

    def one_row(self, ops: Sequence[Op]) -> list[Op]:
        """Finds one row, and says what stands after it. Small results of what the row makes can
        wait until it is done."""
        waiting: list[Op] = []
        late: set[Value] = set()
        rest: list[Op] = []
        for place, op in enumerate(ops):
            read = uses_of(op)
            if late.isdisjoint(read) and self.joins(op):
                self.row.append(op)
                self.made.update(op.results)
            elif self.row and _is_fixed(op):
                rest = list(ops[place:])
                break
            elif self.made.isdisjoint(read) and late.isdisjoint(read):
                self.done.append(op)
            elif self.row and _is_small(op, _size(self.row[0])):
                waiting.append(op)
                late.update(op.results)
            else:
                rest = list(ops[place:])
                break
        self.close()
        return [*waiting, *rest]

    def joins(self, op: Op) -> bool:
        """Whether ``op`` can be done tile by tile, with those of the row so far."""
        if _is_total(op):
            if self.made.isdisjoint(op.operands) or _size(op) != _size(self.row[0]):
                return False
            return all(_is_whole(operand, _shape(op.operands[0]) or ()) for operand in op.operands)
        shape = _worked_on(op)
        if not shape or _shape(op.result) is None:
            return False
        if not self.row:
            fits = _rows(shape, op.result.type) is not None
        else:
            first, size = _worked_on(self.row[0]) or (0,), math.prod(shape)
            fits = shape[0] == first[0] and size <= math.prod(first)
            # What is narrower than the row goes with it where it hangs on it.
            fits = fits and (size == math.prod(first) or not self.made.isdisjoint(uses_of(op)))
        # Of what the row makes there are tiles alone: none meets all of it.
        fits = fits and all(
            _is_whole(operand, shape) or operand not in self.made and _is_broadcast(operand, shape)
            for operand in op.operands
        )
        return fits and {o.result for o in self.row if _is_total(o)}.isdisjoint(uses_of(op))

    def close(self) -> None:
        """Ends the row: a loop if it is long enough."""
        loop = _TiledLoop(self.row, self.read_by) if self.row else None
        if loop is None or loop.length - loop.wholes < loop.least:
            self.done += self.row
        else:
            self.done += loop.build()
            self.changed = True
        self.row, self.made = [], set()


class _TiledLoop:
    """Makes the loop of a row."""

    def __init__(self, row: Sequence[Op], read_by: dict[Value, list[Op | None]]):
        self.row, self.builder = row, Builder()
        self.shape = _worked_on(row[0]) or (0,)
        inside = set(row)
        #: The operations whose results others read.
        self.wanted = [
            op for op in row
            if _is_total(op) or any(r not in inside for r in read_by.get(op.result, ()))
        ]  # fmt: skip
        arrays = self.arrays()
        self.rows = _rows(self.shape, row[0].result.type, arrays) or 0
        reduces = any(op.name in REDUCTIONS and _shape(op.result) for op in row)
        calls = reduces or arrays * costs().tile_bytes // 2 > costs().cache_bytes
        #: By how many its operations must be more than the arrays that it makes whole.
        now, large = costs(), _is_large(self.shape)
        small = now.tiled_operations_of_many if calls else now.tiled_operations_of_half
        self.least = now.tiled_operations if large else small
        whole = math.prod(self.shape)
        self.length = sum(_size(op) == whole for op in row)
        self.wholes = sum(math.prod(_shape(op.result) or ()) == whole for op in self.wanted)
        self.start = Value(INT, "tile")
        self.parts: dict[Value, Value] = {}
        self.views: dict[Value, Value] = {}

    def arrays(self) -> int:
        """How many tiles are in use at once."""
        whole, inside = math.prod(self.shape), {op.result for op in self.row}
        last = {value: place for place, op in enumerate(self.row) for value in uses_of(op)}
        large = [value for value in (*last, *inside) if math.prod(_shape(value) or ()) == whole]
        lent = len({*large} - inside) + len(self.wanted)
        alive = [0] * len(self.row)
        for place, op in enumerate(self.row):
            if op.result in large and op not in self.wanted:
                for at in range(place, last.get(op.result, place) + 1):
                    alive[at] += 1
        return lent + max(alive)

    def build(self) -> list[Op]:
        builder, first = self.builder, self.row[0]
        with builder, builder.at(first.span, first.role):
            inits = [self.init(op) for op in self.wanted]
            self.carried = {op: Value(op.result.type, op.result.name) for op in self.wanted}
            self.after: dict[Op, AnyOperand] = dict(self.carried)
            with builder.block() as ops:
                for op in self.row:
                    with builder.at(op.span, op.role):
                        self.step(op)
            params = (Value(INT, "tile"), self.start, *self.carried.values())
            body = Region(params, tuple(ops), tuple(self.after[op] for op in self.wanted))
            loop = builder.loop((0, self.shape[0], self.rows), inits, (), body)
        results = tuple(op.result for op in self.wanted)
        made = Op(loop.opdef, loop.operands, loop.attrs, (*results, loop.results[-1]), loop.span,
                  loop.role, loop.regions)  # fmt: skip
        return [*builder.ops[:-1], made]

    def init(self, op: Op) -> Value:
        """What a carry begins as: zero for a sum, else an array to fill."""
        type_ = op.result.type
        assert isinstance(type_, ArrayType)
        if _is_total(op):
            return full(shape=type_.shape, dtype=type_.dtype, value=0)
        made = self.builder.make(empty, (), {"shape": type_.shape, "dtype": type_.dtype})
        made.name = f"{op.result.name}_whole" if op.result.name else "whole"
        return made

    def part(self, operand: AnyOperand, shape: Sequence[int]) -> AnyOperand:
        """The tile of an operand, if it has one for each."""
        if not isinstance(operand, Value) or not _is_whole(operand, shape):
            return operand
        if operand not in self.parts:
            self.parts[operand] = self.view(operand)
        return self.parts[operand]

    def view(self, array: Value) -> Value:
        return self.builder.make(part, (array, self.start), {"rows": self.rows})

    def step(self, op: Op) -> None:
        """One operation of the row, on tiles."""
        if _is_total(op):
            shape = _shape(op.operands[0]) or ()
            factors = [self.part(operand, shape) for operand in op.operands]
            total = self.builder.make(op.opdef, factors, op.attrs)
            self.after[op] = add(self.carried[op], total)
            return
        shape = _worked_on(op) or ()
        operands = tuple(self.part(operand, shape) for operand in op.operands)
        if op not in self.carried:
            made = self.builder.make(op.opdef, operands, op.attrs)
        else:
            made = self.written(op, operands)
            self.after[op] = self.builder.make(filled, (made, self.carried[op]), {})
        made.name = op.result.name
        self.parts[op.result] = made

    def written(self, op: Op, operands: Sequence[AnyOperand]) -> Value:
        """The result in a tile of the array to fill; composed texts are copied there."""
        calls, target = calls_of(op), self.view(self.carried[op])
        if len(calls) == 1:
            given = [operands[a.place] if isinstance(a, Operand) else a for a in calls[0].arguments]
            return self.builder.make(into, (*given, target), {"text": calls[0].text})
        made = self.builder.make(op.opdef, operands, op.attrs)
        return self.builder.make(into, (made, target), {"text": "np.maximum({0}, {0}, out={1})"})


def arrays_taken(loop: Loop, carry: int, lies: Mapping[Value, AliasSet]) -> list[Value]:
    """The arrays of which ``loop`` takes the very tile, or row, that it fills of an array it
    carries, and that before, and nothing else of the memory that they are in."""
    ops, param = loop.body.ops, loop.carry_params[carry]
    takes = {op.result: op for op in ops if op.name == "part" or op.name == "index" and is_row(op)}
    own = next((op for op in takes.values() if op.operands[0] is param), None)
    fills = (at for at, op in enumerate(ops) if _fills(op, own, param))
    filled_at = next(fills, None)
    if filled_at is None:
        return []
    fill = ops[filled_at]
    by, start = (own.name, own.operands[1]) if own else ("index", fill.operands[2])
    if start is not loop.position and not (start is loop.index and loop.stride):
        return []
    same = {op for op in takes.values() if op.name == by and op.operands[1] is start
            and (own is None or op.attrs == own.attrs)}  # fmt: skip
    rows = dict(zip(loop.read_params, loop.reads)) if start is loop.position else {}
    views = {*takes, *rows}
    for op in ops:
        views.update(op.results if op.opdef.views and op.operands[0] in views else ())
    late = filled_at + (by == "part")  # a row may be made by what reads more than that row
    spared = {value for op in ops if op not in same for value in uses_of(op)} - views
    spared.update(value for op in ops[late:] for value in uses_of(op))
    given = (*loop.bounds, *loop.inits, *loop.body.yields, *(() if rows else loop.reads))
    spared.update(value for value in given if isinstance(value, Value))
    cells = NONE.union(*(lies.get(value, NONE) for value in spared))
    arrays = (*(op.operands[0] for op in takes.values() if op in same), *rows.values())
    return [array for array in arrays if isinstance(array, Value) and array is not param
            and lies.get(array, NONE) and lies[array].isdisjoint(cells)]  # fmt: skip


def _fills(op: Op, own: Op | None, param: Value) -> bool:
    """Whether ``op`` writes to a tile or row of ``param``, which ``own`` took of it or it sets."""
    if own is not None:
        return own.result in op.operands
    return op.name == "set_item" and is_row(op) and op.operands[0] is param


def _is_fixed(op: Op) -> bool:
    """Whether what stands before ``op`` cannot be done after it: a row may read, as it is now, the
    memory that ``op`` writes to."""
    inner = (each for region in op.regions for each in region.walk())
    return any(each.opdef.effect or destination_of(each) is not None for each in (op, *inner))


def _is_small(op: Op, whole: int) -> bool:
    """Whether ``op`` makes arrays that are small beside one of so many elements."""
    sizes = [_shape(result) for result in op.results]
    known, ratio = not op.regions and None not in sizes, costs().waits_for_tiles_ratio
    return known and sum(math.prod(size or ()) for size in sizes) * ratio <= whole


def _is_total(op: Op) -> bool:
    """Whether ``op`` is a sum, to nothing large, of what is in all tiles."""
    if op.name not in TOTALS or not (op.attrs["axes"] is None or 0 in op.attrs["axes"]):
        return False
    shape = _shape(op.result)
    return shape is not None and math.prod(shape) * 4 <= costs().tile_bytes


def _worked_on(op: Op) -> tuple[int, ...] | None:
    """The shape that ``op`` works on, row by row: of its result, or of what it reduces."""
    if op.name in REDUCTIONS and op.attrs["axes"] and 0 not in op.attrs["axes"]:
        return _shape(op.operands[0])
    return _shape(op.result) if _is_elementwise(op) else None


def _size(op: Op) -> int:
    """How many elements ``op`` works on."""
    return math.prod(_shape(op.operands[0]) if op.name in REDUCTIONS else _worked_on(op) or ())  # type: ignore[arg-type]


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
    return type_.shape  # type: ignore[return-value]


def _is_whole(operand: AnyOperand, shape: Sequence[int]) -> bool:
    have = _shape(operand)
    return have is not None and len(have) == len(shape) and have[0] == shape[0]


def _is_broadcast(operand: AnyOperand, shape: Sequence[int]) -> bool:
    """Whether every tile meets the same ``operand``."""
    if not isinstance(type_of(operand), ArrayType):
        return True
    have = _shape(operand)
    return have is not None and (len(have) < len(shape) or have[0] == 1)


def _is_large(shape: Sequence[int]) -> bool:
    """Whether an array of singles of this shape has many tiles."""
    return math.prod(shape) * 4 >= costs().full_tiles * costs().tile_bytes


def _rows(shape: Sequence[int], type_: Type, arrays: int = 1) -> int | None:
    """The rows of a tile, where so many are in use at once: the largest fitting divisor of the
    first axis."""
    if not isinstance(type_, ArrayType) or type_.dtype is None:
        return None
    row = math.prod(shape[1:]) * 4
    whole = costs().tile_bytes
    largest = tile = whole if _is_large(shape) else whole // 2
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
