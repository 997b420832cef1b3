"""Long bodies in parts: every number is that of one loop, to the bit, and no order changes."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.emit.c.source import emit_c
from autodiff_compiler.loop_ir.nodes import Function, Loop, walk
from autodiff_compiler.loop_ir.printer import print_nests
from autodiff_compiler.loop_ir.reader import read_nests
from autodiff_compiler.loop_ir.verifier import verify_nests
from autodiff_compiler.passes.nests.block_reductions import block_reductions
from autodiff_compiler.passes.nests.distribute_loops import distribute_loops
from tests.loop_ir.interpreter import run_nests
from tests.loop_ir.random_nests import random_nests

CHAIN = """\
func f(x: f64[{size}], places: i64[{size}], w: f64[9]) -> (y: f64[{size}], z: f64[{size}]) {{
  for i in 0:{size} {{
    let a: f64 = x[i]
    let b: f64 = exp(a)
    let is_large: bool = b > 1.5
    let place: i64 = places[i]
    let c: f64 = tanh(b * w[place])
    z[i] = c
    let d: f64 = exp(w[place] - c)
    {more}
    y[i] = select(is_large, d, a)
  }}
}}
"""


def distributed(text: str) -> Function:
    with changed_costs(distributed_operations=60, operations_of_part=32):
        after = distribute_loops(read_nests(text))
    verify_nests(after)
    return after


def loops(function: Function) -> list[Loop]:
    return [each for each in walk(function.body) if isinstance(each, Loop)]


@pytest.mark.parametrize("size", [16, 17, 31, 32, 45, 100])
def test_the_numbers_are_those_of_one_loop(size: int) -> None:
    text = CHAIN.format(size=size, more="")
    function = distributed(text)
    parts = [each for each in loops(function) if each.independent]
    assert len(parts) == 3 + (size >= 32 and size % 16 > 0)
    random = np.random.default_rng(size)
    values = [random.normal(size=size), random.integers(0, 9, size), random.normal(size=9)]
    for one, other in zip(run_nests(function, values), run_nests(read_nests(text), values)):
        np.testing.assert_array_equal(one, other)


def test_an_array_between_parts_has_the_size_of_a_block() -> None:
    function = distributed(CHAIN.format(size=1000, more=""))
    lines = print_nests(function).splitlines()
    assert [each.strip() for each in lines if "alloc" in each] == [
        "alloc b: f64[16]",
        "alloc is_large: bool[16]",
        "alloc c: f64[16]",
    ]


@pytest.mark.parametrize(
    "more",
    [
        "z[i] = d",  # twice the same element: the order of the parts is that of the statements
        "z[0] = d\n z[1] = c",
        "y[place] += d",
        "y[-i + 99] += d",
    ],
)
def test_elements_that_iterations_share(more: str) -> None:
    """Only a loop whose iterations each have their own elements is distributed."""
    text = CHAIN.format(size=100, more=more)
    function = distributed(text)
    assert (len(loops(function)) == 1) is (more != "z[i] = d")
    values = [np.linspace(-1, 1, 100), np.arange(100) % 9, np.linspace(0, 1, 9)]
    for one, other in zip(run_nests(function, values), run_nests(read_nests(text), values)):
        np.testing.assert_array_equal(one, other)


def test_short_bodies_short_loops_and_serial_loops_stay() -> None:
    text = CHAIN.format(size=100, more="")
    function = read_nests(text)
    assert distribute_loops(function) is function
    for changed in (CHAIN.format(size=15, more=""), text.replace("for i", "serial for i")):
        assert len(loops(distributed(changed))) == 1


@pytest.mark.parametrize("seed", range(20))
def test_random_nests(seed: int) -> None:
    function, inputs = random_nests(seed)
    blocked = block_reductions(function)
    with changed_costs(distributed_operations=1, operations_of_part=1, sum_vector_bytes=8):
        after = distribute_loops(blocked)
    verify_nests(after)
    for one, other in zip(run_nests(after, inputs), run_nests(blocked, inputs)):
        np.testing.assert_array_equal(one, other)


def test_the_text_is_the_same_each_time() -> None:
    text = CHAIN.format(size=100, more="")
    assert len({emit_c([distributed(text)]).text for _ in range(5)}) == 1
