"""Gradients that compiled code takes: what they are taken in, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, mutable, nn, ops

X, Y = Tensor([1.0, 2.0]), Tensor([3.0, 5.0])


def plain(thing: Any) -> Any:
    """Returns Tensors as nested lists, in their containers."""
    if isinstance(thing, dict):
        return {key: plain(item) for key, item in thing.items()}
    if isinstance(thing, (tuple, list)):
        return type(thing)(map(plain, thing))
    return thing.asnumpy().tolist() if isinstance(thing, Tensor) else thing


class Product(nn.Cell):
    """The product of the two items under the keys."""

    def __init__(self, first: Any, second: Any):
        super().__init__()
        self.first, self.second = first, second

    def construct(self, t):
        return t[self.first] * t[self.second]


class Asking(nn.Cell):
    def __init__(self, net, **flags: bool):
        super().__init__()
        self.net, self.take = net, ops.GradOperation(**flags)

    def construct(self, *args):
        return self.take(self.net)(*args)


class AskingInMethod(Asking):
    def construct(self, *args):
        return self.ask(args[0])

    def ask(self, t):
        return self.take(self.net)(t)


# ---- containers that ``mutable`` marks: d(a * b) = (b, a)

MARKED = [
    ((0, 1), mutable((X, Y)), ([3, 5], [1, 2])),
    ((0, 1), mutable([X, Y]), [[3, 5], [1, 2]]),
    ((0, 1), mutable({0: X, 1: Y}), {0: [3, 5], 1: [1, 2]}),
    (
        ("a", 0),
        mutable({"a": X, 0: Y, "c": [Y, (X,)]}),
        {"a": [3, 5], 0: [1, 2], "c": [[0, 0], ([0, 0],)]},
    ),
    ((0, 1), mutable((X, 3)), ([3, 3], 0)),
    ((0, 1), mutable([X, 2.0]), [[2, 2], 3]),
    ((0, 1), mutable((X, Tensor([1, 2], ms.int32))), ([1, 2], [1, 2])),
]


@pytest.mark.parametrize("get_all", [False, True])
@pytest.mark.parametrize("cell", [Asking, AskingInMethod])
@pytest.mark.parametrize(("keys", "given", "wanted"), MARKED)
def test_a_marked_argument_has_a_gradient_in_compiled_code(
    keys, given, wanted, cell, get_all
) -> None:
    net = cell(Product(*keys), get_all=get_all)
    for ask in (net, ms.jit(net)):
        assert plain(ask(given)) == ((wanted,) if get_all else wanted)


def test_containers_that_nobody_marked_have_none_in_compiled_code() -> None:
    net = ms.jit(Asking(Product(0, 1)))
    assert net((X, Y)) == ()
    assert plain(net(mutable((X, Y)))) == ([3, 5], [1, 2])
    assert net((X, Y)) == ()


def test_a_marked_argument_beside_a_tensor() -> None:
    net = ms.jit(Asking(lambda x, t: x * t[0], get_all=True))
    assert plain(net(X, mutable([Y]))) == ([3, 5], [[1, 2]])
    number = ms.jit(Asking(lambda x, y: x * y, get_all=True))
    slope, of_number = number(X, mutable(2.0))
    assert (plain(slope), plain(of_number)) == ([2, 2], 3)
    assert slope.dtype == of_number.dtype == ms.float32


def test_compiled_code_marks_containers_itself() -> None:
    @ms.jit
    def asked(x, y):
        row, items = (x, y), [x, y]
        take = ops.GradOperation()
        product = lambda t: t[0] * t[1]  # noqa: E731
        return (
            take(product)(mutable((x, y))),
            take(product)(mutable(items)),
            take(lambda t: t["a"] * t["b"])(mutable({"a": x, "b": y})),
            take(product)(row),
            take(product)(items),
        )

    a, b = [3, 5], [1, 2]
    assert plain(asked(X, Y)) == ((a, b), [a, b], {"a": a, "b": b}, (), ())


# ---- sensitivities


SHAPE_FIRST = lambda x: (x.shape, x * 2)  # noqa: E731


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: ops.GradOperation(sens_param=True)(lambda x: x.shape)(x, (2,)),
        lambda x: ms.grad(lambda x: (3, "a"), sens_param=True)(x, (3, "a")),
        lambda x: ms.grad(SHAPE_FIRST, has_aux=True, sens_param=True)(x, (2,)),
    ],
)
@pytest.mark.parametrize("make", [ms.jit, lambda fn: fn])
def test_a_sensitivity_of_an_output_without_tensors_is_refused(ask, make) -> None:
    with pytest.raises(ms.errors.CompileError, match="needs an output with a tensor"):
        make(ask)(X)


def test_a_sensitivity_beside_auxiliary_outputs() -> None:
    ask = ms.jit(lambda x, s: ms.grad(lambda x: (x * x, x), has_aux=True, sens_param=True)(x, s))
    assert plain(ask(X, Y)) == ([6, 20], ([1, 2],))
    with pytest.raises(ms.errors.SensitivityError, match=r"f32\[1\], but the output is f32\[2\]"):
        ask(X, Tensor([1.0]))


# ---- ``get_grad`` and ``jet``


def test_get_grad_takes_a_parameter_in_compiled_code() -> None:
    class Weighted(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([2.0, 3.0]), name="w")

        def construct(self, x):
            return x * x * self.w

    class Picking(nn.Cell):
        def __init__(self, net):
            super().__init__()
            self.net, self.wanted = net, (0, net.w)

        def construct(self, x):
            both = ms.grad(self.net, 0, self.net.trainable_params(), return_ids=True)(x)
            return [ms.get_grad(both, one) for one in self.wanted], ms.get_grad(both, self.net.w)

    picking = Picking(Weighted())
    for net in (picking, ms.jit(picking)):  # d_x = 2 x w, d_w = x²
        assert plain(net(X)) == ([[4, 12], [1, 4]], [1, 4])


def test_jet_takes_arguments_of_compiled_code() -> None:
    jetted = ms.jit(lambda x, rows: ops.jet(lambda x: x * x * x, x, rows))
    rows = Tensor(np.array([[1, 1], [0, 0], [0, 0]], np.float32))
    assert plain(jetted(X, rows)) == ([1, 8], [[3, 12], [6, 12], [6, 6]])
    with pytest.raises(ms.errors.ShapeError, match="the same as the primals"):
        jetted(X, Tensor([1.0, 0.0]))
