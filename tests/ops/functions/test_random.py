"""Random draws: what is drawn, when, from where, and what of it has a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff_compiler import (
    Generator,
    Tensor,
    check_grads,
    float16,
    get_rng_state,
    gradient_source,
    int32,
    jit,
    manual_seed,
    nn,
    ops,
    set_rng_state,
    set_seed,
    value_and_grad,
)
from autodiff_compiler.errors import NoDerivative

X = Tensor(np.linspace(-1.0, 2.0, 12, dtype=np.float32).reshape(3, 4))
MANY = (20000,)


@pytest.mark.parametrize(
    ("draw", "mean", "variance"),
    [
        (lambda: ops.rand(*MANY), 0.5, 1 / 12),
        (lambda: ops.randn(MANY), 0.0, 1.0),
        (lambda: ops.standard_normal(MANY), 0.0, 1.0),
        (lambda: ops.StandardNormal()(MANY), 0.0, 1.0),
        (lambda: ops.UniformReal()(MANY), 0.5, 1 / 12),
        (lambda: ops.standard_laplace(MANY), 0.0, 2.0),
        (lambda: ops.normal(MANY, 3.0, 2.0), 3.0, 4.0),
        (lambda: ops.laplace(MANY, 1.0, 0.5), 1.0, 0.5),
        (lambda: ops.uniform(MANY, Tensor(-1.0), Tensor(3.0)), 1.0, 16 / 12),
        (lambda: ops.gamma(MANY, Tensor(3.0), Tensor(2.0)), 1.5, 0.75),
        (lambda: ops.random_gamma(Tensor(MANY), Tensor([3.0])), 3.0, 3.0),
        (lambda: ops.poisson(MANY, Tensor(2.0)), 2.0, 2.0),
        (lambda: ops.random_poisson(MANY, Tensor([0.5])), 0.5, 0.5),
        (lambda: ops.randint(2, 8, MANY), 4.5, 35 / 12),
        (lambda: ops.UniformInt()(MANY, 0, 6), 2.5, 35 / 12),
        (lambda: ops.bernoulli(ops.zeros(MANY), 0.3), 0.3, 0.21),
        (lambda: ops.full(MANY, 0.2).bernoulli(), 0.2, 0.16),
        (lambda: ops.dropout(ops.ones(MANY), 0.2), 1.0, 0.25),
        (lambda: ops.multinomial(Tensor([0.2, 0.0, 0.6]), MANY[0]), 1.5, 0.75),
        (lambda: ops.random_categorical(ops.log(Tensor([[0.25, 0.75]])), MANY[0]), 0.75, 0.1875),
        (lambda: -ops.rrelu(-ops.ones(MANY), 0.1, 0.3), 0.2, 0.04 / 12),
    ],
)
def test_mean_and_variance(draw: Any, mean: float, variance: float) -> None:
    """Within five deviations of what the distribution has."""
    set_seed(11)
    numbers = draw().asnumpy().astype(float).ravel()
    assert abs(numbers.mean() - mean) < 5 * np.sqrt(variance / numbers.size)
    spread = (numbers - mean) ** 2
    assert abs(spread.mean() - variance) < 5 * spread.std() / np.sqrt(numbers.size)


def test_shapes_and_dtypes() -> None:
    assert ops.rand(2, 3).shape == ops.rand((2, 3)).shape == (2, 3)
    assert str(ops.rand(2, dtype=float16).dtype) == "Float16"
    assert str(ops.randn_like(Tensor(np.ones((2, 3)))).dtype) == "Float64"
    assert str(ops.randint(0, 5, (2,), dtype=int32).dtype) == "Int32"
    assert str(ops.multinomial(Tensor([[0.5, 0.5]]), 4).dtype) == "Int32"
    assert ops.multinomial(Tensor([[0.5, 0.5]]), 4).shape == (1, 4)
    assert ops.uniform((3,), Tensor([[0.0], [1.0]]), Tensor(2.0)).shape == (2, 3)
    assert ops.random_categorical(X, 5).shape == (3, 5)
    assert ops.uniform((4,), Tensor(1), Tensor(3), dtype=int32).asnumpy().dtype == np.int32
    assert ops.rand(0, 3).shape == (0, 3) and ops.rand(()).shape == ()
    for refused in (lambda: ops.rand_like(Tensor([1])), lambda: ops.randint_like(X, 0, 5),
                    lambda: ops.bernoulli(X, 1.5), lambda: ops.dropout(X, 1.0),
                    lambda: ops.dropout2d(X), lambda: ops.multinomial(Tensor([1.0]), 2, False),
                    lambda: ops.Dropout(0.0), lambda: ops.gumbel_softmax(X, 0.0)):  # fmt: skip
        with pytest.raises(ValueError):
            refused()
    with pytest.raises(TypeError):
        ops.dropout(Tensor([1, 2]))


def test_orders() -> None:
    assert sorted(ops.randperm(6).tolist()) == list(range(6))
    rows = ops.shuffle(X).asnumpy()
    assert sorted(map(tuple, rows)) == sorted(map(tuple, X.asnumpy()))
    several = [ops.multinomial(Tensor([0.1, 0.0, 0.5, 0.4]), 3, False).tolist() for _ in range(20)]
    assert all(sorted(places) == [0, 2, 3] for places in several)
    firsts = [ops.multinomial(Tensor([0.9, 0.1]), 1, False).tolist()[0] for _ in range(300)]
    assert 5 < sum(firsts) < 70  # 30 are expected


def test_seeds() -> None:
    set_seed(5)
    first = [ops.rand(3).tolist(), ops.rand(3, seed=4).tolist(), ops.rand(3, seed=4).tolist()]
    assert first[0] != first[1] != first[2]
    set_seed(5)
    again = [ops.rand(3).tolist(), ops.rand(3, seed=4).tolist(), ops.rand(3, seed=4).tolist()]
    assert again == first
    state = get_rng_state()
    before = ops.randn(2).tolist()
    set_rng_state(state)
    assert ops.randn(2).tolist() == before
    mine, yours = Generator().manual_seed(3), manual_seed(3)
    assert ops.rand(2, seed=mine).tolist() == ops.rand(2).tolist()
    assert mine.initial_seed() == yours.initial_seed() == 3
    assert mine.get_state().tolist() == yours.get_state().tolist()
    assert ops.rand(2, seed=0).shape == (2,)


class Noisy(nn.Cell):
    """Draws in a loop, in a branch, from three places, and with something to differentiate."""

    def __init__(self) -> None:
        super().__init__()
        self.source = Generator()

    def construct(self, x, n):
        h = x
        for _ in range(n):
            h = ops.dropout(ops.tanh(h) + x, 0.4)
            if h.sum() > 0.5:
                h = h * ops.rand_like(h, seed=self.source)
        return ops.normal(h.shape, h, ops.exp(h), seed=6) + ops.uniform((4,), h, x * x)


def test_compiled_is_eager() -> None:
    net, values = Noisy(), []
    for run in (net.construct, jit(net.construct), lambda x, n: value_and_grad(net)(x, n)[0]):
        set_seed(2)
        net.source.manual_seed(9)
        values.append([run(X, 5).asnumpy() for _ in range(2)])
    eager, compiled, beside_gradient = values
    np.testing.assert_array_equal(eager[0], compiled[0])
    np.testing.assert_array_equal(eager[1], compiled[1])
    np.testing.assert_array_equal(eager, beside_gradient)
    assert not np.array_equal(eager[0], eager[1])


def test_draws_are_made_once_and_kept() -> None:
    set_seed(0)
    check_grads(Noisy(), (X, 4), order=2)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: ops.dropout(x, 0.5) * x,
        lambda x: ops.Dropout(0.7)(x)[0] * ops.Dropout(0.5, 2, 3)(x * x)[0],
        lambda x: ops.dropout1d(x, 0.5) * x,
        lambda x: ops.dropout2d(x.reshape(1, 3, 2, 2), 0.5),
        lambda x: ops.Dropout3D(0.5)(x.reshape(1, 3, 2, 2, 1))[0],
        lambda x: ops.shuffle(x) * ops.randn(3, 4),
        lambda x: ops.rrelu(x) * x,
        lambda x: ops.gumbel_softmax(x, 0.7, dim=0) * x,
        lambda x: ops.normal((2, 3, 4), x, x * x),
        lambda x: ops.laplace((4,), x, x),
        lambda x: ops.gamma((3, 4), Tensor(2.0), ops.exp(x)),
        lambda x: ops.bernoulli(x, 0.5) * x,
    ],
)
def test_gradients(fn: Any) -> None:
    set_seed(3)
    check_grads(fn, (X,), order=2)


def test_the_gradient_of_dropout_is_its_mask() -> None:
    set_seed(1)
    value, gradient = value_and_grad(lambda x: ops.dropout(x, 0.25))(ops.ones((50, 4)))
    np.testing.assert_array_equal(gradient.asnumpy(), value.asnumpy())
    assert set(np.unique(value.asnumpy())) == {np.float32(0), np.float32(1) / np.float32(0.75)}
    out, mask = ops.Dropout(0.5)(X)
    np.testing.assert_allclose(out.asnumpy(), X.asnumpy() * mask.asnumpy() * 2.0)
    for kept in (ops.dropout(X, 0.5, False), ops.dropout(X, 0.0)):
        np.testing.assert_array_equal(kept.asnumpy(), X.asnumpy())
    rows = ops.dropout1d(ops.ones((200, 3)), 0.5).asnumpy()
    assert (rows == rows[:, :1]).all() and 0.0 in rows and 2.0 in rows


def test_hard_gumbel_softmax_is_one_hot_with_the_soft_gradient() -> None:
    set_seed(4)
    weight = Tensor(np.arange(12, dtype=np.float32).reshape(3, 4))
    hard, slope = value_and_grad(lambda x: (ops.gumbel_softmax(x, 0.7, True) * weight).sum())(X)
    set_seed(4)
    _, soft_slope = value_and_grad(lambda x: (ops.gumbel_softmax(x, 0.7) * weight).sum())(X)
    np.testing.assert_allclose(slope.asnumpy(), soft_slope.asnumpy(), rtol=1e-5, atol=1e-6)
    set_seed(4)
    chosen = ops.gumbel_softmax(X, 0.7, True).asnumpy()
    np.testing.assert_allclose(np.sort(chosen), np.sort(np.eye(4, dtype=np.float32)[:3]), atol=1e-6)
    assert hard.asnumpy() == pytest.approx((chosen * weight.asnumpy()).sum(), rel=1e-6)


def test_tensors_filled_in_place() -> None:
    set_seed(8)
    x = ops.zeros(MANY)
    fills = ((lambda: x.normal_(3.0, 2.0), 3.0, 2.0), (lambda: x.uniform_(1, 4), 2.5, 0.866))
    for fill, mean, spread in fills:
        assert fill() is x
        assert abs(x.asnumpy().mean() - mean) < 0.1
        assert abs(x.asnumpy().std() - spread) < 0.05
    assert x.masked_fill_(x > 2.0, -1.0) is x and x.asnumpy().max() <= 2.0

    def fn(x: Any, scale: Any) -> Any:
        noise = x * 1.0
        noise.uniform_(1.0, scale.sum()).masked_fill_(x > 1.0, 0.5)
        return noise * x

    check_grads(fn, (X, Tensor([2.0, 1.5])), order=2)


def test_a_gradient_through_rejections_is_refused() -> None:
    with pytest.raises(NoDerivative):
        value_and_grad(lambda alpha: ops.gamma((2,), alpha, 1.0))(Tensor(2.0))


def test_the_source_takes_its_generators() -> None:
    def fn(x, source):
        return ops.dropout(x, 0.5) + ops.rand(2, seed=source) * x + ops.dropout(x, 0.5, seed=8)

    text = gradient_source(fn, Tensor([1.0, 2.0]), Generator())
    assert "fn_forward(x, generator, rng, rng_8)" in text
    space: dict[str, Any] = {}
    exec(text, space)
    x = np.array([1.0, 2.0], np.float32)

    def sources() -> list[np.random.Generator]:
        return [np.random.default_rng(seed) for seed in (1, 2, 3)]

    residuals = space["fn_forward"](x, *sources())
    generator, rng, rng_8 = sources()
    masks = rng.random(2, dtype=np.float32) < 0.5, rng_8.random(2, dtype=np.float32) < 0.5
    expected = masks[0] / 0.5 + generator.random(2, dtype=np.float32) + masks[1] / 0.5
    np.testing.assert_allclose(space["fn_backward"](residuals), expected)


@pytest.mark.parametrize("spec", ["f32[b,4]", "f32[?,?]", "any[...]"])
def test_shapes_that_are_not_known(spec: str) -> None:
    def fn(x):
        return ops.dropout(x, 0.5) * ops.randn_like(x)

    space: dict[str, Any] = {}
    exec(gradient_source(fn, spec), space)
    x = np.ones((3, 4), np.float32)
    residuals = space["fn_forward"](x, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    kept = rng.random(x.shape, dtype=np.float32) < 0.5
    expected = kept / 0.5 * rng.standard_normal(x.shape, dtype=np.float32)
    np.testing.assert_allclose(space["fn_backward"](residuals), expected)
