"""vmap: axes, containers, refusals; equal to one example after the other, and differentiable."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops, pipeline

RNG = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "VERIFY", True)


def normal(*shape: int) -> Tensor:
    return Tensor(RNG.normal(size=shape).astype(np.float32))


def source() -> str:
    return ms.compile_info().units[-1].source


def dot(x, y):
    return (x * y).sum()


X, Y = normal(5, 3), normal(5, 3)
EACH = (X.asnumpy() * Y.asnumpy()).sum(1)


def test_axes():
    np.testing.assert_allclose(ms.vmap(dot)(X, Y).asnumpy(), EACH, rtol=1e-5)
    found = ms.vmap(dot, in_axes=(0, 1))(X, Tensor(Y.asnumpy().T.copy()))
    np.testing.assert_allclose(found.asnumpy(), EACH, rtol=1e-5)
    found = ms.vmap(dot, in_axes=(-2, None))(X, Y[0])
    np.testing.assert_allclose(found.asnumpy(), X.asnumpy() @ Y.asnumpy()[0], rtol=1e-5)
    found = ms.vmap(lambda x: x * 2, in_axes=1, out_axes=1)(X)
    np.testing.assert_allclose(found.asnumpy(), 2 * X.asnumpy())
    found = ms.vmap(lambda x: (x, {"s": x.sum()}), out_axes=(1, 0))(X)
    assert found[0].shape == (3, 5) and found[1]["s"].shape == (5,)


def test_what_is_shared_and_returned_is_stretched():
    a, b = ms.vmap(lambda x, y: (x, y * 2), in_axes=(0, None))(X, Y[0])
    np.testing.assert_array_equal(a.asnumpy(), X.asnumpy())
    np.testing.assert_array_equal(b.asnumpy(), np.tile(2 * Y.asnumpy()[0], (5, 1)))
    b.asnumpy()[0] = 0.0
    assert b.asnumpy()[1].any() and Y.asnumpy()[0].any()


def test_containers():
    def fn(pair, scale):
        return {"sum": (pair[0] * pair[1]["y"]).sum() * scale}

    found = ms.vmap(fn, in_axes=(0, None))((X, {"y": Y}), Tensor(np.float32(2.0)))
    np.testing.assert_allclose(found["sum"].asnumpy(), 2 * EACH, rtol=1e-5)
    found = ms.vmap(fn, in_axes=((0, None), None))((X, {"y": Y[0]}), Tensor(np.float32(1.0)))
    np.testing.assert_allclose(found["sum"].asnumpy(), X.asnumpy() @ Y.asnumpy()[0], rtol=1e-5)


def test_nested():
    table = ms.vmap(ms.vmap(dot, (None, 0)), (0, None))(X, Y)
    np.testing.assert_allclose(table.asnumpy(), X.asnumpy() @ Y.asnumpy().T, rtol=1e-5)
    assert "for " not in source()


class Mlp(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w1 = Parameter(normal(3, 4), name="w1")
        self.w2 = Parameter(normal(4, 2), name="w2")

    def construct(self, x, y):
        h = ops.tanh(ops.matmul(x, self.w1))
        return ((ops.matmul(h, self.w2) - y) ** 2).sum()


def test_gradients_of_every_example():
    net, y = Mlp(), normal(5, 2)
    gradient = ms.grad(net, None, net.trainable_params())
    found = ms.vmap(gradient)(X, y)
    assert "for " not in source()
    for k in range(5):
        for part, whole in zip(gradient(X[k], y[k]), found):
            np.testing.assert_allclose(whole.asnumpy()[k], part.asnumpy(), rtol=2e-5, atol=1e-6)
    total = ms.grad(lambda x, y: ms.vmap(net)(x, y).sum(), None, net.trainable_params())(X, y)
    for part, whole in zip(total, found):
        np.testing.assert_allclose(part.asnumpy(), whole.asnumpy().sum(0), rtol=2e-5, atol=1e-5)


def test_inside_a_text_and_around_tangents():
    def outer(x, v):
        _, dots = ms.vmap(lambda x, v: ms.jvp(lambda x: x * x * x, x, v))(x, v)
        return (dots * dots).sum()

    x, v = X.asnumpy().astype(float), Y.asnumpy().astype(float)
    found = ms.grad(outer)(X, Y).asnumpy()
    np.testing.assert_allclose(found, 2 * (3 * x**2 * v) * 6 * x * v, rtol=1e-4, atol=1e-4)


def test_a_branch_that_examples_take_differently():
    def fn(x):
        if x.sum() > 0:
            x = ops.exp(x)
        return x * 2

    rows = X.asnumpy()
    expected = np.array([np.exp(r) * 2 if r.sum() > 0 else r * 2 for r in rows])
    assert 0 < sum(r.sum() > 0 for r in rows) < 5
    np.testing.assert_allclose(ms.vmap(fn)(X).asnumpy(), expected, rtol=1e-5)
    assert "for i in range(5)" in source()
    slopes = ms.grad(lambda x: ms.vmap(fn)(x).sum())(X).asnumpy()
    expected = np.array([np.exp(r) * 2 if r.sum() > 0 else 0 * r + 2 for r in rows])
    np.testing.assert_allclose(slopes, expected, rtol=1e-5)


def test_loops():
    def fn(x, n):
        kept = []
        for _ in range(n):
            x = ops.sin(x) + 0.5
            kept.append(x.sum())
        return ops.stack(kept)

    found = ms.vmap(fn, (0, None))(X, 3).asnumpy()
    expected = np.array([fn(Tensor(row), 3).asnumpy() for row in X.asnumpy()])
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_numbers_out_of_examples():
    """What makes a Python number of an example is run for one after the other."""

    def fn(x):
        return x * x.sum().item()

    rows = X.asnumpy()
    expected = rows * rows.sum(1, keepdims=True)
    np.testing.assert_allclose(ms.vmap(fn)(X).asnumpy(), expected, rtol=1e-5)


class Bent(nn.Cell):
    """A derivative that is not the real one, so that it shows who asked for it."""

    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return (dout * x * 5.0,)


class Twice(nn.Cell):
    def __init__(self):
        super().__init__()
        self.inner = Bent()
        self.inner.recompute()

    def construct(self, x):
        return (self.inner(x) * 2.0).sum()


def test_rules_of_the_users_and_recomputation():
    x, v = X.asnumpy(), Y.asnumpy()
    for cell in (Bent(), lambda x: ops.InsertGradientOf(lambda d: d * 5.0)(x) * x):
        slope = 5 * x if isinstance(cell, Bent) else 6 * x
        np.testing.assert_allclose(ms.vmap(ms.grad(cell))(X).asnumpy(), slope, rtol=1e-6)
        found = ms.grad(lambda x: ms.vmap(cell)(x).sum())(X)  # noqa: B023
        np.testing.assert_allclose(found.asnumpy(), slope, rtol=1e-6)
    found = ms.vmap(lambda x, v: ms.jvp(Bent(), x, v)[1])(X, Y).asnumpy()
    np.testing.assert_allclose(found, 5 * x * v, rtol=1e-5)
    np.testing.assert_allclose(ms.vmap(ms.grad(Twice()))(X).asnumpy(), 10 * x, rtol=1e-6)
    np.testing.assert_allclose(ms.jacrev(Bent())(X[0]).asnumpy(), np.diag(5 * x[0]), rtol=1e-6)
    np.testing.assert_allclose(ms.jacfwd(Bent())(X[0]).asnumpy(), np.diag(5 * x[0]), rtol=1e-6)


class Counting(nn.Cell):
    def __init__(self):
        super().__init__()
        self.c = Parameter(Tensor(np.zeros(3, np.float32)), name="c")

    def construct(self, x):
        self.c = self.c + x
        return x * self.c


def test_what_writes_is_refused_and_tangents_write_once():
    for make in (ms.vmap, ms.jacrev):
        cell = Counting()
        with pytest.raises(TypeError, match="writes to a Parameter"):
            make(cell)(X if make is ms.vmap else X[0])
        assert not cell.c.asnumpy().any()
    x = X.asnumpy()[0]
    for ask in (lambda c: ms.jvp(c, X[0], Y[0]), lambda c: ms.hvp(c, X[0], Y[0]),
                lambda c: [ms.vjp(c, X[0])[1](Y[0]) for _ in range(1)]):  # fmt: skip
        cell = Counting()
        ask(cell)
        np.testing.assert_array_equal(cell.c.asnumpy(), x)
    cell = Counting()
    _, pull = ms.vjp(cell, X[0])
    pull(Y[0]), pull(Y[0])
    np.testing.assert_array_equal(cell.c.asnumpy(), x)


def test_numpy_functions():
    found = ms.vmap(lambda x: np.sin(x).sum())(X.asnumpy().astype(np.float64))
    assert type(found) is np.ndarray and found.dtype == np.float64
    np.testing.assert_allclose(found, np.sin(X.asnumpy().astype(np.float64)).sum(1))


def test_a_batch_of_none():
    found = ms.vmap(dot)(Tensor(np.ones((0, 3), np.float32)), Tensor(np.ones((0, 3), np.float32)))
    assert found.shape == (0,)


@pytest.mark.parametrize(
    ("make", "args", "text"),
    [
        (lambda: ms.vmap(dot, (None, None)), (X, Y), "no argument has a batch axis"),
        (lambda: ms.vmap(dot, (0, 2)), (X, Y), "axis 2 is out of bounds for an array of 2"),
        (lambda: ms.vmap(dot), (X, Y[:4]), "have the sizes 5 and 4"),
        (lambda: ms.vmap(dot), (X, 3), "a int has no batch axis"),
        (lambda: ms.vmap(dot, (0,)), (X, Y), "size of 'in_axes' should be 2"),
        (
            lambda: ms.vmap(dot, ((0, 0), 0)),
            (X, Y),
            "a tuple of axes is given for an argument that is not",
        ),
        (lambda: ms.vmap(dot, out_axes=1), (X, Y), "out_axes is 1 for a result of 1 dimensions"),
        (lambda: ms.vmap(lambda x, y: x.sum().item()), (X, Y), "differ between the examples"),
        (lambda: ms.vmap(dot, 0.5), (X, Y), "can only be int or None, but got float"),
        (lambda: ms.vmap(3), (X,), "The fn should be callable, but got int"),
    ],
)
def test_refused(make, args, text):
    with pytest.raises((TypeError, ValueError, RuntimeError), match=text) as caught:
        make()(*args)
    assert "<built in>" not in str(caught.value)


def folded(x, w):
    r = x * 2.0 if w.sum() > 0 else ops.stack([x, x * x])
    r = ops.sin(r)
    return r.sum()


def folded_by_itself(x, w):
    r = x * 2.0 if x.sum() > 0 else ops.stack([x, x * x])
    r = ops.sin(r) * w.sum()
    return r.sum()


@pytest.mark.parametrize("fn", [folded, folded_by_itself])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_values_whose_rank_depends_on_the_way(fn, sign):
    """Of unknown rank, they differ between the examples all the same."""
    x, w = np.array([[0.3, -0.8], [1.1, 0.4], [-0.6, 0.2]]), Tensor(sign * np.ones(2))
    expected = [fn(Tensor(row), w).asnumpy() for row in x]
    found = ms.vmap(fn, (0, None))(Tensor(x), w)
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-12)
    slopes = ms.grad(lambda x, w: ms.vmap(fn, (0, None))(x, w))(Tensor(x), w)
    np.testing.assert_allclose(
        slopes.asnumpy(), [ms.grad(fn)(Tensor(row), w).asnumpy() for row in x], rtol=1e-12
    )
