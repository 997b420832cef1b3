"""Trip counts: those of Python's ranges, or None if only the run knows."""

from __future__ import annotations

import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler.analysis.trip_count import (
    is_worth_stacking,
    surely_reads,
    tape_length,
    trip_count,
)
from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.ir.nodes import Loop
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.ir.types import parse_type


def loop(bounds: str = "0, 4, 1", until: str = "", line: str = "%s: f32[2] = sin %c") -> Loop:
    function = parse_function(f"""
func @f(%x: f32[2], %n: int, %p: bool) -> (f32[2]) {{
  %y: f32[2], %m: int = for %q, %k in ({bounds}) carry (%c: f32[2] = %x) {{
    {line}
    yield carry %s{until}
  }}
  return %y
}}
""")
    return Loop(function.body.ops[-1])


@pytest.mark.parametrize(
    "bounds", [(0, 4, 1), (4, 0, 1), (4, 0, -1), (1, 10, 3), (10, 1, -4), (0, 0, 1), (3, 4, 9)]
)
def test_numbers_count_as_in_a_range(bounds: tuple[int, int, int]) -> None:
    assert trip_count(loop(", ".join(map(str, bounds)))) == len(range(*bounds))


def test_counts_that_only_the_run_knows() -> None:
    assert trip_count(loop("0, %n, 1")) is None
    assert trip_count(loop(until=" until %p")) is None  # the loop may end earlier


@pytest.mark.parametrize(
    ("bounds", "line", "reads"),
    [
        ("0, 4, 1", "%s: f32[2] = sin %c", True),
        ("0, 0, 1", "%s: f32[2] = sin %c", False),
        ("0, %n, 1", "%s: f32[2] = sin %c", False),
        ("0, 4, 1", "%s: f32[2] = sin %x", False),
        ("0, 4, 1", "%t: (f32[2], f32[2]) = make_tuple %c, %x\n%s: f32[2] = item %t {key=1}",
         False),  # moved, not computed with
        ("0, 4, 1", "%s: f32[2] = if %p {\n%a: f32[2] = sin %c\nyield %a\n} else {\nyield %x\n}",
         False),
    ],
)  # fmt: skip
def test_a_carry_that_an_iteration_surely_reads(bounds: str, line: str, reads: bool) -> None:
    each = loop(bounds, line=line)
    assert surely_reads(each, each.carry_params[0]) is reads


def test_a_tape_of_known_length_is_an_array_if_its_rows_are_large() -> None:
    with changed_costs(tape_row_bytes=100):
        assert tape_length(loop(), parse_type("f32[25]")) == 4
        assert tape_length(loop(), parse_type("f32[24]")) is None
        assert tape_length(loop("0, %n, 1"), parse_type("f32[25]")) is None
        assert tape_length(loop("0, 0, 1"), parse_type("f32[25]")) is None


def test_stacked_factors_are_smaller_than_the_matrix() -> None:
    for rows, inner, columns in ((1, 2, 3), (8, 16, 16), (9, 16, 16), (7, 16, 16)):
        smaller = rows * inner + rows * columns < inner * columns
        assert is_worth_stacking(rows, inner, columns) is smaller
