"""Derivatives in which 0 times infinity is 0, if a choice made the 0.

``where(x > 0, sqrt(x), 0)`` has a cotangent of 0 for the root at 0, whose slope is infinite there.
Each rule is linear in the cotangent. A choice may make that 0
(``analysis/zero_times_infinity.py``). Then the rule's products and quotients of the cotangent are
replaced by those in which a zero wins.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from autodiff_compiler.analysis.masks import has_mask, is_mask
from autodiff_compiler.analysis.zero_times_infinity import Singularities, has_extreme
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import AnyOperand, Op, Value
from autodiff_compiler.ir.rewrite import Producers, producers_among
from autodiff_compiler.ir.types import ArrayType, is_complex, is_floating
from autodiff_compiler.operators.elementwise.zero_wins import ZERO_WINS, zero_mul


def adjoint_with_zeros(
    singularities: Singularities,
    op: Op,
    makers: Producers,
    builder: Builder,
    ct: Sequence[Value],
    rule: Callable[[], Any],
) -> Any:
    """Runs the reverse rule of ``op`` for an operand; ``ct`` are the cotangents of its results."""
    if not singularities.unbounded_cotangents.isdisjoint(op.results) and has_mask(op, makers):
        return _with_winning_masks(makers, builder, rule)
    if singularities.may_be_zero_times_infinity(op):
        return _with_winning_zeros(singularities, op, builder, ct, rule)
    return rule()


def _with_winning_zeros(
    singularities: Singularities,
    op: Op,
    builder: Builder,
    derivatives: Collection[AnyOperand],
    rule: Callable[[], Any],
) -> Any:
    """Runs ``rule``, with products in which the zeros of ``derivatives`` win."""
    bad = singularities.unbounded_reads(op)
    with builder.block() as ops:
        outcome = rule()
    linear: set[AnyOperand] = set(derivatives)
    for each in ops:
        builder.add(_zero_winning(each, linear, bad))
        if not linear.isdisjoint(each.operands):
            linear.update(each.results)
        elif not bad.isdisjoint(each.operands):
            bad.update(each.results)
    return outcome


def _zero_winning(op: Op, linear: set[AnyOperand], bad: set[AnyOperand]) -> Op:
    if op.name not in ZERO_WINS or not _is_real(op.result):
        return op
    x, y = op.operands
    if op.name == "mul" and y in linear:
        x, y = y, x
    wins = x in linear and (y in bad or has_extreme(op))
    return replace(op, opdef=ZERO_WINS[op.name], operands=(x, y)) if wins else op


def _is_real(value: Value) -> bool:
    """True if this is an array of floats of known dtype: complex numbers have no order."""
    type_ = value.type
    known = isinstance(type_, ArrayType) and type_.dtype is not None
    return known and is_floating(type_) and not is_complex(type_)


def tangent_with_zeros(
    singularities: Singularities,
    op: Op,
    makers: Producers,
    zeroed: frozenset[Value],
    builder: Builder,
    dots: Collection[AnyOperand],
    rule: Callable[[], Any],
) -> Any:
    """Runs the tangent rule of ``op``; ``dots`` are the tangents of its operands.

    A product with a mask has tangent 0 where the mask is 0, whatever the other tangent is. A value
    that a choice zeroed before (``zeroed``) has tangent 0, whatever the slope is here.
    """
    if not singularities.unbounded.isdisjoint(op.operands) and has_mask(op, makers):
        return _with_winning_masks(makers, builder, rule)
    level = not zeroed.isdisjoint(op.operands) and op.opdef.kind == "elementwise"
    return (
        _with_winning_zeros(singularities, op, builder, dots, rule)
        if level and singularities.unbounded_reads(op)
        else rule()
    )


def _with_winning_masks(makers: Producers, builder: Builder, rule: Callable[[], Any]) -> Any:
    """Runs ``rule``, with products in which the zeros of masks win."""
    with builder.block() as ops:
        outcome = rule()
    known = {**makers, **producers_among(ops)}
    for each in ops:
        if each.name == "mul" and _is_real(each.result):
            for mask, other in (each.operands, each.operands[::-1]):
                if is_mask(mask, known):
                    each = replace(each, opdef=zero_mul, operands=(mask, other))
                    break
        builder.add(each)
    return outcome
