"""Buffer assignment: arrays that may be overwritten, and ones that the verifier protects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import InternalError
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.ir.printer import print_function
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.ir.verify.conflicts import Placement
from autodiff_compiler.ir.verify.structure import verify
from autodiff_compiler.passes.destinations.template_calls import parse_calls
from autodiff_compiler.passes.memory import assign_buffers
from tests.runtime.chains import arrays, chain, wanted

BIG = "f32[20000]"
INTO = "compute_into {a}, {b} {{text='np.exp({{0}}, out={{1}})'}}"


def function(params: str, returns: str, *lines: str) -> str:
    return "\n".join([f"func @f({params}) -> ({returns}) {{", *lines, "}", ""])


def reused(text: str) -> str:
    found = assign_buffers.assign_buffers(parse_function(text)).function
    verify(found, "lowered")
    return print_function(found)


def test_a_dead_operand_is_written_over():
    text = reused(function(
        f"%x: {BIG}", BIG, f"%u: {BIG} = sin %x", f"%v: {BIG} = exp %u", f"%y: {BIG} = add %v, 1.0",
        f"%z: {BIG} = mul %y, %x", "return %z"))  # fmt: skip
    assert "%v: f32[20000] = compute_into %u, %u" in text
    assert "%y: f32[20000] = compute_into %v, 1.0, %v" in text
    assert (
        "%z: f32[20000] = compute_into %y, %x, %y" in text
    )  # goes to the caller, and the block with it
    assert "%buffer: f32[20000] = work_buffer %work {allocation=0, donated=True, key=0}" in text


def test_a_block_goes_with_one_result_alone():
    text = reused(function(
        f"%x: {BIG}", f"{BIG}, {BIG}, f32[100]", f"%u: {BIG} = sin %x", f"%y: {BIG} = exp %u",
        f"%z: {BIG} = cos %y", "%t: f32[200,100] = reshape %u {shape=(200, 100)}",
        f"%w: {BIG} = mul %x, %z", "%s: f32[100] = sum %t {axes=(0,), keepdims=False}",
        f"%v: {BIG} = exp %x", "return %y, %v, %s"))  # fmt: skip
    assert "%y: f32[20000] = exp %u" in text  # no block is free yet: memory of its own
    assert "%v: f32[20000] = compute_into %x, " in text
    assert text.count("donated=True") == 1
    with pytest.raises(InternalError, match="is returned in memory of the workspace"):
        verify(parse_function(text.replace("donated=True, ", "")), "lowered")


def test_an_operand_that_is_read_later_is_not():
    text = reused(function(
        f"%x: {BIG}", BIG, f"%u: {BIG} = sin %x", f"%v: {BIG} = exp %u", f"%y: {BIG} = mul %u, %v",
        f"%z: {BIG} = mul %y, %x", "return %z"))  # fmt: skip
    assert "%v: f32[20000] = compute_into %u, %buffer.1" in text


def test_a_view_keeps_its_memory_alive():
    text = reused(function(
        "%x: f32[200,200]", "f32[200,200]", "%u: f32[200,200] = sin %x",
        "%t: f32[200,200] = swap_last_axes %u", "%v: f32[200,200] = exp %u",
        "%y: f32[200,200] = add %t, %v", "return %y"))  # fmt: skip
    assert "%v: f32[200,200] = compute_into %u, %buffer.1" in text


def test_a_gather_is_no_view():
    """NumPy copies a gather, so it may be overwritten; a slice is a view."""
    for index, shape, written in (("('op', 0)", "f32[1,20000]", True), ("0", BIG, False)):
        text = reused(function(
            "%x: f32[3,20000], %i: i64[1]", "f32[]",
            f"%u: {shape} = index %x{', %i' if written else ''} {{index=({index},)}}",
            f"%y: {shape} = exp %u",
            "%s: f32[] = sum %y {axes=None, keepdims=False}", "return %s"))  # fmt: skip
        assert ("%y: f32[1,20000] = compute_into %u, %u " in text) is written


def test_temporaries_of_an_iteration_get_buffers_too():
    text = reused(function(
        f"%x: {BIG}, %w: {BIG}", BIG, f"%k: {BIG} = sin %w",
        f"%y: {BIG}, %n: int = for %p, %i in (0, 3, 1) carry (%c: {BIG} = %x) {{",
        f"%u: {BIG} = mul %c, %k", f"%v: {BIG} = exp %u", f"%s: {BIG} = add %v, %c",
        "yield carry %s", "}", f"%z: {BIG} = mul %y, %k", "return %z"))  # fmt: skip
    assert (
        "%k: f32[20000] = compute_into %w, %buffer " in text
    )  # captured: not over in an iteration
    assert "%u: f32[20000] = compute_into %c, %k, %buffer.1" in text
    assert "%v: f32[20000] = compute_into %u, %u" in text
    assert "%s: f32[20000] = add %v, %c" in text  # handed on


def test_small_results_and_those_of_unknown_size_get_no_buffer():
    for type_ in ("f32[100]", "f32[b,20000]", "f32[?,20000]"):
        text = function(f"%x: {type_}", type_, f"%u: {type_} = sin %x", f"%v: {type_} = exp %u",
                        "return %v")  # fmt: skip
        parsed = parse_function(text)
        assert assign_buffers.assign_buffers(parsed).function is parsed


@pytest.mark.parametrize(
    "lines, law",
    [
        (["%u: {B} = sin %x", "%v: {B} = " + INTO.format(a="%u", b="%u"), "%y: {B} = add %u, %v",
          "return %y"], "%u.* read after it was overwritten"),
        (["%v: {B} = " + INTO.format(a="%x", b="%x"), "return %v"], "which is the caller's"),
        (["%u: {B} = sin %x", "%w: {B} = reshape %u {{shape=(20000,)}}",
          "%v: {B} = " + INTO.format(a="%x", b="%u"), "%y: {B} = add %w, %v", "return %y"],
         "%w.* read after it was overwritten"),
        (["%b: {B} = work_buffer %work {{allocation=0, key=0}}",
          "%v: {B} = " + INTO.format(a="%x", b="%b"), "return %v"], "in memory of the workspace"),
        (["%u: {B} = sin %x",
          "%y: {B}, %n: int = for %p, %k in (0, 3, 1) carry (%c: {B} = %x) {{",
          "%s: {B} = add %c, %u", "%v: {B} = " + INTO.format(a="%s", b="%u"),
          "yield carry %v", "}}", "return %y"], "read after it was overwritten"),
    ],
    ids=["still read", "an argument", "a view", "returned", "the next iteration"],
)  # fmt: skip
def test_the_verifier_notices(lines, law):
    text = function(f"%x: {BIG}, %work: ({BIG},)", BIG, *lines).replace("{B}", BIG)
    with pytest.raises(InternalError, match=law):
        verify(parse_function(text.replace("{{", "{").replace("}}", "}")), "lowered")


TILES = (
    "%a: {B} = sin %x", "%e: {B} = compute_into %a {{text='{{0}}'}}",
    "%y: {B}, %n: int = for %p, %i in (0, 20000, {step}) carry (%c: {B} = %e) {{",
    "%old: f32[5000] = tile_view %a, %i {{rows=5000}}",
    "%new: f32[5000] = tile_view %c, %i {{rows=5000}}",
    "%v: f32[5000] = compute_into %old, %new {{text='np.exp({{0}}, out={{1}})'}}",
    "%d: {B} = after_write %v, %c", "{late}", "yield carry %d", "}}", "{after}", "return {back}",
)  # fmt: skip


def in_tiles(step: int = 5000, late: str = "", after: str = "", back: str = "%y") -> str:
    lines = [line.format(B=BIG, step=step, late=late, after=after, back=back) for line in TILES]
    return function(f"%x: {BIG}", BIG, *filter(None, lines))


def test_a_loop_over_tiles_writes_where_it_has_read() -> None:
    verify(parse_function(in_tiles()), "lowered")


@pytest.mark.parametrize(
    "wrong",
    [
        {"step": 2500},
        {"late": "%u: f32[5000] = exp %old"},
        {"late": "%u: f32[5000] = tile_view %a, %i {rows=5000}"},
        {"late": f"%u: {BIG} = exp %a"},
        {"after": f"%u: {BIG} = exp %a"},
        {"back": "%a"},
    ],
    ids=["overlapping", "its tile", "its tile again", "all of it", "afterwards", "returned"],
)
def test_the_verifier_finds_tiles_that_overwrite_others(wrong: dict[str, Any]) -> None:
    with pytest.raises(InternalError, match="read after it was overwritten"):
        verify(parse_function(in_tiles(**wrong)), "lowered")


ROWS = "f32[300,100]"


def by_rows(late: str = "", made: str = "exp %old", place: str = "%p") -> str:
    """Returns a loop that reads the rows of one array and sets those of another one."""
    return function(
        f"%x: {ROWS}", "f32[]", f"%a: {ROWS} = sin %x",
        f"%e: {ROWS} = empty {{dtype='float32', shape=(300, 100)}}",
        f"%y: {ROWS}, %n: int = for %p, %i in (299, -1, -1) carry (%c: {ROWS} = %e) "
        f"read (%old: f32[100] = %a) {{", "%next: int = add %p, 1", f"%v: f32[100] = {made}",
        f"%d: {ROWS} = set_item %c, %v, {place} {{in_place=True, index=(('op', 0),)}}",
        *filter(None, [late]), "yield carry %d", "}",
        "%s: f32[] = sum %y {axes=None, keepdims=False}", "return %s")  # fmt: skip


SHARED = f"%e: {ROWS} = compute_into %a {{text='{{0}}'}}"


def test_a_loop_sets_rows_where_it_has_read_them() -> None:
    assert SHARED in reused(by_rows())


def by_turned_rows(late: str = "") -> str:
    """Returns a loop that computes the rows in their place, from the end on."""
    made = (
        "%row: f32[100] = index %c, %p {index=(('op', 0),)}",
        "%turned: f32[100] = index %row {index=(('slice', None, None, -1),)}",
        "%w: f32[100] = compute_into %old, %turned {text='np.exp({0}, out={1})'}",
        "%v: f32[100] = after_write %w, %row",
    )
    text = by_rows(late).replace("%v: f32[100] = exp %old", "\n".join(made))
    return text.replace(
        "set_item %c, %v, %p {in_place=True, index=(('op', 0),)}", "after_write %v, %c"
    )


def test_a_loop_makes_rows_where_it_has_read_them() -> None:
    """Elements of one row that change places are within the row; they are read before all are."""
    assert SHARED not in reused(by_turned_rows())
    copied = by_turned_rows().replace("%row:", "%own: f32[100] = exp %old\n%row:", 1)
    text = copied.replace("compute_into %old", "compute_into %own")
    assert SHARED in reused(text)
    assert SHARED not in reused(text.replace("yield carry", "%u: f32[100] = exp %old\nyield carry"))
    spoilt = reused(text).replace("yield carry", "%u: f32[100] = exp %old\n    yield carry")
    with pytest.raises(InternalError, match="read after it was overwritten"):
        verify(parse_function(spoilt), "lowered")


@pytest.mark.parametrize(
    "other",
    [{"late": "%u: f32[100] = exp %old"}, {"place": "%next"}, {"late": f"%u: {ROWS} = exp %a"}],
    ids=["read after", "another row", "all of it"],
)  # fmt: skip
def test_rows_that_are_not_over_are_left_alone(other: dict[str, str]) -> None:
    assert SHARED not in reused(by_rows(**other))


@pytest.mark.parametrize(
    "more, before",
    [("%u: f32[100] = index %a, %next {index=(('op', 0),)}", "%v: "),
     ("%u: f32[100] = exp %old", "yield carry"),
     ("%u: f32[100] = index %a, %p {index=(('op', 0),)}", "yield carry")],
    ids=["another row", "read after", "taken after"],
)  # fmt: skip
def test_the_verifier_finds_an_overwritten_row(more: str, before: str) -> None:
    text = reused(by_rows())
    with pytest.raises(InternalError, match="read after it was overwritten"):
        verify(parse_function(text.replace(before, f"{more}\n    {before}", 1)), "lowered")


def two_filled(second: str, rows: bool, views: Sequence[int] = (0, 1)) -> str:
    """A loop that fills two arrays from what it takes of ``%a``: one where ``%a`` is, and another
    one where ``second`` is."""
    whole, part = (ROWS, "f32[100]") if rows else (BIG, "f32[5000]")
    steps = "300, 1" if rows else "20000, 5000"
    row, tile = "{in_place=True, index=(('op', 0),)}", "{rows=5000}"
    taken = [f"%t{k}: {part} = tile_view %c{k}, %i {tile}" for k in views if not rows]
    fills = [
        f"%d{k}: {whole} = set_item %c{k}, %v, %p {row}" if rows else
        f"%w{k}: {part} = compute_into %v, %t{k} {{text='np.sin({{0}}, out={{1}})'}}\n"
        f"%d{k}: {whole} = after_write %w{k}, %c{k}"
        for k in range(2)
    ]  # fmt: skip
    return function(
        f"%x: {whole}", "f32[], f32[]", f"%a: {whole} = sin %x", f"%b: {whole} = cos %x",
        *(f"%e{k}: {whole} = compute_into {a} {{text='{{0}}'}}"
          for k, a in enumerate(["%a", second])),
        f"%y0: {whole}, %y1: {whole}, %n: int = for %p, %i in (0, {steps}) "
        f"carry (%c0: {whole} = %e0, %c1: {whole} = %e1) {{",
        f"%old: {part} = index %a, %p {{index=(('op', 0),)}}" if rows
        else f"%old: {part} = tile_view %a, %i {tile}",
        f"%v: {part} = exp %old", *taken, *fills, "yield carry %d0, %d1", "}",
        *(f"%s{k}: f32[] = sum %y{k} {{axes=None, keepdims=False}}" for k in range(2)),
        "return %s0, %s1")  # fmt: skip


@pytest.mark.parametrize(
    "rows, views", [(False, (0, 1)), (False, (1, 0)), (True, ())], ids=["0 1", "1 0", "rows"]
)
def test_the_verifier_notices_that_a_loop_fills_two_arrays_in_one_place(
    rows: bool, views: Sequence[int]
) -> None:
    verify(parse_function(two_filled("%b", rows, views)), "lowered")
    with pytest.raises(InternalError, match="read after it was overwritten"):
        verify(parse_function(two_filled("%a", rows, views)), "lowered")


def halves() -> tuple[assign_buffers.BufferPlan, assign_buffers.BufferPlan]:
    """Returns a forward function that saves ``sin(x)``, and a backward one that reads it first."""
    forward = parse_function(function(
        f"%x: {BIG}", f"({BIG},)", f"%u: {BIG} = sin %x", f"%r: ({BIG},) = make_tuple %u",
        "return %r"))  # fmt: skip
    backward = parse_function(function(
        f"%r: ({BIG},)", BIG, f"%u: {BIG} = item %r {{key=0}}", f"%v: {BIG} = exp %u",
        f"%w: {BIG} = sin %v", f"%y: {BIG} = mul %w, %v", "return %y"))  # fmt: skip
    first = assign_buffers.assign_buffers(replace(forward, role="forward"))
    return first, assign_buffers.assign_buffers(backward, forward=first)


def test_backward_works_where_residuals_were() -> None:
    forward, backward = halves()
    assert forward.placements == (Placement(frozenset([0]), ArrayType("float32", (20000,))),)
    # exp(u) goes where u is read for the last time, but not by the name of u.
    assert forward.allocations == (80000,) and backward.allocations == (80000, 80000)
    assert [allocation for allocation, _ in backward.work] == [0, 1]
    assert "%v: f32[20000] = compute_into %u, %buffer " in print_function(backward.function)
    verify(backward.function, "lowered", forward.placements)


def test_the_verifier_finds_an_overwritten_residual() -> None:
    forward, backward = halves()
    text = print_function(backward.function)
    late = text.replace("compute_into %w, %v", "compute_into %w, %u")
    with pytest.raises(InternalError, match="%u.* read after it was overwritten"):
        verify(parse_function(late), "lowered", forward.placements)
    verify(parse_function(late), "lowered", [Placement(frozenset([2]), None)])


def test_an_early_stage_holds_no_write():
    text = function(f"%x: {BIG}", BIG, f"%u: {BIG} = sin %x",
                    f"%v: {BIG} = " + INTO.format(a="%u", b="%u"), "return %v")  # fmt: skip
    verify(parse_function(text), "lowered")
    with pytest.raises(InternalError, match="is not allowed"):
        verify(parse_function(text), "differentiated")


def test_operations_that_are_more_than_calls_have_no_calls():
    assert parse_calls("{x}.astype(np.float32)", ("x",)) == ()
    assert parse_calls("np.where({c}, {x}, {y})", ("c", "x", "y")) == ()
    assert [step.text for step in parse_calls("np.stack({v})", ("v",))] == [
        "np.stack({0}, out={1})"
    ]
    assert [step.text for step in parse_calls("{x} ** {y}", ("x", "y"), 2)] == [
        "np.square({0}, out={1})"
    ]
    assert "power" in parse_calls("{x} ** {y}", ("x", "y"), 3)[0].text


def test_results_live_on_when_the_memory_is_used_again():
    gradient = ms.grad(chain)
    inputs = arrays(4)
    found = [gradient(Tensor(x)) for x in inputs]
    for x, d_x in zip(inputs, found):
        np.testing.assert_allclose(d_x.asnumpy(), wanted(x), rtol=1e-5, atol=1e-6)


def test_the_names_of_the_generated_text_are_free_to_use():
    """A result called ``residuals`` is the user's, and none that forward saves."""

    def named(work, buffer):
        a = ops.exp(work) * 2.0
        residuals = a * buffer
        return residuals

    function, (x, y) = ms.value_and_grad(named, (0, 1)), arrays(2)
    value, (d_work, d_buffer) = function(Tensor(x), Tensor(y))
    function(Tensor(y), Tensor(x))
    for got, want in (
        (value, 2 * np.exp(x) * y), (d_work, 2 * np.exp(x) * y), (d_buffer, 2 * np.exp(x))
    ):  # fmt: skip
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5)


