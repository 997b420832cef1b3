"""Tables looked up and changed in places, and other functions that came late."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Parameter, Tensor, grad, jit, nn, ops, value_and_grad
from autodiff_compiler.errors import NoDerivative
from autodiff_compiler.testing import check_grads

RNG = np.random.default_rng(4)
TABLE = RNG.standard_normal((4, 3))
PLACES = Tensor(np.array([[0, 1], [1, 3]]))


def slopes(fn: Any) -> np.ndarray:
    """The gradient of the sum of ``fn`` in the table."""
    return grad(fn)(Tensor(TABLE)).asnumpy()


def test_embedding() -> None:
    np.testing.assert_array_equal(
        ops.embedding(PLACES, Tensor(TABLE)).asnumpy(), TABLE[[[0, 1], [1, 3]]]
    )
    counts = np.array([1.0, 2.0, 0.0, 1.0])[:, None] * np.ones(3)
    np.testing.assert_allclose(slopes(lambda w: ops.embedding(PLACES, w)), counts)
    padded = counts * np.array([1, 0, 1, 1])[:, None]
    np.testing.assert_allclose(slopes(lambda w: ops.embedding(PLACES, w, 1)), padded)
    np.testing.assert_allclose(slopes(lambda w: ops.embedding(PLACES, w, padding_idx=-3)), padded)
    by_frequency = slopes(lambda w: ops.embedding(PLACES, w, scale_grad_by_freq=True))
    np.testing.assert_allclose(by_frequency, np.minimum(counts, 1.0))
    short = ops.embedding(PLACES, Tensor(TABLE), max_norm=0.5).asnumpy()
    np.testing.assert_allclose(np.linalg.norm(short, axis=-1), 0.5, rtol=1e-6)
    np.testing.assert_allclose(
        ops.embedding(PLACES, Tensor(TABLE), max_norm=99.0).asnumpy(), TABLE[[[0, 1], [1, 3]]]
    )


def test_embedding_lookup() -> None:
    out = ops.EmbeddingLookup()(Tensor(TABLE), Tensor([[4, 1], [0, 9]]), 1).asnumpy()
    np.testing.assert_array_equal(out, [[TABLE[3], TABLE[0]], [np.zeros(3), np.zeros(3)]])
    found = slopes(lambda w: ops.EmbeddingLookup()(w, Tensor([4, 1, 9, 1]), 1))
    np.testing.assert_array_equal(found, np.array([2.0, 0.0, 0.0, 1.0])[:, None] * np.ones(3))


CHANGES = {
    "update": lambda a, b: b, "add": np.add, "sub": np.subtract, "mul": np.multiply,
    "div": np.divide, "max": np.maximum, "min": np.minimum,
}  # fmt: skip


class Scattered(nn.Cell):
    """Changes rows of its table, then reads it."""

    def __init__(self, change: str):
        super().__init__()
        self.table = Parameter(Tensor(TABLE), name="table")
        self.change = getattr(ops, f"Scatter{change.title()}")()

    def construct(self, places, updates):
        self.change(self.table, places, updates)
        return self.table * self.table


@pytest.mark.parametrize("change", CHANGES)
def test_scattering_into_a_parameter(change: str) -> None:
    rows, updates = np.array([2, 0]), RNG.standard_normal((2, 3)) + 3.0
    expected = TABLE.copy()
    expected[rows] = CHANGES[change](TABLE[rows], updates)
    for call in (
        lambda p: getattr(ops, f"scatter_{change}")(p, Tensor(rows), Tensor(updates)),
        lambda p: getattr(ops, f"ScatterNd{change.title()}")()(
            p, Tensor(rows[:, None]), Tensor(updates)
        ),
    ):
        table = Parameter(Tensor(TABLE), name="table")
        np.testing.assert_allclose(call(table).asnumpy(), expected)
        np.testing.assert_allclose(table.asnumpy(), expected)
    for run in (lambda net: net.construct, lambda net: jit(net.construct)):
        net = Scattered(change)
        out = run(net)(Tensor(rows), Tensor(updates)).asnumpy()
        np.testing.assert_allclose(out, expected**2)
        np.testing.assert_allclose(net.table.asnumpy(), expected)
    check_grads(Scattered(change), (Tensor(rows), Tensor(updates)))


def test_lrn() -> None:
    x = RNG.standard_normal((2, 5, 2, 3))
    expected = np.empty_like(x)
    for c in range(5):
        near = x[:, max(c - 1, 0) : c + 2]
        expected[:, c] = x[:, c] / (2.0 + 0.5 * (near * near).sum(1)) ** 0.75
    np.testing.assert_allclose(ops.LRN(1, 2.0, 0.5, 0.75)(Tensor(x)).asnumpy(), expected)
    check_grads(lambda x: ops.lrn(x, 1, 2.0, 0.5, 0.75), (Tensor(x),), order=1)


def test_bidense() -> None:
    x, y = RNG.standard_normal((2, 3, 4)), RNG.standard_normal((2, 3, 5))
    weight, bias = RNG.standard_normal((6, 4, 5)), RNG.standard_normal(6)
    expected = np.einsum("...i,oij,...j->...o", x, weight, y) + bias
    inputs = [Tensor(a) for a in (x, y, weight, bias)]
    np.testing.assert_allclose(ops.bidense(*inputs).asnumpy(), expected)
    check_grads(ops.bidense, inputs, order=1)


def test_multilabel_margin_loss() -> None:
    x, target = RNG.standard_normal((3, 4)), np.array([[3, 0, -1, 1], [1, -1, 2, 2], [0, 1, 2, 3]])
    expected = []
    for row, classes in zip(x, ([3, 0], [1], [0, 1, 2, 3])):
        others = [i for i in range(4) if i not in classes]
        expected.append(sum(max(0, 1 - row[j] + row[i]) for j in classes for i in others) / 4)
    loss = ops.multilabel_margin_loss(Tensor(x), Tensor(target), "none").asnumpy()
    np.testing.assert_allclose(loss, expected)
    lone = ops.multilabel_margin_loss(Tensor(x[0]), Tensor(target[0]))
    assert float(lone) == pytest.approx(expected[0])
    check_grads(lambda x: ops.multilabel_margin_loss(x, Tensor(target)), (Tensor(x),), order=1)


def test_nanmedian() -> None:
    nan = math.nan
    x = Tensor(np.array([[5.0, nan, 1.0, 3.0, 2.0], [nan, 7.0, nan, nan, nan]]))
    value, place = x.nanmedian(1)
    assert value.tolist() == [2.0, 7.0] and place.tolist() == [4, 1]
    slope = grad(lambda x: x.nanmedian(1)[0])(x).asnumpy()
    np.testing.assert_array_equal(slope, [[0, 0, 0, 0, 1], [0, 1, 0, 0, 0]])
    assert math.isnan(Tensor([nan, nan]).nanmedian()[0])


def test_igamma_against_closed_forms() -> None:
    x = np.array([0.0, 1e-12, 0.3, 2.0, 7.5, 60.0, 1e6])
    found = ops.igamma(1.0, Tensor(x)).asnumpy()
    np.testing.assert_allclose(found, -np.expm1(-x), rtol=3e-14, atol=1e-299)
    half = [math.erf(math.sqrt(number)) for number in x]
    found = ops.igamma(Tensor(np.float64(0.5)), Tensor(x)).asnumpy()
    np.testing.assert_allclose(found, half, rtol=3e-14)
    assert str(ops.igamma(Tensor(0.5), Tensor([1.0])).dtype) == "Float32"
    poisson = [
        1 - sum(math.exp(-v) * v**k / math.factorial(k) for k in range(40)) for v in (20, 50)
    ]
    found = ops.igamma(Tensor(40.0), Tensor([20.0, 50.0])).asnumpy()
    np.testing.assert_allclose(found, poisson, rtol=1e-6)
    assert np.isnan(ops.igamma(1.0, Tensor([-1.0])).asnumpy()).all()
    check_grads(lambda x: ops.igamma(2.5, x), (Tensor([0.3, 2.0, 7.5]),))
    check_grads(lambda x: ops.igamma(1.0, x), (Tensor([0.3, 2.0, 7.5]),))
    both = Tensor([0.6, 2.0, 7.5, 30.0]), Tensor([0.3, 2.0, 9.0, 25.0])
    check_grads(ops.igamma, both, order=1)
    with pytest.raises(NoDerivative):
        grad(grad(lambda a: ops.igamma(a, 2.0)))(Tensor(2.0))


def test_print_once(capsys: pytest.CaptureFixture[str]) -> None:
    show = ops.Print()

    def fn(x: Any) -> Any:
        show("x is", x)
        return x * x

    grad(fn)(Tensor([1.0, 2.0]))
    assert capsys.readouterr().out == "x is [1. 2.]\n"


def test_randperm_is_padded() -> None:
    found = ops.Randperm(6, -5)(Tensor([4])).tolist()
    assert sorted(found[:4]) == [0, 1, 2, 3] and found[4:] == [-5, -5]


def test_what_a_tensor_says_of_its_memory() -> None:
    x = Tensor(TABLE)
    assert x.stride() == [3, 1] and x.stride(0) == 3 and x.storage_offset() == 0
    x.data.asnumpy()[0, 0] = 7.0
    assert x.asnumpy()[0, 0] == 7.0
    assert x.assign_value(Tensor([1, 2])) is x and x.tolist() == [1, 2]


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)])
def test_qr(shape: tuple[int, ...]) -> None:
    x = Tensor(RNG.standard_normal(shape))
    q, r = (part.asnumpy() for part in x.qr())
    np.testing.assert_allclose(q @ r, x.asnumpy(), atol=1e-12)
    np.testing.assert_allclose(q.swapaxes(-1, -2) @ q, np.eye(q.shape[-1]) + 0 * q[..., :1, :1],
                               atol=1e-12)  # fmt: skip
    np.testing.assert_allclose(np.tril(r[..., : q.shape[-1]], -1), 0.0, atol=1e-12)
    check_grads(lambda x: x.qr(), (x,), order=1)


def test_complex_numbers_as_pairs() -> None:
    z = Tensor(np.array([1 + 2j, 3 - 4j]))
    assert ops.view_as_real(z).tolist() == [[1.0, 2.0], [3.0, -4.0]]
    with pytest.raises(TypeError):
        ops.view_as_real(Tensor([1.0]))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
@pytest.mark.parametrize("shape", [(40, 60), (3, 7, 64), (900, 64), (3, 800, 64)])
def test_rows_that_are_read_often_gather_all_their_cotangents(shape, dtype) -> None:
    """In the order of ``np.add.at``, to the bit; positions may count from the end."""
    *places, width = shape
    random = np.random.default_rng(7)
    index = random.integers(-20, 20, places).astype(dtype)
    table, sens = (random.standard_normal((*n, width)).astype(np.float32) for n in ([20], places))

    def looked_up(table, index, sens):  # type: ignore[no-untyped-def]
        return ops.sum(table[index] * sens)

    found = value_and_grad(looked_up, 0)(Tensor(table), Tensor(index), Tensor(sens))[1]
    wanted = np.zeros_like(table)
    np.add.at(wanted, index, sens)
    np.testing.assert_array_equal(found.asnumpy(), wanted)
