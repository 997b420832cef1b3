"""What a text was at every stage of one compilation, and what its module says of itself."""

from __future__ import annotations

from dataclasses import dataclass

from autodiff_compiler.emit.account import in_short
from autodiff_compiler.emit.to_numpy import Names
from autodiff_compiler.emit.wrap import filled, wrap
from autodiff_compiler.frontend.lower import Lowered
from autodiff_compiler.ir.nodes import Function, type_of
from autodiff_compiler.ir.types import GENERATOR
from autodiff_compiler.passes.reuse import Reused
from autodiff_compiler.plan import Request, Write
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

    lowered: Lowered
    primal: Function
    halves: tuple[Function, ...]
    finished: tuple[Function, ...]
    wrt: tuple[int, ...]
    reused: tuple[Reused, ...]

    @property
    def emitted(self) -> tuple[Function, ...]:
        return tuple(each.function for each in self.reused)


def header(stages: Stages, request: Request, printed: Names) -> list[str]:
    """The docstring of a generated module: what it is, its signature, how it is called."""
    primal, names = stages.primal, _names(stages, 0, printed)
    place = f"{primal.span.where.rpartition(':')[0]}"
    what = "Tangent" if request.tangent else "Gradient" if request.differentiates else "Forward"
    made = stages.lowered.function.span == NOWHERE and what == "Forward"
    title = primal.title[:1].upper() + primal.title[1:] if made else f"{what} of {primal.title}"
    lines = [f"{title} ({place}).", ""]
    types = (type_of(param) for param in primal.params)
    lines += filled([f"{name}: {type_}" for name, type_ in zip(names, types)])
    if request.differentiates or request.tangent:
        wanted = [names[place] for place in stages.wrt]
        seeds = [] if request.tangent else [f"sens: {request.sens}"]
        lines += filled([f"wrt: {', '.join(wanted) or 'nothing'}", *seeds])
    drawn_from = [name for name, param in zip(names, primal.params) if param.type == GENERATOR]
    draws = [f"    {name} = np.random.default_rng()" for name in drawn_from]
    lines += ["", *draws, *_usage(stages, request, printed)]
    done = {op.name for function in stages.emitted for op in function.body.walk()}
    notes = [note for name, note in NOTES.items() if name in done]
    kept = in_short(stages.emitted, printed) if request.differentiates else []
    return [*lines, *([""] * bool(notes)), *notes, *([""] * bool(kept)), *kept]


def _names(stages: Stages, half: int, printed: Names) -> list[str]:
    """The printed names of a half's parameters, but for the work arrays."""
    function, known = stages.emitted[half], len(stages.finished[half].params)
    return [printed[function.name][param] for param in function.params[:known]]


def _usage(stages: Stages, request: Request, printed: Names) -> list[str]:
    """How the generated functions are called."""
    forward, names = stages.finished[0], _names(stages, 0, printed)
    call = f"{forward.name}({', '.join(names)})"
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
