"""Comparisons: known values are compared at compile time, containers item by item, and run-time
values when the function runs.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import gast
import numpy as np

from autodiff_compiler.errors import CompileError, DTypeError, UnsupportedSyntax
from autodiff_compiler.fast_ast import nodes_in
from autodiff_compiler.frontend.abstract import optional
from autodiff_compiler.frontend.abstract.values import (
    NUMBERS,
    DictView,
    HeapRef,
    LazyIterable,
    MaybeNone,
    ObjectDict,
    RuntimeRange,
    is_same,
)
from autodiff_compiler.frontend.core.guards import PLAIN, is_generated_method
from autodiff_compiler.frontend.core.lowering import Lowering, refuse_foreign
from autodiff_compiler.frontend.core.parameters import slot_of
from autodiff_compiler.frontend.expressions.arithmetic import (
    as_set,
    call_operator_method,
    object_class,
)
from autodiff_compiler.frontend.numpy_rules.writes import beside_arrays
from autodiff_compiler.frontend.objects import outside_items
from autodiff_compiler.ir.nodes import Value, type_of
from autodiff_compiler.ir.types import BOOL, STR, ArrayType, ScalarType
from autodiff_compiler.operators.elementwise import comparisons

#: The method of the right side that is called where the left side has no answer.
REFLECTED = {
    "Lt": "__gt__",
    "LtE": "__ge__",
    "Gt": "__lt__",
    "GtE": "__le__",
    "Eq": "__eq__",
    "NotEq": "__ne__",
}
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Eq": comparisons.equal,
    "NotEq": comparisons.not_equal,
}
#: ``any[...]``, the type of arguments without a declared type.
UNTYPED = ArrayType()
STATIC_COMPARE = {**COMPARE, "Eq": operator.eq, "NotEq": operator.ne}
#: Types that ``in`` cannot search.
NO_CONTAINERS = (int, float, complex, type(None), type(...), type(NotImplemented))


def evaluate_compare(low: Lowering, node: Any) -> Any:
    left, others = node.left, node.comparators
    if isinstance(node.ops[0], (gast.Is, gast.IsNot)):
        if len(node.ops) == 1 and getattr(left, "value", ...) is None:
            left, others = others[0], [left]
        low.may_be_none.add(left)
    return _compare_chain(low, low.evaluate(left), node.ops, others)


def _compare_chain(low: Lowering, left: Any, signs: Sequence[Any], nodes: Sequence[Any]) -> Any:
    """Returns the outcome of ``left < one < other``. Operands after a comparison that fails are not
    evaluated, unless evaluating them has no effect."""
    right = low.evaluate(nodes[0])
    outcome = compare(low, type(signs[0]).__name__, left, right)
    if len(nodes) == 1:
        return outcome

    def rest() -> Any:
        return _compare_chain(low, right, signs[1:], nodes[1:])

    if isinstance(outcome, Value) and not any(map(_calls_or_binds, nodes[1:])):
        others = rest()
        if isinstance(others, Value):
            return comparisons.logical_and(outcome, others)
        return outcome if others else False
    truth = low.truth(outcome)
    if isinstance(truth, bool):
        return rest() if truth else outcome
    return low.choose(truth, rest, lambda: outcome)


def compare(low: Lowering, sign: str, left: Any, right: Any) -> Any:
    """Returns the outcome of one comparison: a bool where it is known, else a run-time value."""
    if sign in ("Is", "IsNot"):
        outcome = _is(low, left, right)
        return outcome if sign == "Is" else _not(outcome)
    if sign in ("In", "NotIn"):
        outcome = _contains(low, left, right)
        return outcome if sign == "In" else _not(outcome)
    return _compare_values(low, sign, left, right)


def _is(low: Lowering, left: Any, right: Any) -> Any:
    """Returns ``left is right``."""
    if isinstance(left, MaybeNone):
        if right is None:
            return optional.is_none(left)
        left = left.value
    return _identical(low, left, right)


def _contains(low: Lowering, left: Any, right: Any) -> Any:
    """Returns ``left in right``."""
    low.compilation.guard_contents(left)
    method = low.special(right, "__contains__")
    if method is not None:
        return low.truth(low.call(method, (left,), {}))
    known = outside_items.has_item(low, right, left)
    if known is not None:
        return known
    return _is_among(low, left, _container_to_search(low, right))


def _compare_values(low: Lowering, sign: str, left: Any, right: Any) -> Any:
    """Returns ``left sign right`` for the signs of equality and order."""
    is_dynamic = isinstance(left, Value) or isinstance(right, Value)
    refuse_foreign(low, left, right, installed=True)
    outcome = _compare_objects(low, sign, left, right)
    if outcome is not NotImplemented:
        return outcome
    low.compilation.guard_contents(left)
    left, right = _views_as_sets(low, left, right)
    low.compilation.guard_contents(right)
    if low.compilation.numpy:
        left, right = beside_arrays(low, sign, left, right)
    kinds = _kind(left), _kind(right)
    if sign in ("Eq", "NotEq"):
        if all(kinds):
            equal = equal_values(low, left, right)
            return equal if sign == "Eq" else _not(equal)
        if is_dynamic and not _may_be_equal(low, left, right):
            return sign == "NotEq"
    elif kinds in (("list", "list"), ("tuple", "tuple")):
        return _compare_sequences(low, sign, low.contents(left), low.contents(right))
    try:
        return (COMPARE if is_dynamic else STATIC_COMPARE)[sign](left, right)
    except CompileError:
        raise
    except Exception as error:
        raise low.translate(error, "this comparison fails") from None


def _views_as_sets(low: Lowering, left: Any, right: Any) -> tuple[Any, Any]:
    """Returns two operands as sets if they are sets or views of a dict's keys or items."""
    sides = (left, right)
    has_view = any(isinstance(side, DictView) and side.kind != "values" for side in sides)
    if has_view and all(isinstance(side, (DictView, set, frozenset)) for side in sides):
        return as_set(low, left), as_set(low, right)
    return sides


