"""Copy elision for lists: changed in place where no alias can observe it, else copied."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops

X = Tensor([0.5, 0.75])


def growing(x: Any, n: int) -> Any:
    items = [x]
    for i in range(n):
        if i % 2 == 0:
            items.append(items[-1] * 0.5 + x)
        else:
            items[-1] = items[-1] * x
    return items[-1] + items[n // 3]


def kept_before(x: Any, n: int) -> Any:
    items = [x]
    longer = items + [x * 2]
    for _ in range(n):
        longer = longer + [longer[-1] * x]
        items.append(longer[-1])
    return items[-1] * longer[0] + len(items) * len(longer)


def begun_by_another(x: Any, n: int) -> Any:
    items = [x * i for i in range(n)]
    more = list(items)
    for _ in range(n):
        more.append(x)
    return items[-1] * len(items) + more[-1] * len(more)


def kept_in_the_loop(x: Any, n: int) -> Any:
    items, total = [x], x
    for _ in range(n):
        before = list(items)
        items.append(x * 2)
        total = total + before[-1] * len(before)
    return total


def forward_of(function: Any) -> str:
    text = ms.gradient_source(function, X, 4)
    return text[text.index("_forward(") : text.index("_backward(residuals):")]


@pytest.mark.parametrize("function", [growing, kept_before, begun_by_another, kept_in_the_loop])
def test_updates_in_place_are_not_observable(function: Any) -> None:
    for n in (1, 4):
        found = ms.jit(function)(X, n).asnumpy().tolist()
        assert found == function(X, n).asnumpy().tolist()


def test_a_list_that_only_grows_is_never_copied() -> None:
    text = ms.gradient_source(growing, X, 4)
    assert "items.append(" in text and "d_items.pop()" in text
    assert not re.search(r"list\(|\+ \[|\[:-1\]", text)


def test_a_list_that_is_read_afterwards_is_copied_once_before_the_loop() -> None:
    lines = forward_of(begun_by_another).splitlines()
    copies = [line for line in lines if "list(" in line]
    assert len(copies) == 1 and copies[0].startswith("    more = list(")


def test_a_list_that_the_same_iteration_reads_later_is_copied_there() -> None:
    assert re.search(r"\n        items\w* = \w+ \+ \[", forward_of(kept_in_the_loop))


def test_time_grows_with_the_length_and_not_with_its_square() -> None:
    def seconds(n: int) -> float:
        begun = time.perf_counter()
        ms.grad(growing)(X, n)
        return time.perf_counter() - begun

    seconds(10)
    short, long = (min(seconds(n) for _ in range(3)) for n in (2_000, 32_000))
    assert long < 60 * short  # 16 times the length; by the square it would be 256 times


def squares(x: Any, n: int) -> Any:
    items = []
    for i in range(n):
        items.append(x * x * i)
    return ops.stack(items).sum(0) + sum(item * i for i, item in enumerate(items))


def loop_of(count: int) -> Any:
    def repeated(x: Any) -> Any:
        items = [x]
        for i in range(count):
            items.append(items[-1] * 0.9 + i)
        return sum(items)

    return repeated


def test_the_text_does_not_depend_on_the_trip_count() -> None:
    assert ms.gradient_source(squares, X, 3) == ms.gradient_source(squares, X, 3_000)
    texts = (ms.gradient_source(loop_of(count), X) for count in (10, 10_000))
    few, many = (re.sub(" +#", " #", text) for text in texts)
    assert few.replace("range(10)", "range(10000)") == many
