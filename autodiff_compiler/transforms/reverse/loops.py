"""Reverse rules of ``for`` and ``while``: a ``for`` over the iterations that ran, in reverse order.

Ports are reversed too: a carry stays a carry, a stack port becomes a read port, and a read port a
stack port. The cotangent of a value from outside is a further carry. The forward loop stacks the
residuals of its iterations (tapes). The backward loop reads them, unless they are free there.

The carries that have a cotangent depend on the body. It is swept until a fixed point is reached,
mostly by the first sweep.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from autodiff_compiler.analysis.trip_count import tape_length, trip_count
from autodiff_compiler.ir.builder import read_type
from autodiff_compiler.ir.labels import composed
from autodiff_compiler.ir.nodes import AnyOperand, Loop, Op, Region, Value, expect_value, type_of
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.rewrite import fresh, substitute
from autodiff_compiler.ir.types import ArrayType, ListType, Type
from autodiff_compiler.operators.core.containers import make_list
from autodiff_compiler.operators.indexing.indexing import index
from autodiff_compiler.operators.lists.loop_tapes import list_pad, rows_like, stack_rows
from autodiff_compiler.operators.lists.runtime_lists import list_head, list_join, list_slice
from autodiff_compiler.transforms.reverse.branches_and_calls import SweepProtocol
from autodiff_compiler.transforms.reverse.cotangents import (
    Cotangents,
    Key,
    LoopCotangents,
    Path,
    common_type,
    conform,
    leaves,
    type_at,
)
from autodiff_compiler.transforms.reverse.partition import Partition, partition

#: The operators that return the length of a list or of an array's first axis.
LENGTHS = (("list_length", 0), ("dim", 0))
#: A part of a carry: the carry's number and the path in it.
Port = tuple[int, Path]


def reverse_loop(
    sweep: SweepProtocol, op: Op, scope: Cotangents, mirror: type[ReversedLoop] | None = None
) -> Op | list[Op]:
    """Builds the adjoint of a loop; returns the loop that also saves its residuals.

    ``mirror`` is a class that saves them in another way than by stacking.
    """
    loop = Loop(op)
    if not any(scope.has_cotangent(result) for result in op.results):
        return op
    carries: dict[Port, Type] = {}
    for number, (result, param) in enumerate(zip(loop.carried, loop.carry_params)):
        for path, leaf in leaves(param.type):
            known = scope.partial_sum((result, path))
            if known is not None:
                carries[number, path] = common_type(leaf, leaf, type_of(known))
    captured: dict[Key, Type] = {}
    while True:
        hypothesis = CarryHypothesis(sweep, loop, scope, carries, captured)
        if not hypothesis.found_more:
            break
    if not (hypothesis.ports or hypothesis.inner.captured or hypothesis.read_cotangents):
        return op
    return (mirror or ReversedLoop)(sweep, loop, scope, hypothesis).build()


class CarryHypothesis:
    """A sweep of the body under a hypothesis: the carries that have a cotangent, and their types.

    It adds missing ones to ``carries`` and ``captured``; then another sweep is needed.
    """

    def __init__(
        self,
        sweep: SweepProtocol,
        loop: Loop,
        scope: Cotangents,
        carries: dict[Port, Type],
        captured: dict[Key, Type],
    ):
        self.sweep, self.loop, self.scope = sweep, loop, scope
        self.inner = LoopCotangents(scope, loop.body, captured)
        self.ports = {
            (number, path): scope.names.fresh(type_, loop.carry_params[number], path)
            for (number, path), type_ in carries.items()
        }
        self.stacked: list[tuple[Value, Value]] = []
        self.found_more = False
        with sweep.builder.block() as self.ops:
            self._seed()
            self.forward = sweep.region(loop.body, self.inner)
            self._widen(carries, captured)
            if not self.found_more:
                self._close()

    def _seed(self) -> None:
        for (number, path), param in self.ports.items():
            self.inner.add(self.loop.carry_yields[number], param, path)
        for result, yielded in zip(self.loop.stacked, self.loop.stack_yields):
            if self.scope.has_cotangent(result) and isinstance(yielded, Value):
                item = self.scope.names.fresh(
                    _item_type(self.scope.partial_sum((result, ()))), yielded
                )
                self.stacked.append((result, item))
                self.inner.add(yielded, item)

    def _widen(self, carries: dict[Port, Type], captured: dict[Key, Type]) -> None:
        for number, param in enumerate(self.loop.carry_params):
            for path, leaf in leaves(param.type):
                ct = self.inner.partial_sum((param, path))
                if ct is not None:
                    have = carries.get((number, path), leaf)
                    self._note(carries, (number, path), common_type(leaf, have, type_of(ct)))
        for key in self.inner.captured:
            ct = self.inner.partial_sum(key)
            self._note(captured, key, common_type(type_at(key), captured[key], type_of(ct)))

    def _note(self, known: dict, key: Port | Key, type_: Type) -> None:
        self.found_more |= known.get(key) != type_
        known[key] = type_

    def _close(self) -> None:
        """Sets the yields: the carries, and the cotangents of the items that are read."""
        inner, params = self.inner, self.loop.carry_params
        self.carry_yields = [
            conform(inner.leaf((params[number], path)), param.type)
            for (number, path), param in self.ports.items()
        ]
        self.carry_yields += [conform(inner.leaf(k), p.type) for k, p in inner.captured.items()]
        read = [
            (source, conform(inner.full_cotangent(param), param.type))
            for source, param in zip(self.loop.reads, self.loop.read_params)
            if inner.has_cotangent(param)
        ]
        self.read_cotangents: list[tuple[AnyOperand, AnyOperand]] = read

    @property
    def backward(self) -> Region:
        """The backward body; its position, index and reads are added after the partition."""
        yields = (*self.carry_yields, *(ct for _, ct in self.read_cotangents))
        params = (*self.ports.values(), *self.inner.captured.values())
        return Region(params, tuple(self.ops), yields)


@dataclass
class _Reads:
    """The read ports of the backward loop."""

    sources: list[AnyOperand]
    params: list[Value]

    def add(self, source: AnyOperand, param: Value) -> Value:
        self.sources.append(source)
        self.params.append(param)
        return param


class ReversedLoop:
    """The forward and the backward loop, made of a hypothesis that holds."""

    def __init__(
        self, sweep: SweepProtocol, loop: Loop, scope: Cotangents, hypothesis: CarryHypothesis
    ):
        self.builder, self.sweep = sweep.builder, sweep
        self.loop, self.scope, self.hypothesis = loop, scope, hypothesis
        self.reads = _Reads([], [])
        self.tapes: list[tuple[Value, Value]] = []
        #: For carries that backward reads both at the beginning and at the end of an iteration:
        #: the list of all their values, and the two parts of it that backward reads.
        self.joined_tapes: dict[int, Value] = {}
        self.tape_parts: dict[Value, Value] = {}
        #: The operations that stack tapes to arrays after the forward loop.
        self.stacked: list[Op] = []
        # If all iterations ran, backward runs over the same range; else over those that ran.
        self.same_range = loop.is_for and not loop.has_until
        self.position = fresh(loop.position)
        self.index = fresh(loop.position if loop.index is None else loop.index)

    def build(self) -> Op | list[Op]:
        """Adds the backward loop, enters its results, and returns the forward loop."""
        for result, param in self.hypothesis.stacked:
            self.reads.add(self.scope.partial_sum((result, ())), param)
        hypothesis = self.hypothesis
        parts = partition(
            self.loop.body.params,
            hypothesis.forward,
            hypothesis.backward,
            self.sweep.unset,
            taped=(*self.loop.carry_yields, *self.loop.stack_yields),
            counters=(self.loop.position, self.loop.index),
            trip_count=trip_count(self.loop),
            changing=self.sweep.changing,
        )
        self._join_tapes(parts)
        body = self._body(parts)
        forward = self._forward(parts)
        bounds = self.loop.bounds if self.same_range else (0, self.loop.count, 1)
        reversed_loop = self.builder.loop(
            bounds, self._inits(), self.reads.sources, body, reverse=not self.loop.runs_reversed
        )
        self._hand_out(Loop(reversed_loop))
        return forward

    def _join_tapes(self, parts: Partition) -> None:
        """Saves a carry in one list if backward reads its value before and after an iteration."""
        loop = self.loop
        ports = zip(loop.inits, loop.carry_params, loop.carry_yields)
        for number, (init, param, yielded) in enumerate(ports):
            both = param in parts.saved and yielded in parts.saved and param is not yielded
            alike = type_of(init) == param.type == type_of(yielded)
            if both and alike and not loop.runs_reversed and yielded not in self.tape_parts:
                after = expect_value(yielded)
                tape = Value(ListType(param.type), f"{param.name or after.name}_tape")
                self.joined_tapes[number] = tape
                rows = tape if {param, after} & self.sweep.unset else self._stacked(tape, 1)
                if rows is tape:
                    self.tape_parts[param] = list_head(tape)
                    self.tape_parts[after] = list_slice(tape, 1, None, None)
                else:
                    self.tape_parts[param] = index(rows, index=(("slice", None, -1, None),))
                    self.tape_parts[after] = index(rows, index=(("slice", 1, None, None),))

    def _inits(self) -> list[AnyOperand]:
        hypothesis, scope = self.hypothesis, self.scope
        inits = [
            conform(scope.leaf((self.loop.carried[number], path)), param.type)
            for (number, path), param in hypothesis.ports.items()
        ]
        return inits + [
            conform(scope.leaf(key), p.type) for key, p in hypothesis.inner.captured.items()
        ]

    def _hand_out(self, reversed_loop: Loop) -> None:
        scope, ports = self.scope, self.hypothesis.ports
        captured = reversed_loop.carried[len(ports) :]
        scope.names.named.update(captured)
        for key, result in zip(self.hypothesis.inner.captured, captured):
            scope.set(key, result)
        for (number, path), result in zip(ports, reversed_loop.carried):
            scope.add(self.loop.inits[number], result, path)
        for (operand, _), tape in zip(self.hypothesis.read_cotangents, reversed_loop.stacked):
            source = expect_value(operand)
            is_list = isinstance(source.type, ListType)
            items = tape if _reads_all(self.sweep, self.loop, source) else list_pad(tape, source)
            scope.add(source, items if is_list else rows_like(items, source))

    def _body(self, parts: Partition) -> Region:
        with self.builder.block() as before:
            mapping = {value: self._available(value) for value in parts.saved}
        inner = substitute(parts.backward, mapping)
        params = (self.position, self.index, *inner.params, *self.reads.params)
        return Region(params, (*before, *inner.ops), inner.yields)

    def _available(self, value: Value) -> AnyOperand:
        """Returns a value of the forward body as backward has it: for free, or from a tape."""
        loop = self.loop
        if value is loop.position:
            return self.position
        if value is loop.index:
            return self._index()
        for init, param, yielded in zip(loop.inits, loop.carry_params, loop.carry_yields):
            if value is param and value is yielded and type_of(init) == value.type:
                return init
        if value in self.tape_parts:
            return self.reads.add(self.tape_parts[value], fresh(value))
        return self.reads.add(self._tape(value), fresh(value))

    def _tape(self, value: Value) -> AnyOperand:
        """Returns a list or array with the value of every iteration."""
        loop = self.loop
        for source, param in zip(loop.reads, loop.read_params):
            same = value is param and read_type(type_of(source)) == value.type
            if same and _reads_all(self.sweep, loop, source):
                return source
        for yielded, result in zip(loop.stack_yields, loop.stacked):
            if value is yielded and read_type(result.type) == value.type:
                return self._stacked(result) if self._is_stacked(result) else result
        tape = Value(ListType(value.type), composed(value.name, "tape"))
        self.tapes.append((value, tape))
        return tape if value in self.sweep.unset else self._stacked(tape)

    def _is_stacked(self, result: Value) -> bool:
        """True if the primal stacks a list to an array: backward reads that, not the list."""
        producers = self.sweep.producers.values()
        return any(op.name == "stack_rows" and op.operands[0] is result for op in producers)

    def _stacked(self, tape: Value, more: int = 0) -> Value:
        """Returns a tape, or the array that replaces it if it is long.

        It has an item for each iteration, and ``more``.
        """
        item = read_type(tape.type)
        rows = tape_length(self.loop, item)
        if rows is None:
            return tape
        assert isinstance(item, ArrayType) and item.shape
        length = rows + more
        array = Value(ArrayType(item.dtype, (length, *item.shape)), tape.name)
        loop = self.loop.op
        attrs = {"length": length}
        self.stacked.append(Op(stack_rows, (tape,), attrs, (array,), loop.span, loop.role))
        return array

    def _index(self) -> AnyOperand:
        if self.same_range or self.loop.starts_at_zero:
            return self.index
        start, _, step = self.loop.bounds
        scaled = OPERATORS["mul"](self.position, step)
        return OPERATORS["add"](scaled, start)

    def _forward(self, parts: Partition) -> Op | list[Op]:
        loop, op = self.loop, self.loop.op
        joins: list[Op] = []
        later_values = []
        for number, joined in self.joined_tapes.items():
            tape = Value(joined.type, joined.name)
            later_values.append((expect_value(loop.carry_yields[number]), tape))
            first = Value(joined.type)
            joins += [
                Op(make_list, (loop.inits[number],), {}, (first,), op.span, op.role),
                Op(list_join, (first, tape), {}, (joined,), op.span, op.role),
            ]
        self.tapes = later_values + self.tapes
        stop = len(loop.body.yields) - loop.has_until
        yields = (
            *loop.body.yields[:stop],
            *(value for value, _ in self.tapes),
            *loop.body.yields[stop:],
        )
        results = (*op.results[:-1], *(tape for _, tape in self.tapes), loop.count)
        body = Region(loop.body.params, parts.forward, yields)
        new_loop = replace(op, regions=(*op.regions[:-1], body), results=results)
        after = [*joins, *self.stacked]
        return [new_loop, *after] if after else new_loop


def _item_type(operand: AnyOperand) -> Type:
    return read_type(type_of(operand))


def _reads_all(sweep: SweepProtocol, loop: Loop, source: AnyOperand) -> bool:
    """True if the loop surely reads every item of ``source``, so that no padding is needed.

    Loops that a sweep made do: they read tapes of the loop that they reverse.
    """
    if loop.op.role == "adjoint":
        return True
    stop = loop.bounds[1] if loop.starts_at_zero and not loop.has_until else None
    type_ = type_of(source)
    if isinstance(type_, ArrayType) and type_.shape and isinstance(stop, int):
        return type_.shape[0] == stop
    length = sweep.producers.get(stop) if isinstance(stop, Value) else None
    if length is not None and (length.name, length.attrs.get("axis", 0)) in LENGTHS:
        return length.operands[0] is source
    maker = sweep.producers.get(source) if isinstance(source, Value) else None
    if maker is None or maker.name not in ("for", "while"):
        return False
    writer = Loop(maker)
    if source not in writer.stacked:  # such as a carried array, of any length
        return False
    if stop is writer.count:
        return True
    runs_fully = not writer.has_until and not loop.has_until
    return runs_fully and writer.is_for and loop.is_for and writer.bounds == loop.bounds
