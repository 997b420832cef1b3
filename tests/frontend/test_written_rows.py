"""Loops over the rows of an array that their bodies write to. NumPy's rows are views, so each
iteration sees the writes before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.errors import CompileError


def scaled(m):
    for row in m:
        row *= 0.9
    return np.sum(m * m)


def sums_in_first(m):
    for row in m:
        m[0] += row
        m[0] += row
    return np.sum(m * m)


def both_names(m):
    for i, row in enumerate(m):
        m[i, 0] = 3.0
        row[1] *= row[0]
    return np.sum(m * m)


def before_and_after(m):
    for row, i in zip(m, range(3)):
        m[i] = m[i - 1] * 0.5
        row += np.sum(row)
    return np.sum(m * m)


def two_rows(m):
    for a, b in zip(m, m):
        a += 1.0
        b *= 2.0
    return np.sum(m * m)


def other_name(m):
    k = m
    for row in m:
        k[1] = row * 2
    return np.sum(m * m)


def part(m):
    for row in m[1:]:
        row += m[0]
        m[0] *= 0.5
    return np.sum(m * m)


def row_before(m):
    last = m[0]
    for row in m:
        row += last
        last = row
    return np.sum(m * m)


def columns(m):
    for row in m.T:
        for i in range(3):
            row[i] = np.sin(row[i - 1])
    return np.sum(m * m)


def in_branches(m):
    for row in m:
        if row[0] > 0.3:
            row[1:] = 0.5 * row[0]
        else:
            m[0] *= 2
    return np.sum(m * m)


def name_set_anew(m):
    for row in m:
        row = row * 2
        m[0] += row
    return np.sum(m * m)


def next_row(m):
    for i, row in enumerate(m):
        m[(i + 1) % 3] += row * row[0]
    return np.sum(m * m)


def nested(m):
    for row in m:
        for other in m:
            other[0] += 0.1 * row[1]
    return np.sum(m * m)


def item_by_item(m):
    for row in m:
        for j in range(1, 3):
            row[j] = np.sin(row[j - 1]) + row[j]
            row[j] += row[0]
    return np.sum(m * m)


def items_of_a_row(m):
    row = m[0]
    for k, v in enumerate(row):
        row[k] = v * 2
        m[1, 0] += v * v
    return np.sum(m * m)


PROGRAMS = (
    items_of_a_row,
    scaled, sums_in_first, both_names, before_and_after, two_rows, other_name, part, row_before,
    columns, in_branches, name_set_anew, next_row, nested, item_by_item,
)  # fmt: skip


@pytest.mark.parametrize("fn", PROGRAMS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_are_views(fn: Callable[..., Any], order: str) -> None:
    made = np.sin(np.arange(9.0)).reshape(3, 3)
    step = 1e-6 * np.cos(np.arange(9.0)).reshape(3, 3)

    def given(by: float = 0.0) -> np.ndarray:
        return np.array(made + by * step, order=order)

    value, slope = ms.value_and_grad(fn)(given())
    assert value == pytest.approx(fn(given()), rel=1e-12)
    wanted = (fn(given(1.0)) - fn(given(-1.0))) / 2
    assert np.sum(slope * step) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("fn", [scaled, both_names, next_row])
def test_the_loop_stays_a_loop(fn: Callable[..., Any]) -> None:
    few, many = (ms.gradient_source(fn, f"f64[{n},3]") for n in (3, 300))
    assert len(many.splitlines()) < 2 * len(few.splitlines()) < 200


def rows_of_a_transpose(m):
    columns = np.swapaxes(m, 0, 1)
    for row in columns:
        columns[0] += row
        row[0] += 1.1
    return np.sum(np.sin(m))


def test_writes_through_views_of_views_cost_what_there_is_to_write():
    """A write makes each view of the array once, however many writes there were before."""

    def lines(count: int) -> int:
        return len(ms.gradient_source(rows_of_a_transpose, np.ones((2, count))).splitlines())

    few, more, most = map(lines, (4, 8, 16))
    assert most - more <= 2 * (more - few)


def test_an_unrolled_loop_over_many_rows_is_refused():
    with pytest.raises(CompileError) as refused:
        ms.grad(rows_of_a_transpose)(np.ones((2, 400)))
    assert "may share memory with the array" in str(refused.value)
    assert "m.copy()" in str(refused.value)
