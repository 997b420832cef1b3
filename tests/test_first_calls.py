"""What a first call does besides compiling."""

from __future__ import annotations

import gc
import linecache
import sys
from types import FrameType
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops


@pytest.mark.parametrize("wanted", [True, False])
def test_compiling_looks_for_cycles_in_what_it_made_alone(wanted: bool) -> None:
    met: list[int] = []

    def note(phase: str, info: dict[str, Any]) -> None:
        met.append(info["generation"])

    collects = gc.isenabled()
    (gc.enable if wanted else gc.disable)()
    gc.callbacks.append(note)
    try:
        ms.grad(lambda x: ops.sin(x) * x)(Tensor([1.0, 2.0]))
        assert gc.isenabled() is wanted
    finally:
        gc.callbacks.remove(note)
        (gc.enable if collects else gc.disable)()
    assert met[:2] == ([0, 0] if wanted else [])  # its start and its end


def calls_of_compiling(statements: int) -> int:
    """How many functions the compiler calls for a text of so many lines on large arrays."""
    lines = [f"    x = ops.sin(x) * y + {k % 7}.5\n" for k in range(statements)]
    text = "".join(["def f(x, y):\n", *lines, "    return x.sum()\n"])
    name = f"<{statements} lines>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"ops": ops}
    exec(compile(text, name, "exec"), scope)
    x = Tensor(np.ones((40, 300), np.float32))
    count = 0

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        ms.grad(scope["f"], (0, 1))(x, x)
    finally:
        sys.setprofile(before)
        del linecache.cache[name]
    return count


def test_a_longer_text_takes_as_much_more_as_it_is_longer() -> None:
    calls_of_compiling(5)  # what is done once in a process is done
    few, some, many = (calls_of_compiling(statements) for statements in (15, 30, 60))
    assert (many - some) / (some - few) < 2.03
