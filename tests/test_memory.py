"""What a call may never do: write to what it was given, or return memory that something holds.

Also here: calls from two threads at once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops

X = np.array([0.5, 1.5, -2.0], np.float32)


class Memory(nn.Cell):
    """Uses everything twice, returns inputs and parameters as they are, and writes to a local."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.full(3, 2.0, np.float32)))
        self.b = Parameter(Tensor(np.full(3, 1.0, np.float32)))

    def construct(self, x, y):
        z = x * self.w + y + self.b
        z[0] = x[1]
        return z, x, y + 0.0, self.w, x.reshape(1, 3)


def arrays_of(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from arrays_of(item)
    elif isinstance(value, Tensor):
        yield value.asnumpy()


def assert_apart(arrays: list[np.ndarray]) -> None:
    for n, one in enumerate(arrays):
        for other in arrays[:n]:
            assert not np.shares_memory(one, other)


def test_nothing_given_is_written_to() -> None:
    net = Memory()
    x, y = np.array([1.0, 2.0, 3.0], np.float32), np.array([4.0, 5.0, 6.0], np.float32)
    given = [x, y, net.w.asnumpy(), net.b.asnumpy()]
    before = [array.tobytes() for array in given]
    sens = [np.full(shape, 0.5, np.float32) for shape in ((3,), (3,), (3,), (3,), (1, 3))]
    for array in (*given, *sens):
        array.flags.writeable = False
    gradient = ops.GradOperation(get_all=True, get_by_list=True, sens_param=True)
    inputs = (Tensor.from_numpy(x), Tensor.from_numpy(y))
    for _ in range(3):
        gradient(net, net.trainable_params())(*inputs, tuple(map(Tensor.from_numpy, sens)))
        ms.jit(net)(*inputs)
    assert [array.tobytes() for array in given] == before
    assert all((array == 0.5).all() for array in sens)


@pytest.mark.parametrize("sens_param", [False, True])
def test_results_share_memory_with_nothing(sens_param: bool) -> None:
    net = Memory()
    x, y = Tensor([1.0, 2.0, 3.0]), Tensor([4.0, 5.0, 6.0])
    shapes = ((3,), (3,), (3,), (3,), (1, 3))
    sens = tuple(Tensor(np.ones(shape, np.float32)) for shape in shapes)
    arrays = [*arrays_of((x, y, net.w, net.b, *sens))]
    gradient = ms.value_and_grad(net, (0, 1), net.trainable_params(), sens_param=sens_param)
    for _ in range(3):
        arrays += arrays_of(gradient(x, y, *([sens] if sens_param else [])))
    assert_apart(arrays)
    assert len(arrays) == 9 + 3 * 9


def test_results_of_forward_share_memory_with_nothing() -> None:
    net, x, y = ms.jit(Memory()), Tensor([1.0, 2.0, 3.0]), Tensor([4.0, 5.0, 6.0])
    arrays = [*arrays_of((x, y, net.w, net.b))]
    for _ in range(2):
        arrays += arrays_of(net(x, y))
    assert_apart(arrays)


def passes_on(x, y):
    return x, x, y, y.T, x + y


def test_the_gradient_of_the_identity_is_a_new_array() -> None:
    x, y = Tensor(np.ones((2, 2), np.float32)), Tensor(np.ones((2, 2), np.float32))
    sens = tuple(Tensor(np.ones((2, 2), np.float32)) for _ in range(5))
    gradient = ops.GradOperation(get_all=True, sens_param=True)(passes_on)
    arrays = [*arrays_of((x, y, sens))]
    for _ in range(2):
        arrays += arrays_of(gradient(x, y, sens))
    assert_apart(arrays)


def times(x, k):
    return x * k


def test_writing_to_a_result_changes_no_later_one() -> None:
    gradient = ms.grad(times, (0,))
    first = gradient(Tensor(X), 3).asnumpy()
    first[:] = 100.0
    np.testing.assert_array_equal(gradient(Tensor(X), 3).asnumpy(), np.full(3, 3.0))


# ---- threads


class Scaled(nn.Cell):
    def __init__(self):
        super().__init__()
        self.factor = 2.0

    def construct(self, x):
        return x * self.factor


def square_sum(x):
    return ops.sum(x * x)


def test_two_threads_and_many_shapes() -> None:
    net = Scaled()
    wrong: list[Any] = []
    gate = threading.Barrier(2)

    def work(turn: int) -> None:
        try:
            gate.wait()
            for size in list(range(1, 25))[::turn]:
                for fn, factor in ((net, 2.0), (square_sum, None)):
                    x = np.linspace(-1, 1, size).astype(np.float32)
                    found = ms.grad(fn)(Tensor(x)).asnumpy()
                    expected = np.full(size, factor) if factor else 2 * x
                    if not np.allclose(found, expected):
                        wrong.append((size, found))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(turn,)) for turn in (1, -1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
