"""Turns a scatter-add into a store where the regions written are disjoint.

The cotangents of the parts of an array are added into one array of zeros, each in its place. A
place that no other part reaches still holds zeros, so the part is stored there. The array may be
transposed afterwards, as where ``q, k, v`` are parts of a transposed product. Then the parts go
into an array of the final order, and no transpose has to be copied.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> from autodiff_compiler.passes.simplify.dce import dce
>>> before = parse_function('''
... func @f(%a: f32[3], %b: f32[3]) -> (f32[3,2]) {
...   %z: f32[2,3] = scatter %a {index=(0,), shape=(2, 3)}
...   %s: f32[2,3] = add_at %z, %b {index=(1,)}
...   %t: f32[3,2] = transpose %s {perm=(1, 0)}
...   return %t
... }
... ''')
>>> print(print_function(dce(write_disjoint_parts(before))), end='')
func @f(%a: f32[3], %b: f32[3]) -> (f32[3,2]) {
  %z: f32[3,2] = scatter %a {index=(('slice', None, None, None), 0), shape=(3, 2)}
  %t: f32[3,2] = set_item %z, %b {index=(('slice', None, None, None), 1)}
  return %t
}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autodiff_compiler.analysis.index_boxes import are_disjoint, padded_index, written_box
from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Value, type_of
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.operators.core.declare import shape_of_type
from autodiff_compiler.operators.core.index_patterns import may_repeat_positions
from autodiff_compiler.operators.indexing.indexing import add_at, scatter, set_item, subtract_at
from autodiff_compiler.passes.core.patterns import Match, Rule, RuleSet

PLACING = ("add_at", "set_item")


def _chain(match: Match, array: AnyOperand) -> list[Op]:
    """Returns the operations that write parts into zeros to make ``array``, the last one first.

    Returns none if any other operation is among them, or too many are.
    """
    chain: list[Op] = []
    while len(chain) < costs().compared_operations_of_chain:
        maker = match.makers.get(array) if isinstance(array, Value) else None
        if maker is None or maker.name not in (*PLACING, "scatter") or written_box(maker) is None:
            return []
        chain.append(maker)
        if maker.name == "scatter":
            return chain
        array = maker.operands[0]
    return []


def _stored(match: Match) -> Any:
    """Returns a store for an addition to a region that holds zeros."""
    array, part = match.operands[:2]
    box, chain = written_box(match.op), _chain(match, array)
    if box is None or not chain or not _have_one_dtype(array, part):
        return None
    if not all(are_disjoint(box, written_box(other) or ()) for other in chain):
        return None
    return set_item(array, part, index=match.op.attrs["index"])


def _subtracted(match: Match) -> Any:
    """Returns ``subtract_at(array, v)`` for ``add_at(array, -v)``.

    Of two parts added into zeros the one without a sign goes first: addition commutes.
    """
    array, part, *rest = match.operands
    positive, index = match.without_sign(part), match.op.attrs["index"]
    if positive is not ... and match.uses.get(part) == 1:
        if may_repeat_positions(index, [type_of(operand) for operand in rest]):
            return None
        return subtract_at(array, positive, *rest, index=index)
    zeros, box = match.made_by(array, "scatter"), written_box(match.op)
    if zeros is None or box is None or written_box(zeros) is None or match.uses.get(array) != 1:
        return None
    signed = zeros.operands[0]
    negative = match.argument_of(signed, "neg")
    if negative is ... or not _have_one_dtype(array, part) or match.uses.get(signed) != 1:
        return None
    scattered = scatter(part, index=index, shape=zeros.attrs["shape"])
    scattered.name, scattered.has_user_name = array.name, array.has_user_name
    return subtract_at(scattered, negative, index=zeros.attrs["index"])


def _have_one_dtype(array: AnyOperand, part: AnyOperand) -> bool:
    return getattr(type_of(part), "dtype", None) == getattr(type_of(array), "dtype", ...)


def _transposed(match: Match) -> Any:
    """Zeros of the transposed order, with transposed parts, for a transpose of zeros with parts."""
    array, rank = match.operands[0], len(shape_of_type(match.op.result.type) or ())
    chain = _chain(match, array)
    if not chain or any(match.uses.get(op.result) != 1 for op in chain):
        return None
    perm = tuple(axis % rank for axis in match.op.attrs.get("perm", ()))
    perm = perm or (*range(rank - 2), rank - 1, rank - 2)
    parts = [_transposed_part(op, perm) for op in chain]
    if None in parts:
        return None
    assembled: Any = None
    for op, part in zip(reversed(chain), reversed(parts)):
        index = tuple(padded_index(op.attrs["index"], rank)[axis] for axis in perm)
        if op.name == "scatter":
            shape = tuple(op.attrs["shape"][axis] for axis in perm)
            assembled = scatter(part, index=index, shape=shape)
        else:
            assembled = (add_at if op.name == "add_at" else set_item)(assembled, part, index=index)
        assembled.name, assembled.has_user_name = op.result.name, op.result.has_user_name
    return assembled


def _transposed_part(op: Op, perm: Sequence[int]) -> Any:
    """Returns the part that ``op`` writes, with its axes in the order of ``perm``.

    Returns None for a part that is broadcast.
    """
    part = op.operands[0 if op.name == "scatter" else 1]
    index = padded_index(op.attrs["index"], len(perm))
    axes = [axis for axis, item in enumerate(index) if type(item) is not int]
    order = tuple(axes.index(axis) for axis in perm if axis in axes)
    if not isinstance(part, Value) or getattr(part, "ndim", None) != len(axes):
        return None
    return part if order == (*range(len(order)),) else OPERATORS["transpose"](part, perm=order)


RULES = RuleSet(
    (
        Rule("stored into zeros", "add_at", _stored),
        Rule("subtracted", "add_at", _subtracted),
        Rule("transposed", "transpose", _transposed),
        Rule("swapped", "swap_last_axes", _transposed),
    )
)


def write_disjoint_parts(function: Function) -> Function:
    """Stores parts into zeros where ``function`` adds them, and in the order of axes wanted.

    A part that has a sign is subtracted.
    """
    if function.op_names.isdisjoint(("scatter", "add_at")):
        return function
    return RULES.rewrite(function)
