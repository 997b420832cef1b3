"""The table of passes: complete, one name in four places, and the pipeline goes through it."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from autodiff_compiler import passes
from autodiff_compiler.cli import ExitCode, main
from autodiff_compiler.common.context import LEVELS
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.passes import manager
from autodiff_compiler.passes.manager import Step
from autodiff_compiler.passes.memory.assign_buffers import BufferPlan
from autodiff_compiler.passes.nests.pipeline import NEST_PASSES
from autodiff_compiler.passes.registry import BY_NAME, EVERY_LEVEL, REGISTRY, Pass, at_level
from autodiff_compiler.pipeline import PIPELINE

ROOT = Path(__file__).parents[2]
#: Packages whose public rewrites are passes. ``core`` has the traversals that passes share.
PACKAGES = ("simplify", "loops", "derivative", "schedule", "destinations", "memory")


def modules() -> Iterator[ModuleType]:
    for name in PACKAGES:
        package = importlib.import_module(f"{passes.__name__}.{name}")
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(found.name)


def rewrites(module: ModuleType) -> Iterator[str]:
    """Yield the public functions of a module that make a Function or a BufferPlan of one."""
    for name, each in inspect.getmembers(module, inspect.isfunction):
        if each.__module__ == module.__name__ and not name.startswith("_"):
            hints = inspect.get_annotations(each, eval_str=True)
            first = next(iter(inspect.signature(each).parameters), None)
            if hints.get(first) is Function and hints["return"] in (Function, BufferPlan):
                yield name


def every_step() -> Iterator[Step]:
    """Yield the steps of all stages, those inside transitions included."""

    def within(thing: Any) -> Iterator[Step]:
        if isinstance(thing, Step):
            yield thing
        elif isinstance(thing, tuple):
            for each in thing:
                yield from within(each)
        elif is_dataclass(thing):
            for each in fields(thing):
                yield from within(getattr(thing, each.name))

    for stage in PIPELINE.stages:
        yield from within(stage.steps)


@pytest.mark.parametrize("each", REGISTRY, ids=lambda each: each.name)
def test_a_pass_has_one_name(each: Pass) -> None:
    assert each.rewrite.__name__ == each.name
    assert each.rewrite.__module__.rpartition(".")[2] == each.name


@pytest.mark.parametrize("each", REGISTRY, ids=lambda each: each.name)
def test_a_pass_says_where_it_runs(each: Pass) -> None:
    assert each.summary[0].isupper() and each.summary.endswith(".")
    assert each.summary.count(". ") == 0 and len(each.summary) <= 95
    assert each.levels and each.levels <= EVERY_LEVEL == set(LEVELS)


def test_every_pass_is_in_the_table() -> None:
    defined = [name for module in modules() for name in rewrites(module)]
    assert sorted(defined) == sorted(each.name for each in REGISTRY) == sorted(BY_NAME)


def test_passes_that_run_in_rounds_are_those_that_repeat() -> None:
    assert list(manager.PASSES) == [each.name for each in REGISTRY if each.repeats]
    rounds = {name for step in every_step() if step.repeats for name in step.names}
    assert rounds == set(manager.PASSES)


def test_names_at_a_level() -> None:
    assert at_level(("cse", "dce", "stabilise"), 0) == ("dce", "stabilise")
    assert at_level(("dce", "cse"), 3) == ("dce", "cse")


def test_every_pass_runs_in_a_stage() -> None:
    assert {name for stage in PIPELINE.stages for name in stage.passes} == set(BY_NAME)


def test_steps_tell_passes_facts_that_they_take() -> None:
    for step in every_step():
        for name in step.names:
            assert set(step.facts) <= set(inspect.signature(BY_NAME[name].rewrite).parameters)


@pytest.mark.thorough
def test_a_pass_is_applied_by_the_manager_alone() -> None:
    """Other modules than passes and the registry name no pass but in a text."""
    wrong = []
    for path in sorted((ROOT / "autodiff_compiler").rglob("*.py")):
        if path.parent.parts[-1] == "passes" or "passes" not in path.parts:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            applied = (names & set(BY_NAME)) if path.name != "registry.py" else set()
            wrong += [f"{path.name}: {name}" for name in sorted(applied & imported(tree))]
    assert wrong == []


def imported(tree: ast.Module) -> set[str]:
    """Return the names that are imported from modules of passes."""
    return {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and ".passes." in (node.module or "")
        for alias in node.names
    }


def test_the_command_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes"]) == ExitCode.OK
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["name", "stage", "levels", "summary"]
    assert len(rows) == len(REGISTRY) + len(NEST_PASSES)
    in_order = sorted(REGISTRY, key=lambda each: PIPELINE.names.index(PIPELINE.stage_of(each.name)))
    for row, each in zip(rows, in_order):
        name, stage, *levels = row.removesuffix(each.summary).split()
        assert (name, stage) == (each.name, PIPELINE.stage_of(each.name))
        assert levels == [str(level) for level in sorted(each.levels)]


def test_the_page_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes", "--markdown"]) == ExitCode.OK
    page = (ROOT / "docs" / "passes.md").read_text(encoding="utf-8")
    assert page == capsys.readouterr().out, "run make passes-page"
