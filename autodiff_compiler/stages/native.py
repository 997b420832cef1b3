"""Transitions of the C target: loop nests, and the C text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from autodiff_compiler.common.context import compile_cache
from autodiff_compiler.emit.c.source import Entry, emit_c
from autodiff_compiler.interface.compiled import GeneratedText
from autodiff_compiler.ir.nodes import Function, type_of
from autodiff_compiler.ir.types import ArrayType, Type
from autodiff_compiler.loop_ir import nodes
from autodiff_compiler.loops.lower import leaf_types, lower_to_loops, packing_of
from autodiff_compiler.passes.nests.pipeline import optimise
from autodiff_compiler.program import Program
from autodiff_compiler.runtime.native import (
    Array,
    Description,
    NativeUnavailable,
    Scalar,
    find_compiler,
    number,
)
from autodiff_compiler.runtime.native.description import Input, Output, Packing, error_row
from autodiff_compiler.runtime.native.errors import warn_once
from autodiff_compiler.stages.outcome import unconnected


def lower_nests(program: Program) -> Program:
    """Lowers the roots to loop nests; raises NoNativeText where that cannot be."""
    *others, last = program.functions
    nests = [*map(lower_to_loops, others), lower_to_loops(last, _gradient_names(program))]
    return replace(program, nests=tuple(nests))


def _gradient_names(program: Program) -> dict[int, str]:
    """Returns the names of gradients, by their numbers among the returns of the last function."""
    if not program.request.differentiates:
        return {}
    first = len(program.functions[-1].returns) - len(program.wrt)
    names = [program.primal.params[place].name for place in program.wrt]
    return {first + k: f"d_{name}" for k, name in enumerate(names)}


def optimise_nests(program: Program) -> Program:
    """Runs the passes on loop nests."""
    level = program.request.opt_level
    return replace(program, nests=tuple(optimise(nest, level) for nest in program.nests))


def emit_c_file(program: Program) -> Program:
    """Prints the C text of the roots, with the description of each call.

    Outside arrays among the program's ``constants`` stand in the text and are no parameters.
    """
    source = emit_c(program.nests, _constant_inputs(program))
    parts = zip(program.functions, program.nests, source.entries, strict=True)
    native = tuple(_description(program, *each) for each in parts)
    return replace(program, native=native, entries=source.entries, source=source.text)


def _constant_inputs(program: Program) -> dict[nodes.Buffer, np.ndarray]:
    """Returns the arrays that stand in the text, by the inputs of loop nests that they replace."""
    constants = program.constants or {}
    inputs = iter(program.nests[0].inputs)
    leaves = {
        param: [next(inputs) for _ in leaf_types(param.type)]
        for param in program.functions[0].params
    }
    return {leaves[param][0]: array for param, array in constants.items()}


def _description(
    program: Program, function: Function, nest: nodes.Function, entry: Entry
) -> Description:
    params = [each for each in function.params if each not in (program.constants or {})]
    return Description(
        function.name,
        entry.adapter,
        tuple(_input(leaf) for param in params for leaf in leaf_types(param.type)),
        tuple(_output(leaf) for value in function.returns for leaf in leaf_types(type_of(value))),
        packing=_packing(program, function),
        errors=tuple(map(error_row, nest.errors)),
        workspace=entry.workspace,
        services=entry.services,
    )


def _input(type_: Type) -> Input:
    if isinstance(type_, ArrayType):
        return Array(str(type_.dtype), type_.static_shape)
    return number(type_)


def _output(type_: Type) -> Output:
    if isinstance(type_, ArrayType):
        shape = type_.static_shape
        return Array(str(type_.dtype), shape) if shape else Scalar(str(type_.dtype))
    return number(type_)


def _packing(program: Program, function: Function) -> Packing:
    """Returns what a compiled function returns: see ``interface.Compiled``.

    A function for value and gradient is called as forward. Its residuals are the gradients.
    """
    packed = packing_of(function)
    if len(program.functions) == 2 or not program.request.differentiates:
        return packed
    packings = packed if len(function.returns) != 1 else (packed,)
    count = len(function.returns) - len(program.wrt)
    gradients = packings[count:]
    residuals = gradients[0] if len(gradients) == 1 else gradients
    return (*packings[:count], residuals) if count else residuals


def native_text(program: Program, run: Callable[..., Program]) -> tuple[Program, GeneratedText]:
    """Returns a program after all stages of the C target, and its text; raises NoNativeText if it
    has none."""
    program = run(program, target="c")
    forward, *backward = program.functions
    return program, GeneratedText(
        source=program.source,
        forward=forward.name,
        backward=backward[0].name if backward else None,
        output=type_of(program.primal.returns[0]),
        owns_memory=True,
        unconnected=unconnected(program),
        native=program.native,
    )


def missing_compiler() -> str:
    """Returns why this machine has no C compiler, which is warned of once; empty if it has one."""
    try:
        find_compiler(compile_cache())
    except NativeUnavailable as error:
        warn_once(str(error), "'pip install autodiff-compiler[native]' brings a compiler")
        return str(error)
    return ""


__all__ = [
    "emit_c_file",
    "lower_nests",
    "missing_compiler",
    "native_text",
    "optimise_nests",
]
