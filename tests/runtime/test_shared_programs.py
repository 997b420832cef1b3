"""A call and its derivatives share one lowering, as long as what the compiler read is the same."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, compile_info, nn, ops, pipeline
from autodiff_compiler.api import RUNTIME
from autodiff_compiler.cost_model import costs
from autodiff_compiler.runtime.compiled_function import CompiledFunction
from tests.corpus.test_corpus import CASES


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was lowered since the test began."""
    compile_info().clear()
    functions: list[Any] = []
    lower = pipeline.lower

    def noting(fn: Any, *rest: Any) -> Any:
        functions.append(fn)
        return lower(fn, *rest)

    monkeypatch.setattr(pipeline, "lower", noting)
    return functions


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(Tensor([[2.0, 1.0], [0.5, 3.0]]), name="w")
        self.b = Parameter(Tensor([1.0, -1.0]), name="b")
        self.scale = 2.0

    def construct(self, x: Tensor) -> Tensor:
        return ops.tanh(ops.matmul(x, self.w) + self.b) * self.scale


X = Tensor([[0.5, -0.25]])


def expected(net: Net, x: Tensor = X) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The gradients of the sum in the input, in ``w`` and in ``b``."""
    w, b, array = (t.asnumpy().astype(np.float64) for t in (net.w, net.b, x))
    slope = net.scale * (1 - np.tanh(array @ w + b) ** 2)
    return slope @ w.T, array.T @ slope, slope.sum(0)


def plain_calls() -> list[CompiledFunction]:
    """The compiled functions that are no derivatives."""
    return [unit for unit in RUNTIME.cache.all() if not unit.request.differentiates]


def test_a_call_and_all_its_gradients_are_lowered_once(lowered: list[Any]) -> None:
    net = ms.jit(Net())
    net(X)
    of_x, of_w, of_b = expected(net)
    weights = [net.w, net.b]
    np.testing.assert_allclose(ms.grad(net)(X).asnumpy(), of_x, rtol=1e-5)
    for asked in (weights, weights[1:], weights[::-1]):
        given = ms.grad(net, None, asked)(X)
        truth = [of_w if each is net.w else of_b for each in asked]
        for one, other in zip(given if isinstance(given, tuple) else (given,), truth):
            np.testing.assert_allclose(one.asnumpy(), other, rtol=1e-5)
    np.testing.assert_allclose(
        ms.GradOperation(sens_param=True)(net)(X, 2 * ops.ones((1, 2))).asnumpy(),
        2 * of_x,
        rtol=1e-5,
    )
    value, (by_x, by_weights) = ms.value_and_grad(net, 0, weights)(X)
    np.testing.assert_allclose(value.asnumpy(), net(X).asnumpy())
    np.testing.assert_allclose(by_x.asnumpy(), of_x, rtol=1e-5)
    np.testing.assert_allclose(by_weights[0].asnumpy(), of_w, rtol=1e-5)
    assert lowered == [net]


def test_a_function_is_lowered_once_for_gradients_in_other_arguments(lowered: list[Any]) -> None:
    def f(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (np.sin(x) * y).sum()

    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    np.testing.assert_allclose(ms.grad(f, 1)(x, y), np.sin(x))
    np.testing.assert_allclose(ms.grad(f, 0)(x, y), np.cos(x) * y)
    np.testing.assert_allclose(ms.grad(f, (0, 1))(x, y)[0], np.cos(x) * y)
    assert len(lowered) == 1
    ms.grad(f)(x[:1], y[:1])
    assert len(lowered) == 2


@pytest.mark.parametrize("case", CASES[::12], ids=lambda case: case.name)
def test_the_text_is_the_same_as_without_sharing(case: Any, lowered: list[Any]) -> None:
    cell, inputs = case.make(), case.inputs
    gradient = ms.GradOperation(get_all=True)
    texts = []
    for called_first in (True, False):
        compile_info().clear()
        if called_first:
            ms.jit(cell)(*inputs)
        gradient(cell)(*inputs)
        texts.append(RUNTIME.cache.all()[-1].compiled.source)
    assert texts[0] == texts[1]


def test_what_changed_since_the_call_is_read_again(lowered: list[Any]) -> None:
    net = ms.jit(Net())
    net(X)
    net.scale = 5.0
    np.testing.assert_allclose(ms.grad(net)(X).asnumpy(), expected(net)[0], rtol=1e-5)
    assert len(lowered) == 2


def test_weights_that_are_trainable_now_get_a_gradient(lowered: list[Any]) -> None:
    net = ms.jit(Net())
    net.b.requires_grad = False
    net(X)
    gradient = ms.GradOperation(get_by_list=True)
    assert len(gradient(net)(X)) == 1
    net.b.requires_grad = True
    of_w, of_b = gradient(net)(X)
    np.testing.assert_allclose(of_w.asnumpy(), expected(net)[1], rtol=1e-5)
    np.testing.assert_allclose(of_b.asnumpy(), expected(net)[2], rtol=1e-5)
    net(X)
    assert len(plain_calls()) == 1  # a plain call does not ask which Parameters are trainable


def test_a_weight_that_is_not_read_has_a_gradient_of_zeros(lowered: list[Any]) -> None:
    net, other = ms.jit(Net()), Parameter(Tensor([1.0, 2.0]), name="other")
    of_b, of_other = ms.grad(net, None, [net.b, other])(X)
    np.testing.assert_allclose(of_b.asnumpy(), expected(net)[2], rtol=1e-5)
    np.testing.assert_array_equal(of_other.asnumpy(), [0.0, 0.0])
    net(X)
    assert len(lowered) == 2
    assert all("other" not in unit.compiled.source for unit in plain_calls())


class WithRule(nn.Cell):
    def construct(self, x: Tensor) -> Tensor:
        return x * x

    def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor]:
        return (100.0 * dout,)


class Outer(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.inner = WithRule()

    def construct(self, x: Tensor) -> Tensor:
        return self.inner(x) + x


@pytest.mark.parametrize("call_first", [True, False])
def test_rules_count_in_gradients_alone(call_first: bool, lowered: list[Any]) -> None:
    net = ms.jit(Outer())
    if call_first:
        net(X)
    np.testing.assert_allclose(ms.grad(net)(X).asnumpy(), [[101.0, 101.0]])
    np.testing.assert_allclose(net(X).asnumpy(), X.asnumpy() ** 2 + X.asnumpy())
    assert all("100" not in unit.compiled.source for unit in plain_calls())


def test_hooks_of_a_cell_run_in_gradients_alone(lowered: list[Any]) -> None:
    net = ms.jit(Outer())
    net.inner.register_backward_hook(lambda cell, d_in, d_out: (2.0 * d_in[0],))
    net(X)
    np.testing.assert_allclose(ms.grad(net)(X).asnumpy(), [[201.0, 201.0]])


def test_few_programs_are_kept_and_none_keeps_a_cell_alive(lowered: list[Any]) -> None:
    nets = [ms.jit(Net()) for _ in range(costs().undifferentiated_programs + 3)]
    for net in nets:
        net(X)
    kept = [unit for unit in RUNTIME.cache.all() if unit.undifferentiated is not None]
    assert len(kept) == costs().undifferentiated_programs
    last = weakref.ref(nets.pop())
    lowered.clear()
    del net
    gc.collect()
    assert last() is None
