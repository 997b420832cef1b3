"""Thresholds stand in the cost model: no module of the compiler has a number of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "autodiff_compiler"
#: Parts of the package that decide nothing about generated text, and the record itself.
OTHERS = {"common", "cost_model", "nn", "numpy", "testing", "vocabulary"}
#: Numbers that are rules, and no thresholds: where each stands, and what it is.
RULES = {
    "scaling.LARGEST_DIVISOR": "whole numbers that every float holds",
    "control_flow.DETAILS": "the interface of compiled functions",
    "elementwise.HIGHEST_POLYGAMMA": "the room for coefficients in polygamma of the C library",
    "expressions.CONDITIONAL": "the precedence of operators of C",
    "expressions.PRIMARY": "the precedence of operators of C",
    "expressions.UNARY": "the precedence of operators of C",
    "expressions.UNMIXED": "the precedence of operators of C",
    "source.COLUMNS": "layout of C source",
    "return_codes.FIRST_ERROR": "the interface of compiled functions",
    "return_codes.INTERRUPTED": "the interface of compiled functions",
    "return_codes.NO_MEMORY": "the interface of compiled functions",
    "formula.STEPS": "numbers that every float holds",
    "formula.BITS": "numbers that every float holds",
    "self_test.ROUNDINGS": "the tolerance of a comparison",
    "self_test.ROUNDINGS_OF_ALL": "the tolerance of a comparison",
    "labels.LENGTH_LIMIT": "layout of names",
    "labels.WORD_LIMIT": "layout of names",
    "nodes.WHOLE": "whole numbers that every float holds",
    "printer.PADDING": "layout",
    "printer.PRIMARY": "the precedence of operators of printed nests",
    "printer.UNARY": "the precedence of operators of printed nests",
    "verifier.ALIGNMENT": "the interface of compiled functions",
    "memory_safety.ITERATIONS": "what the proof of memory safety needs",
    "magnitude.LEAST": "the least number under a root that a formula relies on",
    "zero_times_infinity.GUARD": "the largest number that guards a root of a variance",
    "table.LINE": "layout",
    "document.DEEPEST": "the indentation that Python reads",
    "document.GAP": "layout",
    "line_breaking.STEP": "layout",
    "line_breaking.WIDTH": "layout",
    "faults.DEEP": "the stack of a thread",
    "faults.FRAMES": "the stack of a thread",
    "faults.PATIENCE": "seconds that threads wait for each other",
    "faults.STACK": "the stack of a thread",
    "activations._SELU_ALPHA": "a constant of SELU",
    "activations._SELU_SCALE": "a constant of SELU",
    "losses._TINY": "a tolerance of MindSpore's formula",
    "disk_cache.FORMAT": "the version of a file's format",
    "cache.RETRIES": "how often a call meets what others change meanwhile",
    "span.LONGEST": "layout of messages",
    "span.SHOWN": "layout of messages",
    "inputs.SYMBOL_SIZE": "an example's size",
}


def numbers(tree: ast.Module) -> Iterator[str]:
    """The names at the top of a module that stand for numbers which the text gives."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        for target in targets:
            value = node.value  # type: ignore[attr-defined]
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = [*zip(target.elts, value.elts)]
            yield from (ast.unparse(name) for name, each in pairs if is_number(each))


def is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return is_number(node.left) and is_number(node.right)
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def test_modules_have_no_thresholds_of_their_own() -> None:
    found = {
        f"{path.stem}.{name}"
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in OTHERS
        for name in numbers(ast.parse(path.read_text(encoding="utf-8")))
    }
    new, gone = sorted(found - {*RULES}), sorted({*RULES} - found)
    assert not new, f"put them in cost_model/record.py, or say why they are rules: {new}"
    assert not gone


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A = 2**10", ["A"]),
        ("A, B = 3, 4.0", ["A", "B"]),
        ("A: int = -1", ["A"]),
        ("A = 'x'; B = (1, 2); C = f(3); D = True", []),
        ("def f():\n    a = 1", []),
    ],
)
def test_numbers_are_found(text: str, found: list[str]) -> None:
    assert [*numbers(ast.parse(text))] == found
