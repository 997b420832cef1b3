"""Rows of the measured tables of grad and value_and_grad that are single facts; numbers by hand."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from tests.ops.gradients import GX, GY, Net, X, Y, plain, product, t

INTS = t(1, 2, dtype=np.int32)


@pytest.mark.parametrize(
    ("ask", "want"),
    [
        # a container from Python has no gradient, and closes up
        (lambda: ms.grad(lambda a, b: a[0] * b, 0)((X, Y), X), ()),
        (lambda: ms.grad(lambda a, b: a[0] * b, (0, 1))([X, Y], X), [1, 2]),
        # integers have integer gradients
        (lambda: ms.grad(lambda x, i: x * i, (0, 1))(X, INTS), ([1, 2], [1, 2])),
        # with has_aux: all leaves of a first output that is a tuple; what is no tensor passes
        (lambda: ms.grad(lambda x, y: ((x * y, x), y), (0, 1), has_aux=True)(X, Y),
         (([4, 6], [1, 2]), ([3, 5],))),
        (lambda: ms.grad(lambda x, y: (x * y, 3, "a"), has_aux=True)(X, Y), ([3, 5], (3, "a"))),
        (lambda: ms.value_and_grad(lambda x, y: (x * y, 3, "a"), has_aux=True)(X, Y),
         (([3, 10], 3, "a"), [3, 5])),
        # the value is what the function returned
        (lambda: ms.value_and_grad(lambda x: [x, x * x])(X), ([[1, 2], [1, 4]], [3, 5])),
        (lambda: ms.value_and_grad(lambda x: {"a": x * x})(X), ({"a": [1, 4]}, [2, 4])),
        # nesting, and jit on either side
        (lambda: ms.grad(ms.value_and_grad(lambda x: x * x * x))(X), [9, 24]),
        (lambda: ms.jit(ms.grad(product))(X, Y), [3, 5]),
        (lambda: ms.grad(ms.jit(product))(X, Y), [3, 5]),
    ],
)  # fmt: skip
def test_row(ask, want):
    assert plain(ask()) == want


def test_ids_of_every_kind():
    net = Net()
    gz, gu = ("z", [13]), ("u", [0, 0])

    def ids(position, weights, ask=ms.grad):
        return plain(ask(net, position, weights, return_ids=True)(X, Y))

    assert ids(0, net.z) == ((0, GX), gz)
    assert ids((1,), None) == (1, GY)
    assert ids((0, 1), [net.z, net.u]) == (((0, GX), (1, GY)), (gz, gu))
    assert ids(None, [net.z, net.u]) == (gz, gu)
    assert ids(None, net.z) == gz
    assert ids(0, None, ms.value_and_grad) == ([6, 20], (0, GX))


def test_the_gradient_of_an_inner_function_moves_its_own_argument_alone():
    """Also where the variable around it holds the very tensor that it is called with."""

    def outer(x):
        return ms.grad(lambda v: v * v * x)(x)

    assert plain(ms.jit(outer)(X)) == [2, 8]
    assert plain(outer(X)) == [2, 8]
    assert plain(ms.grad(outer)(X)) == [4, 8]
    assert plain(ms.grad(ms.grad(outer))(X)) == [4, 4]
    assert plain(ms.jvp(outer, X, t(1, 1))[1]) == [4, 8]
