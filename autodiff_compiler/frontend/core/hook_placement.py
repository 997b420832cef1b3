"""Placement of hooks in a function: right behind the operations that make their values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from autodiff_compiler.ir.nodes import AnyOperand, Op, Region, Value
from autodiff_compiler.ir.rewrite import fresh, map_regions, substitute


def place_hooks(hooks: Sequence[tuple[Value, Op]], body: Region) -> Region:
    """Returns ``body`` with the hooks of each value right behind the operation that makes it.

    The forward pass goes through several hooks of one value from the last to the first.
    """
    chains: dict[Value, list[Op]] = {}
    last: dict[Value, AnyOperand] = {}
    for value, op in reversed(hooks):
        before = last.get(value, value)
        passed = fresh(value)
        operands = tuple(before if x is value else x for x in op.operands)
        chains.setdefault(value, []).append(replace(op, operands=operands, results=(passed,)))
        last[value] = passed
    if not chains:
        return body

    def visit(region: Region, values: Iterable[Value]) -> Region:
        ops = [hook for value in values for hook in chains.get(value, ())]
        for op in region.ops:
            ops.append(map_regions(op, lambda inner: visit(inner, inner.params)))
            ops += [hook for result in op.results for hook in chains.get(result, ())]
        return Region(region.params, tuple(ops), region.yields)

    inside = {v for op in body.walk() for r in op.regions for v in r.params}
    inside.update(result for op in body.walk() for result in op.results)
    return visit(substitute(body, last), [value for value in chains if value not in inside])
