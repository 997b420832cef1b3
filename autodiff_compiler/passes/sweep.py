"""The walks that passes share: over the operations of a region, over all that a function calls."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import replace

from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, Value
from autodiff_compiler.ir.rewrite import map_functions, map_regions, substitute_operands

Visit = Callable[[Op], Sequence[Op]]


def sweep(region: Region, mapping: dict[Value, AnyOperand], visit: Visit) -> Region:
    """``region`` with each operation replaced by what ``visit`` makes of it.

    ``visit`` sees operands already replaced, and enters in ``mapping`` what stands for a result
    that it drops.
    """
    ops: list[Op] = []
    for op in region.ops:
        operands = substitute_operands(op.operands, mapping)
        now = op if operands is op.operands else replace(op, operands=operands)
        if op.regions:
            now = map_regions(now, lambda inner: sweep(inner, mapping, visit))
        ops += visit(now)
    yields = substitute_operands(region.yields, mapping)
    same = len(ops) == len(region.ops) and all(a is b for a, b in zip(ops, region.ops))
    return region if same and yields is region.yields else Region(region.params, tuple(ops), yields)


def sweep_named(function: Function, names: Container[str], visit: Visit) -> Function:
    """``function`` with each operation that has one of ``names`` replaced as ``visit`` says."""
    if not any(name in names for name in function.op_names):
        return function
    return with_body(
        function, sweep(function.body, {}, lambda op: visit(op) if op.name in names else (op,))
    )


def with_body(function: Function, body: Region) -> Function:
    """``function`` with another body; the same object where it is the same body."""
    return function if body is function.body else replace(function, body=body)


def everywhere(function: Function, change: Callable[[Function], Function]) -> Function:
    """``function`` and all that it calls, changed once."""
    done: dict[Function, Function] = {}
    for each in (*function.callees(), function):
        now = each
        if any(done[callee] is not callee for callee in each.called):
            now = with_body(each, map_functions(each.body, lambda callee: done[callee]))
        done[each] = change(now)
    return done[function]
