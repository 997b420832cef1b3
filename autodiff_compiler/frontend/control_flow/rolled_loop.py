"""A rolled loop, lowered under a hypothesis of the variables that it carries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autodiff_compiler.cost_model import costs
from autodiff_compiler.errors import UnsupportedSyntax
from autodiff_compiler.frontend.abstract.heap import (
    HeapOwnership,
    detach,
    holder_of,
    holds_refs,
    is_detached,
    reattach,
)
from autodiff_compiler.frontend.abstract.join import cast_to, conform, join_types, leaf_type
from autodiff_compiler.frontend.abstract.path_dtypes import join_path_dtypes
from autodiff_compiler.frontend.abstract.values import (
    HeapRef,
    LoopNotRollable,
    MaybeUnset,
    Poison,
    State,
    Unset,
    has_same_structure,
    is_same,
    leaves,
    rebuild,
)
from autodiff_compiler.frontend.control_flow.carries import (
    Carry,
    IterationSpace,
    Key,
    carried_by,
    common_structure,
    exit_condition,
    get,
    is_constant,
    joined_types,
    name_of,
)
from autodiff_compiler.frontend.control_flow.carry_aliasing import CarryAliasing
from autodiff_compiler.frontend.core.guards import MISSING
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.core.unwinding import assume_not_thrown, must_not_throw
from autodiff_compiler.ir.builder import read_type
from autodiff_compiler.ir.nodes import AnyOperand, Op, Region, Value, type_of
from autodiff_compiler.ir.types import FLOAT, INT, ArrayType, ListType, Type
from autodiff_compiler.operators.core.control import undefined
from autodiff_compiler.operators.core.declare import promote_scalar
from autodiff_compiler.operators.core.structure import full
from autodiff_compiler.operators.elementwise import comparisons


class LoopHypothesis:
    """A rolled loop, lowered under a hypothesis of the variables that it carries."""

    def __init__(
        self,
        low: Lowering,
        node: Any,
        space: IterationSpace | None,
        base: State,
        carried: dict[Key, Carry],
        together: set[frozenset[Any]],
    ):
        self.low, self.node, self.space, self.base, self.carried = low, node, space, base, carried
        self.sameness = CarryAliasing(low.compilation.aliases, carried, together)
        self.params = self._fresh_params()
        self.skipped = False
        self.outset = low.heap_ownership(base)
        #: The values, after the loop, of variables that its body sets and that are not carried.
        self.final_values: dict[Key, Any] = {}
        #: Those of them that are set if the body ran at all.
        self.counted: set[Key] = set()

    def _fresh_params(self) -> dict[Key, list[Value]]:
        params: dict[Key, list[Value]] = {}
        for key, carry in self.carried.items():
            name = key if isinstance(key, str) else holder_of(key, self.base.names)
            single = len(carry.types) == 1
            params[key] = [
                Value(type_, name if single else f"{name}_{n}", True)
                for n, type_ in enumerate(carry.types)
            ]
        return params

    def _entered(self, params: dict[Key, list[Value]]) -> State:
        """Returns the state in which an iteration begins."""
        state = self.base.fork()
        for key, carry in self.carried.items():
            if not isinstance(
                get(self.base, key), Unset
            ):  # else the first iteration cannot read it
                self._put(state, key, rebuild(carry.like, iter(params[key])), carry.fresh)
        return state

    def _put(self, state: State, key: Key, value: Any, maybe: bool) -> None:
        """Sets a variable or heap object, with new lists and dicts for detached ones."""

        def allocate(kind: str, contents: Any) -> HeapRef:
            ref = HeapRef(kind, next(self.low.compilation.refs))
            state.heap[ref] = contents
            return ref

        value = reattach(value, allocate)
        place: dict[Any, Any] = state.names if isinstance(key, str) else state.heap
        place[key] = MaybeUnset(value, self._unset(key)) if maybe else value

    def _unset(self, key: Key) -> Unset:
        line = self.low.builder.span.line
        return Unset(
            f"'{key}' may be unassigned here: only the body of the loop on line {line} assigns it",
            f"assign '{key}' before the loop",
        )

    def run(self) -> bool:
        """Lowers condition and body. True if the hypothesis held; a wrong one is corrected."""
        low, lead = self.low, []
        types = [type_ for carry in self.carried.values() for type_ in carry.types]
        if (self.space is None or self.space.size is not None) and any(map(_grows, types)):
            low.compilation.growing_loops.add(self.node)
        self.condition: list[Op] | None = None
        if self.space is None and not self._lower_condition():
            return True
        self.position = Value(INT, "k")
        lead.append(self.position)
        reads: list[Value] = []
        if self.space is not None:
            target = getattr(self.node.target, "id", "")
            counted = not self.space.reads and not self.space.by_position
            self.index = Value(INT, target if counted else "i", True)
            lead.append(self.index)
            if self.space.size is not None and self.space.size <= costs().unrolled_loop_iterations:
                low.unrollable_indices |= {self.index}
            reads = [Value(read_type(read.type), "item") for read in self.space.reads]
        self.reads = reads
        low.loop_params |= {*lead, *reads, *(v for vs in self.params.values() for v in vs)}
        self.entered = self._entered(self.params)
        self.sameness.begin(self._leaves(self.base), self.params)
        low.state = self.entered.fork()
        low.depth += 1
        try:
            self._lower_body(reads)
        finally:
            low.depth -= 1
        self.lead, self.left = lead, low.state
        return self._compare()

    def _lower_body(self, reads: list[Value]) -> None:
        low = self.low
        with low.builder.block() as self.ops:
            assume_not_thrown(low)
            if self.space is not None:
                item = self.space.item(self.index, reads)
                low.assign(self.node.target, item)
                if (
                    isinstance(item, Value)
                    and item in reads
                    and isinstance(getattr(self.node.target, "id", None), str)
                ):
                    item.name, item.has_user_name = self.node.target.id, True
            low.block(self.node.body)
            self.until = exit_condition(low, self.node)

    def _lower_condition(self) -> bool:
        low = self.low
        self.condition_params = self._fresh_params()
        low.loop_params |= {v for vs in self.condition_params.values() for v in vs}
        low.state = self._entered(self.condition_params)
        with low.builder.block() as ops:
            assume_not_thrown(low)
            self.test = must_not_throw(
                low,
                lambda: low.truth(low.evaluate(self.node.test)),
                "the test of this loop",
                "write 'while True', and 'if not …: break' in the body",
            )
        self.condition = ops
        if self.test is False:
            low.state, self.skipped = self.base, True
            return False
        return True

    def _compare(self) -> bool:
        """True if the state after the body is that before it, as the hypothesis has it."""
        base, left = self.base, self.left
        self.at_end = self.low.heap_ownership(left)
        stable = all([self._matches(key) for key in left.names])
        # The value of a variable must be known before the contents of its list.
        stable = stable and all([self._matches(ref) for ref in base.heap if ref in left.heap])
        return stable and self._remembered()

    def _leaves(self, state: State) -> dict[tuple[Key, int], AnyOperand]:
        """Returns the leaves of the carried variables by variable and place, before or after a
        body."""
        return {
            (key, place): leaf
            for key, carry in self.carried.items()
            for place, leaf in enumerate(leaves(carried_by(carry, key, state)))
        }

    def _remembered(self) -> bool:
        """True if the carried variables are the tensors that they were taken to be."""
        reachable = [*self.base.names.values(), *self.base.heap.values()]
        reachable += [thing for frame in self.low.waiting_frames for thing in frame.names.values()]
        memory, left = self.low.compilation.aliases, self._leaves(self.left)
        around = memory.of_all(leaf for thing in reachable for leaf in leaves(thing))
        made_outside = (
            one for one in memory.of_all(left.values()) if self.low.original(one) is not one
        )
        return self.sameness.holds(left, around | {*made_outside})

    def _matches(self, key: Key) -> bool:
        """True if a variable or heap object is after the body as the hypothesis has it."""
        before, after = get(self.entered, key), get(self.left, key)
        if isinstance(before, MaybeUnset):
            if before.flag is not None and after is not before:
                self._set_again(key, before, after)
                return True
            before = before.value
        bare = after.value if isinstance(after, MaybeUnset) else after
        carry = self.carried.get(key)
        if isinstance(after, Poison) or (carry is None and before is bare):
            return True
        if isinstance(after, Unset):
            if not isinstance(before, Unset) and before is not MISSING:
                raise LoopNotRollable(after.cause, cure=after.cure)
            self.final_values[key] = after
            return True
        if carry is not None:
            if is_detached(carry.like):
                bare = self._frozen(key, bare, self.at_end, self.left)
            return self._widen(key, carry, bare)
        if before is MISSING or isinstance(before, Unset):
            return self._starts_in_body(key, bare)
        if is_same(before, bare):
            return True
        if holds_refs(before) and not has_same_structure(before, bare):
            before = self._frozen(key, before, self.outset, self.base)
            bare = self._frozen(key, bare, self.at_end, self.left)
        self._start_carrying(key, before, bare)
        return False

    def _set_again(self, key: Key, before: MaybeUnset, after: Any) -> None:
        """Notes a variable without leaves that may be set before the loop, and is in its body."""
        if isinstance(after, MaybeUnset) or not is_same(before.value, after):
            raise LoopNotRollable(
                f"'{name_of(key)}' is assigned in some iterations of the loop only",
                cure="assign it before the loop, or in every iteration",
            )
        self.final_values[key] = after
        self.counted.add(key)

    def _frozen(self, key: Key, value: Any, ownership: HeapOwnership, state: State) -> Any:
        if not ownership.is_unique(value):
            raise LoopNotRollable(
                f"'{name_of(key)}' is a list or dict that another variable refers to as well",
                cure="copy it before the loop: list(items) or dict(items)",
            )
        return detach(value, state)

    def _starts_in_body(self, key: Key, bare: Any) -> bool:
        """Notes a variable that the body is the first to set."""
        if holds_refs(bare) and self.at_end.is_unique(bare):
            bare = detach(bare, self.left)
        if any(True for _ in leaves(bare)):
            types = [type_ for leaf in leaves(bare) if (type_ := leaf_type(leaf)) is not None]
            self.carried[key] = Carry(bare, types, True)
            return False
        constant = is_constant(bare) and not isinstance(get(self.left, key), MaybeUnset)
        if constant and not self.runs_once():
            self.counted.add(key)
        self.final_values[key] = bare if constant else self._unset(key)
        return True

    def _start_carrying(self, key: Key, before: Any, after: Any) -> None:
        like = common_structure(key, before, after)
        if self._may_be_sum(before, after):
            self.carried[key] = Carry(before, [type_of(after)], False, summed=True)
            return
        maybe = isinstance(get(self.base, key), MaybeUnset)
        before, after = conform(before, like), conform(after, like)
        types = joined_types(self.low, key, map(leaf_type, leaves(before)), after)
        self.carried[key] = Carry(like, types, maybe)

    def _may_be_sum(self, before: Any, after: Any) -> bool:
        kind = INT if isinstance(before, int) else FLOAT
        return (
            self.space is not None
            and self.space.runs
            and isinstance(before, (int, float))
            and before == 0
            and isinstance(after, Value)
            and isinstance(after.type, ArrayType)
            and after.type.is_static
            and after.type.dtype == promote_scalar(after.type.dtype, kind)
        )

    def _only_added_to(self, param: Value) -> bool:
        region = Region((), tuple(self.ops), ())
        uses = [op for op in region.walk() if param in op.operands]
        yielded = any(param in inner.yields for op in region.walk() for inner in op.regions)
        return not yielded and all(op.name in ("add", "sub") for op in uses)

    def _widen(self, key: Key, carry: Carry, after: Any) -> bool:
        after = conform(after, carry.like)
        if not has_same_structure(carry.like, after):
            like = common_structure(key, carry.like, after)
            before = conform(carried_by(carry, key, self.base), like)
            first = leaves(before) if any(True for _ in leaves(before)) else leaves(after)
            carry.like, after = like, conform(after, like)
            carry.types = joined_types(self.low, key, map(leaf_type, first), after)
            return False
        if carry.summed and not self._only_added_to(self.params[key][0]):
            carry.summed = False
            carry.types = [join_types(type_of(carry.like), carry.types[0]) or carry.types[0]]
            return False
        types = joined_types(self.low, key, carry.types, after)
        stable = types == carry.types
        carry.types = types
        return stable

    def finish(self) -> None:
        """Adds the loop and sets the state after it."""
        if self.skipped:
            return
        inits, yields = self._initial_leaves(), self._final_leaves()
        results = self._add_loop(inits, yields)
        aliases = self.low.compilation.aliases
        for result, *paths in zip(results, yields, *([] if self.runs_once() else [inits])):
            aliases.set_aliases(result, aliases.of_all(paths))
            join_path_dtypes(aliases, result, paths)
        self.sameness.end(dict(zip(self._leaves(self.left), results)))
        self.low.state = self._state_after(results)

    def _initial_leaves(self) -> list[AnyOperand]:
        """Returns the leaves of the carried variables before the loop, in the carried types."""
        make, initial = self.low.builder.make, []
        for key, carry in self.carried.items():
            before = list(leaves(carried_by(carry, key, self.base)))
            if carry.fresh and not before:
                initial += [make(undefined, (), {}) for _ in carry.types]
            elif carry.summed:
                (type_,) = carry.types
                assert isinstance(type_, ArrayType)
                initial.append(full(shape=type_.shape, dtype=type_.dtype, value=0))
            else:
                initial += [self._cast(leaf, t) for leaf, t in zip(before, carry.types)]
        return initial

    def _final_leaves(self) -> list[AnyOperand]:
        """Returns the leaves of the carried variables after an iteration, cast in the body."""
        final: list[AnyOperand] = []
        with self.low.builder.block(self.ops):
            for key, carry in self.carried.items():
                after = carried_by(carry, key, self.left)
                final += [self._cast(leaf, t) for leaf, t in zip(leaves(after), carry.types)]
        return final

    def _add_loop(
        self, inits: Sequence[AnyOperand], yields: Sequence[AnyOperand]
    ) -> tuple[Value, ...]:
        """Adds the operation; returns its results."""
        until = [] if self.until is False else [self.until]
        params = [value for values in self.params.values() for value in values]
        body = Region((*self.lead, *params, *self.reads), tuple(self.ops), (*yields, *until))
        space = self.space
        op = self.low.builder.loop(
            None if space is None else space.bounds,
            inits,
            [] if space is None else space.reads,
            body,
            self._condition_region(bool(until)) if space is None else None,
            bool(until),
            checkpoint=None if space is None else space.checkpoint,
        )
        return op.results

    def _condition_region(self, ends: bool) -> Region:
        """Returns the test of a ``while`` as a region. Refuses one that never fails, unless the
        body ends the loop."""
        if self.test is True and not ends:
            cure = "add a 'break' or a 'return'"
            raise self.low.fail(UnsupportedSyntax, "this loop never ends", cure)
        params = tuple(value for values in self.condition_params.values() for value in values)
        return Region(params, tuple(self.condition or ()), (self.test,))

    def _state_after(self, results: tuple[Value, ...]) -> State:
        """Returns the state after the loop, whose carried variables are its results."""
        after, base = self.base.fork(), self.base
        for key, value in self.final_values.items():
            self._put(after, key, value, False)
        for key in self.counted:
            flag, begun = comparisons.greater(results[-1], 0), get(base, key)
            if isinstance(begun, MaybeUnset):
                flag = comparisons.logical_or(begun.flag, flag)
            after.names[key] = MaybeUnset(self.final_values[key], self._unset(key), flag)
        parts = iter(results)
        for key, carry in self.carried.items():
            sure = self.runs_once() and not isinstance(get(self.left, key), MaybeUnset)
            value = rebuild(carry.like, parts)
            if sure or not isinstance(get(base, key), Unset):  # else it may still be unset
                self._put(after, key, value, carry.fresh and not sure)
        return after

    def _cast(self, leaf: Any, type_: Type) -> AnyOperand:
        """Returns ``leaf`` as ``type_``. In Python it stays the same array, also where it is cast
        here, so it keeps its memory."""
        result, memory = cast_to(leaf, type_), self.low.compilation.aliases
        if result is not leaf:
            memory.set_aliases(result, memory.of(leaf))
            join_path_dtypes(memory, result, (result, leaf))
        return result

    def runs_once(self) -> bool:
        """True if the body runs at least once."""
        return self.space.runs if self.space is not None else self.test is True


def _grows(type_: Type) -> bool:
    """True if iterations may change the length or size of a carried value."""
    if isinstance(type_, ArrayType):
        return type_.shape is None or None in type_.shape
    return isinstance(type_, ListType)
