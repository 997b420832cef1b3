"""A run-time list raises where an item is read that does not exist, used or not.

So does the sum of an empty list of arrays where the shape of the sum shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.errors import CompileError
from tests.differences import by_differences


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


def first(x: Any, n: int) -> Any:
    parts = _grown(x, n)
    parts.pop(0)
    return x * x * len(parts)


def stored(x: Any, n: int) -> Any:
    parts = [x]
    for i in range(n):
        parts.append(x * i)
    count = len(parts)
    parts[2] = x * 3
    return x * x * count


@pytest.mark.parametrize(
    ("program", "enough", "too_few"),
    [
        (last, 1, 0), (place, 1, -1), (pair, 2, 1), (read, 2, 1), (first, 1, 0), (stored, 2, 1),
    ],
)  # fmt: skip
def test_an_unused_item_must_exist(program: Callable[..., Any], enough: int, too_few: int) -> None:
    x = Tensor([1.5, 2.5])
    left = program(x, enough).asnumpy() / (x.asnumpy() ** 2)
    np.testing.assert_allclose(ms.grad(program)(x, enough).asnumpy(), 2 * x.asnumpy() * left)
    with pytest.raises(IndexError) as plain:
        program(x, too_few)
    with pytest.raises(IndexError) as compiled:
        ms.grad(program)(x, too_few)
    assert str(plain.value) == str(compiled.value)


def test_the_error_of_a_pop_is_readable(capsys: pytest.CaptureFixture[str]) -> None:
    def program(x: Any, n: int, at: int) -> Any:
        parts = []
        for i in range(n):
            parts.append(x * (i + 2))
        try:
            found = parts.pop(at)
        except IndexError as error:
            print(error)
            found = x
        return found * x

    x = Tensor([1.5, 2.5])
    for n, at in ((0, 0), (0, -1), (2, 1), (2, 5)):
        slope = 2 * program(x, n, at).asnumpy() / x.asnumpy()
        said = capsys.readouterr().out
        np.testing.assert_allclose(ms.grad(program)(x, n, at).asnumpy(), slope, rtol=1e-6)
        assert capsys.readouterr().out == said


def _item(x: Any, n: int) -> Any:
    return x[n]


def _reads(x: Any, n: int) -> Any:
    _y = x[n]
    return x * x


def _sets(x: Any, n: int) -> Any:
    y = x * 2
    y[n] = 3.0
    return x * x


def _calls(x: Any, n: int) -> Any:
    _y = _item(x, n)
    return x * x


def _loops(x: Any, n: int) -> Any:
    parts = [x]
    for _ in range(20):
        _y = x[n]
        parts[0] = parts[n - 2]
    return x * x


@pytest.mark.parametrize("program", [_reads, _sets, _calls, _loops])
def test_an_unused_row_must_exist(program: Callable[..., Any]) -> None:
    x = Tensor([1.5, 2.5, 3.5])
    np.testing.assert_allclose(ms.grad(program)(x, 2).asnumpy(), 2 * x.asnumpy())
    for run in (program, ms.jit(program), ms.grad(program)):
        with pytest.raises(IndexError, match="out of bounds"):
            run(x, 3)


def test_an_example_reads_an_unused_row() -> None:
    x = Tensor([[1.5, 2.5], [3.5, 4.5]])
    found = ms.vmap(_reads, (0, None))(x, 1)
    np.testing.assert_allclose(found.asnumpy(), x.asnumpy() ** 2)
    with pytest.raises(IndexError, match="out of bounds"):
        ms.vmap(_reads, (0, None))(x, 2)


def test_next_takes_an_iterator() -> None:
    def program(x: Any) -> Any:
        return next((x, x * x))

    with pytest.raises(CompileError) as refused:
        ms.grad(program)(Tensor([1.5]))
    (problem,) = refused.value.problems
    assert problem.cause == "next() takes an iterator, and a tuple is not one"
    assert problem.span is not None


def test_a_dict_that_grows_during_iteration_is_refused() -> None:
    def program(x: Any) -> Any:
        d = {"a": x}
        for name in d:
            d[name + "b"] = x * x
        return x

    with pytest.raises(RuntimeError, match="changed size during iteration"):
        program(Tensor([1.5]))
    with pytest.raises(CompileError, match="changed size during iteration"):
        ms.grad(program)(Tensor([1.5]))


def total(x: Any, y: float, n: int) -> Any:
    items = [x * i for i in range(n)]
    return np.sum(np.tanh(sum(items)) + y)


def total_in_loop(x: Any, y: float, n: int) -> Any:
    items, result = [], y
    for i in range(n):
        items.append(x * i)
    for _ in range(2):
        result = result * y + np.sum(sum(items) * x)
    return result


def unused(x: Any, y: float, n: int) -> Any:
    items = [x * i for i in range(n)]
    sum(items)
    return np.sum(x) * y


def grown_total(x: Any, y: float, n: int) -> Any:
    items = [x]
    for i in range(n):
        items.append(x * i)
    return np.sum(sum(items) + y)


def total_from(x: Any, y: float, n: int) -> Any:
    items = [x * i for i in range(n)]
    return np.sum(np.tanh(sum(items, np.zeros(3))) @ x + y)


def total_from_rows(x: Any, y: float, n: int) -> Any:
    items = [x * i for i in range(n)]
    return np.sum(sum(items, np.ones((2, 3))) * y)


def total_from_ints(x: Any, y: float, n: int) -> Any:
    items = [x * i for i in range(n)]
    return np.sum(sum(items, np.ones(3, int)) * y)


def total_of_numbers(x: Any, y: float, n: int) -> Any:
    items = [np.sum(x) * i for i in range(n)]
    return sum(items) * y


def total_of_bools(x: Any, y: float, n: int) -> Any:
    items = [x > 0 for _ in range(n)]
    return np.sum(sum(items, np.zeros(3, int)) * x) * y


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize(
    "program",
    [
        unused,
        total_in_loop,
        grown_total,
        total_from,
        total_from_rows,
        total_from_ints,
        total_of_numbers,
        total_of_bools,
    ],
)
def test_the_sum_of_a_list_has_the_gradient_of_its_items(
    program: Callable[..., Any], n: int
) -> None:
    _agrees_with_plain_python(program, n)


def returned(x: Any, y: float, n: int) -> Any:
    items = [x * y * i for i in range(n)]
    return sum(items)


def raised_in_a_branch(x: Any, y: float, n: int) -> Any:
    items = [x * i for i in range(n)]
    rows = np.sin(sum(items))
    if y > 0:
        return np.sum(rows * y)
    return np.sum(rows + x)


@pytest.mark.parametrize("program", [total, raised_in_a_branch])
def test_the_sum_of_an_empty_list_of_arrays_is_an_error(program: Callable[..., Any]) -> None:
    """Python's sum is the int 0: ``np.sum(0 + y)`` is one ``y``, not one for each element."""
    for n in (1, 3):
        _agrees_with_plain_python(program, n)
    for transform in (ms.grad, ms.value_and_grad):
        with pytest.raises(ValueError, match="sum of an empty list of arrays has no shape"):
            transform(program, (0, 1))(np.array([0.3, -0.4, 0.7]), 1.5, 0)


def test_the_sum_that_is_returned_is_an_array() -> None:
    x = np.array([0.3, -0.4, 0.7])
    np.testing.assert_allclose(ms.jit(returned)(x, 1.5, 3), returned(x, 1.5, 3))
    with pytest.raises(ValueError, match="sum of an empty list of arrays has no shape"):
        ms.jit(returned)(x, 1.5, 0)


def _agrees_with_plain_python(program: Callable[..., Any], n: int) -> None:
    x, y = np.array([0.3, -0.4, 0.7]), 1.5
    value, slopes = ms.value_and_grad(program, (0, 1))(x, y, n)
    np.testing.assert_allclose(value, program(x, y, n), rtol=1e-12)
    for place, slope in enumerate(slopes):
        expected = by_differences(program, place, (x, y, n))
        np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-8)
