"""Every program of the corpus, crossed with what must hold for all programs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import api, nn, ops, pipeline
from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.runtime.dispatch import Runtime
from autodiff_compiler.testing import check_grads
from tests.corpus.cases import CASES, Case
from tests.text_rules import broken_rules

for path in sorted(Path(__file__).parent.glob("*.py")):
    if path != Path(__file__):
        import_module(f"tests.corpus.{path.stem}")

#: The words of the programs, which names in generated text may be.
USER_NAMES = {
    word
    for path in Path(__file__).parent.glob("*.py")
    for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))
}

each_program = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every stage of every compilation is verified."""
    monkeypatch.setattr(pipeline, "VERIFY", True)


def leaves(value: Any) -> Iterator[Any]:
    """The arrays and numbers in ``value``, in order."""
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, dict):
        for key in value:
            yield key
            yield from leaves(value[key])
    elif isinstance(value, ms.Tensor):
        yield value.asnumpy()
    else:
        yield value


def assert_alike(found: Any, expected: Any, tolerance: float) -> None:
    """Equal structure, types, dtypes and shapes; nearly equal numbers."""
    found, expected = list(leaves(found)), list(leaves(expected))
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert type(one) is type(other)
        if not isinstance(one, np.ndarray):
            assert one == other
            continue
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def compile_at(opt_level: int, fn: Any, request: Any, *rest: Any) -> Any:
    return api._compile(fn, replace(request, opt_level=opt_level), *rest)


def all_gradients(case: Case, opt_level: int) -> Any:
    """The value and the gradients in all inputs and parameters, compiled at ``opt_level``."""
    fn = case.make()
    gradient = ops.GradOperation(get_all=True, get_by_list=True)(fn, weights_of(fn))
    return Runtime(partial(compile_at, opt_level)).run_gradient(gradient, case.inputs, {})


def weights_of(fn: Any) -> list:
    return fn.trainable_params() if isinstance(fn, nn.Cell) else []


@each_program
def test_the_compiled_forward_is_the_eager_one(case: Case) -> None:
    program = case.make()
    plain = program.construct if isinstance(program, nn.Cell) else program
    assert_alike(ms.jit(case.make())(*case.inputs), plain(*case.inputs), 2e-6)


@pytest.mark.every_case
@each_program
def test_derivatives_of_order_one_and_two(case: Case) -> None:
    report = check_grads(case.make(), case.inputs, order=2)
    assert {row.order for row in report.rows} == {1, 2}


@each_program
def test_forward_mode_and_both_modes_over_each_other(case: Case) -> None:
    modes = ("reverse", "forward", "forward-over-reverse", "reverse-over-forward")
    report = check_grads(case.make(), case.inputs, modes=modes, order=1, directions=1)
    assert {(row.order, row.what) for row in report.rows} == {
        (order, what) for order in (1, 2) for what in ("gradient", "tangent", "inner product")
    } - {(2, "inner product")}


@each_program
@pytest.mark.parametrize("level", [1, 3])
@changed_costs(large_bytes=1, medium_bytes=1, tape_row_bytes=1)
def test_optimising_changes_no_gradient(case: Case, level: int) -> None:
    """Whatever size an array has, dead operands are written over, and tapes are arrays."""
    assert_alike(all_gradients(case, 0), all_gradients(case, level), 1e-5)


@each_program
def test_reusing_memory_and_tiles_change_no_gradient(case: Case) -> None:
    """At level 2 every array counts as large, between two calls the lent ones are filled with
    rubbish, and what can run in tiles does."""
    plain = all_gradients(case, 1)
    runtime, fn = Runtime(partial(compile_at, 2)), case.make()
    gradient = ops.GradOperation(get_all=True, get_by_list=True)(fn, weights_of(fn))
    with changed_costs(
        large_bytes=1, tape_row_bytes=1, rematerialised_bytes=1, tile_bytes=16, full_tiles=1,
        tiled_operations=0,
    ):  # fmt: skip
        first = runtime.run_gradient(gradient, case.inputs, {})
    for unit in runtime.cache.all():
        for lent in unit.workspace.idle:
            for array in (array for half in lent for array in half if array is not None):
                array.fill(np.nan if array.dtype.kind == "f" else 1)
    assert_alike(runtime.run_gradient(gradient, case.inputs, {}), plain, 2e-6)
    assert_alike(first, plain, 2e-6)  # what the caller holds is in no lent memory


@each_program
def test_c_gives_the_gradients_of_numpy_source(case: Case) -> None:
    """A program without a C text runs as NumPy source, and says why."""
    units = []

    def compile_for(target: str, fn: Any, request: Any, *rest: Any) -> Any:
        units.append(api._compile(fn, replace(request, target=target), *rest))
        return units[-1]

    found, expected = (
        Runtime(partial(compile_for, target)).run_gradient(
            ops.GradOperation(get_all=True, get_by_list=True)(fn, weights_of(fn)), case.inputs, {}
        )
        for target, fn in (("c", case.make()), ("numpy", case.make()))
    )
    assert units[0].native or units[0].fallback
    assert_alike(found, expected, 1e-5)


@each_program
def test_the_source_is_the_same_every_time(case: Case) -> None:
    source = partial(ms.gradient_source, get_all=True, get_by_list=True)
    text = source(case.make(), *case.inputs)
    assert text == source(case.make(), *case.inputs)
    assert not broken_rules(text, USER_NAMES)


def test_the_corpus_is_broad() -> None:
    programs = {case.program: case.name for case in CASES}
    flow = [name for name in programs.values() if name.split(".")[0] in FLOW]
    assert len(programs) >= 100 and len(flow) >= 60


FLOW = {"for_loops", "while_loops", "branches", "exits"}
