"""What a cached gradient call costs beside the generated functions called directly on arrays, and
what the first call costs, from text to gradient.

The workload is the seed Net: x [2, 3] and y [3, 3], one parameter [1], all in float32.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Parameter, ParameterTuple, Tensor, nn, ops
from benchmarks.rounds import interleaved, repeated


class Net(nn.Cell):
    """The net of the seed documents."""

    def __init__(self) -> None:
        super().__init__()
        self.matmul = ops.MatMul()
        self.z = Parameter(Tensor(np.array([1.0], np.float32)), name="z")

    def construct(self, x, y):  # type: ignore[no-untyped-def]
        x = x * self.z
        out = self.matmul(x, y)
        return out


def _pair(source: str) -> tuple[Callable[..., tuple], Callable[..., tuple]]:
    scope: dict = {}
    exec(source, scope)
    return scope["net_forward"], scope["net_backward"]


def main() -> None:
    """Prints the ratios."""
    net = Net()
    weights = ParameterTuple(net.trainable_params())
    rng = np.random.default_rng(0)
    x, y, sens = (rng.standard_normal(s).astype(np.float32) for s in ((2, 3), (3, 3), (2, 3)))
    tx, ty, ts = Tensor(x), Tensor(y), Tensor(sens)
    gradient = ops.GradOperation(get_all=True, get_by_list=True, sens_param=True)(net, weights)

    start = time.perf_counter()
    gradient(tx, ty, ts)
    first = time.perf_counter() - start
    for _ in range(3):  # the second makes the quick way: a round must not take that for a call
        gradient(tx, ty, ts)

    flags = {"get_all": True, "get_by_list": True, "sens_param": True}
    forward, backward = _pair(ms.gradient_source(net, tx, ty, **flags))
    z = net.z.asnumpy()

    def generated() -> None:
        _, residuals = forward(x, y, z)
        backward(residuals, sens)

    def empty(a: object, b: object, c: object) -> None:
        return None

    calls = {
        "cached call": lambda: gradient(tx, ty, ts),
        "generated functions": generated,
        "empty call": lambda: empty(tx, ty, ts),
    }
    times = interleaved({name: repeated(call) for name, call in calls.items()})
    ratio = times["cached call"] / times["generated functions"]
    added = (times["cached call"] - times["generated functions"]) / times["empty call"]
    print("seed Net, gradient for 2 inputs and 1 parameter, sensitivity given")
    print(f"  cached GradOperation call / generated functions on arrays   {ratio:.2f}")
    print(f"  what the call adds, in empty Python calls                   {added:.0f}")
    print(f"  first call, text to gradient                                {first * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
