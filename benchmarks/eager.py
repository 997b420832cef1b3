"""Calls at once on Tensors beside the same calls of NumPy on the arrays in them.

The first table has the microseconds that an operator adds to NumPy's call; the limit is 3, and a
layer has a limit of its own for the whole call. The second has products of a batch with one
matrix, at once and compiled, as ratios to the product of all rows written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import autodiff_compiler as ad
from autodiff_compiler import Tensor, nn, ops
from benchmarks.rounds import interleaved, repeated

#: Microseconds that a call of an operator may add.
ADDED = 3.0
#: The ratio to the product of all rows that is within the limit.
RATIO = 1.6

Call = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """A call of ours beside one of NumPy, and the microseconds that it may take in all."""

    title: str
    ours: Call
    numpy: Call
    at_most: float | None = None


def _data(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def _softmax(a: np.ndarray) -> np.ndarray:
    powers = np.exp(a - a.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def operators() -> Iterator[Case]:
    """Operators on matrices of 8 x 8, and layers."""
    a, b = _data(8, 8), _data(8, 8) + 1
    x, y = Tensor(a), Tensor(b)
    yield Case("exp", lambda: ops.exp(x), lambda: np.exp(a))
    yield Case("x + y", lambda: x + y, lambda: a + b)
    yield Case("x * 2.0", lambda: x * 2.0, lambda: a * 2.0)
    yield Case("x > y", lambda: x > y, lambda: a > b)
    yield Case("matmul", lambda: ops.matmul(x, y), lambda: a @ b)
    yield Case("reduce_sum", lambda: ops.reduce_sum(x, 0), lambda: a.sum(0))
    yield Case("x.mean(1)", lambda: x.mean(1), lambda: a.mean(1))
    yield Case("x[1:]", lambda: x[1:], lambda: a[1:].copy())
    yield Case("reshape", lambda: x.reshape(4, 16), lambda: a.reshape(4, 16).copy())
    yield Case("transpose", lambda: ops.transpose(x, (1, 0)), lambda: a.T.copy())
    yield Case("concat", lambda: ops.concat((x, y)), lambda: np.concatenate((a, b)))
    yield Case("cast", lambda: ops.cast(x, ad.float64), lambda: a.astype(np.float64))
    yield Case("softmax", lambda: ops.softmax(x), lambda: _softmax(a))
    layer = nn.Dense(8, 8)
    w, c = layer.weight.asnumpy(), layer.bias.asnumpy()
    yield Case("nn.Dense(8, 8)", lambda: layer(x), lambda: a @ w.T + c, 12.0)
    net = nn.SequentialCell(nn.Dense(8, 8), nn.ReLU(), nn.Dense(8, 8))
    w1, c1, w2, c2 = (each.asnumpy() for each in net.trainable_params())
    yield Case("two layers", lambda: net(x), lambda: np.maximum(a @ w1.T + c1, 0) @ w2.T + c2, 24.0)


def products() -> Iterator[tuple[str, dict[str, Call]]]:
    """Products of a batch with one matrix, by every way to ask for them."""
    for batch, rows, inner, columns in (
        (64, 1, 64, 64),
        (8, 16, 64, 64),
        (32, 16, 128, 128),
        (32, 4, 512, 512),
        (16, 64, 512, 512),
    ):
        a, w = _data(batch, rows, inner), _data(columns, inner)
        x, v = Tensor(a), Tensor(w)
        layer = nn.Dense(inner, columns, has_bias=False, weight_init=v)
        compiled: Any = ad.jit(lambda p, q: p @ q.T)
        yield (
            f"{batch} x {rows} x {inner} times {inner} x {columns}",
            {
                "by hand": _by_hand(a, w),
                "np.matmul": _bound(lambda p, q: np.matmul(p, q.T), a, w),
                "nn.Dense": _bound(layer, x),
                "einsum": _bound(ops.einsum, "bij,kj->bik", x, v),
                "compiled": _bound(compiled, a, w),
            },
        )


def _bound(call: Callable[..., object], *args: Any) -> Call:
    return lambda: call(*args)


def _by_hand(a: np.ndarray, w: np.ndarray) -> Call:
    shape = (*a.shape[:-1], len(w))
    return lambda: np.dot(a.reshape(-1, a.shape[-1]), w.T).reshape(shape)


def _microseconds(calls: dict[str, Call], seconds: float = 0.003) -> dict[str, float]:
    for call in calls.values():
        call()  # generates kernels
        call()
    times = interleaved({name: repeated(call, seconds) for name, call in calls.items()})
    return {name: 1e6 * time for name, time in times.items()}


def main() -> int:
    """Prints both tables, and the rows outside the limits."""
    beyond = []
    print("| call | NumPy | ours | added | at most |\n|---|---:|---:|---:|---:|")
    for case in operators():
        times = _microseconds({"ours": case.ours, "numpy": case.numpy})
        added = times["ours"] - times["numpy"]
        limit = f"{ADDED:.0f} added" if case.at_most is None else f"{case.at_most:.0f} in all"
        print(
            f"| {case.title} | {times['numpy']:.2f} | {times['ours']:.2f} | {added:.2f} | {limit} |"
        )
        if added > ADDED if case.at_most is None else times["ours"] > case.at_most:
            beyond.append(case.title)
    print("\n| product | by hand, µs | np.matmul | nn.Dense | einsum | compiled |")
    print("|---|---:|---:|---:|---:|---:|")
    for title, calls in products():
        times = _microseconds(calls, 0.01)
        hand = times.pop("by hand")
        ratios = {name: time / hand for name, time in times.items()}
        print(f"| {title} | {hand:.1f} | {' | '.join(f'{each:.2f}' for each in ratios.values())} |")
        slow = [name for name, each in ratios.items() if name != "np.matmul" and each > RATIO]
        beyond += [f"{title} by {name}" for name in slow if hand > 20]
    print(f"\nOutside the limits: {', '.join(beyond)}." if beyond else "\nAll within the limits.")
    return 0


if __name__ == "__main__":
    main()
