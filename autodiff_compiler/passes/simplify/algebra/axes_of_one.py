"""Rules for views that only add or drop axes of length one.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> from autodiff_compiler.passes.simplify.algebra.simplify_algebra import simplify_algebra
>>> from autodiff_compiler.passes.simplify.dce import dce
>>> before = parse_function('''
... func @f(%ct: f32[4,5]) -> (f32[4]) {
...   %s: f32[4,1] = sum %ct {axes=(1,), keepdims=True}
...   %d_x!: f32[4] = scatter %s {index=(('slice', None, None, None), None), shape=(4,)}
...   return %d_x
... }
... ''')
>>> print(print_function(dce(simplify_algebra(before))), end='')
func @f(%ct: f32[4,5]) -> (f32[4]) {
  %d_x!: f32[4] = sum %ct {axes=(1,), keepdims=False}
  return %d_x
}
"""

from __future__ import annotations

from typing import Any

from autodiff_compiler.ir.nodes import type_of
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.types import ArrayType, Shape
from autodiff_compiler.operators.core.index_patterns import FULL, Index, index_shape
from autodiff_compiler.passes.core.patterns import Match, Rule


def _new_axes(match: Match) -> Any:
    """Returns ``expand_dims(x)`` for ``x[:, None]``."""
    (x, *rest), index = match.operands, match.op.attrs["index"]
    type_ = match.op.result.type
    if rest or None not in index or not all(item in (None, FULL, "...") for item in index):
        return None
    if not isinstance(type_, ArrayType) or type_.shape is None:
        return None
    return OPERATORS["expand_dims"](x, axes=_places_of_new_axes(index, len(type_.shape)))


def _places_of_new_axes(index: Index, rank: int) -> tuple[int, ...]:
    """Returns the places of the new axes in the result, which has so many axes.

    >>> _places_of_new_axes((None, "...", None), 4), _places_of_new_axes((FULL, None), 3)
    ((0, 3), (1,))
    """
    if "..." not in index:
        index = (*index, "...")
    middle = index.index("...")
    behind = len(index) - middle - 1
    front = [place for place in range(middle) if index[place] is None]
    back = [rank - behind + k for k, item in enumerate(index[middle + 1 :]) if item is None]
    return (*front, *back)


def _scattered_whole(match: Match) -> Any:
    """Returns ``reshape(v)`` for zeros of which every element is written."""
    (v, *rest), (index, shape) = match.operands, (match.op.attrs[k] for k in ("index", "shape"))
    if rest or not _covers(index, shape) or array_shape(v) != index_shape(shape, index, ()):
        return None
    if match.op.result.type != ArrayType(getattr(v.type, "dtype", None), shape):
        return None
    return OPERATORS["reshape"](v, shape=shape)


def _covers(index: Index, shape: Shape) -> bool:
    """True if an index of numbers and full slices selects every element of arrays of a shape."""
    if shape is None or None in shape or any(isinstance(dim, str) for dim in shape):
        return False
    if not all(item in (None, FULL, "...") or type(item) is int for item in index):
        return False
    behind = index[index.index("...") + 1 :] if "..." in index else ()
    before = index[: index.index("...")] if "..." in index else index
    numbers = [item for item in before if item is not None]
    pairs = list(zip(numbers, shape))
    numbers = [item for item in behind if item is not None]
    pairs += zip(reversed(numbers), reversed(shape))
    return all(dim == 1 for item, dim in pairs if type(item) is int)


def _dropped_again(match: Match) -> Any:
    """Returns ``x`` for ``expand_dims(x)[..., 0]``."""
    (expanded, *rest), index = match.operands, match.op.attrs["index"]
    inner = match.argument_of(expanded, "expand_dims")
    if rest or inner is ... or not _covers(index, array_shape(expanded)):
        return None
    type_ = match.op.result.type
    return inner if type_of(inner) == type_ and getattr(type_, "is_static", False) else None


def _reshaped_sum(match: Match) -> Any:
    """Returns a sum without its axes for the reshape of a sum that keeps them."""
    maker, type_ = match.made_by(match.operands[0], "sum"), match.op.result.type
    if maker is None or not maker.attrs["keepdims"] or match.uses.get(maker.result) != 1:
        return None
    if not isinstance(type_, ArrayType) or not type_.is_static or len(match.operands) > 1:
        return None
    total = maker.opdef(*maker.operands, **{**maker.attrs, "keepdims": False})
    return total if total.type == type_ else None


def array_shape(operand: Any) -> Shape:
    """Returns the shape of an operand, None if it is unknown or no array."""
    return getattr(type_of(operand), "shape", None)


AXES_OF_ONE = (
    Rule("index of new axes", "index", _new_axes),
    Rule("new axes dropped", "index", _dropped_again),
    Rule("scattered whole", "scatter", _scattered_whole),
    *(Rule(f"sum, {name}", name, _reshaped_sum) for name in ("reshape", "squeeze")),
)
