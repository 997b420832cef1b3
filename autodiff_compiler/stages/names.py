"""Transitions that name what the source shows: functions and returned cotangents."""

from __future__ import annotations

from autodiff_compiler.emit.naming.unique_functions import with_unique_names
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.rewrite import producers
from autodiff_compiler.program import Program


def name_cotangents(program: Program) -> Program:
    """Names returned cotangents after their parameters, unless a user's variable named them."""
    if program.request.differentiates:
        _, backward = program.functions
        producer = producers(backward.body)
        for value, place in zip(backward.returns, program.wrt):
            if isinstance(value, Value) and value in producer and not value.has_user_name:
                value.name, value.has_user_name = f"d_{program.primal.params[place].name}", True
    return program


def unique_function_names(program: Program) -> Program:
    """Gives every function a name of its own; functions of equal text become one."""
    return program.with_functions(tuple(with_unique_names(program.functions)))


__all__ = ["name_cotangents", "unique_function_names"]
