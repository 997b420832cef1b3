"""``recompute`` has the same gradients, and saves less for backward."""

from __future__ import annotations

import re

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops, pipeline

_RNG = np.random.default_rng(5)
X = Tensor(_RNG.normal(size=(2, 3)))
BOTH = ms.GradOperation(get_all=True, get_by_list=True)


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "VERIFY", True)


class Block(nn.Cell):
    """A few operations, a loop and a sub-Cell's worth of things to keep."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(_RNG.normal(size=(3, 3)) * 0.5), name="w")

    def construct(self, x):
        h = ops.tanh(ops.matmul(x, self.w))
        for i in range(3):
            h = ops.exp(ops.sin(h))
            print(i)
        return h * x


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.second = Block(), Block()

    def construct(self, x):
        return self.second(self.first(x)) * 2.0


def kept(text: str, function: str) -> str:
    """Returns the residuals of the forward function of ``function``."""
    return re.findall(rf"def {function}_forward\(.*?return out, \((.*?)\)\n", text, re.S)[0]


def equal(found: tuple, expected: tuple) -> None:
    for part, other in zip(found, expected, strict=True):
        for one, two in zip(part, other, strict=True):
            np.testing.assert_array_equal(one.asnumpy(), two.asnumpy())


def test_a_cell_keeps_its_inputs_alone(capsys: pytest.CaptureFixture) -> None:
    net = Net()
    plain = BOTH(net, net.trainable_params())(X)
    assert "h_tape" in kept(ms.gradient_source(net, X), "block")
    capsys.readouterr()
    net.first.recompute()
    net.second.recompute()
    text = ms.gradient_source(net, X, get_all=True)
    assert kept(text, "block") == "x, w"
    backward = text.partition("def block_backward")[2]
    assert "np.tanh(np.dot(x, w))" in backward and "print" not in backward
    equal(BOTH(net, net.trainable_params())(X), plain)
    assert capsys.readouterr().out.split() == ["0", "1", "2"] * 2


def test_the_second_derivative_goes_through_it() -> None:
    net = Net()
    net.first.recompute()
    ms.check_grads(net, [X], order=2)


def test_a_function_a_lambda_and_a_primitive() -> None:
    def block(x, scale):
        return ops.sin(ops.exp(x)) * scale

    sin = ops.Sin().recompute()

    def plain(x):
        return block(ops.sin(block(x, 3.0)), 2.0)

    def again(x):
        inner = ms.recompute(block, x, 3.0)
        return ms.recompute(lambda y: block(y, 2.0), sin(inner), use_reentrant=False)

    np.testing.assert_array_equal(again(X).asnumpy(), plain(X).asnumpy())
    np.testing.assert_array_equal(ms.grad(again)(X).asnumpy(), ms.grad(plain)(X).asnumpy())
    text = ms.gradient_source(again, X, sens_param=True)
    assert kept(text, "block") == "x,"
    assert kept(text, "sin") == "x0,"
    with pytest.raises(TypeError, match="recompute needs a Cell or function, but got int"):
        ms.recompute(3, X)
    with pytest.raises(TypeError, match="the 'mode' should be bool"):
        ops.Sin().recompute(1)


def test_random_numbers_are_saved_and_not_drawn_again() -> None:
    class Drops(nn.Cell):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(p=0.5)

        def construct(self, x):
            return ops.exp(self.drop(ops.sin(x)))

    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.inner = Drops()

        def construct(self, x):
            return self.inner(x) * x

    net = Outer().set_train()
    ms.set_seed(7)
    plain = ms.grad(net)(X).asnumpy()
    net.inner.recompute()
    ms.set_seed(7)
    np.testing.assert_array_equal(ms.grad(net)(X).asnumpy(), plain)
