"""In-place scans: computes cumulative sums in their operands, on reversed views too.

``cumsum`` reads each element before it writes there, so that it may overwrite its operand. A scan
from the end, as backward needs it, works on reversed views. It reads and writes the array in
reverse, and the result needs no flip.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: f32[99999]) -> (f32[99999]) {
...   %a: f32[99999] = sin %x
...   %r: f32[99999] = flip %a {axes=(0,)}
...   %c: f32[99999] = cumsum %r {axis=0}
...   %y: f32[99999] = flip %c {axes=(0,)}
...   return %y
... }
... ''')
>>> print(print_function(scan_in_place(before)), end='')
func @f(%x: f32[99999]) -> (f32[99999]) {
  %a: f32[99999] = sin %x
  %r: f32[99999] = flip %a {axes=(0,)}
  %c: f32[99999] = compute_into %r, %r {text='{0}.cumsum(axis=0, out={1})'}
  %y: f32[99999] = after_write %c, %a
  return %y
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.aliasing import memory_effect
from autodiff_compiler.ir.nodes import Function, Op, Region
from autodiff_compiler.ir.rewrite import (
    Producers,
    UseCounts,
    map_regions,
    producers_among,
    use_counts,
)
from autodiff_compiler.ir.types import size_of
from autodiff_compiler.operators.destination_ops import after_write, compute_into
from autodiff_compiler.passes.core.traversal import with_body, with_ops
from autodiff_compiler.passes.destinations.template_calls import calls_of


def scan_in_place(function: Function) -> Function:
    """Computes large cumulative sums from the end in their operands."""
    if "flip" not in function.op_names:
        return function
    return with_body(function, _rewrite_region(function.body, use_counts(function.body)))


def _rewrite_region(region: Region, uses: UseCounts) -> Region:
    makers = producers_among(region.ops)
    replacements: dict[Op, Op] = {}
    for flip_back in region.ops:
        chain = _reversed_scan(flip_back, makers)
        if chain is None or any(uses.get(op.result) != 1 for op in chain):
            continue
        array, reverse, scan = (op.result for op in chain)
        attrs = {"text": calls_of(chain[2])[0].text}
        replacements[chain[2]] = replace(
            chain[2], opdef=compute_into, operands=(reverse, reverse), attrs=attrs
        )
        replacements[flip_back] = replace(
            flip_back, opdef=after_write, operands=(scan, array), attrs={}
        )
    return with_ops(
        region,
        [
            replacements.get(op) or map_regions(op, lambda inner: _rewrite_region(inner, uses))
            for op in region.ops
        ],
    )


def _reversed_scan(flip_back: Op, makers: Producers) -> Sequence[Op] | None:
    """Returns the operations before ``flip_back``: the array's, its reversal and the scan.

    Returns None unless the array is large and belongs to this function.
    """
    chain: list[Op] = []
    op = flip_back
    for _ in range(3):
        maker = makers.get(op.operands[0]) if op.operands else None
        if maker is None or len(maker.results) != 1:
            return None
        chain.append(maker)
        op = maker
    scan, flip, allocation = chain
    fits = flip_back.name == flip.name == "flip" and flip_back.attrs == flip.attrs
    fits = fits and allocation.result.type == flip_back.result.type
    fits = fits and size_of(flip_back.result.type) >= costs().large_bytes
    calls = calls_of(scan) if fits and len(scan.operands) == 1 else ()
    owned = (
        not allocation.regions
        and memory_effect(allocation).owns
        and not memory_effect(allocation).shares
    )
    return (allocation, flip, scan) if owned and len(calls) == 1 and calls[0].is_scan else None


__all__ = ["scan_in_place"]
