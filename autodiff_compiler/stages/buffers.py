"""``PlanBuffers``: the memory of large results, planned over all functions of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.rewrite import map_functions
from autodiff_compiler.ir.verify.conflicts import Placement
from autodiff_compiler.passes.manager import run_pass
from autodiff_compiler.passes.memory.assign_buffers import BufferPlan
from autodiff_compiler.passes.registry import at_level
from autodiff_compiler.program import Program


@dataclass(frozen=True)
class PlanBuffers:
    """Assigns buffers: in callees, then in the forward, then in the backward function.

    functions  passes that run first, on every function; names with spaces between them.
    roots      passes that run then, on the roots.
    trial      a pass for the forward function that counts only if the plan takes fewer bytes.
    assign     the pass that assigns buffers. At levels at which it does not run, nothing does.
    """

    functions: str
    roots: str
    trial: str
    assign: str

    def __call__(self, program: Program) -> Program:
        if not at_level((self.assign,), program.request.opt_level):
            return program.with_plans(tuple(map(BufferPlan, program.functions)))
        return program.with_plans(tuple(_Planner(self, program.functions).cheapest()))


class _Planner:
    def __init__(self, passes: PlanBuffers, roots: Sequence[Function]) -> None:
        self.passes = passes
        self.planned_callees: dict[Function, Function] = {}
        self.forward, *self.others = map(self.with_planned_callees, roots)

    def with_planned_callees(self, function: Function) -> Function:
        return replace(function, body=map_functions(function.body, self.planned_callee))

    def planned_callee(self, function: Function) -> Function:
        """Returns a callee with buffers; it gets no workspace."""
        if function not in self.planned_callees:
            inner = _run(self.passes.functions, self.with_planned_callees(function))
            plan: BufferPlan = run_pass(self.passes.assign, inner, uses_workspace=False)
            self.planned_callees[function] = plan.function
        return self.planned_callees[function]

    def cheapest(self) -> list[BufferPlan]:
        """Returns the plans of all roots that take the fewest bytes, with the trial or without."""
        plain = self.prepared(self.forward)
        tried: Function = run_pass(self.passes.trial, plain, **self.facts_of_trial())
        plans = self.continued(run_pass(self.passes.assign, tried))
        if tried is plain:
            return plans
        first: BufferPlan = run_pass(self.passes.assign, plain)
        if sum(first.allocations) > sum(plans[-1].allocations):
            return plans  # the backward function would only add to them
        return min(self.continued(first), plans, key=lambda each: sum(each[-1].allocations))

    def facts_of_trial(self) -> dict[str, Any]:
        return {"backward": self.others[0]} if self.others else {}

    def continued(self, forward: BufferPlan) -> list[BufferPlan]:
        """Returns the plan of the forward function and those of the other roots."""
        plans = [forward]
        for root in self.others:
            prepared = self.prepared(root, plans[-1].placements)
            plans.append(run_pass(self.passes.assign, prepared, forward=plans[-1]))
        return plans

    def prepared(self, root: Function, placements: Sequence[Placement] = ()) -> Function:
        """Returns a root ready for assignment; ``placements`` are those of its residuals."""
        function = _run(
            self.passes.functions, root, {"assemble_in_place": {"placements": placements}}
        )
        return _run(self.passes.roots, function)


def _run(
    names: str, function: Function, facts: Mapping[str, Mapping[str, Any]] | None = None
) -> Function:
    for name in names.split():
        function = run_pass(name, function, **(facts or {}).get(name, {}))
    return function


__all__ = ["PlanBuffers"]
