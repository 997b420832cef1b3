"""Running sums are put where what they add up was, also those from the end.

``cumsum`` reads each element before it writes there, so it may work where its operand is. From the
end, as backward needs them, it is told to by views: the array is read and written in reverse, and
nothing has to be turned back.

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
  %c: f32[99999] = into %r, %r {text='{0}.cumsum(axis=0, out={1})'}
  %y: f32[99999] = filled %c, %a
  return %y
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.aliasing import memory_effect
from autodiff_compiler.ir.nodes import Function, Op, Region, Value
from autodiff_compiler.ir.rewrite import (
    Producers,
    UseCounts,
    map_regions,
    producers_among,
    use_counts,
)
from autodiff_compiler.ir.types import size_of
from autodiff_compiler.operators.destination_ops import filled, into
from autodiff_compiler.passes.core.traversal import with_body
from autodiff_compiler.passes.destinations.template_calls import calls_of


def scan_in_place(function: Function) -> Function:
    """``function`` with large running sums from the end made in their operands."""
    if "flip" not in function.op_names:
        return function
    return with_body(function, _turned(function.body, use_counts(function.body)))


def _turned(region: Region, uses: UseCounts) -> Region:
    makers = producers_among(region.ops)
    instead: dict[Op, Op] = {}
    for back in region.ops:
        chain = _chain(back, makers)
        if chain is None or any(uses.get(op.result) != 1 for op in chain):
            continue
        array, there, run = (op.result for op in chain)
        text = calls_of(chain[2])[0].text
        instead[chain[2]] = replace(
            chain[2], opdef=into, operands=(there, there), attrs={"text": text}
        )
        instead[back] = replace(back, opdef=filled, operands=(run, array), attrs={})
    ops = [instead.get(op) or map_regions(op, lambda inner: _turned(inner, uses))
           for op in region.ops]  # fmt: skip
    same = all(a is b for a, b in zip(ops, region.ops))
    return region if same else Region(region.params, tuple(ops), region.yields)


def _chain(back: Op, makers: Producers) -> Sequence[Op] | None:
    """What makes a large array of this function's own, the view of it in reverse, and what runs
    along that, where ``back`` turns it round again."""
    found: list[Op] = []
    op = back
    for _ in range(3):
        before = op.operands[0] if op.operands else None
        maker = makers.get(before) if isinstance(before, Value) else None
        if maker is None or len(maker.results) != 1:
            return None
        found.append(maker)
        op = maker
    run, there, made = found
    fits = back.name == there.name == "flip" and back.attrs == there.attrs
    fits = fits and made.result.type == back.result.type
    fits = fits and size_of(back.result.type) >= costs().large_bytes
    calls = calls_of(run) if fits and len(run.operands) == 1 else ()
    owned = not made.regions and memory_effect(made).owns and not memory_effect(made).shares
    return (made, there, run) if owned and len(calls) == 1 and calls[0].is_scan else None


__all__ = ["scan_in_place"]
