"""Optional values: a variable that is None on one path and a value on the other.

``h is None`` then becomes a run-time test. Behind it the variable is known to be None, or to be a
value. A read elsewhere checks at run time that the variable is not None.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from autodiff_compiler.frontend.abstract.evaluator import Evaluator
from autodiff_compiler.frontend.abstract.values import NUMBERS, MaybeNone, leaves, rebuild
from autodiff_compiler.ir.builder import current
from autodiff_compiler.ir.nodes import Region, Value
from autodiff_compiler.operators.core import effects
from autodiff_compiler.operators.core.control import is_unset, undefined
from autodiff_compiler.operators.elementwise import comparisons


def can_be_optional(value: Any) -> bool:
    """True if a value can share a variable with None: a tensor, a number, or a tuple of these."""
    if isinstance(value, tuple):
        return bool(value) and all(map(can_be_optional, value))
    return isinstance(value, (Value, MaybeNone, *NUMBERS))


def optional_pair(left: Any, right: Any) -> tuple[Any, Any] | None:
    """Returns two values of which one may be None, with undefined leaves in place of None.

    Returns None if neither may be None, or if they cannot share a variable.
    """
    if not any(side is None or isinstance(side, MaybeNone) for side in (left, right)):
        return None
    bare = [side.value if isinstance(side, MaybeNone) else side for side in (left, right)]
    like = bare[1] if bare[0] is None else bare[0]
    if not can_be_optional(like):
        return None
    one, other = (none_like(like) if side is None else side for side in bare)
    return one, other


def none_like(like: Any) -> Any:
    """Returns None in the structure of ``like``: each leaf is undefined."""
    new = (current().make(undefined, (), {}) for _ in leaves(like))
    return rebuild(like, new)


def is_none(optional: MaybeNone) -> Value:
    """Returns the run-time test that is true where an optional value is None."""
    test: Value = is_unset(next(leaves(optional.value)))
    return test


def require_value(low: Evaluator, optional: MaybeNone, name: str) -> Any:
    """Returns the value of an optional value. The generated function raises where it is None."""
    with low.builder.block() as ops:
        low.builder.make(effects.raise_error, (f"{name} is None here",), {"error": "TypeError"})
    low.builder.branch(is_none(optional), Region((), tuple(ops), ()), Region((), (), ()))
    return optional.value


def implied_by(low: Evaluator, test: Any, truth: bool) -> Iterator[tuple[Value, bool]]:
    """Yields each value that is known to be unset, or set, where ``test`` has this truth."""
    maker = low.builder.producer(test)
    if maker is None:
        return
    if maker.opdef is is_unset:
        yield maker.value_operand(0), truth
    elif maker.opdef is comparisons.logical_not:
        yield from implied_by(low, maker.operands[0], not truth)
    elif maker.opdef is (comparisons.logical_and if truth else comparisons.logical_or):
        for operand in maker.operands:
            yield from implied_by(low, operand, truth)
    elif maker.name == "cast":
        yield from implied_by(low, maker.operands[0], truth)
    elif maker.name == "if":
        # If ``a and b`` is true, both are. If ``a or b`` is false, both are.
        one, other = (region.yields[maker.results.index(test)] for region in maker.regions)
        constant, rest = (other, one) if truth else (one, other)
        if constant is not truth and _is_condition(low, constant, maker.operands[0], not truth):
            yield from implied_by(low, maker.operands[0], truth)
            yield from implied_by(low, rest, truth)


def _is_condition(low: Evaluator, operand: Any, test: Any, truth: bool) -> bool:
    """True if an operand is ``test``, or this truth, but for casts."""
    maker = low.builder.producer(operand)
    if maker is not None and maker.name in ("cast", "full"):
        return _is_condition(low, (*maker.operands, maker.attrs.get("value"))[0], test, truth)
    return operand is test or operand is truth


def narrowed_by(low: Evaluator, test: Any, truth: bool) -> dict[str, tuple[Any, Any]]:
    """Returns the variables that ``test`` decides where it has this truth.

    Each name comes with the optional value that it holds, and with None or its value.
    """
    optional = {name: one for name, one in low.state.names.items() if isinstance(one, MaybeNone)}
    unset: dict[Any, bool] = dict(implied_by(low, test, truth)) if optional else {}
    narrowed = {}
    for name, one in optional.items():
        if (first := next(leaves(one.value))) in unset:
            narrowed[name] = one, None if unset[first] else one.value
    return narrowed
