"""Matrices: values against NumPy, gradients of two orders, and what holds for singular ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.errors import DTypeError, ShapeError
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import Function, Region, Value
from autodiff_compiler.ir.types import ArrayType, array
from autodiff_compiler.operators.core.index_patterns import FULL
from autodiff_compiler.operators.indexing import indexing
from autodiff_compiler.ops import operations as P
from autodiff_compiler.ops.methods.table import METHODS
from autodiff_compiler.span import NOWHERE
from autodiff_compiler.testing import check_grads
from tests.interpreter import run

A = np.array([[2.1, -0.4, 0.3], [0.5, 1.7, -0.6], [-0.2, 0.8, 1.9]], np.float32)
B = (1.25 * np.sin(2.5 * A[::-1])).astype(np.float32)
FIRST, FIRST_TWO = ("slice", None, 1, None), ("slice", None, 2, None)
INV, SPD = np.linalg.inv(A), A @ A.T
CUBE = np.stack([A, B, A + B])


def other(x: Any) -> Any:
    """B from A, so that a call is a function of A alone."""
    return 1.25 * ops.sin(2.5 * ops.flip(x, (0,)))


def part(x: Any, *index: Any) -> Any:
    return indexing.index(x, index=index)


def spd(x: Any) -> Any:
    return ops.matmul(x, ops.t(x))


def stacked(x: Any) -> Any:
    """CUBE from A."""
    return ops.stack([x, other(x), x + other(x)])


def rebuilt(s: Any, u: Any, v: Any) -> Any:
    return ops.matmul(u * s, ops.t(v))


def distances(p: float) -> np.ndarray:
    return np.linalg.norm(A[:, None] - B[None], p, axis=-1)


def pairs(p: float) -> np.ndarray:
    return np.linalg.norm(A[[0, 0, 1]] - A[[1, 2, 2]], p, axis=-1)


#: A function of A, and what it is.
CALLS: list[tuple[Callable[[Any], Any], Any]] = [
    # products
    (lambda x: ops.addmm(x, x, other(x)), A + A @ B),
    (lambda x: ops.addmm(x, x, other(x), beta=0.5, alpha=2), 0.5 * A + 2 * A @ B),
    (lambda x: ops.baddbmm(stacked(x), stacked(x), stacked(x), alpha=0.5), CUBE + CUBE @ CUBE / 2),
    (lambda x: ops.addbmm(x, stacked(x), stacked(x), beta=2), 2 * A + (CUBE @ CUBE).sum(0)),
    (lambda x: ops.addr(x, part(x, 0), part(x, 1), beta=2, alpha=3),
     2 * A + 3 * np.outer(A[0], A[1])),
    (lambda x: ops.mv(x, part(x, 0)), A @ A[0]),
    (lambda x: ops.bmm(stacked(x), stacked(x)), CUBE @ CUBE),
    (lambda x: P.BatchMatMul(transpose_b=True)(x, x), A @ A.T),
    (lambda x: ops.tensor_dot(x, other(x), 1), A @ B),
    (lambda x: ops.tensor_dot(x, other(x), 2), np.tensordot(A, B, 2)),
    (lambda x: ops.tensor_dot(x, part(x, 0), 0), np.tensordot(A, A[0], 0)),
    (lambda x: ops.tensor_dot(stacked(x), x, ((-1, 1), (1, 0))),
     np.tensordot(CUBE, A, ((2, 1), (1, 0)))),
    (lambda x: ops.tensor_dot(x, stacked(x), (1, 2)), np.tensordot(A, CUBE, (1, 2))),
    (lambda x: ops.inner(x, other(x)), np.inner(A, B)),
    (lambda x: ops.inner(x, part(x, 0)), np.inner(A, A[0])),
    (lambda x: ops.inner(x, stacked(x)), np.inner(A, CUBE)),
    (lambda x: ops.inner(x, ops.sum(x)), A * A.sum()),
    (lambda x: ops.vecdot(x, other(x)), (A * B).sum(-1)),
    (lambda x: ops.vecdot(x, other(x), axis=0), (A * B).sum(0)),
    (lambda x: ops.kron(x, part(other(x), FIRST_TWO)), np.kron(A, B[:2])),
    (lambda x: ops.kron(part(x, 0), x), np.kron(A[0], A)),
    (lambda x: ops.kron(stacked(x), part(x, 1)), np.kron(CUBE, A[1])),
    (lambda x: P.Ger()(part(x, 0), part(x, 1)), np.outer(A[0], A[1])),
    (lambda x: P.BiasAdd()(x, part(x, 0)), A + A[0]),
    # parts
    (lambda x: ops.adjoint(stacked(x)), CUBE.swapaxes(1, 2)),
    (lambda x: ops.trace(x), np.trace(A)),
    (lambda x: P.Trace()(x), np.trace(A)),
    (lambda x: METHODS["trace"](stacked(x), 1, 0, 2), np.trace(CUBE, 1, 0, 2)),
    (lambda x: ops.matrix_diag(x), np.stack([np.diag(row) for row in A])),
    (lambda x: ops.matrix_diag(part(x, 0), -1, padding_value=5), np.diag(A[0], -1) + 5 - 5 *
     np.diag(np.ones(3), -1)),
    (lambda x: ops.matrix_diag(part(x, 0), 1, num_rows=3, num_cols=5),
     np.eye(3, 5, 1) * A[0][:, None]),
    (lambda x: ops.vander(part(x, 0)), np.vander(A[0])),
    (lambda x: ops.vander(part(x, 0), 4), np.vander(A[0], 4)),
    # functions of whole matrices
    (lambda x: ops.inverse(x), INV),
    (lambda x: ops.inverse(stacked(x)), np.linalg.inv(CUBE)),
    (lambda x: P.MatrixInverse(adjoint=True)(x), INV.T),
    (lambda x: ops.det(x), np.linalg.det(A)),
    (lambda x: ops.det(stacked(x)), np.linalg.det(CUBE)),
    (lambda x: ops.det(part(x, FIRST, FIRST)), A[0, 0]),
    (lambda x: ops.slogdet(-x)[1], np.log(np.linalg.det(A))),
    (lambda x: ops.logdet(x), np.log(np.linalg.det(A))),
    (lambda x: ops.matrix_solve(x, other(x)), INV @ B),
    (lambda x: ops.matrix_solve(x, x * x, adjoint=True), INV.T @ (A * A)),
    (lambda x: P.MatrixSolve(adjoint=True)(stacked(x), x), np.linalg.solve(
        CUBE.swapaxes(1, 2), A[None])),
    (lambda x: ops.cholesky(spd(x)), np.linalg.cholesky(SPD)),
    (lambda x: ops.cholesky(spd(x), upper=True), np.linalg.cholesky(SPD).T),
    (lambda x: ops.cholesky_inverse(ops.cholesky(spd(x))), np.linalg.inv(SPD)),
    (lambda x: ops.cholesky_inverse(x, upper=True), np.linalg.inv(np.triu(A).T @ np.triu(A))),
    (lambda x: ops.cholesky_solve(x, ops.cholesky(spd(x))), np.linalg.solve(SPD, A)),
    (lambda x: ops.cholesky_solve(x, x, upper=True), np.linalg.solve(
        np.triu(A).T @ np.triu(A), A)),
    (lambda x: ops.pinv(part(x, FIRST_TWO)), np.linalg.pinv(A[:2])),
    (lambda x: ops.pinv(part(stacked(x), FULL, FULL, FIRST_TWO)), np.linalg.pinv(CUBE[:, :, :2])),
    (lambda x: ops.svd(x, compute_uv=False), np.linalg.svd(A, compute_uv=False)),
    (lambda x: ops.svd(stacked(x))[1], np.linalg.svd(CUBE)[0]),
    (lambda x: P.Svd()(part(x, FIRST_TWO))[2], np.linalg.svd(A[:2])[2][:2].T),
    (lambda x: rebuilt(*ops.svd(ops.t(part(x, FIRST_TWO)))), A[:2].T),
    (lambda x: ops.matrix_power(x, 5), np.linalg.matrix_power(A, 5)),
    (lambda x: ops.matrix_power(x, -2), INV @ INV),
    # distances
    (lambda x: ops.cdist(x, other(x)), distances(2)),
    (lambda x: ops.cdist(x, other(x), 3.0), distances(3)),
    (lambda x: P.Cdist(1.0)(x, other(x)), distances(1)),
    (lambda x: ops.cdist(x, other(x), math.inf), distances(math.inf)),
    (lambda x: ops.pdist(x), pairs(2)),
    (lambda x: P.Pdist(p=0.5)(x), pairs(0.5)),
    (lambda x: ops.dist(x, other(x)), np.linalg.norm(A - B)),
    (lambda x: ops.dist(x, other(x), 4), np.linalg.norm((A - B).ravel(), 4)),
]  # fmt: skip


def compiled(call: Callable[[Any], Any], type_: ArrayType) -> Any:
    """The call as a function of a value of a type, applied to A."""
    x, builder = Value(type_, "x"), Builder()
    with builder:
        out = call(x)
    region = Region((x,), tuple(builder.ops), (out,))
    return run(Function("f", region, NOWHERE), [A])[0]


@pytest.mark.parametrize("position", range(len(CALLS)))
def test_tensors_and_values_give_what_numpy_says(position: int) -> None:
    call, expected = CALLS[position]
    got = [call(Tensor(A)).asnumpy(), compiled(call, array("float32", 3, 3))]
    try:
        got.append(compiled(call, array("float32", None, "n")))
    except ShapeError as error:  # some names must know a size to know what they return
        assert "know" in str(error)
    for value in got:
        np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)
        assert np.asarray(value).dtype == np.float32


@pytest.mark.parametrize("position", range(len(CALLS)))
def test_gradients_of_two_orders(position: int) -> None:
    check_grads(CALLS[position][0], (Tensor(A.astype(np.float64)),), order=2)


def slope(function: Callable[..., Any], *args: Any) -> Any:
    grads = ops.grad(function, tuple(range(len(args))))(*args)
    return [grad.asnumpy() for grad in grads] if isinstance(grads, tuple) else grads.asnumpy()


# ---- determinants of singular matrices


@pytest.mark.parametrize(
    ("x", "minors"),
    [
        ([[1, 2], [2, 4]], [[4, -2], [-2, 1]]),
        ([[0, 0], [0, 3]], [[3, 0], [0, 0]]),
        ([[1, 2, 3], [4, 5, 6], [7, 8, 9]], [[-3, 6, -3], [6, -12, 6], [-3, 6, -3]]),
        ([[1, 1, 1], [1, 1, 1], [1, 1, 1]], np.zeros((3, 3))),
        ([[5]], [[1]]),
    ],
)
def test_det_has_its_slope_where_it_is_zero(x: Any, minors: Any) -> None:
    got = slope(ops.det, Tensor(np.array(x, np.float32)))
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, minors, atol=1e-4)


def test_a_stack_may_hold_singular_matrices() -> None:
    x = Tensor(np.array([[[1, 2], [2, 4]], [[3, 1], [0, 2]]], np.float64))
    got = slope(lambda x: ops.det(x).sum(), x)
    np.testing.assert_allclose(got, [[[4, -2], [-2, 1]], [[2, 0], [-1, 3]]], atol=1e-12)


def test_the_logarithm_of_a_determinant() -> None:
    negative = Tensor(np.array([[0, 2], [3, 0]], np.float32))
    sign, size = ops.slogdet(negative)
    assert (sign.asnumpy(), size.asnumpy()) == (-1, pytest.approx(math.log(6)))
    with np.errstate(invalid="ignore"):
        assert np.isnan(ops.logdet(negative).asnumpy())
    np.testing.assert_allclose(
        slope(lambda x: ops.slogdet(x)[1], negative), [[0, 1 / 2], [1 / 3, 0]], atol=1e-6
    )


# ---- closed forms


def test_the_slope_of_an_inverse_as_measured() -> None:
    got = slope(ops.inverse, Tensor(np.array([[2, 0], [0, 4]], np.float32)))
    np.testing.assert_allclose(got, [[-0.25, -0.125], [-0.125, -0.0625]])


def test_the_slope_of_a_cholesky_factor_is_symmetric() -> None:
    # L = ((a, 0), (b / a, sqrt(c - b² / a²))) for x = ((a², b), (b, c)); b stands twice in x.
    a, b, c = 2.0, 1.0, 3.0
    got = slope(lambda x: ops.cholesky(x)[1, 1], Tensor(np.array([[a * a, b], [b, c]])))
    last = math.sqrt(c - b * b / (a * a))
    off = -b / (a * a) / last
    whole = [[b * b / a**4 / (2 * last), off / 2], [off / 2, 1 / (2 * last)]]
    np.testing.assert_allclose(got, whole)


def test_both_sides_of_a_solution_broadcast() -> None:
    a, b = Tensor(CUBE.astype(np.float64)), Tensor(B[:, :2].astype(np.float64))
    check_grads(ops.matrix_solve, (a, b), order=2)
    check_grads(ops.matrix_solve, (Tensor(A.astype(np.float64)), a), order=2)


def test_distances_between_equal_points_have_slope_zero() -> None:
    x = Tensor(np.array([[1.0, 1.0], [1.0, 1.0]], np.float32))
    for p in (0.5, 1, 1.5, 2, 3, math.inf):
        left, right = slope(lambda x, y, p=p: ops.cdist(x, y, p), x, x)
        assert not left.any() and not right.any()
        assert not slope(lambda x, p=p: ops.pdist(x, p), x).any()
        assert not slope(lambda x, y, p=p: ops.dist(x, y, p), x, x)[0].any()
    assert ops.cdist(x, x + Tensor([1, 0]), 0).asnumpy().tolist() == [[1, 1], [1, 1]]


def test_the_power_zero_is_the_identity() -> None:
    one = ops.matrix_power(Tensor(CUBE), 0).asnumpy()
    np.testing.assert_array_equal(one, np.broadcast_to(np.eye(3, dtype=np.float32), (3, 3, 3)))
    assert one.dtype == np.float32
    assert not slope(lambda x: ops.matrix_power(x, 0) + 0 * x, Tensor(A)).any()


def test_narrow_dtypes_and_whole_numbers_are_taken_in_float32() -> None:
    for dtype in (np.float16, np.int64):
        assert ops.det(Tensor(np.eye(2, dtype=dtype))).asnumpy().dtype == np.float32
    got = slope(ops.inverse, Tensor(np.eye(2, dtype=np.float16)))
    assert got.dtype == np.float16


def test_refusals_say_what_is_wrong() -> None:
    x, row = Tensor(A), Tensor(A[0])
    with pytest.raises(ShapeError, match="square"):
        ops.det(x[:2])
    with pytest.raises(ShapeError, match="a single matrix"):
        ops.trace(Tensor(CUBE))
    with pytest.raises(ShapeError, match="1 axes"):
        ops.inverse(row)
    with pytest.raises(ShapeError, match="do not fit"):
        ops.matrix_solve(x, x[:2])
    with pytest.raises(DTypeError, match="not a float"):
        ops.matrix_solve(x, 1.0)
    with pytest.raises(ShapeError, match="tensor_dot over 3"):
        ops.tensor_dot(x, x, 3)
    with pytest.raises(ShapeError, match="have sizes|give as many"):
        ops.tensor_dot(x, x, ((0, 1), (0,)))
    with pytest.raises(ShapeError, match="has 2 elements"):
        ops.matrix_diag(row, 0, 2, 2)
    with pytest.raises(ValueError, match="a single diagonal"):
        ops.matrix_diag(x, (0, 1))
    with pytest.raises(ValueError, match="rtol"):
        ops.pinv(x, atol=0.1)
    with pytest.raises(np.linalg.LinAlgError, match="[Ss]ingular"):
        ops.inverse(Tensor(np.zeros((2, 2), np.float32)))


class Volume(nn.Cell):
    def construct(self, x: Any) -> Any:
        return x.det() * x.inverse().trace() + x.addmm(x, x).slogdet()[1]


def test_methods_compile() -> None:
    got = ops.GradOperation()(Volume())(Tensor(A)).asnumpy()
    # tr(inverse(x)) det(x) of three rows is (tr(x)² - tr(x²)) / 2, with slope tr(x) - x.T.
    whole = np.trace(A) * np.eye(3) - A.T
    s = np.linalg.inv(A + A @ A).T
    np.testing.assert_allclose(got, whole + s + A.T @ s + s @ A.T, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "shapes", (((6, 5), (3, 5, 2)), ((6, 5), (2, 3, 5, 1)), ((2, 5), (3, 5, 9)))
)
def test_one_matrix_meets_many(shapes: tuple[tuple[int, ...], ...]) -> None:
    """Narrow ones side by side, wide ones one after the other: the same cotangents."""
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(shape) for shape in shapes)
    w = random.standard_normal(np.matmul(a, b).shape)

    def total(a, b, w):
        return (ops.matmul(a, b) * w).sum()

    found = ops.grad(total, (0, 1))(Tensor(a), Tensor(b), Tensor(w))
    all_b, all_w = (each.reshape(-1, *each.shape[-2:]) for each in (b, w))
    wanted = np.einsum("knc,kmc->nm", all_w, all_b), np.einsum("nm,...nc->...mc", a, w)
    for each, slope in zip(found, wanted):
        np.testing.assert_allclose(each.asnumpy(), slope, rtol=1e-12, atol=1e-12)
