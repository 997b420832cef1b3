"""Plans of buffers: none at levels 0 and 1, callees without lent arrays, the cheaper plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autodiff_compiler import pipeline
from autodiff_compiler.interface.request import Request
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.types import parse_type
from autodiff_compiler.passes.memory.assign_buffers import BufferPlan, assign_buffers
from autodiff_compiler.passes.registry import BY_NAME
from autodiff_compiler.program import Program

X = parse_type("f64[400,400]")


def inner(x):
    for _ in range(2):
        x = np.tanh(x) * x
    return x


def outer(x):
    return np.sum(inner(x) * inner(x + 1.0))


def planned(level: int = 2) -> Program:
    request = Request((0,), sens="ones", numpy=True, opt_level=level)
    return pipeline.run(pipeline.start(outer, request, [X]), "buffers")


def test_level_0_reuses_no_memory() -> None:
    program = planned(0)
    assert program.plans == tuple(map(BufferPlan, program.after["scheduled"]))
    assert program.functions == program.after["scheduled"]


def test_level_1_lends_no_memory() -> None:
    program = planned(1)
    assert program.plans == tuple(map(BufferPlan, program.functions))
    assert program.functions != program.after["scheduled"]  # dead arrays are written over


def test_each_root_has_a_plan_and_backward_continues_the_blocks_of_forward() -> None:
    program = planned()
    forward, backward = program.plans
    assert (
        forward.allocations
        and backward.allocations[: len(forward.allocations)] == forward.allocations
    )
    assert program.functions == (forward.function, backward.function)
    for root in program.functions:
        assert not any("work_buffer" in callee.op_names for callee in root.callees())


@pytest.mark.parametrize("cheaper", [True, False])
def test_the_trial_is_kept_if_it_takes_fewer_bytes(
    cheaper: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Function] = []

    def trial(function: Function, **_: object) -> Function:
        tried.append(replace(function, title="tried"))
        return tried[0]

    def assign(function: Function, **facts: object) -> BufferPlan:
        plan = assign_buffers(function, **facts)  # type: ignore[arg-type]
        factor = (1 if cheaper else 3) if function in tried else 2
        return replace(plan, allocations=tuple(size * factor for size in plan.allocations))

    monkeypatch.setitem(
        BY_NAME,  # type: ignore[arg-type]
        "overlay_tapes",
        replace(BY_NAME["overlay_tapes"], rewrite=trial),
    )
    monkeypatch.setitem(
        BY_NAME,  # type: ignore[arg-type]
        "assign_buffers",
        replace(BY_NAME["assign_buffers"], rewrite=assign),
    )
    forward = planned().functions[0]
    assert len(tried) == 1 and (forward.title == "tried") == cheaper
