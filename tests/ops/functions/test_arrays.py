"""The array names: values as NumPy has them, at once and compiled, and gradients by differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import ops
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ops import operations as P
from autodiff_compiler.ops.methods.table import METHODS
from autodiff_compiler.testing.samples import real
from tests.operators.test_records import (
    Program,
    Typing,
    exact,
    flat,
    gradient,
    taken,
    type_of_sample,
    unsized,
    weights,
)

X, R, Q, C = real(2, 3), real(3, seed=2), real(3, 3, seed=4), real(2, 3, 4, seed=5)
I0, I1 = np.array([1, 0, 1]), np.array([[0, 2], [1, 1]])
MASK = np.array([[True, False, True], [False, True, True]])
SIZES, ANY = True, False  #: Whether a call must know the sizes of its operands.

Call = tuple[Callable[..., Any], tuple[np.ndarray, ...], Any, bool]


def method(name: str) -> Callable[..., Any]:
    return METHODS[name]


def placed(shape: tuple[int, ...], index: Any, values: Any, start: Any = 0.0) -> np.ndarray:
    out = np.full(shape, 0.0) + start
    out[index] = values
    return out


def added(start: np.ndarray, index: Any, values: Any) -> np.ndarray:
    out = start.copy()
    np.add.at(out, index, values)
    return out


U = real(2, 2, seed=8)
ROWS = np.array([[1], [1]])  # two updates for one row
V = real(2, 3, seed=9)
C_ONE = np.array([[[1], [1]]])  # shorter than C, and it has size 1 where C has not

CALLS: list[Call] = [
    # parts
    (lambda x, i: ops.gather(x, i, 0), (X, I0), X[I0], ANY),
    (lambda x, i: ops.gather(x, i, -1), (X, np.array([-1, 0])), X[:, [-1, 0]], ANY),
    (lambda x, i: ops.gather(x, i, 1, 1), (C, I1), C[np.arange(2)[:, None], I1], ANY),
    (lambda x, i: ops.gather(x, i, 2, 1), (C, I1),
     np.stack([C[b][:, I1[b]] for b in range(2)]), ANY),
    (lambda x, i: ops.gather_d(x, 1, i), (X, I1), np.take_along_axis(X, I1, 1), ANY),
    (lambda x, i: ops.gather_d(x, 1, i), (C, C_ONE), C[:1, [1, 1], :1], ANY),
    (lambda x, i: ops.gather_nd(x, i), (X, np.array([[0, 1], [1, -1]])), X[[0, 1], [1, -1]], SIZES),
    (lambda x, i: ops.index_select(x, 1, i), (X, I0), X[:, I0], ANY),
    (lambda i, u: ops.scatter_nd(i, u, (3, 3)), (ROWS, V),
     added(np.zeros((3, 3)), [1, 1], V), SIZES),
    (lambda x, i, u: P.TensorScatterUpdate()(x, i, u), (Q, ROWS, V),
     placed((3, 3), 1, V[1], start=Q), SIZES),
    (lambda x, i, u: ops.tensor_scatter_add(x, i, u), (Q, ROWS, V), added(Q, [1, 1], V), SIZES),
    (lambda x, i, u: ops.tensor_scatter_sub(x, i, u), (Q, ROWS, V), added(Q, [1, 1], -V), SIZES),
    (lambda x, i, u: ops.tensor_scatter_mul(x, i, u), (Q, ROWS, V),
     placed((3, 3), 1, Q[1] * V[0] * V[1], start=Q), SIZES),
    (lambda x, i, u: ops.tensor_scatter_div(x, i, u), (Q, ROWS, V),
     placed((3, 3), 1, Q[1] / V[0] / V[1], start=Q), SIZES),
    (lambda x, i, u: ops.tensor_scatter_max(x, i, u), (Q, ROWS, V),
     placed((3, 3), 1, np.maximum(Q[1], V.max(axis=0)), start=Q), SIZES),
    (lambda x, i, u: ops.tensor_scatter_min(x, i, u), (Q, ROWS, V),
     placed((3, 3), 1, np.minimum(Q[1], V.min(axis=0)), start=Q), SIZES),
    (lambda x, i, u: ops.tensor_scatter_elements(x, i, u, 1), (X, I1, U),
     placed((2, 3), (0, [0, 2]), U[0], start=placed((2, 3), (1, 1), U[1, 1], start=X)), ANY),
    (lambda x, i, u: ops.tensor_scatter_elements(x, i, u, axis=-1, reduction="add"), (X, I1, U),
     added(X, (np.arange(2)[:, None], I1), U), ANY),
    (lambda x, i, u: ops.scatter(x, 1, i, u), (X, np.array([[2], [0]]), U),
     placed((2, 3), ([0, 1], [2, 0]), U[:, 0], start=X), ANY),
    (lambda x, i, u: ops.index_add(x, i, u, 0), (X, I0, Q), added(X, I0, Q), ANY),
    (lambda x, i: ops.index_fill(x, 1, i, 0.5), (X, np.array([0, 2])),
     placed((2, 3), (slice(None), [0, 2]), 0.5, start=X), ANY),
    (lambda x: ops.narrow(x, 1, 1, 2), (X,), X[:, 1:], ANY),
    (lambda x, v: ops.select_scatter(x, v, 0, 1), (X, R), placed((2, 3), 1, R, start=X), ANY),
    (lambda x, v: ops.slice_scatter(x, v, 1, 0, 3, 2), (X, U),
     placed((2, 3), (slice(None), slice(0, 3, 2)), U, start=X), ANY),
    (lambda x: ops.slice(x, (0, 1), (2, -1)), (X,), X[:, 1:], ANY),
    (lambda x: ops.strided_slice(x, (0, 2), (2, 0), (1, -1)), (X,), X[0:2, 2:0:-1], ANY),
    (lambda x: ops.strided_slice(x, (0, 1, 0), (0, 0, 1), (1, 1, 1), begin_mask=4,
                                 ellipsis_mask=1, shrink_axis_mask=2), (C,), C[..., 1, :1], ANY),
    (lambda x, i: ops.unsorted_segment_sum(x, i, 3), (Q, np.array([2, -1, 2])),
     np.stack([0 * R, 0 * R, Q[0] + Q[2]]), ANY),
    (lambda x, i: ops.unsorted_segment_prod(x, i, 2), (Q, np.array([1, 1, 1])),
     np.stack([0 * R + 1, Q.prod(axis=0)]), ANY),
    (lambda x, i: ops.unsorted_segment_max(x, i, 2), (Q, I0),
     np.stack([Q[1], np.maximum(Q[0], Q[2])]), ANY),
    (lambda x, i: ops.unsorted_segment_min(x, i, 2), (Q, I0),
     np.stack([Q[1], np.minimum(Q[0], Q[2])]), ANY),
    # masks
    (lambda x, m: ops.masked_select(x, m), (X, MASK), X[MASK], ANY),
    (lambda x, m: ops.masked_select(x, m), (C, MASK[:, :, None]),
     C[np.broadcast_to(MASK[:, :, None], C.shape)], ANY),
    (lambda x, m, s: method("masked_scatter")(x, m, s), (X, MASK, Q),
     placed((2, 3), MASK, Q.ravel()[:4], start=X), ANY),
    (lambda x: ops.nan_to_num(x), (X,), X, ANY),
    (lambda x: ops.nansum(x, 1), (X,), X.sum(axis=1), ANY),
    (lambda x: ops.nanmean(x, 0), (X,), X.mean(axis=0), ANY),
    (lambda x: ops.renorm(x, 2, 0, 1.5), (X,),
     X * np.minimum(1, 1.5 / np.linalg.norm(X, axis=1, keepdims=True)), ANY),
    (lambda x, n: ops.reverse_sequence(x, n, 1), (X, np.array([2, 3])),
     np.stack([X[0, [1, 0, 2]], X[1, ::-1]]), ANY),
    (lambda x, n: ops.reverse_sequence(x, n, 0, 2), (C, np.array([1, 2, 1, 2])),
     np.stack([C[::-1, :, k] if k % 2 else C[:, :, k] for k in range(4)], 2), ANY),
    (lambda x, i: x * ops.one_hot(i, 3, 2.0, -1.0), (Q, np.array([2, 0, 7])),
     Q * np.array([[-1, -1, 2], [2, -1, -1], [-1, -1, -1.0]]), ANY),
    (lambda x, n: x * ops.cast(ops.sequence_mask(n, 3), mstype.float32), (X, np.array([1, 3])),
     X * np.array([[1, 0, 0], [1, 1, 1]]), ANY),
    (lambda x: method("fill_diagonal")(x, 0.5), (X,),
     placed((2, 3), ([0, 1], [0, 1]), 0.5, start=X), SIZES),
    # order
    (lambda x: ops.sort(x, 0)[0], (Q,), np.sort(Q, 0), ANY),
    (lambda x: ops.sort(x, descending=True)[0], (Q,), np.sort(Q)[:, ::-1], ANY),
    (lambda x: ops.topk(x, 2)[0], (Q,), np.sort(Q)[:, :0:-1], ANY),
    (lambda x: ops.topk(x, 2, 0, False)[0], (Q,), np.sort(Q, 0)[:2], ANY),
    (lambda x: ops.msort(x), (Q,), np.sort(Q, 0), ANY),
    (lambda x: method("kthvalue")(x, 2)[0], (Q,), np.sort(Q)[:, 1], ANY),
    (lambda x: ops.unique(x)[0], (Q,), Q.ravel()[np.sort(np.unique(Q, return_index=True)[1])], ANY),
    # layout
    (lambda x: ops.tile(x, (2, 1, 2)), (X,), np.tile(X, (2, 1, 2)), ANY),
    (lambda x: ops.tile(x, (2,)), (X,), np.tile(X, 2), ANY),
    (lambda x: ops.repeat_interleave(x, 2), (X,), np.repeat(X, 2), ANY),
    (lambda x: ops.repeat_interleave(ops.narrow(x, 0, 2, 0), 2, 0), (X,), X[:0], ANY),
    (lambda x: ops.repeat_interleave(x, [1, 0, 2], 1), (X,), np.repeat(X, [1, 0, 2], 1), ANY),
    (lambda x, n: ops.repeat_interleave(x, n, 0), (X, np.array([0, 3])), X[[1, 1, 1]], ANY),
    (lambda x: ops.roll(x, 2), (X,), np.roll(X, 2), ANY),
    (lambda x: ops.roll(x, (1, -1), (0, 1)), (X,), np.roll(X, (1, -1), (0, 1)), ANY),
    (lambda x: ops.flipud(ops.fliplr(x)), (X,), X[::-1, ::-1], ANY),
    *[(lambda x, k=k: ops.rot90(x, k, (0, 1)), (X,), np.rot90(X, k), ANY) for k in range(-1, 5)],
    (lambda x: ops.rot90(x, 1, (2, 0)), (C,), np.rot90(C, 1, (2, 0)), ANY),
    (lambda x: ops.moveaxis(x, (0, 2), (2, 0)), (C,), np.moveaxis(C, (0, 2), (2, 0)), ANY),
    (lambda x: ops.pad(x, (1, 2), value=0.5), (X,),
     np.pad(X, ((0, 0), (1, 2)), constant_values=0.5), ANY),
    (lambda x: ops.pad(x, (-1, 2, 1, 0)), (X,), np.pad(X[:, 1:], ((1, 0), (0, 2))), ANY),
    (lambda x: ops.pad(x, (2, 1), mode="reflect"), (X,),
     np.pad(X, ((0, 0), (2, 1)), "reflect"), ANY),
    (lambda x: ops.pad(x, (2, 4), mode="replicate"), (X,),
     np.pad(X, ((0, 0), (2, 4)), "edge"), ANY),
    (lambda x: ops.pad(x, (2, 3), mode="circular"), (X,),
     np.pad(X, ((0, 0), (2, 3)), "wrap"), ANY),
    (lambda x: P.Pad(((1, 0), (0, 2)))(x), (X,), np.pad(X, ((1, 0), (0, 2))), ANY),
    (lambda x: P.MirrorPad("SYMMETRIC")(x, ((0, 1), (2, 0))), (X,),
     np.pad(X, ((0, 1), (2, 0)), "symmetric"), ANY),
    (lambda x: ops.tril(x, -1), (Q,), np.tril(Q, -1), ANY),
    (lambda x: P.Triu(1)(x), (C,), np.triu(C, 1), ANY),
    (lambda x: P.MatrixBandPart()(x, 1, 0), (Q,), np.tril(np.triu(Q, -1)), ANY),
    (lambda x: ops.diagonal(x, 1), (X,), np.diagonal(X, 1), ANY),
    (lambda x: ops.diagonal(x, -1, 2, 0), (C,), np.diagonal(C, -1, 2, 0), ANY),
    (lambda x: ops.diag(x), (R,), np.diag(R), ANY),
    (lambda x: ops.diag(x), (X,), np.diag(X.ravel()).reshape(2, 3, 2, 3), ANY),
    (lambda x: ops.diagflat(x, -1), (X,), np.diagflat(X, -1), ANY),
    (lambda x: ops.diag_embed(x, 1, 0, 2), (X,),
     np.moveaxis(np.stack([np.diag(row, 1) for row in X]), 0, 1), ANY),
    (lambda x, v: method("diagonal_scatter")(x, v, 1), (X, R[:2]),
     placed((2, 3), ([0, 1], [1, 2]), R[:2], start=X), SIZES),
    (lambda x: method("diag")(x, 1), (Q,), np.diag(Q, 1), ANY),
    (lambda x, y: ops.block_diag(x, y), (X, R),
     np.block([[X, np.zeros((2, 3))], [np.zeros((1, 3)), R[None]]]), SIZES),
    (lambda x, y: ops.vstack((x, y)), (X, R), np.vstack((X, R)), ANY),
    (lambda x, y: ops.hstack((x, y)), (X, V), np.hstack((X, V)), ANY),
    (lambda x, y: ops.dstack((x, y)), (R, R + 1), np.dstack((R, R + 1)), ANY),
    (lambda x, y: ops.column_stack((x, y)), (Q, R), np.column_stack((Q, R)), ANY),
    (lambda x: ops.atleast_3d(x), (X,), np.atleast_3d(X), ANY),
    (lambda x: ops.tensor_split(x, 2, 1)[0], (X,), X[:, :2], SIZES),
    (lambda x: ops.hsplit(x, (1,))[1], (X,), X[:, 1:], ANY),
    (lambda x, y: ops.concat(ops.meshgrid(x, y)), (R, R[:2]),
     np.concatenate(np.meshgrid(R, R[:2])), ANY),
    (lambda x, y: ops.meshgrid(x, y, indexing="ij")[1], (R, R[:2]),
     np.meshgrid(R, R[:2], indexing="ij")[1], ANY),
    # products that name their axes
    (lambda x, y: ops.einsum("ij,jk->ik", x, y), (X, Q), X @ Q, ANY),
    (lambda x: ops.einsum("ii", x), (Q,), np.trace(Q), ANY),
    (lambda x: ops.einsum("...ij->...ji", x), (C,), C.swapaxes(1, 2), ANY),
    (lambda x, y: ops.einsum("...ij, jk", x, y), (C.swapaxes(1, 2), Q), C.swapaxes(1, 2) @ Q, ANY),
    (lambda x: ops.einsum("iji->ij", x), (real(2, 3, 2),),
     np.einsum("iji->ij", real(2, 3, 2)), ANY),
    (lambda x, y: ops.einsum("ij,ij->i", x, y), (X, R[None]), X @ R, ANY),
    (lambda x, y: ops.cross(x, y), (X, V), np.cross(X, V), SIZES),
    (lambda x, y: P.Cross(0)(x, y), (Q, R[:, None]), np.cross(Q, R[:, None], axis=0), ANY),
    # classes about blocks
    (lambda x: P.SpaceToDepth(2)(x), (real(1, 1, 2, 4),),
     real(1, 1, 2, 4)[0, 0].reshape(1, 2, 2, 2).transpose(1, 3, 0, 2).reshape(1, 4, 1, 2), ANY),
    (lambda x: P.DepthToSpace(2)(P.SpaceToDepth(2)(x)), (real(2, 3, 4, 2),), real(2, 3, 4, 2), ANY),
    (lambda x: P.BatchToSpace(2, ((0, 0), (0, 0)))(P.SpaceToBatchND([2, 2], ((0, 0), (0, 0)))(x)),
     (real(2, 3, 4, 2),), real(2, 3, 4, 2), ANY),
    (lambda x: P.ChannelShuffle(2)(x), (real(1, 4, 2),), real(1, 4, 2)[:, [0, 2, 1, 3]], ANY),
    (lambda x, v: P.InplaceAdd((1, 1))(x, v), (X, V), added(X, [1, 1], V), ANY),
    (lambda x, v: P.InplaceUpdate(0)(x, v), (X, V[:1]), placed((2, 3), 0, V[0], start=X), ANY),
    # methods
    (lambda x: method("select")(x, 1, 2), (X,), X[:, 2], ANY),
    (lambda x, i: method("take")(x, i), (X, np.array([0, 9])), X.ravel()[[0, 5]], ANY),
    (lambda x: method("resize")(x, 2, 2), (X,), X.ravel()[:4].reshape(2, 2), SIZES),
    (lambda x: method("resize")(x, 4, 2), (X,), np.resize(np.r_[X.ravel(), 0, 0], (4, 2)), SIZES),
    (lambda x: method("unfold")(x, 1, 2, 1), (X,), np.stack([X[:, :2], X[:, 1:]], 1), ANY),
    (lambda x: method("unfold")(x, 0, 2, 1), (Q,),
     np.lib.stride_tricks.sliding_window_view(Q, 2, 0), ANY),
    (lambda x: method("sum_to_size")(x, 3, 1), (C,), C.sum(axis=(0, 2))[:, None], ANY),
    (lambda x, i: method("index_put")(x, (i,), 1.5, True), (X, I0), added(X, I0, 1.5), ANY),
    (lambda x: method("repeat")(x, 2, 2), (X,), np.tile(X, (2, 2)), ANY),
]  # fmt: skip


class Composition(Program):
    """A function built by calling library code on values."""

    def __init__(
        self, call: Callable[..., Any], args: tuple[np.ndarray, ...], dtype: str, typing: Typing
    ):
        self.args = [taken(arg, dtype) for arg in args]
        self.params = [
            Value(typing(type_of_sample(arg)), f"x{n}") for n, arg in enumerate(self.args)
        ]
        self.builder = Builder()
        with self.builder:
            self.out = call(*self.params)


@pytest.mark.parametrize("position", range(len(CALLS)))
def test_values_are_numpys_at_once_and_compiled(position: int) -> None:
    call, args, expected, _ = CALLS[position]
    small = [taken(arg, "float32") for arg in args]
    now = call(*map(Tensor, small)).asnumpy()
    later = Composition(call, args, "float32", exact).value()
    for got in (now, later):
        assert np.shape(got) == np.shape(expected)
        assert np.allclose(got, expected, atol=1e-5)
        assert got.dtype == np.float32


@pytest.mark.parametrize("typing", [exact, unsized])
@pytest.mark.parametrize("position", range(len(CALLS)))
def test_gradients_are_those_of_differences(position: int, typing: Typing) -> None:
    call, args, _, needs_sizes = CALLS[position]
    if needs_sizes and typing is unsized:
        with pytest.raises(ShapeError):
            Composition(call, args, "float64", typing)
        return
    program = Composition(call, args, "float64", typing)
    ct, weight = Value(program.out.type, "ct"), weights(program.value())
    found = program.sweep(list(program.builder.ops), {program.out: ct})
    for n in program.active:
        exactly = gradient(program.of(n), program.args[n], weight)
        part = found.get(program.params[n])
        if part is None:
            assert np.allclose(exactly, 0.0)
            continue
        (got,) = program.run([part], [*program.args, weight], [ct])
        assert got.shape == program.args[n].shape
        assert flat(got) == pytest.approx(exactly, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("shape", [(2,), (2, 2, 2, 1), (2, 2, 5), (3, 1, 1)])
def test_positions_that_do_not_fit_are_refused(shape):
    with pytest.raises(ShapeError, match="does not fit an input of shape"):
        ops.gather_elements(Tensor(C), 1, Tensor(np.zeros(shape, np.int32)))
