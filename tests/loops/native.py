"""Gradients as loop nests and C, compared with the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff_compiler import pipeline
from autodiff_compiler.abstract_arguments import slot_of
from autodiff_compiler.emit.c.source import emit_c
from autodiff_compiler.interface.request import Request
from autodiff_compiler.ir.nodes import Function, Value
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.loops.lower import lower_to_loops
from autodiff_compiler.passes.manager import run_steps
from autodiff_compiler.passes.nests.pipeline import optimise
from autodiff_compiler.runtime.native import (
    Array,
    Description,
    Number,
    Scalar,
    load_native,
)
from autodiff_compiler.runtime.native.description import error_row
from autodiff_compiler.stages.driver import numeric_rules
from autodiff_compiler.transforms.reverse.sweep import gradient_function
from tests.interpreter import run


def joint_gradient(fn: Callable[..., Any], inputs: Sequence[Any], count: int) -> Function:
    """Makes the function of the value of ``fn`` and its gradients in the first inputs."""
    request = Request(tuple(range(count)), sens="ones", numpy=True)
    program = pipeline.run(pipeline.start(fn, request, [*map(slot_of, inputs)]), "primal")
    with numeric_rules(request):
        gradient = gradient_function(program.function, program.wrt, value=True, outputs=(0,))
        return run_steps((pipeline.until_stable(pipeline.SIMPLIFY),), gradient, request)


def compiled(function: Function, optimises: bool = True) -> tuple[Callable[..., Any], str]:
    """Compiles a function to C. Returns it with its text."""
    loops = lower_to_loops(function)
    loops = optimise(loops, 1 if optimises else 0, verified=True)
    source = emit_c([loops])
    (entry,) = source.entries
    description = Description(
        function.name,
        entry.adapter,
        tuple(_input(param) for param in function.params),
        tuple(_output(value) for value in function.returns),
        errors=tuple(map(error_row, loops.errors)),
        workspace=entry.workspace,
        services=entry.services,
    )
    return load_native(source.text, description), source.text


def _input(value: Value) -> Array | Number:
    type_: Any = value.type
    if isinstance(type_, ArrayType):
        return Array(type_.known_dtype, type_.static_shape)
    return Number(str(type_))  # type: ignore[arg-type]


def _output(value: Any) -> Array | Number | Scalar:
    type_ = value.type
    if isinstance(type_, ArrayType) and not type_.shape:
        return Scalar(type_.known_dtype)
    return _input(value)


def assert_agrees(function: Function, inputs: Sequence[Any], rtol: float = 1e-9) -> str:
    """Compares C with the interpreter, with and without the passes. Returns the C text."""
    wanted = run(function, [*inputs])
    text = ""
    for optimises in (False, True):
        call, text = compiled(function, optimises)
        found = call(*inputs)
        found = found if isinstance(found, tuple) else (found,)
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted):
            assert np.shape(one) == np.shape(other)
            assert np.asarray(one).dtype == np.asarray(other).dtype
            np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)
    return text
