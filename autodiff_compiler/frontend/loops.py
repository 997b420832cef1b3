"""Loops: rolled where they can be, so that the text's size never depends on a trip count.

A rolled loop is lowered again and again until its carried variables are known: what the body
changes is carried, with the type that holds its value before and after every iteration. A loop over
things known now that differ in kind (the Cells of a CellList) is unrolled, and so is a counted loop
whose index must be known in the body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import gast

from autodiff_compiler.common.containers import CellList, SequentialCell
from autodiff_compiler.errors import DTypeError, UnsupportedSyntax
from autodiff_compiler.frontend.branches import Branches
from autodiff_compiler.frontend.builtin_calls import Iteration
from autodiff_compiler.frontend.resolve import MISSING
from autodiff_compiler.frontend.values import (
    CannotRoll,
    Maybe,
    NeedStatic,
    Poisoned,
    Ref,
    RunTimeRange,
    State,
    Unset,
    as_type,
    joined_type,
    leaves,
    rebuild,
    same,
    same_skeleton,
)
from autodiff_compiler.ir.build import read_type
from autodiff_compiler.ir.nodes import AnyOperand, Region, Value, type_of
from autodiff_compiler.ir.types import INT, ArrayType, ListType, Type
from autodiff_compiler.operators import compare, containers, indexing, numbers
from autodiff_compiler.operators.control import undefined

TRIALS = 24
UNROLL_LIMIT = 20_000
Key = Any  # a variable's name, or a cell of the heap


@dataclass
class Walk:
    """How a ``for`` goes through an iterable.

    bounds   the range of its index; reads  what is read item by item; item  the user's item from
    index and reads; items  all of them, if known while compiling.
    """

    bounds: tuple[AnyOperand, AnyOperand, AnyOperand]
    reads: list[Value]
    item: Callable[[Value, Sequence[Value]], Any]
    items: Sequence[Any] | None = None

    @property
    def runs(self) -> bool:
        """Whether it certainly makes an iteration."""
        if any(isinstance(bound, Value) for bound in self.bounds):
            return False
        return len(range(*self.bounds)) > 0  # type: ignore[arg-type]


@dataclass
class Carried:
    """A carried variable: the types of its leaves, and a value that shows its structure."""

    like: Any
    types: list[Type]
    fresh: bool


class Loops(Branches):
    """Adds loops to ``Branches``."""

    def block(self, statements: Sequence[Any]) -> Any:
        """Lowers statements; gives ``Returned`` if they end in a return."""
        raise NotImplementedError

    def assign(self, target: Any, value: Any) -> None:
        """Binds a target."""
        raise NotImplementedError

    def exec_For(self, node: Any) -> None:
        span = self.source.span(node)
        walk = self.walk(self.evaluate(node.iter))
        if isinstance(walk, list):
            self._unroll(node, iter(walk))
            return
        reason = self._try_to_roll(node, walk)
        if reason is not None:
            if walk.items is None:
                raise self._unrollable(reason, span)
            self._unroll(node, iter(walk.items))

    def _try_to_roll(self, node: Any, walk: Walk | None) -> Exception | None:
        """Rolls a loop, or says why it cannot be; then nothing has changed."""
        base, told = self.state.fork(), len(self.world.problems)
        around = set(self.loop_params)
        try:
            with self.builder.at(self.source.span(node)), self.builder.block() as ops:
                self._roll(node, walk)
        except (NeedStatic, CannotRoll) as reason:
            del self.world.problems[told:]
            self.state = base
            own = self.loop_params - around
            if isinstance(reason, NeedStatic) and not self.roots(reason.value) & own:
                raise
            return reason
        finally:
            self.loop_params = around
        self.builder.ops.extend(ops)
        return None

    def _unrollable(self, reason: Exception, span: Any) -> Exception:
        if isinstance(reason, NeedStatic):
            cause = f"{reason.purpose} must be known while compiling, but depends on this loop"
            return DTypeError(cause, "loop over a range that is known while compiling", reason.span)
        return DTypeError(str(reason), "keep the structure of what the loop changes", span)

    def exec_While(self, node: Any) -> None:
        reason = self._try_to_roll(node, None)
        if reason is not None:
            self._unroll_while(node, reason)

    #: The parameters of the loops that are being rolled around this point.
    loop_params: set[Value]

    def roots(self, value: Any) -> set[Value]:
        """The parameters (of functions and loops) that a value depends on."""
        found: set[Value] = set()
        todo, seen = [value], set()
        while todo:
            one = todo.pop()
            if not isinstance(one, Value) or one in seen:
                continue
            seen.add(one)
            maker = self.builder.producer(one)
            if maker is None:
                found.add(one)
                continue
            todo.extend(maker.operands)
            todo.extend(y for region in maker.regions for y in region.yields)
        return found

    # ---- what is iterated over

    def walk(self, iterable: Any) -> Walk | list[Any]:
        """How to go through an iterable: rolled, or item by item."""
        if isinstance(iterable, range):
            bounds = (iterable.start, iterable.stop, iterable.step)
            return Walk(bounds, [], lambda index, reads: index, iterable)
        if isinstance(iterable, RunTimeRange):
            bounds = (iterable.start, iterable.stop, iterable.step)
            return Walk(bounds, [], lambda index, reads: index)
        if isinstance(iterable, Value) and isinstance(iterable.type, (ArrayType, ListType)):
            size = self._length(iterable)
            return Walk((0, size, 1), [iterable], lambda index, reads: reads[0])
        if isinstance(iterable, Iteration) and iterable.kind in ("enumerate", "zip"):
            return self._combined(iterable)
        return self.sequence(iterable)

    def _length(self, value: Value) -> AnyOperand:
        if isinstance(value.type, ListType):
            return containers.list_length(value)
        shape = self.shape(value)
        if isinstance(shape, Value):
            return numbers.shape_item(shape, at=0)
        if not shape:
            raise self.fail(DTypeError, "iteration over a 0-d tensor")
        return shape[0]

    def _combined(self, iterable: Iteration) -> Walk | list[Any]:
        walks = [self.walk(source) for source in iterable.sources]
        start = iterable.start
        if any(isinstance(walk, list) for walk in walks):
            return self.sequence(iterable)
        first: Walk = walks[0]  # type: ignore[assignment]
        reads = [read for walk in walks for read in walk.reads]  # type: ignore[union-attr]
        if any(not same(walk.bounds, first.bounds) for walk in walks):  # type: ignore[union-attr]
            return self.sequence(iterable)
        counts = [len(walk.reads) for walk in walks]  # type: ignore[union-attr]

        def item(index: Value, values: Sequence[Value]) -> Any:
            parts, at = [], 0
            for walk, count in zip(walks, counts):
                parts.append(walk.item(index, values[at : at + count]))  # type: ignore[union-attr]
                at += count
            if iterable.kind == "enumerate":
                position = index if start == 0 else self.binary("Add", index, start)
                return (position, parts[0])
            return tuple(parts)

        if iterable.kind == "enumerate" and not same(first.bounds[0], 0):
            return self.sequence(iterable)
        items = None if any(w.items is None for w in walks) else self.sequence(iterable)  # type: ignore
        return Walk(first.bounds, reads, item, items)

    def sequence(self, value: Any) -> list[Any]:
        """Everything an iterable yields, where that is known while compiling."""
        if isinstance(value, Iteration):
            parts = [self.sequence(source) for source in value.sources]
            if value.kind == "enumerate":
                return [(n + value.start, item) for n, item in enumerate(parts[0])]
            if value.kind == "reversed":
                return parts[0][::-1]
            return [tuple(row) for row in zip(*parts)]
        if isinstance(value, RunTimeRange):
            first = next(b for b in (value.stop, value.start, value.step) if isinstance(b, Value))
            raise NeedStatic(first, self.builder.span, "this range's bound")
        if isinstance(value, Value):
            size = self._length(value)
            count = self.static(size, "the number of items")
            return [indexing.index(value, index=(k,)) for k in range(count)]
        if isinstance(value, (SequentialCell, CellList)):
            value = self.attribute(value, "cell_list")
        if not isinstance(value, Ref):
            path = self.world.path(value)
            self.world.assume_length(value) if hasattr(value, "__len__") else None
            if isinstance(value, (list, tuple)) and path is not None:
                return [self.lifted(self.world.item(value, k)) for k in range(len(value))]
        contents = self.contents(value)
        try:
            return [self.lifted(item) for item in contents]
        except TypeError as error:
            raise self.translate(error, "this cannot be iterated over") from None

    # ---- unrolled

    def _unroll(self, node: Any, items: Iterable[Any]) -> None:
        for count, item in enumerate(items):
            self._limit(count, node)
            self.assign(node.target, item)
            self.block(node.body)
            ended = self._until(node)
            if ended is True:
                return
            if isinstance(ended, Value):
                rest = items
                self.choose(ended, lambda: None, lambda: self._unroll(node, rest))
                return

    def _unroll_while(self, node: Any, reason: Exception) -> None:
        for count in range(UNROLL_LIMIT + 1):
            self._limit(count, node)
            test = self.truth(self.evaluate(node.test))
            if not isinstance(test, bool):
                raise self._unrollable(reason, self.source.span(node))
            if not test:
                return
            self.block(node.body)
            ended = self._until(node)
            if ended is True:
                return
            if isinstance(ended, Value):
                raise self._unrollable(reason, self.source.span(node))

    def _limit(self, count: int, node: Any) -> None:
        if count >= UNROLL_LIMIT:
            raise UnsupportedSyntax(
                f"this loop would be written out more than {UNROLL_LIMIT} times",
                "keep the structure of what it changes, so that it stays a loop",
                self.source.span(node),
            )

    def _until(self, node: Any) -> Any:
        """Whether one of the loop's exit flags is set: False, True, or a run-time value."""
        ended: Any = False
        for flag in getattr(node, "until", ()):
            value = self.truth(self.state.names[flag])
            if value is True:
                return True
            if isinstance(value, Value):
                ended = value if ended is False else compare.logical_or(ended, value)
        return ended

    # ---- rolled

    def _roll(self, node: Any, walk: Walk | None) -> None:
        base = self.state
        carried: dict[Key, Carried] = {}
        for target in self._stored(node):
            value = base.names.get(target)
            if isinstance(value, Value):
                carried[target] = Carried(value, [value.type], False)
        for _ in range(TRIALS):
            told = len(self.world.problems)
            trial = _Trial(self, node, walk, base, carried)
            if trial.run():
                trial.finish()
                return
            del self.world.problems[told:]
            self.state = base
        raise CannotRoll("what this loop changes takes on ever new types")

    @staticmethod
    def _stored(node: Any) -> list[str]:
        names: dict[str, None] = {}
        for part in gast.walk(node):
            if isinstance(part, gast.Name) and isinstance(part.ctx, gast.Store):
                names[part.id] = None
        return list(names)


