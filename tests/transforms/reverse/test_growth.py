"""How source grows from order to order: a derivative more makes it at most three times as long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops

V = Tensor(np.array([1.0, -2.0, 0.5]))


def straight(x):
    return ops.tanh(x * x) * ops.exp(x)


def cube(x):
    return x * x * x


def branch(x):
    if x.sum() > 0:
        x = x * x * x
    else:
        x = ops.exp(x)
    return x * x


def choosing(x, n):
    h = x
    for _ in range(n):
        if h.sum() > 1.0:
            h = h * 0.5
        else:
            h = h * h + x
    return h


def size(fn: Callable[..., Any], types: tuple[str, ...], mode: str) -> int:
    """The lines of code in the functions that are printed."""
    text = ms.gradient_source(fn, *types, mode=mode).partition("import numpy as np")[2]
    return sum(bool(line.strip()) and line.strip()[0] != "#" for line in text.splitlines())


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize(
    ("fn", "types"),
    [
        (straight, ("f64[3]",)),
        (cube, ("f64[3]",)),
        (branch, ("f64[3]",)),
        (choosing, ("f64[3]", "int")),
    ],
)
def test_an_order_more_is_at_most_three_times_as_long(fn: Any, types: Any, mode: str) -> None:
    """Reverse over reverse up to order four; or one tangent over those sweeps."""
    sizes = []
    inner = fn
    for _ in range(4):
        sizes.append(size(inner, types, mode))
        inner = ms.grad(inner)
    assert all(after <= 3 * before for before, after in zip(sizes, sizes[1:])), sizes


class Block(nn.Cell):
    def __init__(self, width):
        super().__init__()
        self.a, self.b = nn.Dense(width, 2 * width), nn.Dense(2 * width, width)

    def construct(self, x):
        return x + self.b(ops.gelu(self.a(x)))


class Rows(nn.Cell):
    """Stacks of equal blocks beside each other; no two stacks have the same width."""

    def __init__(self, stacks, depth):
        super().__init__()
        widths = [3 + number for number in range(stacks)]
        blocks = [[Block(width) for _ in range(depth)] for width in widths]
        self.stacks = nn.CellList([nn.SequentialCell(row) for row in blocks])
        self.widths = widths

    def construct(self, x):
        total = 0.0
        for stack, width in zip(self.stacks, self.widths):
            total = total + ops.sum(stack(x[:, :width]))
        return total


def test_source_is_linear_in_distinct_cells() -> None:
    """And equal ones add neither functions nor statements but calls."""

    def text(stacks: int, depth: int) -> str:
        return ms.gradient_source(Rows(stacks, depth), "f32[2,16]", get_by_list=True)

    one, two, four = (len(text(stacks, 3)) for stacks in (1, 2, 4))
    assert four - two <= 2.1 * (two - one)
    shallow, deep = text(1, 3), text(1, 8)
    assert deep.count("block_backward(") == shallow.count("block_backward(") + 5
    for what in ("def ", "    # ", "np.", "dense_backward("):
        assert deep.count(what) == shallow.count(what)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_order_four_is_right(order: int) -> None:
    """Of x³ and of sin, by hand, in every mixture that four letters spell out of two."""
    x = Tensor(np.array([0.3, -0.7]))
    one = Tensor(np.ones(2))
    a = x.asnumpy()
    cubes = [3 * a**2, 6 * a, 6 + 0 * a, 0 * a]
    sines = [np.cos(a), -np.sin(a), -np.cos(a), np.sin(a)]

    def along(f: Any) -> Any:
        return lambda x: ms.jvp(f, x, one)[1]

    for letters in {("g" * k + "j" * (order - k)) for k in range(order + 1)} | {"gjgj"[:order]}:
        for f, expected in ((cube, cubes), (ops.sin, sines)):
            for letter in letters:
                f = ms.grad(f) if letter == "g" else along(f)
            np.testing.assert_allclose(f(x).asnumpy(), expected[order - 1], atol=1e-12)
