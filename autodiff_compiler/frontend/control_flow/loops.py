"""Loops: rolled where they can be, so that the text's size never depends on a trip count.

A rolled loop is lowered again and again until its carried variables are known: what the body
changes is carried, with the type that holds its value before and after every iteration. A loop over
things known now that differ in kind (the Cells of a CellList) is unrolled, and so is a counted loop
whose index must be known in the body.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import gast

from autodiff_compiler.common.cells.containers import CellList, SequentialCell
from autodiff_compiler.cost_model import costs
from autodiff_compiler.errors import DTypeError, UnsupportedSyntax
from autodiff_compiler.fast_ast import nodes_in
from autodiff_compiler.frontend.abstract.iterators import (
    all_of,
    flows,
    gone_through,
    used_up,
    whole,
)
from autodiff_compiler.frontend.abstract.join import list_type
from autodiff_compiler.frontend.abstract.runtime_lists import (
    GROWING,
    is_long,
    kept,
    reversed_list,
    told,
)
from autodiff_compiler.frontend.abstract.values import (
    Checkpointed,
    HeapRef,
    LazyIterable,
    LoopNotRollable,
    LoopSourceChanges,
    NeedsKnownValue,
    RuntimeRange,
    own_name,
    same,
)
from autodiff_compiler.frontend.control_flow.branches import Diverged
from autodiff_compiler.frontend.control_flow.carries import (
    Carry,
    IterationSpace,
    Key,
    Rollable,
    RowsWritten,
    watched,
)
from autodiff_compiler.frontend.control_flow.rolled_loop import LoopHypothesis
from autodiff_compiler.frontend.syntax import builders
from autodiff_compiler.interface import count_of
from autodiff_compiler.ir.builder import Unreached
from autodiff_compiler.ir.nodes import AnyOperand, Value
from autodiff_compiler.ir.types import ArrayType, ListType
from autodiff_compiler.operators.core import containers, scalar_conversion
from autodiff_compiler.operators.indexing import indexing
from autodiff_compiler.operators.lists import loop_tapes


class Loops(Rollable):
    """Adds loops to ``Branches``."""

    def exec_For(self, node: Any) -> None:
        span = self.source.span(node)
        iterable = self._iterated(self.evaluate(node.iter))
        if not getattr(node, "until", ()):
            iterable = whole(self, iterable)
        if isinstance(iterable, LazyIterable) and iterable.kind == "generator":
            iterable = self.comprehended(iterable.function, iterable.sources[0])
        if flows(iterable):
            self._unroll(node, gone_through(self, iterable))
            return
        walk = self.walk(iterable)
        if isinstance(walk, list):
            self._unroll(node, gone_through(self, iterable))
            return
        reason = self._try_to_roll(node, walk)
        if isinstance(reason, RowsWritten):
            reason = self._try_to_roll(node, walk.by_names(self, self._stored(node)))
        if isinstance(reason, LoopSourceChanges):
            self._by_position(node, iterable, reason)
        elif reason is not None:
            items = walk.items
            if items is None and walk.reads and walk.runs:
                items = self.sequence(self.evaluate(node.iter))
            if items is None:
                raise self._unrollable(reason, span)
            self._unroll(node, gone_through(self, tuple(items)))

    def _try_to_roll(self, node: Any, walk: IterationSpace | None) -> Exception | None:
        """Rolls a loop, or says why it cannot be; then nothing has changed. Lists that look as if
        they grew are first taken for lists of run-time length."""
        if node in self.world.unrolled:
            return LoopNotRollable("this loop cannot be unrolled")
        grown = self._grown(node)
        reason = self._try(node, walk, grown)
        if reason is None or not grown:
            return reason
        other = self._try(node, walk, {})
        return other and (
            reason if isinstance(reason, LoopNotRollable) and reason.problems else other
        )

    def _grown(self, node: Any) -> dict[Key, Carry]:
        """The lists whose length the body changes, as far as its text tells."""
        found: dict[Key, Carry] = {}
        for part in nodes_in(node):
            name = ""
            if isinstance(part, gast.Attribute) and part.attr in GROWING:
                name = getattr(part.value, "id", "")
            elif isinstance(part, gast.BinOp) and getattr(part, "augmented", False):
                name = getattr(part.left, "id", "")
            ref = self.state.names.get(name)
            if isinstance(ref, HeapRef) and ref.kind == "list":
                type_ = list_type(self.state.heap[ref])
                if type_ is not None:
                    found[ref] = Carry(Value(type_), [type_], False)
        return found

    def _try(
        self, node: Any, walk: IterationSpace | None, grown: dict[Key, Carry]
    ) -> Exception | None:
        base, told = self.state.fork(), len(self.world.problems)
        around, awaited, countable = set(self.loop_params), self.frame.awaited, self.countable
        self.frame.awaited |= set(self._stored(node))
        try:
            with self.builder.at(self.source.span(node)), self.builder.block() as ops:
                with watched(self, walk, self._stored(node)):
                    self._roll(node, walk, grown)
                if grown and len(self.world.problems) > told:
                    raise LoopNotRollable(problems=self.world.problems[told:])
                lists = () if walk is None else walk.lists
                if any(base.heap[ref] is not self.state.heap[ref] for ref in lists):
                    raise LoopSourceChanges(
                        "the body of this loop changes the list that the loop iterates over",
                        cure="loop over a copy: for item in list(items)",
                    )
        except (NeedsKnownValue, LoopNotRollable, RowsWritten) as reason:
            del self.world.problems[told:]
            self.state = base
            own = self.loop_params - around
            if isinstance(reason, NeedsKnownValue) and not self.roots(reason.value) & own:
                raise
            return reason
        finally:
            self.loop_params, self.frame.awaited, self.countable = around, awaited, countable
        self.builder.ops.extend(ops)
        return None

    def _by_position(self, node: Any, iterable: Any, reason: Exception) -> None:
        """A ``for`` over a list that its body changes: a ``while`` over the positions in it."""
        counts = isinstance(iterable, LazyIterable) and iterable.kind == "enumerate"
        source = iterable.sources[0] if counts else iterable
        if not self._is_long(source):
            raise self._unrollable(reason, self.source.span(node))
        if not hasattr(node, "by_position"):
            number = next(self.world.refs)
            own = own_name("items", number), own_name("at", number), own_name("first", number)
            node.by_position = own, builders.by_position(node, *own, counts)
        own, loop = node.by_position
        self.state.names |= dict(zip(own, (source, 0, iterable.start if counts else 0)))
        self.exec_While(loop)
        for name in own:
            self.state.names.pop(name, None)

    def _unrollable(self, reason: Exception, span: Any) -> Exception:
        if isinstance(reason, NeedsKnownValue):
            cause = f"{reason.purpose} must be a compile-time constant, but it changes in this loop"
            return reason.refusal(cause, "compute it without the variables that the loop assigns")
        if isinstance(reason, LoopNotRollable) and reason.problems:
            return reason.problems[0].kind(problems=reason.problems)
        assert isinstance(reason, LoopNotRollable)
        return DTypeError(str(reason), reason.cure, span)

    def exec_While(self, node: Any) -> None:
        reason = self._try_to_roll(node, None)
        if reason is not None:
            self._unroll_while(node, reason)

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

    def walk(self, iterable: Any) -> IterationSpace | list[Any]:
        """How to go through an iterable: rolled, or item by item."""
        if isinstance(iterable, range):
            known = (iterable.start, iterable.stop, iterable.step)
            return IterationSpace(known, [], lambda index, reads: index, iterable)
        if isinstance(iterable, RuntimeRange):
            bounds = (iterable.start, iterable.stop, iterable.step)
            return IterationSpace(bounds, [], lambda index, reads: index)
        if isinstance(iterable, Value) and isinstance(iterable.type, (ArrayType, ListType)):
            size = self.length(iterable)
            return IterationSpace(
                (0, size, 1), [iterable], lambda index, reads: told(self, reads[0], iterable)
            )
        if isinstance(iterable, Checkpointed):
            return self._checkpointed(iterable)
        if isinstance(iterable, LazyIterable) and iterable.kind in ("enumerate", "zip"):
            return self._combined(iterable)
        backward = isinstance(iterable, LazyIterable) and iterable.kind == "reversed"
        if backward and self._is_long(iterable.sources[0]):
            if iterable.start is not self.state.heap[iterable.sources[0]]:
                raise self.fail(
                    UnsupportedSyntax,
                    "the list has changed since reversed() was called on it",
                    "call reversed() in the 'for' statement: for item in reversed(items)",
                )
            return self.walk(reversed_list(self, self.state.heap[iterable.sources[0]]))
        if self._is_long(iterable):
            through = self.walk(self.state.heap[iterable])
            assert isinstance(through, IterationSpace)
            return replace(through, lists=(iterable,))
        return self.sequence(iterable)

    def is_loop(self, iterable: Any) -> bool:
        if flows(iterable):
            return False
        with self.builder.block():  # what it computes is thrown away
            walk = self.walk(iterable)
        most = costs().written_comprehension_items
        return isinstance(walk, IterationSpace) and (walk.size is None or walk.size > most)

    def _is_long(self, value: Any) -> bool:
        return isinstance(value, HeapRef) and is_long(self.state.heap[value])

    def _checkpointed(self, given: Checkpointed) -> IterationSpace:
        walk = self.walk(whole(self, given.iterable))
        if isinstance(walk, list):
            raise self.fail(
                DTypeError,
                "this loop is unrolled, so its iterations cannot be checkpointed",
                "remove checkpointed(), or loop over a range or along an axis of a Tensor",
            )
        return replace(walk, items=None, checkpoint=given.checkpoint)

    def length(self, value: Value) -> AnyOperand:
        """How many items a run-time value has."""
        if isinstance(value.type, ListType):
            return containers.list_length(value)
        shape = self.shape(value)
        if isinstance(shape, Value):
            return scalar_conversion.shape_item(shape, at=0)
        if not shape:
            raise self.fail(DTypeError, "iteration over a 0-d tensor", "use x.reshape(1)")
        return shape[0]

    def _combined(self, iterable: LazyIterable) -> IterationSpace | list[Any]:
        walks = [self.walk(source) for source in iterable.sources]
        start = iterable.start
        if not walks or any(isinstance(walk, list) for walk in walks):
            return self.sequence(iterable)
        first: IterationSpace = walks[0]  # type: ignore[assignment]
        found = tuple(ref for walk in walks for ref in walk.lists)  # type: ignore[union-attr]
        reads = [read for walk in walks for read in walk.reads]  # type: ignore[union-attr]
        if any(not same(walk.bounds, first.bounds) for walk in walks):  # type: ignore[union-attr]
            cut = self._of_one_length(walks)
            return replace(cut, lists=found) if cut is not None else self.sequence(iterable)
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
        items = None if any(w.items is None for w in walks) else self.sequence(iterable)  # type: ignore[union-attr]
        return IterationSpace(first.bounds, reads, item, items, lists=found)

    def _of_one_length(self, walks: Sequence[Any]) -> IterationSpace | None:
        """``zip`` of lists of run-time length, each cut to the length of the others; None for what
        is no list."""
        sources: list[Any] = [walk.reads[0] if len(walk.reads) == 1 else None for walk in walks]
        if not all(isinstance(s, Value) and isinstance(s.type, ListType) for s in sources):
            return None
        for other in sources[1:]:
            sources[0] = kept(self, loop_tapes.list_trim(sources[0], other), sources[0])

        def item(index: Value, values: Sequence[Value]) -> Any:
            return tuple(told(self, value, source) for value, source in zip(values, sources))

        return IterationSpace((0, containers.list_length(sources[0]), 1), sources, item)

    def sequence(self, value: Any) -> list[Any]:
        """Everything an iterable yields, where that is known while compiling."""
        value = all_of(self, self._iterated(value))
        if flows(value) or isinstance(value, LazyIterable):
            return list(gone_through(self, value))
        if isinstance(value, RuntimeRange):
            first = next(b for b in (value.stop, value.start, value.step) if isinstance(b, Value))
            raise NeedsKnownValue(first, self.builder.span, "a bound of this range")
        if isinstance(value, Value):
            size = self.length(value)
            count = self.static(size, "the number of items")
            return [indexing.index(value, index=(k,)) for k in range(count)]
        if isinstance(value, (SequentialCell, CellList)):
            value = self.attribute(value, "cell_list")
        if not isinstance(value, HeapRef):
            path = self.world.path(value)
            self.world.assume_length(value) if hasattr(value, "__len__") else None
            if isinstance(value, (list, tuple)) and path is not None:
                return [self.lifted(self.world.item(value, k)) for k in range(count_of(value))]
        contents = self.contents(value)
        try:
            return [self.lifted(item) for item in contents]
        except TypeError as error:
            raise self.translate(error, "this cannot be iterated over") from None

    def _iterated(self, value: Any) -> Any:
        """What an object that this text made is gone through by."""
        method = self.special(value, "__iter__")
        if method is not None:
            return self.call(method, (), {})
        return used_up(self, value) if isinstance(value, Iterator) else value

    # ---- unrolled

    def _unroll(self, node: Any, items: Iterable[Any]) -> None:
        self.calm()
        for count, item in enumerate(items):
            self._limit(count, node)
            self.assign(node.target, item)
            self._once_through(node.body)
            ended = self.until_of(node)
            if ended is True:
                return
            if isinstance(ended, Value):
                self.choose(ended, lambda: None, functools.partial(self._unroll, node, items))
                return

    def _unroll_while(self, node: Any, reason: Exception) -> None:
        for count in range(costs().unrolled_iterations + 1):
            self._limit(count, node)
            test = self.truth(self.evaluate(node.test))
            if not isinstance(test, bool):
                raise self._unrollable(reason, self.source.span(node))
            if not test:
                return
            self._once_through(node.body)
            ended = self.until_of(node)
            if ended is True:
                return
            if isinstance(ended, Value):
                raise self._unrollable(reason, self.source.span(node))

    def _once_through(self, body: Sequence[Any]) -> None:
        if isinstance(self.block(body), Diverged):
            raise Unreached

    def _limit(self, count: int, node: Any) -> None:
        most = costs().unrolled_iterations
        if count >= most:
            raise UnsupportedSyntax(
                f"this loop has to be unrolled, and has more than {most} iterations",
                LoopNotRollable.cure,
                self.source.span(node),
            )

    # ---- rolled

    def _roll(self, node: Any, walk: IterationSpace | None, grown: dict[Key, Carry]) -> None:
        base = self.state
        carried = dict(grown)
        for target in self._stored(node):
            value = base.names.get(target)
            if isinstance(value, Value):
                carried[target] = Carry(value, [value.type], False)
        together: set[frozenset[Any]] = set()
        for _ in range(costs().loop_trials):
            told = len(self.world.problems)
            trial = LoopHypothesis(self, node, walk, base, carried, together)
            if trial.run():
                trial.finish()
                return
            del self.world.problems[told:]
            self.state = base
        raise LoopNotRollable("each iteration of this loop gives its variables other types")

    @staticmethod
    def _stored(node: Any) -> list[str]:
        names: dict[str, None] = {}
        for part in nodes_in(node):
            if isinstance(part, gast.Name) and isinstance(part.ctx, gast.Store):
                names[part.id] = None
        return list(names)