def test_a_medium_operand_with_a_line_of_its_own_is_written_over() -> None:
    middle = "f32[1000]"
    text = reused(function(
        f"%x: {middle}", middle, f"%u: {middle} = sin %x", f"%v: {middle} = exp %u",
        f"%w: {middle} = mul %v, 2.0", f"%a: {middle} = mul %w, %u", f"%b: {middle} = add %a, %w",
        "return %b"))  # fmt: skip
    assert "%v: f32[1000] = exp %u" in text  # %u is read again
    assert "%w: f32[1000] = mul %v, 2.0" in text  # %v is written inside its only reader
    assert "%a: f32[1000] = compute_into %w, %u, %u" in text
    assert "%b: f32[1000] = compute_into %a, %w, %a" in text
    assert "work_buffer" not in text


def test_of_two_arrays_that_a_loop_fills_one_takes_the_memory_of_a_third() -> None:
    """Both are saved, and both are computed from the deviations, which are dead then."""
    x, along = np.random.default_rng(3).standard_normal((2, 16, 8, 28, 28))
    scale = np.linspace(1.0, 2.0, 8)

    def loss(x, scale):
        y = ops.relu(ops.batch_norm(x, None, None, scale, scale, True, eps=0.5))
        return ops.mean(y * y)

    def value(x: np.ndarray) -> float:
        c, each = x - x.mean((0, 2, 3), keepdims=True), scale[:, None, None]
        y = c / np.sqrt((c * c).mean((0, 2, 3), keepdims=True) + 0.5) * each + each
        return float((np.maximum(y, 0) ** 2).mean())

    out, (found, _) = ops.value_and_grad(loss, (0, 1))(Tensor(x), Tensor(scale))
    assert float(out) == pytest.approx(value(x), rel=1e-12)
    slope = (value(x + 1e-6 * along) - value(x - 1e-6 * along)) / 2e-6
    assert np.vdot(found.asnumpy(), along) == pytest.approx(slope, rel=1e-5)


