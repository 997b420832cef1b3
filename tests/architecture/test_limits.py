"""Limits of what one reader can hold: complexity, packages, classes, exceptions from rules.

The complexity of functions itself is measured by ruff (rule C901 in ``pyproject.toml``, at most
15), without exceptions.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "autodiff_compiler"

#: The most modules that a package may hold, its ``__init__`` not counted.
MODULES = 15
#: The most methods of the record that every handler of the front end is given.
LOWERING_METHODS = 40
#: The most bases in a row, the class itself counted. Layers and errors have families of their own.
DEPTH = 3
#: How often a rule of a tool may be switched off in the package.
EXCEPTIONS = {"# noqa: C901": 0, "# fmt: skip": 0, "type: ignore": 4}
VAGUE = {"utils", "util", "helpers", "helper", "misc", "tmp"}
#: A docstring says what something is or does, not what it answers.
RIDDLE = re.compile(r"(What|That|Such|So|One|Whether|Nobody|Who|How)\b")

TEXTS = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
TREES = {path: ast.parse(text) for path, text in TEXTS.items()}


def test_packages_hold_few_modules() -> None:
    found = Counter(
        str(path.parent.relative_to(PACKAGE)) for path in TEXTS if path.name != "__init__.py"
    )
    assert not {name: count for name, count in found.items() if count > MODULES}


@pytest.mark.parametrize("mark", EXCEPTIONS)
def test_rules_are_seldom_switched_off(mark: str) -> None:
    found = [str(path) for path, text in TEXTS.items() for _ in range(text.count(mark))]
    assert len(found) <= EXCEPTIONS[mark], found


def test_ignored_type_errors_have_a_code() -> None:
    blanket = re.compile(r"type: ignore(?!\[)")
    wrong = [path.name for path, text in TEXTS.items() if blanket.search(text)]
    assert not wrong


def test_names_of_files_say_what_is_in_them() -> None:
    paths = [*TEXTS, *(ROOT / "tests").rglob("*.py")]
    assert not [str(path) for path in paths if path.stem in VAGUE]


def classes() -> dict[str, ast.ClassDef]:
    """Returns the classes of the package by name, layers and errors aside."""
    aside = (PACKAGE / "nn", PACKAGE / "errors.py")
    return {
        node.name: node
        for path, tree in TREES.items()
        if not any(path.is_relative_to(each) for each in aside)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }


def test_families_of_classes_are_flat() -> None:
    known = classes()

    def depth(name: str) -> int:
        bases = known[name].bases if name in known else []
        return (name in known) + max([depth(ast.unparse(base)) for base in bases], default=0)

    assert not {name: depth(name) for name in known if depth(name) > DEPTH}


def test_the_lowering_holds_state() -> None:
    body = classes()["Lowering"].body
    assert sum(isinstance(node, ast.FunctionDef) for node in body) <= LOWERING_METHODS


def test_docstrings_say_what_something_is_or_does() -> None:
    kinds = (ast.FunctionDef, ast.ClassDef, ast.Module)
    riddles = [
        f"{path.relative_to(ROOT)}: {text.splitlines()[0]}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, kinds) and (text := ast.get_docstring(node) or "")
        if RIDDLE.match(text)
    ]
    assert not riddles
