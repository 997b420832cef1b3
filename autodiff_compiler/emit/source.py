"""``emit_program``: the last stage, from the IR of a program to its NumPy source."""

from __future__ import annotations

from dataclasses import replace

from autodiff_compiler.emit.module import emit_module
from autodiff_compiler.emit.module_header import module_header
from autodiff_compiler.emit.naming.choose import Names
from autodiff_compiler.emit.outside_arrays import constant_texts
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.program import Program


def emit_program(program: Program) -> Program:
    """Returns the program with its source: every function of it, callees first."""
    constants = constant_texts(program) if program.constants is None else program.constants
    functions: dict[str, Function] = {}
    for root in program.functions:
        for function in (*root.callees(), root):
            functions.setdefault(function.name, function)

    def header(printed: Names) -> list[str]:
        return module_header(program, printed, constants)

    silenced = {root.name: program.typed.silenced for root in program.functions}
    entries = frozenset(root.name for root in program.functions)
    emitted = emit_module(list(functions.values()), header, silenced, constants, entries)
    return replace(program, source=emitted.source, line_map=emitted.line_map, names=emitted.names)


__all__ = ["emit_program"]
