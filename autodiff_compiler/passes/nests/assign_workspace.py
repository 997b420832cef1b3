"""Workspace assignment: large temporaries that are not live at once share the bytes of a workspace.

Small temporaries are on the stack, the smallest first. Others get offsets in the workspace: the
largest first, each at the lowest place that no array occupies while it is live.

>>> from autodiff_compiler.cost_model import changed_costs
>>> from autodiff_compiler.loop_ir.printer import print_nests
>>> from autodiff_compiler.loop_ir.reader import read_nests
>>> before = read_nests('''
... func f(x: f64[2]) -> (y: f64[2]) {
...   alloc a: f64[100]
...   alloc b: f64[100]
...   alloc c: f64[100]
...   alloc small: f64[2]
...   a[99] = x[0]
...   b[99] = a[99]
...   c[99] = b[99]
...   small[0] = c[99]
...   y[0] = small[0]
... }
... ''')
>>> with changed_costs(stack_bytes=64):
...     print(print_nests(assign_workspace(before)), end="")
func f(x: f64[2]) -> (y: f64[2]) {
  alloc a: f64[100] at 0
  alloc b: f64[100] at 832
  alloc c: f64[100] at 0
  alloc small: f64[2]
  a[99] = x[0]
  b[99] = a[99]
  c[99] = b[99]
  small[0] = c[99]
  y[0] = small[0]
}
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.types import item_size
from autodiff_compiler.loop_ir.accesses import local_buffers
from autodiff_compiler.loop_ir.liveness import live_ranges
from autodiff_compiler.loop_ir.nodes import Buffer, Function
from autodiff_compiler.loop_ir.verifier import ALIGNMENT


def assign_workspace(function: Function) -> Function:
    """Assigns the large temporaries of a function to the workspace."""
    local = [
        each for each in local_buffers(function) if each.role == "temporary" and not each.grows
    ]
    large = _beyond_stack(local)
    offsets: dict[Buffer, int] = {}
    if large:
        ranges = live_ranges(function)
        for buffer in sorted(large, key=_bytes, reverse=True):
            start, end = ranges[buffer]
            meets = [
                (offset, offset + _bytes(other))
                for other, offset in offsets.items()
                if ranges[other][0] <= end and start <= ranges[other][1]
            ]
            offsets[buffer] = _lowest_gap(_bytes(buffer), meets)
    listed = tuple((each, offsets[each]) for each in local if each in offsets)
    return function if listed == function.offsets else replace(function, offsets=listed)


def _bytes(buffer: Buffer) -> int:
    """Returns the size of a buffer up to the next boundary."""
    return -(-buffer.size * item_size(buffer.dtype) // ALIGNMENT) * ALIGNMENT


def _beyond_stack(buffers: Iterable[Buffer]) -> list[Buffer]:
    """Returns the buffers that remain when the smallest ones are on the stack."""
    left, large = costs().stack_bytes, []
    for buffer in sorted(buffers, key=_bytes):
        left -= _bytes(buffer)
        if left < 0:
            large.append(buffer)
    return large


def _lowest_gap(size: int, occupied: Iterable[tuple[int, int]]) -> int:
    """Returns the lowest place for ``size`` bytes beside those that are occupied."""
    place = 0
    for start, end in sorted(occupied):
        if place + size <= start:
            break
        place = max(place, end)
    return place
