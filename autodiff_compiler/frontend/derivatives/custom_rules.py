"""Custom derivatives: the user's functions that give cotangents in place of a derived one.

A rule is lowered like any other function, with the inputs, the result and its cotangent as
arguments. It becomes an attribute of an operation ``custom_rule``. Its results are checked now: a
wrong number, shape or kind is refused with a caret in the user's function. If no gradient is
requested, custom derivatives are ignored.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.errors import CallError, UnknownAttribute, UnsupportedSyntax
from autodiff_compiler.frontend.abstract.values import (
    CONTEXT,
    Closure,
    ContainerMethod,
    CustomRule,
    HeapRef,
    leaves,
)
from autodiff_compiler.frontend.core.cotangents import (
    cotangent_type,
    custom_rule_operation,
    has_cotangent,
    without_gradient,
)
from autodiff_compiler.frontend.core.guards import MISSING
from autodiff_compiler.frontend.core.handlers import Handler
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.core.naming import slot_names
from autodiff_compiler.frontend.derivatives.cotangent_types import (
    beginning_of,
    check_cotangents,
    end_of,
)
from autodiff_compiler.ir.nodes import AnyOperand, Function, Region, Value
from autodiff_compiler.ir.rewrite import producers
from autodiff_compiler.ops.transforms.custom_rules import Context, is_apply

#: ``(lowering, inputs, outcome, cotangent of the outcome) -> cotangents of the inputs``
Run = Callable[[Any, Sequence[Any], Any, Any], Any]


def with_custom_rule(
    low: Lowering, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any], enter: Handler
) -> Any:
    """Enters a callee; the outcome has the derivative that the callee's own rule gives."""
    if is_apply(callee):
        return _enter_function(low, callee.__self__, args, kwargs)
    if hasattr(callee, "with_gradient"):
        return _enter_custom(low, callee, args, kwargs)
    outcome = enter(low, callee, args, kwargs)
    if isinstance(callee, Cell) and hasattr(callee, "bprop") and low.compilation.wants_rules():
        return _with_bprop(low, callee, args, kwargs, outcome)
    return outcome


def _with_bprop(
    low: Lowering, cell: Any, args: Sequence[Any], kwargs: Mapping[str, Any], outcome: Any
) -> Any:
    """Returns the outcome of a Cell with the derivative that its ``bprop`` gives."""
    path = low.compilation.path(cell)
    if path is not None:
        low.compilation.add_guard(f"type({path}).bprop", type(cell).bprop)
    inputs = _inputs_of(cell, cell.bprop, args, kwargs)

    def run(low: Any, seen: Sequence[Any], out: Any, ct: Any) -> Any:
        return low.enter(cell.bprop, [*seen, out, ct], {})

    return with_derivative(low, cell.bprop, inputs, outcome, run, "bprop")


