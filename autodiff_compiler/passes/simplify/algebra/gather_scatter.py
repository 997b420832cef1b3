"""Gather and scatter rules.

A sum with an array that is zero but for some places becomes an addition at these places. If a
gather reads few elements of an arithmetic result, only these are computed.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> from autodiff_compiler.passes.simplify.algebra.simplify_algebra import simplify_algebra
>>> from autodiff_compiler.passes.simplify.dce import dce
>>> before = parse_function('''
... func @f(%x: f32[8,9], %s: f32[8,1], %i: i64[8,1]) -> (f32[8,1]) {
...   %a: f32[8,9] = sub %x, %s
...   %y!: f32[8,1] = take_along %a, %i {axis=1}
...   return %y
... }
... ''')
>>> print(print_function(dce(simplify_algebra(before))), end='')
func @f(%x: f32[8,9], %s: f32[8,1], %i: i64[8,1]) -> (f32[8,1]) {
  %x_taken: f32[8,1] = take_along %x, %i {axis=1}
  %y!: f32[8,1] = sub %x_taken, %s
  return %y
}
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import Value, array_type, type_of
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.types import INT, ArrayType, is_floating
from autodiff_compiler.operators.core.index_patterns import (
    Index,
    is_op,
    may_repeat_positions,
    operands_of,
    shifted,
)
from autodiff_compiler.operators.indexing.concat_and_pad import inner
from autodiff_compiler.operators.indexing.scatter_text import wants_zeros
from autodiff_compiler.operators.reductions.axis_functions import points_once
from autodiff_compiler.passes.core.patterns import Match, Rule, may_move_sign


def _added_at(name: str, match: Match) -> Any:
    """Returns ``add_at(x, v)`` for ``x + scatter(v)``, and for ``x + pad(v)``; likewise for
    differences.
    """
    left, right = match.operands
    is_difference = match.op.name == "sub"
    if is_difference and not is_floating(match.op.result.type):
        return None  # -x may wrap around
    v: Any
    for acc, part in ((left, right), (right, left)):
        maker = match.made_by(part, name)
        if maker is None or not _same_shape(match, acc, part) or match.uses.get(part, 0) != 1:
            continue
        attrs, (v, *rest) = maker.attrs, maker.operands
        if name == "pad":
            index, stays = inner(attrs["widths"]), bool(attrs["value"])
        else:
            index = attrs["index"]
            stays = wants_zeros(type_of(v), list(map(type_of, rest)), index, attrs["shape"])
        if not stays:
            if is_difference:
                acc, v = (acc, -v) if part is right else (-acc, v)
            return OPERATORS["add_at"](acc, v, *rest[: operands_of(index)], index=index)
    return None


def _added_to_zeros(match: Match) -> Any:
    """Returns ``scatter(v)`` for ``add_at(zeros, v)`` at places that may repeat.

    The result of a scatter is known to be a new array in row-major order.
    """
    acc, v, *rest = match.operands
    index, type_ = match.op.attrs["index"], match.op.result.type
    value = match.fill_value(acc)
    zero = type(value) in (int, float) and value == 0 and math.copysign(1, value) > 0
    if (
        not zero
        or not isinstance(v, Value)
        or not isinstance(type_, ArrayType)
        or not type_.is_static
    ):
        return None
    if not may_repeat_positions(index, [type_of(operand) for operand in rest]):
        return None
    return OPERATORS["scatter"](v, *rest, index=index, shape=type_.shape)


def _same_shape(match: Match, acc: Any, part: Any) -> bool:
    """True if ``part`` has the shape of ``acc``, so that neither is broadcast.

    If sizes are unknown, two cotangents that are added have one shape: they belong to one value.
    """
    sizes = getattr(type_of(part), "shape", None)
    if not isinstance(acc, Value) or sizes != getattr(acc.type, "shape", None):
        return False
    return match.op.role == "adjoint" or sizes is not None and None not in sizes


def _added_along(match: Match) -> Any:
    """Returns ``add_along(x, v, i)`` for ``x + put_along(v, i)``."""
    left, right = match.operands
    for acc, added in ((left, right), (right, left)):
        maker = match.made_by(added, "put_along")
        if maker is not None and _same_shape(match, acc, added) and match.uses.get(added, 0) == 1:
            v, i, *_ = maker.operands
            axis = maker.attrs["axis"]
            if acc.type == match.op.result.type and points_once(acc.type, type_of(i), axis):
                return OPERATORS["add_along"](acc, v, i, axis=axis)
    return None


def _gathered_first(match: Match) -> Any:
    """Returns ``f(take_along(x, i))`` for ``take_along(f(x), i)`` of an elementwise f."""
    (x, i), axis = match.operands, match.op.attrs["axis"]
    maker = match.makers.get(x)
    if maker is None or maker.opdef.kind != "elementwise" or not isinstance(i, Value):
        return None
    if not points_once(x.type, i.type, axis):
        return None
    assert isinstance(i.type, ArrayType)
    few = i.type.element_count * costs().gathered_ratio <= math.prod(x.type.shape)
    if match.uses.get(x) != 1 and not few:
        return None
    one = tuple(1 if place == axis % x.ndim else dim for place, dim in enumerate(x.type.shape))
    operands = []
    for operand in maker.operands:
        shape = getattr(type_of(operand), "shape", ())
        if shape == x.type.shape:
            operand = OPERATORS["take_along"](operand, i, axis=axis)
        elif shape not in ((), one):
            return None
        operands.append(operand)
    return maker.opdef(*operands, **maker.attrs)


def _sum_of_put(match: Match) -> Any:
    """Returns ``sum(v)`` for ``sum(put_along(v, i))`` along the axis of the put."""
    maker, axes = match.made_by(match.operands[0], "put_along"), match.op.attrs["axes"]
    rank = getattr(match.op.operands[0], "ndim", None)
    if maker is None or rank is None or axes != (maker.attrs["axis"] % rank,):
        return None
    return match.op.opdef(maker.operands[0], **match.op.attrs)


def _gathered_along(match: Match) -> Any:
    """Returns ``take_along`` for ``x[np.arange(n), i]``, which reads one place of each row."""
    place = _place_of_each_row(match, match.operands[0], match.operands[1:])
    if place is None:
        return None
    i, axis = place
    taken = OPERATORS["take_along"](match.operands[0], i, axis=axis)
    return OPERATORS["reshape"](taken, shape=array_type(match.op.result).shape)


def _added_to_each(match: Match) -> Any:
    """Returns ``add_along`` for ``acc[np.arange(n), i] += v``, one place of each row."""
    acc, v, *rest = match.operands
    place = _place_of_each_row(match, acc, rest)
    if place is None or getattr(type_of(v), "shape", None) != array_type(rest[0]).shape:
        return None
    i, axis = place
    return OPERATORS["add_along"](acc, OPERATORS["expand_dims"](v, axes=(axis,)), i, axis=axis)


def _incremented(match: Match) -> Any:
    """Returns ``x[i] += v`` for ``x[i] = x[i] + v``: its cotangent of x is the cotangent itself."""
    x, value, *rest = match.operands
    maker = match.made_by(value, "add") or match.made_by(value, "sub")
    v: Any
    if maker is None or match.uses.get(value) != 1:
        return None
    if not isinstance(value.type, ArrayType) or value.type.dtype != x.type.dtype:
        return None  # a Python number, or cast when it is written
    sums = (maker.operands, maker.operands[::-1]) if maker.name == "add" else (maker.operands,)
    for read, v in sums:
        taken = match.made_by(read, "index")
        if taken is None or taken.operands != (x, *rest) or type_of(read) != value.type:
            continue
        moves = maker.name == "add" or may_move_sign(v, x.type)
        if moves and taken.attrs["index"] == match.op.attrs["index"]:
            v = v if maker.name == "add" else -v
            return OPERATORS["increment_at"](x, v, *rest, index=match.op.attrs["index"])
    return None


def _stored_in_row(match: Match) -> Any:
    """Returns ``m[i, j] = v`` for ``row = m[i]; row[j] = v; m[i] = row``; likewise for ``+=``."""
    m, value, *rest = match.operands
    inner = match.made_by(value, "set_item") or match.made_by(value, "increment_at")
    if inner is None or match.uses.get(value) != 1:
        return None
    row, v, *more = inner.operands
    taken, index = match.made_by(row, "index"), match.op.attrs["index"]
    if taken is None or taken.operands != (m, *rest) or taken.attrs["index"] != index:
        return None
    combined = _combined_index(index, rest, inner.attrs["index"], more)
    if combined is None or type_of(value) != type_of(row):
        return None
    return OPERATORS[inner.name](m, v, *rest, *more, index=combined)


def _read_in_row(match: Match) -> Any:
    """Returns ``m[i, j]`` for ``m[i][j]``."""
    row, *more = match.operands
    taken = match.made_by(row, "index")
    if taken is None or match.uses.get(row) != 1 or type_of(match.op.result) != _number_in(row):
        return None
    m, *rest = taken.operands
    combined = _combined_index(taken.attrs["index"], rest, match.op.attrs["index"], more)
    return None if combined is None else OPERATORS["index"](m, *rest, *more, index=combined)


def _number_in(array: Any) -> ArrayType:
    return ArrayType(array.type.dtype, ())


def _combined_index(
    index: Index, rest: Sequence[Any], inner: Index, more: Sequence[Any]
) -> Index | None:
    """Returns the index of an array that selects ``inner`` of its part at ``index``.

    Returns None unless ``index`` has numbers only.
    """
    if any(type_of(each) != INT for each in (*rest, *more)):
        return None
    if not all(type(item) is int or is_op(item) for item in index):
        return None
    if any(isinstance(item, bool) for item in inner):
        return None
    return (*index, *shifted(inner, len(rest)))


def _place_of_each_row(match: Match, x: Any, rest: Sequence[Any]) -> tuple[Value, int] | None:
    """Returns the places along one axis of a matrix, with the axis.

    Returns None unless the index of the match counts through all of the other axis.
    """
    shape = getattr(type_of(x), "shape", None)
    if match.op.attrs["index"] != (("op", 0), ("op", 1)) or not shape or len(shape) != 2:
        return None
    for axis in (1, 0):
        counted, i = rest[1 - axis], rest[axis]
        maker, type_ = match.made_by(counted, "arange"), type_of(i)
        size = shape[1 - axis]
        if maker is None or maker.attrs["bounds"] != (0, size, 1) or None in shape:
            continue
        if isinstance(type_, ArrayType) and type_.shape == (size,) and type_.dtype != "bool":
            return OPERATORS["expand_dims"](i, axes=(axis,)), axis
    return None


GATHER_SCATTER = (
    Rule("gathered of each row", "index", _gathered_along),
    Rule("added to each row", "add_at", _added_to_each),
    Rule("incremented", "set_item", _incremented),
    Rule("stored in a row", "set_item", _stored_in_row),
    Rule("read in a row", "index", _read_in_row),
    Rule("added to zeros", "add_at", _added_to_zeros),
    Rule("x + scattered", "add", partial(_added_at, "scatter")),
    Rule("x + padded", "add", partial(_added_at, "pad")),
    Rule("x - scattered", "sub", partial(_added_at, "scatter")),
    Rule("x - padded", "sub", partial(_added_at, "pad")),
    Rule("x + put along", "add", _added_along),
    Rule("gathered of arithmetic", "take_along", _gathered_first),
    Rule("sum of put", "sum", _sum_of_put),
)
