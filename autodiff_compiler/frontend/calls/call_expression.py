"""Call expressions: evaluates the callee and its arguments, then calls it."""

from __future__ import annotations

import functools
import types
from typing import Any

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.errors import CallError, UnsupportedSyntax
from autodiff_compiler.frontend.abstract.in_place_writes import refuse_overwritten
from autodiff_compiler.frontend.abstract.iterators import ITERATOR_FUNCTIONS, as_variable
from autodiff_compiler.frontend.abstract.values import (
    Closure,
    HeapRef,
    InPlaceTensorMethod,
)
from autodiff_compiler.frontend.calls.external import is_hashable
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.expressions.containers import evaluate_items
from autodiff_compiler.operators.core.macros import is_macro
from autodiff_compiler.ops.transforms.recompute import checkpointed

#: Functions that take no more items of a generator expression than they need.
LAZY = {*ITERATOR_FUNCTIONS, any, all}


def evaluate_call(low: Lowering, node: Any) -> Any:
    callee = _super(low, node) or low.evaluate(node.func)
    if isinstance(callee, InPlaceTensorMethod) and node not in low.sole_calls:
        raise low.fail(
            UnsupportedSyntax,
            f"'{node.func.attr}' changes a tensor in place within a larger expression",
            "call it in a statement of its own, before this one",
        )
    return _call_node(low, callee, node)


def _call_node(low: Lowering, callee: Any, node: Any) -> Any:
    """Calls a callee that has been evaluated, which may have had effects."""
    mark = len(low.compilation.aliases.writes)
    is_source_function = isinstance(callee, (Closure, Cell, types.FunctionType, types.MethodType))
    for part in (*node.args, *(keyword.value for keyword in node.keywords)):
        # A compiled function may test an argument for None. Others read a generator at once.
        may_test = is_source_function and not is_macro(callee)
        _mark(low.may_be_none, part, may_test)
        _mark(low.used_at_once, part, not may_test and not (is_hashable(callee) and callee in LAZY))
    args = evaluate_items(low, node.args)
    refuse_overwritten(low, getattr(callee, "value", None), mark)
    mark = len(low.compilation.aliases.writes)
    kwargs: dict[str, Any] = {}
    for keyword in node.keywords:
        value = low.evaluate(keyword.value)
        if keyword.arg is None:
            kwargs.update(_keywords(low, value))
        else:
            kwargs[keyword.arg] = value
    refuse_overwritten(low, (getattr(callee, "value", None), *args), mark)
    if is_source_function and callee is not checkpointed:  # its loop begins here
        args = [as_variable(low, arg) for arg in args]
    return low.call(callee, args, kwargs)


def _mark(marked: set[Any], node: Any, holds: bool) -> None:
    """Puts a node into a set, or removes it from there."""
    if holds:
        marked.add(node)
    else:
        marked.discard(node)


def _keywords(low: Lowering, value: Any) -> dict[str, Any]:
    """Returns the keyword arguments of ``**value``."""
    contents = low.contents(value) if isinstance(value, (HeapRef, dict)) else value
    if not isinstance(contents, dict) or not all(isinstance(key, str) for key in contents):
        error = TypeError("argument after ** must be a mapping with strings as its keys")
        raise low.fail(
            CallError,
            f"the argument after ** is a {low.described(value)}, not a dict whose keys are strings",
            "pass the arguments by name: f(key=value)",
        ).meaning(error)
    return contents


def _super(low: Lowering, node: Any) -> Any:
    """Returns a ``super()`` without arguments, to be called; None for other calls."""
    if getattr(node.func, "id", "") != "super" or node.args:
        return None
    if "__class__" not in low.frame.function.__code__.co_freevars:
        raise low.fail(
            UnsupportedSyntax,
            "super() is called outside a class",
            "call the method of the base class by name: Base.construct(self, x)",
        )
    owner = low.compilation.free_name(low.frame.function, "__class__", low.builder.span)
    first = next(iter(low.state.names.values()))
    return functools.partial(super, owner, first)
