"""Rules for arrays filled with one number that are reshaped, broadcast or converted.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> from autodiff_compiler.passes.simplify.algebra.simplify_algebra import simplify_algebra
>>> from autodiff_compiler.passes.simplify.dce import dce
>>> before = parse_function('''
... func @f() -> (f32[3,2]) {
...   %a: f32[6] = full {dtype='float32', shape=(6,), value=1}
...   %b: f32[3,2] = reshape %a {shape=(3, 2)}
...   return %b
... }
... ''')
>>> print(print_function(dce(simplify_algebra(before))), end='')
func @f() -> (f32[3,2]) {
  %b: f32[3,2] = full {dtype='float32', shape=(3, 2), value=1}
  return %b
}
"""

from __future__ import annotations

from typing import Any

from autodiff_compiler.ir.nodes import type_of
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.passes.core.patterns import Match, Rule


def _reshaped_full(match: Match) -> Any:
    """``full`` of the final shape for a reshape, transpose or broadcast of ``full``."""
    maker, type_ = match.made_by(match.operands[0], "full"), match.op.result.type
    if maker is None or not isinstance(type_, ArrayType) or not type_.is_static:
        return None
    return OPERATORS["full"](shape=type_.shape, dtype=type_.dtype, value=maker.attrs["value"])


def _zeros_of_list(match: Match) -> Any:
    """A list of zeros for ``list_zeros`` of a known list.

    It needs no loop, and a loop may fill an array in its place.
    """
    maker = match.made_by(match.operands[0], "make_list")
    types: list[Any] = [type_of(item) for item in maker.operands] if maker else []
    if not types or not all(isinstance(each, ArrayType) and each.is_static for each in types):
        return None
    full = OPERATORS["full"]
    return OPERATORS["make_list"](*[full(shape=t.shape, dtype=t.dtype, value=0) for t in types])


def _cast_full(match: Match) -> Any:
    return _reshaped_full(match) if match.fill_value(match.operands[0]) in (0, 1) else None


CONSTANT_ARRAYS = (
    Rule("cast of full", "cast", _cast_full),
    Rule("reshape of full", "reshape", _reshaped_full),
    Rule("broadcast full", "broadcast_to", _reshaped_full),
    Rule("transposed full", "transpose", _reshaped_full),
    Rule("zeros of a list", "list_zeros", _zeros_of_list),
    Rule("expanded full", "expand_dims", _reshaped_full),
)
