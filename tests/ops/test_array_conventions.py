"""What the array names promise beyond their values: ties, repetitions, ends, dtypes, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import nn, ops
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ops import operations as P


def tensor(*values: Any, dtype: Any = np.float32) -> Tensor:
    return Tensor(np.array(values, dtype))


class SetRows(nn.Cell):
    def construct(self, x, i, v):
        y = x * 1.0
        y[i] = v
        return y * y


class SetColumns(nn.Cell):
    def construct(self, x, i, v):
        y = x * 1.0
        y[:, i] = v
        return y


class SortAndWeigh(nn.Cell):
    def construct(self, x, w):
        return ops.sort(x)[0] * w


class TopTwo(nn.Cell):
    def construct(self, x, w):
        return ops.topk(x, 2)[0] * w


class GatherLast(nn.Cell):
    def construct(self, x, i):
        return ops.gather(x, i, 0)


class ScatterUpdate(nn.Cell):
    def construct(self, x, i, u):
        return ops.TensorScatterUpdate()(x, i, u)


class ScatterMax(nn.Cell):
    def construct(self, x, i, u):
        return ops.tensor_scatter_max(x, i, u)


class ScatterMul(nn.Cell):
    def construct(self, x, i, u):
        return ops.tensor_scatter_mul(x, i, u)


class SegmentMax(nn.Cell):
    def construct(self, x, i):
        return ops.unsorted_segment_max(x, i, 2)


class NanToNum(nn.Cell):
    def construct(self, x):
        return ops.nan_to_num(x, 0.0)


class Renorm(nn.Cell):
    def construct(self, x):
        return ops.renorm(x, 2, 0, 1.0)


class BoolIndex(nn.Cell):
    def construct(self, x, b):
        return x[True] * 2.0, x[b] * 3.0, x[1] * 5.0, x[False]


class OneHotValues(nn.Cell):
    def construct(self, i, on, off):
        return ops.one_hot(i, 3, on, off)


class Distinct(nn.Cell):
    def construct(self, x):
        return ops.unique(x)[0]


I64 = np.int64

#: A Cell, its inputs, and the gradients of the sum of its outputs by calculus.
GRADIENTS: list[tuple[Callable[[], Any], tuple[Tensor, ...], list[Any]]] = [
    # of two values for one row the last is kept, and only it has a gradient
    (SetRows, (tensor([1, 2], [3, 4]), tensor(0, 0, dtype=I64), tensor([5, 6], [7, 8])),
     [[[0, 0], [6, 8]], None, [[0, 0], [14, 16]]]),
    (SetRows, (tensor([1, 2], [3, 4]), tensor(0, 0, dtype=I64), Tensor(np.float32(5))),
     [[[0, 0], [6, 8]], None, 20]),
    (SetColumns, (tensor([1, 2, 3]), tensor(2, 0, 2, -1, dtype=I64), tensor([5, 6, 7, 8])),
     [[[0, 1, 0]], None, [[0, 1, 0, 1]]]),
    (ScatterUpdate, (tensor(1, 2, 3), tensor([1], [1], [2], dtype=np.int32), tensor(4, 5, 6)),
     [[1, 0, 0], None, [0, 1, 1]]),
    # equal elements keep their order; of equal elements topk prefers the first
    (SortAndWeigh, (tensor(2, 1, 2), tensor(1, 2, 3)), [[2, 1, 3], [1, 2, 2]]),
    (TopTwo, (tensor(2, 1, 2, 2), tensor(1, 2)), [[1, 0, 2, 0], [2, 2]]),
    # a negative position counts from the end
    (GatherLast, (tensor([1, 2], [3, 4]), tensor(-1, -1, 0, dtype=I64)),
     [[[1, 1], [2, 2]], None]),
    # a tie shares the gradient, between the updates and what stood there
    (ScatterMax, (tensor(2, 0), tensor([0], [0], [1], dtype=np.int32), tensor(2, 1, 3)),
     [[0.5, 0], None, [0.5, 0, 1]]),
    (SegmentMax, (tensor(2, 2, 1), tensor(0, 0, 0, dtype=np.int32)), [[0.5, 0.5, 0], None]),
    # the product of the others is exact where factors are zero
    (ScatterMul, (tensor(3, 5), tensor([0], [0], [1], dtype=np.int32), tensor(0, 2, 0)),
     [[0, 0], None, [6, 0, 5]]),
    (NanToNum, (tensor(np.nan, np.inf, 1),), [[0, 0, 1]]),
    (Renorm, (tensor([0, 0], [0.3, 0.4]),), [[[1, 1], [1, 1]]]),
    (BoolIndex, (tensor(1, 2), Tensor(True)), [[5, 10], None]),
    (BoolIndex, (tensor(1, 2), Tensor(False)), [[2, 7], None]),
    (OneHotValues, (tensor(0, 7, -1, dtype=np.int32), Tensor(np.float32(1)),
                    Tensor(np.float32(0))), [None, 1, 8]),
    (Distinct, (tensor(2, 1, 2),), [[1, 1, 0]]),
]  # fmt: skip


@pytest.mark.parametrize("position", range(len(GRADIENTS)))
def test_gradient_is_that_of_calculus(position: int) -> None:
    make, inputs, expected = GRADIENTS[position]
    found = ops.GradOperation(get_all=True)(make())(*inputs)
    for given, got, want in zip(inputs, found, expected, strict=True):
        assert got.dtype == given.dtype
        assert got.shape == given.shape
        if want is not None:
            assert np.allclose(got.asnumpy(), want), got


#: Names whose results are positions, bools or constants: call, value, dtype.
PLAIN: list[tuple[Callable[[], Any], Any, str]] = [
    (lambda: ops.argsort(tensor(3, 1, 2)), [1, 2, 0], "int32"),
    (lambda: ops.argsort(tensor(3, 1, 3, 2), descending=True), [0, 2, 3, 1], "int32"),
    (lambda: ops.sort(tensor(3, 0, 3, dtype=np.uint8), descending=True)[1], [0, 2, 1], "int32"),
    (lambda: ops.sort(tensor(True, False, dtype=bool), descending=True)[0], [1, 0], "bool"),
    (lambda: ops.sort(tensor(1, np.nan, 2))[0], [1, 2, np.nan], "float32"),
    (lambda: ops.topk(tensor(1, 4, 4, 2), 3)[1], [1, 2, 3], "int32"),
    (lambda: P.TopK()(tensor(1, 4, 2, dtype=np.int32), 2)[0], [4, 2], "int32"),
    (lambda: ops.searchsorted(tensor(1, 2, 2, 3), tensor([2, 4])), [[1, 4]], "int64"),
    (lambda: ops.searchsorted(tensor(1, 2, 2, 3), tensor(2), right=True), [3], "int64"),
    (lambda: ops.searchsorted(tensor([1, 3], [2, 4]), tensor([3, 0], [3, 9]), out_int32=True),
     [[1, 0], [1, 2]], "int32"),
    (lambda: P.SearchSorted(mstype.int32, right=True)(tensor(1, 2), tensor(1)), [1], "int32"),
    (lambda: ops.nonzero(tensor([0, 1], [2, 0])), [[0, 1], [1, 0]], "int64"),
    (lambda: ops.nonzero(tensor([0, 1], [2, 0]), as_tuple=True)[1], [1, 0], "int64"),
    (lambda: ops.argwhere(tensor(0, 3)), [[1]], "int64"),
    (lambda: ops.count_nonzero(tensor([0, 1], [2, 3]), 1), [1, 2], "int32"),
    (lambda: ops.unique(tensor(5, 2, 5, dtype=I64))[1], [0, 1, 0], "int64"),
    (lambda: ops.unique(tensor(5, 2, 5))[1], [0, 1, 0], "int32"),
    (lambda: ops.intopk(tensor([1, 3, 2], [1, 3, 2]), tensor(2, 0, dtype=np.int32), 2),
     [True, False], "bool"),
    (lambda: ops.one_hot(tensor(1, 0, dtype=np.int32), 2), [[0, 1], [1, 0]], "int64"),
    (lambda: ops.one_hot(tensor(1, dtype=np.int32), 2, 1.0, 0.5, 0), [[0.5], [1]], "float32"),
    (lambda: P.OneHot(0)(tensor(1, 0, dtype=np.int32), 2, Tensor(3.0), Tensor(0.0)),
     [[0, 3], [3, 0]], "float32"),
    (lambda: ops.sequence_mask(tensor(1, 2, dtype=np.int32)), [[1, 0], [1, 1]], "bool"),
    (lambda: ops.heaviside(tensor(-1, 0, 2), tensor(0.5)), [0, 0.5, 1], "float32"),
    (lambda: ops.tril_indices(3, 3, -1), [[1, 2, 2], [0, 0, 1]], "int64"),
    (lambda: ops.triu_indices(2, 3, 1), [[0, 0, 1], [1, 2, 2]], "int64"),
    (lambda: P.TrilIndices(2, 2, dtype=mstype.int32)(), [[0, 1, 1], [0, 0, 1]], "int32"),
    (lambda: ops.range(1, 7, 2), [1, 3, 5], "int64"),
    (lambda: P.Range()(Tensor(0.0), Tensor(1.0), Tensor(0.5)), [0, 0.5], "float32"),
    (lambda: ops.fill(mstype.float32, (2,), 3), [3, 3], "float32"),
    (lambda: P.FillV2()((2,), Tensor(3, mstype.int32)), [3, 3], "int32"),
    (lambda: Tensor([1.5, 2.5]).fill(4), [4, 4], "float32"),
    (lambda: Tensor([1, 2]).new_full((1,), 7), [7], "int64"),
    (lambda: tensor(0, 1, 1, dtype=I64).choose([[1, 2, 3], [4, 5, 6]]), [1, 5, 6], "int64"),
    (lambda: tensor(1, 2).itemset(1, 9), [1, 9], "float32"),
    (lambda: tensor([1, 2], [3, 4]).itemset((1, 0), 9), [[1, 2], [9, 4]], "float32"),
]  # fmt: skip


@pytest.mark.parametrize("position", range(len(PLAIN)))
def test_positions_and_constants(position: int) -> None:
    call, expected, dtype = PLAIN[position]
    got = call().asnumpy()
    assert got.dtype.name == dtype
    assert got.shape == np.shape(expected)
    assert np.allclose(got, expected, equal_nan=True)


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: ops.topk(tensor(1, 2), 3), ShapeError, "3 elements are requested"),
    (lambda: ops.pad(tensor(1, 2), (2, 0), mode="reflect"), ShapeError, "too short"),
    (lambda: ops.pad(tensor(1, 2), (1,)), ShapeError, "pair"),
    (lambda: ops.pad(tensor(1, 2), (1, 1), mode="mirror"), ValueError, "mode must be"),
    (lambda: ops.tril(tensor(1, 2)), ShapeError, "matrix"),
    (lambda: ops.einsum("ij,kj", tensor([1, 2]), tensor([1, 2, 3])), ShapeError, "sizes 2 and 3"),
    (lambda: ops.einsum("ij->ik", tensor([1, 2])), ShapeError, "must contain only letters"),
    (lambda: ops.einsum("i,j", tensor(1, 2)), ShapeError, "2 operands, not 1"),
    (lambda: ops.cross(tensor(1, 2), tensor(1, 2)), ShapeError, "size 3"),
    (lambda: ops.repeat_interleave(tensor(1, 2), (1, 2, 3), 0), ShapeError, "one for each"),
    (lambda: ops.tile(tensor(1, 2), ("a",)), TypeError, "as an integer"),
    (lambda: ops.meshgrid(tensor(1, 2), indexing="ji"), ValueError, "indexing"),
    (lambda: ops.gather(tensor(1, 2), tensor(0, 7, dtype=I64), 0), IndexError, "out of bounds"),
    (lambda: tensor(1, 2).sum_to_size(1, 2, 2), ShapeError, "cannot be summed"),
]  # fmt: skip


@pytest.mark.parametrize("position", range(len(REFUSED)))
def test_what_does_not_fit_is_refused_in_words(position: int) -> None:
    call, error, words = REFUSED[position]
    with pytest.raises(error, match=words):
        call()
