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

pytestmark = pytest.mark.thorough

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


def summed(count: int) -> str:
    return f"def f(x):\n    return np.sum({' + '.join(f'x * {k}.5' for k in range(count))})\n"


def dict_displayed(count: int) -> str:
    items = ", ".join(f"'{k}': x * {k}.5" for k in range(count))
    return f"def f(x):\n    items = {{{items}}}\n    return np.sum(sum(items.values()))\n"


def local_names(count: int) -> str:
    body = "".join(f"    v{k} = x * {k}.5\n" for k in range(count))
    return f"def f(x):\n{body}    return np.sum({' + '.join(f'v{k}' for k in range(count))})\n"


def branches_beside_names(count: int) -> str:
    body = "".join(
        f"    v{k} = x * {k}.5\n    if x[0] > {k}.5:\n        v{k} = v{k} * 2.0\n"
        for k in range(count)
    )
    return f"def f(x):\n{body}    return np.sum({' + '.join(f'v{k}' for k in range(count))})\n"


def returned_early(count: int) -> str:
    body = "".join(
        f"    if x[0] > {count - k}.5:\n        return np.sum(x * {k}.5)\n" for k in range(count)
    )
    return f"def f(x):\n{body}    return np.sum(x)\n"


def alternatives(count: int) -> str:
    body = "".join(
        f"    {'elif' if k else 'if'} x[0] > {count - k}.5:\n        y = x * {k}.5\n"
        for k in range(count)
    )
    return f"def f(x):\n{body}    else:\n        y = -x\n    return np.sum(y)\n"


def conditional(count: int) -> str:
    ways = " ".join(f"{k}.5 if x[0] > {count - k}.5 else" for k in range(count))
    return f"def f(x):\n    return np.sum(x * ({ways} 0.25))\n"


def helped(count: int) -> str:
    body = "".join(f"    y = g(y, 0.{k})\n" for k in range(count))
    return (
        f"def g(a, k):\n    return np.sin(a) * k\n\ndef f(x):\n    y = x\n{body}"
        "    return np.sum(y)\n"
    )


def comprehended(count: int) -> str:
    row = "sum([sum([x * (i + j) for j in range(2)]) for i in range(2)])"
    body = "".join(f"    y = y + {row} * {k}.5\n" for k in range(count))
    return f"def f(x):\n    y = x\n{body}    return np.sum(y)\n"


def appended(count: int) -> str:
    body = "".join(f"    items.append(x * {k}.5)\n" for k in range(count))
    return f"def f(x):\n    items = []\n{body}    return np.sum(sum(items))\n"


def tried(count: int) -> str:
    body = "".join(
        f"    try:\n        y = y * 1.5\n        if x[0] > {k}.5:\n            raise ValueError\n"
        f"    except ValueError:\n        y = y + 1.0\n"
        for k in range(count)
    )
    return f"def f(x):\n    y = x\n{body}    return np.sum(y)\n"


def unrolled(count: int) -> str:
    """A loop whose writes overlap, so that each waits for the reads of the ones before."""
    return (
        f"def f(x):\n    y = np.zeros({count}) + x[0]\n    z = y[1:]\n"
        f"    for i in range(1, {count}):\n        z[:i] *= 0.8\n"
        "        np.clip(z, -0.7, 0.7, out=z)\n    return np.sum(np.sin(y))\n"
    )


TEXTS = {
    "assignments": lines("y = np.sin(y) * 0.{k} + x"),
    "item writes": lines("z[{k}] = x[{j}] * {k}.5"),
    "item writes that read": lines("y[{j}] = y[{j} - 1] * 0.5"),
    "augmented": lines("y += x * {k}.5"),
    "branches": lines("y = y * 1.5 if y[0] > {k}.5 else y"),
    "displays": displayed,
    "dict displays": dict_displayed,
    "appends": appended,
    "sums": summed,
    "local names": local_names,
    "branches beside names": branches_beside_names,
    "calls of a helper": helped,
    "comprehensions": comprehended,
    "unrolled loops": unrolled,
}
#: Branches in each other, of which a function is made for every so many; and handlers, whose flags
#: are looked at in each branch that follows.
CHAINS = {
    "early returns": returned_early, "elif": alternatives, "conditional": conditional,
    "tries": tried,
}  # fmt: skip


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


@pytest.mark.parametrize("kind", CHAINS)
def test_work_grows_as_chains_of_branches_do(kind: str) -> None:
    text = CHAINS[kind]
    work(text(5))
    few, some, many = (work(text(count)) for count in (48, 96, 192))
    assert (many - some) / (some - few) < 2.3, (few, some, many)


def nested_calls(count: int) -> str:
    return f"def f(x):\n    y = {'np.sin(' * count}x{')' * count}\n    return np.sum(y)\n"


def nested_branches(count: int) -> str:
    lines = [f"{' ' * (k + 4)}if x[0] < {k}.5:\n{' ' * (k + 5)}y = y * x\n" for k in range(count)]
    return f"def f(x):\n    y = x * x\n{''.join(lines)}    return np.sum(y)\n"


def chained_operators(count: int) -> str:
    return f"def f(x):\n    return np.sum(x{' - x * 0.5' * count})\n"


@pytest.mark.parametrize(
    ("text", "count"),
    [(nested_calls, 90), (nested_branches, 90), (chained_operators, 900), (returned_early, 300)],
)
def test_the_derivative_of_what_is_deep(text: Callable[[int], str], count: int) -> None:
    f, step = made(text(count)), 1e-6
    ends = [[f(X + sign * step * row) for row in np.eye(4)] for sign in (1, -1)]
    expected = np.subtract(*ends) / (2 * step)
    np.testing.assert_allclose(ms.grad(f)(X), expected, rtol=1e-5, atol=1e-7)
