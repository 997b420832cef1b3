"""The table of passes: complete, one name in four places, and the pipeline goes through it."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from autodiff_compiler import passes, pipeline
from autodiff_compiler.cli import ExitCode, main
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.passes import manager
from autodiff_compiler.passes.memory.assign_buffers import BufferPlan
from autodiff_compiler.passes.registry import BY_NAME, EVERY_LEVEL, REGISTRY, Pass, at_level

ROOT = Path(__file__).parents[2]
#: Packages whose public rewrites are passes. ``core`` has the traversals that passes share.
PACKAGES = ("simplify", "loops", "derivative", "schedule", "destinations", "memory")
#: The functions of the manager that apply a pass, their first argument.
THROUGH = {"run_pass", "run_pass_on_all"}


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


@pytest.mark.parametrize("each", REGISTRY, ids=lambda each: each.name)
def test_a_pass_has_one_name(each: Pass) -> None:
    assert each.rewrite.__name__ == each.name
    assert each.rewrite.__module__.rpartition(".")[2] == each.name


@pytest.mark.parametrize("each", REGISTRY, ids=lambda each: each.name)
def test_a_pass_says_where_it_runs(each: Pass) -> None:
    assert each.summary[0].isupper() and each.summary.endswith(".")
    assert each.summary.count(". ") == 0 and len(each.summary) <= 95
    assert each.stage in pipeline.STAGES
    assert each.levels and each.levels <= EVERY_LEVEL == set(pipeline.LEVELS)


def test_every_pass_is_in_the_table() -> None:
    defined = [name for module in modules() for name in rewrites(module)]
    assert sorted(defined) == sorted(each.name for each in REGISTRY) == sorted(BY_NAME)


def test_the_table_stands_in_the_order_of_stages() -> None:
    stages = [pipeline.STAGES.index(each.stage) for each in REGISTRY]
    assert stages == sorted(stages)


def test_passes_that_repeat_are_those_of_the_manager() -> None:
    assert list(manager.PASSES) == [each.name for each in REGISTRY if each.repeats]
    for names in (*pipeline.LEVELS.values(), *pipeline.LAST.values()):
        assert set(names) <= set(manager.PASSES)


def test_names_at_a_level() -> None:
    assert at_level(("cse", "dce", "stabilise"), 0) == ("dce", "stabilise")
    assert at_level(("dce", "cse"), 3) == ("dce", "cse")


def calls_around(tree: ast.Module) -> list[str]:
    """Return the uses of passes other than as first argument of the manager's functions, or in a
    tuple at the top of the module."""
    allowed = {
        id(each)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
        for each in node.value.elts
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            names = [each.id if isinstance(each, ast.Name) else "" for each in node.args[:1]]
            if isinstance(node.func, ast.Name) and node.func.id in THROUGH:
                allowed |= {id(node.args[0])}
            elif names and names[0] in THROUGH:  # partial(run_pass, ...)
                allowed |= {id(node.args[1])}
    return [
        f"{node.id} in line {node.lineno}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id in BY_NAME and id(node) not in allowed
    ]


def test_the_pipeline_applies_passes_through_the_manager() -> None:
    tree = ast.parse(Path(pipeline.__file__).read_text(encoding="utf-8"))
    assert calls_around(tree) == []
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    listed = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert [name for name in BY_NAME if name not in used | listed] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("run_pass(cse, f)", []),
        ("partial(run_pass, cse)", []),
        ("A = (cse, dce)", []),
        ("cse(f)", ["cse in line 1"]),
        ("on_all_functions(f, dce)", ["dce in line 1"]),
        ("run_pass(partial(cse), f)", ["cse in line 1"]),
    ],
)
def test_calls_around_the_manager_are_found(text: str, found: list[str]) -> None:
    assert calls_around(ast.parse(text)) == found


def test_the_command_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes"]) == ExitCode.OK
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["name", "stage", "levels", "summary"]
    assert len(rows) == len(REGISTRY)
    for row, each in zip(rows, REGISTRY):
        name, stage, *levels = row.removesuffix(each.summary).split()
        assert (name, stage) == (each.name, each.stage)
        assert levels == [str(level) for level in sorted(each.levels)]


def test_the_page_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes", "--markdown"]) == ExitCode.OK
    page = (ROOT / "docs" / "passes.md").read_text(encoding="utf-8")
    assert page == capsys.readouterr().out, "run make passes-page"
