"""``mindspore.numpy`` has argument names and dtypes of its own, beside NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, grad, ops
from autodiff_compiler import numpy as mnp
from autodiff_compiler.errors import CompileError, ShapeError

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 1
T = Tensor(X)

CASES = {
    "split(x=T, indices_or_sections=[1], axis=1)[1]": X[:, 1:],
    "std(x=T, axis=0)": X.std(0),
    "add(x1=T, x2=T)": X + X,
    "matmul(x1=T, x2=T.T)": X @ X.T,
    "square(x=T, dtype=ms.float64)": (X * X).astype(np.float64),
    "swapaxes(x=T, axis1=0, axis2=1)": X.T,
    "stack(arrays=[T, T], axis=1)": np.stack([X, X], 1),
    "vstack(tup=(T, T))": np.vstack([X, X]),
    "tile(a=T, reps=2)": np.tile(X, 2),
    "reshape(x=T, new_shape=(3, 2))": X.reshape(3, 2),
    "norm(x=T)": np.float32(np.linalg.norm(X)),
    "arange(1, 6, 2)": np.array([1, 3, 5], np.int32),
    "arange(0, 3, 1, ms.float32)": np.array([0, 1, 2], np.float32),
    "arange(start=1, stop=3)": np.array([1, 2], np.int32),
    "full(shape=(2,), fill_value=3)": np.full(2, 3, np.int32),
    "full((2,), 2.5, ms.float32)": np.full(2, 2.5, np.float32),
    "zeros(shape=(2,), dtype=ms.int32)": np.zeros(2, np.int32),
    "empty(shape=(2,))": np.zeros(2, np.float32),
    "eye(2, 3, 1)": np.eye(2, 3, 1, np.float32),
    "identity(2, ms.int32)": np.eye(2, dtype=np.int32),
    "linspace(0, 1, 3)": np.linspace(0, 1, 3, dtype=np.float32),
    "full_like(a=T, fill_value=2, dtype=ms.int32)": np.full((2, 3), 2, np.int32),
}


@pytest.mark.parametrize("call", CASES)
def test_name(call: str) -> None:
    found = eval(f"mnp.{call}", {"mnp": mnp, "T": T, "ms": ms}).asnumpy()
    assert found.dtype == CASES[call].dtype
    np.testing.assert_allclose(found, CASES[call], rtol=1e-6)


def test_names_are_taken_while_compiling() -> None:
    def f(x: Tensor) -> Tensor:
        first, rest = ms.numpy.split(x=x, indices_or_sections=[1], axis=1)
        return ops.sum(mnp.multiply(x1=rest, x2=first))

    expected = np.hstack([X[:, 1:].sum(1, keepdims=True), X[:, :1], X[:, :1]])
    np.testing.assert_allclose(grad(f)(T).asnumpy(), expected)


LATER = {
    "logsumexp(T, dim=1, keepdim=True)": np.log(np.exp(X).sum(1, keepdims=True)),
    "bmm(T[None], mat2=T.T[None])": (X @ X.T)[None],
    "mv(mat=T, vec=T[0])": X @ X[0],
    "unsqueeze(T, dim=0)": X[None],
    "permute(T, axis=(1, 0))": X.T,
    "transpose(T, dims=(1, 0))": X.T,
    "unstack(T, axis=1)[0]": X[:, 0],
    "swapdims(T, dim0=0, dim1=1)": X.T,
    "hardshrink(input=T, lambd=1.5)": np.where(abs(X) > 1.5, X, 0),
    "binary_cross_entropy_with_logits(input=T, target=T)":
        np.mean(np.log1p(np.exp(-X)) * X + np.log1p(np.exp(X)) * (1 - X)),
}  # fmt: skip


@pytest.mark.parametrize("call", LATER)
def test_later_versions_name(call: str) -> None:
    found = eval(f"ops.{call}", {"ops": ops, "T": T}).asnumpy()
    np.testing.assert_allclose(found, LATER[call], rtol=1e-5)


def test_extremes_along_a_dim_come_with_their_positions() -> None:
    values, places = T.max(dim=1, keepdim=True)
    assert values.asnumpy().tolist() == [[1], [4]] and places.asnumpy().tolist() == [[2], [2]]
    values, places = T.min(dim=1)
    assert values.asnumpy().tolist() == [-1, 2] and places.asnumpy().tolist() == [0, 0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_cube_root_is_steep_at_zero(dtype: str) -> None:
    """Its slope there is infinite; elsewhere 1 / (3 cbrt(x)²), on both sides."""
    x = np.array([-8.0, -0.5, -0.0, 0.0, 0.5, 8.0, np.nan], dtype)
    assert np.allclose(mnp.cbrt(Tensor(x)).asnumpy(), np.cbrt(x), equal_nan=True)
    with np.errstate(divide="ignore"):
        found = grad(mnp.cbrt)(Tensor(x)).asnumpy()
        expected = 1 / (3 * np.cbrt(x) ** 2)
    assert found.dtype == dtype and np.allclose(found, expected, equal_nan=True)


@pytest.mark.parametrize("shift, axis", [(1, (0, 1)), ((2, -1, 1), 1), ((1, -1), (0, 1)), (2, -1)])
def test_one_shift_rolls_along_every_axis(shift, axis) -> None:
    x = np.arange(12.0).reshape(3, 4)
    wanted = np.roll(x, shift, axis)
    assert np.array_equal(mnp.roll(Tensor(x), shift, axis).asnumpy(), wanted)
    assert np.array_equal(ms.jit(lambda x: np.roll(x, shift, axis))(x), wanted)
    weight = x * x
    slope = grad(lambda x: mnp.sum(mnp.roll(x, shift, axis) * Tensor(weight)))(Tensor(x))
    back = -shift if isinstance(shift, int) else tuple(-step for step in shift)
    assert np.array_equal(slope.asnumpy(), np.roll(weight, back, axis))


def test_a_shift_without_an_axis_of_its_own_is_refused() -> None:
    for shift, axes in ((1, (0, 1)), ((1, 2), (0,))):
        with pytest.raises(ShapeError, match="give one shift for each axis"):
            ops.roll(T, shift, axes)


def test_along_no_axis_nothing_is_turned_round() -> None:
    for found in (mnp.flip(T, ()), ops.flip(T, ()), ops.ReverseV2(())(T)):
        assert np.array_equal(found.asnumpy(), np.flip(X, ()))
    assert np.array_equal(ms.jit(lambda x: np.flip(x, ()))(X), X)
    assert np.array_equal(mnp.flip(T).asnumpy(), np.flip(X))


@pytest.mark.parametrize(
    "call",
    [
        lambda: ops.pad(T, (1.5, 1)),
        lambda: ops.tile(T, (2.7, 1)),
        lambda: ops.roll(T, (1.5,), (0,)),
        lambda: mnp.pad(T, ((1.5, 1), (0, 0))),
    ],
)
def test_what_counts_elements_is_a_whole_number(call):
    with pytest.raises(TypeError, match="integer"):
        call()


def test_a_negative_padding_is_refused_as_by_numpy() -> None:
    for call in (
        lambda: np.pad(X, ((-1, 0), (0, 0))),
        lambda: mnp.pad(T, ((-1, 0), (0, 0))),
        lambda: ms.jit(lambda x: np.pad(x, ((-1, 0), (0, 0))))(X),
    ):
        with pytest.raises((ValueError, CompileError), match="must not be|can't contain negative"):
            call()
