"""Transitions that differentiate: the derivatives in a program, then the derivative of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from autodiff_compiler.errors import CallError
from autodiff_compiler.interface.request import Request
from autodiff_compiler.ir.effects import ends
from autodiff_compiler.ir.nodes import Function, Op, Region, type_of
from autodiff_compiler.ir.types import NO_SENSITIVITY, holds_number, takes_sensitivity
from autodiff_compiler.passes.manager import Step, run_steps
from autodiff_compiler.passes.simplify.outline_deep_branches import may_inline
from autodiff_compiler.program import Program
from autodiff_compiler.span import NOWHERE
from autodiff_compiler.transforms.expand_derivatives import expand_derivatives
from autodiff_compiler.transforms.reverse.sweep import gradient_function, split
from autodiff_compiler.transforms.tangent.sweep import tangent_function

Steps = tuple[Step, ...]


def may_inline_call(call: Op) -> bool:
    """True if a call may be inlined: it is not rematerialised, and its callee is not deep."""
    return "recompute" not in call.attrs and may_inline(call.attrs["callee"])


def may_inline_generated_call(call: Op) -> bool:
    """True if a call may be inlined and is no line of a source function."""
    return may_inline_call(call) and NOWHERE in (call.span, call.attrs["callee"].span)


@dataclass(frozen=True)
class ExpandDerivatives:
    """Replaces ``grad``, ``jvp`` and ``vmap`` in a program by the functions that they stand for.

    simplify_function  runs on every function before it is differentiated.
    prepare_callee     runs on the functions whose derivative is taken, not on their callees.
    """

    simplify_function: Steps
    prepare_callee: Steps

    def __call__(self, program: Program) -> Program:
        before, request = program.function, program.request
        after = expand_derivatives(
            before,
            simplify_function=_rewrite(self.simplify_function, request),
            prepare_callee=_rewrite(self.prepare_callee, request),
        )
        return program.with_functions((_with_span(after, before),))


def check_differentiable(program: Program) -> Program:
    """Refuses gradients in constants, and gradients of functions that return no number."""
    typed, primal, request = program.typed, program.function, program.request
    for position in request.positions:
        if position not in typed.places:
            raise CallError(
                f"argument {position} is used as a compile-time constant, so it has no gradient",
                "pass the constant, such as int(n), as a separate argument",
                typed.function.span,
            )
    if not request.differentiates or request.tangent:
        return program
    output = type_of(program.output)
    if request.takes_sens and not takes_sensitivity(output):
        raise CallError(*NO_SENSITIVITY, primal.span)
    if not holds_number(output) and not any(map(ends, primal.body.ops)):
        raise CallError(
            "the function returns no number, so there is nothing to differentiate",
            "return a tensor or a number; check for a missing 'return'",
            primal.span,
        )
    return program


@dataclass(frozen=True)
class Differentiate:
    """Replaces the primal by its forward and backward function, by its tangent, or leaves it.

    jointly           True if value and gradient are one function, except those of a pullback.
    simplify_each     runs on each of the two before residuals are read off.
    simplify_jointly  runs on both as one function before it is partitioned.
    """

    simplify_each: Steps = ()
    simplify_jointly: Steps = ()
    jointly: bool = False

    def __call__(self, program: Program) -> Program:
        primal, request = program.function, program.request
        # With aux the first output stands once more after the value: that is differentiated.
        output = int(request.aux)
        writes = range(1 + output, len(primal.returns))
        if request.tangent:
            tangent = tangent_function(primal, program.wrt, [output])
            return program.with_functions((_with_returns(tangent, [0, *writes, -1]),))
        if not request.differentiates:
            return program.with_functions((replace(primal, role="value"),))
        value = [*([0] if request.returns_value else []), *writes]
        if self.jointly and request.sens != "later":
            gradient = gradient_function(
                primal, program.wrt, request.takes_sens, value=True, outputs=(output,)
            )
            cotangents = range(-len(program.wrt), 0)
            return program.with_functions((_with_returns(gradient, [*value, *cotangents]),))
        functions = split(
            primal,
            program.wrt,
            request.takes_sens,
            value,
            (output,),
            simplify_each=_rewrite(self.simplify_each, request),
            simplify_jointly=_rewrite(self.simplify_jointly, request),
        )
        return program.with_functions(functions)


def _rewrite(steps: Steps, request: Request) -> Callable[[Function], Function]:
    return partial(_run, steps, request)


def _run(steps: Steps, request: Request, function: Function) -> Function:
    return run_steps(steps, function, request)


def _with_span(function: Function, before: Function) -> Function:
    """Returns ``function`` with the place of its source function, if it has no place in a file."""
    spans = [callee.span for callee in before.callees() if callee.span != NOWHERE]
    return replace(function, span=spans[-1]) if function.span == NOWHERE and spans else function


def _with_returns(function: Function, places: Sequence[int]) -> Function:
    """Returns ``function`` with only these of its returns."""
    body = function.body
    yields = tuple(body.yields[place] for place in places)
    return replace(function, body=Region(body.params, body.ops, yields))


__all__ = [
    "Differentiate",
    "ExpandDerivatives",
    "check_differentiable",
    "may_inline_call",
    "may_inline_generated_call",
]
