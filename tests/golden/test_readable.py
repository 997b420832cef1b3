"""The laws of generated source, applied to every golden text."""

from __future__ import annotations

import ast
import re

import pytest

from autodiff_compiler.emit.text.expressions import print_statement
from tests.golden.cells import FOLDER, GOLDEN, NAMES, Golden
from tests.text_rules import broken_rules

TEXTS = [(golden, golden.text("gradient.py")) for golden in GOLDEN]
every_text = pytest.mark.parametrize("golden,source", TEXTS, ids=NAMES)
TAG = re.compile(r"# (\d+)\| (.*)$")


def functions(source: str) -> list[ast.FunctionDef]:
    return [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]


@every_text
def test_numpy_is_the_only_import(golden: Golden, source: str) -> None:
    imports = [
        n for n in ast.walk(ast.parse(source)) if isinstance(n, (ast.Import, ast.ImportFrom))
    ]
    assert [ast.unparse(node) for node in imports] == ["import numpy as np"]


@every_text
def test_lines_fit(golden: Golden, source: str) -> None:
    assert not [line for line in source.splitlines() if len(line) > 100 or line != line.rstrip()]
    assert source.endswith("\n") and not source.endswith("\n\n")


@every_text
def test_names_and_copies(golden: Golden, source: str) -> None:
    assert not broken_rules(source, re.findall(r"\w+", golden.text("cell.py")))


@every_text
def test_every_variable_is_read(golden: Golden, source: str) -> None:
    for function in functions(source):
        names = [n for n in ast.walk(function) if isinstance(n, ast.Name)]
        read = {n.id for n in names if isinstance(n.ctx, ast.Load)}
        written = {n.id for n in names if isinstance(n.ctx, ast.Store)}
        targets = {n.target.id for n in ast.walk(function)
                   if isinstance(n, ast.For) and isinstance(n.target, ast.Name)}  # fmt: skip
        assert not written - read - targets, function.name


@every_text
def test_every_name_is_told(golden: Golden, source: str) -> None:
    """No name is free but those of the module itself, of arguments and of Python."""
    defined = {function.name for function in functions(source)} | {"np", "range", "reversed", "len"}
    for function in functions(source):
        names = [n for n in ast.walk(function) if isinstance(n, ast.Name)]
        written = {n.id for n in names if isinstance(n.ctx, ast.Store)}
        arguments = {argument.arg for argument in function.args.args}
        assert not {n.id for n in names} - written - arguments - defined, function.name


@every_text
def test_tags_quote_the_user(golden: Golden, source: str) -> None:
    """Each tag is a line of the Cell, word for word; statements of the user's own have one."""
    lines = golden.text("cell.py").splitlines()
    tags = [found for line in source.splitlines() if (found := TAG.search(line))]
    assert tags
    for tag in tags:
        assert lines[int(tag[1]) - 1].strip() == tag[2]


@every_text
def test_statement_and_adjoint_have_the_same_tag(golden: Golden, source: str) -> None:
    """What backward is tagged with stands in the text of the construct methods."""
    for part in re.split(r"^def ", source, flags=re.M)[1:]:
        if "_backward" not in part.partition("(")[0]:
            continue
        body = part.splitlines()[1:]
        first = next(n for n, line in enumerate(body) if "residuals" not in line)
        assert TAG.search(body[first]), f"the adjoint of {part.partition('(')[0]} begins untagged"


@every_text
def test_no_parenthesis_is_needless(golden: Golden, source: str) -> None:
    """Printed again by the compiler's own printer, every statement is as it was."""
    flat = re.sub(r"\s+", "", source)
    for function in functions(source):
        for node in ast.walk(function):
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.Return)):
                text = print_statement(node)
                assert print_statement(ast.parse(f"def f():\n    {text}").body[0].body[0]) == text
                assert re.sub(r"\s+", "", text) in flat


@every_text
def test_names_are_not_numbers(golden: Golden, source: str) -> None:
    names = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    assert not [name for name in names if re.fullmatch(r"_?(t|v|tmp)?_?\d*", name)]


def test_loops_are_tagged_in_both_halves() -> None:
    source = (FOLDER / "decay" / "gradient.py").read_text()
    for line in (19, 20, 21, 22, 24):
        assert source.count(f"# {line}| ") >= 2
