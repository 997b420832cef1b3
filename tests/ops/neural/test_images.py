"""Images of other sizes against np.interp and repeats written out; channels against loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ops import operations as P
from autodiff_compiler.testing import check_grads

X = np.random.default_rng(8).normal(size=(2, 3, 4, 5)).astype(np.float32)


def close(got: Any, want: np.ndarray) -> None:
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4, atol=1e-5)


def interpolated(x: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """np.interp along the last two axes; beyond the ends it repeats them."""

    def along(axis: int, x: np.ndarray, places: np.ndarray) -> np.ndarray:
        numbers = np.arange(x.shape[axis])
        return np.apply_along_axis(lambda line: np.interp(places, numbers, line), axis, x)

    return along(-2, along(-1, x, columns), rows)


def test_bilinear() -> None:
    wide = ops.interpolate(Tensor(X), (7, 3), mode="bilinear", align_corners=True)
    close(wide, interpolated(X, np.linspace(0, 3, 7), np.linspace(0, 4, 3)))
    half = (np.arange(6) + 0.5) * 4 / 6 - 0.5, (np.arange(10) + 0.5) * 5 / 10 - 0.5
    close(ops.interpolate(Tensor(X), (6, 10), mode="bilinear"), interpolated(X, *half))
    close(P.ResizeBilinearV2()(Tensor(X), (2, 5)), interpolated(X, np.arange(2) * 2, np.arange(5)))


def test_nearest_and_area() -> None:
    close(ops.interpolate(Tensor(X), scale_factor=2), X.repeat(2, 2).repeat(2, 3))
    close(ops.interpolate(Tensor(X), (3, 5)), X[:, :, [0, 1, 2]])
    close(P.ResizeNearestNeighbor((2, 9), True)(Tensor(X)),
          X[:, :, [0, 3]][..., [0, 1, 1, 2, 2, 3, 3, 4, 4]])  # fmt: skip
    close(ops.interpolate(Tensor(X), (2, 1), mode="area"),
          X.reshape(2, 3, 2, 2, 5).mean((3, 4))[..., None])  # fmt: skip


def test_bicubic_keeps_what_is_on_the_places() -> None:
    same = ops.interpolate(Tensor(X), (7, 9), mode="bicubic", align_corners=True)
    close(same[:, :, ::2, ::2], X)
    flat = Tensor(np.full((1, 1, 3, 3), 2.0, np.float32))
    close(ops.interpolate(flat, (5, 2), mode="bicubic"), np.full((1, 1, 5, 2), 2.0))


def test_channels_for_space() -> None:
    x = np.arange(2 * 8 * 2 * 3, dtype=np.float32).reshape(2, 8, 2, 3)
    big = ops.pixel_shuffle(Tensor(x), 2)
    assert big.shape == (2, 2, 4, 6)
    for channel, row, column in np.ndindex(8, 2, 3):
        place = (2 * row + channel % 4 // 2, 2 * column + channel % 2)
        assert big[(1, channel // 4, *place)].item() == x[1, channel, row, column]
    close(ops.pixel_unshuffle(big, 2), x)
    close(ops.channel_shuffle(Tensor(x), 2), x[:, [0, 4, 1, 5, 2, 6, 3, 7]])


def test_patches_in_place() -> None:
    out = nn.Unfold([1, 2, 3, 1], [1, 2, 1, 1], [1, 1, 1, 1])(Tensor(X))
    assert out.shape == (2, 2 * 3 * 3, 2, 3)
    patch = X[1, :, 2:4, 1:4].transpose(1, 2, 0)  # at row 1, column 1: channels last
    np.testing.assert_array_equal(out.asnumpy()[1, :, 1, 1], patch.ravel())


@pytest.mark.parametrize(
    "net, shape",
    [
        (nn.Upsample((3, 4), mode="bilinear", align_corners=True), (1, 1, 2, 3)),
        (nn.Upsample((3, 5), mode="bicubic"), (1, 1, 2, 3)),
        (nn.Upsample((3, 4)), (1, 1, 2, 3)),
        (nn.PixelShuffle(2), (1, 4, 2, 1)),
    ],
    ids=lambda each: "",
)
def test_gradients(net: nn.Cell, shape: tuple[int, ...]) -> None:
    check_grads(net, [np.random.default_rng(4).normal(size=shape)])


def test_refusals() -> None:
    x = Tensor(X)
    with pytest.raises(ValueError, match="'mode' must be in"):
        ops.interpolate(x, (2, 2), mode="cubic")
    with pytest.raises(ValueError, match="'linear' is for inputs of"):
        ops.interpolate(x, 2, mode="linear")
    with pytest.raises(ValueError, match="has no meaning with 'nearest'"):
        ops.interpolate(x, (2, 2), align_corners=False)
    with pytest.raises(ValueError, match="one of 'size' and 'scale_factor'"):
        ops.interpolate(x)
    with pytest.raises(ShapeError, match="does not divide 3 channels"):
        ops.pixel_shuffle(x, 2)
    with pytest.raises(ShapeError, match="in 2 groups does not fit 3"):
        ops.channel_shuffle(x, 2)
