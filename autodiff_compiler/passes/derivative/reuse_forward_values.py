"""What a derivative asks for and forward has in a better form, seen while both are in one body.

- A cotangent that is a product with ``relu(x)``, or with ``maximum(x, 0)``, is zero where the slope
  is: no mask is needed.
- A normalization makes ``z = c / s``, and the derivatives of what ``s`` is made of ask for ``c``
  over ``s``, in a small factor: ``(a / s) * c``. That is ``a * z``, and ``z`` is kept anyway: then
  ``c`` is neither kept nor made again. The ``s`` may be under a sum along which it is the same.
  With ``z = c * r`` it is alike, and a sum of products with ``c`` gives way to one of products with
  ``z``, where the small factor has an ``r`` for each.

Only what differentiation added is changed, and nothing is divided that was not: a factor and its
inverse go together, so that where ``s`` is 0 or infinite no NaN arises that was not there.

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

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from autodiff_compiler.analysis.magnitude import safe_magnitude_values
from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Value, type_of
from autodiff_compiler.ir.opdef import BUILDING
from autodiff_compiler.ir.rewrite import uses_of
from autodiff_compiler.passes.core.patterns import Match, Rule, RuleSet
from autodiff_compiler.passes.derivative.factors import is_known
from autodiff_compiler.passes.derivative.reassociate_products import reassociate_products
from autodiff_compiler.passes.simplify.algebra.simplify_algebra import simplify_algebra
from autodiff_compiler.passes.simplify.cse import cse
from autodiff_compiler.passes.simplify.dce import dce
from autodiff_compiler.passes.simplify.fold_constants import fold_constants

#: What a factor may stand behind without changing place: the order of elements stays.
VIEWS = ("reshape", "expand_dims")


def reuse_forward_values(function: Function) -> Function:
    """``function``, which holds a forward part and its derivative, with what forward has."""
    larger = [op for op in function.body.walk() if op.name in ("maximum", "minimum")]
    masks = (
        Rule("mask of a product", "mul", _unmasked),
        Rule("share of a product", "where", lambda match: _untied(match, larger)),
    )
    moderate = dict.fromkeys(safe_magnitude_values(function.body), True) if larger else {}
    found = RuleSet(masks).rewrite(function, safe_magnitude=moderate)
    if _scaled(found):
        tidy = found
        for change in (fold_constants, simplify_algebra, cse, reassociate_products, cse, dce):
            tidy = change(tidy)
        by = _scaled(tidy)
        row = Rule("scaled", "mul", lambda match: _with_scaled(match, by))
        better = RuleSet((row,)).rewrite(tidy)
        found = found if better is tidy else better
    return function if found is function else dce(found)


def _unmasked(match: Match) -> Any:
    """``ct`` for ``ct * (y > 0)``, where y is ``relu(x)`` and a factor of ``ct``: both are zero, or
    no number, at the same places."""
    for ct, mask in (match.operands, match.operands[::-1]):
        test = match.made_by(mask, "greater")
        if test is None or test.operands[1:] != (0,) or match.op.role == "primal":
            continue
        y = test.operands[0]
        levels = costs().factor_search_levels
        if match.made_by(y, "relu") is not None and _is_factor(match, y, ct, levels):
            return ct
    return None


def _untied(match: Match, larger: Sequence[Op]) -> Any:
    """``ct`` for what of it goes to x in ``y = maximum(x, 0)``, where ``ct`` is y times what is
    neither tiny nor huge: none where x is the smaller one, half of it, which is 0, where both are
    0. (A choice would make a 0 of an infinity times 0, too.)"""
    lost, none, kept = match.operands
    less, tie = match.made_by(lost, "less"), match.made_by(kept, "where")
    if match.op.role == "primal" or none != 0 or less is None or tie is None:
        return None
    same, ct = match.made_by(tie.operands[0], "equal"), tie.operands[2]
    half = match.made_by(tie.operands[1], "mul")
    pair = {*less.operands}
    if same is None or half is None or {*half.operands} != {0.5, ct} or {*same.operands} != pair:
        return None
    name, zero = ("maximum", 1) if less.operands[1] == 0 else ("minimum", 0)
    of_pair = {op.result for op in larger if op.name == name and {*op.operands} == pair}
    levels = costs().factor_search_levels
    multiple = less.operands[zero] == 0 and _is_multiple(match, of_pair, ct, levels)
    return ct if multiple else None


def _is_multiple(match: Match, of: Set[Value], product: AnyOperand, depth: int) -> bool:
    """Whether ``product`` is one ``of`` these times what is known to be neither tiny nor huge."""
    if product in of:
        return True
    maker = match.makers.get(product) if isinstance(product, Value) else None
    if maker is None or not depth or maker.name not in ("mul", "div", "neg"):
        return False
    sides = (0, 1) if maker.name == "mul" else (0,)
    return any(
        _is_multiple(match, of, maker.operands[side], depth - 1)
        and all(
            match.has_safe_magnitude(o) for o in maker.operands if o is not maker.operands[side]
        )
        for side in sides
    )


def _is_factor(match: Match, y: AnyOperand, product: AnyOperand, depth: int) -> bool:
    """Whether ``product`` is ``y`` times something, element by element."""
    if product is y:
        return True
    maker = match.makers.get(product) if isinstance(product, Value) else None
    if maker is None or not depth:
        return False
    if maker.name == "mul":
        return any(_is_factor(match, y, operand, depth - 1) for operand in maker.operands)
    if maker.name in ("div", "neg", "square"):
        return _is_factor(match, y, maker.operands[0], depth - 1)
    both = maker.name in ("add", "sub")
    return both and all(_is_factor(match, y, operand, depth - 1) for operand in maker.operands)


@dataclass(frozen=True)
class _Scaled:
    """``z`` is ``c / scale`` (``below``) or ``c * scale``."""

    z: Value
    scale: Value
    below: bool


def _scaled(function: Function) -> Mapping[Value, _Scaled]:
    """What forward has scaled, by what it scaled, where backward reads both, or makes the latter
    again."""
    ops = function.body.ops
    made = {result for op in ops if op.role == "primal" for result in op.results}
    read = {value for op in ops if op.role != "primal" for value in uses_of(op)}
    for op in reversed(ops):  # a view that is read keeps what it is a view of
        read.update(uses_of(op) if op.name in VIEWS and op.result in read else ())
    found: dict[Value, _Scaled] = {}
    for op in ops:
        if op.role != "primal" or op.name not in ("mul", "div") or op.result not in read:
            continue
        for c, scale in (op.operands, op.operands[::-1])[: 1 + (op.name == "mul")]:
            # An argument is there without being kept; to divide it once more takes time.
            known = c in made or op.name == "div" and c in function.params
            whole = isinstance(c, Value) and known and op.result.type == c.type
            if whole and _is_scale(scale, op.result.type):
                found.setdefault(c, _Scaled(op.result, scale, op.name == "div"))  # type: ignore[arg-type]
    return found


def _is_scale(operand: AnyOperand, whole: Any) -> bool:
    type_ = type_of(operand)
    if not isinstance(operand, Value) or not is_known(type_) or not is_known(whole):
        return False
    small = _size(type_) * costs().small_factor_ratio <= _size(whole)
    return small and type_.dtype == whole.dtype  # type: ignore[attr-defined]


def _with_scaled(match: Match, by: Mapping[Value, _Scaled]) -> Any:
    """``a * z`` for ``(a / s) * c``, or ``(a * r) * c``; of ``c / t``, ``(a / t) * z``."""
    if match.op.role == "primal":
        return None
    for c, small in (match.operands, match.operands[::-1]):
        quotient, divisor = match.made_by(c, "div"), None
        if quotient is not None and quotient.role != "primal" and match.uses.get(c) == 1:
            c, divisor = quotient.operands
        scaled = by.get(c) if isinstance(c, Value) else None
        if scaled is None or not isinstance(small, Value) or not _is_aligned(small, scaled.scale):
            continue
        if divisor is not None and type_of(divisor) != small.type:
            continue
        chain = _Chain(match, c, scaled)
        summed = None if scaled.below else chain.summed(small)
        less = chain.without_scale(small if summed is None else summed)
        less = less if summed is None else chain.without_scale(less)
        if less is not None:
            return (less if divisor is None else less / divisor) * scaled.z
    return None


@dataclass(frozen=True)
class _Chain:
    """A small factor, seen through products and views of their elements."""

    match: Match
    c: Value
    scaled: _Scaled

    def without_scale(self, small: AnyOperand) -> Any:
        """``small`` without one division by, or product with, the scale; None where there is
        none."""
        place = 1 if self.scaled.below else None

        def ends(op: Op) -> Any:
            if op.name == "sum":
                return self.undivided(op)
            if op.name != ("div" if self.scaled.below else "mul"):
                return None
            for at, operand in enumerate(op.operands):
                other = op.operands[1 - at]
                if place in (None, at) and self.is_scale(operand) and _alike(other, op.result):
                    return other
            return None

        return self.rebuilt(small, ends, costs().factor_search_levels)

    def undivided(self, total: Op) -> Any:
        """A sum of quotients by the scale as one of what was divided."""
        quotient = self.match.made_by(total.operands[0], "div")
        if quotient is None or not self.scaled.below or not self.is_fixed(total.attrs["axes"]):
            return None
        whole, scale = quotient.operands
        if not isinstance(scale, Value) or not _alike(whole, self.c) or not self.is_scale(scale):
            return None
        return total.opdef(whole, **total.attrs) if _is_aligned(scale, self.scaled.scale) else None

    def summed(self, small: AnyOperand) -> Any:
        """``small`` with a sum of products with ``c`` made one of products with ``z``; None where
        there is none, or where the scale changes along the sum."""

        def ends(op: Op) -> Any:
            product = self.match.made_by(op.operands[0], "mul") if op.name == "sum" else None
            alone = self.match.uses.get(op.result) == 1
            if product is None or self.c not in product.operands or not alone:
                return None
            (other,) = [each for each in product.operands if each is not self.c] or [self.c]
            if not _alike(other, self.c) or not self.is_fixed(op.attrs["axes"]):
                return None
            return op.opdef(other * self.scaled.z, **op.attrs)

        return self.rebuilt(small, ends, costs().factor_search_levels)

    def rebuilt(self, small: AnyOperand, ends: Callable[[Op], Any], depth: int) -> Any:
        """``small`` with one of its factors replaced as ``ends`` says."""
        op = self.maker(small)
        if op is None or op.role == "primal" or not depth:
            return None
        found = ends(op)
        if found is not None:
            return found
        if op.name in ("mul", "div", "neg", *VIEWS):
            for place, operand in enumerate(op.operands[: 1 if op.name == "div" else None]):
                whole = isinstance(operand, Value) and _count(operand) == _count(op.result)
                new = self.rebuilt(operand, ends, depth - 1) if whole else None
                if new is not None:
                    operands = [*op.operands]
                    operands[place] = new
                    return op.opdef(*operands, **op.attrs)
        return None

    def maker(self, value: AnyOperand) -> Op | None:
        """What made ``value``, just now perhaps."""
        new = (op for op in BUILDING.stack[-1].ops if value in op.results)
        return self.match.makers.get(value) or next(new, None)

    def is_scale(self, operand: AnyOperand) -> bool:
        """Whether it is the scale, or a view of it or of what it is a view of."""
        return (
            isinstance(operand, Value)
            and self.root(operand) is self.root(self.scaled.scale)
            and (_count(operand) == _count(self.scaled.scale))
        )

    def root(self, value: Any) -> Any:
        while (maker := self.match.makers.get(value)) is not None and maker.name in VIEWS:
            value = maker.operands[0]
        return value

    def is_fixed(self, axes: Any) -> bool:
        """Whether the scale is the same along all these axes of ``c``."""
        whole, scale = self.c.type, self.scaled.scale.type
        rank = len(whole.shape)  # type: ignore[attr-defined]
        shape = (*[1] * (rank - len(scale.shape)), *scale.shape)  # type: ignore[attr-defined]
        return all(shape[axis] == 1 for axis in (range(rank) if axes is None else axes))


def _alike(left: AnyOperand, right: AnyOperand) -> bool:
    return type_of(left) == type_of(right)


def _is_aligned(small: Value, scale: Value) -> bool:
    """Whether both meet a whole array alike: their shapes differ in ones before them at most."""
    if not is_known(small.type) or small.type.dtype != scale.type.dtype:  # type: ignore[attr-defined]
        return False
    one, other = (_without_ones(value.type.shape) for value in (small, scale))  # type: ignore[attr-defined]
    return one == other


def _without_ones(shape: Any) -> Any:
    first = next((place for place, size in enumerate(shape) if size != 1), len(shape))
    return shape[first:]


def _size(type_: Any) -> int:
    return math.prod(type_.shape)


def _count(value: Value) -> int:
    return _size(value.type) if is_known(value.type) else -1
