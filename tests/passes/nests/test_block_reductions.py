"""Sums in blocks: the error grows with the logarithm, and every element is added once."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.loop_ir.nodes import Function, Loop, Set, walk
from autodiff_compiler.loop_ir.printer import print_nests
from autodiff_compiler.loop_ir.reader import read_nests
from autodiff_compiler.loop_ir.verifier import verify_nests
from autodiff_compiler.passes.nests.block_reductions import block_reductions
from tests.loop_ir.interpreter import run_nests

SUM = """\
func f(x: {dtype}[{size}], n: i64) -> (sum: {dtype}[1], y: {dtype}[{size}]) {{
  var total: {dtype} = {zero}
  var most: {dtype} = {zero}
  for i in 0:{extent} {{
    let t: {dtype} = x[i] * x[i]
    {more}
    total += t
  }}
  sum[0] = total + most
}}
"""


def blocked(size: int, dtype: str = "f64", extent: str = "", more: str = "y[i] = t") -> Function:
    zero = "0.0" if dtype == "f64" else "0.0_f32"
    text = SUM.format(size=size, dtype=dtype, extent=extent or size, more=more, zero=zero)
    after = block_reductions(read_nests(text))
    verify_nests(after)
    return after


def longest_chain(function: Function) -> int:
    """Returns the most iterations of a loop that adds to one number or slot."""
    adding = [
        loop.extent
        for loop in walk(function.body)
        if isinstance(loop, Loop) and isinstance(loop.extent, int)
    ]
    return max(adding)


@pytest.mark.parametrize("size", [1, 7, 8, 9, 31, 32, 100, 129, 500, 1000])
@pytest.mark.parametrize("chain", [2, 3, 64])
@pytest.mark.parametrize("run_time", [False, True])
def test_every_element_is_added_once(size: int, chain: int, run_time: bool) -> None:
    values = np.random.default_rng(size).integers(-9, 9, size).astype(float)
    with changed_costs(sum_chain_terms=chain):
        function = blocked(size, extent="n" if run_time else "")
    total, squares = run_nests(function, [values, size])
    assert total[0] == np.sum(values**2)
    np.testing.assert_array_equal(squares, values**2)


def test_the_error_of_a_long_sum_is_small() -> None:
    values = np.full(20000, 0.1, np.float32)
    (total, _) = run_nests(blocked(20000, "f32"), [values, 0])
    square = values[0] * values[0]
    assert abs(total[0] - 20000.0 * float(square)) < 3e-6 * total[0]


def test_short_sums_stay() -> None:
    assert "slot" not in print_nests(blocked(7))
    assert "alloc total_slots: f64[4]" in print_nests(blocked(8))
    assert "alloc total_slots: f64[16]" in print_nests(blocked(32))
    assert "alloc total_slots: f32[32]" in print_nests(blocked(64, "f32"))


def test_no_loop_adds_many_in_a_row() -> None:
    assert longest_chain(blocked(16 * 64**3)) <= 64


@pytest.mark.parametrize("more", ["most *= t", "if t < 1.0 {\n y[i] = t\n }", "y[i] = total"])
def test_other_statements(more: str) -> None:
    """A loop that needs its order has no slots; one that reads its sum stays as it is."""
    function = blocked(200, more=more)
    assert "slot" not in print_nests(function)
    assert ("total_part" in print_nests(function)) is ("= total" not in more)
    values = np.arange(200.0) / 100
    total, _ = run_nests(function, [values, 0])
    plain = read_nests(SUM.format(size=200, dtype="f64", extent=200, more=more, zero="0.0"))
    np.testing.assert_allclose(total, run_nests(plain, [values, 0])[0], rtol=1e-14)


EXTREME = """\
func f(x: f64[{size}]) -> (extreme: f64[1], sum: f64[1]) {{
  var best: f64 = x[0]
  var total: f64 = 0.0
  for i in 0:{size} {{
    best {combine}= x[i]
    {more}
  }}
  extreme[0] = best
  sum[0] = total
}}
"""


@pytest.mark.parametrize("combine", ["max", "min"])
@pytest.mark.parametrize("more", ["", "total += x[i]"])
@pytest.mark.parametrize("size", [5, 8, 32, 45, 100, 5000])
def test_extremes_are_searched_side_by_side(combine: str, more: str, size: int) -> None:
    function = block_reductions(
        read_nests(EXTREME.format(size=size, combine=combine, more=more or "let t: f64 = x[i]"))
    )
    verify_nests(function)
    text = print_nests(function)
    assert ("best_slots" in text) is (size >= 8)
    assert ("best_part" in text) is ("total_part" in text) is (size == 5000 and bool(more))
    values = np.random.default_rng(size).integers(-99, 99, size).astype(float)
    for place in (0, size // 2, size - 1):
        values[place] += 0.5
        extreme, total = run_nests(function, [values])
        assert extreme[0] == getattr(np, combine)(values)
        assert total[0] == (np.sum(values) if more else 0)
    values[size // 3] = np.nan
    assert np.isnan(run_nests(function, [values])[0][0])


NESTED = """\
func f(x: f64[3000]) -> (sum: f64[1]) {
  var total: f64 = 0.0
  for i in 0:1000 {
    for j in 0:3 {
      total += x[i + 1000*j]
    }
  }
  sum[0] = total
}
"""


def test_a_loop_around_short_sums_is_blocked() -> None:
    function = block_reductions(read_nests(NESTED))
    verify_nests(function)
    assert longest_chain(function) <= 64
    (total,) = run_nests(function, [np.arange(3000.0)])
    assert total[0] == 2999 * 1500.0


def test_integers_and_products_stay() -> None:
    text = NESTED.replace("f64", "i64").replace("0.0", "0")
    for changed in (text, NESTED.replace("total +=", "total *=")):
        function = read_nests(changed)
        assert block_reductions(function) is function


def test_only_the_tail_is_a_copy() -> None:
    sets = [each for each in walk(blocked(100).body) if isinstance(each, Set)]
    assert len(sets) == 2  # the slots, and what fills no step
