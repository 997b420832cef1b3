"""Images read at places, against the definition written out one element at a time."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.testing import check_grads

RNG = np.random.default_rng(2)
IMAGE, GRID = RNG.standard_normal((2, 3, 4, 5)), RNG.uniform(-1.6, 1.6, (2, 2, 3, 2))
VOLUME, PLACES = RNG.standard_normal((1, 2, 2, 3, 4)), RNG.uniform(-1.6, 1.6, (1, 2, 1, 3, 3))


def position(x: float, length: int, padding: str, corners: bool) -> float:
    """Where x in [-1, 1] is among the elements, told by walking to and fro."""
    at = (x + 1) / 2 * (length - 1) if corners else ((x + 1) * length - 1) / 2
    low, high = (0.0, length - 1.0) if corners else (-0.5, length - 0.5)
    if padding == "reflection":
        while not low <= at <= high:
            at = 2 * low - at if at < low else 2 * high - at
    return at if padding == "zeros" else min(max(at, 0.0), length - 1.0)


def sampled(x: np.ndarray, grid: np.ndarray, mode: str, padding: str, corners: bool) -> Any:
    """``grid_sample`` element by element."""
    space, out = x.shape[2:], np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for place in np.ndindex(grid.shape[:-1]):
        at = [position(grid[place][len(space) - 1 - d], n, padding, corners)
              for d, n in enumerate(space)]  # fmt: skip
        if mode == "nearest":
            corners_of = [((round(a), 1.0),) for a in at]
        else:
            corners_of = [((math.floor(a), 1 - a + math.floor(a)),
                           (math.floor(a) + 1, a - math.floor(a))) for a in at]  # fmt: skip
        for corner in itertools.product(*corners_of):
            index = tuple(i for i, _ in corner)
            if all(0 <= i < n for i, n in zip(index, space)):
                weight = math.prod(w for _, w in corner)
                out[(place[0], slice(None), *place[1:])] += (
                    weight * x[(place[0], slice(None), *index)]
                )
    return out


@pytest.mark.thorough
@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize(("x", "grid"), [(IMAGE, GRID), (VOLUME, PLACES)])
def test_grid_sample(x: Any, grid: Any, mode: str, padding: str, corners: bool) -> None:
    def fn(x: Any, grid: Any) -> Any:
        return ops.grid_sample(x, grid, mode, padding, corners)

    np.testing.assert_allclose(
        fn(Tensor(x), Tensor(grid)).asnumpy(), sampled(x, grid, mode, padding, corners), atol=1e-12
    )
    check_grads(fn, (Tensor(x), Tensor(grid)), order=2 if padding == "zeros" else 1, directions=1)


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 1, 3, 1), (2, 1, 2, 3, 4)])
def test_affine_grid(size: tuple[int, ...], corners: bool) -> None:
    space = size[2:]
    theta = RNG.standard_normal((2, len(space), len(space) + 1))
    grid = ops.affine_grid(Tensor(theta), size, corners).asnumpy()
    for place in np.ndindex(grid.shape[:-1]):
        ends = [1 if corners else (n - 1) / n for n in space]
        at = [end * (2 * i / (n - 1) - 1) if n > 1 else 0.0
              for i, n, end in zip(place[1:], space, ends)]  # fmt: skip
        expected = theta[place[0]] @ [*at[::-1], 1.0]
        np.testing.assert_allclose(grid[place], expected, atol=1e-12)
    check_grads(lambda t: ops.AffineGrid(corners)(t, size), (Tensor(theta),), order=1)


def test_a_map_that_moves_nothing_gives_the_image_back() -> None:
    theta = Tensor(np.broadcast_to(np.eye(2, 3), (2, 2, 3)))
    for corners in (False, True):
        grid = ops.affine_grid(theta, IMAGE.shape, corners)
        same = ops.GridSampler2D(align_corners=corners)(Tensor(IMAGE), grid).asnumpy()
        np.testing.assert_allclose(same, IMAGE, atol=1e-12)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError):
        ops.grid_sample(Tensor(IMAGE), Tensor(GRID), "bicubic")
    with pytest.raises(ValueError):
        ops.grid_sample(Tensor(IMAGE), Tensor(GRID), padding_mode="wrap")
    with pytest.raises(ShapeError):
        ops.grid_sample(Tensor(IMAGE), Tensor(PLACES))
    with pytest.raises(ShapeError):
        ops.affine_grid(Tensor(GRID), (1, 2, 3))
