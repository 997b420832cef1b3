"""Rules for transposes and other permutations of elements.

An elementwise operation goes before a transpose or reshape. It then works in the order of memory,
and permutations that cancel meet.

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


def _relu_of_largest(match: Match) -> Any:
    """Returns ``relu(window_max(x))`` for ``window_max(relu(x))``, which has fewer elements.

    The maximum is at the same place, or is 0, where relu has no slope.
    """
    x: Any = match.operands[0]
    permutations: list[Op] = []
    while (permutation := _permutation_of(match, x)) is not None:
        x, permutations = permutation.operands[0], [permutation, *permutations]
    maker = match.made_by(x, "relu")
    if maker is None or match.uses.get(maker.result) != 1:
        return None
    x = maker.operands[0]
    for each in permutations:
        x = each.opdef(x, **each.attrs)
    return OPERATORS["relu"](_with_result_name(match, OPERATORS["window_max"](x, **match.op.attrs)))


def _permutation_of(match: Match, x: AnyOperand) -> Op | None:
    """Returns the transpose or reshape that made ``x``, if nothing else reads its result."""
    reads = match.operands.count(x)
    for name in ("transpose", "reshape"):
        maker = match.made_by(x, name)
        if maker is not None and len(maker.operands) == 1 and match.uses.get(maker.result) == reads:
            return maker
    return None


def _permuted_after(match: Match) -> Any:
    """Returns ``f(x).T`` for ``f(x.T)``: the arithmetic before the view may happen in place."""
    maker = _permutation_of(match, match.operands[0])
    if maker is None:
        return None
    return maker.opdef(_with_result_name(match, match.op.opdef(maker.operands[0])), **maker.attrs)


def _sum_of_permuted_squares(match: Match) -> Any:
    """Returns the sum of all squares of x for that of a transpose of x, which ``np.vdot`` would
    copy.
    """
    x, attrs = match.operands[0], match.op.attrs
    square = match.made_by(x, "mul") or match.made_by(x, "pow") or match.made_by(x, "square")
    if attrs["axes"] is not None or attrs["keepdims"] or square is None or match.uses.get(x) != 1:
        return None
    base, *rest = square.operands
    maker = _permutation_of(Match(square, match.makers, match.uses), base)
    if maker is None or any(isinstance(other, Value) and other is not base for other in rest):
        return None
    operands = (maker.operands[0] if operand is base else operand for operand in square.operands)
    return match.op.opdef(square.opdef(*operands, **square.attrs), **attrs)


def _with_result_name(match: Match, value: Value) -> Value:
    """Returns ``value`` under the name of the result, which is a view of it."""
    value.name, value.has_user_name = match.op.result.name, match.op.result.has_user_name
    return value


def _transposed_windows(match: Match) -> Any:
    """Returns transposed windows of ``x`` for windows of ``x.T``.

    Two transposes then meet, and images keep the order in which a matrix product made them.
    """
    maker, attrs = match.made_by(match.operands[0], "transpose"), match.op.attrs
    if maker is None or match.uses.get(maker.result) != 1:
        return None
    rank = len(maker.attrs["perm"])
    perm = tuple(axis % rank for axis in maker.attrs["perm"])
    if "axis" in attrs:
        windows = match.op.opdef(maker.operands[0], **{**attrs, "axis": perm[attrs["axis"]] - rank})
        return OPERATORS["transpose"](_with_result_name(match, windows), perm=perm)
    space = len(attrs["size"])
    if perm[-space:] != tuple(range(rank - space, rank)):
        return None
    windows = match.op.opdef(maker.operands[0], **attrs)
    return OPERATORS["transpose"](
        _with_result_name(match, windows), perm=(*perm, *range(rank, rank + space))
    )


PERMUTATIONS = (
    *(
        Rule(f"permuted after {name}", name, _permuted_after)
        for name in ("relu", "tanh", "sigmoid")
    ),
    Rule("largest of relu", "window_max", _relu_of_largest),
    *(
        Rule(f"transposed {name}", name, _transposed_windows)
        for name in ("windows", "window_max", "window_sum")
    ),
    Rule("sum of permuted squares", "sum", _sum_of_permuted_squares),
)
