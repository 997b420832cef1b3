"""Runs the stages of a pipeline, and verifies the IR after each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

from autodiff_compiler.interface.request import Request
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.opdef import double_precision
from autodiff_compiler.ir.verify.structure import verify
from autodiff_compiler.operators.core.declare import numpy_promotion
from autodiff_compiler.passes.manager import Scope, Step
from autodiff_compiler.passes.registry import BY_NAME
from autodiff_compiler.program import Program
from autodiff_compiler.runtime.late_imports import imported_late

Roots = tuple[Function, ...]
#: A step that takes a whole program: a function, or a record whose fields are steps and passes.
Transition = Callable[[Program], Program]


class Stage:
    """A part of a compilation that leaves the IR in a form of its own.

    name     the one name: in ``dump --stage``, in faults that the verifier finds, in the documents.
    form     the form of IR that is left, one of the verifier's; None if text is left.
    summary  one sentence.
    steps    passes and transitions, in the order in which they run.
    """

    def __init__(self, name: str, form: str | None, summary: str, *steps: Step | Transition):
        self.name, self.form, self.summary, self.steps = name, form, summary, steps

    def run(self, program: Program) -> Program:
        """Returns the program after this stage."""
        functions, request = program.functions, program.request
        for step in self.steps:
            if isinstance(step, Step):
                functions = _rewritten(functions, step, request)
            else:
                program = step(program.with_functions(functions))
                functions = program.functions
        return program.finished(self.name, functions)

    @property
    def passes(self) -> tuple[str, ...]:
        """The passes that run in this stage, in order, each once."""
        return tuple(dict.fromkeys(passes_of(self.steps)))


class Pipeline:
    """All stages, in order. The first one has no steps: it is what the front end returns."""

    def __init__(self, *stages: Stage):
        self.stages = stages

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the stages: the one list of them."""
        return tuple(stage.name for stage in self.stages)

    def run(self, program: Program, until: str | None = None, verified: bool = False) -> Program:
        """Runs the stages that have not run yet, up to ``until`` or to the end.

        verified   whether the IR is verified after each stage. A fault is an InternalError.
        """
        with numeric_rules(program.request):
            for stage in self.stages:
                if stage.name not in program.after:
                    program = stage.run(program)
                    if verified and stage.form is not None:
                        _verify(program, f"{stage.form}: {stage.name}")
                if stage.name == until:
                    break
        return program

    def has_pass(self, name: str) -> bool:
        """True if a pass on IR runs in one of the stages."""
        return any(name in stage.passes for stage in self.stages)

    def stage_of(self, name: str) -> str:
        """Returns the name of the first stage in which a pass runs."""
        return next(stage.name for stage in self.stages if name in stage.passes)


def native_step(name: str) -> Transition:
    """Returns a transition of ``stages/native.py``, which is imported when it first runs."""
    return imported_late("autodiff_compiler.stages.native", name)


@contextmanager
def numeric_rules(request: Request) -> Iterator[None]:
    """Puts the promotion of dtypes and the precision of a request in force within a block."""
    with numpy_promotion(request.numpy), double_precision(request.double):
        yield


def passes_of(thing: Any) -> Iterator[str]:
    """Yields the names of passes in a step, a record of steps, a string, or a tuple of these."""
    if isinstance(thing, Step):
        yield from thing.names
    elif isinstance(thing, str):
        yield from (name for name in thing.split() if name in BY_NAME)
    elif isinstance(thing, tuple):
        for each in thing:
            yield from passes_of(each)
    elif is_dataclass(thing):
        for each in fields(thing):
            yield from passes_of(getattr(thing, each.name))


def _rewritten(roots: Roots, step: Step, request: Request) -> Roots:
    if step.scope is Scope.LAST_ROOT:
        return (*roots[:-1], step.on(roots[-1], request))
    return tuple([step.on(root, request) for root in roots])


def _verify(program: Program, stage: str) -> None:
    placements = [(), *(plan.placements for plan in program.plans)]
    for root, in_root in zip(program.functions, [*placements, (), ()]):
        verify(root, stage, in_root)


__all__ = ["Pipeline", "Stage", "Transition", "native_step", "numeric_rules", "passes_of"]
