"""Comparisons: what is known is compared now, containers item by item, values at run time."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import gast

from autodiff_compiler.errors import CompileError, DTypeError
from autodiff_compiler.frontend import nothing
from autodiff_compiler.frontend.arithmetic import Arithmetic
from autodiff_compiler.frontend.values import NUMBERS, Perhaps, Ref, same
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import STR, ArrayType
from autodiff_compiler.operators import compare
from autodiff_compiler.trees import nodes_in

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge,
    "Eq": compare.equal, "NotEq": compare.not_equal,
}  # fmt: skip
#: ``any[...]``, the type of arguments of which nothing is told.
UNTYPED = ArrayType()
STATIC_COMPARE = {**COMPARE, "Eq": operator.eq, "NotEq": operator.ne}


class Comparisons(Arithmetic):
    """Adds comparisons to ``Arithmetic``."""

    def eval_Compare(self, node: Any) -> Any:
        if isinstance(node.ops[0], (gast.Is, gast.IsNot)):
            if len(node.ops) == 1 and getattr(node.left, "value", ...) is None:
                node.left, node.comparators = node.comparators[0], [node.left]
            node.left.raw = True  # it may be None
        return self._chain(self.evaluate(node.left), node.ops, node.comparators)

    def _chain(self, left: Any, signs: Sequence[Any], nodes: Sequence[Any]) -> Any:
        """``left < one < other``; what comes after a comparison that fails is not evaluated, if
        anything could tell."""
        right = self.evaluate(nodes[0])
        found = self.compare(type(signs[0]).__name__, left, right)
        if len(nodes) == 1:
            return found

        def rest() -> Any:
            return self._chain(right, signs[1:], nodes[1:])

        if isinstance(found, Value) and not any(map(_acts, nodes[1:])):
            others = rest()
            if isinstance(others, Value):
                return compare.logical_and(found, others)
            return found if others else False
        truth = self.truth(found)
        if isinstance(truth, bool):
            return rest() if truth else found
        return self.choose(truth, rest, lambda: found)

    def compare(self, sign: str, left: Any, right: Any) -> Any:
        """One comparison; identity, membership and equality of known things are known."""
        dynamic = isinstance(left, Value) or isinstance(right, Value)
        if sign in ("Is", "IsNot") and isinstance(left, Perhaps):
            if right is not None:
                left = left.value
            else:
                found = nothing.is_none(left)
                return found if sign == "Is" else compare.logical_not(found)
        if sign in ("Is", "IsNot"):
            return same(left, right) == (sign == "Is")
        if isinstance(left, Ref) and left.kind == "object" and sign in COMPARE:
            return self._compare_object(sign, left, right)
        if sign in ("In", "NotIn"):
            found = self._among(left, self.contents(right))
            return found if sign == "In" else _not(found)
        if sign in ("Eq", "NotEq") and all(map(_kind, (left, right))):
            equal = self.equal(left, right)
            return equal if sign == "Eq" else _not(equal)
        if sign in ("Eq", "NotEq") and dynamic:
            other = right if isinstance(left, Value) else left
            if is_text(left) and is_text(right):
                raise self.fail(
                    DTypeError,
                    "this text is known at run time only, where texts are not compared",
                    "compare the numbers that it is made of",
                )
            typed = left if isinstance(left, Value) else right
            if is_text(other) and typed.type == UNTYPED:  # False would be a guess
                raise self.fail(
                    DTypeError,
                    "what is compared with a text was given no type, and may be one",
                    "give texts beforehand, by functools.partial, and types such as f32[2,3]",
                )
            if not isinstance(other, (Value, *NUMBERS)):
                return sign == "NotEq"
        try:
            return (COMPARE if dynamic else STATIC_COMPARE)[sign](left, right)
        except CompileError:
            raise
        except Exception as error:
            raise self.translate(error, "this comparison fails") from None

    def _among(self, left: Any, items: Any) -> Any:
        """Whether ``left`` is one of the items, or equal to one."""
        keys = list(items) if isinstance(items, (tuple, dict)) else items
        if not any(isinstance(key, (Value, Ref, tuple, list, dict)) for key in (left, *keys)):
            return left in keys
        outcome: Any = False
        for key in keys:
            found = key is left or self.equal(left, key)
            if found is True:
                return True
            if isinstance(found, Value):
                outcome = found if outcome is False else compare.logical_or(outcome, found)
        return outcome

    def _compare_object(self, sign: str, left: Ref, right: Any) -> Any:
        """A comparison of an object that this text made: by its class, or by identity."""
        method = self.special(left, f"__{STATIC_COMPARE[sign].__name__}__")
        if method is not None:
            return self.call(method, (right,), {})
        if sign == "NotEq":
            return _not(self.compare("Eq", left, right))
        if sign == "Eq":
            return bool(_kind(right)) and self.equal(left, right)
        raise self.fail(DTypeError, "objects of this class have no order", "compare attributes")

    def equal(self, left: Any, right: Any) -> Any:
        """``left == right``, of containers item by item: a bool known now, or a value."""
        kind = _kind(left)
        if same(left, right) or not (kind and _kind(right)):
            return same(left, right) or self.truth(self.compare("Eq", left, right))
        ours, theirs = (self.state.heap[s] if isinstance(s, Ref) else s for s in (left, right))
        if kind == "object" and ours["__class__"].__eq__ is object.__eq__:
            return False
        if kind != _kind(right) or len(ours) != len(theirs):
            return False
        if isinstance(ours, dict):
            if set(ours) != set(theirs):
                return False
            theirs = [theirs[key] for key in ours]
            ours = list(ours.values())
        outcome: Any = True
        for one, other in zip(ours, theirs):
            found = self.equal(one, other)
            if found is False:
                return False
            if isinstance(found, Value):
                outcome = found if outcome is True else compare.logical_and(outcome, found)
        return outcome


def _acts(node: Any) -> bool:
    """Whether evaluating an expression may do more than compute."""
    return any(isinstance(part, (gast.Call, gast.NamedExpr)) for part in nodes_in(node))


def _not(truth: Any) -> Any:
    return not truth if isinstance(truth, bool) else compare.logical_not(truth)


def is_text(value: Any) -> bool:
    """Whether ``value`` is a text, known or not."""
    return isinstance(value, str) or isinstance(value, Value) and value.type == STR


def _kind(value: Any) -> str:
    """What kind of container ``value`` is, if it is one."""
    if isinstance(value, Ref):
        return value.kind
    return next((k.__name__ for k in (list, tuple, dict) if isinstance(value, k)), "")
