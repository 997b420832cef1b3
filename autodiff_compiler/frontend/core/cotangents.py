"""Cotangents of compile-time values, and operations with a derivative of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autodiff_compiler.frontend.abstract.values import leaves, rebuild
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Value
from autodiff_compiler.ir.types import FLOAT, DictType, TupleType, Type, array, carries_cotangent
from autodiff_compiler.operators.core.control import custom_rule
from autodiff_compiler.operators.elementwise.arithmetic import stop_gradient
from autodiff_compiler.span import Span


def without_gradient(value: Any) -> Any:
    """Returns ``value`` with no gradient through any part of it."""
    new = (stop_gradient(leaf) if isinstance(leaf, Value) else leaf for leaf in leaves(value))
    return rebuild(value, new)


def has_cotangent(operand: Any) -> bool:
    return isinstance(operand, Value) and carries_cotangent(operand.type)


def cotangent_type(type_: Type) -> Type:
    """Returns the type of a cotangent in a rule: that of a Python float may be a 0-d array."""
    if isinstance(type_, TupleType):
        return TupleType(tuple(map(cotangent_type, type_.items)))
    if isinstance(type_, DictType):
        return DictType(type_.keys, tuple(map(cotangent_type, type_.items)))
    return array("float64") if type_ == FLOAT else type_


def custom_rule_operation(
    rule: Function,
    reads: Sequence[AnyOperand],
    wrt: tuple[int, ...],
    values: Sequence[AnyOperand],
    results: Sequence[Value],
    span: Span,
) -> Op:
    """Returns the operation that gives ``values`` the derivative of ``rule``."""
    attrs = {"rule": rule, "wrt": wrt}
    return Op(custom_rule, (*reads, *values), attrs, tuple(results), span)
