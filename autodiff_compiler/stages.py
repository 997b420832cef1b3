"""What a text was at every stage of one compilation, and what its module says of itself."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.emit.memory_report.table import memory_summary
from autodiff_compiler.emit.module import Names, optional
from autodiff_compiler.emit.text.line_breaking import filled, wrap
from autodiff_compiler.frontend.abstract.array_recipes import literal
from autodiff_compiler.frontend.lower import TypedProgram
from autodiff_compiler.interface import Hoisted, Request, Write
from autodiff_compiler.ir.nodes import Function, Value, type_of
from autodiff_compiler.ir.types import GENERATOR
from autodiff_compiler.passes.memory.assign_buffers import BufferPlan
from autodiff_compiler.span import NOWHERE

#: What a text with such operations says of itself.
NOTES = {
    "into": "Large results are written over arrays that nothing reads any more (out=).",
    "lent": "Arrays to work in may be lent as work; without them new ones are made.",
    "lane": "Tapes lie side by side in one array: of rows that were read, or for backward to fill.",
    "part": "Long rows of operations on very large arrays run in tiles, which stay in the cache.",
}


@dataclass(frozen=True)
class Stages:
    """A function at every stage between its text and its source, for one request."""

    lowered: TypedProgram
    primal: Function
    halves: tuple[Function, ...]
    finished: tuple[Function, ...]
    wrt: tuple[int, ...]
    reused: tuple[BufferPlan, ...]

    @property
    def emitted(self) -> tuple[Function, ...]:
        return tuple(each.function for each in self.reused)


def constant_texts(stages: Stages) -> dict[Value, str]:
    """Return the texts of what the user's text made while it was compiled, by the parameters."""
    return {param: each.text for param, each in _outside(stages) if each.text is not None}


def all_constants(stages: Stages) -> tuple[dict[Value, str], dict[str, np.ndarray]]:
    """Return the texts of all arrays and Tensors that are no Parameters, as they are now, and what
    is too large for a text: by the names under which the lines read it from the ``.npz`` beside
    the module."""
    texts, stored = constant_texts(stages), {}
    for param, each in _outside(stages):
        if param in texts or not _is_constant(each.source):
            continue
        array = getattr(each.source, "_data", each.source)
        text = literal(array)
        if text is None and array.dtype.kind in "biufc":
            name = next(n for n in _numbered(each.name or "array") if n not in stored)
            stored[name] = np.asarray(array)
            text = f'np.load(__file__.rpartition(".")[0] + ".npz")["{name}"]'
        if text is not None:
            texts[param] = text
    return texts, stored


def _outside(stages: Stages) -> Iterator[tuple[Value, Hoisted]]:
    """The parameters that are no arguments of the user's function, with what they stand for."""
    given = stages.emitted[0].params[len(stages.lowered.places) :]
    return zip(given, stages.lowered.hoisted)


def _is_constant(source: Any) -> bool:
    """Whether this is an array or a Tensor that is no Parameter."""
    return isinstance(source, (np.ndarray, np.generic)) or (
        isinstance(source, Tensor) and not isinstance(source, Parameter)
    )


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{n}" for n in itertools.count(1))


def header(
    stages: Stages, request: Request, printed: Names, constants: Mapping[Value, str]
) -> list[str]:
    """Return the docstring of a generated module: what it is, its signature, how it is called."""
    primal, names = stages.primal, _names(stages, 0, printed)
    place = f"{primal.span.where.rpartition(':')[0]}"
    what = "Tangent" if request.tangent else "Gradient" if request.differentiates else "Forward"
    made = stages.lowered.function.span == NOWHERE and what == "Forward"
    title = primal.title[:1].upper() + primal.title[1:] if made else f"{what} of {primal.title}"
    lines = [f"{title} ({place}).", ""]
    types = (type_of(param) for param in primal.params)
    has_value = optional(stages.emitted[0], constants)
    wanting = [param not in has_value for param in stages.emitted[0].params]
    rows = zip(names, types, wanting)
    lines += filled([f"{name}: {type_}" for name, type_, wanted in rows if wanted])
    orders = stages.lowered.orders.items()
    lines += filled([f"layout of {names[place]}: {_laid(order)}" for place, order in orders])
    if request.differentiates or request.tangent:
        wanted = [names[place] for place in stages.wrt]
        seeds = [] if request.tangent else [f"sens: {request.sens}"]
        lines += filled([f"wrt: {', '.join(wanted) or 'nothing'}", *seeds])
    drawn_from = [name for name, param in zip(names, primal.params) if param.type == GENERATOR]
    draws = [f"    {name} = np.random.default_rng()" for name in drawn_from]
    given = [name for name, wanted in zip(names, wanting) if wanted]
    lines += ["", *draws, *_usage(stages, request, printed, given)]
    done = {op.name for function in stages.emitted for op in function.body.walk()}
    notes = [note for name, note in NOTES.items() if name in done]
    kept = memory_summary(stages.emitted, printed) if request.differentiates else []
    return [*lines, *([""] * bool(notes)), *notes, *([""] * bool(kept)), *kept]


def _laid(order: str | tuple[int, ...]) -> str:
    return f"{order} order" if isinstance(order, str) else f"strides {order}"


def _names(stages: Stages, half: int, printed: Names) -> list[str]:
    """The printed names of a half's parameters, but for the work arrays."""
    function, known = stages.emitted[half], len(stages.finished[half].params)
    return [printed[function.name][param] for param in function.params[:known]]


def _usage(stages: Stages, request: Request, printed: Names, needed: Sequence[str]) -> list[str]:
    """How the generated functions are called, forward with what it must be given."""
    forward, names = stages.finished[0], _names(stages, 0, printed)
    call = f"{forward.name}({', '.join(needed)})"
    written = [f"new_{written_name(write)}" for write in stages.lowered.writes]
    if not request.differentiates:
        dot = ["dot_out"] if request.tangent else []
        return wrap(f"{', '.join(['out', *written, *dot])} = {call}", 4)
    backward = stages.finished[1]
    found = ", ".join(f"d_{names[place]}" for place in stages.wrt)
    given = ", ".join(["residuals", *_names(stages, 1, printed)[1:]])
    parts = [*(["out"] if request.returns_value else []), *written, "residuals"]
    target = f"{found} = " if found else ""
    lines = [f"{', '.join(parts)} = {call}", f"{target}{backward.name}({given})"]
    return [piece for line in lines for piece in wrap(line, 4)]


def written_name(write: Write) -> str:
    """What a written Parameter or attribute is called in a signature."""
    return str(write.name or write.target.name).replace(".", "_")
