"""The docstring of a generated module: title, signature, and how its functions are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autodiff_compiler.emit.function_text import parameters_with_default
from autodiff_compiler.emit.memory_report.table import memory_summary
from autodiff_compiler.emit.naming.choose import Names
from autodiff_compiler.emit.text.line_breaking import filled, wrap
from autodiff_compiler.ir.nodes import Value, type_of
from autodiff_compiler.ir.types import GENERATOR
from autodiff_compiler.passes.registry import MEMORY
from autodiff_compiler.program import Program, written_name
from autodiff_compiler.span import NOWHERE

#: Sentences about a module from level 2 on, by the operator that must occur in it.
NOTES = {
    "compute_into": "Results are written into dead buffers (out=).",
    "work_buffer": "Workspace buffers may be passed as work; without it, they are allocated.",
    "slice_view": "Several tapes of a loop are stored side by side in the rows of one array.",
    "tile_view": "Elementwise operations on very large arrays run in tiles that fit in the cache.",
}


def module_header(program: Program, printed: Names, constants: Mapping[Value, str]) -> list[str]:
    """Returns the lines of the docstring.

    printed    the names of values in the text, by function.
    constants  the source of parameters that need not be given.
    """
    request, names = program.request, _names(program, 0, printed)
    params = program.primal.params
    has_value = parameters_with_default(program.functions[0], constants)
    needed = [param not in has_value for param in program.functions[0].params]
    types = [str(type_of(param)) for param in params]
    lines = [_title(program), ""]
    rows = zip(names, types, needed)
    lines += filled([f"{name}: {type_}" for name, type_, is_needed in rows if is_needed])
    orders = program.typed.orders.items()
    lines += filled([f"layout of {names[place]}: {_layout(order)}" for place, order in orders])
    if request.differentiates or request.tangent:
        wanted = ", ".join(names[place] for place in program.wrt)
        seeds = (
            [] if request.tangent else [f"sens: {'given' if request.takes_sens else request.sens}"]
        )
        lines += filled([f"wrt: {wanted or 'nothing'}", *seeds])
    generators = [name for name, param in zip(names, params) if param.type == GENERATOR]
    lines += ["", *(f"    {name} = np.random.default_rng()" for name in generators)]
    lines += _usage(program, printed, [n for n, is_needed in zip(names, needed) if is_needed])
    operators = {op.name for function in program.functions for op in function.body.walk()}
    if request.opt_level in MEMORY:
        lines += _paragraph([note for name, note in NOTES.items() if name in operators])
    if request.differentiates:
        lines += _paragraph(memory_summary(program.functions, printed))
    return lines


def _paragraph(lines: Sequence[str]) -> list[str]:
    return ["", *lines] if lines else []


def _title(program: Program) -> str:
    primal, request = program.primal, program.request
    kind = "Tangent" if request.tangent else "Gradient" if request.differentiates else "Forward"
    place = primal.span.where.rpartition(":")[0]
    is_generated = program.typed.function.span == NOWHERE and kind == "Forward"
    name = primal.title[:1].upper() + primal.title[1:]
    return f"{name if is_generated else f'{kind} of {primal.title}'} ({place})."


def _layout(order: str | tuple[int, ...]) -> str:
    return f"{order} order" if isinstance(order, str) else f"strides {order}"


def _names(program: Program, root: int, printed: Names) -> list[str]:
    """Returns the printed names of a root's parameters, without those for work buffers."""
    names = printed[program.functions[root].name]
    return [names[param] for param in program.parameters[root]]


def _usage(program: Program, printed: Names, needed: Sequence[str]) -> list[str]:
    """Returns the calls of the generated functions, forward with the arguments it needs."""
    request, names = program.request, _names(program, 0, printed)
    call = f"{program.functions[0].name}({', '.join(needed)})"
    written = [f"new_{written_name(write)}" for write in program.typed.writes]
    if not request.differentiates:
        dot = ["dot_out"] if request.tangent else []
        return wrap(f"{', '.join(['out', *written, *dot])} = {call}", 4)
    cotangents = ", ".join(f"d_{names[place]}" for place in program.wrt)
    arguments = ", ".join(["residuals", *_names(program, 1, printed)[1:]])
    results = ", ".join([*(["out"] if request.returns_value else []), *written, "residuals"])
    target = f"{cotangents} = " if cotangents else ""
    lines = [f"{results} = {call}", f"{target}{program.functions[1].name}({arguments})"]
    return [piece for line in lines for piece in wrap(line, 4)]


__all__ = ["module_header"]
