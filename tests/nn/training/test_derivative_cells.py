"""``Jvp`` and ``Vjp``: values by hand, structures as in MindSpore 2.10."""

from __future__ import annotations

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn
from autodiff_compiler.nn import Jvp, Vjp

X, Y, V = Tensor([1.0, 2.0]), Tensor([3.0, 5.0]), Tensor([1.0, 10.0])


class Cube(nn.Cell):
    def construct(self, x):
        return x * x * x


class Two(nn.Cell):
    def construct(self, x, y):
        return 2 * x * y, y * y


def plain(thing):
    return tuple(map(plain, thing)) if isinstance(thing, tuple) else thing.asnumpy().tolist()


@pytest.mark.parametrize("make", [lambda net: net, ms.jit])
def test_values_and_derivatives(make) -> None:
    slope = [3 * 1, 3 * 4 * 10]
    assert plain(make(Jvp(Cube()))(X, V)) == ([1, 8], slope)
    assert plain(make(Vjp(Cube()))(X, V)) == ([1, 8], slope)
    outs = ([6, 20], [9, 25])
    assert plain(make(Jvp(Two()))(X, Y, (V, X))) == (
        outs,
        ([2 * (1 * 3 + 1 * 1), 2 * (10 * 5 + 2 * 2)], [2 * 3 * 1, 2 * 5 * 2]),
    )
    assert plain(make(Vjp(Two()))(X, Y, (V, X))) == (
        outs,
        ([2 * 3 * 1, 2 * 5 * 10], [2 * 1 * 1 + 2 * 3 * 1, 2 * 2 * 10 + 2 * 5 * 2]),
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda: Jvp(Cube())(X, (V, V)),
        lambda: Jvp(Cube())(X, (V,)),
        lambda: Jvp(Two())(X, Y, V),
        lambda: Jvp(Cube())((X, Y), (V, V)),
        lambda: Jvp(Cube())(X, X, V),
        lambda: Vjp(Cube())(X, (V, V)),
        lambda: Vjp(Cube())(X, (V,)),
        lambda: Vjp(Two())(X, Y, V),
        lambda: Vjp(Cube())((X, Y), (V, V)),
    ],
)
def test_directions_that_do_not_fit_are_refused(call) -> None:
    with pytest.raises(TypeError):
        call()
