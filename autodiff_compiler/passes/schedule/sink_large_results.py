"""Code sinking: computes a large result just before its first use, to shorten its live range.

An early result lies in memory until it is read. ``u = d / s`` before the sums of ``d`` needs a
second array; after them ``d`` is dead and is overwritten (``assign_buffers``). The pass sinks a
large result to its first use, unless that keeps as many bytes of its operands alive. Small results
stay in the order of the source, with one exception: a reduction that is the last reader of a large
array moves up. There it comes before operations that can then overwrite the array, as the sums of
``d`` do here.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: f32[300,200], %s: f32[300,1]) -> (f32[300,200]) {
...   %d: f32[300,200] = sin %x
...   %u: f32[300,200] = div %d, %s
...   %t: f32[300,1] = sum %d {axes=(1,), keepdims=True}
...   %y: f32[300,200] = sub %u, %t
...   return %y
... }
... ''')
>>> print(print_function(sink_large_results(before)), end='')
func @f(%x: f32[300,200], %s: f32[300,1]) -> (f32[300,200]) {
  %d: f32[300,200] = sin %x
  %t: f32[300,1] = sum %d {axes=(1,), keepdims=True}
  %u: f32[300,200] = div %d, %s
  %y: f32[300,200] = sub %u, %t
  return %y
}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, Value, expect_value
from autodiff_compiler.ir.rewrite import map_regions, uses_of
from autodiff_compiler.ir.types import size_of
from autodiff_compiler.passes.core.traversal import with_body, with_ops


def sink_large_results(function: Function) -> Function:
    """Sinks large results of ``function`` to their first use."""
    return with_body(function, _sink_in(function.body))


def _sink_in(region: Region) -> Region:
    ops = [map_regions(op, _sink_in) for op in region.ops]
    last = _last_uses(ops, region.yields)
    done: list[Op] = []
    waiting: dict[Value, Op] = {}
    for place, op in enumerate(ops):
        if _may_sink(op) and _extended_live_bytes(op, last, place) < size_of(op.result.type):
            waiting[op.result] = op
        else:
            _place(op, waiting, done)
    for value in region.yields:
        if value in waiting:
            _place(waiting.pop(expect_value(value)), waiting, done)
    return with_ops(region, _advance_reductions(done, region.yields))


def _place(op: Op, waiting: dict[Value, Op], done: list[Op]) -> None:
    """Appends ``op`` to ``done``, after the waiting operations that it reads.

    The chain of these may be longer than Python's stack.
    """
    stack = [(op, iter(uses_of(op)))]
    while stack:
        now, reads = stack[-1]
        value = next((value for value in reads if value in waiting), None)
        if value is None:
            done.append(now)
            stack.pop()
        else:
            maker = waiting.pop(value)
            stack.append((maker, iter(uses_of(maker))))


def _advance_reductions(ops: list[Op], yields: tuple[AnyOperand, ...]) -> list[Op]:
    """Moves reductions of a large array before operations that may then overwrite it.

    The reduction is the last reader of the array.
    """
    last = _last_uses(ops, yields)
    done: list[Op] = []
    defined_at: dict[Value, int] = {}
    for place, op in enumerate(ops):
        read = [value for value in uses_of(op) if size_of(value.type) >= costs().large_bytes]
        at = len(done)
        is_last = read and all(value in defined_at and last[value] <= place for value in read)
        if is_last and _reduces(op, read):
            ready = max((defined_at.get(value, -1) for value in uses_of(op)), default=-1) + 1
            places = (
                k for k in range(ready, at) if _may_sink(done[k]) and _may_overwrite(done[k], read)
            )
            at = next(places, at)
        done.insert(at, op)
        for moved in range(at, len(done)):
            defined_at.update((result, moved) for result in done[moved].results)
    return done


def _reduces(op: Op, arrays: Sequence[Value]) -> bool:
    """True if ``op`` reduces large ``arrays`` to a result that is small beside them."""
    plain = len(op.results) == 1 and not (op.regions or op.opdef.effect)
    if not plain or "axes" not in op.attrs:
        return False
    largest = max(size_of(value.type) for value in arrays)
    return costs().reduced_first_ratio * size_of(op.result.type) <= largest


def _may_overwrite(op: Op, arrays: Sequence[Value]) -> bool:
    """True if ``op`` reads one of ``arrays`` and has a result of its type."""
    return any(value in op.operands and value.type == op.result.type for value in arrays)


def _may_sink(op: Op) -> bool:
    # An operation that may fail stays: a program prints before the failure what it printed before.
    pure = op.opdef.kind == "elementwise" and not op.opdef.effect or op.name == "matmul"
    return pure and len(op.results) == 1 and size_of(op.result.type) >= costs().large_bytes


def _extended_live_bytes(op: Op, last: Mapping[Value, int], place: int) -> int:
    """Returns the bytes of the large operands that would live longer if ``op`` were sunk."""
    sizes = [size_of(value.type) for value in uses_of(op) if last[value] <= place]
    return sum(size for size in sizes if size >= costs().large_bytes)


def _last_uses(ops: list[Op], yields: tuple[AnyOperand, ...]) -> dict[Value, int]:
    """Returns the place of the last use of each value, or of a view of it."""
    viewed: dict[Value, Value] = {}
    last: dict[Value, int] = {}
    for place, op in enumerate(ops):
        for value in uses_of(op):
            last[viewed.get(value, value)] = place
            if op.opdef.views and op.operands[0] is value:
                viewed.update((result, viewed.get(value, value)) for result in op.results)
    for returned in yields:
        if isinstance(returned, Value):
            last[viewed.get(returned, returned)] = len(ops)
    return {**last, **{view: last[value] for view, value in viewed.items()}}
