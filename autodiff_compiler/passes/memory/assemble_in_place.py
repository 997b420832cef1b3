"""Elides concatenations, pads and scatters: computes each part in its slice of the array.

A part that is put among zeros, or beside others, is first an array of its own, and then copied.
Instead the array is allocated first, and the call that computes the part writes to its slice. A
single call must compute the part, and nothing else may read it. Parts that fill the array need no
zeros.

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
  %a: f32[700] = compute_into %x, %z_item {text='np.sin({0}, out={1})'}
  %z.1: f32[1000] = after_write %a, %z
  %z.2: f32[1000] = set_item %z.1, %y {in_place=True, index=(('slice', 700, None, None),)}
  return %z.2
}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

from autodiff_compiler.analysis.index_boxes import are_disjoint, written_box
from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.aliasing import is_row, updates_in_place
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value, array_type
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
from autodiff_compiler.operators.destination_ops import after_write, empty
from autodiff_compiler.operators.indexing.indexing import index, set_item
from autodiff_compiler.passes.core.traversal import with_body, with_ops
from autodiff_compiler.passes.destinations.operation_calls import (
    accepts_destination,
    build_with_destination,
)

#: The operations that begin an array assembled from parts.
STARTS = ("scatter", "pad", "concat")


def assemble_in_place(function: Function, placements: Sequence[Placement] = ()) -> Function:
    """Computes the parts of arrays of ``medium_bytes`` or more in their slices.

    ``placements`` are those of the residuals of a backward function.
    """
    if function.op_names.isdisjoint(STARTS):
        return function
    excluded = _over_slices(function, placements)
    uses = use_counts(function.body)
    return with_body(function, _rewrite_region(function.body, uses, excluded))


def _over_slices(function: Function, placements: Sequence[Placement]) -> set[Value]:
    """Returns the loop-carried arrays that may overlay the slices of an array that the loop reads.

    Their rows are stored as a whole, once all slices of the row were read, and not by parts.
    """
    rows = {
        op.result: placements[op.attrs["key"]].rows
        for op in function.body.ops
        if placements and op.name == "item" and op.operands[0] is function.params[0]
    }
    return {
        param
        for op in function.body.ops
        if op.name == "for"
        for param in Loop(op).carry_params
        for read in Loop(op).reads
        if isinstance(read, Value) and rows.get(read) == param.type != read.type
    }


@dataclass(frozen=True)
class _Slice:
    """A part of an assembly: its value, its index, and the operation that writes it."""

    op: Op
    value: AnyOperand
    index: Index


@dataclass(frozen=True)
class _Assembly:
    """An array assembled from disjoint parts; the number ``around`` fills the rest."""

    parts: tuple[_Slice, ...]
    result: Value
    around: float

    @property
    def type(self) -> ArrayType:
        return array_type(self.result)

    @property
    def is_full(self) -> bool:
        """True if the parts fill the array."""
        shapes = (index_shape(self.type.shape, part.index, ()) for part in self.parts)
        elements = [ArrayType(shape=shape).element_count for shape in shapes if shape is not None]
        return sum(elements) == self.type.element_count


def _rewrite_region(region: Region, uses: UseCounts, excluded: Set[Value]) -> Region:
    makers = producers_among(region.ops)
    replacements: dict[Op, list[Op]] = {}
    for assembly in _assemblies(region, uses):
        calls = [_call_that_makes(part, makers, uses) for part in assembly.parts]
        starts = assembly.parts[0].op
        size = size_of(assembly.type)
        large = starts.name != "concat" and size >= costs().large_bytes
        if any(calls) or large or starts.name == "scatter" and assembly.is_full:
            row = _row_for(assembly, calls, region, uses)
            row = None if row is not None and row.operands[0] in excluded else row
            _assemble(assembly, calls, region, row, replacements)
    ops: list[Op] = []
    for op in region.ops:
        now = map_regions(op, lambda inner: _rewrite_region(inner, uses, excluded))
        ops += replacements.get(op, (now,))
    return with_ops(region, ops)


def _assemblies(region: Region, uses: UseCounts) -> Iterator[_Assembly]:
    """Yields the assemblies of ``medium_bytes`` or more that begin in ``region``."""
    readers = {
        operand: op for op in region.ops for operand in op.operands[:1] if uses.get(operand) == 1
    }
    for op in region.ops:
        assembly = _assembly(op, readers) if op.name in STARTS else None
        if assembly is not None and size_of(assembly.type) >= costs().medium_bytes:
            yield assembly


def _assembly(op: Op, readers: Producers) -> _Assembly | None:
    """Returns the assembly that ``op`` begins, with the parts that are written to it next."""
    type_ = op.result.type
    if not isinstance(type_, ArrayType) or not type_.is_static or not type_.shape:
        return None
    parts, result = _first_parts(op), op.result
    if op.name == "scatter":
        boxes = [written_box(op)]
        for after in _stores_into(result, readers):
            box = written_box(after)
            if box is None or not all(
                other is not None and are_disjoint(box, other) for other in boxes
            ):
                break
            parts.append(_Slice(after, after.operands[1], after.attrs["index"]))
            boxes.append(box)
            result = after.result
    return _Assembly(tuple(parts), result, op.attrs.get("value", 0)) if parts else None


def _stores_into(array: Value, readers: Producers) -> Iterator[Op]:
    """Yields the stores in place that are applied to ``array``, one after the other."""
    after = readers.get(array)
    while after is not None and after.name == "set_item" and after.attrs.get("in_place"):
        yield after
        after = readers.get(after.result)


def _first_parts(op: Op) -> list[_Slice]:
    """Returns the parts that ``op`` itself puts together."""
    if op.name == "scatter":
        box = written_box(op)
        return [] if box is None else [_Slice(op, op.operands[0], op.attrs["index"])]
    if op.name == "pad":
        inner = tuple(
            ("slice", low or None, -high if high else None, None)
            for low, high in op.attrs["widths"]
        )
        return [_Slice(op, op.operands[0], inner)]
    type_ = array_type(op.result)
    if any(array_type(operand).dtype != type_.dtype for operand in op.operands):
        return []
    shape = type_.static_shape
    axis, parts, start = op.attrs["axis"] % len(shape), [], 0
    for operand in op.operands:
        stop = start + array_type(operand).static_shape[axis]
        part = ("slice", start or None, stop if stop < shape[axis] else None, None)
        parts.append(_Slice(op, operand, (*(FULL,) * axis, part)))
        start = stop
    return parts


def _call_that_makes(part: _Slice, makers: Producers, uses: UseCounts) -> Op | None:
    """Returns the single call that makes ``part``, in its type and for no other reader."""
    maker = makers.get(part.value)
    array_type = part.op.result.type
    if maker is None or len(maker.results) != 1 or not isinstance(array_type, ArrayType):
        return None
    if uses.get(maker.result) != 1:
        return None
    place = ArrayType(array_type.dtype, index_shape(array_type.shape, part.index, ()))
    return maker if maker.result.type == place and accepts_destination(maker) else None


def _row_for(
    assembly: _Assembly, calls: Sequence[Op | None], region: Region, uses: UseCounts
) -> Op | None:
    """Returns the operation that stores the assembly as a row of an array, if it may lie there.

    Nothing else in ``region`` may read that array.
    """
    users = [op for op in region.ops if assembly.result in op.operands]
    rows = [op for op in users if is_row(op) and updates_in_place(op)]
    if len(rows) != 1 or len(users) != uses.get(assembly.result) or None in calls:
        return None
    (row,) = rows
    array, item, place = row.operands
    alone = array in region.params and uses.get(array) == 1 and item is assembly.result
    if not alone or place not in region.params or not assembly.is_full:
        return None
    return None if any(updates_in_place(op) for op in users if op is not row) else row


def _assemble(
    assembly: _Assembly,
    calls: Sequence[Op | None],
    region: Region,
    row: Op | None,
    replacements: dict[Op, list[Op]],
) -> None:
    """Enters in ``replacements`` the operations that compute the parts in their slices."""
    order = {op: place for place, op in enumerate(region.ops)}
    steps = sorted(zip(assembly.parts, calls), key=lambda step: order[step[1] or step[0].op])
    array: Value | None = None
    for part, _ in steps:
        replacements.setdefault(part.op, [])
    for part, call in steps:
        builder, at = Builder(), call or part.op
        with builder, builder.at(at.span, at.role):
            if array is None:
                array = _with_result_name(assembly, _allocated(assembly, row))
            if call is None:
                array = set_item(array, part.value, index=part.index)
                builder.ops[-1] = _in_place(builder.ops[-1])
            else:
                written = build_with_destination(builder, call, index(array, index=part.index))
                array = builder.make(after_write, (written, array), {})
            _with_result_name(assembly, array)
        if (part, call) == steps[-1]:
            builder.ops[-1] = replace(builder.ops[-1], results=(assembly.result,))
        replacements[at] = [*replacements.get(at, ()), *builder.ops]
    if row is not None:
        tape, item, _ = row.operands
        replacements[row] = [replace(row, opdef=after_write, operands=(item, tape), attrs={})]


def _allocated(assembly: _Assembly, row: Op | None) -> Value:
    if row is not None:
        return index(row.operands[0], row.operands[2], index=row.attrs["index"])
    shape, dtype = assembly.type.shape, assembly.type.dtype
    if assembly.is_full:
        return empty(shape=shape, dtype=dtype)
    return full(shape=shape, dtype=dtype, value=assembly.around)


def _in_place(op: Op) -> Op:
    return replace(op, attrs={**op.attrs, "in_place": True})


def _with_result_name(assembly: _Assembly, value: Value) -> Value:
    result = assembly.result
    value.name, value.has_user_name = result.name, result.has_user_name
    return value