class _Trial:
    """One attempt at a rolled loop, under a guess of what it carries."""

    def __init__(
        self, low: Loops, node: Any, walk: Walk | None, base: State, carried: dict[Key, Carried]
    ):
        self.low, self.node, self.walk, self.base, self.carried = low, node, walk, base, carried
        self.params = self._fresh_params()
        self.skipped = False

    def _fresh_params(self) -> dict[Key, list[Value]]:
        made: dict[Key, list[Value]] = {}
        for key, carry in self.carried.items():
            name = key if isinstance(key, str) else key.kind
            single = len(carry.types) == 1
            made[key] = [
                Value(type_, name if single else f"{name}_{n}", True)
                for n, type_ in enumerate(carry.types)
            ]
        return made

    def _entered(self, params: dict[Key, list[Value]]) -> State:
        """The state in which an iteration begins."""
        state = self.base.fork()
        for key, carry in self.carried.items():
            value = rebuild(carry.like, iter(params[key]))
            if carry.fresh:
                value = Maybe(value, self._unset(key))
            _put(state, key, value)
        return state

    def _unset(self, key: Key) -> Unset:
        line = self.low.builder.span.line
        return Unset(
            f"'{key}' may be unset here: only the body of the loop on line {line} sets it",
            f"give '{key}' a value before the loop",
        )

    def run(self) -> bool:
        """Lowers condition and body; whether the guess held. A wrong guess is corrected."""
        low, builder, lead = self.low, self.low.builder, []
        self.condition = None
        if self.walk is None:
            if not self._lower_condition():
                return True
        self.position = Value(INT, "k")
        lead.append(self.position)
        reads: list[Value] = []
        if self.walk is not None:
            target = getattr(self.node.target, "id", "")
            self.index = Value(INT, target if not self.walk.reads else "i", True)
            lead.append(self.index)
            reads = [Value(read_type(read.type), "item") for read in self.walk.reads]
        self.reads = reads
        low.loop_params |= {*lead, *reads, *(v for vs in self.params.values() for v in vs)}
        self.entered = self._entered(self.params)
        low.state = self.entered.fork()
        with builder.block() as ops:
            if self.walk is not None:
                item = self.walk.item(self.index, reads)
                low.assign(self.node.target, item)
                if isinstance(item, Value) and item in reads and isinstance(
                    getattr(self.node.target, "id", None), str
                ):
                    item.name, item.given = self.node.target.id, True
            low.block(self.node.body)
            self.until = low._until(self.node)
        self.ops, self.lead, self.left = ops, lead, low.state
        return self._compare()

    def _lower_condition(self) -> bool:
        low = self.low
        self.condition_params = self._fresh_params()
        low.loop_params |= {v for vs in self.condition_params.values() for v in vs}
        low.state = self._entered(self.condition_params)
        with low.builder.block() as ops:
            self.test = low.truth(low.evaluate(self.node.test))
        self.condition = ops
        if self.test is False:
            low.state, self.skipped = self.base, True
            return False
        return True

    def _compare(self) -> bool:
        """Compares the state after the body with the one before it."""
        stable = True
        entered, left = self.entered, self.left
        for key in {**left.names, **{r: None for r in left.heap if r in entered.heap}}:
            before, after = _get(entered, key), _get(left, key)
            if isinstance(before, Maybe):
                before = before.value
            bare = after.value if isinstance(after, Maybe) else after
            if isinstance(after, (Unset, Poisoned)):
                continue
            carry = self.carried.get(key)
            if carry is not None:
                stable &= self._widen(key, carry, bare)
            elif before is MISSING:
                if any(True for _ in leaves(bare)):
                    types = [type_of(leaf) for leaf in leaves(bare)]
                    self.carried[key] = Carried(bare, types, True)
                    stable = False
            elif not same(before, bare):
                self._start(key, before, bare)
                stable = False
        return stable

    def _start(self, key: Key, before: Any, after: Any) -> None:
        if not same_skeleton(before, after) or isinstance(before, Unset):
            raise CannotRoll(f"the structure of '{_name(key)}' changes from one iteration to the next")
        types = []
        for a, b in zip(leaves(before), leaves(after)):
            type_ = joined_type(type_of(a), type_of(b))
            if type_ is None:
                raise CannotRoll(
                    f"'{_name(key)}' is {type_of(a)} before an iteration and {type_of(b)} after it"
                )
            types.append(type_)
        self.carried[key] = Carried(before, types, False)

    def _widen(self, key: Key, carry: Carried, after: Any) -> bool:
        if not same_skeleton(carry.like, after):
            raise CannotRoll(f"the structure of '{_name(key)}' changes from one iteration to the next")
        types = []
        for have, leaf in zip(carry.types, leaves(after)):
            type_ = joined_type(have, type_of(leaf))
            if type_ is None:
                raise CannotRoll(
                    f"'{_name(key)}' is {have} before an iteration and {type_of(leaf)} after it"
                )
            types.append(type_)
        stable = types == carry.types
        carry.types = types
        return stable

    def finish(self) -> None:
        """Adds the loop and sets the state after it."""
        if self.skipped:
            return
        low, builder, base = self.low, self.low.builder, self.base
        inits: list[AnyOperand] = []
        for key, carry in self.carried.items():
            if carry.fresh:
                inits += [builder.make(undefined, (), {}) for _ in carry.types]
            else:
                before = _get(base, key)
                before = before.value if isinstance(before, Maybe) else before
                inits += [as_type(leaf, t) for leaf, t in zip(leaves(before), carry.types)]
        yields: list[AnyOperand] = []
        with builder.block(self.ops):
            for key, carry in self.carried.items():
                after = _get(self.left, key)
                after = after.value if isinstance(after, Maybe) else after
                yields += [as_type(leaf, t) for leaf, t in zip(leaves(after), carry.types)]
        ends = self.until is not False
        params = [v for vs in self.params.values() for v in vs]
        body = Region(
            (*self.lead, *params, *self.reads), tuple(self.ops),
            (*yields, *([self.until] if ends else [])),
        )  # fmt: skip
        condition = None
        if self.walk is None:
            condition = Region(
                tuple(v for vs in self.condition_params.values() for v in vs),
                tuple(self.condition or ()), (self.test,),
            )  # fmt: skip
            if self.test is True and not ends:
                raise low.fail(UnsupportedSyntax, "this loop never ends", "add a break")
        op = builder.loop(
            None if self.walk is None else self.walk.bounds, inits,
            [] if self.walk is None else self.walk.reads, body, condition, ends,
        )  # fmt: skip
        after_loop = base.fork()
        results = iter(op.results)
        certain = self.walk is not None and self.walk.runs or self.test_is_true()
        for key, carry in self.carried.items():
            value = rebuild(carry.like, results)
            if carry.fresh and not (certain and not isinstance(_get(self.left, key), Maybe)):
                value = Maybe(value, self._unset(key))
            _put(after_loop, key, value)
        low.state = after_loop

    def test_is_true(self) -> bool:
        """Whether this is a ``while True``."""
        return self.walk is None and self.test is True


def _get(state: State, key: Key) -> Any:
    place: dict[Any, Any] = state.names if isinstance(key, str) else state.heap
    return place.get(key, MISSING)


def _put(state: State, key: Key, value: Any) -> None:
    place: dict[Any, Any] = state.names if isinstance(key, str) else state.heap
    place[key] = value


def _name(key: Key) -> str:
    return key if isinstance(key, str) else f"this {key.kind}"