def _enter_custom(
    low: Lowering, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Enters a function that returns its value and its derivative."""
    inner, path = callee.with_gradient, low.compilation.path(getattr(callee, "__func__", callee))
    if path is not None:
        low.compilation.register_path(inner, f"{path}.with_gradient")
    owner = getattr(callee, "__self__", None)
    both = low.enter(inner if owner is None else types.MethodType(inner, owner), args, kwargs)
    if not isinstance(both, tuple) or len(both) != 2 or not _is_text(both[1]):
        raise CallError(
            "a function with a custom gradient must return its value and a gradient "
            f"function, but this returns {low.described(both)}",
            "return a pair: return y, lambda dy: dx",
            end_of(inner),
        )
    outcome, rule = both

    def run(low: Any, seen: Sequence[Any], out: Any, ct: Any) -> Any:
        return low.call(rule, ct if isinstance(outcome, tuple) else (ct,), {})

    inputs = slot_names(callee, args, kwargs)
    return with_derivative(low, rule, inputs, outcome, run, "the custom gradient")


def _enter_function(
    low: Lowering, kind: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Enters ``Name.apply(*inputs)``: forward here, and backward as the derivative."""
    path = low.compilation.path(kind)
    for name in ("forward", "backward", "setup_context"):
        if path is not None and hasattr(kind, name):
            low.compilation.add_guard(f"{path}.{name}", getattr(kind, name))
    needs = tuple(isinstance(arg, Value) for arg in (*args, *kwargs.values()))
    ctx = low.allocate(CONTEXT, {"needs_input_grad": needs})
    if hasattr(kind, "setup_context"):
        outcome = low.enter(kind.forward, args, kwargs)
        low.enter(kind.setup_context, [ctx, tuple(args), outcome], {})
    else:
        outcome = low.enter(kind.forward, [ctx, *args], kwargs)
    left = dict(low.state.heap.pop(ctx))
    passive = left.pop("non_differentiable", ())
    several = isinstance(outcome, tuple)

    def run(low: Any, seen: Sequence[Any], out: Any, ct: Any) -> Any:
        context = _replaced(left, outcome, out)
        cts = ct if several else (ct,)
        return low.enter(kind.backward, [low.allocate(CONTEXT, context), *cts], {})

    inputs = slot_names(kind.apply, args, kwargs)
    after = with_derivative(
        low, kind.backward, inputs, outcome, run, f"backward of {kind.__name__}"
    )

    def marked(old: Any, new: Any) -> Any:
        return without_gradient(new) if any(old is one for one in passive) else new

    return tuple(map(marked, outcome, after)) if several else marked(outcome, after)


def context_attribute(low: Lowering, owner: HeapRef, name: str) -> Any:
    """Returns an attribute of the context of a ``Function``."""
    if hasattr(Context, name) and callable(getattr(Context, name)):
        return ContainerMethod(owner, name)
    context = low.state.heap[owner]
    if name not in context and name != "saved_tensors":
        raise low.fail(
            UnknownAttribute,
            f"backward reads ctx.{name}, which forward has not assigned",
            f"assign ctx.{name} in forward",
        )
    return context.get(name, ())


def context_method(low: Lowering, method: ContainerMethod, args: Sequence[Any]) -> None:
    """Calls a method of the context, such as ``ctx.save_for_backward(x)``."""
    context = dict(low.state.heap[method.ref])
    if method.name == "save_for_backward":
        context["saved_tensors"] = tuple(args)
    elif method.name == "mark_non_differentiable":
        context["non_differentiable"] = tuple(args)
    elif method.name == "set_materialize_grads" and args and args[0] is False:
        raise low.fail(
            UnsupportedSyntax,
            "set_materialize_grads(False) is not supported: the gradient of an "
            "unused output is always zeros, never None",
            "remove set_materialize_grads(False)",
        )
    low.state.heap[method.ref] = context


def with_derivative(
    low: Lowering,
    function: Any,
    inputs: Sequence[tuple[str, Any]],
    outcome: Any,
    run: Run,
    doing: str,
) -> Any:
    """Returns ``outcome`` with the derivative in ``inputs`` that ``run`` gives.

    ``function`` is the user's function; ``doing`` says in a few words what it computes.
    """
    out = low.packed(outcome)
    if not has_cotangent(out) or not low.compilation.wants_rules():
        return outcome
    likes = [like for _, like in inputs]
    given = [_as_argument(low, like) for like in likes]
    heap, place = dict(low.state.heap), beginning_of(function, low.builder.span)
    ct = Value(cotangent_type(out.type), f"d_{out.name or 'out'}", True)

    def lower(low: Any, args: Sequence[Any]) -> Any:
        *packed, out_here, ct_here = args
        with low.builder.at(place):
            seen = [low.unpacked(arg, like, heap) for arg, like in zip(packed, likes)]
            out_seen, ct_seen = (low.unpacked(v, outcome, heap) for v in (out_here, ct_here))
        cotangents = run(low, seen, out_seen, ct_seen)
        return check_cotangents(
            low, cotangents, packed, [name for name, _ in inputs], function, doing
        )

    names = (*(name for name, _ in inputs), out.name or "out", ct.name)
    with low.builder.block():  # all that it makes here is about the stand-in ``ct``
        custom = CustomRule(function, names, lower)
        rule, reads, wrt = lower_rule(low, custom, given, [out], [ct], doing)
    result = Value(out.type, out.name)
    low.builder.add(custom_rule_operation(rule, reads, wrt, [out], [result], low.builder.span))
    low.compilation.aliases.set_aliases(result, low.compilation.aliases.of(out))
    return low.unpacked(result, outcome, low.state.heap)


def lower_rule(
    low: Lowering,
    custom: CustomRule,
    given: Sequence[Any],
    outs: Sequence[Value],
    cts: Sequence[Value],
    doing: str,
) -> tuple[Function, list[AnyOperand], tuple[int, ...]]:
    """Returns the function of a custom derivative, which takes ``given``, ``outs`` and their
    cotangents. Also returns the operands that it reads besides the last two, and the positions of
    those with a cotangent.
    """
    outlined = low.outline(custom, [*given, *outs, *cts], {})
    if outlined.returned is MISSING or outlined.wrote:
        raise CallError(
            f"{doing} changes something outside of itself",
            "compute and return gradients only",
            end_of(custom.function),
        )
    (packed,) = outlined.function.returns
    maker = producers(outlined.function.body).get(packed)
    yields = () if maker is None else maker.operands
    last = [outlined.places[len(given) + k] for k in range(len(outs) + len(cts))]
    reads = [k for k in range(len(outlined.operands)) if k not in last]
    active = [place for place, arg in enumerate(given) if has_cotangent(arg)]
    pairs = [(outlined.places[k], ct) for k, ct in zip(active, yields) if ct is not None]
    params = tuple(outlined.function.params[k] for k in (*reads, *last))
    body = Region(params, outlined.function.body.ops, tuple(ct for _, ct in pairs))
    rule = low.compilation.unique_function(replace(outlined.function, body=body))
    wrt = tuple(reads.index(place) for place, _ in pairs)
    return rule, [outlined.operands[k] for k in reads], wrt


def _as_argument(low: Lowering, like: Any) -> Any:
    """Returns an input as an argument of the custom derivative: one operand, or a known value."""
    holds = any(isinstance(leaf, Value) for leaf in leaves(low.contents(like)))
    return low.packed(like) if holds else like


def _is_text(thing: Any) -> bool:
    return isinstance(thing, (Closure, types.FunctionType, types.MethodType))


def _replaced(contents: Mapping[str, Any], outcome: Any, out: Any) -> dict[str, Any]:
    """Returns the contents of a context, with the result as the custom derivative sees it."""
    old = outcome if isinstance(outcome, tuple) else (outcome,)
    new = out if isinstance(outcome, tuple) else (out,)
    table = {id(one): other for one, other in zip(old, new) if isinstance(one, Value)}

    def seen(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(seen, value))
        return table.get(id(value), value)

    return {name: seen(value) for name, value in contents.items()}


def _inputs_of(
    cell: Cell, bprop: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[tuple[str, Any]]:
    """Returns the inputs that a ``bprop`` is called with, with their names, in the order of
    construct's parameters. Those left to their defaults are among them if ``bprop`` has a place for
    them."""
    kinds = [parameter.kind for parameter in inspect.signature(bprop).parameters.values()]
    bound = inspect.signature(cell.construct).bind(*args, **kwargs)
    short = len(bound.args) + len(bound.kwargs) == len(kinds) - 2
    if not short:
        bound.apply_defaults()
    given = len(bound.args) + len(bound.kwargs)
    if given != len(kinds) - 2 and inspect.Parameter.VAR_POSITIONAL not in kinds:
        raise CallError(
            f"bprop takes {len(kinds)} arguments, but it must take the {given} inputs of "
            "construct, then out and dout",
            f"declare {given + 2} parameters after self: the inputs, out, dout",
            end_of(bprop, first=True),
        )
    names = [name for name, _ in slot_names(cell, bound.args, bound.kwargs)]
    return list(zip(names, (*bound.args, *bound.kwargs.values())))
