"""Hooks: functions that run where a value, a Tensor's cotangent or a Cell passes by.

A hook of the backward pass is a custom derivative of the identity. It is compiled if its source can
be, and if all that it does is compute or print. Otherwise the Python function is an input of the
generated function, which calls it at that place (``docs/decisions/0010``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.hooks import Hook
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import CompileError, UnsupportedSyntax
from autodiff_compiler.frontend.abstract.values import (
    CustomRule,
    LoopNotRollable,
    NeedsKnownValue,
    State,
    UsesPoison,
    leaves,
    rebuild,
)
from autodiff_compiler.frontend.calls.python_callbacks import call_python
from autodiff_compiler.frontend.core.cotangents import (
    cotangent_type,
    custom_rule_operation,
    has_cotangent,
)
from autodiff_compiler.frontend.core.handlers import Handler
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.derivatives.cotangent_types import check_cotangents
from autodiff_compiler.frontend.derivatives.custom_rules import lower_rule, with_derivative
from autodiff_compiler.ir.nodes import Op, Value
from autodiff_compiler.ir.rewrite import fresh
from autodiff_compiler.operators.core.control import undefined


class CompiledHookHandle:
    """The handle that ``x.register_hook(h)`` returns in compiled code."""

    def __init__(self, low: Lowering, value: Value, op: Op):
        self.low, self.entry, self.depth = low, (value, op), low.depth

    def remove(self) -> None:
        """Removes the hook from the whole function."""
        if self.low.depth != self.depth:
            raise UnsupportedSyntax(
                "a hook is removed in a branch or loop other than the one that registered it",
                "call remove() in the same branch or loop as register_hook()",
            )
        self.low.hooks = [entry for entry in self.low.hooks if entry[1] is not self.entry[1]]


def with_cell_hooks(
    low: Lowering, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any], enter: Handler
) -> Any:
    """Enters a callee; the hooks of a Cell run around it."""
    if not isinstance(callee, Cell):
        return enter(low, callee, args, kwargs)
    low.compilation.guard_hooks(callee)
    args = tuple(args)
    for hook in _of_kind(callee, "forward_pre"):
        answer = _run_hook(low, hook.function, [callee, args])
        if answer is not None:
            args = answer if isinstance(answer, tuple) else (answer,)
    behind = _of_kind(callee, "backward")
    if behind and low.compilation.wants_rules():
        outcome = _enter_watched(low, callee, behind, args, kwargs, enter)
    else:
        outcome = _enter_hooked(low, callee, args, kwargs, enter)
    for hook in reversed(_of_kind(callee, "backward_pre")):
        outcome = with_hook(low, hook.function, outcome, (callee,), in_tuple=True)
    return outcome


def _enter_hooked(
    low: Lowering, cell: Cell, args: tuple, kwargs: Mapping[str, Any], enter: Handler
) -> Any:
    """Enters a Cell; its forward hooks run behind it."""
    outcome = enter(low, cell, args, kwargs)
    for hook in _of_kind(cell, "forward"):
        answer = _run_hook(low, hook.function, [cell, args, outcome])
        outcome = outcome if answer is None else answer
    return outcome


def _enter_watched(
    low: Lowering,
    cell: Cell,
    hooks: Sequence[Hook],
    args: tuple,
    kwargs: Mapping[str, Any],
    enter: Handler,
) -> Any:
    """Enters a Cell whose backward hooks see the cotangents of its inputs and of its output.

    The rule at the inputs needs the output's cotangent. It is the cotangent of a value that links
    the two.
    """
    inputs = [x for x in leaves(args) if isinstance(x, Value) and has_cotangent(x)]
    seen: dict[Any, Value] = {value: fresh(value) for value in inputs}
    entered = rebuild(args, iter([seen.get(leaf, leaf) for leaf in leaves(args)]))
    with low.builder.block() as ops:
        outcome = _enter_hooked(low, cell, entered, kwargs, enter)
        out = low.packed(outcome)
        if not has_cotangent(out):
            low.builder.blocks[-2].extend(ops)
            return outcome
        link = Value(cotangent_type(out.type), "link")
        after = _linked(low, outcome, link)
    hook_text = hooks[0].function

    def lower(low: Any, given: Sequence[Any]) -> Any:
        cotangents, ct = tuple(given[2 * len(inputs) + 1 : -1]), given[-1]
        cts = low.unpacked(ct, outcome, low.state.heap)
        cts = cts if isinstance(cts, tuple) else (cts,)
        for hook in hooks:
            new = _run_hook(low, hook.function, [cell, cotangents, cts], like=cotangents)
            cotangents = cotangents if new is None else new if isinstance(new, tuple) else (new,)
        return check_cotangents(low, cotangents, given[: len(inputs)], names, hook_text, "the hook")

    names = [value.name or "x" for value in inputs]
    outs, cts = [*seen.values(), link], [fresh(value) for value in (*inputs, link)]
    with low.builder.block():
        custom = CustomRule(hook_text, (*names, *names, "link", *names, "d_out"), lower)
        rule, reads, wrt = lower_rule(low, custom, inputs, outs, cts, "the hook")
    values = [*inputs, low.builder.make(undefined, (), {})]
    low.builder.add(custom_rule_operation(rule, reads, wrt, values, outs, low.builder.span))
    low.builder.ops.extend(ops)
    return after


def _linked(low: Lowering, outcome: Any, link: Value) -> Any:
    """Returns ``outcome``, whose cotangent goes to ``link`` as well."""

    def run(low: Any, seen: Sequence[Any], out: Any, ct: Any) -> Any:
        return ct, ct

    return with_derivative(low, None, [("link", link), ("out", outcome)], outcome, run, "the hook")


def with_hook(
    low: Lowering, hook: Any, value: Any, before: tuple = (), in_tuple: bool = False
) -> Any:
    """Returns ``value`` with a hook on its cotangent, which is called with ``before`` and that."""

    def run(low: Any, seen: Sequence[Any], out: Any, ct: Any) -> Any:
        given = ct if isinstance(ct, tuple) or not in_tuple else (ct,)
        answer = _run_hook(low, hook, [*before, given], like=given)
        answer = given if answer is None else answer
        bare = in_tuple and not isinstance(ct, tuple)
        return (answer[0] if bare and isinstance(answer, tuple) else answer,)

    return with_derivative(low, hook, [("x", value)], value, run, "the hook")


def register_hook(low: Lowering, value: Value, hook: Any) -> CompiledHookHandle:
    """Puts a hook on the whole cotangent of ``x``, wherever it is used: ``x.register_hook(h)``."""
    made_here = any(value in op.results for op in low.builder.ops)
    if low.depth and not made_here:
        raise low.fail(
            UnsupportedSyntax,
            "the hook is registered in another loop or branch than the one that "
            f"computes '{value.name}'",
            "call register_hook() right after the Tensor is computed",
        )
    return CompiledHookHandle(low, value, _add_hook(low, value, hook))


def _add_hook(low: Lowering, value: Value, hook: Any) -> Op:
    """Notes a hook, to be put right behind the operation that makes ``value``."""
    with low.builder.block() as ops:
        with_hook(low, hook, value)
    (op,) = ops
    known = {thing for _, thing in low.hoisted.values()} | {*low.parameters, value}
    strange = [x for x in op.operands if isinstance(x, Value) and x not in known]
    if strange:
        raise low.fail(
            UnsupportedSyntax,
            f"the hook reads '{strange[0].name}', which may not be available yet in "
            "the backward pass",
            "use ops.InsertGradientOf, which reads its values at the point of the call",
        )
    low.hooks.append((value, op))
    outside = value not in {thing for _, thing in low.hoisted.values()}
    low.hooks_argument |= outside and low.builder.producer(value) is None
    return op


def add_outside_hooks(low: Lowering, arguments: Mapping[int, Any]) -> None:
    """Adds the hooks of arguments and of Tensors from outside; ``arguments`` are the values of the
    caller, by the number of the parameter."""
    hooks = [
        (low.parameters[number], hook)
        for number, value in arguments.items()
        for hook in _outside_hooks(low.parent, value)
    ]
    hooks += [
        (value, hook)
        for thing, value in low.hoisted.values()
        for hook in getattr(thing, "_hooks", ())
    ]
    if hooks and low.compilation.wants_rules():
        for value, hook in hooks:
            _add_hook(low, value, hook.function)


def _outside_hooks(low: Lowering | None, value: Any) -> Sequence[Hook]:
    """Returns the hooks of a Tensor from outside, or of an argument of the compiled function."""
    thing = low.original(value) if low and isinstance(value, Value) else value
    if isinstance(thing, Tensor):
        return thing._hooks
    if low is None or not isinstance(thing, Value):
        return ()
    if low.parent is None:
        slot = low.compilation.slots.get(thing)
        return () if slot is None else low.compilation.hooks.get(slot, ())
    return _outside_hooks(
        low.parent, low.caller_values.get(thing, low.substituted.get(thing, thing))
    )


def _run_hook(low: Lowering, hook: Any, args: Sequence[Any], like: Any = None) -> Any:
    """Returns the result of a hook: compiled, or else by calling the Python function at run time.

    ``like`` are the cotangents that such a function may replace; without it it may only look.
    """
    base, problems_before = low.state.fork(), len(low.compilation.problems)
    guards, strict = dict(low.compilation.guards), low.compilation.strict
    low.compilation.strict = True
    try:
        with low.builder.block() as ops:
            answer = low.enter(hook, args, {})
        if len(low.compilation.problems) == problems_before and _unchanged(low, base):
            low.builder.ops.extend(ops)
            return answer
    except (CompileError, UsesPoison, NeedsKnownValue, LoopNotRollable):
        pass
    finally:
        low.compilation.strict = strict
    del low.compilation.problems[problems_before:]
    low.compilation.guards, low.state = guards, base
    return call_python(low, hook, args, like)


def _unchanged(low: Lowering, base: State) -> bool:
    now = low.state.heap
    return all(now.get(ref) is contents for ref, contents in base.heap.items())


def _of_kind(cell: Cell, kind: str) -> list[Hook]:
    """Returns the hooks of a Cell of one kind."""
    return [hook for hook in cell._hooks if hook.kind == kind]
