"""The batching sweep (``vmap``): makes a function for a batch of the function for one example.

The examples lie along the first axis of every batched array. Values that all examples share are
computed once. An operator definition has a batching rule (``OpDef.batch``). An operation without
one, or whose rule does not take these operands, runs in a loop over the examples. The same holds
for a branch or loop whose path differs between examples. If a batched value is no array, the whole
function runs in such a loop.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> net = parse_function('''
... func @net(%x: f32[3], %w: f32[3,2], %b: f32[2]) -> (f32[2]) {
...   %u!: f32[2] = matmul %x, %w
...   %c: f32[2] = neg %b
...   %out!: f32[2] = add %u, %c
...   return %out
... }
... ''')
>>> print(print_function(batched_function(net, (True, False, False), 5)), end="")
func @net_batched(%x: f32[5,3], %w: f32[3,2], %b: f32[2]) -> (f32[5,2]) {
  %u!: f32[5,2] = matmul %x, %w
  %c: f32[2] = neg %b
  %out!: f32[5,2] = add %u, %c
  return %out
}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from autodiff_compiler.errors import DTypeError
from autodiff_compiler.ir.builder import Builder, read_type
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value, type_of
from autodiff_compiler.ir.rewrite import fresh, substitute_op, uses_of
from autodiff_compiler.ir.types import (
    ArrayType,
    DictType,
    Dim,
    ListType,
    TupleType,
    Type,
    batch_type,
    holds_arrays,
    join,
)
from autodiff_compiler.operators.core.containers import item
from autodiff_compiler.operators.core.control import call
from autodiff_compiler.operators.core.structure import broadcast_to, expand_dims, transpose
from autodiff_compiler.transforms.batching.loop_fallback import Unbatchable, loop_over_examples
from autodiff_compiler.transforms.batching.operators import batch_operator
from autodiff_compiler.transforms.reverse.cotangents import children, packed

NewName = Callable[[str], str]


def batched_function(
    function: Function, mapped: Sequence[bool], size: Dim, new_name: NewName = str
) -> Function:
    """Makes ``function`` for ``size`` examples.

    The parameters that are ``mapped``, and all returns, are batched.
    """
    batching = Batching(new_name)
    try:
        return batching.function(function, tuple(mapped), size, batch_returns=True).function
    except Unbatchable:
        raise DTypeError(
            f"{function.title or function.name} returns numbers or lists that differ "
            "between the examples of the batch",
            "return tensors",
            function.span,
        ) from None


@dataclass(frozen=True)
class Batched:
    """A batched function; ``returns`` is True for each of its returns that is batched."""

    function: Function
    returns: tuple[bool, ...]


class Batching:
    """The batched functions so far: calls of one function share one."""

    def __init__(self, new_name: NewName):
        self.new_name = new_name
        self._functions: dict[tuple, Batched] = {}

    def function(
        self, function: Function, mapped: tuple[bool, ...], size: Dim, batch_returns: bool = False
    ) -> Batched:
        """Batches ``function``; with ``batch_returns`` also the returns that examples share."""
        key = (function, mapped, size, batch_returns)
        if key not in self._functions:
            try:
                self._functions[key] = self._swept(function, mapped, size, batch_returns)
            except Unbatchable:
                self._functions[key] = self._looped(function, mapped, size)
        return self._functions[key]

    def _swept(
        self, function: Function, mapped: tuple[bool, ...], size: Dim, batch_returns: bool
    ) -> Batched:
        sweep = BatchSweep(self, size)
        with sweep.builder, sweep.builder.at(function.span):
            params = [sweep.enter(p, maps) for p, maps in zip(function.params, mapped)]
            sweep.region(function.body)
            batched = [batch_returns or sweep.is_batched(value) for value in function.returns]
            returns = [
                sweep.as_batch(value) if each else sweep.substitute(value)
                for value, each in zip(function.returns, batched)
            ]
        return self._finished(function, params, sweep.builder, returns, batched)

    def _looped(self, function: Function, mapped: tuple[bool, ...], size: Dim) -> Batched:
        """Makes a function that calls ``function`` in a loop over the examples."""
        builder = Builder()
        with builder, builder.at(function.span):
            examples = tuple(map(fresh, function.params))
            params = [_batch_of(p, size) if m else p for p, m in zip(examples, mapped)]
            results = tuple(Value(type_of(value), "out") for value in function.returns)
            op = Op(call, examples, {"callee": function}, results, function.span)
            batches = {e: p for e, p, maps in zip(examples, params, mapped) if maps}
            returns = loop_over_examples(builder, op, batches, {}, size)
        return self._finished(function, params, builder, returns, [True] * len(returns))

    def _finished(
        self,
        function: Function,
        params: Sequence[Value],
        builder: Builder,
        returns: Sequence[AnyOperand],
        batched: Sequence[bool],
    ) -> Batched:
        body = Region(tuple(params), tuple(builder.ops), tuple(returns))
        name = self.new_name(f"{function.name}_batched")
        return Batched(replace(function, name=name, body=body), tuple(batched))


def _batch_of(value: Value, size: Dim) -> Value:
    return _typed(value, batch_type(value.type, size))


class BatchSweep:
    """A walk over a function.

    batches      the batch of each batched value.
    substitutes  the new values of those that all examples share, if they were computed anew.
    """

    def __init__(self, batching: Batching, size: Dim):
        self.batching, self.size = batching, size
        self.builder = Builder()
        self.batches: dict[Value, AnyOperand] = {}
        self.substitutes: dict[Value, AnyOperand] = {}

    def enter(self, param: Value, maps: bool) -> Value:
        """Returns the parameter that replaces ``param``: its batch if it ``maps``."""
        if not maps or not holds_arrays(param.type):
            return param
        batch = self.batches[param] = _batch_of(param, self.size)
        return batch

    def is_batched(self, operand: AnyOperand) -> bool:
        return isinstance(operand, Value) and operand in self.batches

    def substitute(self, operand: AnyOperand) -> AnyOperand:
        """Returns the batch of an operand, or its value that all examples share."""
        if not isinstance(operand, Value):
            return operand
        return self.batches.get(operand, self.substitutes.get(operand, operand))

    def as_batch(self, operand: AnyOperand) -> AnyOperand:
        """Returns the batch of an operand, also of one that all examples share."""
        if self.is_batched(operand) or not isinstance(operand, Value):
            return self.substitute(operand)
        return self._broadcast(self.substitutes.get(operand, operand), operand.type)

    def _broadcast(self, value: AnyOperand, type_: Type) -> AnyOperand:
        if not holds_arrays(type_):
            return value
        if isinstance(type_, (TupleType, DictType)):
            parts = [self._broadcast(item(value, key=k), inner) for k, inner in children(type_)]
            return packed(self.builder, type_, parts)
        if not isinstance(type_, ArrayType) or not type_.has_static_shape or self.size is None:
            raise Unbatchable
        row = expand_dims(value, axes=(0,))
        return broadcast_to(row, shape=(self.size, *(type_.shape or ())))

    def set(self, result: Value, new: AnyOperand) -> None:
        """Enters the batch of a result; without arrays in it, all examples share it."""
        if isinstance(new, Value) and new is not result:
            maker = self.builder.producer(new)
            if maker is not None and not new.has_user_name and result.name:
                new.name, new.has_user_name = result.name, result.has_user_name
        (self.batches if holds_arrays(result.type) else self.substitutes)[result] = new

    # ---- operations

    def region(self, region: Region) -> None:
        """Adds the operations of a region."""
        for op in region.ops:
            with self.builder.at(op.span, op.role):
                self.op(op)

    def block(self, region: Region) -> list[Op]:
        with self.builder.block() as ops:
            self.region(region)
        return ops

    def op(self, op: Op) -> None:
        """Adds ``op`` unchanged if all examples share it, else for the batch."""
        if not any(value in self.batches for value in uses_of(op)):
            self.builder.add(substitute_op(op, self.substitutes))
            return
        rule = RULES.get(op.name, batch_plain)
        if not rule(self, op):
            if op.regions and any(_may_change(result.type) for result in op.results):
                raise Unbatchable  # the paths of two examples may yield arrays of two shapes
            for result, new in zip(
                op.results,
                loop_over_examples(self.builder, op, self.batches, self.substitutes, self.size),
            ):
                self.set(result, new)


def _may_change(type_: Type) -> bool:
    """True if arrays of this type may have different shapes."""
    if isinstance(type_, ArrayType):
        return type_.shape is None or None in type_.shape
    return any(_may_change(inner) for _, inner in children(type_))


def batch_plain(sweep: BatchSweep, op: Op) -> bool:
    """Batches an operation by the rule of its operator; returns False if that fails."""
    if len(op.results) != 1:
        return False
    result = batch_operator(
        op, sweep.substitute, sweep.as_batch, [*map(sweep.is_batched, op.operands)], sweep.size
    )
    if result is None:
        return False
    sweep.set(op.result, result)
    return True


def batch_items(sweep: BatchSweep, op: Op) -> bool:
    """Makes a container of batches."""
    new = sweep.builder.make(op.opdef, [sweep.as_batch(x) for x in op.operands], op.attrs)
    sweep.set(op.result, new)
    return True


def batch_item(sweep: BatchSweep, op: Op) -> bool:
    """Takes an item of a batched container."""
    sweep.set(op.result, item(sweep.substitute(op.operands[0]), key=op.attrs["key"]))
    return True


def batch_call(sweep: BatchSweep, op: Op) -> bool:
    """Calls the batched callee."""
    mapped = tuple(map(sweep.is_batched, op.operands))
    batched = sweep.batching.function(op.attrs["callee"], mapped, sweep.size)
    operands = tuple(map(sweep.substitute, op.operands))
    results = [Value(type_of(value)) for value in batched.function.returns]
    attrs = {**op.attrs, "callee": batched.function}
    sweep.builder.add(replace(op, operands=operands, attrs=attrs, results=tuple(results)))
    for result, new, is_batched in zip(op.results, results, batched.returns):
        if is_batched:
            sweep.set(result, new)
        else:
            sweep.substitutes[result] = new
    return True


def batch_if(sweep: BatchSweep, op: Op) -> bool:
    """Batches an ``if`` whose branch is the same for all examples; else returns False."""
    if sweep.is_batched(op.operands[0]):
        return False
    blocks = [sweep.block(region) for region in op.regions]
    rows = [*zip(*(region.yields for region in op.regions))]
    batched = [any(map(sweep.is_batched, row)) for row in rows]
    regions = []
    for region, ops in zip(op.regions, blocks):
        with sweep.builder.block(ops):
            yields = tuple(
                sweep.as_batch(value) if each else sweep.substitute(value)
                for value, each in zip(region.yields, batched)
            )
        regions.append(Region((), tuple(ops), yields))
    results = []
    for number, (result, each) in enumerate(zip(op.results, batched)):
        type_ = join(*(type_of(region.yields[number]) for region in regions)) if each else None
        results.append(_typed(result, type_ or result.type) if each else result)
    operands = tuple(map(sweep.substitute, op.operands))
    sweep.builder.add(
        replace(op, operands=operands, regions=tuple(regions), results=tuple(results))
    )
    sweep.batches.update((a, b) for a, b in zip(op.results, results) if a is not b)
    return True


def _typed(value: Value, type_: Type) -> Value:
    """Returns a new value of ``type_`` with the name of ``value``."""
    return Value(type_, value.name, value.has_user_name)


def batch_loop(sweep: BatchSweep, op: Op) -> bool:
    """Batches a loop with the same iterations for all examples; else returns False.

    The carries that are batched depend on the body, which is swept until a fixed point.
    """
    loop = Loop(op)
    if any(map(sweep.is_batched, loop.bounds)):
        return False
    before = dict(sweep.batches)
    body = _BatchedBody(sweep, loop, [*map(sweep.is_batched, loop.inits)])
    while (batched := body.batched_carries()) != body.batched:
        sweep.batches = dict(before)
        body = _BatchedBody(sweep, loop, batched)
    condition = None if sweep.is_batched(loop.until) else body.condition()
    if condition is None:
        sweep.batches = before
        return False
    body.add_loop(condition)
    return True


class _BatchedBody:
    """The sweep of a loop's body, if certain carries are ``batched``."""

    def __init__(self, sweep: BatchSweep, loop: Loop, batched: Sequence[bool]):
        self.sweep, self.loop, self.batched = sweep, loop, batched
        self.carries = [sweep.enter(p, each) for p, each in zip(loop.carry_params, batched)]
        with sweep.builder.block() as self.before:
            self.sources = [_source(sweep, source) for source in loop.reads]
        ports = zip(loop.reads, self.sources, loop.read_params)
        self.reads = [_read(sweep, source, new, param) for source, new, param in ports]
        self.ops = sweep.block(loop.body)

    def batched_carries(self) -> list[bool]:
        """Returns True for each carry that is batched before or after an iteration."""
        after = map(self.sweep.is_batched, self.loop.carry_yields)
        return [was or now for was, now in zip(self.batched, after)]

    def condition(self) -> tuple[Region, ...] | None:
        """Sweeps the test of a ``while``; None if it differs between examples."""
        sweep, test = self.sweep, self.loop.condition
        if test is None:
            return ()
        params = [sweep.enter(param, each) for param, each in zip(test.params, self.batched)]
        ops = sweep.block(test)
        if any(map(sweep.is_batched, test.yields)):
            return None
        return (Region(tuple(params), tuple(ops), tuple(map(sweep.substitute, test.yields))),)

    def add_loop(self, condition: tuple[Region, ...]) -> None:
        """Adds the loop, and enters its results."""
        sweep, loop, op = self.sweep, self.loop, self.loop.op
        with sweep.builder.block(self.ops):
            carry_yields = self._as_batches(loop.carry_yields)
            stacks = [sweep.substitute(value) for value in loop.stack_yields]
        until = map(sweep.substitute, loop.body.yields[len(loop.body.yields) - loop.has_until :])
        params = (*loop.body.params[: 1 + loop.is_for], *self.carries, *self.reads)
        body = Region(params, tuple(self.ops), (*carry_yields, *stacks, *until))
        for new_op in self.before:
            sweep.builder.add(new_op)
        bounds = map(sweep.substitute, loop.bounds)
        operands = (*bounds, *self._as_batches(loop.inits), *self.sources)
        results = [
            _typed(result, param.type) if each else result
            for result, param, each in zip(loop.carried, self.carries, self.batched)
        ]
        results += [
            result if stack is old else _typed(result, ListType(type_of(stack)))
            for result, stack, old in zip(loop.stacked, stacks, loop.stack_yields)
        ]
        regions = (*condition, body)
        new_op = replace(op, operands=operands, regions=regions, results=(*results, loop.count))
        sweep.builder.add(new_op)
        for old, new in zip(op.results, results):
            if old is not new:
                sweep.set(old, new)

    def _as_batches(self, values: Sequence[AnyOperand]) -> list[AnyOperand]:
        sweep = self.sweep
        return [
            sweep.as_batch(value) if each else sweep.substitute(value)
            for value, each in zip(values, self.batched)
        ]


def _source(sweep: BatchSweep, source: AnyOperand) -> AnyOperand:
    """Returns what the loop reads: an item for all examples at once."""
    new, type_ = sweep.substitute(source), type_of(source)
    if not sweep.is_batched(source) or not isinstance(type_, ArrayType):
        return new
    if type_.ndim is None:
        raise Unbatchable
    return transpose(new, perm=(1, 0, *range(2, type_.ndim + 1)))


def _read(sweep: BatchSweep, source: AnyOperand, new: AnyOperand, param: Value) -> Value:
    if not sweep.is_batched(source):
        return param
    batch = Value(read_type(type_of(new)), param.name, param.has_user_name)
    sweep.batches[param] = batch
    return batch


RULES: dict[str, Callable[[BatchSweep, Op], bool]] = {
    "if": batch_if,
    "for": batch_loop,
    "while": batch_loop,
    "call": batch_call,
    "make_tuple": batch_items,
    "make_dict": batch_items,
    "make_list": batch_items,
    "item": batch_item,
}
