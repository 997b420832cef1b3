"""The forward walk that local passes share: one look at each operation, inner regions first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, Value
from autodiff_compiler.ir.rewrite import map_regions, substitute_operands

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
        ops += visit(map_regions(now, lambda inner: sweep(inner, mapping, visit)))
    yields = substitute_operands(region.yields, mapping)
    same = len(ops) == len(region.ops) and all(a is b for a, b in zip(ops, region.ops))
    return region if same and yields is region.yields else Region(region.params, tuple(ops), yields)


def with_body(function: Function, body: Region) -> Function:
    """``function`` with another body; the same object where it is the same body."""
    return function if body is function.body else replace(function, body=body)
