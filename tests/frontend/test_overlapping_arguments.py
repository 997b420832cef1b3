"""Arguments whose elements overlap. A function that writes to one is refused at the write; one that
only reads is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import autodiff_compiler as ms
from autodiff_compiler.errors import CompileError


def matrix() -> np.ndarray:
    return np.arange(9.0).reshape(3, 3)


def item(x):
    x[0, 1] = 5.0
    x[1] *= 2.0
    return np.sum(x * x)


def at(x):
    np.add.at(x, 0, 0.7)
    return np.sum(x * x)


def through_a_view(x):
    row = x.T[0]
    row *= 3.0
    return np.sum(x * x)


def in_blocks(x):
    if x[0, 0] > -1.0:
        x[0, 1] = 5.0
    for i in range(3):
        x[i, 2] *= 2.0
    return np.sum(x * x)


def unpacked(x):
    first, *_ = x
    first += 0.5
    return np.sum(x * x)


def called(x):
    item(x)
    return np.sum(x * x)


def by_out(x):
    np.multiply(x, 2.0, out=x)
    return np.sum(x * x)


def reads(x):
    y = x.copy()
    y[0] = 5.0
    return np.sum(np.sin(x) * y)


WRITERS = (item, at, through_a_view, in_blocks, unpacked, called, by_out)
#: Arrays by how they lie in memory; those of the second table hold an element twice.
APART: dict[str, Callable[[], np.ndarray]] = {
    "C": matrix,
    "F": lambda: np.asfortranarray(matrix()),
    "reversed": lambda: matrix()[::-1, ::-1],
    "strided": lambda: np.arange(36.0).reshape(6, 6)[::2, ::2],
    "entwined": lambda: as_strided(np.arange(30.0), (3, 3), (24, 16)),
    "field": lambda: np.ones((3, 3), [("a", "i4"), ("b", "f8")])["b"],
}
OVERLAPPING: dict[str, Callable[[], np.ndarray]] = {
    "windows": lambda: sliding_window_view(np.arange(5.0), 3, writeable=True),
    "read-only windows": lambda: sliding_window_view(np.arange(5.0), 3),
    "broadcast": lambda: np.broadcast_to(np.arange(3.0), (3, 3)),
    "writable broadcast": lambda: as_strided(np.arange(3.0), (3, 3), (0, 8)),
    "steps": lambda: as_strided(np.arange(30.0), (3, 3), (32, 16)),
    "reversed windows": lambda: sliding_window_view(np.arange(5.0), 3, writeable=True)[:, ::-1],
}


def judged(fn: Callable[..., Any], arrays: Callable[[], Any]) -> None:
    """Compares value and gradient with Python and with differences."""
    value, slope = ms.value_and_grad(fn)(arrays())
    assert value == pytest.approx(fn(arrays()), rel=1e-12)
    step = 1e-6 * np.cos(np.arange(9.0)).reshape(3, 3)
    up, down = (np.array(arrays()) for _ in range(2))
    wanted = fn(up + step) - fn(down - step)
    assert 2 * np.sum(slope * step) == pytest.approx(wanted, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("fn", WRITERS)
def test_writes(fn: Callable[..., Any]) -> None:
    """Calls of both kinds alternate: a compiled function of one kind does not serve the other."""
    for apart, overlapping in zip(APART.values(), OVERLAPPING.values(), strict=True):
        judged(fn, apart)
        with pytest.raises(CompileError, match="elements of it share memory") as refused:
            ms.value_and_grad(fn)(overlapping())
        assert refused.value.problems[0].span is not None


def test_reads() -> None:
    for arrays in (*APART.values(), *OVERLAPPING.values()):
        judged(reads, arrays)
    ms.compile_info().clear()
    gradient = ms.grad(reads)
    for arrays in (*APART.values(), *OVERLAPPING.values()):
        gradient(arrays())
    assert len(ms.compile_info()) == 1


def in_list(items):
    items[0][0, 1] = 5.0
    return np.sum(items[0])


def in_dict(items):
    items["a"][0, 1] = 5.0
    return np.sum(items["a"])


@pytest.mark.parametrize(("fn", "made"), [(in_list, lambda x: [x]), (in_dict, lambda x: {"a": x})])
def test_in_containers(fn: Callable[..., Any], made: Callable[..., Any]) -> None:
    assert ms.value_and_grad(fn)(made(matrix()))[0] == fn(made(matrix()))
    with pytest.raises(CompileError, match="elements of it share memory"):
        ms.value_and_grad(fn)(made(OVERLAPPING["windows"]()))
