"""Markers of custom derivatives: each becomes its value, and the user's name stays."""

from __future__ import annotations

import pytest

from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.ir.printer import print_function
from autodiff_compiler.passes.simplify.drop_custom_rules import drop_custom_rules
from tests.passes.conftest import Optimised

RULE = """
func @rule(%x: f32[2], %out: f32[2], %d_out: f32[2]) -> (f32[2]) {
  %d_x: f32[2] = mul %d_out, 0.5
  return %d_x
}
"""
MARKED = "custom_rule %x, %v {rule=@rule, wrt=(0,)}"


def program(*lines: str, returns: str = "%y", type_: str = "f32[2]") -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"{RULE}\nfunc @f(%x: f32[2]) -> ({type_}) {{\n{body}\n  return {returns}\n}}\n"


def lines_of(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()[1:-2]]


@pytest.mark.parametrize(
    ("made", "marked", "wanted"),
    [
        ("%v", "%y!", "%y!"),  # the user's name wins over a made one
        ("%v!", "%y!", "%v!"),  # the first of two names of the user
        ("%v!", "%y", "%v!"),
        ("%v", "%y", "%v"),
    ],
)
def test_the_name_of_the_user_stays(
    made: str, marked: str, wanted: str, optimised: Optimised
) -> None:
    text = program(f"{made}: f32[2] = sin %x", f"{marked}: f32[2] = {MARKED}")
    after = optimised(text, drop_custom_rules)
    assert lines_of(print_function(after)) == [f"{wanted}: f32[2] = sin %x"]
    assert after.returns == after.body.ops[0].results


def test_a_parameter_keeps_its_own_name(optimised: Optimised) -> None:
    """Its marker has no operation that could take over the name."""
    after = optimised(program("%y!: f32[2] = stop_gradient %x"), drop_custom_rules)
    assert after.body.ops == () and after.returns == after.params


def test_markers_of_markers_and_inside_branches_and_loops(optimised: Optimised) -> None:
    text = program(
        "%v: f32[2] = sin %x",
        f"%m: f32[2] = {MARKED}",
        "%s: f32[2] = stop_gradient %m",
        "%c: f32[2], %n: int = for %p, %k in (0, 3, 1) carry (%h: f32[2] = %s) {",
        "%u: f32[2] = cos %h",
        "%g: f32[2] = stop_gradient %u",
        "yield carry %g",
        "}",
        "%y: f32[2] = add %c, %s",
    )
    after = optimised(text, drop_custom_rules)
    assert [op.name for op in after.body.walk()] == ["sin", "for", "cos", "add"]
    sine, _, total = after.body.ops
    assert total.operands[1] is sine.result


def test_a_function_without_markers_keeps_its_operations() -> None:
    plain = parse_function(program("%y: f32[2] = sin %x"))
    assert drop_custom_rules(plain).body.ops == plain.body.ops
