"""Rows for elements that are moved, not changed: ``simplify_algebra`` applies them.

What is done to each element may be done before it is moved: then it happens where the elements are,
in the order in which they lie in memory, and moves meet that undo each other.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> from autodiff_compiler.passes.simplify.algebra.simplify_algebra import simplify_algebra
>>> from autodiff_compiler.passes.simplify.dce import dce
>>> before = parse_function('''
... func @f(%x: f32[8,9]) -> (f32[]) {
...   %t: f32[9,8] = transpose %x {perm=(1, 0)}
...   %p: f32[9,8] = mul %t, %t
...   %s!: f32[] = sum %p {axes=None, keepdims=False}
...   return %s
... }
... ''')
>>> print(print_function(dce(simplify_algebra(before))), end='')
func @f(%x: f32[8,9]) -> (f32[]) {
  %x_times_x: f32[8,9] = mul %x, %x
  %s!: f32[] = sum %x_times_x {axes=None, keepdims=False}
  return %s
}
"""

from __future__ import annotations

from typing import Any

from autodiff_compiler.ir.nodes import AnyOperand, Op, Value
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.passes.core.patterns import Match, Rule


def _largest_of_relu(match: Match) -> Any:
    """The largest of ``relu(x)`` is relu of the largest: so many elements fewer. The winner is the
    same, or nobody, as nothing below 0 has a slope."""
    x: Any = match.operands[0]
    moves: list[Op] = []
    while (move := _moved(match, x)) is not None:
        x, moves = move.operands[0], [move, *moves]
    maker = match.made_by(x, "relu")
    if maker is None or match.uses.get(maker.result) != 1:
        return None
    x = maker.operands[0]
    for move in moves:
        x = move.opdef(x, **move.attrs)
    return OPERATORS["relu"](_named(match, OPERATORS["window_max"](x, **match.op.attrs)))


def _moved(match: Match, x: AnyOperand) -> Op | None:
    """What moved the elements of ``x``, and nothing else reads that."""
    reads = match.operands.count(x)
    for name in ("transpose", "reshape"):
        maker = match.made_by(x, name)
        if maker is not None and len(maker.operands) == 1 and match.uses.get(maker.result) == reads:
            return maker
    return None


def _moved_after(match: Match) -> Any:
    """``f(x.T)`` as ``f(x).T``: a view after the arithmetic, which then may happen in place."""
    maker = _moved(match, match.operands[0])
    if maker is None:
        return None
    return maker.opdef(_named(match, match.op.opdef(maker.operands[0])), **maker.attrs)


def _sum_of_moved_squares(match: Match) -> Any:
    """The squares of all elements have one sum wherever they stand; where memory is not in their
    order, ``np.vdot`` would copy them."""
    x, attrs = match.operands[0], match.op.attrs
    square = match.made_by(x, "mul") or match.made_by(x, "pow") or match.made_by(x, "square")
    if attrs["axes"] is not None or attrs["keepdims"] or square is None or match.uses.get(x) != 1:
        return None
    base, *rest = square.operands
    maker = _moved(Match(square, match.makers, match.uses), base)
    if maker is None or any(isinstance(other, Value) and other is not base for other in rest):
        return None
    operands = (maker.operands[0] if operand is base else operand for operand in square.operands)
    return match.op.opdef(square.opdef(*operands, **square.attrs), **attrs)


def _named(match: Match, value: Value) -> Value:
    """``value`` under the name of the result: what is done to it after is not worth one."""
    value.name, value.has_user_name = match.op.result.name, match.op.result.has_user_name
    return value


def _transposed_windows(match: Match) -> Any:
    """Windows of ``x.T`` as windows of ``x``, transposed: then two transposes meet, and images stay
    in the order in which a product of matrices has made them."""
    maker, attrs = match.made_by(match.operands[0], "transpose"), match.op.attrs
    if maker is None or match.uses.get(maker.result) != 1:
        return None
    rank = len(maker.attrs["perm"])
    perm = tuple(axis % rank for axis in maker.attrs["perm"])
    if "axis" in attrs:
        found = match.op.opdef(maker.operands[0], **{**attrs, "axis": perm[attrs["axis"]] - rank})
        return OPERATORS["transpose"](_named(match, found), perm=perm)
    space = len(attrs["size"])
    if perm[-space:] != tuple(range(rank - space, rank)):
        return None
    found = match.op.opdef(maker.operands[0], **attrs)
    return OPERATORS["transpose"](_named(match, found), perm=(*perm, *range(rank, rank + space)))


PERMUTATIONS = (
    *(Rule(f"moved after {name}", name, _moved_after) for name in ("relu", "tanh", "sigmoid")),
    Rule("largest of relu", "window_max", _largest_of_relu),
    *(
        Rule(f"transposed {name}", name, _transposed_windows)
        for name in ("windows", "window_max", "window_sum")
    ),
    Rule("sum of moved squares", "sum", _sum_of_moved_squares),
)
