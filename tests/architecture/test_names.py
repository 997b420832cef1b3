"""Names in the package say what a thing is, not that it was made or found.

The glossary lists the words that were replaced by those of the field. Its tables are true: what
stands on the right exists, and what stands on the left does not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator
from pathlib import Path

import pytest

from autodiff_compiler.cost_model.record import Costs
from autodiff_compiler.operators import OPERATORS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "autodiff_compiler"
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
#: Participles that fit every value, and so name none.
VAGUE = frozenset("made found told kept whole settled placed held spot own turned gone".split())
#: Words of our own, in names of operators and thresholds, that have a name in the field.
FORMER = frozenset("told lent kept lane cut push share spoilt filled ruled".split())


def names_of(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yields every name that ``tree`` binds, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname, node.lineno
        elif isinstance(node, (ast.MatchAs, ast.MatchStar, ast.ExceptHandler)) and node.name:
            yield node.name, node.lineno


def vague(tree: ast.AST) -> list[tuple[str, int]]:
    return [(name, line) for name, line in names_of(tree) if name.strip("_") in VAGUE]


def test_no_name_says_only_that_something_was_made() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line} {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for name, line in vague(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not wrong


@pytest.mark.parametrize(
    "text",
    [
        "made = f(x)",
        "def f(found): pass",
        "def _own(): pass",
        "self._held = 3",
        "for place, kept in pairs: pass",
        "while (told := f()): pass",
        "f(lambda found: found[0])",
        "from a import b as whole",
    ],
)
def test_each_way_to_bind_a_name_is_seen(text: str) -> None:
    assert len(vague(ast.parse(text))) == 1


def test_names_of_operators_and_thresholds_are_the_fields_words() -> None:
    names = [*OPERATORS, *Costs.__annotations__]
    assert not [name for name in names if FORMER & set(name.split("_"))]


def former(head: str) -> dict[str, str]:
    """Returns the rows of the table in the glossary that begins with ``head``: former name, new."""
    table = GLOSSARY.split(f"| {head} | now |\n")[1].split("\n\n")[0].splitlines()[1:]
    rows = (re.findall(r"[\w/]+", re.sub(r"\(.*?\)", "", row)) for row in table)
    return {before: now for before, now in rows}


@pytest.mark.parametrize(
    ("head", "names"),
    [("operator in IR", OPERATORS), ("threshold", Costs.__annotations__)],
)
def test_the_glossary_has_former_names(head: str, names: Container[str]) -> None:
    table = former(head)
    assert table and all(name in names for name in table.values())
    assert not [name for name in table if name in names]


def test_the_glossary_has_former_modules() -> None:
    table = former("module")
    assert table and not [name for name in table.values() if not _is_module(name)]
    # A module that became a package of the same name is no longer a file.
    assert not [name for name in table if (PACKAGE / f"{name}.py").exists()]


def _is_module(name: str) -> bool:
    return (PACKAGE / f"{name}.py").exists() or (PACKAGE / name).is_dir()
