"""What is large waits for its first reader, where less has to be there until then than it is.

What is made early lies in memory until it is read. ``u = d / s`` before the sums of ``d`` needs a
second array; after them, ``d`` is dead and is written over (``assign_buffers``). So a large result
is made just before what reads it first, unless the operands that would have to live longer for that
are as large together. Small results stay where the mirrored text has them, but for one that reads a
large array after all others: where it comes before them, as the sums of ``d`` here, one of those
may write over the array.

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
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, Value
from autodiff_compiler.ir.rewrite import map_regions, uses_of
from autodiff_compiler.ir.types import size_of
from autodiff_compiler.passes.core.traversal import with_body


def sink_large_results(function: Function) -> Function:
    """``function`` with large results just before what needs them."""
    return with_body(function, _late(function.body))


def _late(region: Region) -> Region:
    ops = [map_regions(op, _late) for op in region.ops]
    last = _last_readings(ops, region.yields)
    done: list[Op] = []
    waiting: dict[Value, Op] = {}

    def make(op: Op) -> None:
        """Places ``op``, and before it what waits for it, however long a row that is."""
        begun = [(op, iter(uses_of(op)))]
        while begun:
            now, reads = begun[-1]
            value = next((value for value in reads if value in waiting), None)
            if value is None:
                done.append(now)
                begun.pop()
            else:
                maker = waiting.pop(value)
                begun.append((maker, iter(uses_of(maker))))

    for place, op in enumerate(ops):
        if _may_wait(op) and _longer(op, last, place) < size_of(op.result.type):
            waiting[op.result] = op
        else:
            make(op)
    for value in region.yields:
        if value in waiting:
            make(waiting.pop(value))
    done = _sooner(done, region.yields)
    if all(a is b for a, b in zip(done, region.ops)):
        return region
    return Region(region.params, tuple(done), region.yields)


def _sooner(ops: list[Op], yields: tuple[AnyOperand, ...]) -> list[Op]:
    """``ops``, with what makes little of an array that nothing else reads later before the first
    operation that makes such an array of it."""
    last = _last_readings(ops, yields)
    done: list[Op] = []
    made: dict[Value, int] = {}
    for place, op in enumerate(ops):
        read = [value for value in uses_of(op) if size_of(value.type) >= costs().large_bytes]
        at = len(done)
        ours = read and all(value in made and last[value] <= place for value in read)
        if ours and _reduces(op, read):
            ready = max((made.get(value, -1) for value in uses_of(op)), default=-1) + 1
            found = (k for k in range(ready, at) if _may_wait(done[k]) and _takes(done[k], read))
            at = next(found, at)
        done.insert(at, op)
        for moved in range(at, len(done)):
            made.update((result, moved) for result in done[moved].results)
    return done


def _reduces(op: Op, arrays: Sequence[Value]) -> bool:
    """Whether ``op`` adds up large ``arrays``, or the like, to what is small beside them."""
    plain = len(op.results) == 1 and not (op.regions or op.opdef.effect)
    if not plain or "axes" not in op.attrs:
        return False
    largest = max(size_of(value.type) for value in arrays)
    return costs().reduced_first_ratio * size_of(op.result.type) <= largest


def _takes(op: Op, arrays: Sequence[Value]) -> bool:
    """Whether ``op`` makes an array of the type of one of ``arrays``, which it reads."""
    return any(value in op.operands and value.type == op.result.type for value in arrays)


def _may_wait(op: Op) -> bool:
    # Nothing that may fail: what a text prints before that would be printed first no more.
    plain = op.opdef.kind == "elementwise" and not op.opdef.effect or op.name == "matmul"
    return plain and len(op.results) == 1 and size_of(op.result.type) >= costs().large_bytes


def _longer(op: Op, last: Mapping[Value, int], place: int) -> int:
    """The bytes of the large operands that nothing reads after ``place``."""
    sizes = [size_of(value.type) for value in uses_of(op) if last[value] <= place]
    return sum(size for size in sizes if size >= costs().large_bytes)


def _last_readings(ops: list[Op], yields: tuple[AnyOperand, ...]) -> dict[Value, int]:
    """Where each value, or a view of it, is read for the last time."""
    whole: dict[Value, Value] = {}
    last: dict[Value, int] = {}
    for place, op in enumerate(ops):
        for value in uses_of(op):
            last[whole.get(value, value)] = place
            if op.opdef.views and op.operands[0] is value:
                whole.update((result, whole.get(value, value)) for result in op.results)
    for returned in yields:
        if isinstance(returned, Value):
            last[whole.get(returned, returned)] = len(ops)
    return {**last, **{view: last[value] for view, value in whole.items()}}
