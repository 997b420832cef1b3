"""The proof of memory safety: rows that a loop reads twice, parts of a row, and other memory."""

from __future__ import annotations

import pytest

from autodiff_compiler.errors import InternalError
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.ir.verify.structure import verify
from tests.passes.memory.test_assign_buffers import ROWS, SHARED, by_rows, reused


def by_counted_rows(bounds: str) -> str:
    """A loop as ``by_rows``, whose rows are numbered by the user's index."""
    rows = by_rows().replace("(299, -1, -1)", bounds).replace(" read (%old: f32[100] = %a) {",
        " {\n  %old: f32[100] = index %a, %i {index=(('op', 0),)}")  # fmt: skip
    return rows.replace("set_item %c, %v, %p", "set_item %c, %v, %i")


@pytest.mark.parametrize("bounds", ["(0, 300, 1)", "(299, -1, -1)", "(-300, 0, 1)", "(5, 9, 2)"])
def test_a_loop_counts_the_rows_that_it_sets(bounds: str) -> None:
    assert SHARED in reused(by_counted_rows(bounds))


@pytest.mark.parametrize("bounds", ["(-300, 300, 1)", "(299, -301, -1)", "(-1, %n, 1)"])
def test_rows_that_negative_indices_name_twice_are_refused(bounds: str) -> None:
    text = (
        by_counted_rows(bounds).replace("@f(", "@f(%n: int, ").replace(", %n: int =", ", %m: int =")
    )
    assert SHARED not in reused(text)
    empty = f"%e: {ROWS} = empty {{dtype='float32', shape=(300, 100)}}"
    with pytest.raises(InternalError, match="%a.* read after it was overwritten"):
        verify(parse_function(text.replace(empty, SHARED)), "lowered")


def in_two_parts(filled: str = "%d.1") -> str:
    """A loop that overwrites each row that it has read, in two parts."""
    half = ["{index=(('slice', None, 50, None),)}", "{index=(('slice', 50, None, None),)}"]
    made = (
        "%row: f32[100] = index %c, %p {index=(('op', 0),)}",
        f"%old.0: f32[50] = index %old {half[0]}", "%u: f32[50] = exp %old.0",
        f"%old.1: f32[50] = index %old {half[1]}", "%w: f32[50] = exp %old.1",
        f"%left: f32[50] = index %row {half[0]}",
        "%v.0: f32[50] = compute_into %w, %left {text='np.sin({0}, out={1})'}",
        "%d.1: f32[100] = after_write %v.0, %row", f"%right: f32[50] = index {filled} {half[1]}",
        "%v.1: f32[50] = compute_into %u, %right {text='np.sin({0}, out={1})'}",
        f"%v: f32[100] = after_write %v.1, {filled}",
    )  # fmt: skip
    text = by_rows().replace("%v: f32[100] = exp %old", "\n".join(made))
    text = text.replace(
        "set_item %c, %v, %p {in_place=True, index=(('op', 0),)}", "after_write %v, %c"
    )
    return text.replace(f"%e: {ROWS} = empty {{dtype='float32', shape=(300, 100)}}", SHARED)


def test_a_row_that_was_read_is_overwritten_in_parts() -> None:
    verify(parse_function(in_two_parts()), "lowered")


def test_a_part_that_is_read_after_a_write_to_the_other_is_refused() -> None:
    late = in_two_parts().replace("%w: f32[50] = exp %old.1", "%w: f32[50] = exp %u")
    late = late.replace("%right:", "%late: f32[50] = exp %old.1\n%right:")
    with pytest.raises(InternalError, match="%old.* read after it was overwritten"):
        verify(parse_function(late), "lowered")


def test_an_array_is_filled_by_writes_to_itself() -> None:
    apart = in_two_parts().replace("%left: f32[50] = index %row", "%left: f32[50] = index %other")
    apart = apart.replace("%left:", "%other: f32[100] = exp %old\n%left:")
    with pytest.raises(InternalError, match="does not lie in %row"):
        verify(parse_function(apart), "lowered")


def test_a_view_that_may_be_broadcast_is_not_written_to() -> None:
    text = by_rows().replace(
        "%v: f32[100] = exp %old",
        """\
%one: f32[] = full {dtype='float32', shape=(), value=1}
%wide: f32[100] = broadcast_to %one {shape=(100,)}
%v: f32[100] = compute_into %old, %wide {text='np.exp({0}, out={1})'}""",
    )
    with pytest.raises(InternalError, match="%wide.* may be a view"):
        verify(parse_function(text), "lowered")


#: A loop whose test computes in the memory of the carried array, which is read by ``reader``.
TESTED = """
func @f(%y: f64[3]) -> (f64[3]) {{
  %begun: f64[3] = exp %y
  %after: f64[3], %n: int = while %k carry (%c: f64[3] = %begun) test (%t: f64[3]) {{
    %u: f64[3] = compute_into %t, {destination} {{text='np.sin({{0}}, out={{1}})'}}
    %sum: f64[] = sum %u {{axes=None, keepdims=False}}
    %goes_on: bool[] = greater %sum, 0.1
    yield %goes_on
  }} do {{
    {body}
    yield carry %d
  }}
  %out: f64[3] = {result}
  return %out
}}
"""
FRESH = "%d: f64[3] = empty {dtype='float64', shape=(3,)}"
READS, READS_AFTER = "%d: f64[3] = mul %c, 0.5", "mul %after, 2.0"


@pytest.mark.parametrize(
    ("body", "result", "victim"),
    [(READS, "exp %y", "%c"), (FRESH, READS_AFTER, "%after"), (FRESH, "exp %y", "")],
)
def test_a_test_may_not_overwrite_what_its_loop_reads(body: str, result: str, victim: str) -> None:
    def text(destination: str) -> str:
        return TESTED.format(destination=destination, body=body, result=result)

    made = text("%e").replace("%u:", "%e: f64[3] = empty {dtype='float64', shape=(3,)}\n    %u:")
    verify(parse_function(made), "lowered")
    if victim:
        with pytest.raises(InternalError, match=f"{victim}.* read after it was overwritten"):
            verify(parse_function(text("%t")), "lowered")
    else:
        verify(parse_function(text("%t")), "lowered")
