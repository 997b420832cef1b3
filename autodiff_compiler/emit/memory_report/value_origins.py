"""The origins of values in a forward function: the lines that made them, and their memory.

Memory is identified by the operation that allocates it. For an operation in a loop, the last
iteration counts separately from those before: a loop returns the one and may save the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from autodiff_compiler.analysis.trip_count import trip_count
from autodiff_compiler.emit.memory_report.byte_formulas import ByteFormula, formula_of
from autodiff_compiler.emit.naming.choose import Names
from autodiff_compiler.ir.aliasing import updates_in_place
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value, type_of
from autodiff_compiler.ir.rewrite import producers
from autodiff_compiler.span import NOWHERE, Span

ONE = ByteFormula.of(1)
#: The results of an operation in the last iteration of a loop, and in those before.
LAST, BEFORE = "last", "before"
#: The carries on the path followed so far: a path through a loop comes back to them.
Met = frozenset[AnyOperand]


@dataclass(frozen=True)
class Memory:
    """The bytes of all arrays that an operation allocates, in its last or in its other iterations.

    ``key`` is equal for the same memory, and differs for another call of a function.
    """

    key: tuple[object, ...]
    size: ByteFormula
    is_argument: bool = False


class Origins:
    """The origins of values in one forward function, which ``caller`` calls by the operation
    ``call``.

    inner    the origins in called functions.
    carries  by a carry's parameter, its loop.
    reads    by a loop's parameter for items, the list or array that it reads.
    often    how often each value is made.
    home     the innermost loop in which each value is made.
    """

    def __init__(
        self,
        function: Function,
        names: Names,
        caller: Origins | None = None,
        call: Op | None = None,
        prefix: str = "",
    ):
        self.function, self.all_names, self.prefix = function, names, prefix
        self.caller, self.call = caller, call
        self.path: tuple[object, ...] = () if caller is None else (*caller.path, call)
        self.inner: dict[Op, Origins] = {}
        self.names = names.get(function.name, {})
        self.makers = producers(function.body)
        self.carries: dict[AnyOperand, Loop] = {}
        self.reads: dict[AnyOperand, AnyOperand] = {}
        self.often: dict[AnyOperand, ByteFormula] = {}
        self.home: dict[AnyOperand, Loop] = {}
        once = ONE if caller is None or call is None else caller.often[call.results[0]]
        self._look(function.body, once, None)

    def _look(self, region: Region, often: ByteFormula, home: Loop | None) -> None:
        """Notes the loops of the values in a region."""
        for op in region.ops:
            self.often.update(dict.fromkeys(op.results, often))
            if home is not None:
                self.home.update(dict.fromkeys(op.results, home))
            if op.name not in ("for", "while"):
                for inner in op.regions:
                    self._look(inner, often, home)
                continue
            loop = Loop(op)
            self.carries.update(dict.fromkeys(loop.carry_params, loop))
            self.reads.update(zip(loop.read_params, loop.reads))
            self._look(loop.body, often * self.trips(loop), loop)

    def inside(self, call: Op) -> Origins:
        """Returns the origins in a called function. Its names start with the name of the call's
        last result."""
        if call not in self.inner:
            callee = call.attrs["callee"]
            prefix = f"{self.prefix}{self.names.get(call.results[-1], callee.name)}."
            self.inner[call] = Origins(callee, self.all_names, self, call, prefix)
        return self.inner[call]

    def returned(self, result: AnyOperand) -> AnyOperand:
        """Returns the value that the function returns as this result of the call."""
        assert self.call is not None
        return self.function.returns[self.call.results.index(result)]

    def given(self, param: Value) -> AnyOperand:
        """Returns the value that the caller passes for a parameter."""
        assert self.call is not None
        return self.call.operands[self.function.params.index(param)]

    def trips(self, loop: Loop) -> ByteFormula:
        """Returns how often a loop runs: a number, the name of its bound or of its count."""
        known = trip_count(loop)
        if known is not None:
            return ByteFormula.of(known)
        start, stop, step = loop.bounds or (0, loop.count, 1)
        if loop.has_until or (start, step) != (0, 1):
            stop = loop.count
        assert isinstance(stop, Value)
        return ByteFormula.named(
            self.prefix + (self.names.get(stop) or f"times_{loop.op.span.line}")
        )

    def maker(self, operand: AnyOperand) -> Op | None:
        return self.makers.get(operand) if isinstance(operand, Value) else None

    def origin(self, operand: AnyOperand, met: Met = frozenset()) -> Span:
        """Returns the line that made a value; NOWHERE for an argument.

        For a carry this is the line in the loop's body. For an updated array it is the line that
        made the new content.
        """
        maker = self.maker(operand)
        if isinstance(operand, Value) and maker is None:
            if operand in self.carries:
                loop = self.carries[operand]
                after = loop.carry_yields[loop.carry_params.index(operand)]
                return loop.op.span if operand in met else self.origin(after, met | {operand})
            if operand in self.reads:
                return self.origin(self.reads[operand], met)
            if self.caller is not None and operand in self.function.params:
                return self.caller.origin(self.given(operand))
        if maker is None:
            return NOWHERE
        last = _last(maker, operand)
        if last is not None:
            return self.origin(last, met)
        adds = updates_in_place(maker) and maker.opdef.writes
        filled = self.origin(maker.operands[1], met) if adds else NOWHERE
        return maker.span if filled == NOWHERE else filled

    def memory(self, operand: AnyOperand, met: Met = frozenset()) -> tuple[Memory, ...]:
        """Returns all memory that a value may use. A view uses the memory of its array."""
        maker = self.maker(operand)
        if isinstance(operand, Value) and maker is None:
            if operand in self.carries:
                if operand in met:
                    return ()
                loop, met = self.carries[operand], met | {operand}
                place = loop.carry_params.index(operand)
                before = self._part(loop.carry_yields[place], loop, BEFORE, met)
                return (*self.memory(loop.inits[place], met), *before)
            if operand in self.function.params:
                if self.caller is not None:
                    return self.caller.memory(self.given(operand))
                return (Memory((operand,), formula_of(operand.type), True),)
        if maker is not None:
            last = _last(maker, operand)
            if last is not None:
                return self._part(last, Loop(maker), LAST, met)
            if maker.viewed:
                return self.memory(maker.operands[0], met)
            if maker.name == "call":
                inside = self.inside(maker)
                return inside.memory(inside.returned(operand))
        if operand in self.home:
            return self._loop_memory(operand, BEFORE), self._loop_memory(operand, LAST)
        size = formula_of(type_of(operand)) * self.often.get(operand, ONE)
        return (Memory((*self.path, operand), size),)

    def _part(self, after: AnyOperand, loop: Loop, which: str, met: Met) -> tuple[Memory, ...]:
        """Returns ``memory`` of a carry after an iteration, in the iterations that ``which``
        names."""
        memory = self.memory(after, met)
        if self.home.get(after) == loop and memory[:1] == (self._loop_memory(after, BEFORE),):
            return (self._loop_memory(after, which),)
        return memory

    def _loop_memory(self, operand: AnyOperand, which: str) -> Memory:
        """Returns the memory allocated in a loop, in its last or in its other iterations."""
        last = self.often[self.home[operand].count]
        often = last if which == LAST else self.often[operand] - last
        return Memory((*self.path, operand, which), formula_of(type_of(operand)) * often)


def _last(maker: Op, result: AnyOperand) -> AnyOperand | None:
    """Returns the value of the last iteration that a loop returns as ``result``, or None."""
    if maker.name not in ("for", "while") or result not in Loop(maker).carried:
        return None
    return Loop(maker).carry_yields[Loop(maker).carried.index(result)]
