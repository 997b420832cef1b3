"""Calls of functions that are lowered as functions of their own, one for each signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.frontend.abstract.heap import detach
from autodiff_compiler.frontend.abstract.values import (
    State,
    leaves,
)
from autodiff_compiler.frontend.calls.outlining import apply_writes, link_aliases
from autodiff_compiler.frontend.core.assumptions import MISSING
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
    again: bool = False,
) -> Any:
    """Calls a Cell, a method or a function that has a text."""
    if isinstance(callee, Cell):
        again |= bool(low.compilation.attribute(callee, "_recompute", low.builder.span))
    if any(hides_values(value, low.state.heap) for value in (*args, *kwargs.values())):
        return low.enter(callee, args, kwargs)
    key = (getattr(callee, "__func__", callee), id(getattr(callee, "__self__", None)))
    if key in low.compilation.written_out:
        return low.enter(callee, args, kwargs)
    made = low.outline(callee, args, kwargs, effects=True, throws=True)
    shown = low.compilation.numpy and _shows(low, (*args, *kwargs.values()), made)
    inside = made.wrote or shown or _hands_on(low, (*args, *kwargs.values()), made)
    if made.returned is MISSING or inside or made.hooks_argument:
        low.compilation.written_out.add(key)
        return low.enter(callee, args, kwargs)
    handed = low.compilation.path(made.outcome) is not None  # it is an outside container itself
    known = handed or not isinstance(made.returned, Value)
    if known and (Effects().inside(made.function.body) or made.thrown):
        low.compilation.written_out.add(key)
        return low.enter(callee, args, kwargs)  # nobody would read a result of the call
    if known and not made.writes:
        return made.outcome  # no call is needed
    shared = low.compilation.share(made.function)
    result, *news = low.builder.call(shared, made.operands, again)
    if effects.demand.name in shared.op_names:  # what the call gives may be read by nobody
        low.builder.make(effects.demand, (result,), {})
    apply_writes(low, made, news)
    return made.outcome if known else link_aliases(low,
        low.unpacked(result, made.outcome, made.heap, known=True), made)  # fmt: skip


def _shows(low: Lowering, args: Sequence[Any], made: Any) -> bool:
    """Return True if a called function may return an argument or a view of one. Inlining it
    then tells which."""
    given = leaves(detach(tuple(args), low.state))
    return bool(made.memory & low.compilation.memory.of_all(given))


def _hands_on(low: Lowering, args: Sequence[Any], made: Any) -> bool:
    """Whether a Parameter that a called text writes is itself given to it, or its outcome."""
    cells = [low.compilation.cells[id(w.target), None] for w in made.writes if w.name is None]
    memory = low.compilation.memory.of_all
    sides = (tuple(args), low.state), (made.outcome, State({}, made.heap))
    return any(
        memory(leaves(detach(things, state))) & memory(state.heap[cell] for cell in cells)
        for things, state in sides
    )
