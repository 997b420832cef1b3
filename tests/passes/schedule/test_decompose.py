"""Decomposition of large operations: the same numbers, to the sign of a zero."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.cost_model import changed_costs

ODD = [0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 1e-40]


@pytest.fixture(autouse=True)
def everything_is_large() -> Iterator[None]:
    with changed_costs(large_bytes=1):
        yield


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("taken", [True, False])
def test_a_choice_with_zero_is_one_to_the_bit(dtype: str, taken: bool):
    x = np.repeat(np.array(ODD, dtype), 2)
    mask = np.arange(len(x)) % 2 == taken

    def chosen(x, mask):
        return ops.where(mask, x, 0.0) if taken else ops.where(mask, 0.0, x)

    found = ms.jit(chosen)(Tensor(x), Tensor(mask)).asnumpy()
    wanted = np.where(mask, x, 0) if taken else np.where(mask, 0, x)
    assert found.dtype == dtype and found.tobytes() == wanted.astype(dtype).tobytes()
    assert "view(np.int" in ms.compile_info().units[-1].source


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("one, other", [
    (lambda x: x, lambda x: -x[::-1]), (lambda x: 1.5, lambda x: x), (lambda x: x[3], lambda x: x),
    (lambda x: x, lambda x: -0.0), (lambda x: x, lambda x: -float("inf")),
    (lambda x: x[:, None], lambda x: x), (lambda x: x, lambda x: x[:, None] * 2),
])  # fmt: skip
def test_a_choice_is_one_to_the_bit(dtype: str, one, other):
    x = np.array(ODD, dtype)
    mask = np.arange(len(x)) % 3 > 0

    def chosen(x, mask):
        return ops.where(mask, one(x), other(x))

    with np.errstate(all="ignore"):
        found = ms.jit(chosen)(Tensor(x), Tensor(mask)).asnumpy()
        wanted = np.where(mask, one(x), other(x))
    assert found.dtype == dtype and found.tobytes() == wanted.astype(dtype).tobytes()
    assert "np.where" not in ms.compile_info().units[-1].source


def test_a_choice_of_others_stays_one():
    whole = np.arange(4, dtype=np.int32)

    def chosen(x, z, mask):
        return ops.where(mask, x, 7), ops.where(mask, z, 1j)

    found = ms.jit(chosen)(Tensor(whole), Tensor(whole * 1j), Tensor(whole > 1))
    np.testing.assert_array_equal(found[0].asnumpy(), [7, 7, 2, 3])
    np.testing.assert_array_equal(found[1].asnumpy(), [1j, 1j, 2j, 3j])


def test_a_choice_goes_into_memory_that_may_be_lent():
    """Bits are written to allocated memory: a copied text runs without lent buffers."""
    x = np.linspace(-2, 2, 600, dtype=np.float32)

    def loss(x):
        return ops.sum(ops.where(x > 0.5, ops.exp(x), ops.sin(x)) * ops.cos(x))

    found = ms.grad(loss)(Tensor(x)).asnumpy()
    unit = ms.compile_info().units[-1]
    scope: dict = {}
    exec(unit.source, scope)
    residuals = scope["loss_forward"](x)
    np.testing.assert_array_equal(scope["loss_backward"](residuals), found)
    slope = np.where(x > 0.5, np.exp(x) * (np.cos(x) - np.sin(x)), np.cos(2 * x))
    np.testing.assert_allclose(found, slope, rtol=1e-5, atol=1e-6)
    assert "is None else" in unit.source and ".view(np.int32), out=" in unit.source


def test_only_an_array_of_bools_masks_bits():
    x = np.array([1.5, -2.5, 4.0], np.float32)

    def chosen(x, counts, number):
        return ops.where(counts, x, 0.0) + ops.where(number > 1.0, 0.0, x)

    found = ms.jit(chosen)(Tensor(x), Tensor(np.array([2, 0, -1], np.int32)), 2.0)
    np.testing.assert_array_equal(found.asnumpy(), [1.5, 0.0, 4.0])


def test_a_number_is_chosen_too():
    x = np.array([[-1.0, 2.5], [0.5, -3.0]], np.float32)
    found = ms.grad(lambda x: ops.relu6(x * 3.0).sum() / 7)(Tensor(x))
    np.testing.assert_allclose(found.asnumpy(), [[0, 0], [3 / 7, 0]], rtol=1e-6)


@pytest.mark.parametrize("exponent", [3, 4, -1, -2, 3.0])
def test_small_powers_are_products(exponent: float):
    x = np.array([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 1e-20, -1e30])

    def raised(x):
        return x**exponent

    with np.errstate(all="ignore"):
        found = ms.jit(raised)(Tensor(x)).asnumpy()
        wanted = np.power(x, exponent)
    np.testing.assert_allclose(found, wanted, rtol=1e-15)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
    assert "np.power" not in ms.compile_info().units[-1].source


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
@pytest.mark.parametrize("bound", [0, -0.0, 2, -2.5])
def test_a_bound_is_one_to_the_bit(dtype: str, bound: float):
    """NaN wins, and of two zeros the sign is the one that NumPy gives."""
    if dtype == "int32":
        bound = int(bound)
    x = np.arange(-4, 4).astype(dtype) if dtype == "int32" else np.array(ODD * 3, dtype)

    def limited(x):
        return ops.maximum(x, bound), ops.minimum(bound, x)

    found = ms.jit(limited)(Tensor(x))
    for got, wanted in zip(found, (np.maximum(x, bound), np.minimum(bound, x))):
        assert got.asnumpy().dtype == dtype and got.asnumpy().tobytes() == wanted.tobytes()
    clips = bool(bound) and dtype in ("float32", "float64")
    assert ms.compile_info().units[-1].source.count("np.clip(") == 2 * clips


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_bound_of_zero_within_a_sum_gives_the_same_bits(dtype: str):
    x = np.array(ODD, dtype)
    with np.errstate(all="ignore"):
        found = ms.jit(ops.softplus)(Tensor(x)).asnumpy()
        wanted = np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1), None])
def test_a_norm_makes_no_array_of_squares(axes):
    x = np.random.default_rng(1).standard_normal((40, 30))
    x[:, 3] = 0
    if axes == (1,):
        x[2] = 0

    def normed(x):
        return ops.norm(x, dim=axes)

    found = ms.jit(normed)(Tensor(x)).asnumpy()
    np.testing.assert_allclose(found, np.sqrt((x * x).sum(axes)), rtol=1e-14)
    source = ms.compile_info().units[-1].source
    assert "linalg.norm(" not in source and "np.square(" not in source
    slope = ms.grad(lambda x: ops.sum(normed(x)))(Tensor(x)).asnumpy()
    size = np.sqrt((x * x).sum(axes, keepdims=True))
    np.testing.assert_allclose(slope, x / np.where(size == 0, 1, size), rtol=1e-14)


def test_a_softmax_beside_its_logarithm_takes_one_exponential():
    x = np.array([[1.0, 2.0, -np.inf], [900.0, -3.0, 0.5]])

    def entropy(x):
        return ops.softmax(x, -1), ops.log_softmax(x, -1)

    shares, logs = ms.jit(entropy)(Tensor(x))
    wanted = np.exp(x - x.max(1, keepdims=True))
    wanted /= wanted.sum(1, keepdims=True)
    np.testing.assert_allclose(shares.asnumpy(), wanted, rtol=1e-14)
    np.testing.assert_allclose(np.exp(logs.asnumpy()), wanted, rtol=1e-14)
    assert ms.compile_info().units[-1].source.count("np.exp(") == 1


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("ddof", [0, 1])
def test_a_variance_shares_the_deviations(kept: bool, ddof: int):
    """Against central differences in float64; the mean is taken once in all."""
    x, w = np.random.default_rng(0).standard_normal((2, 3, 4, 5))
    shape = (4, 1)

    def scaled(x, w):
        mean, variance = ops.mean(x, (0, 2), kept), ops.var(x, (0, 2), ddof, kept)
        deviations = x - mean.reshape(shape)
        return ops.sum(deviations / ops.sqrt(variance.reshape(shape) + 0.1) * w)

    def value(x):
        c = x - x.mean((0, 2), keepdims=True)
        variance = (c * c).sum((0, 2), keepdims=True) / (15 - ddof)
        return float((c / np.sqrt(variance + 0.1) * w).sum())

    out, found = ms.value_and_grad(scaled)(Tensor(x), Tensor(w))
    assert float(out) == pytest.approx(value(x), rel=1e-12)
    for place in [(0, 0, 0), (2, 3, 4), (1, 2, 0)]:
        step = np.zeros_like(x)
        step[place] = 1e-6
        wanted = (value(x + step) - value(x - step)) / 2e-6
        assert found.asnumpy()[place] == pytest.approx(wanted, rel=1e-6, abs=1e-8)
    assert ms.compile_info().units[-1].source.count("x.sum(") == 1


def test_a_large_log_softmax_is_differentiated_in_parts():
    """Two exponentials would be one too many; an infinite shift must not become a NaN."""
    x = np.array([[1.0, 2.0, -np.inf], [900.0, -3.0, 0.5]])
    labels = np.array([1, 2], np.int32)
    found = ms.grad(lambda x, at: ops.cross_entropy(x, at))(Tensor(x), Tensor(labels)).asnumpy()
    wanted = np.exp(x - x.max(1, keepdims=True))
    wanted /= wanted.sum(1, keepdims=True)
    wanted[[0, 1], labels] -= 1
    np.testing.assert_allclose(found, wanted / 2, atol=1e-15)
    assert ms.compile_info().units[-1].source.count("np.exp(") == 1
    rows = np.array([[-np.inf, -np.inf], [1.0, 3.0], [np.inf, 0.0]])
    with np.errstate(divide="ignore"):  # the logarithm of 0 is wanted
        total = ms.jit(lambda x: ops.logsumexp(x, -1))(Tensor(rows)).asnumpy()
    np.testing.assert_allclose(total, [-np.inf, np.logaddexp(1, 3), np.inf])
