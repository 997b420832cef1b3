"""Saves the items that backward reads of arrays that change in a loop, not the arrays."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Any

from autodiff_compiler.ir.nodes import Op, Region, Value
from autodiff_compiler.ir.rewrite import free_values, substitute, uses_of
from autodiff_compiler.operators.core.index_patterns import FULL


def save_elements_only(
    forward: Sequence[Op], backward: Region, changing: Container[Any], unset: Container[Value]
) -> tuple[Sequence[Op], Region]:
    """Moves ``x[i]`` to the end of forward if backward reads only items and the shape of ``x``.

    Only for ``changing`` arrays: else all of ``x`` would be saved in each iteration.
    """
    results = {result for op in backward.ops for result in op.results}
    reads = [op for op in backward.ops if _reads_item(op, changing)]
    reads = [op for op in reads if results.isdisjoint(uses_of(op))]
    others = tuple(op for op in backward.ops if op not in reads and op.name != "shape_of")
    needed = free_values(Region((), others, backward.yields))
    moved: dict[Any, Op] = {}
    mapping: dict[Value, Value] = {}
    for op in reads:
        if op.operands[0] not in needed and op.operands[0] not in unset:
            first = moved.setdefault((op.operands, op.attrs["index"]), op)
            mapping[op.result] = first.result
    if not moved:
        return forward, backward
    left = tuple(op for op in backward.ops if mapping.keys().isdisjoint(op.results))
    backward = substitute(Region(backward.params, left, backward.yields), mapping)
    return [*forward, *(replace(op, role="primal") for op in moved.values())], backward


def _reads_item(op: Op, changing: Container[Any]) -> bool:
    return (
        op.name == "index"
        and op.operands[0] in changing
        and any(item not in (FULL, "...") for item in op.attrs["index"])
    )


__all__ = ["save_elements_only"]
