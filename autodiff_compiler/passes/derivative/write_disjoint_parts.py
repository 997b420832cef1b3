"""Parts that are put among zeros: written where nothing is yet, and in the order wanted after.

The cotangents of the parts of an array meet in zeros, each added in its place. A place that no
other part reaches holds zeros still: there the part is simply written. And where the whole is
transposed after, as when ``q, k, v`` were parts of a transposed product, the parts are put into
zeros of that order at once, so that nothing has to be copied into it.

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
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Value, type_of
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.operators.core.declare import shape_of_type
from autodiff_compiler.operators.core.index_patterns import adds_up
from autodiff_compiler.operators.indexing.indexing import add_at, scatter, set_item, sub_at
from autodiff_compiler.passes.core.patterns import Match, Rule, RuleSet

PLACING = ("add_at", "set_item")


def _chain(match: Match, whole: AnyOperand) -> list[Op]:
    """The operations that put parts among zeros to make ``whole``, the last one first; none where
    anything else is in it."""
    found: list[Op] = []
    while True:
        maker = match.makers.get(whole) if isinstance(whole, Value) else None
        if maker is None or maker.name not in (*PLACING, "scatter") or written_box(maker) is None:
            return []
        found.append(maker)
        if maker.name == "scatter":
            return found
        whole = maker.operands[0]


def _written(match: Match) -> Any:
    """What is added where zeros are is written there."""
    whole, part = match.operands[:2]
    box, chain = written_box(match.op), _chain(match, whole)
    same = getattr(type_of(part), "dtype", None) == getattr(type_of(whole), "dtype", ...)
    if box is None or not chain or not same:
        return None
    if not all(are_disjoint(box, written_box(other) or ()) for other in chain):
        return None
    return set_item(whole, part, index=match.op.attrs["index"])


def _taken_away(match: Match) -> Any:
    """``-v``, added at a place, is v taken away there. Of two parts that meet in zeros the one
    without a sign comes first: adding is the same both ways."""
    whole, part, *rest = match.operands
    positive, index = match.without_sign(part), match.op.attrs["index"]
    if positive is not ... and match.uses.get(part) == 1:
        if adds_up(index, [type_of(operand) for operand in rest]):
            return None
        return sub_at(whole, positive, *rest, index=index)
    zeros, box = match.made_by(whole, "scatter"), written_box(match.op)
    if zeros is None or box is None or written_box(zeros) is None or match.uses.get(whole) != 1:
        return None
    signed: Any = zeros.operands[0]
    negative = match.argument_of(signed, "neg")
    same = getattr(type_of(part), "dtype", None) == getattr(type_of(whole), "dtype", ...)
    if negative is ... or not same or match.uses.get(signed) != 1:
        return None
    made = scatter(part, index=index, shape=zeros.attrs["shape"])
    made.name, made.has_user_name = whole.name, whole.has_user_name
    return sub_at(made, negative, index=zeros.attrs["index"])


def _transposed(match: Match) -> Any:
    """Zeros with parts in them, in another order of axes, with the parts in that order."""
    whole, rank = match.operands[0], len(shape_of_type(match.op.result.type) or ())
    chain = _chain(match, whole)
    if not chain or any(match.uses.get(op.result) != 1 for op in chain):
        return None
    perm = tuple(axis % rank for axis in match.op.attrs.get("perm", ()))
    perm = perm or (*range(rank - 2), rank - 1, rank - 2)
    moved = [_moved(op, perm) for op in chain]
    if None in moved:
        return None
    made: Any = None
    for op, part in zip(reversed(chain), reversed(moved)):
        index = tuple(padded_index(op.attrs["index"], rank)[axis] for axis in perm)
        if op.name == "scatter":
            shape = tuple(op.attrs["shape"][axis] for axis in perm)
            made = scatter(part, index=index, shape=shape)
        else:
            made = (add_at if op.name == "add_at" else set_item)(made, part, index=index)
        made.name, made.has_user_name = op.result.name, op.result.has_user_name
    return made


def _moved(op: Op, perm: Sequence[int]) -> Any:
    """The part that ``op`` puts into the whole, its axes in the order of ``perm``."""
    part = op.operands[0 if op.name == "scatter" else 1]
    index = padded_index(op.attrs["index"], len(perm))
    axes = [axis for axis, item in enumerate(index) if type(item) is not int]
    order = tuple(axes.index(axis) for axis in perm if axis in axes)
    if not isinstance(part, Value) or getattr(part, "ndim", None) != len(axes):
        return None  # it is stretched
    return part if order == (*range(len(order)),) else OPERATORS["transpose"](part, perm=order)


RULES = RuleSet(
    (
        Rule("added where zeros are", "add_at", _written),
        Rule("taken away", "add_at", _taken_away),
        Rule("transposed", "transpose", _transposed),
        Rule("swapped", "swap_last_axes", _transposed),
    )
)


def write_disjoint_parts(function: Function) -> Function:
    """``function`` with parts written where nothing else is, in the order wanted."""
    if "scatter" not in function.op_names:
        return function
    return RULES.rewrite(function)
