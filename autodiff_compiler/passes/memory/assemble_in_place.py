"""Arrays that are put together of parts: each part is made in its place.

A part that is put among zeros, or beside others, is an array of its own first, and copied then.
Where one call makes it and nothing else reads it, that call is told to put it where it belongs, in
an array that is made before. Parts that fill all of it need no zeros.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: f32[700], %y: f32[300]) -> (f32[1000]) {
...   %a: f32[700] = sin %x
...   %z: f32[1000] = concat %a, %y {axis=0}
...   return %z
... }
... ''')
>>> print(print_function(assemble_in_place(before)), end='')
func @f(%x: f32[700], %y: f32[300]) -> (f32[1000]) {
  %z: f32[1000] = empty {dtype='float32', shape=(1000,)}
  %z_item: f32[700] = index %z {index=(('slice', None, 700, None),)}
  %a: f32[700] = into %x, %z_item {text='np.sin({0}, out={1})'}
  %z.1: f32[1000] = filled %a, %z
  %z.2: f32[1000] = set_item %z.1, %y {in_place=True, index=(('slice', 700, None, None),)}
  return %z.2
}
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from autodiff_compiler.analysis.index_boxes import are_disjoint, written_box
from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.aliasing import is_row, updates_in_place
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value, type_of
from autodiff_compiler.ir.rewrite import (
    Producers,
    UseCounts,
    map_regions,
    producers_among,
    use_counts,
)
from autodiff_compiler.ir.types import ArrayType, size_of
from autodiff_compiler.ir.verify.conflicts import Placement
from autodiff_compiler.operators.core.index_patterns import FULL, Index, index_shape
from autodiff_compiler.operators.core.structure import full
from autodiff_compiler.operators.destination_ops import empty, filled
from autodiff_compiler.operators.indexing.indexing import index, set_item
from autodiff_compiler.passes.core.traversal import with_body
from autodiff_compiler.passes.memory.preallocate_tapes import accepts_destination, compute_into

#: What begins an array that is put together.
STARTS = ("scatter", "pad", "concat")


def assemble_in_place(function: Function, kept: Sequence[Placement] = ()) -> Function:
    """``function`` with parts of arrays of ``medium_bytes`` or more made in their place;
    ``kept`` are those of the residuals of a backward half."""
    if function.op_names.isdisjoint(STARTS):
        return function
    spared = _over_lanes(function, kept)
    return with_body(function, _rewritten(function.body, use_counts(function.body), spared))


def _over_lanes(function: Function, kept: Sequence[Placement]) -> set[Value]:
    """The arrays that loops carry and that may lie where lanes do which the loop reads: a row is
    put there once all lanes of that row were read, and not part by part."""
    lanes = {
        op.result: kept[op.attrs["key"]].rows
        for op in function.body.ops
        if kept and op.name == "item" and op.operands[0] is function.params[0]
    }
    return {
        param
        for op in function.body.ops if op.name == "for"
        for param in Loop(op).carry_params
        for read in Loop(op).reads
        if isinstance(read, Value) and lanes.get(read) == param.type != read.type
    }  # fmt: skip


@dataclass(frozen=True)
class _Slice:
    """A value that goes to a place of the whole, and the operation that puts it there."""

    op: Op
    value: AnyOperand
    index: Index


@dataclass(frozen=True)
class _Assembly:
    """An array that is put together of parts, none of which meets another, among one number."""

    parts: tuple[_Slice, ...]
    result: Value
    around: float

    @property
    def type(self) -> ArrayType:
        assert isinstance(self.result.type, ArrayType)
        return self.result.type

    @property
    def is_full(self) -> bool:
        """Whether the parts fill all of it."""
        shapes = (index_shape(self.type.shape, part.index, ()) for part in self.parts)
        elements = [math.prod(shape) for shape in shapes if shape is not None]  # type: ignore[arg-type]
        return sum(elements) == math.prod(self.type.shape)  # type: ignore[arg-type]


def _rewritten(region: Region, uses: UseCounts, spared: Set[Value]) -> Region:
    makers = producers_among(region.ops)
    takers = {
        operand: op for op in region.ops for operand in op.operands[:1] if uses.get(operand) == 1
    }
    instead: dict[Op, list[Op]] = {}
    order = {op: place for place, op in enumerate(region.ops)}
    for op in region.ops:
        whole = _whole(op, takers) if op.name in STARTS and op not in instead else None
        if whole is None or size_of(whole.type) < costs().medium_bytes:
            continue
        told = [_told(part, makers, uses) for part in whole.parts]
        large = op.name != "concat" and size_of(whole.type) >= costs().large_bytes
        if any(told) or large or op.name == "scatter" and whole.is_full:
            row = _row_for(whole, told, region, uses)
            row = None if row is not None and row.operands[0] in spared else row
            _assemble(whole, told, order, instead, row)
    ops: list[Op] = []
    for op in region.ops:
        now = map_regions(op, lambda inner: _rewritten(inner, uses, spared))
        ops += instead.get(op, (now,))
    same = len(ops) == len(region.ops) and all(a is b for a, b in zip(ops, region.ops))
    return region if same else Region(region.params, tuple(ops), region.yields)


def _whole(op: Op, takers: Producers) -> _Assembly | None:
    """What ``op`` begins, with the parts that are written to it next."""
    type_ = op.result.type
    if not isinstance(type_, ArrayType) or not type_.is_static or not type_.shape:
        return None
    parts = _first(op)
    result, boxes = op.result, [written_box(op)] if op.name == "scatter" else []
    after = takers.get(result)
    while op.name == "scatter" and after is not None and after.name == "set_item":
        box = written_box(after)
        if box is None or not after.attrs.get("in_place"):
            break
        if not all(other is not None and are_disjoint(box, other) for other in boxes):
            break
        parts, boxes = (
            [*parts, _Slice(after, after.operands[1], after.attrs["index"])],
            [*boxes, box],
        )
        result = after.result
        after = takers.get(result)
    return _Assembly(tuple(parts), result, op.attrs.get("value", 0)) if parts else None


def _first(op: Op) -> list[_Slice]:
    """The parts that ``op`` itself puts together."""
    if op.name == "scatter":
        return (
            [_Slice(op, op.operands[0], op.attrs["index"])] if written_box(op) is not None else []
        )
    if op.name == "pad":
        inner = [("slice", low or None, -high if high else None, None)
                 for low, high in op.attrs["widths"]]  # fmt: skip
        return [_Slice(op, op.operands[0], tuple(inner))]
    if any(type_.dtype != op.result.type.dtype for type_ in op.types):  # type: ignore[attr-defined]
        return []
    shape = op.result.type.shape  # type: ignore[attr-defined]
    axis, parts, start = op.attrs["axis"] % len(shape), [], 0
    for operand in op.operands:
        stop = start + type_of(operand).shape[axis]  # type: ignore[attr-defined]
        bounds = start or None, stop if stop < shape[axis] else None
        parts.append(_Slice(op, operand, (*(FULL,) * axis, ("slice", *bounds, None))))
        start = stop
    return parts


def _told(part: _Slice, makers: Producers, uses: UseCounts) -> Op | None:
    """The one call that makes ``part``, of just its type and for nobody else."""
    made = makers.get(part.value) if isinstance(part.value, Value) else None
    whole = part.op.result.type
    if made is None or len(made.results) != 1 or not isinstance(whole, ArrayType):
        return None
    if uses.get(made.result) != 1:
        return None
    place = ArrayType(whole.dtype, index_shape(whole.shape, part.index, ()))
    return made if made.result.type == place and accepts_destination(made) else None


def _row_for(
    whole: _Assembly,
    told: list[Op | None],
    region: Region,
    uses: UseCounts,
) -> Op | None:
    """The operation that writes the whole to a row of an array which nothing else in ``region``
    knows of, so that the whole may be made there."""
    users = [op for op in region.ops if whole.result in op.operands]
    rows = [op for op in users if is_row(op) and updates_in_place(op)]
    if len(rows) != 1 or len(users) != uses.get(whole.result) or None in told:
        return None
    (row,) = rows
    array, item, place = row.operands
    alone = array in region.params and uses.get(array) == 1 and item is whole.result
    if not alone or place not in region.params or not whole.is_full:
        return None
    return None if any(updates_in_place(op) for op in users if op is not row) else row


def _assemble(
    whole: _Assembly,
    told: list[Op | None],
    order: Mapping[Op, int],
    instead: dict[Op, list[Op]],
    row: Op | None,
) -> None:
    """Enters in ``instead`` what stands for the operations that make parts and put them there."""
    steps = sorted(zip(whole.parts, told), key=lambda step: order[step[1] or step[0].op])
    array: Value | None = None
    for part, _ in steps:
        instead.setdefault(part.op, [])
    for part, maker in steps:
        builder, at = Builder(), maker or part.op
        with builder, builder.at(at.span, at.role):
            if array is None:
                array = _named(whole, _start(whole, row))
            if maker is None:
                array = set_item(array, part.value, index=part.index)
                builder.ops[-1] = _in_place(builder.ops[-1])
            else:
                made = compute_into(builder, maker, index(array, index=part.index))
                array = builder.make(filled, (made, array), {})
            _named(whole, array)
        if (part, maker) == steps[-1]:
            builder.ops[-1] = replace(builder.ops[-1], results=(whole.result,))
        instead[at] = [*instead.get(at, ()), *builder.ops]
    if row is not None:
        tape, item, _ = row.operands
        instead[row] = [replace(row, opdef=filled, operands=(item, tape), attrs={})]


def _start(whole: _Assembly, row: Op | None) -> Value:
    if row is not None:
        return index(row.operands[0], row.operands[2], index=row.attrs["index"])
    shape, dtype = whole.type.shape, whole.type.dtype
    if whole.is_full:
        return empty(shape=shape, dtype=dtype)
    return full(shape=shape, dtype=dtype, value=whole.around)


def _in_place(op: Op) -> Op:
    return replace(op, attrs={**op.attrs, "in_place": True})


def _named(whole: _Assembly, value: Value) -> Value:
    value.name, value.has_user_name = whole.result.name, whole.result.has_user_name
    return value
