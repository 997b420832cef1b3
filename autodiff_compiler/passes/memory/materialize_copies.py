"""What a reshape has to copy is laid out where memory is.

The windows of an image overlap, so a reshape to columns copies them: into new memory, several times
the image, in each call. As an array that is filled it can lie in a work array (``assign_buffers``),
and backward has the memory for its own columns. So it is with axes that a transpose took apart,
such as those of the heads of an attention, and with an array of another dtype.

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
  %into_t: f32[9,2,2999] = into %t, %c_reshaped {text='np.copyto({1}, {0})'}
  %c.1: f32[18,2999] = filled %into_t, %c
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
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, type_of
from autodiff_compiler.ir.rewrite import Producers
from autodiff_compiler.ir.types import ArrayType, Type, size_of
from autodiff_compiler.operators.core.structure import reshape
from autodiff_compiler.operators.destination_ops import empty, filled, into
from autodiff_compiler.passes.core.traversal import rewrite_named

TURNS = ("transpose", "swap_last_axes")


def materialize_copies(function: Function) -> Function:
    """``function`` with large columns of windows, and of axes that were apart, in arrays that are
    filled."""
    makers: dict[AnyOperand, Op] = {}

    def visit(op: Op) -> Sequence[Op]:
        for result in op.results:
            makers[result] = op
        copies = _copies(op, makers) if op.name == "reshape" else _converts(op)
        return _filled(op) if copies else (op,)

    if function.op_names.isdisjoint((*TURNS, "cast")):
        return function
    return rewrite_named(function, ("windows", *TURNS, "reshape", "cast"), visit)


def _converts(op: Op) -> bool:
    """Whether ``op`` makes a large array of another dtype of the same kind, or a wider one."""
    source, made = op.types[:1], op.result.type
    if op.name != "cast" or len(op.operands) != 1 or size_of(made) < costs().large_bytes:
        return False
    (x,) = source
    if not isinstance(x, ArrayType) or not isinstance(made, ArrayType) or x.shape != made.shape:
        return False
    if x.dtype is None or made.dtype is None or x.dtype == made.dtype:
        return False
    if "bfloat16" in (x.dtype, made.dtype):
        return False
    return np.can_cast(np.dtype(x.dtype), np.dtype(made.dtype), "same_kind")


def _copies(op: Op, makers: Producers) -> bool:
    """Whether ``op`` is a large array of windows that overlap, or of other axes that do not follow
    one another in memory."""
    turned = makers.get(op.operands[0]) if len(op.operands) == 1 else None
    if turned is None or turned.name not in TURNS or size_of(op.result.type) < costs().large_bytes:
        return False
    made = makers.get(turned.operands[0])
    if made is not None and made.name == "windows":
        return size_of(op.result.type) > size_of(made.types[0]) > 0
    return _splits(turned, op.result.type)


def _splits(turn: Op, type_: Type) -> bool:
    """Whether what ``turn`` shows of an array in the order of memory is no array of this type.

    Axes that follow one another in memory are one run; a reshape that is a view may part runs, but
    none of its axes reaches from one run into the next.
    """
    shape, wanted = (getattr(each, "shape", None) for each in (turn.types[0], type_))
    if shape is None or wanted is None or None in (*shape, *wanted):
        return False
    rank = len(shape)
    runs: list[int] = []
    begins = -1
    for axis in turn.attrs.get("perm", (*range(rank - 2), rank - 1, rank - 2)):
        step = math.prod(shape[axis + 1 :])
        if shape[axis] != 1:
            joins = runs and begins == step * shape[axis]
            runs.append(runs.pop() * shape[axis] if joins else shape[axis])
            begins = step
    return not {*accumulate(runs, mul)} <= {*accumulate(wanted, mul)}


def _filled(op: Op) -> Sequence[Op]:
    source, type_, builder = op.operands[0], op.result.type, Builder()
    inner = type_of(source)
    assert isinstance(type_, ArrayType) and isinstance(inner, ArrayType)
    with builder, builder.at(op.span, op.role):
        whole = empty(shape=type_.shape, dtype=type_.dtype)
        whole.name, whole.has_user_name = op.result.name, op.result.has_user_name
        place = whole if inner.shape == type_.shape else reshape(whole, shape=inner.shape)
        part = into(source, place, text="np.copyto({1}, {0})")
        builder.make(filled, (part, whole), {})
    return [*builder.ops[:-1], replace(builder.ops[-1], results=op.results)]
