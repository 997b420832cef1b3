"""``Program``: one compilation between two stages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from autodiff_compiler.cost_model import Costs, costs
from autodiff_compiler.frontend.lower import TypedProgram
from autodiff_compiler.interface.compiled import Hoisted, Write
from autodiff_compiler.interface.request import Request
from autodiff_compiler.ir.nodes import AnyOperand, Function, Value
from autodiff_compiler.passes.memory.assign_buffers import BufferPlan
from autodiff_compiler.span import Span

#: The fields of a request that only say which derivative is wanted. Where requests differ in these
#: alone, the programs are the same until they are differentiated.
OF_DERIVATIVE = frozenset({"positions", "weights", "sens", "tangent", "value", "connections"})
#: The stages before that.
UNDIFFERENTIATED = ("typed", "stable", "primal")


@dataclass(frozen=True)
class Program:
    """The record that stages pass on. A stage returns a new one.

    request    what is to be compiled.
    typed      the outcome of the front end: inputs, outside arrays, guards, writes.
    functions  the roots of the IR as it is now: one function, and once it has been
               differentiated, a forward and a backward function.
    after      these roots after each stage that has run, by the stage's name.
    plans      for each root its buffers, once they are assigned.
    constants  the source of outside arrays whose values stand in the module, by parameter; None
               for those alone that the source function makes. For the target C, the arrays.
    nests      the roots as loop nests, if the target is C.
    source     the text, the place that each of its lines is about, and the printed names.
    native     how Python calls the functions of the C text.
    entries    the functions of the C text, as C calls them.
    costs      the thresholds that it is compiled under.
    """

    request: Request
    typed: TypedProgram
    functions: tuple[Function, ...]
    after: Mapping[str, tuple[Function, ...]] = field(default_factory=dict)
    plans: tuple[BufferPlan, ...] = ()
    constants: Mapping[Value, Any] | None = None
    nests: tuple[Any, ...] = ()
    native: tuple[Any, ...] = ()
    entries: tuple[Any, ...] = ()
    source: str = ""
    line_map: Mapping[int, Span] = field(default_factory=dict)
    names: Mapping[str, Mapping[Value, str]] = field(default_factory=dict)
    costs: Costs = field(default_factory=costs)

    def with_functions(self, functions: tuple[Function, ...]) -> Program:
        """Returns the program with these roots; the same object if they are its roots already."""
        return self if functions == self.functions else replace(self, functions=functions)

    def with_plans(self, plans: tuple[BufferPlan, ...]) -> Program:
        """Returns the program whose roots are those of ``plans``."""
        return replace(self, functions=tuple(each.function for each in plans), plans=plans)

    def finished(self, stage: str, functions: tuple[Function, ...]) -> Program:
        """Returns the program after a stage that left these roots."""
        return replace(self, functions=functions, after={**self.after, stage: functions})

    def undifferentiated(self) -> Program:
        """Returns the program as it was before it was differentiated, as far as it has come."""
        after = {name: self.after[name] for name in UNDIFFERENTIATED if name in self.after}
        functions = [*after.values()][-1]
        return Program(self.request, self.typed, functions, after, costs=self.costs)

    def for_request(self, request: Request) -> Program | None:
        """Returns this program, not yet differentiated, as that of another request for the same
        call; None if lowering must begin again."""
        before = self.request
        common = (each.name for each in fields(Request) if each.name not in OF_DERIVATIVE)
        if self.costs != costs() or any(
            getattr(request, name) != getattr(before, name) for name in common
        ):
            return None
        if self.typed.met_rules and request.needs_rules != before.needs_rules:
            return None
        typed = self.typed.with_weights(request.weights)
        return None if typed is None else replace(self, request=request, typed=typed)

    @property
    def function(self) -> Function:
        """The only root."""
        (function,) = self.functions
        return function

    @property
    def primal(self) -> Function:
        """The function that is differentiated, as it was then."""
        return self.after["primal"][0]

    @property
    def output(self) -> AnyOperand:
        """The return of the primal that is differentiated. With ``aux`` the first of several
        outputs stands once more after the value."""
        return self.primal.returns[int(self.request.aux)]

    @property
    def wrt(self) -> tuple[int, ...]:
        """The parameters of the primal that are differentiated, by position."""
        places = self.typed.places
        asked = tuple(places[position] for position in self.request.positions)
        return asked + self.typed.weight_places

    @property
    def parameters(self) -> list[tuple[Value, ...]]:
        """The parameters of each root, those for work buffers left out."""
        counts = [len(before.params) for before in self.after["scheduled"]]
        return [each.params[:count] for each, count in zip(self.functions, counts)]

    def outside(self) -> Iterator[tuple[Value, Hoisted]]:
        """Yields the parameters that are no arguments of the source function, and the outside
        values that they stand for.
        """
        return zip(self.functions[0].params[len(self.typed.places) :], self.typed.hoisted)

    def facts(self) -> tuple[Any, ...]:
        """Returns everything that the source depends on, known as soon as the program is typed.

        Of the request these are all fields, so that none can be forgotten. Wanted weights are
        given by position: the source does not depend on which objects they are.
        """
        typed = self.typed
        asked = {each.name: getattr(self.request, each.name) for each in fields(self.request)}
        asked["weights"] = typed.weight_places
        written = [written_name(write) for write in typed.writes]
        texts = [each.text for each in typed.hoisted]
        return typed.function, asked, typed.places, typed.orders, written, typed.silenced, texts


def written_name(write: Write) -> str:
    """Returns what a written Parameter or attribute is called in a signature."""
    return str(write.name or write.target.name).replace(".", "_")


__all__ = ["Program", "written_name"]
