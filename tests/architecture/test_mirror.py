"""Every module of the package has a test file of its name, or a row that says what covers it.

``tests/covering.py`` has the rows. A row is stale if its module is gone or has a test file of its
own. What a row claims is proven: a test of ``RUN_BY`` fails if it runs no function of its module
(``tests/conftest.py``); the other claims are proven here.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable
from fnmatch import fnmatch
from types import ModuleType
from typing import Any

import pytest

import autodiff_compiler.operators as _definitions  # noqa: F401  fills OPERATORS
from autodiff_compiler.emit.c.library import FUNCTIONS, needs
from autodiff_compiler.ir.opdef import OPERATORS, OpDef
from autodiff_compiler.passes.core.patterns import Rule
from autodiff_compiler.passes.registry import REGISTRY, Pass
from autodiff_compiler.passes.simplify.algebra.simplify_algebra import RULES
from autodiff_compiler.testing.samples import SAMPLES
from tests.covering import NAMED_IN, RUN_BY, TABLES
from tests.mirror import (
    PACKAGE,
    TESTS,
    modules,
    modules_by_test,
    own_test_file,
    recorded_modules,
)

MODULES = modules()
WITHOUT = [module for module in MODULES if not own_test_file(module).exists()]


def imported(module: str) -> ModuleType:
    return importlib.import_module(f"autodiff_compiler.{module}")


def tables_of(module: str) -> list[str]:
    return [pattern for pattern in TABLES if fnmatch(module, pattern)]


def test_every_module_has_a_test_or_a_row() -> None:
    rows = {**RUN_BY, **NAMED_IN}
    bare = [module for module in WITHOUT if module not in rows and not tables_of(module)]
    assert bare == [], "write tests/PATH/test_NAME.py, or a row in tests/covering.py"


def test_no_row_is_stale() -> None:
    for module in (*RUN_BY, *NAMED_IN):
        assert module in MODULES, f"{module} is gone"
        assert module in WITHOUT, f"{module} has a test file of its own"
    assert not RUN_BY.keys() & NAMED_IN.keys()
    for pattern in TABLES:
        assert any(fnmatch(module, pattern) for module in WITHOUT), pattern


def test_a_test_file_stands_in_a_folder_of_the_package() -> None:
    """Tests of the package as a whole have folders of their own."""
    folders = {path.parent.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py")}
    for path in TESTS.rglob("test_*.py"):
        folder = path.parent.relative_to(TESTS)
        if (PACKAGE / folder.parts[0]).is_dir() if folder.parts else False:
            assert folder in folders, f"{folder} is no package"


@pytest.mark.parametrize("test", sorted(set(RUN_BY.values())))
def test_a_test_that_a_row_names_is_there(test: str) -> None:
    file, _, name = test.partition("::")
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert name.partition("[")[0] in functions


def test_the_recorder_sees_functions_alone() -> None:
    """An import runs a module's body and its classes, but none of its functions."""
    with recorded_modules() as entered:
        OPERATORS["sin"].evaluate(0.5)
        exec("class Body: pass")
    assert "ir.opdef" in entered and not entered & {"passes.registry", "frontend.lower"}
    assert all(each <= set(MODULES) for each in modules_by_test().values())


# ---- modules of public names


def public_names(module: ModuleType) -> set[str]:
    """Returns the names in ``__all__``, or those of the functions and classes that it defines."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return set(listed)
    named = {name for name, each in vars(module).items() if name[0] != "_"
             and getattr(each, "__module__", "") == module.__name__}  # fmt: skip
    return named or {module.__name__.rpartition(".")[2]}


@pytest.mark.parametrize("module", NAMED_IN)
def test_the_named_files_use_every_public_name(module: str) -> None:
    used: set[str] = set()
    for file in NAMED_IN[module].split():
        used.update(re.findall(r"\w+", (TESTS / file).read_text(encoding="utf-8")))
    untested = {name for name in public_names(imported(module)) - used if not is_type(module, name)}
    assert untested == set()


def is_type(module: str, name: str) -> bool:
    """True for names of types alone, and for tables that others read by their items."""
    each = getattr(imported(module), name, None)
    return name.endswith("_METHODS") or type(each).__name__ == "TypeVar"


# ---- tables of cases


def has_samples(module: ModuleType) -> set[str]:
    """Returns the operators of a module that ``test_records.py`` leaves out."""
    from tests.operators.test_records import TABLE

    made = {each.name for each in vars(module).values() if isinstance(each, OpDef)}
    kinds = {name for name in made if name in TABLE}
    return {name for name in kinds if not SAMPLES.get(name)}


def has_cases(module: ModuleType) -> set[str]:
    """Returns the rules of a module without a case."""
    from tests.passes.simplify.algebra.test_simplify_algebra import CASES

    rules = [rule for each in vars(module).values() if isinstance(each, (tuple, list))
             for rule in each if isinstance(rule, Rule)]  # fmt: skip
    assert rules, "no rule"
    return {rule.name for rule in rules if rule in RULES} - set(CASES)


def is_sampled(module: ModuleType) -> set[str]:
    """Returns the operators of a table of samples that the common table lacks."""
    tables = [each for name, each in vars(module).items() if name.endswith("_SAMPLES")]
    assert tables, "no table"
    return {name for table in tables for name in table if SAMPLES.get(name) != table[name]}


def has_sweeps(module: ModuleType) -> set[str]:
    """Returns the C functions of a module that no test calls and no other function needs."""
    from tests.emit.c.library.test_table import TESTED

    needed = {name for each in FUNCTIONS for name in needs(each)}
    names = {each.name for each in module.FUNCTIONS} - needed
    return {name for name in names if name.rpartition("_")[0] not in TESTED}


PROOFS: dict[str, Callable[[ModuleType], set[str]]] = {
    "emit.c.library.*": has_sweeps,
    "operators.*": has_samples,
    "passes.simplify.algebra.*": has_cases,
    "testing.*_samples": is_sampled,
}


@pytest.mark.parametrize(
    ("module", "pattern"),
    [(module, pattern) for module in WITHOUT for pattern in tables_of(module)
     if module not in RUN_BY],
)  # fmt: skip
def test_a_table_has_a_case_for_each_item_of_a_module(module: str, pattern: str) -> None:
    assert (TESTS / TABLES[pattern]).is_file()
    assert PROOFS[pattern](imported(module)) == set()


# ---- passes


@pytest.mark.parametrize("each", REGISTRY, ids=lambda each: each.name)
def test_a_pass_has_a_test_file(each: Pass) -> None:
    """``tests/passes/test_examples.py`` runs each one by the fixture ``optimised``."""
    module = each.rewrite.__module__.partition(".")[2]
    assert own_test_file(module).is_file()


def test_nothing_else_is_left_out() -> None:
    left_out: set[Any] = {path.stem for path in PACKAGE.rglob("*.py")}
    left_out -= {module.rpartition(".")[2] for module in MODULES}
    assert left_out == {"__init__", "__main__"}
