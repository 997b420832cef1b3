"""Passes on random loop nests: the outcome stays, and every function is legal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff_compiler.emit.c.source import emit_c
from autodiff_compiler.loop_ir.nodes import Buffer, Function
from autodiff_compiler.loop_ir.verifier import verify_nests
from autodiff_compiler.passes.nests.pipeline import NEST_PASSES, optimise
from autodiff_compiler.passes.registry import Pass
from autodiff_compiler.runtime.native import Array, Compiler, Description, Number, load_native
from tests.loop_ir.interpreter import run_nests
from tests.loop_ir.random_nests import random_nests

#: Passes that change the order of sums.
REORDERING = {"block_reductions"}


def assert_equal(results: Any, wanted: Any, exactly: bool) -> None:
    for one, other in zip(results, wanted, strict=True):
        tolerance = 0.0 if exactly else 1e-5 if other.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("each", NEST_PASSES, ids=lambda each: each.name)
def test_a_pass_alone(each: Pass) -> None:
    for seed in range(25):
        function, inputs = random_nests(seed)
        after = each.rewrite(function)
        verify_nests(after, each.name)
        exactly = each.name not in REORDERING
        assert_equal(run_nests(after, inputs), run_nests(function, inputs), exactly)


@pytest.mark.parametrize("seed", range(25, 75))
def test_all_passes(seed: int) -> None:
    function, inputs = random_nests(seed)
    after = optimise(function, verified=True)
    assert_equal(run_nests(after, inputs), run_nests(function, inputs), exactly=False)


def loaded(function: Function) -> Any:
    source = emit_c([function])
    (entry,) = source.entries
    sizes = [each for each in (*function.inputs, *function.outputs) if isinstance(each, Buffer)]
    arrays = {each: Array(each.dtype, (each.size,)) for each in sizes}
    description = Description(
        function.name,
        entry.adapter,
        tuple(arrays[x] if isinstance(x, Buffer) else Number("float") for x in function.inputs),
        tuple(arrays[each] for each in function.outputs),
        workspace=entry.workspace,
        services=entry.services,
    )
    return load_native(source.text, description)


@pytest.mark.parametrize("seed", range(75, 87))
def test_c_does_what_the_interpreter_does(seed: int, c_compiler: Compiler) -> None:
    function, inputs = random_nests(seed)
    wanted = run_nests(function, inputs)
    for each in (optimise(function, 0), optimise(function)):
        assert_equal(loaded(each)(*inputs), wanted, exactly=False)
