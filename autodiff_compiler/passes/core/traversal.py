"""The walks that passes share: over the operations of a region, over all that a function calls."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from typing import TypeVar

from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, Value
from autodiff_compiler.ir.rewrite import map_functions, map_regions, substitute_operands

Visit = Callable[[Op], Sequence[Op]]
Site = TypeVar("Site")


def rewrite_region(region: Region, mapping: dict[Value, AnyOperand], visit: Visit) -> Region:
    """``region`` with each operation replaced by what ``visit`` makes of it.

    ``visit`` sees operands already replaced, and enters in ``mapping`` what stands for a result
    that it drops.
    """
    ops: list[Op] = []
    for op in region.ops:
        operands = substitute_operands(op.operands, mapping)
        now = op if operands is op.operands else replace(op, operands=operands)
        if op.regions:
            now = map_regions(now, lambda inner: rewrite_region(inner, mapping, visit))
        ops += visit(now)
    yields = substitute_operands(region.yields, mapping)
    same = len(ops) == len(region.ops) and all(a is b for a, b in zip(ops, region.ops))
    return region if same and yields is region.yields else Region(region.params, tuple(ops), yields)


def rewrite_named(function: Function, names: Container[str], visit: Visit) -> Function:
    """``function`` with each operation that has one of ``names`` replaced as ``visit`` says."""
    if not any(name in names for name in function.op_names):
        return function
    return with_body(
        function,
        rewrite_region(function.body, {}, lambda op: visit(op) if op.name in names else (op,)),
    )


def with_body(function: Function, body: Region) -> Function:
    """``function`` with another body; the same object where it is the same body."""
    return function if body is function.body else replace(function, body=body)


def on_all_functions(function: Function, change: Callable[[Function], Function]) -> Function:
    """``function`` and all that it calls, changed once."""
    done: dict[Function, Function] = {}
    for each in (*function.callees(), function):
        now = each
        if any(done[callee] is not callee for callee in each.called):
            now = with_body(each, map_functions(each.body, lambda callee: done[callee]))
        done[each] = change(now)
    return done[function]


def apply_where_safe(
    function: Function,
    sites: Sequence[Site],
    together: Callable[[Function, Sequence[Site]], Function | None],
    alone: Callable[[Function, Site], Function],
) -> Function:
    """``function`` changed at those of ``sites`` where it may be: ``together`` changes it at all of
    some sites, and is None where that is not right; then each half of them is looked at by itself,
    and of one that is left ``alone`` makes what it can. What is right at some sites is right at
    each of them, so that few that are not cost few trials."""
    if not sites:
        return function
    changed = together(function, sites)
    if changed is not None:
        return changed
    if len(sites) == 1:
        return alone(function, sites[0])
    middle = len(sites) // 2
    for half in (sites[:middle], sites[middle:]):
        function = apply_where_safe(function, half, together, alone)
    return function
