"""The wording of every message in the source: the field's terms, and none of the compiler's own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import autodiff_compiler
from autodiff_compiler import errors
from tests.architecture.prose import text_faults

ROOT = Path(autodiff_compiler.__file__).parent
#: What is called with a message: errors, and what keeps a cause and a cure for later.
CALLED = {
    *(kind.__name__ for kind in errors.by_code().values()),
    *(
        "fail",
        "CompileError",
        "ValueError",
        "TypeError",
        "Problem",
        "Unset",
        "CannotRoll",
        "Moving",
    ),
    *("translate", "translated", "refusal", "static", "NeedStatic", "objection_to"),
}
#: Words that say something to the authors of the compiler alone.
BANNED = re.compile(
    r"compiled text|generated source|inside a text|a text\b|the text of|this text\b"
    r"|\btold\b|tells it|only a run\b|at run time only|known while compiling"
    r"|on (one|the other|some|both) ways?\b|way through|ways only|stands in|stands? together"
    r"|goes through|gone through|go through|second name|may be the tensor"
    r"|lets nobody|shows another|keep the structure|operands of the kinds|takes on ever"
    r"|written out|has no operator|is left out here|holds itself"
    r"|\blent\b|stretched|spoil|(forward|backward) half|kept for|and it is given|layers and ways"
    r"|what it (takes|is given)|(?<!there )\bis no [a-z]|hangs on|not just what",
)


def text_of(node: ast.AST) -> str | None:
    """Return the text of a string, with CODE for each inserted value; None for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or "CODE" for part in node.values)
    if isinstance(node, ast.BinOp):
        left, right = text_of(node.left), text_of(node.right)
        return None if left is None or right is None else left + right
    return None


def sentences(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each message, its parts joined."""
    for argument in arguments(tree):
        parts = [argument]
        while parts:
            part = parts.pop()
            if (text := text_of(part)) is not None:
                yield getattr(part, "lineno", 0), text
            else:
                parts += ast.iter_child_nodes(part)


def messages(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each string in the arguments of what takes a message."""
    for argument in arguments(tree):
        for part in ast.walk(argument):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.lineno, part.value


def arguments(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield the arguments of each call of what takes a message."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        name = getattr(call.func, "id", getattr(call.func, "attr", ""))
        if name not in CALLED:
            continue
        yield from (*call.args, *(keyword.value for keyword in call.keywords))


FILES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))


@pytest.mark.parametrize("file", FILES)
def test_no_message_is_in_the_words_of_the_compiler(file: str) -> None:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    found = [f"{file}:{line}: {text}" for line, text in messages(tree) if BANNED.search(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("file", FILES)
def test_messages_follow_the_prose_rule(file: str) -> None:
    """A sentence has at most 20 words, no riddle as its opening, and no former word."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    found = [f"{file}:{line}: {fault}" for line, text in sentences(tree)
             for fault in text_faults(text)]  # fmt: skip
    assert not found, "\n".join(found)


def test_the_parts_of_a_message_are_joined() -> None:
    long = "word " * 12
    tree = ast.parse(f"low.fail(E, f'{long}{{x!r}} ' '{long}', 'a' + 'b')")
    assert [text for _, text in sentences(tree)] == [f"{long}CODE {long}", "ab"]
    assert text_faults(f"{long}CODE {long}")


def test_the_messages_are_found() -> None:
    """The walk meets the hundreds of messages that there are, those of every package."""
    met = {file: sum(1 for _ in messages(ast.parse((ROOT / file).read_text(encoding="utf-8"))))
           for file in FILES}  # fmt: skip
    assert sum(met.values()) > 1000
    for package in (
        "frontend",
        "operators",
        "ops",
        "numpy",
        "runtime",
        "nn",
        "common",
        "transforms",
    ):
        assert any(count for file, count in met.items() if file.startswith(package))
    assert BANNED.search("a list that only a run knows") and not BANNED.search("a run of numbers")
