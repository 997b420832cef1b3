"""Transitions of the C target: one function for a gradient, loop nests, and the C text."""

from __future__ import annotations

import builtins
from dataclasses import replace

from autodiff_compiler.emit.c.source import emit_c
from autodiff_compiler.ir.nodes import Function, Region, type_of
from autodiff_compiler.ir.types import ArrayType, Type
from autodiff_compiler.loops.lower import leaf_types, lower_to_loops, packing_of
from autodiff_compiler.passes.nests.pipeline import optimise
from autodiff_compiler.program import Program
from autodiff_compiler.runtime.native import (
    Array,
    Description,
    ErrorRow,
    NativeFunction,
    Scalar,
    number,
)
from autodiff_compiler.runtime.native.description import Input, Output, Packing
from autodiff_compiler.transforms.reverse.sweep import gradient_function, split
from autodiff_compiler.transforms.tangent.sweep import tangent_function


def differentiate_jointly(program: Program) -> Program:
    """Replaces the primal by one function that returns the value and the gradients.

    A given sensitivity comes after the value. The gradient is then two functions, as for NumPy.
    """
    primal, request = program.function, program.request
    output = int(request.aux)
    writes = range(1 + output, len(primal.returns))
    value = [*([0] if request.returns_value else []), *writes]
    if request.tangent:
        tangent = tangent_function(primal, program.wrt, [output])
        return program.with_functions((_with_returns(tangent, [0, *writes, -1]),))
    if not request.differentiates:
        return program.with_functions((replace(primal, role="value"),))
    if request.sens == "given":
        halves = split(primal, program.wrt, True, value, (output,))
        return program.with_functions(halves)
    gradient = gradient_function(primal, program.wrt, False, True, (output,))
    count = len(primal.returns)
    places = [*value, *range(count, count + len(program.wrt))]
    return program.with_functions((_with_returns(gradient, places),))


def _with_returns(function: Function, places: list[int]) -> Function:
    """Returns ``function`` with only these of its returns."""
    body = function.body
    yields = tuple(body.yields[place] for place in places)
    return replace(function, body=Region(body.params, body.ops, yields))


def lower_nests(program: Program) -> Program:
    """Lowers the roots to loop nests; raises NoNativeText where that cannot be."""
    return replace(program, nests=tuple(map(lower_to_loops, program.functions)))


def optimise_nests(program: Program) -> Program:
    """Runs the passes on loop nests."""
    return replace(program, nests=tuple(map(optimise, program.nests)))


def emit_c_files(program: Program) -> Program:
    """Prints the C text of each root, with the description of its call."""
    native = []
    for function, nest in zip(program.functions, program.nests):
        source = emit_c(nest)
        description = Description(
            function.name,
            source.adapter,
            tuple(_input(leaf) for param in function.params for leaf in leaf_types(param.type)),
            tuple(
                _output(leaf) for value in function.returns for leaf in leaf_types(type_of(value))
            ),
            packing=_packing(program, function),
            errors=tuple(ErrorRow(getattr(builtins, kind), text) for kind, text in nest.errors),
            workspace=source.workspace,
            services=source.services,
        )
        native.append(NativeFunction(source.text, description))
    return replace(program, native=tuple(native), source="\n".join(f.text for f in native))


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


__all__ = ["differentiate_jointly", "emit_c_files", "lower_nests", "optimise_nests"]
