"""What is differentiated once more, or works on large arrays, is one text, where that makes none of
it longer.

A derivative calls derivatives of what its primal called, and each of those has derivatives in its
turn: with every order there are more and smaller functions, and what one of them computes for
another no pass can see, leave out or put where it is dead. So before a function is differentiated,
calls of derivatives, and calls in them, are written out, if nothing else calls the callee. What is
called from two places stays a function, and so does a text of the user's in another, unless most of
what it computes stands there already: that of a network whose slopes were written out, when the
residual of an equation asks for its values at the same points.

One that works on large arrays does not stay: what it makes could not lie in an array that its
caller is lent, nor be written over there, and what costs time at that size is memory
(``assign_buffers``). What the turns of a loop make counts together, if one of them makes enough to
be the row of a tape: written out, its tapes are arrays, and products with weights are one for all
turns.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.opdef import OPERATORS
>>> from autodiff_compiler.ir.parser import parse_functions
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_functions('''
... # role='gradient', order=1
... func @u_grad(%a: float) -> (float) {
...   %d_a: float = mul 2.0, %a
...   return %d_a
... }
... func @u(%a: float) -> (float) {
...   %b: float = mul %a, %a
...   return %b
... }
... func @f(%x: float) -> (float) {
...   %y!: float = call @u(%x)
...   %d_x!: float = call @u_grad(%y)
...   return %d_x
... }
... ''', OPERATORS)["f"]
>>> print(print_function(inline_single_use(before)), end='')
func @f(%x: float) -> (float) {
  %y!: float = call @u(%x)
  %d_x!: float = mul 2.0, %y
  return %d_x
}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from autodiff_compiler.analysis.trip_count import trip_count
from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.effects import Effects
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import substitute_operands
from autodiff_compiler.ir.types import size_of
from autodiff_compiler.passes.core.traversal import on_all_functions
from autodiff_compiler.passes.simplify.cse import cse
from autodiff_compiler.passes.simplify.inline_calls import inline_calls


def inline_single_use(
    function: Function, may: Callable[[Op], bool] = lambda call: True
) -> Function:
    """``function`` and all that it calls, with such calls written out as ``may`` be."""
    every = (*function.callees(), function)
    times = _times(every)
    large = {each.name for each in every if _is_large(each, times[each.name])}
    # By name: it stays when a body changes. Two callees of one name count as called twice.
    places = Counter(
        named.name for each in every for op in each.body.walk() for named in op.functions
    )

    def written_out(caller: Function) -> Function:
        def should(call: Op) -> bool:
            callee = call.attrs["callee"]
            wanted = caller.order or callee.order or callee.name in large
            return bool(wanted) and places[callee.name] == 1 and may(call)

        return inline_calls(caller, should)

    if large or any(each.order for each in every):
        function = on_all_functions(function, written_out)
    return on_all_functions(function, lambda each: _shared(each, may))


def _shared(caller: Function, may: Callable[[Op], bool]) -> Function:
    """``caller``, if it holds a derivative, with those calls written out of which it computes the
    greater part anyway."""
    if "call" not in caller.op_names or all(op.role == "primal" for op in caller.body.ops):
        return caller
    known, share = _Known(caller), costs().computed_anyway_share
    written_out = inline_calls(caller, lambda call: may(call) and known.share_of(call) > share)
    # What that brings in calls functions in its turn, of what is known once it is merged.
    return caller if written_out is caller else _shared(cse(written_out), may)


class _Known:
    """What a function computes: how much of what it calls is that once more?"""

    def __init__(self, caller: Function) -> None:
        effects, ops = Effects(), caller.body.ops
        self.ops = {op.value_key: op for op in ops if not (op.regions or effects.has(op))}

    def share_of(self, call: Op) -> float:
        """The part of the operations of ``call`` that are known, calls in it included."""
        found: list[bool] = []
        self.enter(call, call.operands, found)
        return sum(found) / max(len(found), 1)

    def enter(
        self, call: Op, operands: Sequence[AnyOperand], found: list[bool]
    ) -> list[AnyOperand]:
        """What ``call`` of ``operands`` returns; notes in ``found`` which operations are known."""
        callee = call.attrs["callee"]
        values: dict[Value, AnyOperand] = dict(zip(callee.params, operands))
        for op in callee.body.ops:
            mapped = substitute_operands(op.operands, values)
            if "callee" in op.attrs:
                values.update(zip(op.results, self.enter(op, mapped, found)))
                continue
            earlier = self.ops.get(replace(op, operands=mapped).value_key)
            if earlier is not None:
                values.update(zip(op.results, earlier.results))
            if not op.opdef.views:
                found.append(earlier is not None)
        return list(substitute_operands(callee.returns, values))


def _times(every: Sequence[Function]) -> Counter[str]:
    """How often each function runs, by name, if the last one runs once: as often as loops of known
    length say. ``every`` has callees first."""
    times = Counter({every[-1].name: 1})
    for caller in reversed(every):
        for op, turns in _ops(caller.body, times[caller.name]):
            times.update({callee.name: turns for callee in op.functions})
    return times


def _ops(region: Region, times: int) -> Iterator[tuple[Op, int]]:
    """The operations of ``region``, which runs so many times, with how often each of them does."""
    for op in region.ops:
        yield op, times
        turns = (trip_count(Loop(op)) or 1) if op.name == "for" else 1
        for inner in op.regions:
            yield from _ops(inner, times * turns)


def _is_large(function: Function, times: int) -> bool:
    """Whether ``function``, which runs so many times, makes large arrays, or rows of large ones."""
    return any(
        size * turns >= costs().large_bytes
        for op, turns in _ops(function.body, times)
        for size in (size_of(value.type) for value in op.results)
        if size >= min(costs().large_bytes, costs().tape_row_bytes)
    )


__all__ = ["inline_single_use"]
