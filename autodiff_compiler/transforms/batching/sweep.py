"""A function for a batch, out of the function for one example.

The examples lie along the first axis of every array that differs from one to the next; what does
not differ is computed once. A record says how its operator takes a batch (``OpDef.batch``); one
that does not say, or cannot with these operands, is run for one example after the other, in a loop.
So are a branch and a loop whose course differs between examples. What is no array and differs
makes the whole function run so.

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
    batched,
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
    """``function`` for ``size`` examples: the parameters that are ``mapped``, and all returns, hold
    a batch."""
    try:
        return Batching(new_name).function(function, tuple(mapped), size, whole=True).function
    except Unbatchable:
        raise DTypeError(
            f"{function.title or function.name} returns numbers or lists that differ "
            "between the examples of the batch",
            "return tensors",
            function.span,
        ) from None


@dataclass(frozen=True)
class Batched:
    """A batched function, and which of its returns hold a batch."""

    function: Function
    differs: tuple[bool, ...]


class Batching:
    """Remembers what callees became."""

    def __init__(self, new_name: NewName):
        self.new_name = new_name
        self._made: dict[tuple, Batched] = {}

    def function(
        self, function: Function, mapped: tuple[bool, ...], size: Dim, whole: bool = False
    ) -> Batched:
        """``whole``: every return is to hold a batch."""
        key = (function, mapped, size, whole)
        if key not in self._made:
            try:
                self._made[key] = self._swept(function, mapped, size, whole)
            except Unbatchable:
                self._made[key] = self._looped(function, mapped, size)
        return self._made[key]

    def _swept(
        self, function: Function, mapped: tuple[bool, ...], size: Dim, whole: bool
    ) -> Batched:
        sweep = BatchSweep(self, size)
        with sweep.builder, sweep.builder.at(function.span):
            params = [sweep.enter(p, maps) for p, maps in zip(function.params, mapped)]
            sweep.region(function.body)
            differs = [whole or sweep.differs(value) for value in function.returns]
            returns = [
                sweep.whole(value) if each else sweep.now(value)
                for value, each in zip(function.returns, differs)
            ]
        return self._finished(function, params, sweep.builder, returns, differs)

    def _looped(self, function: Function, mapped: tuple[bool, ...], size: Dim) -> Batched:
        """The function called for one example after the other."""
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
        differs: Sequence[bool],
    ) -> Batched:
        body = Region(tuple(params), tuple(builder.ops), tuple(returns))
        name = self.new_name(f"{function.name}_batched")
        return Batched(replace(function, name=name, body=body), tuple(differs))


def _batch_of(value: Value, size: Dim) -> Value:
    return Value(batched(value.type, size), value.name, value.has_user_name)


class BatchSweep:
    """One walk over a function: ``batches`` holds the batch of each value that differs, ``stands``
    what stands for others that were computed anew."""

    def __init__(self, batching: Batching, size: Dim):
        self.batching, self.size = batching, size
        self.builder = Builder()
        self.batches: dict[Value, AnyOperand] = {}
        self.stands: dict[Value, AnyOperand] = {}

    def enter(self, param: Value, maps: bool) -> Value:
        """The parameter that stands for ``param``."""
        if not maps or not holds_arrays(param.type):
            return param
        made = self.batches[param] = _batch_of(param, self.size)
        return made

    def differs(self, operand: AnyOperand) -> bool:
        return isinstance(operand, Value) and operand in self.batches

    def now(self, operand: AnyOperand) -> AnyOperand:
        """What stands for an operand: its batch, or itself."""
        if not isinstance(operand, Value):
            return operand
        return self.batches.get(operand, self.stands.get(operand, operand))

    def whole(self, operand: AnyOperand) -> AnyOperand:
        """The batch of an operand, also of one that all examples share."""
        if self.differs(operand) or not isinstance(operand, Value):
            return self.now(operand)
        return self._stretched(self.stands.get(operand, operand), operand.type)

    def _stretched(self, value: AnyOperand, type_: Type) -> AnyOperand:
        if not holds_arrays(type_):
            return value
        if isinstance(type_, (TupleType, DictType)):
            parts = [self._stretched(item(value, key=k), inner) for k, inner in children(type_)]
            return packed(self.builder, type_, parts)
        if not isinstance(type_, ArrayType) or not type_.has_static_shape or self.size is None:
            raise Unbatchable
        row = expand_dims(value, axes=(0,))
        return broadcast_to(row, shape=(self.size, *(type_.shape or ())))

    def set(self, result: Value, new: AnyOperand) -> None:
        """Enters what stands for a result; where that holds no array, all examples share it."""
        if isinstance(new, Value) and new is not result:
            maker = self.builder.producer(new)
            if maker is not None and not new.has_user_name and result.name:
                new.name, new.has_user_name = result.name, result.has_user_name
        (self.batches if holds_arrays(result.type) else self.stands)[result] = new

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
        """Adds ``op`` as it is where all examples share it, else for the batch."""
        if not any(value in self.batches for value in uses_of(op)):
            self.builder.add(substitute_op(op, self.stands))
            return
        rule = RULES.get(op.name, batch_plain)
        if not rule(self, op):
            if op.regions and any(_may_change(result.type) for result in op.results):
                raise Unbatchable  # the ways of two examples may leave arrays of two shapes
            for result, new in zip(
                op.results,
                loop_over_examples(self.builder, op, self.batches, self.stands, self.size),
            ):
                self.set(result, new)


def _may_change(type_: Type) -> bool:
    """Whether arrays of this type may have different shapes."""
    if isinstance(type_, ArrayType):
        return type_.shape is None or None in type_.shape
    return any(_may_change(inner) for _, inner in children(type_))


def batch_plain(sweep: BatchSweep, op: Op) -> bool:
    """An operator whose record says how it takes a batch; gives whether that could be done."""
    if len(op.results) != 1:
        return False
    found = batch_operator(
        op, sweep.now, sweep.whole, [*map(sweep.differs, op.operands)], sweep.size
    )
    if found is None:
        return False
    sweep.set(op.result, found)
    return True


def batch_items(sweep: BatchSweep, op: Op) -> bool:
    """A container of a batch holds batches."""
    new = sweep.builder.make(op.opdef, [sweep.whole(x) for x in op.operands], op.attrs)
    sweep.set(op.result, new)
    return True


def batch_item(sweep: BatchSweep, op: Op) -> bool:
    """An item of a container."""
    sweep.set(op.result, item(sweep.now(op.operands[0]), key=op.attrs["key"]))
    return True


def batch_call(sweep: BatchSweep, op: Op) -> bool:
    """A call of the callee for a batch."""
    mapped = tuple(map(sweep.differs, op.operands))
    made = sweep.batching.function(op.attrs["callee"], mapped, sweep.size)
    operands = tuple(map(sweep.now, op.operands))
    results = [Value(type_of(value)) for value in made.function.returns]
    attrs = {**op.attrs, "callee": made.function}
    sweep.builder.add(replace(op, operands=operands, attrs=attrs, results=tuple(results)))
    for result, new, differs in zip(op.results, results, made.differs):
        if differs:
            sweep.set(result, new)
        else:
            sweep.stands[result] = new
    return True


def batch_if(sweep: BatchSweep, op: Op) -> bool:
    """A branch that all examples take alike."""
    if sweep.differs(op.operands[0]):
        return False
    blocks = [sweep.block(region) for region in op.regions]
    rows = [*zip(*(region.yields for region in op.regions))]
    differs = [any(map(sweep.differs, row)) for row in rows]
    regions = []
    for region, ops in zip(op.regions, blocks):
        with sweep.builder.block(ops):
            yields = tuple(
                sweep.whole(value) if each else sweep.now(value)
                for value, each in zip(region.yields, differs)
            )
        regions.append(Region((), tuple(ops), yields))
    results = []
    for number, (result, each) in enumerate(zip(op.results, differs)):
        type_ = join(*(type_of(region.yields[number]) for region in regions)) if each else None
        results.append(
            Value(type_ or result.type, result.name, result.has_user_name) if each else result
        )
    operands = tuple(map(sweep.now, op.operands))
    sweep.builder.add(
        replace(op, operands=operands, regions=tuple(regions), results=tuple(results))
    )
    sweep.batches.update((a, b) for a, b in zip(op.results, results) if a is not b)
    return True


def batch_loop(sweep: BatchSweep, op: Op) -> bool:
    """A loop that runs alike for all examples; which carries differ, its body decides."""
    loop = Loop(op)
    if any(map(sweep.differs, loop.bounds)):
        return False
    differs = [*map(sweep.differs, loop.inits)]
    kept = dict(sweep.batches)
    while True:
        sweep.batches = dict(kept)
        carries = [sweep.enter(p, each) for p, each in zip(loop.carry_params, differs)]
        with sweep.builder.block() as before:
            sources = [_source(sweep, source) for source in loop.reads]
        reads = [
            _read(sweep, source, new, param)
            for source, new, param in zip(loop.reads, sources, loop.read_params)
        ]
        ops = sweep.block(loop.body)
        after = [each or sweep.differs(value) for each, value in zip(differs, loop.carry_yields)]
        if after == differs:
            break
        differs = after
    if sweep.differs(loop.until):
        sweep.batches = kept
        return False
    regions: tuple[Region, ...] = ()
    if loop.condition is not None:
        tested = [sweep.enter(p, each) for p, each in zip(loop.condition.params, differs)]
        test = sweep.block(loop.condition)
        if any(map(sweep.differs, loop.condition.yields)):
            sweep.batches = kept
            return False
        (goes_on,) = loop.condition.yields
        regions = (Region(tuple(tested), tuple(test), (sweep.now(goes_on),)),)
    with sweep.builder.block(ops):
        yields = _all(sweep, loop.carry_yields, differs)
        stacks = [sweep.now(value) for value in loop.stack_yields]
    until = map(sweep.now, loop.body.yields[len(loop.body.yields) - loop.has_until :])
    params = (*loop.body.params[: 1 + loop.is_for], *carries, *reads)
    regions += (Region(params, tuple(ops), (*yields, *stacks, *until)),)
    for made in before:
        sweep.builder.add(made)
    bounds = map(sweep.now, loop.bounds)
    operands = (*bounds, *_all(sweep, loop.inits, differs), *sources)
    results = [
        Value(param.type, result.name, result.has_user_name) if each else result
        for result, param, each in zip(loop.carried, carries, differs)
    ]
    results += [
        Value(ListType(type_of(stack)), result.name, result.has_user_name)
        if stack is not old
        else result
        for result, stack, old in zip(loop.stacked, stacks, loop.stack_yields)
    ]
    sweep.builder.add(
        replace(op, operands=operands, regions=regions, results=(*results, loop.count))
    )
    for old, new in zip(op.results, results):
        if old is not new:
            sweep.set(old, new)
    return True


def _all(
    sweep: BatchSweep, values: Sequence[AnyOperand], differs: Sequence[bool]
) -> list[AnyOperand]:
    return [sweep.whole(x) if each else sweep.now(x) for x, each in zip(values, differs)]


def _source(sweep: BatchSweep, source: AnyOperand) -> AnyOperand:
    """What a loop reads: an item for all examples at once."""
    new = sweep.now(source)
    if not sweep.differs(source) or not isinstance(type_of(source), ArrayType):
        return new
    rank = type_of(source).ndim  # type: ignore[attr-defined]
    if rank is None:
        raise Unbatchable
    return transpose(new, perm=(1, 0, *range(2, rank + 1)))


def _read(sweep: BatchSweep, source: AnyOperand, new: AnyOperand, param: Value) -> Value:
    if not sweep.differs(source):
        return param
    made = Value(read_type(type_of(new)), param.name, param.has_user_name)
    sweep.batches[param] = made
    return made


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
