"""Turns the implicit copies of reshapes and casts into explicit buffers.

The windows of an image overlap, so that a reshape to columns copies them: each call allocates
several times the memory of the image. As an array that is filled, the copy can lie in a workspace
buffer (``assign_buffers``). Backward can reuse this buffer for its own columns. The same holds for
an array of another dtype. It also holds for axes that a transpose separated, such as the heads of
an attention.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: f32[9,3000]) -> (f32[18,2999]) {
...   %w: f32[9,2999,2] = windows %x {dilation=(1,), size=(2,), stride=(1,)}
...   %t: f32[9,2,2999] = transpose %w {perm=(0, 2, 1)}
...   %c: f32[18,2999] = reshape %t {shape=(18, -1)}
...   return %c
... }
... ''')
>>> print(print_function(materialize_copies(before)), end='')
func @f(%x: f32[9,3000]) -> (f32[18,2999]) {
  %w: f32[9,2999,2] = windows %x {dilation=(1,), size=(2,), stride=(1,)}
  %t: f32[9,2,2999] = transpose %w {perm=(0, 2, 1)}
  %c: f32[18,2999] = empty {dtype='float32', shape=(18, 2999)}
  %c_reshaped: f32[9,2,2999] = reshape %c {shape=(9, 2, 2999)}
  %compute_into_t: f32[9,2,2999] = compute_into %t, %c_reshaped {text='np.copyto({1}, {0})'}
  %c.1: f32[18,2999] = after_write %compute_into_t, %c
  return %c.1
}
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from operator import mul

import numpy as np

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, array_type
from autodiff_compiler.ir.rewrite import Producers
from autodiff_compiler.ir.types import ArrayType, Type, size_of
from autodiff_compiler.operators.core.structure import reshape
from autodiff_compiler.operators.destination_ops import after_write, compute_into, empty
from autodiff_compiler.passes.core.traversal import rewrite_named

#: Views that change the order of axes.
TRANSPOSES = ("transpose", "swap_last_axes")


def materialize_copies(function: Function) -> Function:
    """Fills explicit buffers where large reshapes and casts copy their operand."""
    makers: dict[AnyOperand, Op] = {}

    def visit(op: Op) -> Sequence[Op]:
        for result in op.results:
            makers[result] = op
        copies = _reshape_copies(op, makers) if op.name == "reshape" else _cast_copies(op)
        return _filled_buffer(op) if copies else (op,)

    if function.op_names.isdisjoint((*TRANSPOSES, "cast")):
        return function
    return rewrite_named(function, ("windows", *TRANSPOSES, "reshape", "cast"), visit)


def _cast_copies(op: Op) -> bool:
    """True if ``op`` makes a large array of another dtype of the same kind, or of a wider one."""
    type_ = op.result.type
    if op.name != "cast" or len(op.operands) != 1 or size_of(type_) < costs().large_bytes:
        return False
    (x,) = op.types
    if not isinstance(x, ArrayType) or not isinstance(type_, ArrayType) or x.shape != type_.shape:
        return False
    if x.dtype is None or type_.dtype is None or x.dtype == type_.dtype:
        return False
    if "bfloat16" in (x.dtype, type_.dtype):
        return False
    return np.can_cast(np.dtype(x.dtype), np.dtype(type_.dtype), "same_kind")


def _reshape_copies(op: Op, makers: Producers) -> bool:
    """True if a large ``op`` reshapes overlapping windows, or axes apart from one another."""
    transpose = makers.get(op.operands[0]) if len(op.operands) == 1 else None
    if transpose is None or transpose.name not in TRANSPOSES:
        return False
    if size_of(op.result.type) < costs().large_bytes:
        return False
    maker = makers.get(transpose.operands[0])
    if maker is not None and maker.name == "windows":
        return size_of(op.result.type) > size_of(maker.types[0]) > 0
    return not _is_view(transpose, op.result.type)


def _is_view(transpose: Op, type_: Type) -> bool:
    """True if a reshape of ``transpose`` to this type is a view, or its sizes are unknown.

    Axes that follow one another in memory are one run. A reshape that is a view may split runs.
    None of its axes extends from one run into the next.
    """
    shape, wanted = (getattr(each, "shape", None) for each in (transpose.types[0], type_))
    if shape is None or wanted is None or None in (*shape, *wanted):
        return True
    rank = len(shape)
    runs: list[int] = []
    run_stride = -1
    for axis in transpose.attrs.get("perm", (*range(rank - 2), rank - 1, rank - 2)):
        stride = math.prod(shape[axis + 1 :])
        if shape[axis] != 1:
            joins = runs and run_stride == stride * shape[axis]
            runs.append(runs.pop() * shape[axis] if joins else shape[axis])
            run_stride = stride
    return {*accumulate(runs, mul)} <= {*accumulate(wanted, mul)}


def _filled_buffer(op: Op) -> Sequence[Op]:
    source, builder = op.operands[0], Builder()
    type_, source_type = array_type(op.result), array_type(source)
    with builder, builder.at(op.span, op.role):
        buffer = empty(shape=type_.shape, dtype=type_.dtype)
        buffer.name, buffer.has_user_name = op.result.name, op.result.has_user_name
        alike = source_type.shape == type_.shape
        target = buffer if alike else reshape(buffer, shape=source_type.shape)
        part = compute_into(source, target, text="np.copyto({1}, {0})")
        builder.make(after_write, (part, buffer), {})
    return [*builder.ops[:-1], replace(builder.ops[-1], results=op.results)]
