"""Rules that fold numbers in a derivative: known cotangents, and products with several numbers.

The cotangent of a loss is 1. Its product with known factors is computed at compile time. The
gradient of a mean of squares is therefore ``d_x = x / 3``, not ``1 / 6 * 2.0 * x``.

Results keep their dtype. They keep their bits, too, or become more exact. A product with two
numbers rounds twice, one with their product once. The product of the numbers is exact, or rounded
in double precision. The user's own formulas stay as they are, except where the bits are surely the
same.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> from autodiff_compiler.passes.simplify.algebra.simplify_algebra import simplify_algebra
>>> from autodiff_compiler.passes.simplify.dce import dce
>>> before = parse_function('''
... func @f(%x: f32[6], %s: f32[2]) -> (f32[6], f32[2]) {
...   %one: f32[] = full {dtype='float32', shape=(), value=1}  # adjoint
...   %a: f32[] = div %one, 6                                  # adjoint
...   %b: f32[] = mul %a, 2.0                                  # adjoint
...   %c: f32[6] = mul %b, %x                                  # adjoint
...   %h: f32[2] = mul %s, 0.5                                 # adjoint
...   %k: f32[2] = mul %h, 2.0                                 # adjoint
...   return %c, %k
... }
... ''')
>>> print(print_function(dce(simplify_algebra(before))), end='')
func @f(%x: f32[6], %s: f32[2]) -> (f32[6], f32[2]) {
  %c: f32[6] = div %x, 3                                  # adjoint
  return %c, %s
}
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from autodiff_compiler.ir.nodes import AnyOperand, Op, Value, is_real_literal, type_of
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.types import INT, ArrayType
from autodiff_compiler.operators.core.declare import as_fraction
from autodiff_compiler.passes.core.patterns import Match, Rule

#: The dtypes of folded arrays. Narrower floats would leave their range too soon.
FOLDED = ("float32", "float64")
#: Operations that only change the shape: a number may be multiplied before or after them.
VIEWS = ("reshape", "expand_dims", "broadcast_to")
#: The largest divisor that replaces a product with its reciprocal.
LARGEST_DIVISOR = 2**24


def _dtype(operand: AnyOperand) -> str | None:
    """Returns the dtype of an array of static shape whose numbers are folded, else None."""
    type_ = type_of(operand)
    known = isinstance(type_, ArrayType) and type_.is_static and type_.dtype in FOLDED
    return type_.known_dtype if known and isinstance(type_, ArrayType) else None


def _number(match: Match, operand: AnyOperand) -> Any:
    """Returns the number that an operand is, or is filled with, else None."""
    value = match.fill_value(operand) if isinstance(operand, Value) else operand
    return value if type(value) in (int, float) else None


def _folded_full(match: Match) -> Any:
    """Returns an array filled with the result, for arithmetic on numbers and arrays filled with
    numbers.
    """
    type_, dtype = match.op.result.type, _dtype(match.op.result)
    numbers = [_number(match, operand) for operand in match.operands]
    arrays = [operand for operand in match.operands if isinstance(operand, Value)]
    if dtype is None or None in numbers or any(_dtype(array) != dtype for array in arrays):
        return None
    try:
        folded = float(match.op.opdef.evaluate(*numbers))
    except (ArithmeticError, ValueError):
        return None
    if not _is_normal(folded, dtype):
        return None
    if match.op.role == "primal":
        kind = np.dtype(dtype).type
        if kind(folded) != match.op.opdef.evaluate(*map(kind, numbers)):
            return None
    assert isinstance(type_, ArrayType)
    return OPERATORS["full"](shape=type_.shape, dtype=dtype, value=_plain(folded))


def _plain(number: float) -> float:
    """Returns a whole number as an int, so that it is printed without a point."""
    return int(number) if number.is_integer() and abs(number) < LARGEST_DIVISOR else number


def _is_normal(number: float, dtype: str) -> bool:
    limits = np.finfo(dtype)
    return number == 0 or float(limits.tiny) <= abs(number) <= float(limits.max)


def _scale(op: Op) -> tuple[AnyOperand, Fraction] | None:
    """Returns x and c where ``op`` is x times the number c, or x divided by 1 / c, else None."""
    left, right = op.operands
    if is_real_literal(left) and op.name == "mul":
        left, right = right, left
    if not isinstance(left, Value) or not is_real_literal(right) or isinstance(right, bool):
        return None
    if not np.isfinite(right) or right == 0:
        return None
    return left, Fraction(right) if op.name == "mul" else 1 / Fraction(right)


def _scaled_once(match: Match) -> Any:
    """Returns a single product for two products with numbers in a row, also with views between
    them.
    """
    outer, dtype = _scale(match.op), _dtype(match.op.result)
    if outer is None or dtype is None or match.op.role == "primal":
        return None
    operand, views = outer[0], []
    while True:
        maker = match.makers.get(operand)
        if maker is None or maker.role == "primal" or match.uses.get(operand) != 1:
            return None
        if maker.name in ("mul", "div"):
            break
        if maker.name not in VIEWS or len(maker.operands) != 1:
            return None
        views.append(maker)
        operand = maker.operands[0]
    inner = _scale(maker)
    if inner is None or _dtype(inner[0]) != dtype:
        return None
    x, scale = inner[0], outer[1] * inner[1]
    if not _is_exact(scale, dtype) and not _is_exact(1 / scale, dtype):
        return None
    for view in reversed(views):
        x = view.opdef(x, **view.attrs)
    return _times(x, scale, dtype)


def _is_exact(number: Fraction, dtype: str) -> bool:
    rounded = float(np.dtype(dtype).type(float(number)))
    return np.isfinite(rounded) and Fraction(rounded) == number and _is_normal(rounded, dtype)


def _times(x: Any, scale: Fraction, dtype: str) -> Any:
    """Computes x times an exact number, or divided by one."""
    if abs(scale) == 1:
        return x if scale == 1 else -x
    if scale.numerator == 1 and scale.denominator < LARGEST_DIVISOR:
        return x / scale.denominator
    is_readable = as_fraction(float(scale)) is not None  # 2 / 9 * x, as the chain rule multiplies
    return float(scale) * x if is_readable or _is_exact(scale, dtype) else x / float(1 / scale)


def _sum_of_full(match: Match) -> Any:
    """Returns an array filled with the sums of an array filled with one number."""
    dtype, have, type_ = _dtype(match.op.result), type_of(match.operands[0]), match.op.result.type
    value = match.fill_value(match.operands[0])
    if dtype is None or _dtype(match.operands[0]) != dtype or match.op.role == "primal":
        return None
    assert isinstance(have, ArrayType) and isinstance(type_, ArrayType)
    if type(value) not in (int, float) or not type_.element_count:
        return None
    total = float(value) * (have.element_count // type_.element_count)
    if not _is_normal(total, dtype):
        return None
    return OPERATORS["full"](shape=type_.shape, dtype=dtype, value=_plain(total))


def _divided(match: Match) -> Any:
    """Returns ``x / n`` for ``x`` times ``1 / n``, or times an array filled with it: a rounding
    less.
    """
    dtype = _dtype(match.op.result)
    if dtype is None or match.op.role == "primal":
        return None
    for x, other in (match.operands, match.operands[::-1]):
        value, is_filled = _number(match, other), isinstance(other, Value)
        if type_of(x) != match.op.result.type or type(value) is not float or not 0 < value < 1:
            continue
        divisor = round(1 / value)
        alike = _dtype(other) == dtype if is_filled else as_fraction(value) is not None
        if alike and 1 < divisor < LARGEST_DIVISOR and 1 / divisor == value:
            return x / divisor
    return None


def _scalar_choice(match: Match) -> Any:
    """Returns a number in place of an array filled with it, for a side of ``where`` in a
    derivative.
    """
    condition, *sides = match.operands
    type_ = match.op.result.type
    shape = getattr(type_, "shape", None)
    if match.op.role == "primal" or shape == () or getattr(type_of(condition), "shape", 0) != shape:
        return None
    scalars = [_scalar(match, side, type_) for side in sides]
    if all(new is old for new, old in zip(scalars, sides)):
        return None
    return match.op.opdef(condition, *scalars)


def _scalar(match: Match, side: AnyOperand, type_: Any) -> AnyOperand:
    """Returns ``side``, or an array without axes that is filled with the same number."""
    maker = match.made_by(side, "full")
    dtype = None if type_of(side) != type_ else _dtype(side)
    if maker is None or dtype is None or maker.operands:
        return side
    scalar: AnyOperand = maker.opdef(shape=(), dtype=dtype, value=maker.attrs["value"])
    return scalar


def _divided_by_size(match: Match) -> Any:
    """Returns ``x / n`` for ``x * (1 / n)`` with an array of ones and a size n."""
    if match.op.role == "primal":
        return None
    for x, other in (match.operands, match.operands[::-1]):
        maker, type_ = match.made_by(other, "div"), type_of(x)
        if maker is None or not isinstance(type_, ArrayType) or type_ != match.op.result.type:
            continue
        one, size = maker.operands
        is_one = match.fill_value(one) == 1 and getattr(type_of(one), "shape", None) == ()
        alike = type_.dtype in FOLDED and getattr(type_of(one), "dtype", None) == type_.dtype
        if is_one and alike and type_of(size) == INT:
            return x / size
    return None


def _scaled_quotient(match: Match) -> Any:
    """Returns ``c / n`` for ``1 / n * c`` with an array of ones, a size n and a number c."""
    scaling, dtype = _scale(match.op), _dtype(match.op.result)
    maker = None if scaling is None else match.made_by(scaling[0], "div")
    if scaling is None or maker is None or dtype is None or match.op.role == "primal":
        return None
    value, size = match.fill_value(maker.operands[0]), maker.operands[1]
    is_number = getattr(type_of(maker.operands[0]), "shape", None) == () and type(value) is int
    if not is_number or not _is_exact(value * scaling[1], dtype) or type_of(size) != INT:
        return None
    scaled = OPERATORS["full"](shape=(), dtype=dtype, value=_plain(float(value * scaling[1])))
    return maker.opdef(scaled, size)


#: These come before the rules for arrays filled with one number.
SCALING = (
    Rule("sum of numbers", "sum", _sum_of_full),
    Rule("where of full", "where", _scalar_choice),
    Rule("x * full(1 / n)", "mul", _divided),
    Rule("x * (1 / n)", "mul", _divided_by_size),
    Rule("1 / n * c", "mul", _scaled_quotient),
    Rule("x * c * d", "mul", _scaled_once),
    Rule("x * c / d", "div", _scaled_once),
)
#: And these come after them.
FOLDING = (
    Rule("number * full", "mul", _folded_full),
    Rule("full / number", "div", _folded_full),
)
