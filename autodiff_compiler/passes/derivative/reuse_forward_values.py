"""Rewrites a derivative in terms of values that the forward pass already saves.

The pass runs while forward and backward are in one body.

- A cotangent that is a product with ``relu(x)``, or with ``maximum(x, 0)``, is zero where the
  slope is zero: it needs no mask.
- A normalization computes ``z = c / s``. The derivatives of the operands of ``s`` ask for
  ``(a / s) * c`` with a small factor ``a``. The pass rewrites that to ``a * z``, because forward
  saves ``z`` anyway. Then ``c`` is neither saved nor recomputed. The ``s`` may be under a sum along
  which it is constant. The same holds for ``z = c * r``. A sum of products with ``c`` then becomes
  one of products with ``z``. The small factor must have an ``r`` for each of them.

The pass changes only operations that differentiation added, and adds no division. A factor and its
inverse cancel together, so that no new NaN arises where ``s`` is 0 or infinite.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%c: f32[8,9], %m: f32[8,1], %t: f32[8,9], %k: f32[8,1]) -> (f32[8,9], f32[8,9]) {
...   %d: f32[8,9] = sub %c, %m
...   %z: f32[8,9] = div %d, %k
...   %y: f32[8,9] = relu %t
...   %p: f32[8,9] = mul %y, %z  # adjoint
...   %b: bool[8,9] = greater %y, 0  # adjoint
...   %q: f32[8,9] = mul %p, %b  # adjoint
...   %h: f32[8,1] = mul %m, 0.5  # adjoint
...   %g: f32[8,1] = div %h, %k  # adjoint
...   %u: f32[8,9] = mul %g, %d  # adjoint
...   return %q, %u
... }
... ''')
>>> print(print_function(reuse_forward_values(before)), end='')
func @f(%c: f32[8,9], %m: f32[8,1], %t: f32[8,9], %k: f32[8,1]) -> (f32[8,9], f32[8,9]) {
  %d: f32[8,9] = sub %c, %m
  %z: f32[8,9] = div %d, %k
  %y: f32[8,9] = relu %t
  %p: f32[8,9] = mul %y, %z                               # adjoint
  %h: f32[8,1] = mul %m, 0.5                              # adjoint
  %u: f32[8,9] = mul %h, %z                               # adjoint
  return %p, %u
}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from autodiff_compiler.analysis.magnitude import safe_magnitude_values
from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Value, array_type, type_of
from autodiff_compiler.ir.opdef import BUILDING
from autodiff_compiler.ir.rewrite import uses_of
from autodiff_compiler.ir.types import Type
from autodiff_compiler.passes.core.patterns import Match, Rule, RuleSet
from autodiff_compiler.passes.derivative.factors import is_static_float
from autodiff_compiler.passes.derivative.reassociate_products import reassociate_products
from autodiff_compiler.passes.simplify.algebra.simplify_algebra import simplify_algebra
from autodiff_compiler.passes.simplify.cse import cse
from autodiff_compiler.passes.simplify.dce import dce
from autodiff_compiler.passes.simplify.fold_constants import fold_constants

#: Views that keep the order of elements, so that a factor may move through them.
VIEWS = ("reshape", "expand_dims")

#: Returns the replacement of an operation, or None.
Replacement = Callable[[Op], Any]


def reuse_forward_values(function: Function) -> Function:
    """Rewrites the derivative in ``function``, which holds forward and backward, with forward
    values."""
    maxima = [op for op in function.body.walk() if op.name in ("maximum", "minimum")]
    masks = (
        Rule("mask of a product", "mul", _drop_redundant_mask),
        Rule("tie of a maximum", "where", lambda match: _skip_tie_split(match, maxima)),
    )
    safe = dict.fromkeys(safe_magnitude_values(function.body), True) if maxima else {}
    current = RuleSet(masks).rewrite(function, safe_magnitude=safe)
    if _normalizations(current):
        simplified = current
        for change in (fold_constants, simplify_algebra, cse, reassociate_products, cse, dce):
            simplified = change(simplified)
        by_input = _normalizations(simplified)
        rule = Rule("normalized", "mul", lambda match: _with_normalized(match, by_input))
        rewritten = RuleSet((rule,)).rewrite(simplified)
        current = current if rewritten is simplified else rewritten
    return function if current is function else dce(current)


def _drop_redundant_mask(match: Match) -> Any:
    """Returns ``ct`` for ``ct * (y > 0)``, where y is ``relu(x)`` and a factor of ``ct``.

    Both are zero, or NaN, at the same places.
    """
    for ct, mask in (match.operands, match.operands[::-1]):
        test = match.made_by(mask, "greater")
        if test is None or test.operands[1:] != (0,) or match.op.role == "primal":
            continue
        y = test.operands[0]
        levels = costs().factor_search_levels
        if match.made_by(y, "relu") is not None and _is_factor(match, y, ct, levels):
            return ct
    return None


def _skip_tie_split(match: Match, maxima: Sequence[Op]) -> Any:
    """Returns ``ct`` for ``where(x < 0, 0, where(x == 0, 0.5 * ct, ct))``, if y = maximum(x, 0)
    divides it.

    The cotangent is ``y`` times factors of safe magnitude, hence 0 where x is 0 or less. (With
    other factors it could be infinity times 0, of which the choice makes 0.)
    """
    below, zero, otherwise = match.operands
    less, tie = match.made_by(below, "less"), match.made_by(otherwise, "where")
    if match.op.role == "primal" or zero != 0 or less is None or tie is None:
        return None
    equal, ct = match.made_by(tie.operands[0], "equal"), tie.operands[2]
    half = match.made_by(tie.operands[1], "mul")
    pair = {*less.operands}
    if equal is None or half is None or {*half.operands} != {0.5, ct} or {*equal.operands} != pair:
        return None
    name, place = ("maximum", 1) if less.operands[1] == 0 else ("minimum", 0)
    of_pair = {op.result for op in maxima if op.name == name and {*op.operands} == pair}
    levels = costs().factor_search_levels
    multiple = less.operands[place] == 0 and _is_safe_multiple(match, of_pair, ct, levels)
    return ct if multiple else None


def _is_safe_multiple(match: Match, of: Set[Value], product: AnyOperand, depth: int) -> bool:
    """True if ``product`` is one of the values ``of`` times factors of safe magnitude."""
    if product in of:
        return True
    maker = match.makers.get(product) if isinstance(product, Value) else None
    if maker is None or not depth or maker.name not in ("mul", "div", "neg"):
        return False
    for factor in maker.operands if maker.name == "mul" else maker.operands[:1]:
        others = [operand for operand in maker.operands if operand is not factor]
        if _is_safe_multiple(match, of, factor, depth - 1) and all(
            map(match.has_safe_magnitude, others)
        ):
            return True
    return False


def _is_factor(match: Match, y: AnyOperand, product: AnyOperand, depth: int) -> bool:
    """True if ``product`` is ``y`` times something, element by element."""
    if product is y:
        return True
    maker = match.makers.get(product) if isinstance(product, Value) else None
    if maker is None or not depth:
        return False
    if maker.name == "mul":
        return any(_is_factor(match, y, operand, depth - 1) for operand in maker.operands)
    if maker.name in ("div", "neg", "square"):
        return _is_factor(match, y, maker.operands[0], depth - 1)
    adds = maker.name in ("add", "sub")
    return adds and all(_is_factor(match, y, operand, depth - 1) for operand in maker.operands)


@dataclass(frozen=True)
class _Normalization:
    """The value ``z`` is ``c / scale`` (``divides``) or ``c * scale``."""

    z: Value
    scale: Value
    divides: bool


def _normalizations(function: Function) -> Mapping[Value, _Normalization]:
    """Returns the forward values ``z`` that backward reads, by their ``c``.

    Backward must read ``c``, too, or forward must compute it.
    """
    ops = function.body.ops
    forward_results = {result for op in ops if op.role == "primal" for result in op.results}
    read = _read_by_derivative(ops)
    normalizations: dict[Value, _Normalization] = {}
    for op in ops:
        if op.role != "primal" or op.name not in ("mul", "div") or op.result not in read:
            continue
        divides = op.name == "div"
        for c, scale in (op.operands,) if divides else (op.operands, op.operands[::-1]):
            if not isinstance(c, Value) or not isinstance(scale, Value):
                continue
            # An argument need not be saved. To divide it once more would take time.
            known = c in forward_results or divides and c in function.params
            if known and op.result.type == c.type and _is_scale(scale.type, c.type):
                normalizations.setdefault(c, _Normalization(op.result, scale, divides))
    return normalizations


def _read_by_derivative(ops: Sequence[Op]) -> set[Value]:
    """Returns the values that the derivative reads, directly or through views."""
    read = {value for op in ops if op.role != "primal" for value in uses_of(op)}
    for op in reversed(ops):
        if op.name in VIEWS and op.result in read:
            read.update(uses_of(op))
    return read


def _is_scale(scale: Type, full: Type) -> bool:
    if not is_static_float(scale) or not is_static_float(full):
        return False
    ratio = costs().small_factor_ratio
    return scale.element_count * ratio <= full.element_count and scale.dtype == full.dtype


def _with_normalized(match: Match, by_input: Mapping[Value, _Normalization]) -> Any:
    """Returns ``a * z`` for ``(a / s) * c`` and ``(a * r) * c``, and ``(a / t) * z`` with ``c /
    t``.
    """
    if match.op.role == "primal":
        return None
    for c, small in (match.operands, match.operands[::-1]):
        quotient, divisor = match.made_by(c, "div"), None
        if quotient is not None and quotient.role != "primal" and match.uses.get(c) == 1:
            c, divisor = quotient.operands
        normalization = by_input.get(c) if isinstance(c, Value) else None
        if (
            normalization is None
            or not isinstance(small, Value)
            or not _is_aligned(small, normalization.scale)
        ):
            continue
        if divisor is not None and type_of(divisor) != small.type:
            continue
        factor = _SmallFactor(match, c, normalization).without_scales(small)
        if factor is not None:
            return (factor if divisor is None else factor / divisor) * normalization.z
    return None


@dataclass(frozen=True)
class _SmallFactor:
    """The search for a scale in a small factor, through products and views."""

    match: Match
    c: Value
    normalization: _Normalization

    def without_scales(self, small: AnyOperand) -> Any:
        """Returns ``small`` without the scale, or None where the scale is not in it.

        A sum of products with ``c`` in it becomes one with ``z``; then two scales have to go.
        """
        summed = None if self.normalization.divides else self.with_normalized_sum(small)
        once = self.without_scale(small if summed is None else summed)
        return once if summed is None else self.without_scale(once)

    def without_scale(self, small: AnyOperand) -> Any:
        """Returns ``small`` without one division by the scale, or one product with it."""
        name = "div" if self.normalization.divides else "mul"

        def replacement(op: Op) -> Any:
            if op.name == "sum":
                return self.undivided_sum(op)
            if op.name != name:
                return None
            for place in (1,) if self.normalization.divides else (0, 1):
                other = op.operands[1 - place]
                if self.is_scale(op.operands[place]) and type_of(other) == op.result.type:
                    return other
            return None

        return self.with_factor_replaced(small, replacement, costs().factor_search_levels)

    def undivided_sum(self, total: Op) -> Any:
        """Returns a sum of quotients by the scale as the sum of the dividends."""
        quotient = self.match.made_by(total.operands[0], "div")
        if (
            quotient is None
            or not self.normalization.divides
            or not self.is_constant(total.attrs["axes"])
        ):
            return None
        dividend, scale = quotient.operands
        if not isinstance(scale, Value) or not self.is_scale(scale):
            return None
        if type_of(dividend) != self.c.type or not _is_aligned(scale, self.normalization.scale):
            return None
        return total.opdef(dividend, **total.attrs)

    def with_normalized_sum(self, small: AnyOperand) -> Any:
        """Returns ``small`` with a sum of products with ``c`` replaced by one with ``z``.

        Returns None if there is no such sum, or if the scale varies along its axes.
        """

        def replacement(op: Op) -> Any:
            product = self.match.made_by(op.operands[0], "mul") if op.name == "sum" else None
            alone = self.match.uses.get(op.result) == 1
            if product is None or self.c not in product.operands or not alone:
                return None
            (other,) = [each for each in product.operands if each is not self.c] or [self.c]
            if type_of(other) != self.c.type or not self.is_constant(op.attrs["axes"]):
                return None
            return op.opdef(other * self.normalization.z, **op.attrs)

        return self.with_factor_replaced(small, replacement, costs().factor_search_levels)

    def with_factor_replaced(self, small: AnyOperand, replacement: Replacement, depth: int) -> Any:
        """Returns ``small`` with the first factor replaced for which there is a replacement."""
        op = self.maker(small)
        if op is None or op.role == "primal" or len(op.results) != 1 or not depth:
            return None
        replaced = replacement(op)
        if replaced is not None or op.name not in ("mul", "div", "neg", *VIEWS):
            return replaced
        for place, operand in enumerate(op.operands[:1] if op.name == "div" else op.operands):
            full = isinstance(operand, Value) and _count(operand) == _count(op.result)
            new = self.with_factor_replaced(operand, replacement, depth - 1) if full else None
            if new is not None:
                operands = [*op.operands]
                operands[place] = new
                return op.opdef(*operands, **op.attrs)
        return None

    def maker(self, value: AnyOperand) -> Op | None:
        """Returns the operation that made ``value``, also if this rule just added it."""
        new = (op for op in BUILDING.stack[-1].ops if value in op.results)
        return self.match.makers.get(value) or next(new, None)

    def is_scale(self, operand: AnyOperand) -> bool:
        """True if ``operand`` holds the elements of the scale, perhaps in another shape."""
        return (
            isinstance(operand, Value)
            and self.root(operand) is self.root(self.normalization.scale)
            and (_count(operand) == _count(self.normalization.scale))
        )

    def root(self, value: Any) -> Any:
        while (maker := self.match.makers.get(value)) is not None and maker.name in VIEWS:
            value = maker.operands[0]
        return value

    def is_constant(self, axes: Sequence[int] | None) -> bool:
        """True if the scale is constant along all these axes of ``c``."""
        shape, rank = array_type(self.normalization.scale).dims, len(array_type(self.c).dims)
        shape = (*[1] * (rank - len(shape)), *shape)
        return all(shape[axis] == 1 for axis in (range(rank) if axes is None else axes))


def _is_aligned(small: Value, scale: Value) -> bool:
    """True if both broadcast alike: their shapes differ in leading ones at most."""
    one, other = small.type, array_type(scale)
    if not is_static_float(one) or one.dtype != other.dtype:
        return False
    return _without_leading_ones(one.static_shape) == _without_leading_ones(other.static_shape)


def _without_leading_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    first = next((place for place, size in enumerate(shape) if size != 1), len(shape))
    return shape[first:]


def _count(value: Value) -> int:
    return value.type.element_count if is_static_float(value.type) else -1
