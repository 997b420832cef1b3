"""What a product with the Hessian costs beside a gradient: of a two-layer network's loss.

The product is the tangent of the gradient, compiled as one function. In operations it should be
about two gradients and some; the promise is that it takes at most four times as long.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops

#: The promise.
MOST = 4.0


def loss_on(x: Tensor, y: Tensor) -> Callable[..., Any]:
    """The squared error of tanh(x w1 + b1) w2 + b2 as a function of the parameters."""

    def loss(w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
        h = ops.tanh(ops.matmul(x, w1) + b1)
        error = ops.matmul(h, w2) + b2 - y
        return (error * error).mean()

    return loss


def ratio(rows: int = 128, width: int = 256) -> float:
    """The time of a Hessian-vector product over that of a gradient, both called as users do."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Tensor:
        return Tensor((0.3 * rng.normal(size=shape)).astype(np.float32))

    loss = loss_on(normal(rows, width), normal(rows, width))
    weights = (normal(width, width), normal(width), normal(width, width), normal(width))
    along = (normal(width, width), normal(width), normal(width, width), normal(width))
    gradient = ms.grad(loss, (0, 1, 2, 3))
    times = taken(lambda: ms.hvp(loss, weights, along), lambda: gradient(*weights))
    return times[0] / times[1]


def taken(*calls: Callable[[], Any], rounds: int = 60) -> list[float]:
    """The least time of each call, in turn: what others do on the machine only adds to it."""
    least = [float("inf")] * len(calls)
    for _ in range(rounds):
        for number, call in enumerate(calls):
            start = time.perf_counter()
            call()
            least[number] = min(least[number], time.perf_counter() - start)
    return least


def main() -> None:
    """Prints the ratio for some sizes."""
    print("| rows | width | Hessian-vector product / gradient |\n|---|---|---|")
    for rows, width in ((32, 64), (128, 256), (256, 512)):
        print(f"| {rows} | {width} | {ratio(rows, width):.2f} |")


if __name__ == "__main__":
    main()
