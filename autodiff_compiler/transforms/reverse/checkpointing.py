"""Checkpointing: the reverse rule of a loop that saves few of its states.

A plain loop saves what backward reads of every iteration. A checkpointed one saves its carries at
some iterations only. For each iteration, backward reruns the loop from the last saved state, and
saves more states on the way:

    every k     forward saves each k-th state, backward all states of the current k iterations:
                n / k + k states, and less than 2 n steps forward.
    kept s      at most s states at any time. Each run saves the next one where the binomial
                schedule says (Griewank and Walther, "revolve"). It takes the fewest steps that are
                possible: with (s + r)! / (s! r!) >= n, fewer than r n.

Backward knows the state after an iteration from the iteration that it ran before; it does not
rematerialise that state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.effects import Effects
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value, type_of
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.rewrite import clone_ops, fresh, substitute, substitute_operands
from autodiff_compiler.ir.types import INT, ListType, TupleType
from autodiff_compiler.operators.core.containers import (
    item,
    list_item,
    list_length,
    make_list,
    make_tuple,
)
from autodiff_compiler.operators.elementwise.comparisons import equal, less, logical_and
from autodiff_compiler.operators.indexing.indexing import index
from autodiff_compiler.operators.lists.runtime_lists import list_append, list_head
from autodiff_compiler.span import NOWHERE
from autodiff_compiler.transforms.reverse.branches_and_calls import SweepProtocol
from autodiff_compiler.transforms.reverse.cotangents import Cotangents
from autodiff_compiler.transforms.reverse.loops import CarryHypothesis, ReversedLoop, reverse_loop
from autodiff_compiler.transforms.reverse.partition import Partition, without_effects


def reverse_for(sweep: SweepProtocol, op: Op, scope: Cotangents) -> Op | list[Op]:
    """Builds the adjoint of a ``for``; returns the operations of forward."""
    mirror = Checkpointed if "checkpoint" in op.attrs else ReversedLoop
    return reverse_loop(sweep, op, scope, mirror)


class Checkpointed(ReversedLoop):
    """The forward and the backward loop, which save states in place of tapes."""

    def __init__(
        self, sweep: SweepProtocol, loop: Loop, scope: Cotangents, hypothesis: CarryHypothesis
    ):
        super().__init__(sweep, loop, scope, hypothesis)
        self.kind, self.number = loop.op.attrs["checkpoint"]
        state = TupleType(tuple(param.type for param in loop.carry_params))
        self.places = Value(ListType(INT), "places")
        self.states = Value(ListType(state), "kept")
        effects = Effects()
        if any(effects.has(op) for op in without_effects(loop.body).ops):
            sweep.note(
                loop.op,
                "a checkpointed loop runs its iterations a second time in the backward "
                "pass, and this one draws random numbers or calls Python code",
                "draw the numbers before the loop, or remove checkpointed()",
            )

    # ---- forward

    def _forward(self, parts: Partition) -> list[Op]:
        """Returns the loop with the states that it saves, after the operations for its inits."""
        loop, op, builder = self.loop, self.loop.op, self.builder
        with builder.at(op.span, op.role):
            with builder.block() as before:
                first = builder.make(make_tuple, loop.inits, {})
                lists = [builder.make(make_list, (each,), {}) for each in (0, first)]
                steps = self._steps() if self.kind == "kept" else None
                last = None if steps is None else steps - 1
                upto = self._stride(steps, self.number - 1)
            params = [fresh(self.places), fresh(self.states), Value(INT, "upto")]
            with builder.block() as keeping:
                here = equal(loop.position, params[2])
                if last is not None:
                    here = logical_and(here, less(loop.position, last))
                with builder.block() as ops:
                    longer = self._longer(params[:2], loop.position, loop.carry_params)
                    rest = None if last is None else last + 1 - loop.position
                    free = None if last is None else self.number - list_length(longer[0])
                    after = loop.position + self._stride(rest, free)
                then = Region((), tuple(ops), (*longer, after))
                longer_or_same = builder.branch(here, then, Region((), (), tuple(params)))
        carries = loop.carries
        lead = loop.body.params[:2]
        body = Region(
            (*lead, *loop.carry_params, *params, *loop.read_params),
            (*keeping, *loop.body.ops),
            (*loop.body.yields[:carries], *longer_or_same, *loop.body.yields[carries:]),
        )
        saved = (self.places, self.states, Value(INT, "upto"))
        results = (*loop.carried, *saved, *op.results[carries:])
        attrs = {key: value for key, value in op.attrs.items() if key != "checkpoint"}
        attrs["carries"] = carries + 3
        operands = (*loop.bounds, *loop.inits, *lists, upto, *loop.reads)
        new_loop = replace(op, operands=operands, attrs=attrs, results=results, regions=(body,))
        return [*before, new_loop]

    def _steps(self) -> Value | int:
        """Returns the number of iterations; it is not positive if there are none."""
        start, stop, step = self.loop.int_bounds
        if self.loop.starts_at_zero:
            return stop
        return -((start - stop) // step)

    def _stride(self, steps: AnyOperand, free: AnyOperand) -> AnyOperand:
        """Returns the number of steps from a saved state to the next one.

        ``steps`` are left to run, and ``free`` states may still be saved.
        """
        if self.kind == "every":
            return self.number
        return self.builder.call(STRIDE, (steps, free))[0]

    def _longer(
        self, lists: Sequence[Value], place: AnyOperand, state: Sequence[AnyOperand]
    ) -> tuple[Value, Value]:
        """Appends a state and its place to the lists."""
        places, states = lists
        return list_append(places, place), list_append(states, make_tuple(*state))

    # ---- backward

    def _inits(self) -> list[AnyOperand]:
        return [*super()._inits(), self.places, self.states, *self.loop.carried]

    def _body(self, parts: Partition) -> Region:
        loop, builder = self.loop, self.builder
        lists = [fresh(self.places), fresh(self.states)]
        leaving = [fresh(param) for param in loop.carry_params]
        with builder.block() as before:
            state, lists_now = self._rerun_to(self.position, lists)
            mapping = self._iteration(parts, state, leaving)
        with builder.block() as behind:
            done = equal(list_item(lists_now[0], -1), self.position)
            with builder.block() as ops:
                shorter = tuple(list_head(each) for each in lists_now)
            left = builder.branch(
                done, Region((), tuple(ops), shorter), Region((), (), tuple(lists_now))
            )
        inner = substitute(parts.backward, mapping)
        carried = len(inner.params)
        params = (self.position, self.index, *inner.params, *lists, *leaving, *self.reads.params)
        yields = (*inner.yields[:carried], *left, *state, *inner.yields[carried:])
        return Region(params, (*before, *inner.ops, *behind), yields)

    def _rerun_to(
        self, position: Value, lists: Sequence[Value]
    ) -> tuple[list[AnyOperand], list[Value]]:
        """Returns the state before iteration ``position``, by a run from the last saved one.

        Returned second: the lists of places and states after that run.
        """
        loop, builder = self.loop, self.builder
        carries = loop.carry_params
        last = list_item(lists[1], -1)
        inits = [list_item(lists[0], -1), *(item(last, key=k) for k in range(len(carries))), *lists]
        params = [Value(INT, "at"), *map(fresh, (*carries, *lists))]
        tested = [fresh(param) for param in params]
        with builder.block() as test:
            goes_on = less(tested[0], position)
        with builder.block() as ops:
            at, now = params[0], params[-2:]
            state: Sequence[AnyOperand] = params[1:-2]
            if self.kind == "every":
                stop = at + 1
                state = self._step(at, state)
            else:
                free = self.number - list_length(now[0])
                stop = at + self._stride(position + 1 - at, free)
                state = self._run(at, stop, state)
            with builder.block() as keeping:
                longer = self._longer(now, stop, state)
            saved = builder.branch(
                less(stop, position), Region((), tuple(keeping), longer), Region((), (), tuple(now))
            )
        body = Region((Value(INT, "k"), *params), tuple(ops), (stop, *state, *saved))
        rerun = Loop(
            builder.loop(None, inits, (), body, Region(tuple(tested), tuple(test), (goes_on,)))
        )
        return list(rerun.carried[1:-2]), list(rerun.carried[-2:])

    def _run(self, at: Value, stop: AnyOperand, state: Sequence[AnyOperand]) -> list[AnyOperand]:
        """Runs iterations ``at`` to ``stop - 1``; takes and returns a state."""
        builder, params = self.builder, [fresh(param) for param in self.loop.carry_params]
        j = fresh(self.loop.position)
        with builder.block() as ops:
            after = self._step(j, params)
        body = Region((Value(INT, "k"), j, *params), tuple(ops), tuple(after))
        return list(Loop(builder.loop((at, stop, 1), state, (), body)).carried)

    def _step(self, position: Value, state: Sequence[AnyOperand]) -> list[AnyOperand]:
        """Copies an iteration of the loop; takes and returns a state."""
        loop = self.loop
        mapping: dict[Value, AnyOperand] = dict(zip(loop.carry_params, state))
        mapping[loop.position] = position
        assert loop.index is not None  # only a ``for`` is checkpointed
        mapping[loop.index] = self._index_at(position)
        for source, param in zip(loop.reads, loop.read_params):
            if isinstance(type_of(source), ListType):
                mapping[param] = list_item(source, position)
            else:
                mapping[param] = index(source, position, index=(("op", 0),))
        for op in clone_ops(without_effects(loop.body).ops, mapping):
            self.builder.add(op)
        return list(substitute_operands(loop.carry_yields, mapping))

    def _index_at(self, position: Value) -> AnyOperand:
        """Returns the user's index in iteration ``position``."""
        if self.loop.starts_at_zero:
            return position
        start, _, step = self.loop.bounds
        return OPERATORS["add"](OPERATORS["mul"](position, step), start)

    def _iteration(
        self, parts: Partition, state: Sequence[AnyOperand], leaving: Sequence[Value]
    ) -> dict[Value, AnyOperand]:
        """Maps the values of an iteration to its state and to copies computed of that."""
        loop = self.loop
        mapping: dict[Value, AnyOperand] = dict(zip(loop.carry_params, state))
        mapping[loop.position] = self.position
        assert loop.index is not None
        mapping[loop.index] = self._index()
        for source, param in zip(loop.reads, loop.read_params):
            if param in parts.saved or any(param in op.operands for op in loop.body.walk()):
                mapping[param] = self.reads.add(source, fresh(param))
        for op in clone_ops(without_effects(Region((), parts.forward, ())).ops, mapping):
            self.builder.add(op)
        for yielded, value in zip(loop.carry_yields, leaving):
            if not isinstance(yielded, Value) or yielded.type != value.type:
                continue
            if yielded not in (*loop.carry_params, *loop.read_params):
                mapping[yielded] = value
        return mapping


