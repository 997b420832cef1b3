"""Programs made of one line of code each, compared with Python and with finite differences."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.errors import CompileError

X = np.array([0.5, -1.25, 2.1, 0.75])


def program(*lines: str) -> Callable[..., Any]:
    """Returns a function of ``x`` with these lines as its body."""
    text = "def f(x):\n" + "".join(f"    {line}\n" for line in lines)
    file = f"<program {text}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names: dict[str, Any] = {"np": np}
    exec(compile(text, file, "exec"), names)
    return names["f"]


def problem(function: Callable[..., Any], x: Any = X) -> str:
    """Returns what is wrong with the value and the gradient of ``function``; empty if they are
    right."""
    want = function(x.copy())
    slopes = [(function(x + step) - function(x - step)) / 2e-6 for step in 1e-6 * np.eye(len(x))]
    given = x.copy()
    value, gradient = ms.value_and_grad(function)(given)
    if not np.array_equal(given, x):
        return "the caller's array was written to"
    if not np.isclose(value, want, rtol=1e-12):
        return f"the value is {value}, and {want} in Python"
    if not np.allclose(gradient, slopes, rtol=1e-5, atol=1e-5):
        return f"the gradient is {gradient}, and {slopes} by differences"
    return ""


def problems(texts: dict[str, Callable[..., Any]]) -> list[str]:
    """Returns what is wrong with each of several programs."""
    found = []
    for name, function in texts.items():
        try:
            wrong = problem(function)
        except CompileError as error:
            wrong = str(error)
        found += [f"{name}: {wrong}"] if wrong else []
    return found


def refused(function: Callable[..., Any], said: str) -> None:
    """Checks that ``function`` is refused, with the place and these words."""
    with pytest.raises(CompileError, match=said) as caught:
        ms.value_and_grad(function)(X.copy())
    assert "^" in str(caught.value)
