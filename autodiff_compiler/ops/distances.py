"""Distances between points, in the norm of order p. Between equal points they have slope 0."""

from __future__ import annotations

import math
from typing import Any

from autodiff_compiler.errors import ShapeError
from autodiff_compiler.operators import indexing, reduce
from autodiff_compiler.ops import arrays, elementwise, layout, reductions
from autodiff_compiler.ops._shapes import dtype_of, in_dtype, known_rank, known_sizes


def cdist(x1: Any, x2: Any, p: float = 2.0) -> Any:
    """The distances from each point of x1, whose last axis holds its place, to each of x2."""
    if min(known_rank(x1, "cdist"), known_rank(x2, "cdist")) < 2:
        raise ShapeError("cdist needs points in rows", "use ops.dist for two points")
    return _size(arrays.expand_dims(x1, -2) - arrays.expand_dims(x2, -3), p)


def pdist(input: Any, p: float = 2.0) -> Any:
    """The distances between the rows of a matrix, each pair once: (0, 1), (0, 2) … (1, 2) …"""
    if known_rank(input, "pdist") != 2:
        raise ShapeError("pdist needs a matrix whose rows are points")
    (count, _) = known_sizes(input, "pdist")
    pairs = layout.triu_indices(count, count, 1)
    first, second = (
        indexing.index(input, indexing.index(pairs, index=(k,)), index=(("op", 0),)) for k in (0, 1)
    )
    return _size(first - second, p)


def dist(input: Any, other: Any, p: float = 2) -> Any:
    """The norm of the difference of two tensors, of all elements at once."""
    return _size(arrays.ravel(input - other), p)


def _size(x: Any, p: float) -> Any:
    """The norm of order p along the last axis."""
    if p < 0:
        raise ValueError(f"the order of a norm is at least 0, not {p}")
    parts = elementwise.abs(x)
    if p == math.inf:
        return reduce.max(parts, axes=(-1,), keepdims=False, first=True)
    if p == 0:
        return in_dtype(reductions.sum(elementwise.sign(parts), -1), dtype_of(x))
    if p == 1:
        return reductions.sum(parts, -1)
    total = reductions.sum(elementwise.square(x) if p == 2 else _power(parts, p), -1)
    zero = elementwise.equal(total, 0.0)
    safe = elementwise.where(zero, 1.0, total)
    root = elementwise.sqrt(safe) if p == 2 else elementwise.pow(safe, 1.0 / p)
    return elementwise.where(zero, 0.0, root)


def _power(parts: Any, p: float) -> Any:
    """Powers of numbers that are not negative; below order 1 the slope at 0 is left out."""
    if p >= 1:
        return elementwise.pow(parts, p)
    zero = elementwise.equal(parts, 0.0)
    return elementwise.where(zero, 0.0, elementwise.pow(elementwise.where(zero, 1.0, parts), p))


__all__ = ["cdist", "dist", "pdist"]
