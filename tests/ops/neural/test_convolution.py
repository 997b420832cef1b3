"""Convolutions against sums written out, their transposes against inner products, and gradients."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import GradOperation, Tensor, gradient_source, ops, value_and_grad
from autodiff_compiler.errors import DTypeError, ShapeError
from autodiff_compiler.ops import operations as P
from autodiff_compiler.ops.neural.convolution import conv_transpose, convolution_adjoint
from autodiff_compiler.testing import check_grads

RANDOM = np.random.default_rng(5)
CONVOLUTIONS = {1: ops.conv1d, 2: ops.conv2d, 3: ops.conv3d}
SIZES, KERNEL = (5, 4, 6), (2, 3, 2)


def numbers(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(np.float32)


def written_out(x: np.ndarray, w: np.ndarray, stride: int, pad: int, gap: int, groups: int) -> Any:
    """The definition: for each place and each tap of the kernel, one product of matrices."""
    space = x.ndim - 2
    x = np.pad(x, ((0, 0), (0, 0), *((pad, pad),) * space))
    reach = [(k - 1) * gap + 1 for k in w.shape[2:]]
    counts = [(n - r) // stride + 1 for n, r in zip(x.shape[2:], reach)]
    out = np.zeros((len(x), len(w), *counts))
    rows, columns = len(w) // groups, w.shape[1]
    for place in itertools.product(*map(range, counts)):
        for tap in itertools.product(*map(range, w.shape[2:])):
            at = tuple(p * stride + t * gap for p, t in zip(place, tap))
            for g in range(groups):
                seen = x[(slice(None), slice(g * columns, (g + 1) * columns), *at)]
                taps = w[(slice(g * rows, (g + 1) * rows), slice(None), *tap)]
                out[(slice(None), slice(g * rows, (g + 1) * rows), *place)] += seen @ taps.T
    return out


@pytest.mark.parametrize("space", [1, 2, 3])
@pytest.mark.parametrize(
    ("stride", "pad", "gap", "groups"),
    [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 2), (3, 1, 1, 4), (2, 0, 1, 2)],
)
def test_values_and_the_transposed_map(
    space: int, stride: int, pad: int, gap: int, groups: int
) -> None:
    x, w = numbers(2, 4, *SIZES[:space]), numbers(4, 4 // groups, *KERNEL[:space])
    expected = written_out(x, w, stride, pad, gap, groups)
    out = CONVOLUTIONS[space](Tensor(x), Tensor(w), None, stride, "pad", pad, gap, groups)
    np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-4, atol=1e-5)
    y = numbers(*expected.shape)
    many = ((pad,) * space, (stride,) * space, (gap,) * space)
    back = convolution_adjoint(Tensor(y), Tensor(w), SIZES[:space], *many, groups).asnumpy()
    assert back.dtype == np.float32
    assert np.vdot(back, x) == pytest.approx(np.vdot(y, expected), rel=1e-4)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_gradients_of_two_orders(groups: int, stride: int) -> None:
    def convolved(x: Any, w: Any, b: Any) -> Any:
        return ops.conv2d(x, w, b, stride, "pad", (1, 0), 1, groups)

    def transposed(x: Any, w: Any, b: Any) -> Any:
        return conv_transpose(x, w, b, stride, "pad", 1, 0, 1, groups)

    check_grads(convolved, (numbers(1, 2, 4, 4), numbers(2, 2 // groups, 2, 2), numbers(2)))
    check_grads(transposed, (numbers(1, 2, 3, 3), numbers(2, 1, 3, 2), numbers(groups)))


def test_gradients_in_one_and_three_dimensions() -> None:
    sequence, volume = numbers(2, 1, 7), numbers(1, 1, 2, 2, 3)
    check_grads(lambda x, w: ops.conv1d(x, w, None, 2, dilation=2), (sequence, numbers(2, 1, 2)))
    check_grads(lambda x, w: ops.conv3d(x, w, pad_mode="same"), (volume, numbers(1, 1, 2, 1, 2)))


def test_a_batch_of_any_size() -> None:
    def loss(x: Any, w: Any) -> Any:
        return ops.max_pool2d(ops.conv2d(x, w, groups=2, stride=2, pad_mode="same"), 2)

    def turned(x: Any, w: Any) -> Any:
        return conv_transpose(x, w, None, 2, "same", 0, 0, 1, 2)

    w = numbers(4, 1, 3, 3)
    for call, size in ((loss, (2, 6, 6)), (turned, (4, 3, 3))):
        scope: dict[str, Any] = {}
        signature = (f"f32[b,{size[0]},{size[1]},{size[2]}]", "f32[4,1,3,3]")
        exec(gradient_source(call, *signature, get_all=True), scope)
        x = numbers(3, *size)
        residuals = scope[f"{call.__name__}_forward"](x, w)
        got = scope[f"{call.__name__}_backward"](residuals)
        want = GradOperation(get_all=True)(call)(Tensor(x), Tensor(w))
        for one, other in zip(got, want):
            np.testing.assert_allclose(one, other.asnumpy(), rtol=1e-4, atol=1e-5)


def test_same_keeps_the_size_divided_by_the_stride() -> None:
    x, w = Tensor(numbers(1, 1, 7, 6)), Tensor(numbers(1, 1, 3, 2))
    for stride, size in ((1, (7, 6)), (2, (4, 3)), (3, (3, 2))):
        assert ops.conv2d(x, w, stride=stride, pad_mode="same").shape == (1, 1, *size)
    # the odd one of an uneven padding stands at the end
    ones = Tensor(np.ones((1, 1, 1, 2), np.float32))
    row = Tensor(np.array([[[[1.0, 2.0, 3.0]]]], np.float32))
    out = ops.conv2d(row, ones, pad_mode="same").asnumpy()
    assert out.ravel().tolist() == [3.0, 5.0, 3.0]


def test_transposed_sizes() -> None:
    x, w = Tensor(numbers(1, 1, 4)), Tensor(numbers(1, 1, 3))
    for mode, stride, length in (("valid", 2, 9), ("same", 2, 8), ("valid", 4, 16), ("pad", 2, 9)):
        assert conv_transpose(x, w, None, stride, mode, 0, 0, 1, 1).shape == (1, 1, length)
    assert conv_transpose(x, w, None, 2, "pad", 1, 1, 1, 1).shape == (1, 1, 8)


def test_classes() -> None:
    x, w = numbers(1, 2, 5, 5), numbers(4, 1, 3, 3)
    expected = written_out(x, w, 2, 1, 1, 2)
    out = P.Conv2D(4, 3, pad_mode="pad", pad=1, stride=2, group=2)(Tensor(x), Tensor(w))
    np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-4, atol=1e-5)
    turned = P.Conv2DTranspose(4, 3, pad_mode="pad", pad=1, stride=2, group=2)
    assert turned(out, Tensor(w), x.shape).shape == x.shape
    volume, box = Tensor(numbers(1, 1, 3, 3, 3)), Tensor(numbers(2, 1, 2, 2, 2))
    assert P.Conv3D(2, 2)(volume, box).shape == (1, 2, 2, 2, 2)
    assert P.Conv3DTranspose(2, 1, 2)(P.Conv3D(2, 2)(volume, box), box).shape == volume.shape


def test_patches() -> None:
    x = numbers(2, 3, 5, 6)
    columns = ops.unfold(Tensor(x), (2, 3), 1, (1, 0), (1, 3))
    assert columns.shape == (2, 18, 12)
    wide = np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0)))
    patch = wide[:, :, 2:4, 3:6].reshape(2, 18)
    np.testing.assert_array_equal(columns.asnumpy()[:, :, 2 * 2 + 1], patch)
    y = numbers(2, 18, 12)
    image = ops.fold(Tensor(y), (5, 6), (2, 3), 1, (1, 0), (1, 3)).asnumpy()
    assert np.vdot(image, x) == pytest.approx(np.vdot(y, columns.asnumpy()), rel=1e-4)
    check_grads(lambda v: ops.unfold(v, 2, 2, 1, 1), (numbers(1, 1, 3, 4),))
    check_grads(lambda v: ops.fold(v, (3, 3), 2), (numbers(1, 4, 4),))


def test_refusals() -> None:
    x, w = Tensor(numbers(1, 3, 4, 4)), Tensor(numbers(2, 2, 3, 3))
    with pytest.raises(ShapeError, match="the input has 3 channels, the weight"):
        ops.conv2d(x, w)
    with pytest.raises(ShapeError, match="conv2d needs 4 dimensions"):
        ops.conv2d(x[0], w)
    with pytest.raises(ShapeError, match="does not fit an axis of size 4"):
        ops.conv2d(x, Tensor(numbers(2, 3, 5, 5)))
    with pytest.raises(ValueError, match="'padding' must be 0"):
        ops.conv2d(x, Tensor(numbers(2, 3, 3, 3)), padding=1)
    with pytest.raises(ValueError, match="'padding' must not be negative, but got -1"):
        ops.conv2d(x, Tensor(numbers(2, 3, 3, 3)), pad_mode="pad", padding=-1)
    with pytest.raises(DTypeError, match="one dtype"):
        ops.conv2d(x, Tensor(np.ones((2, 3, 3, 3))))


def test_the_sums_of_a_depthwise_convolution_are_wider_than_a_half() -> None:
    x, w = np.full((1, 2, 50, 50), 1.0, np.float16), np.full((2, 1, 3, 3), 0.1, np.float16)
    x[:, :, 0, 0] = 2048.0  # an ulp is 2 from here on: in halves the rest of a window is lost
    w[:, :, 0, 0] = 1.0

    def convolved(x, w):  # type: ignore[no-untyped-def]
        return ops.conv2d(x, w, groups=2)

    out, (_, d_w) = value_and_grad(convolved, (0, 1))(Tensor(x), Tensor(w))
    assert out.asnumpy().dtype == d_w.asnumpy().dtype == np.float16
    taps = np.float32(w[0, 0])
    wanted = (np.float32(x[0, 0, :3, :3]) * taps).sum()
    assert out.asnumpy()[0, 0, 0, 0] == np.float16(wanted)
    assert d_w.asnumpy()[0, 0, 1, 1] == 48 * 48  # the sum of ones: no half counts past 2048
