"""What a first call does besides compiling."""

from __future__ import annotations

import gc
import linecache
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops


@pytest.mark.thorough
@pytest.mark.parametrize("wanted", [True, False])
def test_compiling_looks_for_cycles_in_what_it_made_alone(wanted: bool) -> None:
    met: list[int] = []

    def note(phase: str, info: dict[str, Any]) -> None:
        met.append(info["generation"])

    collects = gc.isenabled()
    (gc.enable if wanted else gc.disable)()
    gc.collect()  # what was made before this test is not collected during it
    gc.callbacks.append(note)
    try:
        ms.grad(lambda x: ops.sin(x) * x)(Tensor([1.0, 2.0]))
        assert gc.isenabled() is wanted
    finally:
        gc.callbacks.remove(note)
        (gc.enable if collects else gc.disable)()
    assert met[:2] == ([0, 0] if wanted else [])  # its start and its end


def calls_of_compiling(lines: Sequence[str], *arguments: Any) -> int:
    """How many functions the compiler calls for the gradient of ``f``, the text of these lines."""
    text = "".join([*lines, "    return x.sum()\n"])
    name = f"<{len(lines)} lines>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"ops": ops}
    exec(compile(text, name, "exec"), scope)
    count = 0

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        ms.grad(scope["f"], (0, 1))(*arguments)
    finally:
        sys.setprofile(before)
        del linecache.cache[name]
    return count


def statements(count: int) -> int:
    """The work for so many lines on large arrays."""
    lines = [f"    x = ops.sin(x) * y + {k % 7}.5\n" for k in range(count)]
    large = Tensor(np.ones((40, 300), np.float32))
    return calls_of_compiling(["def f(x, y):\n", *lines], large, large)


def nested(depth: int, head: str, body: Sequence[str], tail: Sequence[str]) -> int:
    """The work for loops or branches inside each other, with a body before and a tail after the
    inner one."""
    levels = range(1, depth + 1)
    lines = [[4 * k * " " + head] + [4 * (k + 1) * " " + line for line in body] for k in levels]
    tails = [[4 * (k + 1) * " " + line for line in tail] for k in levels]
    rows = [*zip(levels, lines), *zip(reversed(levels), reversed(tails))]
    text = [line.format(k=k) + "\n" for k, row in rows for line in row]
    x = Tensor(np.ones((2, 3), np.float32))
    return calls_of_compiling(["def f(x, y, n):\n", *text], x, x, 1)


@pytest.mark.thorough
def test_a_longer_text_takes_as_much_more_as_it_is_longer() -> None:
    statements(5)  # what is done once in a process is done
    few, some, many = (statements(count) for count in (15, 30, 60))
    assert (many - some) / (some - few) < 2.03


@pytest.mark.parametrize(
    ("head", "body", "tail"),
    [
        ("for i{k} in range(n):", ["x = ops.sin(x) * y"], []),
        ("for i{k} in range(n):", ["x, y = y * 0.5, x"], []),
        ("for i{k} in range(n):", ["l{k} = []"], ["l{k}.append(x)", "x = x + l{k}[-1]"]),
        ("while x.sum() > {k}:", ["x = ops.sin(x) * y * 0.5"], []),
        ("if x.sum() > {k}:", ["x = ops.sin(x) * y"], []),
    ],
    ids=["for", "swap", "list", "while", "if"],
)
def test_each_nesting_level_adds_as_much_work_as_the_one_before(
    head: str, body: list[str], tail: list[str]
) -> None:
    nested(1, head, body, tail)
    few, some, many = (nested(depth, head, body, tail) for depth in (2, 3, 4))
    assert (many - some) / (some - few) < 1.6