def _make_stride() -> Function:
    """Makes the function of the binomial schedule.

    With c = ``free`` + 1 states, C(c + r, c) steps can be reversed if none is run more than r
    times.
    """
    steps, free = Value(INT, "steps", True), Value(INT, "free", True)
    names = ("reach", "before", "earlier", "turns")
    builder = Builder()
    with builder:
        params = [Value(INT, name, True) for name in names]
        tested = [fresh(param) for param in params]
        with builder.block() as test:
            goes_on = less(tested[0], steps)
        with builder.block() as ops:
            reach, before, _, turns = params
            more = turns + 1
            reached = reach * (free + 1 + more) // more
        body = Region((Value(INT, "k"), *params), tuple(ops), (reached, reach, before, more))
        search = Loop(
            builder.loop(
                None, (1, 0, 0, 0), (), body, Region(tuple(tested), tuple(test), (goes_on,))
            )
        )
        reach, before, earlier, _ = search.carried
        rest = steps - reach + before
        ahead = rest
        for least in (earlier, 1):
            (ahead,) = builder.branch(
                less(ahead, least), Region((), (), (least,)), Region((), (), (ahead,)), ("ahead",)
            )
    body = Region((steps, free), tuple(builder.ops), (ahead,))
    return Function("stride", body, NOWHERE, "the binomial schedule of checkpoints")


STRIDE = _make_stride()
