"""One attempt at a rolled loop, under a guess of what it carries."""

from __future__ import annotations

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
from autodiff_compiler.frontend.core.assumptions import MISSING
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
    """One attempt at a rolled loop, under a guess of what it carries."""

    def __init__(
        self,
        low: Lowering,
        node: Any,
        walk: IterationSpace | None,
        base: State,
        carried: dict[Key, Carry],
        together: set[frozenset[Any]],
    ):
        self.low, self.node, self.walk, self.base, self.carried = low, node, walk, base, carried
        self.sameness = CarryAliasing(low.compilation.aliases, carried, together)
        self.params = self._fresh_params()
        self.skipped = False
        self.outset = low.heap_ownership(base)
        #: What the variables are after the loop that its body sets and that are not carried.
        self.settled: dict[Key, Any] = {}
        #: Those of them that are set if the body ran at all.
        self.counted: set[Key] = set()

    def _fresh_params(self) -> dict[Key, list[Value]]:
        made: dict[Key, list[Value]] = {}
        for key, carry in self.carried.items():
            name = key if isinstance(key, str) else holder_of(key, self.base.names)
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
            if not isinstance(
                get(self.base, key), Unset
            ):  # else the first iteration cannot read it
                self._put(state, key, rebuild(carry.like, iter(params[key])), carry.fresh)
        return state

    def _put(self, state: State, key: Key, value: Any, maybe: bool) -> None:
        """Sets a variable or cell, with new lists and dicts for frozen ones."""

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
        """Lowers condition and body; whether the guess held. A wrong guess is corrected."""
        low, lead = self.low, []
        types = [type_ for carry in self.carried.values() for type_ in carry.types]
        if (self.walk is None or self.walk.size is not None) and any(map(_grows, types)):
            low.compilation.growing_loops.add(self.node)
        self.condition: list[Op] | None = None
        if self.walk is None and not self._lower_condition():
            return True
        self.position = Value(INT, "k")
        lead.append(self.position)
        reads: list[Value] = []
        if self.walk is not None:
            target = getattr(self.node.target, "id", "")
            counted = not self.walk.reads and not self.walk.by_position
            self.index = Value(INT, target if counted else "i", True)
            lead.append(self.index)
            if self.walk.size is not None and self.walk.size <= costs().written_loop_iterations:
                low.unrollable_indices |= {self.index}
            reads = [Value(read_type(read.type), "item") for read in self.walk.reads]
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
            if self.walk is not None:
                item = self.walk.item(self.index, reads)
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
        """Compares the state after the body with the one before it."""
        base, left = self.base, self.left
        self.at_end = self.low.heap_ownership(left)
        stable = all([self._follows(key) for key in left.names])
        # What a variable is has to be known before it is asked what its list holds.
        stable = stable and all([self._follows(ref) for ref in base.heap if ref in left.heap])
        return stable and self._remembered()

    def _leaves(self, state: State) -> dict[tuple[Key, int], AnyOperand]:
        """The leaves of the carried variables by variable and place, before or after a body."""
        return {
            (key, place): leaf
            for key, carry in self.carried.items()
            for place, leaf in enumerate(leaves(carried_by(carry, key, state)))
        }

    def _remembered(self) -> bool:
        """Whether the carried variables are the tensors that they were taken to be."""
        held = [*self.base.names.values(), *self.base.heap.values()]
        held += [thing for frame in self.low.waiting_frames for thing in frame.names.values()]
        memory, left = self.low.compilation.aliases, self._leaves(self.left)
        around = memory.of_all(leaf for thing in held for leaf in leaves(thing))
        made_outside = (
            one for one in memory.of_all(left.values()) if self.low.original(one) is not one
        )
        return self.sameness.holds(left, around | {*made_outside})

    def _follows(self, key: Key) -> bool:
        """Whether a variable or cell is after the body as the guess has it."""
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
            self.settled[key] = after
            return True
        if carry is not None:
            if is_detached(carry.like):
                bare = self._frozen(key, bare, self.at_end, self.left)
            return self._widen(key, carry, bare)
        if before is MISSING or isinstance(before, Unset):
            return self._begins(key, bare)
        if is_same(before, bare):
            return True
        if holds_refs(before) and not has_same_structure(before, bare):
            before = self._frozen(key, before, self.outset, self.base)
            bare = self._frozen(key, bare, self.at_end, self.left)
        self._start(key, before, bare)
        return False

    def _set_again(self, key: Key, before: MaybeUnset, after: Any) -> None:
        """A variable without leaves that may be set before the loop, and is set in its body."""
        if isinstance(after, MaybeUnset) or not is_same(before.value, after):
            raise LoopNotRollable(
                f"'{name_of(key)}' is assigned in some iterations of the loop only",
                cure="assign it before the loop, or in every iteration",
            )
        self.settled[key] = after
        self.counted.add(key)

    def _frozen(self, key: Key, value: Any, held: HeapOwnership, state: State) -> Any:
        if not held.is_unique(value):
            raise LoopNotRollable(
                f"'{name_of(key)}' is a list or dict that another variable refers to as well",
                cure="copy it before the loop: list(items) or dict(items)",
            )
        return detach(value, state)

    def _begins(self, key: Key, bare: Any) -> bool:
        """A variable that the body is the first to set."""
        if holds_refs(bare) and self.at_end.is_unique(bare):
            bare = detach(bare, self.left)
        if any(True for _ in leaves(bare)):
            types = [type_ for leaf in leaves(bare) if (type_ := leaf_type(leaf)) is not None]
            self.carried[key] = Carry(bare, types, True)
            return False
        constant = is_constant(bare) and not isinstance(get(self.left, key), MaybeUnset)
        if constant and not self.certain():
            self.counted.add(key)
        self.settled[key] = bare if constant else self._unset(key)
        return True

    def _start(self, key: Key, before: Any, after: Any) -> None:
        like = common_structure(key, before, after)
        if self._may_be_sum(before, after):
            self.carried[key] = Carry(before, [type_of(after)], False, summed=True)
            return
        maybe = isinstance(get(self.base, key), MaybeUnset)
        before, after = conform(before, like), conform(after, like)
        types = joined_types(key, map(leaf_type, leaves(before)), after)
        self.carried[key] = Carry(like, types, maybe)

    def _may_be_sum(self, before: Any, after: Any) -> bool:
        kind = INT if isinstance(before, int) else FLOAT
        return (
            self.walk is not None
            and self.walk.runs
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
            carry.types = joined_types(key, map(leaf_type, first), after)
            return False
        if carry.summed and not self._only_added_to(self.params[key][0]):
            carry.summed = False
            carry.types = [join_types(type_of(carry.like), carry.types[0]) or carry.types[0]]
            return False
        types = joined_types(key, carry.types, after)
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
            before = list(leaves(carried_by(carry, key, base)))
            if carry.fresh and not before:
                inits += [builder.make(undefined, (), {}) for _ in carry.types]
            elif carry.summed:
                (type_,) = carry.types
                assert isinstance(type_, ArrayType)
                inits.append(full(shape=type_.shape, dtype=type_.dtype, value=0))
            else:
                inits += [self._cast(leaf, t) for leaf, t in zip(before, carry.types)]
        yields: list[AnyOperand] = []
        with builder.block(self.ops):
            for key, carry in self.carried.items():
                after = carried_by(carry, key, self.left)
                yields += [self._cast(leaf, t) for leaf, t in zip(leaves(after), carry.types)]
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
                raise low.fail(
                    UnsupportedSyntax, "this loop never ends", "add a 'break' or a 'return'"
                )
        op = builder.loop(
            None if self.walk is None else self.walk.bounds, inits,
            [] if self.walk is None else self.walk.reads, body, condition, ends,
            checkpoint=None if self.walk is None else self.walk.checkpoint,
        )  # fmt: skip
        after_loop = base.fork()
        memory = low.compilation.aliases
        for result, *ways in zip(op.results, yields, *([] if self.certain() else [inits])):
            memory.set_aliases(result, memory.of_all(ways))
        self.sameness.end(dict(zip(self._leaves(self.left), op.results)))
        results = iter(op.results)
        for key, told in self.settled.items():
            self._put(after_loop, key, told, False)
        for key in self.counted:
            unset, flag = self._unset(key), comparisons.greater(op.results[-1], 0)
            begun = get(base, key)
            if isinstance(begun, MaybeUnset):
                flag = comparisons.logical_or(begun.flag, flag)
            after_loop.names[key] = MaybeUnset(self.settled[key], unset, flag)
        for key, carry in self.carried.items():
            sure = self.certain() and not isinstance(get(self.left, key), MaybeUnset)
            value = rebuild(carry.like, results)
            if sure or not isinstance(get(base, key), Unset):  # else it may still be unset
                self._put(after_loop, key, value, carry.fresh and not sure)
        low.state = after_loop

    def _cast(self, leaf: Any, type_: Type) -> AnyOperand:
        """Return ``leaf`` as ``type_``. In Python it stays the same array, also where it is cast
        here, so it keeps its memory."""
        made, memory = cast_to(leaf, type_), self.low.compilation.aliases
        if made is not leaf:
            memory.set_aliases(made, memory.of(leaf))
        return made

    def certain(self) -> bool:
        """Whether the body runs at least once."""
        return self.walk.runs if self.walk is not None else self.test is True


def _grows(type_: Type) -> bool:
    """Whether iterations may change the length or size of a carried value."""
    if isinstance(type_, ArrayType):
        return type_.shape is None or None in type_.shape
    return isinstance(type_, ListType)