def test_a_sign_is_not_written_over_its_operand():
    text = reused(function(
        f"%x: {BIG}", BIG, f"%u: {BIG} = sin %x", f"%v: {BIG} = sign %u",
        f"%y: {BIG} = mul %v, %x", "return %y"))  # fmt: skip
    assert "%v: f32[20000] = compute_into %u, %u" not in text and "np.sign({0}, out={1})" in text
    assert "%y: f32[20000] = compute_into %v, %x, " in text


def test_a_choice_by_bits_is_made_in_place() -> None:
    """NaN and infinities that are not chosen become 0, in the array that held them."""
    text = reused(function(
        f"%x: {BIG}, %c: bool[20000]", "f32[]", f"%u: {BIG} = log %x",
        f"%v: {BIG} = mask_bits %u, %c", "%s: f32[] = sum %v {axes=None, keepdims=False}",
        "return %s"))  # fmt: skip
    (line,) = [line for line in text.splitlines() if "%v: " in line]
    assert "= compute_into %u, %c, %u " in line
    u = np.array([np.nan, -np.inf, np.inf, 1.0], np.float32)
    (step,) = parse_calls("({x}.view(np.int32) * {c}).view(np.float32)", ("x", "c"))
    made = eval(step.text.format("u", "c", "u"), {"np": np, "u": u, "c": u == 1})
    np.testing.assert_array_equal(made, [0, 0, 0, 1])
    assert made.dtype == np.float32 and np.shares_memory(made, u)
