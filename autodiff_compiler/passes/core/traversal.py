"""Traversals of the operations of a region and of all functions that a function calls."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from operator import is_
from typing import TypeVar

from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import map_functions, map_regions, substitute_operands

#: Returns the operations that replace one operation.
Visit = Callable[[Op], Sequence[Op]]
Site = TypeVar("Site")


def rewrite_region(region: Region, mapping: dict[Value, AnyOperand], visit: Visit) -> Region:
    """Replaces each operation of ``region`` by the operations that ``visit`` returns for it.

    ``visit`` sees operands that are replaced already. For a result that it drops, it enters the
    replacement in ``mapping``.
    """
    ops: list[Op] = []
    for op in region.ops:
        operands = substitute_operands(op.operands, mapping)
        now = op if operands is op.operands else replace(op, operands=operands)
        if op.regions:
            now = map_regions(now, lambda inner: rewrite_region(inner, mapping, visit))
        ops += visit(now)
    return with_ops(region, ops, substitute_operands(region.yields, mapping))


def rewrite_named(function: Function, names: Container[str], visit: Visit) -> Function:
    """Rewrites the operations of ``function`` that have one of ``names``."""
    if not any(name in names for name in function.op_names):
        return function
    return with_body(
        function,
        rewrite_region(function.body, {}, lambda op: visit(op) if op.name in names else (op,)),
    )


def with_body(function: Function, body: Region) -> Function:
    """Returns ``function`` with another body; the same object if the body is the same."""
    return function if body is function.body else replace(function, body=body)


def with_ops(
    region: Region, ops: Sequence[Op], yields: tuple[AnyOperand, ...] | None = None
) -> Region:
    """Returns ``region`` with other operations; the same object if all of them are the same."""
    yields = region.yields if yields is None else yields
    same = len(ops) == len(region.ops) and all(map(is_, ops, region.ops))
    return region if same and yields is region.yields else Region(region.params, tuple(ops), yields)


def with_inits(op: Op, inits: Mapping[int, AnyOperand]) -> Op:
    """Returns a loop with other initial values for the carries of these numbers."""
    loop, operands = Loop(op), list(op.operands)
    for number, init in inits.items():
        operands[len(loop.bounds) + number] = init
    return replace(op, operands=tuple(operands))


def on_all_functions(function: Function, change: Callable[[Function], Function]) -> Function:
    """Changes ``function`` and every function that it calls, callees first, each once."""
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
    change_all: Callable[[Function, Sequence[Site]], Function | None],
    change_one: Callable[[Function, Site], Function],
) -> Function:
    """Changes ``function`` at the sites where that is safe, found by bisection.

    ``change_all`` changes it at all given sites, or returns None where that is not safe. Then each
    half of the sites is tried by itself, down to single sites, which ``change_one`` handles. A
    change that is safe at several sites is safe at each, so few unsafe sites cost few trials.
    """
    if not sites:
        return function
    changed = change_all(function, sites)
    if changed is not None:
        return changed
    if len(sites) == 1:
        return change_one(function, sites[0])
    middle = len(sites) // 2
    for part in (sites[:middle], sites[middle:]):
        function = apply_where_safe(function, part, change_all, change_one)
    return function
