"""Memoised match failures: failed rules are tried again only if an answer has changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler.ir.nodes import Function, Op, Region
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.passes.core.patterns import Match, Rule, RuleSet

TEXT = """
func @f(%x: f32[2], %y: f32[2]) -> (f32[2]) {
  %a: f32[2] = sin %x
  %b: f32[2] = neg %a
  %c: f32[2] = mul %b, %y
  return %c
}
"""


def with_ops(function: Function, *ops: Op) -> Function:
    return replace(function, body=Region(function.params, ops, function.returns))


def of_a_sign(match: Match) -> Any:
    """``x * y`` for ``-sin(x) * y``, if nothing else reads the sine."""
    a = match.argument_of(match.operands[0], "neg")
    return match.operands[1] * a if a is not ... and match.uses.get(a) == 1 else None


@pytest.fixture
def tried() -> list[Op]:
    return []


@pytest.fixture
def table(tried: list[Op]) -> RuleSet:
    def rewrite(match: Match) -> Any:
        tried.append(match.op)
        return of_a_sign(match)

    return RuleSet([Rule("of a sign", "mul", rewrite)])


def test_failed_rules_are_not_tried_again(table: RuleSet, tried: list[Op]) -> None:
    function = parse_function(TEXT.replace("neg", "cos"))
    assert table.rewrite(table.rewrite(function)) is function
    assert tried == [function.body.ops[2]]


def test_another_maker_is_seen(table: RuleSet, tried: list[Op]) -> None:
    a, b, c = (given := parse_function(TEXT)).body.ops
    cosine = parse_function(TEXT.replace("neg", "cos")).body.ops[1]
    other = with_ops(given, a, replace(cosine, operands=b.operands, results=b.results), c)
    assert table.rewrite(other) is other
    assert [op.name for op in table.rewrite(given).body.ops] == ["sin", "neg", "mul"]
    assert tried[:2] == [c, c]
    assert table.rewrite(given).body.ops[2].operands == (given.params[1], a.result)


def test_another_number_of_uses_is_seen(table: RuleSet) -> None:
    a, b, c = (given := parse_function(TEXT)).body.ops
    more = replace(b, results=(parse_function(TEXT).body.ops[0].result,))
    read_twice = with_ops(given, a, b, more, c)
    assert table.rewrite(read_twice) is read_twice
    assert table.rewrite(given) is not given


def test_another_fact_is_seen() -> None:
    def rewrite(match: Match) -> Any:
        x, y = match.operands
        return y * x if match.safe_magnitude.get(x) else None

    table = RuleSet([Rule("moderate", "mul", rewrite)])
    function = parse_function(TEXT)
    factor = function.body.ops[1].result
    assert table.rewrite(function) is function
    assert table.rewrite(function, safe_magnitude={factor: True}) is not function
