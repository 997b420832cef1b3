"""What windows add up in C, whichever axis is the longer one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff_compiler import ops
from autodiff_compiler.runtime.native import Compiler
from tests.loops.native import compiled, joint_gradient

DRAW = np.random.default_rng(3)


def loss(x: Any, kernel: Any, weights: Any) -> Any:
    return ops.reduce_sum(ops.conv2d(x, kernel) * weights)


@pytest.mark.parametrize("sizes", ((4, 4), (9, 4), (4, 9), (9, 9)))
def test_a_gradient_in_images(sizes: tuple[int, int], c_compiler: Compiler) -> None:
    """Each element of the image gets the kernel, times the weights of the windows that read it."""
    counts = tuple(size - 2 for size in sizes)
    x, kernel = DRAW.normal(size=(2, 3, *sizes)), DRAW.normal(size=(4, 3, 3, 3))
    weights = DRAW.normal(size=(2, 4, *counts))
    wanted = np.zeros_like(x)
    for i, j in np.ndindex(counts):
        wanted[:, :, i : i + 3, j : j + 3] += np.einsum(
            "no,ocij->ncij", weights[:, :, i, j], kernel
        )
    call, _ = compiled(joint_gradient(loss, (x, kernel, weights), 1))
    _, found = call(x, kernel, weights)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
