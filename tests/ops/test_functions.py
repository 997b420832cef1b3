"""MindSpore's names, at once on tensors and while compiling on values: one text, one answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import ops
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import DTypeError, ShapeError
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import Function, Region, Value
from autodiff_compiler.ir.types import INT, array
from autodiff_compiler.ops import operations as P
from autodiff_compiler.ops.methods.table import METHODS, PROPERTIES
from autodiff_compiler.span import NOWHERE
from tests.interpreter import run

A = np.array([[1.0, -2.0, 3.0], [-4.0, 5.0, 6.0]], np.float32)
S = np.exp(A) / np.exp(A).sum(axis=1, keepdims=True)

#: A call, and what NumPy says it is.
CALLS: list[tuple[Callable[[Any], Any], Any]] = [
    (lambda x: ops.add(x, 1), A + 1),
    (lambda x: ops.sub(1, x), 1 - A),
    (lambda x: ops.div(x, 2, rounding_mode="floor"), np.floor(A / 2)),
    (lambda x: ops.relu(x), A * (A > 0)),
    (lambda x: ops.sigmoid(x), 1 / (1 + np.exp(-A))),
    (lambda x: ops.softplus(x), np.log(1 + np.exp(A))),
    (lambda x: ops.where(x > 0, x, 0.0), A * (A > 0)),
    (lambda x: ops.clamp(x, -1.0, 2.0), np.clip(A, -1, 2)),
    (lambda x: ops.clamp(x, max=2.0), np.minimum(A, 2)),
    (lambda x: ops.sum(x, dim=-1, keepdim=True), A.sum(axis=1, keepdims=True)),
    (lambda x: ops.reduce_sum(x), A.sum()),
    (lambda x: ops.mean(x, (0, 1)), A.mean()),
    (lambda x: ops.softmax(x), S),
    (lambda x: ops.log_softmax(x), np.log(S)),
    (lambda x: ops.logsumexp(x, 0), np.log(np.exp(A).sum(axis=0))),
    (lambda x: ops.max(x, 1)[0], A.max(axis=1)),
    (lambda x: ops.max(x, 1)[1], np.array([2, 2])),
    (lambda x: ops.std(x, 0, ddof=1), A.std(axis=0, ddof=1)),
    (lambda x: ops.cumsum(x, 1), np.array([[1, -1, 2], [-4, 1, 7]])),
    (lambda x: ops.reshape(x, (3, -1)), A.reshape(3, 2)),
    (lambda x: ops.transpose(x, (1, 0)), A.T),
    (lambda x: ops.swapaxes(x, 0, -1), A.T),
    (lambda x: ops.expand_dims(x, -1), A[:, :, None]),
    (lambda x: ops.squeeze(ops.expand_dims(x, 0)), A),
    (lambda x: ops.flatten(ops.reshape(x, (1, 2, 3))), A.reshape(1, 6)),
    (lambda x: ops.concat((x, x), axis=-1), np.hstack([A, A])),
    (lambda x: ops.stack([x, x], 1), np.stack([A, A], 1)),
    (lambda x: ops.split(x, 2, axis=1)[1], A[:, 2:]),
    (lambda x: ops.split(x, [1, 2], axis=1)[1], A[:, 1:]),
    (lambda x: ops.chunk(x, 2, axis=0)[1], A[1:]),
    (lambda x: ops.unbind(x, 1)[2], A[:, 2]),
    (lambda x: ops.broadcast_to(x, (2, -1, -1)), np.broadcast_to(A, (2, 2, 3))),
    (lambda x: ops.matmul(x, ops.t(x)), A @ A.T),
    (lambda x: ops.zeros_like(x), A * 0),
    (lambda x: ops.cast(x, mstype.int32), A.astype(np.int32)),
    (lambda x: ops.arange(1, 7, 2), np.array([1, 3, 5])),
    (lambda x: ops.eye(2, 3), np.eye(2, 3)),
    (lambda x: ops.full((2,), 1.5), np.array([1.5, 1.5])),
    (lambda x: ops.stop_gradient([x, 1.0])[0], A),
    (lambda x: P.MatMul(transpose_b=True)(x, x), A @ A.T),
    (lambda x: P.MatMul(transpose_a=True)(x, x), A.T @ A),
    (lambda x: P.ReduceSum(keep_dims=True)(x, 0), A.sum(axis=0, keepdims=True)),
    (lambda x: P.ReduceSum(skip_mode=True)(x), A),
    (lambda x: P.ReduceMax()(x, (0, 1)), A.max()),
    (lambda x: P.Concat(1)((x, x)), np.hstack([A, A])),
    (lambda x: P.Stack()([x, x]), np.stack([A, A])),
    (lambda x: P.ArgMaxWithValue(axis=1)(x)[0], np.array([2, 2])),
    (lambda x: P.CumSum(exclusive=True, reverse=True)(x, 1), np.array([[1, 3, 0], [11, 6, 0]])),
    (lambda x: P.Squeeze(0)(P.ExpandDims()(x, 0)), A),
    (lambda x: METHODS["max"](x), A.max()),
    (lambda x: METHODS["max"](x, axis=0), A.max(axis=0)),
    (lambda x: METHODS["sum"](x, axis=0), A.sum(axis=0)),
    (lambda x: METHODS["reshape"](x, 3, 2), A.reshape(3, 2)),
    (lambda x: METHODS["transpose"](x, 1, 0), A.T),
    (lambda x: PROPERTIES["T"](x), A.T),
]


@pytest.mark.parametrize("position", range(len(CALLS)))
def test_tensors_and_values_give_what_numpy_says(position: int) -> None:
    call, expected = CALLS[position]
    now = call(Tensor(A))
    x, builder = Value(array("float32", 2, 3), "x"), Builder()
    with builder:
        out = call(x)
    region = Region((x,), tuple(builder.ops), (out,))
    (later,) = run(Function("f", region, NOWHERE), [A])
    for got in (now.asnumpy(), later):
        assert np.shape(got) == np.shape(expected)
        assert np.allclose(got, expected, atol=1e-6)
        floats = np.asarray(expected).dtype.kind == "f"
        assert not floats or np.asarray(got).dtype == np.float32


def test_methods_of_tensor_are_the_table() -> None:
    x = Tensor(A)
    assert float(x.max()) == 6.0
    assert x.sum(axis=1).shape == (2,)
    assert x.reshape(3, 2).shape == x.view((3, 2)).shape == (3, 2)
    assert x.var().asnumpy() == pytest.approx(A.var())
    assert Tensor([1, 2, 4]).var().asnumpy() == pytest.approx(np.var([1, 2, 4], ddof=1))
    assert x.transpose().shape == (3, 2)
    assert Tensor([1, 0]).mean().asnumpy() == 0


def test_a_shape_known_at_run_time_is_an_operand() -> None:
    x, n, builder = Value(array("float32", None, 3), "x"), Value(INT, "n"), Builder()
    with builder:
        out = ops.reshape(x, (n, -1, 3))
    assert str(out.type) == "f32[?,?,3]"
    region = Region((x, n), tuple(builder.ops), (out,))
    (got,) = run(Function("f", region, NOWHERE), [np.zeros((4, 3), np.float32), 2])
    assert got.shape == (2, 2, 3)


def test_refusals_speak_of_shapes_and_dtypes() -> None:
    x = Tensor(A)
    with pytest.raises(ShapeError, match="3 is not 2"):
        ops.matmul(x, x)
    with pytest.raises(DTypeError, match="one dtype"):
        ops.matmul(x, Tensor(A.T.astype(np.float64)))
    with pytest.raises(ShapeError, match="out of range"):
        ops.sum(x, 2)
    with pytest.raises(ShapeError, match="cannot be reshaped"):
        ops.reshape(x, (4, 2))
    with pytest.raises(ShapeError, match="sizes of all other axes"):
        ops.concat((x, Tensor(A.T)), 0)
