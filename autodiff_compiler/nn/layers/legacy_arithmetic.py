"""Layers of plain arithmetic from before MindSpore 2, which public networks still use."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_compiler import ops
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.tensor import Tensor


class MatMul(Cell):
    """Matrix product with broadcasting: x1 @ x2, either of them transposed first if asked for."""

    def __init__(self, transpose_x1: bool = False, transpose_x2: bool = False):
        super().__init__()
        self.transpose_x1, self.transpose_x2 = transpose_x1, transpose_x2

    def construct(self, x1: Any, x2: Any) -> Tensor:
        x1 = ops.swapaxes(x1, -2, -1) if self.transpose_x1 and x1.ndim > 1 else x1
        x2 = ops.swapaxes(x2, -2, -1) if self.transpose_x2 and x2.ndim > 1 else x2
        return ops.matmul(x1, x2)


class _AxisReduction(Cell):
    """Base of reductions over axes; over all axes if none is named."""

    def __init__(self, axis: Any = (), keep_dims: bool = False):
        super().__init__()
        self.axis, self.keep_dims = () if axis is None else axis, bool(keep_dims)


class Moments(_AxisReduction):
    """Mean and variance over axes; the variance is divided by the count."""

    def __init__(self, axis: Any = None, keep_dims: bool | None = None):
        super().__init__(axis, keep_dims or False)

    def construct(self, x: Any) -> Any:
        mean = ops.ReduceMean(keep_dims=True)(x, self.axis)
        variance = ops.ReduceMean(self.keep_dims)(ops.square(x - mean), self.axis)
        return ops.ReduceMean(self.keep_dims)(x, self.axis), variance


class Norm(_AxisReduction):
    """Euclidean norm over axes."""

    def construct(self, x: Any) -> Tensor:
        return ops.sqrt(ops.ReduceSum(self.keep_dims)(ops.square(x), self.axis))


class OneHot(Cell):
    """Indices as one-hot vectors: ``on_value`` at the index, ``off_value`` elsewhere."""

    def __init__(
        self,
        axis: int = -1,
        depth: int = 1,
        on_value: float = 1.0,
        off_value: float = 0.0,
        dtype: mstype.Type = mstype.float32,
    ):
        super().__init__()
        self.axis, self.depth, self.dtype = axis, depth, dtype
        self.on_value, self.off_value = Tensor(on_value, dtype), Tensor(off_value, dtype)

    def construct(self, indices: Any) -> Tensor:
        return ops.one_hot(indices, self.depth, self.on_value, self.off_value, self.axis)


class Range(Cell):
    """The numbers from ``start`` up to ``limit``: int32, or float32 if an argument is a float."""

    def __init__(self, start: float, limit: float | None = None, delta: float = 1):
        super().__init__()
        if delta == 0:
            raise ValueError("For 'Range', the 'delta' can not be zero.")
        numbers: np.ndarray = np.arange(start, limit, delta)
        is_integer = numbers.dtype != np.float64
        self.result_tensor = Tensor(numbers, mstype.int32 if is_integer else mstype.float32)

    def construct(self) -> Tensor:
        return self.result_tensor


class ReduceLogSumExp(_AxisReduction):
    """Logarithm of the sum of exponentials over axes."""

    def construct(self, x: Any) -> Tensor:
        axes = tuple(range(x.ndim)) if self.axis == () else self.axis
        return ops.logsumexp(x, axes, self.keep_dims)


class Tril(Cell):
    """Lower triangle: elements above the k-th diagonal are zero."""

    def construct(self, x: Any, k: int = 0) -> Tensor:
        return ops.tril(x, k)


class Triu(Cell):
    """Upper triangle: elements below the k-th diagonal are zero."""

    def construct(self, x: Any, k: int = 0) -> Tensor:
        return ops.triu(x, k)


__all__ = [
    "MatMul",
    "Moments",
    "Norm",
    "OneHot",
    "Range",
    "ReduceLogSumExp",
    "Tril",
    "Triu",
]
