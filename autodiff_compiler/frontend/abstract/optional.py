"""None on one way and a value on the other: ``h is None`` is a test of the run then.

In the run such a variable is None where it has no value. Behind a test it is known which it is;
elsewhere reading it checks that it is not None.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from autodiff_compiler.frontend.abstract.values import NUMBERS, MaybeNone, leaves, rebuild
from autodiff_compiler.ir.builder import current
from autodiff_compiler.ir.nodes import Region, Value
from autodiff_compiler.operators.core import effects
from autodiff_compiler.operators.core.control import is_unset, undefined
from autodiff_compiler.operators.elementwise import comparisons


def can_be_optional(value: Any) -> bool:
    """Whether a value can share a variable with None: a tensor, a number, or a tuple of these."""
    if isinstance(value, tuple):
        return bool(value) and all(map(can_be_optional, value))
    return isinstance(value, (Value, MaybeNone, *NUMBERS))


def optional_pair(left: Any, right: Any) -> tuple[Any, Any] | None:
    """Two values of which one may be None, with undefined leaves in the place of None; None where
    they cannot share a variable."""
    if left is not None and right is not None and not (
        isinstance(left, MaybeNone) or isinstance(right, MaybeNone)
    ):  # fmt: skip
        return None
    bare = [side.value if isinstance(side, MaybeNone) else side for side in (left, right)]
    like = bare[1] if bare[0] is None else bare[0]
    if not can_be_optional(like):
        return None
    one, other = (none_like(like) if side is None else side for side in bare)
    return one, other


def none_like(like: Any) -> Any:
    """None in the structure of ``like``."""
    new = (current().make(undefined, (), {}) for _ in leaves(like))
    return rebuild(like, new)


def is_none(perhaps: MaybeNone) -> Value:
    """Whether it is None in the run."""
    found: Value = is_unset(next(leaves(perhaps.value)))
    return found


def require_value(low: Any, perhaps: MaybeNone, name: str) -> Any:
    """The value, which forward checks to be there."""
    with low.builder.block() as ops:
        low.builder.make(effects.fail, (f"{name} is None here",), {"error": "TypeError"})
    low.builder.branch(is_none(perhaps), Region((), tuple(ops), ()), Region((), (), ()))
    return perhaps.value


def implied_by(low: Any, test: Any, truth: bool) -> Iterator[tuple[Value, bool]]:
    """The tests that are known to be true, or false, where ``test`` is."""
    maker = low.builder.producer(test)
    if maker is None:
        return
    if maker.opdef is is_unset:
        yield maker.operands[0], truth
    elif maker.opdef is comparisons.logical_not:
        yield from implied_by(low, maker.operands[0], not truth)
    elif maker.opdef is (comparisons.logical_and if truth else comparisons.logical_or):
        for operand in maker.operands:
            yield from implied_by(low, operand, truth)
    elif maker.name == "cast":
        yield from implied_by(low, maker.operands[0], truth)
    elif maker.name == "if":
        # ``a and b`` is true, and ``a or b`` false, where both are.
        one, other = (region.yields[maker.results.index(test)] for region in maker.regions)
        decided = other if truth else one
        if decided is not truth and _is_condition(low, decided, maker.operands[0], not truth):
            yield from implied_by(low, maker.operands[0], truth)
            yield from implied_by(low, one if truth else other, truth)


def _is_condition(low: Any, operand: Any, test: Any, truth: bool) -> bool:
    maker = low.builder.producer(operand)
    if maker is not None and maker.name in ("cast", "full"):
        return _is_condition(low, (*maker.operands, maker.attrs.get("value"))[0], test, truth)
    return operand is test or operand is truth


def narrowed_by(low: Any, test: Any, truth: bool) -> dict[str, tuple[Any, Any]]:
    """What is known of variables where ``test`` is true, or false: as they are held, and as they
    are known to be."""
    held = {name: one for name, one in low.state.names.items() if isinstance(one, MaybeNone)}
    known = dict(implied_by(low, test, truth)) if held else {}
    found = {}
    for name, one in held.items():
        if (first := next(leaves(one.value))) in known:
            found[name] = one, None if known[first] else one.value
    return found
