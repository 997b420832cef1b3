"""A list of run-time length raises where an item is read that is not there, used or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.errors import CompileError


def _grown(x: Any, n: int) -> list:
    parts = []
    for i in range(n):
        parts.append((x * (i + 1), i))
    return parts


def last(x: Any, n: int) -> Any:
    parts = []
    for i in range(n):
        parts.append(x * i)
    parts.pop()
    return x * x * len(parts)


def place(x: Any, n: int) -> Any:
    parts = [x]
    for _ in range(n):
        parts.append(x)
    parts.pop(n - 1)
    return x * x * len(parts)


def pair(x: Any, n: int) -> Any:
    parts = _grown(x, n)
    parts.pop(-2)
    return x * x * len(parts)


def read(x: Any, n: int) -> Any:
    parts = _grown(x, n)
    parts[1]
    return x * x * len(parts)


@pytest.mark.parametrize(
    ("program", "enough", "too_few"), [(last, 1, 0), (place, 1, -1), (pair, 2, 1), (read, 2, 1)]
)
def test_an_item_that_is_not_used_must_be_there(
    program: Callable[..., Any], enough: int, too_few: int
) -> None:
    x = Tensor([1.5, 2.5])
    left = program(x, enough).asnumpy() / (x.asnumpy() ** 2)
    np.testing.assert_allclose(ms.grad(program)(x, enough).asnumpy(), 2 * x.asnumpy() * left)
    with pytest.raises(IndexError) as plain:
        program(x, too_few)
    with pytest.raises(IndexError) as compiled:
        ms.grad(program)(x, too_few)
    assert str(plain.value) == str(compiled.value)


def test_next_takes_an_iterator() -> None:
    def program(x: Any) -> Any:
        return next((x, x * x))

    with pytest.raises(CompileError) as refused:
        ms.grad(program)(Tensor([1.5]))
    (problem,) = refused.value.problems
    assert problem.cause == "next() takes an iterator, and a tuple is none"
    assert problem.span is not None


def test_a_dict_that_grows_while_it_is_gone_through_is_refused() -> None:
    def program(x: Any) -> Any:
        d = {"a": x}
        for name in d:
            d[name + "b"] = x * x
        return x

    with pytest.raises(RuntimeError, match="changed size during iteration"):
        program(Tensor([1.5]))
    with pytest.raises(CompileError, match="changed size during iteration"):
        ms.grad(program)(Tensor([1.5]))
