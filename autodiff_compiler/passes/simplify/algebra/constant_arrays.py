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

from autodiff_compiler.ir.nodes import array_type, type_of
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.types import FLOAT, INT, ArrayType, is_floating
from autodiff_compiler.passes.core.patterns import Match, Rule


def _reshaped_full(match: Match) -> Any:
    """Returns ``full`` of the final shape for a reshape, transpose or broadcast of ``full``."""
    maker, type_ = match.made_by(match.operands[0], "full"), match.op.result.type
    if maker is None or not isinstance(type_, ArrayType) or not type_.is_static:
        return None
    return OPERATORS["full"](shape=type_.shape, dtype=type_.dtype, value=maker.attrs["value"])


def _negative_full(match: Match) -> Any:
    """Returns ``full`` of ``-number`` for the negative of an array filled with the number."""
    value, type_ = match.fill_value(match.operands[0]), match.op.result.type
    if type(value) not in (int, float) or value == 0 or not is_floating(type_):
        return None
    if not isinstance(type_, ArrayType) or not type_.is_static:
        return None
    return OPERATORS["full"](shape=type_.shape, dtype=type_.dtype, value=-value)


def _full_in_product(match: Match) -> Any:
    """Returns ``(value * x) * y`` for ``(full * x) * y`` of a Python number x, and ``-(value * x) *
    y`` for ``-(full * x) * y``, if y has the type of the result.

    In a derivative, ``full`` is the sensitivity, and x a factor of it.
    """
    type_ = match.op.result.type
    for product, y in (match.operands, match.operands[::-1]):
        if type_of(y) != type_ or not isinstance(type_, ArrayType):
            continue
        positive = match.argument_of(product, "neg")
        scaled = _scaled_number(match, product if positive is ... else positive, type_)
        if scaled is not None:
            return (scaled if positive is ... else -scaled) * y
    return None


def _scaled_number(match: Match, product: Any, type_: ArrayType) -> Any:
    """Returns ``value * x`` for ``full * x`` of a Python number x, if that changes no bit."""
    maker = match.made_by(product, "mul")
    for filled, x in (maker.operands, maker.operands[::-1]) if maker else ():
        value, kind = match.fill_value(filled), type_of(x)
        if type(value) not in (int, float) or kind not in (FLOAT, INT):
            continue
        have = array_type(filled)
        if have.dtype != type_.dtype or have.shape != () and not type_.is_static:
            continue
        if value == 1:
            return x
        # In a narrower dtype, value * x would be rounded later.
        if kind == FLOAT and type_.dtype == "float64":
            return value * x
    return None


def _zeros_of_list(match: Match) -> Any:
    """Returns a list of zeros for ``list_zeros`` of a known list.

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
    Rule("negative full", "neg", _negative_full),
    Rule("full in a product", "mul", _full_in_product),
    Rule("zeros of a list", "list_zeros", _zeros_of_list),
    Rule("expanded full", "expand_dims", _reshaped_full),
)
