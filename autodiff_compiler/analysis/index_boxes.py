"""Dependence test on strided boxes: the positions that an index selects, axis by axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

from autodiff_compiler.ir.nodes import Op
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core.index_patterns import FULL, Index


def written_box(op: Op) -> list[range] | None:
    """Returns the positions that ``op`` writes to, per axis; None unless its index is static."""
    type_ = op.result.type
    operands = 1 if op.name == "scatter" else 2
    if len(op.operands) != operands or not isinstance(type_, ArrayType) or not type_.is_static:
        return None
    return index_box(op.attrs["index"], type_.static_shape)


def index_box(index: Index, shape: Sequence[int]) -> list[range] | None:
    """Returns the positions of ``x[index]`` in an array of this shape, per axis.

    None unless the index consists of numbers and slices."""
    box: list[range] = []
    for item, size in zip(padded_index(index, len(shape)), shape):
        if type(item) is int:
            item = ("slice", item % size, item % size + 1, None) if size else item
        if not isinstance(item, tuple) or item[0] != "slice":
            return None
        if any(isinstance(bound, tuple) for bound in item[1:]):
            return None
        box.append(range(*slice(*item[1:]).indices(size)))
    return box if len(box) == len(padded_index(index, len(shape))) else None


def padded_index(index: Index, rank: int) -> Index:
    """Completes ``index`` with full slices, to one item for each axis."""
    at = index.index("...") if "..." in index else len(index)
    return (*index[:at], *[FULL] * (rank - len(index) + (at < len(index))), *index[at + 1 :])


def are_disjoint(one: Sequence[range], other: Sequence[range]) -> bool:
    """True if two boxes provably have no position in common."""
    return any(map(_are_disjoint_on_axis, one, other))


def _are_disjoint_on_axis(a: range, b: range) -> bool:
    """True if one range ends before the other begins, or if their steps interleave."""
    if not a or not b:
        return True
    separate = max(a[0], a[-1]) < min(b[0], b[-1]) or max(b[0], b[-1]) < min(a[0], a[-1])
    return separate or (a.start - b.start) % math.gcd(a.step, b.step) != 0
