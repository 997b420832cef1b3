"""Distances between points, in the norm of order p. Between equal points they have slope 0."""

from __future__ import annotations

__macro__ = True

from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.operators.indexing import indexing
from autodiff_compiler.ops.core.shape_queries import known_rank, known_sizes
from autodiff_compiler.ops.functions import arrays, rearrange, scans_and_norms


def cdist(x1: Any, x2: Any, p: float = 2.0) -> Tensor:
    """Returns the distances from each point of x1, whose last axis holds its place, to each of
    x2."""
    if min(known_rank(x1, "cdist"), known_rank(x2, "cdist")) < 2:
        raise ShapeError("cdist needs points in rows", "use ops.dist for two points")
    return _size(arrays.expand_dims(x1, -2) - arrays.expand_dims(x2, -3), p)


def pdist(input: Any, p: float = 2.0) -> Tensor:
    """Returns the distances between the rows of a matrix, each pair once: (0, 1), (0, 2) … (1,
    2) …"""
    if known_rank(input, "pdist") != 2:
        raise ShapeError("pdist needs a matrix whose rows are points")
    (count, _) = known_sizes(input, "pdist")
    pairs = rearrange.triu_indices(count, count, 1)
    first, second = (
        indexing.index(input, indexing.index(pairs, index=(k,)), index=(("op", 0),)) for k in (0, 1)
    )
    return _size(first - second, p)


def dist(input: Any, other: Any, p: float = 2) -> Tensor:
    """Returns the norm of the difference of two tensors, of all elements at once."""
    return _size(arrays.ravel(input - other), p)


def _size(x: Any, p: float) -> Any:
    """Returns the norm of order p along the last axis."""
    if p < 0:
        raise ValueError(f"the order of a norm must be at least 0, not {p}")
    return scans_and_norms.vector_norm(x, p, -1, False)


__all__ = ["cdist", "dist", "pdist"]
