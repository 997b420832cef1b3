"""Arguments that share memory, where the function writes to one of them. The value is Python's, or
the call is refused at the line of the write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.errors import CallError

OUTSIDE = np.arange(1.0, 5.0)


class Holder:
    """An object with an array."""

    def __init__(self) -> None:
        self.array = np.arange(1.0, 5.0)


HOLDER = Holder()


def item(a, b):
    a[0] = 5.0
    return (a * b).sum()


def whole(a, b):
    b[:] = b * 2
    return (a * b).sum()


def augmented(a, b):
    a += b
    return (a * b).sum()


def through_a_view(a, b):
    inner = a[1:]
    inner[0] = 9.0
    return (a * b).sum()


def read_through_a_view(a, b):
    inner = b[1:]
    a[1] = 9.0
    return inner.sum()


def in_a_loop(a, b):
    for i in range(len(a)):
        a[i] = a[i] + b[i - 1]
    return a.sum()


def in_a_branch(a, b):
    if b.sum() > 0:
        a[0] = 5.0
    return (a * b).sum()


def sets_first(values):
    values[0] = 9.0


def in_a_function(a, b):
    sets_first(a)
    return (a * b).sum()


def out_of_a_ufunc(a, b):
    np.multiply(a, 2.0, out=a)
    return (a * b).sum()


def returned(a, b):
    a[0] = 5.0
    return a.sum(), b


def outside(a, b):
    a[0] = 5.0
    return (a * OUTSIDE).sum() + b.sum()


def attribute(a, b):
    a[0] = 5.0
    HOLDER.array = HOLDER.array * a
    return HOLDER.array.sum()


def read_before(a, b):
    total = b.sum()
    a[0] = 5.0
    return a.sum() * total


def read_only(a, b):
    return (a * b).sum()


def apart() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(1.0, 5.0), np.arange(1.0, 5.0)


def same() -> tuple[np.ndarray, np.ndarray]:
    base = np.arange(1.0, 5.0)
    return base, base


def shifted() -> tuple[np.ndarray, np.ndarray]:
    base = np.arange(1.0, 6.0)
    return base[:4], base[1:]


def reversed_() -> tuple[np.ndarray, np.ndarray]:
    base = np.arange(1.0, 5.0)
    return base, base[::-1]


def interleaved() -> tuple[np.ndarray, np.ndarray]:
    base = np.arange(1.0, 9.0)
    return base[::2], base[1::2]


def halves() -> tuple[np.ndarray, np.ndarray]:
    base = np.arange(1.0, 9.0)
    return base[:4], base[4:]


def the_one_outside() -> tuple[np.ndarray, np.ndarray]:
    return OUTSIDE, np.arange(1.0, 5.0)


def the_attribute() -> tuple[np.ndarray, np.ndarray]:
    return HOLDER.array, np.arange(1.0, 5.0)


PROGRAMS = [item, whole, augmented, through_a_view, read_through_a_view, in_a_loop, in_a_branch,
            in_a_function, out_of_a_ufunc, returned, outside, attribute, read_before,
            read_only]  # fmt: skip
CALLS = [apart, same, shifted, reversed_, interleaved, halves, the_one_outside, the_attribute]
#: What is never refused: nothing is read that was written to under another name.
TAKES_ALL = {read_before, read_only}
WITHOUT_OVERLAP = {apart, interleaved, halves}


def python(program: Callable[..., Any], make: Callable[[], tuple]) -> Any:
    reset()
    found = program(*make())
    return [np.array(part) for part in (found if isinstance(found, tuple) else (found,))]


def reset() -> None:
    OUTSIDE[:] = np.arange(1.0, 5.0)
    HOLDER.array = np.arange(1.0, 5.0)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("ask", [ms.jit, ms.value_and_grad])
def test_the_value_is_pythons_or_the_call_is_refused(
    program: Callable[..., Any], ask: Callable[..., Any]
) -> None:
    compiled = ms.jit(program) if ask is ms.jit or program is returned else ask(program)
    for make in (*CALLS, *CALLS):  # again, when all that there is to compile is compiled
        want = python(program, make)
        reset()
        try:
            found = compiled(*make())
        except CallError as error:
            assert make not in WITHOUT_OVERLAP and program not in TAKES_ALL
            assert "shares memory" in str(error) and "copy" in str(error)
            assert "test_overlaps.py" in str(error)
            continue
        if ask is ms.value_and_grad and program is not returned:
            found = found[0]
        parts = found if isinstance(found, tuple) else (found,)
        for got, wanted in zip(parts, want, strict=True):
            np.testing.assert_allclose(got, wanted)


def test_items_of_one_container() -> None:
    def inside(rows):
        rows[0][0] = 5.0
        return (rows[0] * rows[1]).sum()

    def named(arrays):
        arrays["u"][0] = 5.0
        return (arrays["u"] * arrays["w"]).sum()

    u, w = np.arange(1.0, 5.0), np.arange(1.0, 5.0)
    assert ms.jit(inside)([u, w]) == ms.jit(named)({"u": u, "w": w}) == 34.0
    with pytest.raises(CallError, match="shares memory"):
        ms.jit(inside)([u, u])
    with pytest.raises(CallError, match="shares memory"):
        ms.jit(named)({"u": u, "w": u})


def test_tensors() -> None:
    def program(a, b):
        a[0] = 5.0
        return (a * b).sum()

    one, other = (ms.Tensor(np.arange(1.0, 5.0)) for _ in range(2))
    compiled = ms.jit(program)
    assert compiled(one, other).asnumpy() == 34.0
    with pytest.raises(CallError, match="shares memory"):
        compiled(one, one)


def test_many_arrays_are_looked_at_in_one_sweep() -> None:
    def step(weights, changes):
        total = 0.0
        for weight, change in zip(weights, changes):
            weight -= 0.5 * change
            total = total + (weight * change).sum()
        return total

    weights = [np.full(3, 1.0 + n) for n in range(30)]
    changes = [np.full(3, 2.0 - n) for n in range(30)]
    want = sum(((w - 0.5 * c) * c).sum() for w, c in zip(weights, changes))
    compiled = ms.jit(step)
    np.testing.assert_allclose(compiled(weights, changes), want)
    with pytest.raises(CallError, match="shares memory"):
        compiled(weights, [*changes[:-1], weights[3][:]])
    with pytest.raises(CallError, match="shares memory"):
        compiled([*weights[:-1], weights[0]], changes)
    np.testing.assert_allclose(compiled(weights, changes), want)
