"""What a forward half keeps for its backward half: each value with its bytes, the line that made it
and the lines whose derivatives read it.

The residual tuple is taken apart through calls and loops: what a called function keeps stands
under the name of its residuals (``residuals_1.x``), of what a loop keeps there is one item for
each iteration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from autodiff_compiler.analysis.trips import trips
from autodiff_compiler.emit.readers import Half, Reader, handed_on, items, needs, stepped
from autodiff_compiler.emit.sizes import Size, size_of
from autodiff_compiler.emit.to_numpy import Names
from autodiff_compiler.ir.memory import changes_array
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value, type_of
from autodiff_compiler.ir.rewrite import producers
from autodiff_compiler.ir.types import TupleType, Type
from autodiff_compiler.span import NOWHERE, Span

ONE = Size.of(1)


#: What an operation in a loop makes in the last iteration, and in those before.
LAST, BEFORE = "last", "before"


@dataclass(frozen=True)
class Memory:
    """The bytes of all arrays that an operation makes, of its last or of its other iterations.
    ``key`` is alike for the same memory, and tells another call of a function from this one."""

    key: tuple[object, ...]
    size: Size
    is_argument: bool = False


@dataclass(frozen=True)
class Kept:
    """A kept value. ``type`` is that of one item, and there are ``times`` of them.

    name     as it is printed.
    made     the line that made it; NOWHERE for an argument.
    needed   the lines whose derivatives read it, in the order of the text.
    memory   where it lies, perhaps together with another.
    """

    name: str
    type: Type
    times: Size
    made: Span
    needed: tuple[Span, ...]
    memory: tuple[Memory, ...]

    @property
    def item_size(self) -> Size:
        """The bytes of an item, as ``nbytes`` counts them."""
        return size_of(self.type)

    @property
    def size(self) -> Size:
        """The bytes of all items."""
        return self.item_size * self.times


def kept_values(forward: Function, backward: Function, names: Names) -> list[Kept]:
    """What ``forward`` keeps for ``backward``, in the order of the residual tuple: the last that
    ``forward`` returns, and the first parameter of ``backward``."""
    reader = Reader(Half(backward, {}), backward.params[0])
    return list(_Finder(forward, names).kept(forward.returns[-1], [reader]))


def held(kept: Iterable[Kept]) -> tuple[Size, Size]:
    """The bytes that are held in all, and those among them that are the caller's arguments. What
    two values share counts once."""
    found = {memory.key: memory for value in kept for memory in value.memory}.values()
    return (
        sum((memory.size for memory in found), Size()),
        sum((memory.size for memory in found if memory.is_argument), Size()),
    )


class _Finder:
    """Looks at one forward function, which ``caller`` calls by the operation ``call``."""

    def __init__(
        self,
        function: Function,
        names: Names,
        caller: _Finder | None = None,
        call: Op | None = None,
        prefix: str = "",
    ):
        self.function, self.all_names, self.prefix = function, names, prefix
        self.caller, self.call = caller, call
        self.path: tuple[object, ...] = () if caller is None else (*caller.path, call)
        self.inner: dict[Op, _Finder] = {}
        self.names = names.get(function.name, {})
        self.makers = producers(function.body)
        self.carries: dict[AnyOperand, Loop] = {}
        self.reads: dict[AnyOperand, AnyOperand] = {}
        #: How often each value is made, and the loop that it is made in.
        self.often: dict[AnyOperand, Size] = {}
        self.home: dict[AnyOperand, Loop] = {}
        once = ONE if caller is None or call is None else caller.often[call.results[0]]
        self.look(function.body, once, None)

    def look(self, region: Region, often: Size, home: Loop | None) -> None:
        """Notes where the values of a region are."""
        for op in region.ops:
            self.often.update(dict.fromkeys(op.results, often))
            if home is not None:
                self.home.update(dict.fromkeys(op.results, home))
            if op.name not in ("for", "while"):
                for inner in op.regions:
                    self.look(inner, often, home)
                continue
            loop = Loop(op)
            self.carries.update(dict.fromkeys(loop.carry_params, loop))
            self.reads.update(zip(loop.read_params, loop.reads))
            self.look(loop.body, often * self.trips(loop), loop)

    def kept(
        self,
        operand: AnyOperand,
        readers: Sequence[Reader],
        name: str = "",
        prefix: str = "",
        times: Size = ONE,
        heads: tuple[AnyOperand, ...] = (),
    ) -> Iterator[Kept]:
        """The values in ``operand``, of which ``times`` are kept, the first of them ``heads``."""
        maker = self.maker(operand)
        if maker is not None and maker.name == "make_tuple":
            for key, part in enumerate(maker.operands):
                yield from self.kept(part, items(readers, key), "", prefix, times)
            return
        name = name or prefix + self.name(operand, readers)
        if maker is not None and isinstance(type_of(operand), TupleType) and maker.name == "call":
            yield from self.called(maker, operand, readers, name, times)
            return
        listed = self.listed(operand)
        if listed is not None:
            item, count, heads = listed
            times = times * (count + Size.of(len(heads)))
            if isinstance(type_of(item), TupleType):
                inner = [each for reader in readers for each in stepped(reader)]
                yield from self.kept(item, inner, f"{name}[i]", f"{name}[i].", times, heads)
            else:
                yield from self.kept(item, readers, name, prefix, times, heads)
            return
        memory = [each for part in (*heads, operand) for each in self.memory(part)]
        needed = dict.fromkeys(span for reader in readers for span in needs(reader))
        yield Kept(name, type_of(operand), times, self.made(operand), tuple(needed), tuple(memory))

    def called(
        self, call: Op, operand: AnyOperand, readers: Sequence[Reader], name: str, times: Size
    ) -> Iterator[Kept]:
        """What the residuals of a called function hold."""
        inner = [each for reader in readers for each in handed_on(reader)]
        finder = self.inside(call)
        yield from finder.kept(finder.returned(operand), inner, "", f"{name}.", times)

    def inside(self, call: Op) -> _Finder:
        """The finder of what is called; names of its own are told by those of the last result."""
        if call not in self.inner:
            callee = call.attrs["callee"]
            prefix = f"{self.prefix}{self.names.get(call.results[-1], callee.name)}."
            self.inner[call] = _Finder(callee, self.all_names, self, call, prefix)
        return self.inner[call]

    def returned(self, result: AnyOperand) -> AnyOperand:
        """What the function returns as this result of the call."""
        assert self.call is not None
        return self.function.returns[self.call.results.index(result)]  # type: ignore[arg-type]

    def given(self, param: Value) -> AnyOperand:
        """What the caller gives for a parameter."""
        assert self.call is not None
        return self.call.operands[self.function.params.index(param)]

    def listed(self, operand: AnyOperand) -> tuple[AnyOperand, Size, tuple[AnyOperand, ...]] | None:
        """The item that a loop puts into a list, how often, and the items before those."""
        maker = self.maker(operand)
        if maker is None:
            return None
        if maker.name == "list_join":
            first, rest = self.maker(maker.operands[0]), self.listed(maker.operands[1])
            if first is None or first.name != "make_list" or rest is None:
                return None
            return rest[0], rest[1], (*first.operands, *rest[2])
        loop = Loop(maker) if maker.name in ("for", "while") else None
        if loop is None or operand not in loop.stacked:
            return None
        return loop.stack_yields[loop.stacked.index(operand)], self.trips(loop), ()

    def trips(self, loop: Loop) -> Size:
        """How often a loop runs: a number, the name of its bound or of its count."""
        known = trips(loop)
        if known is not None:
            return Size.of(known)
        start, stop, step = loop.bounds or (0, loop.count, 1)
        if loop.has_until or (start, step) != (0, 1):
            stop = loop.count
        assert isinstance(stop, Value)
        return Size.named(self.prefix + (self.names.get(stop) or f"times_{loop.op.span.line}"))

    def maker(self, operand: AnyOperand) -> Op | None:
        return self.makers.get(operand) if isinstance(operand, Value) else None

    def name(self, operand: AnyOperand, readers: Sequence[Reader]) -> str:
        """The printed name, of the backward half where forward has none."""
        names = [self.names.get(operand)] if isinstance(operand, Value) else []
        names += [self.all_names.get(r.half.function.name, {}).get(r.value) for r in readers]
        return next((name for name in names if name), str(operand))

    def made(self, operand: AnyOperand) -> Span:
        """The line that made a value: of what a loop carries, the line in its body; of an array
        that is filled, the line that made what it is filled with."""
        maker = self.maker(operand)
        if isinstance(operand, Value) and maker is None:
            if operand in self.carries:
                loop = self.carries[operand]
                after = _after(loop, loop.carry_params.index(operand))
                return loop.op.span if after is None else self.made(after)
            if operand in self.reads:
                return self.made(self.reads[operand])
            if self.caller is not None and operand in self.function.params:
                return self.caller.made(self.given(operand))
        if maker is None:
            return NOWHERE
        last = _last(maker, operand)
        if last is not None:
            return self.made(last)
        return self.made(maker.operands[1]) if changes_array(maker) else maker.span

    def memory(self, operand: AnyOperand) -> tuple[Memory, ...]:
        """Where all that a value ever is may lie: a view where what it is of does."""
        maker = self.maker(operand)
        if isinstance(operand, Value) and maker is None:
            if operand in self.carries:
                loop = self.carries[operand]
                place = loop.carry_params.index(operand)
                after = _after(loop, place)
                if after is not None:
                    return (*self.memory(loop.inits[place]), *self.part(after, loop, BEFORE))
            if operand in self.function.params:
                if self.caller is not None:
                    return self.caller.memory(self.given(operand))
                return (Memory((operand,), size_of(operand.type), True),)
        if maker is not None:
            last = _last(maker, operand)
            if last is not None:
                return self.part(last, Loop(maker), LAST)
            if maker.opdef.views:
                return self.memory(maker.operands[0])
            if maker.name == "call":
                inside = self.inside(maker)
                return inside.memory(inside.returned(operand))
        if operand in self.home:
            return self.piece(operand, BEFORE), self.piece(operand, LAST)
        size = size_of(type_of(operand)) * self.often.get(operand, ONE)
        return (Memory((*self.path, operand), size),)

    def part(self, after: AnyOperand, loop: Loop, which: str) -> tuple[Memory, ...]:
        """``memory`` of what a loop makes of a carry, but for iterations that are not meant."""
        whole = self.memory(after)
        if self.home.get(after) == loop and whole[0] == self.piece(after, BEFORE):
            return (self.piece(after, which),)
        return whole

    def piece(self, made: AnyOperand, which: str) -> Memory:
        """What is made in a loop, in the last or in the other iterations."""
        last = self.often[self.home[made].count]
        often = last if which == LAST else self.often[made] - last
        return Memory((*self.path, made, which), size_of(type_of(made)) * often)


def _after(loop: Loop, place: int) -> AnyOperand | None:
    """What an iteration makes of a carry; None where it is only handed on."""
    after = loop.carry_yields[place]
    return None if after in loop.carry_params else after


def _last(maker: Op, result: AnyOperand) -> AnyOperand | None:
    """What the last iteration made that a loop leaves."""
    if maker.name not in ("for", "while") or result not in Loop(maker).carried:
        return None
    return _after(Loop(maker), Loop(maker).carried.index(result))  # type: ignore[arg-type]
