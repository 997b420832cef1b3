"""A list, dict or set from outside that is read as a whole may change in its place: the next call
must see it, and calls between two changes must compile nothing."""

from __future__ import annotations

import copy
import enum
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from tests.changes import X, assert_follows


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    ms.compile_info().clear()
    yield
    ms.compile_info().clear()


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


class Holder(nn.Cell):
    def __init__(self, held: Any, read: Callable[[Any], Any]):
        super().__init__()
        self.held, self.read = held, read

    def construct(self, x):
        return x * self.read(self.held)


def take_keywords(a, b=1.0):
    return a * b


def matched(held):
    match held:
        case [1.0, rest]:
            return rest
        case _:
            return 9.0


def by_key(held):
    product = 1.0
    for key in held:
        product = product * (2.0 if key == "c" else 3.0)
    return product


def by_item(held):
    product = 1.0
    for row in held:
        for item in row:
            product = product * item
    return product


L, M = [1.0, 2.0], [5.0, 2.0, 7.0]
D, E = {"a": 1.0, "b": 2.0}, {"a": 3.0, "c": 4.0}
N, O = [[1.0], [2.0]], [[1.0, 3.0], [2.0]]  # noqa: E741
READS: list[tuple[Any, Any, Callable[[Any], Any]]] = [
    (L, M, lambda held: 2.0 if 7.0 in held else 3.0),
    (L, M, lambda held: 2.0 if held == [1.0, 2.0] else 3.0),
    (L, M, lambda held: 2.0 if (held, 1) != ([1.0, 2.0], 1) else 3.0),
    (L, M, lambda held: 2.0 if held < [2.0] else 3.0),
    (L, [], lambda held: 2.0 if held else 3.0),
    (L, [], lambda held: 2.0 if not held else 3.0),
    (L, M, lambda held: held[:1][0] * len(held[1:])),
    (L, M, lambda held: float(np.sum(held))),
    (L, M, lambda held: float(Tensor(held).asnumpy().sum())),
    (L, M, lambda held: 2.0 if f"{held}" == "[1.0, 2.0]" else 3.0),
    (L, M, lambda held: (held.index(2.0) + 1) * (held.count(5.0) + 1.0)),
    (L, [1.0, 4.0], matched),
    (N, O, lambda held: 2.0 if held == [[1.0], [2.0]] else 3.0),
    (N, O, by_item),
    (D, E, lambda held: 2.0 if "c" in held else 3.0),
    (D, E, lambda held: held.get("c", 9.0)),
    (D, {"a": 3.0, "b": 2.0}, lambda held: dict(held)["a"] * {**held}["b"]),
    (D, {"a": 3.0, "b": 2.0}, lambda held: take_keywords(**held)),
    (D, E, lambda held: 2.0 if held == {"a": 1.0, "b": 2.0} else 3.0),
    (D, E, by_key),
    (D, E, lambda held: sum(held.values())),
    ({1.0, 2.0}, {1.0, 7.0}, lambda held: 2.0 if 7.0 in held else 3.0),
    ({1.0, 2.0}, {1.0, 7.0}, lambda held: sum(held)),
    (deque(L), deque(M), lambda held: sum(held) * len(held)),
    (OrderedDict(D), OrderedDict(E), lambda held: 2.0 if held == {"a": 1.0, "b": 2.0} else 3.0),
    ({Colour.RED: 2.0}, {Colour.RED: 5.0}, lambda held: held[Colour.RED]),
    ({(1, Colour.RED): 2.0}, {(1, Colour.RED): 5.0}, lambda held: sum(held[k] for k in held)),
]


def become(held: Any, other: Any) -> None:
    if other in (N, O):
        become(held[0], other[0])
        return
    held.clear()
    (held.extend if isinstance(held, (list, deque)) else held.update)(other)


@pytest.mark.parametrize(("start", "changed", "read"), READS, ids=range(len(READS)))
def test_what_is_read_as_a_whole(start: Any, changed: Any, read: Callable[[Any], Any]) -> None:
    held = copy.deepcopy(start)
    net = Holder(held, read)
    before, after = (np.full(3, read(each), np.float32) for each in (start, changed))
    assert (before != after).all()
    assert_follows(
        net, lambda: become(held, changed), lambda: become(held, start), before, after
    )  # fmt: skip


class Bases(nn.Cell):
    def __init__(self, held):
        super().__init__()
        self.held = held

    def construct(self, x):
        return x * (2.0 if self.held[0] == [2.0] else 1.0) * ops.concat(self.held[1]).sum()


def test_lists_in_a_tuple_with_tensors() -> None:
    ms.compile_info().clear()
    rates, bases = [2.0], [Tensor([3.0]), Tensor([4.0])]
    net = Bases((rates, bases))

    def slopes() -> Any:
        return ms.grad(net)(Tensor(X)).asnumpy()

    np.testing.assert_array_equal(slopes(), np.full(3, 14.0))
    rates[0] = 2.5
    np.testing.assert_array_equal(slopes(), np.full(3, 7.0))
    bases[0] = Tensor([5.0])
    np.testing.assert_array_equal(slopes(), np.full(3, 9.0))
    rates[0] = 2.0
    np.testing.assert_array_equal(slopes(), np.full(3, 18.0))
    compiled = len(ms.compile_info())
    np.testing.assert_array_equal(slopes(), np.full(3, 18.0))
    assert len(ms.compile_info()) == compiled
