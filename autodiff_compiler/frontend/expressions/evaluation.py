"""Evaluates expressions: names, attributes, constants, truth values and connectives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import gast

from autodiff_compiler.errors import CompileError, ShapeError, UnknownName
from autodiff_compiler.frontend.abstract.in_place_writes import refuse_overwritten
from autodiff_compiler.frontend.abstract.values import (
    DictView,
    Frame,
    HeapRef,
    MaybeNone,
    UsesPoison,
)
from autodiff_compiler.frontend.core.lowering import Lowering, fail_unset, require_value
from autodiff_compiler.frontend.core.naming import NAMELESS, variables
from autodiff_compiler.frontend.core.unwinding import evaluate_once
from autodiff_compiler.frontend.syntax.nodes import GuardedName, KnownName
from autodiff_compiler.ir.builder import Unreached
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import ArrayType, ListType
from autodiff_compiler.operators.core import containers


def evaluate(low: Lowering, node: Any) -> Any:
    """Returns the compile-time value of an expression. Its errors are placed at ``node``."""
    handler = low.handlers.expressions[type(node)]
    with low.builder.at(low.span(node)):
        try:
            if low.catching:
                value = evaluate_once(low, node, lambda: handler(low, node))
            else:
                value = handler(low, node)
            if isinstance(value, MaybeNone) and node not in low.may_be_none:
                return require_value(low, value, getattr(node, "id", ""))
            return value
        except CompileError as error:
            raise low.builder.with_span(error) from None


def evaluate_all(low: Lowering, nodes: Sequence[Any]) -> list[Any]:
    """Returns the values of several expressions. Reports the errors of all of them."""
    values, marks, failed = [], [], False
    for node in nodes:
        try:
            values.append(low.evaluate(node))
            marks.append(len(low.compilation.aliases.writes))
        except CompileError as error:
            poison(low, error)
            failed = True
        except UsesPoison:
            failed = True
    if failed:
        raise UsesPoison
    writes = len(low.compilation.aliases.writes)
    for value, mark in zip(values, marks):
        if mark < writes:
            refuse_overwritten(low, value, mark)
    return values


def evaluate_constant(low: Lowering, node: Any) -> Any:
    return node.value


def evaluate_name(low: Lowering, node: Any) -> Any:
    name = node.id
    if name not in low.state.names:
        return _free_name(low, name)
    bound = low.state.names[name]
    value = low.certainly(bound, isinstance(node, GuardedName))
    if value is not bound:
        low.state.names[name] = value  # known to be set from here on
    return value


def evaluate_attribute(low: Lowering, node: Any) -> Any:
    return low.attribute(low.evaluate(node.value), node.attr)


def evaluate_known_name(low: Lowering, node: KnownName) -> Any:
    return node.thing


def _free_name(low: Lowering, name: str) -> Any:
    """Returns the value of a free name: of an enclosing frame, or from outside."""
    frame: Frame | None = low.frame
    while frame is not None:
        if frame is not low.frame and name in frame.names:
            return low.certainly(frame.names[name])
        if name in frame.may_be_set and frame is low.frame:
            fail_unset(low, f"'{name}' is not assigned here")
            raise Unreached
        if name in variables(frame.tree):
            raise low.fail(
                UnknownName,
                f"the variable '{name}' is not assigned here",
                f"assign '{name}' before this line",
            )
        frame = frame.outer
    return low.lifted(low.compilation.free_name(low.frame.function, name, low.builder.span))


def bind_name(low: Lowering, name: str, value: Any) -> None:
    """Sets a variable. A value without a name of the user's takes the name of the variable."""
    is_unnamed = isinstance(value, Value) and not value.has_user_name
    if is_unnamed and (low.builder.producer(value) or value.name == NAMELESS):
        value.name, value.has_user_name = name, True
    low.state.names[name] = value


def truth(low: Lowering, value: Any) -> Any:
    """Returns ``bool(value)``: a known bool, or a run-time value."""
    for name in ("__bool__", "__len__"):
        method = low.special(value, name)
        if method is not None:
            return low.truth(low.call(method, (), {}))
    if isinstance(value, HeapRef):
        value = low.state.heap[value] if value.kind != "iterator" else True
    if isinstance(value, DictView):
        value = low.contents(value)
    if not isinstance(value, Value):
        low.compilation.guard_truth(value)
        return bool(value)
    type_ = value.type
    require_one_element(low, value, "the condition", "reduce it first: x.all() or x.any()")
    if isinstance(type_, ListType):
        return containers.list_length(value) > 0
    return value


def require_one_element(
    low: Lowering, value: Value, what: str, cure: str = "select one element: x[0]"
) -> None:
    """Refuses a tensor that is known to have no element, or several."""
    type_ = value.type
    if isinstance(type_, ArrayType) and type_.has_static_shape:
        size = math.prod(dim for dim in type_.shape or () if isinstance(dim, int))
        if size != 1:
            raise low.fail(
                ShapeError,
                f"{what} needs one element, and this has {size}: it is {type_}",
                cure,
            )


def evaluate_bool_op(low: Lowering, node: Any) -> Any:
    result = low.evaluate(node.values[0])
    for right in node.values[1:]:
        result = _evaluate_connective(low, type(node.op).__name__ == "And", result, right)
    return result


def _evaluate_connective(low: Lowering, conjunction: bool, left: Any, right: Any) -> Any:
    """Returns ``left and right`` (or ``or``). Evaluates the right side only where Python does."""
    truth = low.truth(left)
    if isinstance(truth, bool):
        return low.evaluate(right) if truth == conjunction else left
    rest = gast.copy_location(gast.Expr(value=right), right)
    if conjunction:
        return low.choose(truth, lambda: low.evaluate(rest.value), lambda: left)
    return low.choose(truth, lambda: left, lambda: low.evaluate(rest.value))


def evaluate_if_exp(low: Lowering, node: Any) -> Any:
    test = low.truth(low.evaluate(node.test))
    if isinstance(test, bool):
        return low.evaluate(node.body if test else node.orelse)
    return low.choose(test, lambda: low.evaluate(node.body), lambda: low.evaluate(node.orelse))


def poison(low: Lowering, error: CompileError) -> None:
    """Adds the problems of an error to the report."""
    for problem in error.problems:
        low.compilation.report(problem)