def _may_be_equal(low: Lowering, left: Any, right: Any) -> bool:
    """True if a run-time value and another value may be equal by their types. Refuses strings that
    are not known at compile time.
    """
    value, other = (left, right) if isinstance(left, Value) else (right, left)
    if is_text(left) and is_text(right):
        raise low.fail(
            DTypeError,
            "both strings of this comparison are known only when the function runs",
            "compare the numbers that the strings are made from",
        )
    if is_text(other) and value.type == UNTYPED:  # False would be a guess
        raise low.fail(
            DTypeError,
            "this value is compared with a string, and the signature gives it no "
            "type: it may be a string",
            "give a string argument its value with functools.partial(f, "
            "name='...'), and other arguments a type such as f32[2,3]",
        )
    return isinstance(other, (Value, np.generic, *NUMBERS))


def _identical(low: Lowering, left: Any, right: Any) -> Any:
    """Returns ``left is right`` for a left side that is no ``MaybeNone``."""
    if is_same(left, right):
        return True
    kinds = [isinstance(side, Value) for side in (left, right)]
    if any(kinds) and all(map(_is_number, (left, right))):
        if all(type_of(side) == BOOL for side in (left, right)):
            return comparisons.equal(left, right)
        raise low.fail(
            UnsupportedSyntax,
            "'is' between numbers has no defined result: Python may or may not share equal numbers",
            "compare the numbers with == or !=",
        )
    if all(kinds) and low.compilation.aliases.may_alias(left, right):
        raise low.fail(
            UnsupportedSyntax,
            "whether these two names refer to the same tensor is known only when the function runs",
            "keep the answer in a bool variable, assigned where the names are assigned",
        )
    copies = [
        isinstance(s, (list, dict)) and low.compilation.path(s) is None for s in (left, right)
    ]
    if any(copies) and all(_kind(side) for side in (left, right)):
        raise low.fail(
            UnsupportedSyntax,
            "whether these two containers of arrays are the same object is known only when "
            "the function runs",
            "compare them outside of the function, and pass the answer as a bool argument",
        )
    for side in (left, right):
        low.compilation.require_identity(low.original(side) if isinstance(side, Value) else side)
    if all(kinds):
        low.compilation.guard_distinct_arguments(*map(partial(slot_of, low), (left, right)))
    return False


def _compare_sequences(
    low: Lowering, sign: str, left: Sequence[Any], right: Sequence[Any], at: int = 0
) -> Any:
    """Returns ``left < right`` for two lists or tuples: the first items that differ decide."""
    if at in (len(left), len(right)):
        return STATIC_COMPARE[sign](len(left), len(right))
    equal = equal_values(low, left[at], right[at])

    def decide() -> Any:
        return compare(low, sign, left[at], right[at])

    def go_on() -> Any:
        return _compare_sequences(low, sign, left, right, at + 1)

    if isinstance(equal, Value):
        return low.choose(equal, go_on, decide)
    return go_on() if equal else decide()


