"""Transitions of the C target: one function for a gradient, loop nests, and the C text."""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable
from dataclasses import replace

from autodiff_compiler.common.context import compile_cache
from autodiff_compiler.emit.c.source import emit_c
from autodiff_compiler.errors import CallError
from autodiff_compiler.interface import GeneratedText
from autodiff_compiler.ir.nodes import Function, Region, type_of
from autodiff_compiler.ir.types import ArrayType, Type
from autodiff_compiler.loops.core.values import NoNativeText
from autodiff_compiler.loops.lower import leaf_types, lower_to_loops, packing_of
from autodiff_compiler.passes.nests.pipeline import optimise
from autodiff_compiler.program import Program
from autodiff_compiler.runtime.native import (
    Array,
    Description,
    ErrorRow,
    NativeFunction,
    NativeUnavailable,
    Scalar,
    find_compiler,
    number,
)
from autodiff_compiler.runtime.native.description import Input, Output, Packing
from autodiff_compiler.stages.outcome import unconnected
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


def native_text(
    program: Program, run: Callable[..., Program]
) -> tuple[Program, GeneratedText] | str:
    """Returns a program after all stages of the C target, and its text; or why it has no C text."""
    try:
        find_compiler(compile_cache())
        program = run(program, target="c")
    except NoNativeText as error:
        return str(error)
    except NativeUnavailable as error:
        _warn_once(str(error))
        return str(error)
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


def run_or_refuse(run: Callable[[], Program]) -> Program:
    """Returns ``run()``; raises a CallError if the program has no C text."""
    try:
        return run()
    except NoNativeText as error:
        raise CallError(f"this function has no C text: {error}", "use target='numpy'") from None


_warned: set[str] = set()


def _warn_once(reason: str) -> None:
    """Warns that there is no C compiler, once for each reason."""
    if reason not in _warned:
        _warned.add(reason)
        warnings.warn(
            f"{reason}; NumPy source runs instead of C. 'pip install autodiff-compiler[native]' "
            "brings a compiler",
            stacklevel=2,
        )


__all__ = [
    "differentiate_jointly",
    "emit_c_files",
    "lower_nests",
    "native_text",
    "optimise_nests",
    "run_or_refuse",
]
