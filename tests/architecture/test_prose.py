"""The prose rule holds in documents, docstrings, comments, operators and the command line."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import autodiff_compiler.operators  # noqa: F401 (registers the operators)
from autodiff_compiler.cli.parser import make_parser
from autodiff_compiler.ir.opdef import OPERATORS
from tests.architecture.prose import (
    FORMER,
    comments,
    docstring_faults,
    docstrings,
    page_faults,
    predicates,
    text_faults,
)

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    ROOT / "benchmarks" / "README.md",
    ROOT / "examples" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
SOURCE = sorted((ROOT / "autodiff_compiler").rglob("*.py"))


def by_path(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=by_path)
def test_documents_follow_the_rule(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if page.name == "glossary.md":
        text = text.partition("## Formerly")[0]  # the list of former words
    assert not page_faults(text), "\n".join(page_faults(text))


def test_docstrings_follow_the_rule() -> None:
    faults = [
        f"{by_path(path)}:{line}: {fault}"
        for path in SOURCE
        for line, is_action, text in docstrings(ast.parse(path.read_text(encoding="utf-8")))
        for fault in docstring_faults(text, is_action)
    ]
    assert not faults, "\n".join(faults)


def test_the_docstring_of_a_predicate_begins_with_true() -> None:
    faults = [
        f"{by_path(path)}:{line}: {text.splitlines()[0]}"
        for path in SOURCE
        for line, text in predicates(ast.parse(path.read_text(encoding="utf-8")))
        if not text.startswith(("True if ", "True for "))
    ]
    assert not faults, "\n".join(faults)


def test_comments_follow_the_rule() -> None:
    faults = [
        f"{by_path(path)}:{line}: {fault}"
        for path in SOURCE
        for line, text in comments(path.read_text(encoding="utf-8"))
        for fault in text_faults(text)
    ]
    assert not faults, "\n".join(faults)


def test_the_pages_of_operators_follow_the_rule() -> None:
    faults = [
        f"{name}: {fault}" for name in OPERATORS for fault in text_faults(OPERATORS[name].doc)
    ]
    assert not faults, "\n".join(faults)


def test_the_rule_finds_faults() -> None:
    assert page_faults("What is large is lent.") == [
        "'lent' in: What is large is lent.",
        "opening of: What is large is lent.",
    ]
    assert page_faults("word " * 21)[0].startswith("21 words in: ")
    assert not page_faults("Large arrays are in the workspace.") and not page_faults(
        "# What it does"
    )
    assert not page_faults("| " + "word " * 21 + "|") and page_faults("| it was told |")
    assert docstring_faults("Whether x is large.", is_action=True)
    assert not docstring_faults("True if x is large.", is_action=True)
    assert not docstring_faults("The size of x.", is_action=False)


def options(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yields every option of a parser and of its commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from options(command)
        else:
            yield action


def test_every_option_has_a_help_that_names_its_default() -> None:
    for action in options(make_parser()):
        assert action.help, action
        shown = action.help.replace("%(prog)s", "")
        assert not text_faults(shown) and not FORMER.search(shown), shown
        if action.default not in (None, [], False, argparse.SUPPRESS) and action.option_strings:
            assert f"(default: {action.default})" in shown, action.option_strings


def test_every_command_has_a_description_that_follows_the_rule() -> None:
    commands = next(
        action
        for action in make_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    shown = {name: command.description for name, command in commands.choices.items()}
    shown |= {f"{each.dest} (help)": each.help for each in commands._choices_actions}
    for name, text in shown.items():
        assert text and not text_faults(text), (name, text and text_faults(text))
