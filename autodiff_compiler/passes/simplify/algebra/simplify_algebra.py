"""Algebraic simplification: a table of rewrite rules, applied up to a fixed point.

Rules that may change NaN, infinity, the sign of zero or rounding are marked ``fast_only`` and off
by default. Two changes count as exact. The first drops an added array of zeros that the compiler
made: it only says that no gradient flows there. The second takes the terms of a sum in another
order.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: f32[2]) -> (f32[2]) {
...   %ones: f32[2] = full {dtype='float32', shape=(2,), value=1}
...   %a: f32[2] = mul %ones, %x
...   %b: f32[2] = neg %a
...   %c!: f32[2] = sub %x, %b
...   return %c
... }
... ''')
>>> print(print_function(simplify_algebra(before)), end='')
func @f(%x: f32[2]) -> (f32[2]) {
  %ones: f32[2] = full {dtype='float32', shape=(2,), value=1}
  %b: f32[2] = neg %x
  %c!: f32[2] = add %x, %x
  return %c
}
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from dataclasses import replace
from typing import Any

from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Value, array_type, type_of
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.types import COMPLEX, INT, ArrayType, is_floating
from autodiff_compiler.passes.core.patterns import Match, Rewrite, Rule, RuleSet
from autodiff_compiler.passes.simplify.algebra.axes_of_one import AXES_OF_ONE
from autodiff_compiler.passes.simplify.algebra.broadcasting import BROADCASTING
from autodiff_compiler.passes.simplify.algebra.constant_arrays import CONSTANT_ARRAYS
from autodiff_compiler.passes.simplify.algebra.diagonal_products import DIAGONAL_PRODUCTS
from autodiff_compiler.passes.simplify.algebra.einsum import EINSUM
from autodiff_compiler.passes.simplify.algebra.gather_scatter import GATHER_SCATTER
from autodiff_compiler.passes.simplify.algebra.permutations import PERMUTATIONS
from autodiff_compiler.passes.simplify.algebra.scaling import FOLDING, SCALING
from autodiff_compiler.passes.simplify.algebra.select import SELECT
from autodiff_compiler.passes.simplify.algebra.softmax import SOFTMAX
from autodiff_compiler.passes.simplify.algebra.zero_blocks import ZERO_BLOCKS

#: Integers up to this size are exact in each dtype of floats.
EXACT = {"bfloat16": 2**8, "float16": 2**11, "float32": 2**24, "float64": 2**53}


def _is(operand: AnyOperand, number: float) -> bool:
    plain = isinstance(operand, (int, float)) and not isinstance(operand, bool)
    return plain and operand == number


def _other(match: Match, matches: Callable[[AnyOperand], bool]) -> Any:
    """Returns the operand beside the one that ``matches``, or None."""
    left, right = match.operands
    return left if matches(right) else right if matches(left) else None


def _beside_filled(match: Match, number: int) -> Any:
    """Returns the operand beside an array filled with ``number`` that cannot broadcast it.

    Equal types say so only if every dimension is known.
    """
    other = _other(match, lambda operand: match.fill_value(operand) == number)
    type_ = match.op.result.type
    if isinstance(type_, ArrayType) and type_.shape is not None and None not in type_.shape:
        return other
    return (
        other if any(match.argument_of(o, "full_like") is other for o in match.operands) else None
    )


def _ones_times_mask(match: Match) -> Any:
    """Returns a cast of the mask for the product of ones and a mask."""
    mask, type_ = (
        _other(match, lambda operand: match.fill_value(operand) == 1),
        match.op.result.type,
    )
    if not isinstance(type_, ArrayType) or not type_.is_static or not is_floating(type_):
        return None
    if type_of(mask) != replace(type_, dtype="bool"):
        return None
    return OPERATORS["cast"](mask, dtype=type_.dtype)


def _ones_times_number(match: Match) -> Any:
    number, type_ = (
        _other(match, lambda operand: match.fill_value(operand) == 1),
        match.op.result.type,
    )
    if type(number) not in (int, float) or not isinstance(type_, ArrayType) or not type_.is_static:
        return None
    return OPERATORS["full"](shape=type_.shape, dtype=type_.dtype, value=number)


def _with_number(match: Match) -> Any:
    """Returns the number for an array filled with it that has the dtype of the result.

    In a narrower dtype the array holds another number. If that array broadcast the other operand
    in a derivative, the result is broadcast.
    """
    type_ = match.op.result.type
    if not isinstance(type_, ArrayType) or not type_.is_static:
        return None
    for place, x in enumerate(match.operands):
        filled, have = match.operands[1 - place], type_of(x)
        value = match.fill_value(filled)
        if type(value) not in (int, float) or not isinstance(have, ArrayType):
            continue
        if not have.dtype == array_type(filled).dtype == type_.dtype:
            continue
        if have == type_ or match.op.role != "primal" and have.is_static:
            number = match.op.opdef(*((x, value), (value, x))[place])
            broadcast_to = OPERATORS["broadcast_to"]
            return number if have == type_ else broadcast_to(number, shape=type_.shape)
    return None


def _times_minus_one(match: Match) -> Any:
    other = _other(match, lambda operand: _is(operand, -1))
    return None if other is None else -other


def _both_negative(match: Match) -> Any:
    left, right = (match.without_sign(operand) for operand in match.operands)
    return None if left is ... or right is ... else left * right


def _add_negative(match: Match) -> Any:
    left, right = match.operands
    if match.without_sign(right) is not ...:
        return left - match.without_sign(right)
    return None if match.without_sign(left) is ... else right - match.without_sign(left)


def _minus_negative(match: Match) -> Any:
    left, right = match.operands
    return None if match.without_sign(right) is ... else left + match.without_sign(right)


def _add_negative_product(match: Match) -> Any:
    """Returns ``x - y * z`` for ``x + -y * z`` and for ``-y * z + x``; quotients alike."""
    for x, product in (match.operands, match.operands[::-1]):
        positive = _positive_product(match, product)
        if positive is not None:
            return x - positive
    return None


def _minus_negative_product(match: Match) -> Any:
    """Returns ``x + y * z`` for ``x - -y * z``; quotients alike."""
    left, right = match.operands
    positive = _positive_product(match, right)
    return None if positive is None else left + positive


def _positive_product(match: Match, product: AnyOperand) -> Any:
    """Returns ``y * z`` if ``product`` is ``-y * z``, else None.

    A product that the user named stays. A complex one stays, too: the signs of its zeros would
    change.
    """
    if not _is_real(type_of(product)):
        return None
    named = isinstance(product, Value) and product.has_user_name
    return None if named else _without_sign(match, product)


def _negative_quotient(match: Match) -> Any:
    """Returns ``-1 / x`` for ``-(1 / x)``."""
    maker, type_ = match.made_by(match.operands[0], "div"), match.op.result.type
    if maker is None or match.uses.get(maker.result) != 1 or maker.result.has_user_name:
        return None
    number, x = maker.operands
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not number:
        return None
    return OPERATORS["div"](-number, x) if _is_real(type_) else None


def _is_real(type_: Any) -> bool:
    """True for numbers and arrays of floats that are not complex."""
    dtype = str(getattr(type_, "dtype", ""))
    return is_floating(type_) and type_ != COMPLEX and "complex" not in dtype


def _twice(name: str) -> Rewrite:
    def rewrite(match: Match) -> Any:
        inner = match.argument_of(match.operands[0], name)
        return None if inner is ... else inner

    return rewrite


def _unchanged(match: Match) -> Any:
    """Returns the operand if its type is known, which is that of the result."""
    type_ = type_of(match.operands[0])
    known = isinstance(type_, ArrayType) and type_.shape is not None and None not in type_.shape
    return match.operands[0] if known else None


def _identity_permutation(match: Match) -> Any:
    perm = match.op.attrs["perm"]
    return match.operands[0] if tuple(perm) == tuple(range(len(perm))) else None


def _transpose_of_transpose(match: Match) -> Any:
    maker = match.made_by(match.operands[0], "transpose")
    if maker is None:
        return None
    first, second = maker.attrs["perm"], match.op.attrs["perm"]
    return OPERATORS["transpose"](maker.operands[0], perm=tuple(first[axis] for axis in second))


def _swap_of_transpose(match: Match) -> Any:
    maker = match.made_by(match.operands[0], "transpose")
    if maker is None:
        return None
    *leading, left, right = maker.attrs["perm"]
    return OPERATORS["transpose"](maker.operands[0], perm=(*leading, right, left))


def _transposed_product(match: Match) -> Any:
    """Returns ``b.T @ a`` in row-major order for ``(a.T @ b).T``, if nothing else reads the
    product.
    """
    product = match.made_by(match.operands[0], "matmul")
    perm = match.op.attrs.get("perm", (1, 0))
    if product is None or tuple(perm) != (1, 0) or match.uses.get(product.result) != 1:
        return None
    if any(getattr(type_of(factor), "ndim", None) != 2 for factor in product.operands):
        return None
    sides = [match.untransposed(factor) for factor in reversed(product.operands)]
    if sides == [..., ...]:
        return None
    swap, factors = OPERATORS["swap_last_axes"], reversed(product.operands)
    sides = [swap(factor) if side is ... else side for side, factor in zip(sides, factors)]
    return OPERATORS["matmul"](*sides)


def _disjoint_windows(match: Match) -> Any:
    """Returns a reshape for windows that neither overlap nor leave out elements."""
    x, attrs = match.operands[0], match.op.attrs
    size, stride, dilation = attrs["size"], attrs["stride"], attrs["dilation"]
    shape, space = getattr(type_of(x), "shape", None), len(size)
    if shape is None or None in shape or tuple(size) != tuple(stride):
        return None
    if any(far > 1 for count, far in zip(size, dilation) if count > 1):
        return None
    lead, dims = shape[:-space], shape[-space:]
    if any(dim % count for dim, count in zip(dims, size)):
        return None
    split_axes = [part for dim, count in zip(dims, size) for part in (dim // count, count)]
    first = len(lead)
    split = OPERATORS["reshape"](x, shape=(*lead, *split_axes))
    evens, odds = (range(first + odd, first + 2 * space, 2) for odd in (0, 1))
    return OPERATORS["transpose"](split, perm=(*range(first), *evens, *odds))


def _only_broadcast(match: Match) -> Any:
    """Returns a broadcast, which is a view, for a repetition along axes of size one."""
    x = match.operands[0]
    sizes = getattr(type_of(x), "shape", None)
    shape = getattr(match.op.result.type, "shape", None)
    if sizes is None or shape is None or None in shape:
        return None
    if not all(1 in pair for pair in zip(match.op.attrs["counts"], sizes)):
        return None
    return OPERATORS["broadcast_to"](x, shape=shape)


def _reshape_of_reshape(match: Match) -> Any:
    inner, *rest = match.operands
    maker = match.made_by(inner, "reshape")
    return maker and OPERATORS["reshape"](maker.operands[0], *rest, **match.op.attrs)


def _sum_of_full(match: Match) -> Any:
    value, type_ = match.fill_value(match.operands[0]), match.op.result.type
    have = type_of(match.operands[0])
    if value is None or not isinstance(have, ArrayType) or not isinstance(type_, ArrayType):
        return None
    if not (have.is_static and type_.is_static and is_floating(have)):
        return None
    count = have.element_count // max(type_.element_count, 1)
    total = value * count
    if value not in (0, 1, -1) or abs(total) > EXACT.get(str(type_.dtype), 0):
        return None
    return OPERATORS["full"](shape=type_.shape, dtype=type_.dtype, value=total)


def _sum_over_ones(match: Match) -> Any:
    """Returns the operand for a sum that keeps its axes and sums over axes of size one only."""
    return _unchanged(match) if match.op.attrs["keepdims"] else None


def _sum_of_negative(match: Match) -> Any:
    """Returns ``-sum(x)`` for ``sum(-x)``, also with the sign in a factor of x: fewer elements."""
    if not is_floating(match.op.result.type):
        return None  # the sum of integers may have another dtype
    positive = _without_sign(match, match.operands[0])
    return None if positive is None else -match.op.opdef(positive, **match.op.attrs)


def _without_sign(match: Match, x: AnyOperand) -> Any:
    """Returns y if x is ``-y``, perhaps with the sign in a factor, or in a view, else None."""
    if match.without_sign(x) is not ...:
        return match.without_sign(x)
    view = match.made_by(x, "reshape") or match.made_by(x, "expand_dims")
    if view is not None and match.uses.get(view.result) == 1:
        positive = _without_sign(match, view.operands[0])
        if positive is not None:
            return view.opdef(positive, *view.operands[1:], **view.attrs)
        return None
    maker = match.made_by(x, "mul") or match.made_by(x, "div")
    if maker is None or match.uses.get(maker.result) != 1:
        return None
    for place, operand in enumerate(maker.operands):
        positive = _without_sign(match, operand)
        if positive is not None:
            rest = [*maker.operands]
            rest[place] = positive
            return maker.opdef(*rest)
    return None


def _plus_zero(match: Match) -> Any:
    type_ = match.op.result.type
    exact = type_ == INT or isinstance(type_, ArrayType) and not is_floating(type_)
    return _other(match, lambda operand: _is(operand, 0)) if exact else None


def _minus_zero(match: Match) -> Any:
    left, right = match.operands
    return left if _is(right, 0) or _beside_filled(match, 0) is left else None


def _times_zero(match: Match) -> Any:
    type_ = match.op.result.type
    zero = _other(match, lambda operand: _is(operand, 0) or match.fill_value(operand) == 0)
    if zero is None or not isinstance(type_, ArrayType) or not type_.is_static:
        return None
    return OPERATORS["full"](shape=type_.shape, dtype=type_.dtype, value=0)


RULES = (
    *SCALING,
    Rule("x * 1", "mul", lambda match: _other(match, lambda operand: _is(operand, 1))),
    Rule("x * ones", "mul", lambda match: _beside_filled(match, 1)),
    Rule("ones * mask", "mul", _ones_times_mask),
    Rule("ones * number", "mul", _ones_times_number),
    Rule("x * full", "mul", _with_number),
    Rule("x * -1", "mul", _times_minus_one),
    Rule("-x * -y", "mul", _both_negative),
    Rule("x * 0", "mul", _times_zero, fast_only=True),
    Rule("x / 1", "div", lambda match: match.operands[0] if _is(match.operands[1], 1) else None),
    Rule("x ** 1", "pow", lambda match: match.operands[0] if _is(match.operands[1], 1) else None),
    Rule("x + zeros", "add", lambda match: _beside_filled(match, 0)),
    Rule("x + 0", "add", _plus_zero),
    Rule("x + 0.0", "add", lambda match: _other(match, lambda o: _is(o, 0)), fast_only=True),
    Rule("x + full", "add", _with_number),
    Rule("x - full", "sub", _with_number),
    Rule("x / full", "div", _with_number),
    Rule("x + -y", "add", _add_negative),
    Rule("x + -y * z", "add", _add_negative_product),
    Rule("x - 0", "sub", _minus_zero),
    Rule("x - -y", "sub", _minus_negative),
    Rule("x - -y * z", "sub", _minus_negative_product),
    Rule("--x", "neg", _twice("neg")),
    Rule("-(number / x)", "neg", _negative_quotient),
    Rule("copy", "copy", lambda match: match.operands[0]),
    Rule("cast to its own dtype", "cast", lambda match: match.operands[0]),
    Rule("reshape to its own shape", "reshape", _unchanged),
    Rule("reshape of reshape", "reshape", _reshape_of_reshape),
    Rule("disjoint windows", "windows", _disjoint_windows),
    Rule("axes of one repeated", "tile", _only_broadcast),
    Rule("broadcast to its own shape", "broadcast_to", _unchanged),
    Rule("transposed by the identity", "transpose", _identity_permutation),
    Rule("transpose of transpose", "transpose", _transpose_of_transpose),
    Rule("swap of transpose", "swap_last_axes", _swap_of_transpose),
    Rule("conj twice", "conj", _twice("conj")),
    Rule("swapped twice", "swap_last_axes", _twice("swap_last_axes")),
    Rule("transposed product", "transpose", _transposed_product),
    Rule("swapped product", "swap_last_axes", _transposed_product),
    Rule("sum of full", "sum", _sum_of_full),
    Rule("sum over axes of one", "sum", _sum_over_ones),
    Rule("sum of -x", "sum", _sum_of_negative),
    *DIAGONAL_PRODUCTS,
    *CONSTANT_ARRAYS,
    *PERMUTATIONS,
    *SELECT,
    *EINSUM,
    *AXES_OF_ONE,
    *GATHER_SCATTER,
    *ZERO_BLOCKS,
    *SOFTMAX,
    *BROADCASTING,
    *FOLDING,
)

_FAST, _EXACT = RuleSet(RULES), RuleSet(rule for rule in RULES if not rule.fast_only)


def simplify_algebra(
    function: Function, fast: bool = False, hits: MutableMapping[str, int] | None = None
) -> Function:
    """Simplifies ``function`` by the rules; counts in ``hits`` how often each applied."""

    def on_hit(rule: Rule, op: Op) -> None:
        if hits is not None:
            hits[rule.name] = hits.get(rule.name, 0) + 1

    return (_FAST if fast else _EXACT).rewrite(function, on_hit)
