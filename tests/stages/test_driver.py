"""The driver: steps in their order, scopes, levels and flags, faults named by their stage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler import ops, pipeline
from autodiff_compiler.errors import InternalError
from autodiff_compiler.interface.request import Request
from autodiff_compiler.ir.nodes import Function, Region, Value
from autodiff_compiler.ir.types import parse_type
from autodiff_compiler.passes import manager
from autodiff_compiler.passes.manager import Step, on_functions, on_last_root, on_roots
from autodiff_compiler.passes.registry import Pass
from autodiff_compiler.program import Program
from autodiff_compiler.stages.driver import Pipeline, Stage, passes_of

REQUEST = Request((0,), sens="ones")


def program(request: Request = REQUEST, *names: str) -> Program:
    """A program of functions that call each other as ``f.g`` says: f calls g."""
    made = pipeline.start(lambda x: ops.sin(x), request, [parse_type("f32[2]")])
    return replace(
        made, functions=tuple(replace(made.function, name=name) for name in names), after={}
    )


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The applications of the passes ``first``, ``second`` and ``rare``, which change nothing."""
    found: list[str] = []

    def noting(name: str) -> Callable[..., Function]:
        def rewrite(function: Function, **facts: int) -> Function:
            found.append(" ".join([name, function.name, *map(str, facts.values())]))
            return function

        return rewrite

    passes = {
        "first": Pass("first", "First.", noting("first"), frozenset({0, 1, 3}), repeats=True),
        "second": Pass("second", "Second.", noting("second"), repeats=True),
    }
    monkeypatch.setattr(manager, "BY_NAME", passes)
    monkeypatch.setattr(
        manager,
        "at_level",
        lambda names, level: tuple(name for name in names if level in passes[name].levels),
    )
    return found


def run(request: Request, *steps: Step) -> None:
    Stage("typed", None, "Typed.", *steps).run(program(request, "f", "g"))


def test_a_pass_runs_on_every_root_before_the_next_step(seen: list[str]) -> None:
    run(REQUEST, on_roots("first second"), on_functions("first"))
    assert seen == ["first f", "second f", "first g", "second g", "first f", "first g"]


def test_the_last_root_alone(seen: list[str]) -> None:
    run(REQUEST, on_last_root("first"))
    assert seen == ["first g"]


def test_levels_of_passes_and_of_steps(seen: list[str]) -> None:
    run(replace(REQUEST, opt_level=0), on_roots("first second"))
    run(REQUEST, on_roots("first", levels=frozenset({3})))
    assert seen == ["first f", "first g"]


def test_flags_and_facts(seen: list[str]) -> None:
    step = manager.until_stable("first", flag="stabilise")
    run(replace(REQUEST, stabilise=False), step)
    assert seen == []
    run(REQUEST, step, on_roots("second", value=7))
    assert seen == ["first f", "first g", "second f 7", "second g 7"]


def test_a_step_of_an_unknown_pass_is_a_fault() -> None:
    with pytest.raises(AssertionError):
        on_roots("no_such_pass")


def test_a_fault_is_named_by_its_stage() -> None:
    def broken(made: Program) -> Program:
        body = made.function.body
        foreign = Value(parse_type("f32[2]"), "foreign")
        return made.with_functions(
            (replace(made.function, body=Region(body.params, body.ops, (foreign,))),)
        )

    page = Pipeline(Stage("fine", "typed", "Fine."), Stage("late", "typed", "Broken.", broken))
    assert page.run(program(REQUEST, "f")).functions
    assert page.run(program(REQUEST, "f"), "fine", verified=True).after.keys() == {"fine"}
    with pytest.raises(InternalError, match=r"typed: late: @f.*used before it is defined"):
        page.run(program(REQUEST, "f"), verified=True)


def test_passes_inside_transitions_are_listed() -> None:
    primal, buffers = (
        next(stage for stage in pipeline.PIPELINE.stages if stage.name == name)
        for name in ("primal", "buffers")
    )
    assert primal.passes[0] == "inline_calls" and "inline_single_use" in primal.passes
    assert buffers.passes[-2:] == ("overlay_tapes", "assign_buffers")
    assert list(passes_of("cse and dce")) == ["cse", "dce"]
    assert list(passes_of((on_roots("cse"), ("dce", len)))) == ["cse", "dce"]
