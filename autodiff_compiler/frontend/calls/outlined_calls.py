"""Calls of functions that are lowered as functions of their own, one for each signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.frontend.abstract.heap import detach
from autodiff_compiler.frontend.abstract.values import Heap, State, leaves
from autodiff_compiler.frontend.calls.outlining import OutlinedCall, apply_writes, link_aliases
from autodiff_compiler.frontend.core.guards import MISSING
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.core.naming import hides_values
from autodiff_compiler.ir.effects import Effects
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.operators.core import effects


def call_outlined(
    low: Lowering,
    callee: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    recompute: bool = False,
) -> Any:
    """Calls a Cell, method or source function. Inlines it where a call could not do the same."""
    if isinstance(callee, Cell):
        recompute |= bool(low.compilation.read_attribute(callee, "_recompute", low.builder.span))
    given = (*args, *kwargs.values())
    key = (getattr(callee, "__func__", callee), id(getattr(callee, "__self__", None)))
    hidden = any(hides_values(value, low.state.heap) for value in given)
    if hidden or key in low.compilation.inlined_only:
        return low.enter(callee, args, kwargs)
    outlined = low.outline(callee, args, kwargs, effects=True, throws=True)
    if _must_inline(low, given, outlined):
        low.compilation.inlined_only.add(key)
        return low.enter(callee, args, kwargs)
    is_known = _is_known(low, outlined)
    if is_known and not outlined.writes:
        return outlined.outcome  # no call is needed
    shared = low.compilation.unique_function(outlined.function)
    result, *news = low.builder.call(shared, outlined.operands, recompute)
    if effects.require.name in shared.op_names:  # keeps the call where its result is not read
        low.builder.make(effects.require, (result,), {})
    apply_writes(low, outlined, news)
    if is_known:
        return outlined.outcome
    return link_aliases(
        low, low.unpacked(result, outlined.outcome, outlined.heap, known=True), outlined
    )


def _must_inline(low: Lowering, given: Sequence[Any], outlined: OutlinedCall) -> bool:
    """True if a call of the outlined function would not do what Python does."""
    if outlined.returned is MISSING or outlined.wrote or outlined.hooks_argument:
        return True
    if low.compilation.numpy and _may_return_argument(low, given, outlined):
        return True
    if _aliases_written_parameter(low, given, outlined):
        return True
    # A known outcome stands in for the result, and a call without a reader would be removed.
    return _is_known(low, outlined) and bool(
        Effects().inside(outlined.function.body) or outlined.thrown
    )


def _is_known(low: Lowering, outlined: OutlinedCall) -> bool:
    """True if the outcome is a container from outside, or holds no run-time value."""
    is_outside = low.compilation.path(outlined.outcome) is not None
    return is_outside or not isinstance(outlined.returned, Value)


def _may_return_argument(low: Lowering, given: Sequence[Any], outlined: OutlinedCall) -> bool:
    """True if a called function may return an argument or a view of one. Inlining it decides
    which."""
    arrays = leaves(detach(tuple(given), low.state))
    return bool(outlined.memory & low.compilation.aliases.of_all(arrays))


def _aliases_written_parameter(low: Lowering, given: Sequence[Any], outlined: OutlinedCall) -> bool:
    """True if a Parameter that the function writes is among its arguments or in its outcome."""
    refs = [
        low.compilation.heap_objects[id(w.target), None] for w in outlined.writes if w.name is None
    ]
    memory = low.compilation.aliases.of_all
    sides = (tuple(given), low.state), (outlined.outcome, State({}, Heap(outlined.heap)))
    return any(
        memory(leaves(detach(things, state))) & memory(state.heap[ref] for ref in refs)
        for things, state in sides
    )
