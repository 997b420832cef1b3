"""Pooling against loops over windows, its kinks, and gradients of two orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, grad, gradient_source, ops
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ops import operations as P
from autodiff_compiler.testing import check_grads

RANDOM = np.random.default_rng(3)
X = RANDOM.permutation(np.linspace(-2, 2, 70)).reshape(1, 2, 5, 7).astype(np.float32)
ROW, BOX = X[:, :, 0], X[:, :, :4, :6].reshape(1, 2, 2, 4, 3)


def looped(x: np.ndarray, size: Any, stride: Any, pad: int, of: Callable[..., Any],
           fill: float = 0.0, counts: bool = True) -> Any:  # fmt: skip
    """``of`` applied to every window; ``counts`` tells whether padding is part of a window."""
    inside = np.pad(np.ones(x.shape[2:], bool), pad, constant_values=counts)
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), constant_values=fill)
    rows = range(0, x.shape[2] - size[0] + 1, stride[0])
    columns = range(0, x.shape[3] - size[1] + 1, stride[1])
    return np.stack([
        np.stack([of(x[:, :, i:i + size[0], j:j + size[1]][
            ..., inside[i:i + size[0], j:j + size[1]]]) for j in columns], -1) for i in rows
    ], -2)  # fmt: skip


def bins(x: np.ndarray, counts: tuple[int, int], of: Callable[..., Any]) -> np.ndarray:
    """``of`` applied to bins that cover an image evenly, and overlap where they must."""
    edges = [
        [(k * n // c, -(-(k + 1) * n // c)) for k in range(c)] for n, c in zip(x.shape[2:], counts)
    ]
    return np.stack([
        np.stack([of(x[:, :, a:b, c:d].reshape(1, 2, -1)) for c, d in edges[1]], -1)
        for a, b in edges[0]
    ], -2)  # fmt: skip


def mean(window: np.ndarray) -> np.ndarray:
    return window.mean(-1)


def largest(window: np.ndarray) -> np.ndarray:
    return window.max(-1)


CALLS: list[tuple[Callable[..., Any], np.ndarray, Any]] = [
    (lambda x: ops.max_pool2d(x, 2), X, looped(X, (2, 2), (2, 2), 0, largest)),
    (lambda x: ops.max_pool2d(x, (3, 2), 1, 1), X,
     looped(X, (3, 2), (1, 1), 1, largest, -np.inf)),
    (lambda x: ops.avg_pool2d(x, 2), X, looped(X, (2, 2), (1, 1), 0, mean)),
    (lambda x: ops.avg_pool2d(x, (3, 2), (2, 1), 1), X, looped(X, (3, 2), (2, 1), 1, mean)),
    (lambda x: ops.avg_pool2d(x, 3, 2, 1, False, False), X,
     looped(X, (3, 3), (2, 2), 1, mean, 0.0, False)),
    (lambda x: ops.avg_pool2d(x, 2, 2, divisor_override=3), X,
     looped(X, (2, 2), (2, 2), 0, mean) * 4 / 3),
    (lambda x: ops.avg_pool1d(x, 3, 2), ROW,
     np.stack([ROW[..., k:k + 3].mean(-1) for k in (0, 2, 4)], -1)),
    (lambda x: ops.avg_pool3d(x, (2, 2, 3)), BOX,
     np.stack([BOX[..., k:k + 2, :].mean((2, 3, 4)) for k in range(3)], -1)[:, :, None, :, None]),
    (lambda x: ops.max_pool3d(x, (2, 2, 3)), BOX,
     np.stack([BOX[..., k:k + 2, :].max((2, 3, 4)) for k in (0, 2)], -1)[:, :, None, :, None]),
    (lambda x: ops.lp_pool2d(x * x + 0.1, 3, 2), X,
     looped((X * X + 0.1) ** 3, (2, 2), (2, 2), 0, lambda w: w.sum(-1) ** (1 / 3))),
    (lambda x: ops.lp_pool1d(x, 2, 3, 2), ROW,
     np.stack([np.sqrt((ROW[..., k:k + 3] ** 2).sum(-1)) for k in (0, 2, 4)], -1)),
    (lambda x: ops.adaptive_avg_pool2d(x, (2, 3)), X, bins(X, (2, 3), mean)),
    (lambda x: ops.adaptive_avg_pool2d(x, (None, 1)), X, X.mean(3, keepdims=True)),
    (lambda x: ops.adaptive_avg_pool1d(x, 3), ROW,
     bins(ROW[:, :, None].repeat(5, 2), (1, 3), mean)[:, :, 0]),
    (lambda x: ops.adaptive_avg_pool3d(x, (1, 2, 3)), BOX,
     BOX.reshape(1, 2, 2, 2, 2, 3).mean((2, 4))[:, :, None]),
    (lambda x: ops.adaptive_max_pool2d(x, (2, 3)), X, bins(X, (2, 3), largest)),
    (lambda x: ops.adaptive_max_pool1d(x, 7), ROW, ROW),
    (lambda x: P.MaxPool(2, 2)(x), X, looped(X, (2, 2), (2, 2), 0, largest)),
    (lambda x: P.AvgPool(2, 1)(x), X, looped(X, (2, 2), (1, 1), 0, mean)),
    (lambda x: P.AvgPool(3, 1, "same")(x), X, looped(X, (3, 3), (1, 1), 1, mean, 0.0, False)),
    (lambda x: P.MaxPool3D(2, 2)(x), BOX,
     np.stack([BOX[..., k:k + 2, :2].max((2, 3, 4)) for k in (0, 2)], -1)[:, :, None, :, None]),
    (lambda x: P.AvgPool3D(2, 2)(x), BOX,
     np.stack([BOX[..., k:k + 2, :2].mean((2, 3, 4)) for k in (0, 2)], -1)[:, :, None, :, None]),
    (lambda x: P.AdaptiveAvgPool2D((2, 3))(x), X, bins(X, (2, 3), mean)),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(CALLS)))
def test_values_and_gradients(case: int) -> None:
    function, x, expected = CALLS[case]
    got = function(Tensor(x)).asnumpy()
    assert got.dtype == np.float32 and got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    check_grads(function, (x,))


@pytest.mark.parametrize("call", [
    lambda x: ops.max_pool2d(x, (2, 3), (2, 1), 1, 1, True),
    lambda x: ops.max_pool2d(x, (2, 3), 2, 0, (2, 1), True),
    lambda x: ops.adaptive_max_pool2d(x, (2, 3), True),
    lambda x: ops.adaptive_max_pool2d(x, (5, 1), True),
])  # fmt: skip
def test_positions_are_those_of_the_winners(call: Any) -> None:
    best, place = (each.asnumpy() for each in call(Tensor(X)))
    assert place.dtype == np.int64
    rows = np.take_along_axis(X.reshape(1, 2, -1), place.reshape(1, 2, -1), 2)
    np.testing.assert_array_equal(rows.reshape(best.shape), best)


def test_a_tie_goes_to_the_first() -> None:
    x = Tensor(np.ones((1, 1, 3, 3), np.float32))
    for pool, count in ((lambda x: ops.max_pool2d(x, 2, 1), 4),
                        (lambda x: ops.adaptive_max_pool2d(x, (2, 2)), 4),
                        (lambda x: ops.adaptive_max_pool2d(x, (1, 1)), 1)):  # fmt: skip
        got = grad(pool)(x).asnumpy()
        assert got[0, 0, 0, 0] == 1 and got.sum() == count
        assert got[0, 0, 2].tolist() == [0, 0, 0]


def test_a_window_may_hang_over_the_end() -> None:
    x = Tensor(np.arange(1.0, 6.0, dtype=np.float32).reshape(1, 1, 5))
    assert ops.avg_pool1d(x, 2, 2).asnumpy().tolist() == [[[1.5, 3.5]]]
    # what hangs over is no element of the window, but the padding before it is
    assert ops.avg_pool1d(x, 2, 2, 0, True).asnumpy().tolist() == [[[1.5, 3.5, 5.0]]]
    assert ops.avg_pool1d(x, 2, 2, 1).asnumpy().tolist() == [[[0.5, 2.5, 4.5]]]
    assert ops.avg_pool1d(x, 2, 2, 1, False, False).asnumpy().tolist() == [[[1.0, 2.5, 4.5]]]
    image = Tensor(np.arange(9.0, dtype=np.float32).reshape(1, 1, 3, 3))
    assert ops.max_pool2d(image, 2, ceil_mode=True).asnumpy().tolist() == [[[[4, 5], [7, 8]]]]
    check_grads(lambda v: ops.avg_pool2d(v, 2, 2, 0, True, False), (X,))


@pytest.mark.parametrize("pad", [0, 1])
def test_the_sum_of_a_window_is_wider_than_a_half(pad: int) -> None:
    x = np.full((1, 1, 5, 6), 3000, np.float16)
    found = ops.avg_pool2d(Tensor(x), 5, 1, pad, count_include_pad=False).asnumpy()
    np.testing.assert_array_equal(found, np.full_like(found, 3000))
    assert found.dtype == np.float16


@pytest.mark.parametrize("window", [(2, 2), (2, 1), (3, 2)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_an_infinite_cotangent_reaches_the_largest_alone(window, dtype) -> None:
    x = np.random.default_rng(3).permutation(36).reshape(1, 1, 6, 6).astype(dtype)
    pool = ms.grad(lambda v: ops.max_pool2d(v, *window) * Tensor(np.array(np.inf, dtype)))
    found = pool(Tensor(x)).asnumpy()
    wins = ms.grad(lambda v: ops.max_pool2d(v, *window))(Tensor(x)).asnumpy()
    np.testing.assert_array_equal(found, np.where(wins > 0, np.inf, 0.0))


def test_the_text_of_a_gradient_is_short() -> None:
    text = gradient_source(lambda x: ops.avg_pool2d(x, 2, 2), Tensor(X[:, :, :4, :6]))
    assert "for " not in text
    assert len([line for line in text.splitlines() if line.startswith("    ")]) < 20


def test_refusals() -> None:
    with pytest.raises(ShapeError, match="avg_pool2d needs 4 dimensions"):
        ops.avg_pool2d(Tensor(X[0, 0]), 2)
    with pytest.raises(ValueError, match="more than half"):
        ops.max_pool2d(Tensor(X), 2, 2, 2)
    with pytest.raises(ShapeError, match="does not fit an axis of size 5"):
        ops.max_pool2d(Tensor(X), 6)
