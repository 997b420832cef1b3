"""Compiling takes as much work as the text is long, whatever its lines are."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms

X = np.array([0.1, 0.2, 0.3, 0.4])


def lines(line: str) -> Callable[[int], str]:
    """Texts that repeat ``line`` with the number ``k`` in it."""

    def text(count: int) -> str:
        body = "".join("    " + line.format(k=k, j=k % 4) + "\n" for k in range(count))
        return f"def f(x):\n    y = x * 1.0\n    z = np.zeros({count})\n{body}" + (
            "    return np.sum(y) + np.sum(z * z)\n"
        )

    return text


def displayed(count: int) -> str:
    items = ", ".join(f"x[{k % 4}] * {k}.5" for k in range(count))
    return f"def f(x):\n    items = [{items}]\n    return np.sum(np.array(items))\n"


def appended(count: int) -> str:
    body = "".join(f"    items.append(x * {k}.5)\n" for k in range(count))
    return f"def f(x):\n    items = []\n{body}    return np.sum(sum(items))\n"


TEXTS = {
    "assignments": lines("y = np.sin(y) * 0.{k} + x"),
    "item writes": lines("z[{k}] = x[{j}] * {k}.5"),
    "item writes that read": lines("y[{j}] = y[{j} - 1] * 0.5"),
    "augmented": lines("y += x * {k}.5"),
    "branches": lines("y = y * 1.5 if y[0] > {k}.5 else y"),
    "displays": displayed,
    "appends": appended,
}


def made(text: str) -> Any:
    """The function ``f`` of a text that can be read again."""
    name = f"<{hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def work(text: str) -> int:
    """How many functions are called, of Python's text and built in, until there is a gradient."""
    f, count = made(text), 0

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        ms.grad(f)(X)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("kind", TEXTS)
def test_work_grows_as_the_text_does(kind: str) -> None:
    text = TEXTS[kind]
    work(text(5))  # what is done once in a process is done
    few, some, many = (work(text(count)) for count in (40, 80, 160))
    assert (many - some) / (some - few) < 2.06, (few, some, many)
