"""``any``, ``all`` and iterators: where they stop, their side effects, and changes by library
code."""

from __future__ import annotations

import bisect
import heapq
import itertools
import operator

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.errors import CompileError, UnsupportedSyntax
from tests.frontend.numpy_rules.test_names import numeric

X = np.array([0.5, -1.5, 2.0])


def appended(x):
    seen = []
    found = any(seen.append(v) or v > 0 for v in x)
    return sum(seen) * found


def taken(x):
    items = iter([x[1], x[0], x[2]])
    found = any(v > 0 for v in items)
    return sum(items, x[0]) * found


def printed(x):
    return x.sum() * all(print(v) or v > 0 for v in [x[0], x[1], x[2]])


@pytest.mark.parametrize("program", [appended, taken, printed])
def test_items_with_effects_are_refused_where_only_the_run_decides(program):
    with pytest.raises(
        UnsupportedSyntax, match=r"known only when the function runs(.|\n)*with 'break'"
    ):
        ms.jit(program)(Tensor(X))


def counted(x):
    calls = [0]

    def asked(k):
        calls[0] += 1
        return k > 3

    left = (k for k in range(20))
    return (x * x).sum() * any(asked(k) for k in range(20)) * calls[0] + x.sum() * (
        any(left) + next(left)
    )


def inside_only(x):
    def high(v):
        held = [v, v]
        held.append(v)
        return sum(held) > 1

    return (x * x).sum() * (2 if any(high(v) for v in x) else 3)


def read_late(x):
    y = x.copy()
    ones, pairs, rest = iter(y), zip(y, y * 2), (v * 2 for v in y)
    total = next(ones) + next(pairs)[0] + next(rest)
    y[1] = x[0] * 5
    return total * (next(ones) + next(pairs)[0] * next(rest)) + sum(reversed(y))


def summed_alone(x):
    part = x * 2
    total = sum([part])
    total += 1.0
    return (part * total).sum()


def long_filters(x):
    return next(filter(lambda k: k == 4990, range(5000))) * (x * x).sum()


def turned_bits(x):
    return (x * x * ~np.array([1, 2, 250], np.uint8)).sum()


@pytest.mark.parametrize(
    "program", [
        counted, inside_only, read_late, summed_alone, long_filters, turned_bits
    ]
)  # fmt: skip
def test_values_and_gradients_are_those_of_python(program):
    value, gradient = ms.value_and_grad(program)(X.copy())
    np.testing.assert_allclose(value, program(X.copy()), rtol=1e-12)
    np.testing.assert_allclose(gradient, numeric(program, X), rtol=1e-6, atol=1e-6)


def below_two(k):
    return k < 2


@pytest.mark.parametrize("asked", [below_two, lambda k: k < 2], ids=["outside", "inside"])
def test_a_function_that_a_library_would_call_is_refused(asked):
    with pytest.raises(UnsupportedSyntax, match="'takewhile' is given a function"):
        ms.jit(lambda x: x * sum(itertools.takewhile(asked, [0, 1, 2])))(Tensor(X))


HELD = [3.0, 1.0]


@pytest.mark.parametrize(
    "changed",
    [
        lambda items: heapq.heapify(items),
        lambda items: bisect.insort(items, 2.0),
        lambda items: list.append(items, 2.0),
        lambda items: operator.setitem(items, 0, 2.0),
        lambda items: heapq.heapify(HELD),
    ],
    ids=["heapify", "insort", "append", "setitem", "outside"],
)
def test_a_library_that_changes_a_list_is_refused(changed):
    def program(x):
        items = [3.0, 1.0]
        changed(items)
        return x * items[0]

    with pytest.raises(UnsupportedSyntax, match="changes its argument in place"):
        ms.jit(program)(Tensor(X))
    assert HELD == [3.0, 1.0]


def one_of_two_iterators(x):
    items = iter([x, x]) if x[0] > 0 else iter([x])
    return sum(items)


def test_two_iterators_are_distinguished():
    with pytest.raises(CompileError, match="an iterator in one branch .* another iterator in"):
        ms.jit(one_of_two_iterators)(Tensor(X))


OUTSIDE = {1}


def two_names(x):
    one = {1}
    two = one
    two |= {2}
    return x.sum() * len(one)


def in_a_call(x):
    def grow(some):
        some |= {9}

    one = {1}
    grow(one)
    return x.sum() * len(one)


def of_outside(x):
    some = OUTSIDE
    some |= {4}
    return x.sum() * len(some)


@pytest.mark.parametrize("program", [two_names, in_a_call, of_outside])
def test_a_set_with_another_name_is_not_changed(program):
    with pytest.raises(UnsupportedSyntax, match=r"another name(.|\n)*s = s | t"):
        ms.jit(program)(Tensor(X))


def one_name(x):
    some = {1}
    for k in range(3):
        some |= {k}
    some -= {0}
    return x.sum() * len(some)


def test_a_set_of_one_name_is_changed():
    assert ms.jit(one_name)(Tensor(X)).item() == one_name(X) == 2.0


def test_a_float_has_no_bits():
    with pytest.raises(CompileError, match="bad operand type for unary ~"):
        ms.jit(lambda x: x.sum() * ~float(x[0]))(Tensor(X))
