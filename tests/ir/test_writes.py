"""The proof of writes, held against loops that meet the same row twice."""

from __future__ import annotations

import pytest

from autodiff_compiler.errors import CompilerBug
from autodiff_compiler.ir.text import parse_function
from autodiff_compiler.ir.verify import verify
from tests.passes.test_reuse import ROWS, SHARED, by_rows, reused


def by_counted_rows(bounds: str) -> str:
    """As ``by_rows``, with rows that are known by the user's own count."""
    rows = by_rows().replace("(299, -1, -1)", bounds).replace(" read (%old: f32[100] = %a) {",
        " {\n  %old: f32[100] = index %a, %i {index=(('op', 0),)}")  # fmt: skip
    return rows.replace("set_item %c, %v, %p", "set_item %c, %v, %i")


@pytest.mark.parametrize("bounds", ["(0, 300, 1)", "(299, -1, -1)", "(-300, 0, 1)", "(5, 9, 2)"])
def test_a_loop_counts_the_rows_that_it_sets(bounds: str) -> None:
    assert SHARED in reused(by_counted_rows(bounds))


@pytest.mark.parametrize("bounds", ["(-300, 300, 1)", "(299, -301, -1)", "(-1, %n, 1)"])
def test_a_row_that_is_counted_from_both_ends_is_met_twice(bounds: str) -> None:
    text = (
        by_counted_rows(bounds).replace("@f(", "@f(%n: int, ").replace(", %n: int =", ", %m: int =")
    )
    assert SHARED not in reused(text)
    empty = f"%e: {ROWS} = empty {{dtype='float32', shape=(300, 100)}}"
    with pytest.raises(CompilerBug, match="%a.* read after it was overwritten"):
        verify(parse_function(text.replace(empty, SHARED)), "lowered")
