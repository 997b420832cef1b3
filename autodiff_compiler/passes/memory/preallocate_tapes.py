"""Arrays that a loop fills row by row, in the place of lists that become arrays after it.

``np.stack(h_tape)`` copies what the iterations made, so that it is there twice. Where nothing else
reads the list, the loop carries the array and sets a row in each iteration;
``update_arrays_in_place`` then lets that happen in place. What is made by one call, and is over
with its iteration, is made in its row. A list that begins with one item more is an array with one
row more. What enters an iteration is kept first, so that its memory is free for what leaves it.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> from autodiff_compiler.passes.simplify.dce import dce
>>> before = parse_function('''
... func @f(%x: f32[4]) -> (f32[4,4]) {
...   %y: f32[4], %t: list[f32[4]], %n: int = for %p, %k in (0, 3, 1) carry (%c: f32[4] = %x) {
...     %u: f32[4] = sin %c
...     yield carry %u stack %u
...   }
...   %one: list[f32[4]] = make_list %x
...   %all: list[f32[4]] = list_join %one, %t
...   %a: f32[4,4] = stack_rows %all {length=4}
...   return %a
... }
... ''')
>>> print(print_function(dce(preallocate_tapes(before))), end='')
func @f(%x: f32[4]) -> (f32[4,4]) {
  %t: f32[4,4] = empty {dtype='float32', shape=(4, 4)}
  %t.1: f32[4,4] = set_item %t, %x {index=(0,)}
  %y: f32[4], %t.2: f32[4,4], %n: int = for %p, %k in (0, 3, 1) \
carry (%c: f32[4] = %x, %t.3: f32[4,4] = %t.1) {
    %u: f32[4] = sin %c
    %add_p: int = add %p, 1
    %t.4: f32[4,4] = set_item %t.3, %u, %add_p {index=(('op', 0),)}
    yield carry %u, %t.4
  }
  return %t.2
}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from autodiff_compiler.analysis.trip_count import trip_count
from autodiff_compiler.ir.aliasing import alias_sets
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import (
    Producers,
    UseCounts,
    fresh,
    map_regions,
    producers_among,
    use_counts,
)
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.destination_ops import empty, filled, into
from autodiff_compiler.operators.elementwise.arithmetic import add
from autodiff_compiler.operators.indexing.indexing import index, set_item
from autodiff_compiler.passes.core.traversal import with_body
from autodiff_compiler.passes.destinations.operation_calls import result_of
from autodiff_compiler.passes.destinations.template_calls import Operand, calls_of

#: Kinds of operators whose one call may be told where to put its result.
FITTING = ("elementwise", "bilinear")


def preallocate_tapes(function: Function) -> Function:
    """``function`` with arrays in the place of lists that are only stacked."""
    if not any(op.name == "stack_rows" for op in function.body.walk()):
        return function
    return with_body(function, _rewritten(function.body, use_counts(function.body)))


@dataclass(frozen=True)
class _Stack:
    """A list that becomes the array ``made``; ``head`` is its first item where the loop adds to
    that, ``gone`` are the operations that the array replaces."""

    made: Op
    name: str
    gone: tuple[Op, ...]
    head: AnyOperand = None

    @property
    def array(self) -> Value:
        return self.made.result


def _rewritten(region: Region, uses: UseCounts) -> Region:
    makers = producers_among(region.ops)
    found: dict[Op, dict[Value, _Stack]] = {}
    for op in region.ops:
        stack = _stack(op, makers, uses)
        if stack is not None:
            tape, loop = stack
            name = tape.name or op.result.name
            found.setdefault(loop, {})[tape] = _Stack(op, name, *_headed(op, tape, makers))
    gone = {op for loop in found.values() for stack in loop.values() for op in stack.gone}
    ops: list[Op] = []
    for op in region.ops:
        now = map_regions(op, lambda inner: _rewritten(inner, uses))
        if op in found:
            ops += _filling(now, found[op])
        elif op not in gone:
            ops.append(now)
    same = len(ops) == len(region.ops) and all(a is b for a, b in zip(ops, region.ops))
    return region if same else Region(region.params, tuple(ops), region.yields)


def _stack(op: Op, makers: Producers, uses: UseCounts) -> tuple[Value, Op] | None:
    """The tape that ``op`` makes an array of, and its loop, if each iteration sets one row."""
    if op.name != "stack_rows" or len(op.operands) != 1:
        return None
    type_, tape, rows = op.result.type, op.operands[0], 0
    assert isinstance(type_, ArrayType)
    joined = makers.get(tape) if isinstance(tape, Value) else None
    if joined is not None and joined.name == "list_join":
        one = makers.get(joined.operands[0])
        if one is None or one.name != "make_list" or len(one.operands) != 1:
            return None
        if uses.get(tape) != 1 or uses.get(one.result) != 1:
            return None
        first, tape, rows = one.operands[0], joined.operands[1], 1
        made = makers.get(first) if isinstance(first, Value) else None
        order = list(makers.values())
        if made is not None and order.index(made) >= order.index(makers[tape]):
            return None
    loop = makers.get(tape) if isinstance(tape, Value) else None
    if loop is None or loop.name != "for" or uses.get(tape) != 1:
        return None
    steps = trip_count(Loop(loop))
    fits = steps is not None and tape in Loop(loop).stacked and type_.is_static
    return (tape, loop) if fits and type_.shape[:1] == (steps + rows,) else None  # type: ignore[index, operator, return-value]


def _headed(op: Op, tape: Value, makers: Producers) -> tuple[tuple[Op, ...], AnyOperand]:
    if op.operands[0] is tape:
        return (op,), None
    joined = makers[op.operands[0]]
    head = makers[joined.operands[0]]
    return (op, joined, head), head.operands[0]


def _filling(op: Op, found: Mapping[Value, _Stack]) -> list[Op]:
    """The loop with arrays to carry, after what these begin as."""
    loop, builder = Loop(op), Builder()
    inits, params, yields = [], [], []
    inner = list(loop.body.ops)
    with builder, builder.at(op.span, op.role):
        for stack in found.values():
            type_ = stack.array.type
            assert isinstance(type_, ArrayType)
            whole = _named(stack, builder.make(
                empty, (), {"shape": type_.shape, "dtype": type_.dtype}))  # fmt: skip
            if stack.head is not None:
                whole = _named(stack, set_item(whole, stack.head, index=(0,)))
            inits.append(whole)
            params.append(_named(stack, fresh(stack.array)))
        entering: list[Op] = []
        with builder.block() as rows:
            for (tape, stack), param in zip(found.items(), params):
                place = loop.position if stack.head is None else add(loop.position, 1)
                item = loop.stack_yields[loop.stacked.index(tape)]
                if stack.head is None and item in loop.carry_params:
                    with builder.block() as kept_first:
                        whole = set_item(param, item, place, index=(("op", 0),))
                    entering += kept_first
                    yields.append(_named(stack, whole))
                    continue
                at = None if stack.head is not None else _maker(loop, item)
                if at is None:
                    whole = set_item(param, item, place, index=(("op", 0),))
                else:
                    with builder.block() as making:
                        made_row = compute_into(
                            builder, at, _row(builder, at, param, place), in_order=True
                        )
                    where = inner.index(at)
                    inner[where : where + 1] = making
                    whole = builder.make(filled, (made_row, param), {})
                yields.append(_named(stack, whole))
    carries, kept = loop.carries, [tape not in found for tape in loop.stacked]
    lead = loop.body.params[: len(loop.body.params) - len(loop.carry_params) - len(loop.reads)]
    body = Region(
        (*lead, *loop.carry_params, *params, *loop.read_params),
        (*entering, *inner, *rows),
        (*loop.carry_yields, *yields, *_chosen(loop.stack_yields, kept),
         *loop.body.yields[carries + len(kept) :]),
    )  # fmt: skip
    results = (*loop.carried, *(_named(each, each.array) for each in found.values()),
               *_chosen(loop.stacked, kept), loop.count)  # fmt: skip
    made = replace(
        op, operands=(*loop.bounds, *loop.inits, *inits, *loop.reads), results=results,
        attrs={**op.attrs, "carries": carries + len(found)}, regions=(*op.regions[:-1], body),
    )  # fmt: skip
    return [*builder.ops, made]


def _maker(loop: Loop, item: AnyOperand) -> Op | None:
    """The operation that makes ``item``, if that is one call and no other iteration sees it."""
    made = next((op for op in loop.body.ops if item in op.results), None)
    if made is None or not accepts_destination(made):
        return None
    lies = alias_sets(loop.body)
    handed = [value for value in loop.body.yields if item in lies.get(value, ())]  # type: ignore[arg-type]
    return made if len(handed) == 1 else None


def accepts_destination(op: Op) -> bool:
    """Whether ``op`` is one call that gives what it makes where it is told to."""
    if op.opdef.views or op.opdef.kind not in FITTING:
        return False
    calls, type_ = calls_of(op), op.result.type
    if len(calls) != 1 or not isinstance(type_, ArrayType) or type_.dtype == "bfloat16":
        return False
    if not type_.shape:
        return False  # a row that is one number is no memory to write to
    return calls[0].ufunc is None or result_of(calls[0], _given(op)) == type_


def _given(op: Op) -> list[AnyOperand]:
    """The arguments of the one call that ``op`` is."""
    (call,) = calls_of(op)
    return [op.operands[a.place] if isinstance(a, Operand) else a for a in call.arguments]


def compute_into(builder: Builder, op: Op, target: Value, in_order: bool = False) -> Value:
    """What ``op`` makes, in ``target``, whose elements are surely ``in_order``, one after the other
    in memory, or else may lie as a slice or a transpose does."""
    text = calls_of(op)[0].text
    if not in_order:
        text = without_order(text)
    with builder.at(op.span, op.role):
        builder.make(into, (*_given(op), target), {"text": text})
    builder.ops[-1] = replace(builder.ops[-1], results=op.results)
    return op.result


def without_order(text: str) -> str:
    """The text of a call that is told to write to a slice or a transpose: of the two products the
    one that writes anywhere."""
    return text.replace("np.dot(", "np.matmul(")


def _row(builder: Builder, op: Op, array: Value, place: AnyOperand) -> Value:
    with builder.at(op.span, op.role):
        return index(array, place, index=(("op", 0),))


def _named(stack: _Stack, value: Value) -> Value:
    value.name = stack.name
    return value


def _chosen(values: Sequence[AnyOperand], kept: Sequence[bool]) -> list:
    return [value for value, keep in zip(values, kept) if keep]
