"""The prose rule of documents, commands and messages: the field's words, and plain sentences."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from autodiff_compiler.cli.parser import make_parser

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    ROOT / "benchmarks" / "README.md",
    ROOT / "examples" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "decisions").glob("*.md")),
    *sorted((ROOT / "docs" / "errors").glob("*.md")),
]
#: Former words of this project, and phrases that have to be solved. Inline code may contain them.
FORMER = re.compile(
    r"\b(told|lent|lends?|spoilt|spoils?|nobody|whoever|at hand|written out|handed (out|on)"
    r"|stretched|stretches|halves|lanes?|(each|every) turn|in (its|their) turn|a text|the texts?"
    r"|quick way|ahead of the loop|in parts|its like|their like|and its kin|and their kin"
    r"|while compiling|only a run|the run knows)\b",
    re.IGNORECASE,
)
#: Words that no sentence begins with.
OPENING = re.compile(r"(- )?(What|That|Such|So|Nobody|Whoever|Of what)\b")
#: The most words of a sentence. The rule is 20; this limit finds sentences that are far too long.
LONGEST = 36


def sentences(page: str) -> Iterator[tuple[str, bool]]:
    """Yields each sentence of a page without its code, and whether it is the cell of a table.

    >>> list(sentences("# Title\\n\\nOne `a. B` is here. Two.\\n\\n| cell | more |"))
    [('One X is here.', False), ('Two.', False), ('cell', True), ('more', True)]
    """
    page = re.sub(r"```.*?```|<!-- measured -->.*?<!-- end -->", "", page, flags=re.DOTALL)
    for block in re.split(r"\n(?=\n|- |\d+\. |\||#)", page):
        text = " ".join(block.strip("\n").split("\n"))
        if not text or text.startswith(("#", "    ", "|---")):
            continue
        text = re.sub(r"(`+).*?\1", "X", text)
        if text.startswith("|"):
            yield from ((cell.strip(), True) for cell in text.strip("|").split("|"))
        else:
            yield from ((each.strip(), False) for each in re.split(r"(?<=[.!?:;])\s+", text))


def faults(page: str) -> list[str]:
    """Returns what a page has against the rule, one line for each sentence."""
    found = []
    for sentence, is_cell in sentences(page):
        if former := FORMER.search(sentence):
            found.append(f"'{former[0]}' in: {sentence}")
        if OPENING.match(sentence):
            found.append(f"opening of: {sentence}")
        if not is_cell and len(sentence.split()) > LONGEST:
            found.append(f"{len(sentence.split())} words in: {sentence}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_documents_use_the_words_of_the_field(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if page.name == "glossary.md":
        text = text.partition("## Formerly")[0]  # the list of former words
    assert not faults(text), "\n".join(faults(text))


def test_the_rule_finds_faults() -> None:
    assert faults("What is large is lent.") == [
        "'lent' in: What is large is lent.",
        "opening of: What is large is lent.",
    ]
    assert faults("word " * 40)[0].startswith("40 words in: ")
    assert not faults("Large arrays are in the workspace.") and not faults("# What it does")


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
        assert not FORMER.search(shown), shown
        if action.default not in (None, [], False, argparse.SUPPRESS) and action.option_strings:
            assert f"(default: {action.default})" in shown, action.option_strings