def _container_to_search(low: Lowering, items: Any) -> Any:
    """Returns the items that ``in`` searches."""
    if isinstance(items, ObjectDict):
        return tuple(name for name in low.state.heap[items.ref] if name != "__class__")
    if isinstance(items, dict):
        low.compilation.guard_keys(items)
        return items
    if isinstance(items, NO_CONTAINERS):
        raise low.fail(
            DTypeError,
            f"the right side of 'in' must be a container, and this is a {type(items).__name__}",
            "use a list, tuple, dict, set or string on the right of 'in'",
        ).meaning(TypeError(f"argument of type '{type(items).__name__}' is not iterable"))
    is_container = isinstance(items, HeapRef) and items.kind in ("list", "dict")
    if isinstance(items, (HeapRef, Value, LazyIterable, RuntimeRange)) and not is_container:
        return low.sequence(items)
    return low.contents(items)


def _is_among(low: Lowering, left: Any, items: Any) -> Any:
    """True if ``left`` is one of the items, or equal to one. Perhaps a run-time value."""
    keys = list(items) if isinstance(items, (tuple, dict)) else items
    if all(isinstance(key, PLAIN) for key in (left, *keys)):
        return left in keys
    outcome: Any = False
    for key in keys:
        is_equal = key is left or equal_values(low, left, key)
        if is_equal is True:
            return True
        if isinstance(is_equal, Value):
            outcome = is_equal if outcome is False else comparisons.logical_or(outcome, is_equal)
    return outcome


def _compare_objects(low: Lowering, sign: str, left: Any, right: Any) -> Any:
    """Returns the comparison of two objects by their methods, fields or identity. Returns
    NotImplemented where neither side is an object of the user's."""
    name = f"__{STATIC_COMPARE[sign].__name__}__"
    outcome = call_operator_method(low, left, right, name, REFLECTED[sign])
    if outcome is not NotImplemented:
        return outcome
    if object_class(low, left) is object_class(low, right):
        sides = [_fields(low, side, name) for side in (left, right)]
        if None not in sides:
            return compare(low, sign, *sides)
    made_here = "object" in (_kind(left), _kind(right))
    if sign == "NotEq" and (made_here or _has_eq(low, left) or _has_eq(low, right)):
        return _not(low.truth(compare(low, "Eq", left, right)))
    if made_here and sign == "Eq":
        return is_same(left, right)
    if made_here:
        raise low.fail(
            DTypeError, "objects of this class do not define an order", "compare attributes"
        ).meaning(TypeError("objects of this class do not define an order"))
    return NotImplemented


def _has_eq(low: Lowering, thing: Any) -> bool:
    return low.special(thing, "__eq__") is not None


def _fields(low: Lowering, thing: Any, name: str) -> tuple[Any, ...] | None:
    """Returns the fields that the method generated by ``dataclass`` compares; None without one."""
    kind = object_class(low, thing)
    if not dataclasses.is_dataclass(kind) or not is_generated_method(getattr(kind, name, None)):
        return None
    compared = (field.name for field in dataclasses.fields(kind) if field.compare)
    return tuple(low.attribute(thing, each) for each in compared)


def equal_values(low: Lowering, left: Any, right: Any) -> Any:
    """Returns ``left == right``, for containers item by item: a known bool, or a run-time one."""
    kind = _kind(left)
    if is_same(left, right) or not (kind and _kind(right)) or "object" in (kind, _kind(right)):
        return is_same(left, right) or low.truth(compare(low, "Eq", left, right))
    ours, theirs = (low.state.heap[s] if isinstance(s, HeapRef) else s for s in (left, right))
    if kind != _kind(right) or len(ours) != len(theirs):
        return False
    if isinstance(ours, dict):
        if set(ours) != set(theirs):
            return False
        theirs = [theirs[key] for key in ours]
        ours = list(ours.values())
    outcome: Any = True
    for one, other in zip(ours, theirs):
        is_equal = equal_values(low, one, other)
        if is_equal is False:
            return False
        if isinstance(is_equal, Value):
            outcome = is_equal if outcome is True else comparisons.logical_and(outcome, is_equal)
    return outcome


def _calls_or_binds(node: Any) -> bool:
    """True if evaluating an expression may have effects: a call, or an assignment inside."""
    return any(isinstance(part, (gast.Call, gast.NamedExpr)) for part in nodes_in(node))


def _is_number(side: Any) -> bool:
    kind = side.type if isinstance(side, Value) else None
    return isinstance(side, NUMBERS) or isinstance(kind, ScalarType)


def _not(truth: Any) -> Any:
    return not truth if isinstance(truth, bool) else comparisons.logical_not(truth)


def is_text(value: Any) -> bool:
    """True if ``value`` is a string, known or not."""
    return isinstance(value, str) or isinstance(value, Value) and value.type == STR


def _kind(value: Any) -> str:
    """Returns the kind of a container; the empty string for other values."""
    if isinstance(value, HeapRef):
        return value.kind
    return next((k.__name__ for k in (list, tuple, dict) if isinstance(value, k)), "")
