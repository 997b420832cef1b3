"""Padding of arrays."""

from __future__ import annotations

__macro__ = True

from operator import index
from typing import Any

import numpy as np

from autodiff_compiler import ops
from autodiff_compiler.common.tensor import Tensor, tensor
from autodiff_compiler.operators.core import structure
from autodiff_compiler.ops.core.shape_queries import dtype_of, known_rank, known_sizes
from autodiff_compiler.ops.functions.gather_scatter import item_at


def pad(array: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Tensor:
    """Pads each axis at both ends: with a constant, the edge, a reflection, or periodically."""
    rank = known_rank(array, "pad")
    pairs = [(index(before), index(after)) for before, after in _pairs(pad_width, rank)]
    if any(min(pair) < 0 for pair in pairs):
        raise ValueError(f"'pad_width' must not be negative, but got {pad_width}.")
    for axis, (before, after) in enumerate(pairs):
        row = ops.moveaxis(array, axis, 0)
        if not any(pairs[axis]):
            continue
        if mode == "constant":
            ends = _pairs(constant_values, rank)[axis]
            parts = [_constant_rows(row, before, ends[0]), row, _constant_rows(row, after, ends[1])]
        elif mode in ("edge", "reflect", "symmetric", "wrap"):
            size = known_sizes(row, "pad")[0]
            indices = [_source_index(k, size, mode) for k in range(-before, size + after)]
            parts = [item_at(row, tensor(indices))]
        else:
            raise TypeError(
                f"np.pad with mode={mode!r} is not supported; use constant, edge, reflect, "
                "symmetric or wrap"
            )
        array = ops.moveaxis(ops.concat(parts) if len(parts) > 1 else parts[0], 0, axis)
    return array


def _pairs(given: Any, rank: int) -> list[tuple[Any, Any]]:
    """Returns a pair for each axis, from one number, one pair or all pairs."""
    if not isinstance(given, (tuple, list)):
        return [(given, given)] * rank
    if not isinstance(given[0], (tuple, list)):
        pair = (given[0], given[-1])
        return [pair] * rank
    pairs = [(pair[0], pair[-1]) for pair in given]
    return pairs * (rank if len(given) == 1 else 1)


def _constant_rows(row: Any, count: int, value: Any) -> Any:
    """Returns ``count`` rows of one value, in the dtype and shape of those of ``row``."""
    dtype = dtype_of(row)
    if isinstance(value, (int, float, complex)):
        value = value if dtype is None else np.asarray(value).astype(dtype).item()
        return ops.full((count, *ops.shape(row)[1:]), value, dtype=dtype or "float64")
    value = structure.cast(value, dtype=dtype) if dtype else value
    return ops.broadcast_to(value, (count, *ops.shape(row)[1:]))


def _source_index(k: int, size: int, mode: str) -> int:
    """Returns the index in [0, size) of the element that is padded at index ``k``."""
    if mode == "edge":
        return min(max(k, 0), size - 1)
    if mode == "wrap":
        return k % size
    period = 2 * size if mode == "symmetric" else max(2 * size - 2, 1)
    k %= period
    return k if k < size else period - k - (mode == "symmetric")


__all__ = ["pad"]
