"""Inlines functions that have a single caller and are differentiated, or work on large arrays.

A derivative calls the derivatives of the callees of its primal, and these are differentiated again.
With every order there are more and smaller functions, and no pass sees across their calls. Before a
function is differentiated, the pass inlines calls of derivatives, and calls in them. Nothing else
may call the callee. A function that is called from two places stays, and so does a user's function
in another one. The exception is a callee most of whose operations the caller computes already. An
example is a network whose derivatives were inlined. The residual of an equation may need its values
at the same points.

A function that works on large arrays is inlined, too. Its results could not lie in a buffer of its
caller, nor be overwritten there. At that size memory takes the time (``assign_buffers``). If an
iteration makes enough for the row of a tape, the results of all iterations count together. After
inlining, the tapes are arrays, and the products with weights are one product for all iterations.

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
    """Inlines such calls in ``function`` and in every function that it calls.

    ``may`` says which calls may be inlined at all.
    """
    every = (*function.callees(), function)
    times = _run_counts(every)
    large = {each.name for each in every if _is_large(each, times[each.name])}
    # By name, which stays when a body changes. Two callees of one name count as called twice.
    call_counts = Counter(
        named.name for each in every for op in each.body.walk() for named in op.functions
    )

    def inlined(caller: Function) -> Function:
        def should(call: Op) -> bool:
            callee = call.attrs["callee"]
            wanted = caller.order or callee.order or callee.name in large
            return bool(wanted) and call_counts[callee.name] == 1 and may(call)

        return inline_calls(caller, should)

    if large or any(each.order for each in every):
        function = on_all_functions(function, inlined)
    return on_all_functions(function, lambda each: _inline_known(each, may))


def _inline_known(caller: Function, may: Callable[[Op], bool]) -> Function:
    """Inlines the calls in a derivative whose operations it mostly computes already."""
    if "call" not in caller.op_names or all(op.role == "primal" for op in caller.body.ops):
        return caller
    available, share = _AvailableValues(caller), costs().computed_anyway_fraction
    inlined = inline_calls(
        caller, lambda call: may(call) and available.available_fraction(call) > share
    )
    # The inlined bodies have calls, too, whose operands are known once they are merged.
    return caller if inlined is caller else _inline_known(cse(inlined), may)


class _AvailableValues:
    """The operations that a function computes, and their share in a call."""

    def __init__(self, caller: Function) -> None:
        effects, ops = Effects(), caller.body.ops
        self.ops = {op.value_key: op for op in ops if not (op.regions or effects.has(op))}

    def available_fraction(self, call: Op) -> float:
        """Returns the share of available operations in ``call``, calls in it included."""
        availability: list[bool] = []
        self.enter(call, call.operands, availability)
        return sum(availability) / max(len(availability), 1)

    def enter(
        self, call: Op, operands: Sequence[AnyOperand], availability: list[bool]
    ) -> list[AnyOperand]:
        """Returns the results of ``call`` on ``operands``.

        Appends to ``availability`` for each operation whether it is available.
        """
        callee = call.attrs["callee"]
        values: dict[Value, AnyOperand] = dict(zip(callee.params, operands))
        for op in callee.body.ops:
            mapped = substitute_operands(op.operands, values)
            if "callee" in op.attrs:
                values.update(zip(op.results, self.enter(op, mapped, availability)))
                continue
            earlier = self.ops.get(replace(op, operands=mapped).value_key)
            if earlier is not None:
                values.update(zip(op.results, earlier.results))
            if not op.opdef.views:
                availability.append(earlier is not None)
        return list(substitute_operands(callee.returns, values))


def _run_counts(every: Sequence[Function]) -> Counter[str]:
    """Returns how often each function runs, by name, if the last one runs once.

    Loops of known length count. Callees come first in ``every``.
    """
    times = Counter({every[-1].name: 1})
    for caller in reversed(every):
        for op, runs in _ops(caller.body, times[caller.name]):
            times.update({callee.name: runs for callee in op.functions})
    return times


def _ops(region: Region, times: int) -> Iterator[tuple[Op, int]]:
    """Yields the operations of ``region``, which runs ``times`` times, with their run counts."""
    for op in region.ops:
        yield op, times
        iterations = (trip_count(Loop(op)) or 1) if op.name == "for" else 1
        for inner in op.regions:
            yield from _ops(inner, times * iterations)


def _is_large(function: Function, times: int) -> bool:
    """True if ``function``, which runs ``times`` times, makes large arrays or rows of such."""
    return any(
        size * runs >= costs().large_bytes
        for op, runs in _ops(function.body, times)
        for size in (size_of(value.type) for value in op.results)
        if size >= min(costs().large_bytes, costs().tape_row_bytes)
    )


__all__ = ["inline_single_use"]
