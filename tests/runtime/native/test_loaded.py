"""Fast calls of C: one built-in function checks the arguments, computes and packs the results."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, ParameterTuple, Tensor, nn, ops
from autodiff_compiler.errors import CallError, SensitivityError
from autodiff_compiler.ops.transforms.tangent import TangentFunction
from autodiff_compiler.runtime.compiled_function import CompiledFunction
from autodiff_compiler.runtime.native import Compiler
from autodiff_compiler.runtime.native.loaded import LoadedNative
from tests.runtime.test_fast_call import CALLS, kinds, parts

ARRAY = np.array([[1.0, -2.0], [0.5, 4.0]])
TENSOR = Tensor(np.array([0.5, 1.5, -2.0], np.float32))


@pytest.fixture(autouse=True)
def target(c_compiler: Compiler) -> Iterator[None]:
    """Each test compiles to C, and leaves the setting as it was."""
    before = ms.get_context("target")
    ms.compile_info().clear()
    ms.set_context(target="c")
    yield
    ms.set_context(target=before)


@pytest.mark.parametrize("kind", CALLS)
def test_results_are_those_of_numpy_source(kind: str) -> None:
    fn, *args = CALLS[kind]()
    ms.set_context(target="numpy")
    expected = fn(*args)
    ms.compile_info().clear()
    ms.set_context(target="c")
    fn, *args = CALLS[kind]()
    for _ in range(4):  # from the second call on by the fast path
        answer = fn(*args)
        assert kinds(answer) == kinds(expected)
        for one, other in zip(parts(answer), parts(expected), strict=True):
            assert one.dtype == other.dtype and one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=1e-6)
    assert {unit.target for unit in ms.compile_info().units} == {"c"}


def cubes(x: Any, y: Any) -> Any:
    return ops.reduce_sum(x * x * x * y)


def direct(function: Any) -> BuiltinFunctionType | None:
    """The built-in function of a fast call; None if Python packs the results."""
    defaults = inspect.signature(function.fast_call).parameters.values()
    (run,) = [d.default for d in defaults if "Capsule" in repr(d.default)] or [None]
    return run


def test_a_gradient_is_one_builtin() -> None:
    both = ms.value_and_grad(lambda x, k: np.sum(x * x * k), (0, 1))
    for _ in range(3):
        both(ARRAY, 2.0)
    run = direct(both)
    assert isinstance(run, BuiltinFunctionType)
    value, (d_x, d_k) = run(ARRAY, 2.0)
    assert (value, d_k) == (2 * np.sum(ARRAY**2), np.sum(ARRAY**2))
    np.testing.assert_array_equal(d_x, 4 * ARRAY)
    assert run(ARRAY, 2) is NotImplemented and run(ARRAY.astype("f4"), 2.0) is NotImplemented


def test_tensors_come_and_go_as_they_are() -> None:
    gradient = ops.grad(cubes, (0, 1))
    for _ in range(3):
        gradient(TENSOR, TENSOR)
    run = direct(gradient)
    assert run is not None
    d_x, d_y = run(TENSOR, TENSOR)
    assert type(d_x) is type(d_y) is Tensor
    np.testing.assert_allclose(d_x.asnumpy(), 3 * TENSOR.asnumpy() ** 3, rtol=1e-6)
    assert d_x._hooks == () and run(TENSOR.asnumpy(), TENSOR) is NotImplemented


class Scaled(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(np.array([1.0, 2.0, 3.0], np.float32), name="w")
        self.b = Parameter(np.float32(0.5), name="b")

    def construct(self, x):
        return ops.reduce_sum(x * x * self.w) + self.b


def test_weights_have_their_own_tuple() -> None:
    net = Scaled()
    gradient = ops.value_and_grad(net, 0, ParameterTuple(net.trainable_params()))
    for _ in range(3):
        value, (d_x, d_weights) = gradient(TENSOR)
    assert direct(gradient) is not None and type(d_weights) is tuple
    x = TENSOR.asnumpy()
    np.testing.assert_allclose(value.asnumpy(), np.sum(x * x * [1, 2, 3]) + 0.5, rtol=1e-6)
    np.testing.assert_allclose(d_x.asnumpy(), 2 * x * [1, 2, 3], rtol=1e-6)
    np.testing.assert_allclose(d_weights[0].asnumpy(), x * x, rtol=1e-6)
    assert d_weights[1].shape == () and d_weights[1].asnumpy() == 1
    net.w.set_data(Tensor(np.zeros(3, np.float32)))
    assert not np.any(gradient(TENSOR)[1][0].asnumpy())


def test_a_sensitivity_is_one_more_argument() -> None:
    net = Scaled()
    gradient = ops.GradOperation(get_all=True, get_by_list=True, sens_param=True)(
        net, ParameterTuple(net.trainable_params())
    )
    one, two = (Tensor(np.float32(k)) for k in (1, 2))
    for _ in range(3):
        (d_x,), (d_w, d_b) = gradient(TENSOR, two)
    run = direct(gradient)
    assert run is not None
    x = TENSOR.asnumpy()
    np.testing.assert_allclose(d_x.asnumpy(), 4 * x * [1, 2, 3], rtol=1e-6)
    np.testing.assert_allclose(d_w.asnumpy(), 2 * x * x, rtol=1e-6)
    assert d_b.asnumpy() == 2 and gradient(TENSOR, one)[1][1].asnumpy() == 1
    with pytest.raises(SensitivityError):
        gradient(TENSOR, TENSOR)
    with pytest.raises(CallError, match="dtype float32 of the output"):
        gradient(TENSOR, Tensor(np.float64(1)))


def test_a_tangent_is_one_builtin() -> None:
    tangent, ones = TangentFunction(cubes, 2, (0, 1)), Tensor(np.ones(3, np.float32))
    for _ in range(3):
        tangent(TENSOR, ones, ones, TENSOR)
    assert direct(tangent) is not None and tangent.fast_call is not None
    value, dot = tangent.fast_call(cubes, (TENSOR, ones, ones, TENSOR))
    x = TENSOR.asnumpy()
    np.testing.assert_allclose(value.asnumpy(), np.sum(x**3), rtol=1e-6)
    np.testing.assert_allclose(dot.asnumpy(), np.sum(3 * x**2 + x**4), rtol=1e-6)
    two = Tensor(np.float32(2))
    assert tangent.fast_call(cubes, (TENSOR, ones, two, TENSOR)) is False
    _, dot = tangent(TENSOR, ones, two, TENSOR)  # a tangent is broadcast
    np.testing.assert_allclose(dot.asnumpy(), np.sum(6 * x**2 + x**4), rtol=1e-6)


def test_a_parameter_that_changes_is_seen() -> None:
    net, x = Scaled(), TENSOR.asnumpy()
    gradient = ops.GradOperation(get_all=True, get_by_list=True)(net, [net.w])
    plain = ms.grad(net)
    for _ in range(3):
        gradient(TENSOR), plain(TENSOR)
    assert direct(plain) is not None
    net.w.asnumpy()[:] = 5
    np.testing.assert_allclose(plain(TENSOR).asnumpy(), 10 * x, rtol=1e-6)
    net.w._data = np.repeat(np.arange(3, dtype=np.float32), 2)[::2]  # with other strides
    np.testing.assert_allclose(plain(TENSOR).asnumpy(), 2 * x * [0, 1, 2], rtol=1e-6)
    handle = net.w.register_hook(lambda grad: grad * 10)
    np.testing.assert_allclose(gradient(TENSOR)[1][0].asnumpy(), 10 * x * x, rtol=1e-6)
    handle.remove()
    np.testing.assert_allclose(gradient(TENSOR)[1][0].asnumpy(), x * x, rtol=1e-6)
    net.w = Parameter(np.array([3.0], np.float32), name="w")
    np.testing.assert_allclose(plain(TENSOR).asnumpy(), 6 * x, rtol=1e-6)
    net.w._data = np.array([2.0, 1.0, 0.0])
    assert plain(TENSOR).dtype == ms.float32
    np.testing.assert_allclose(plain(TENSOR).asnumpy(), 2 * x * [2, 1, 0], rtol=1e-6)


def test_another_call_is_compiled_anew() -> None:
    gradient = ms.grad(lambda x: np.sum(x**3))
    for _ in range(3):
        gradient(ARRAY)
    for other in (ARRAY.astype(np.float32), ARRAY[:1], ARRAY[0], np.zeros((0, 2))):
        answer = gradient(other)
        assert answer.dtype == other.dtype
        np.testing.assert_allclose(answer, 3 * other**2, rtol=1e-6)
    np.testing.assert_allclose(gradient(ARRAY[::-1]), 3 * ARRAY[::-1] ** 2)
    assert np.shape(gradient(np.float64(2.0))) == () and gradient(np.float64(2.0)) == 12


def test_a_parameter_and_a_tensor_with_a_hook_take_the_slow_path() -> None:
    gradient = ops.grad(cubes)
    for _ in range(3):
        gradient(TENSOR, TENSOR)
    expected = gradient(TENSOR, TENSOR).asnumpy()
    parameter = Parameter(TENSOR, name="p")
    np.testing.assert_allclose(gradient(parameter, TENSOR).asnumpy(), expected)
    hooked = Tensor(TENSOR.asnumpy())
    hooked.register_hook(lambda grad: grad * 10)
    np.testing.assert_allclose(gradient(hooked, TENSOR).asnumpy(), 10 * expected, rtol=1e-6)


def test_lists_are_packed_by_python() -> None:
    function = ms.jit(lambda x: [x * 2, (x + 1, [x])])
    for _ in range(3):
        twice, (more, (same,)) = function(ARRAY)
    assert type(function(ARRAY)) is list
    np.testing.assert_array_equal(twice, 2 * ARRAY)
    np.testing.assert_array_equal(more, ARRAY + 1)
    assert same is not ARRAY


def test_a_changed_setting_is_seen() -> None:
    function = ms.jit(lambda x: x * x)
    for _ in range(3):
        function(ARRAY)
    ms.set_context(target="numpy")
    np.testing.assert_array_equal(function(ARRAY), ARRAY**2)
    assert ms.compile_info().units[-1].target == "numpy"


def test_errors_come_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def item(x, n):
        return x[n] ** 2

    gradient = ms.grad(item)
    for _ in range(3):
        gradient(ARRAY[0], 1)
    monkeypatch.setattr(CompiledFunction, "run_pair", lambda *_: pytest.fail("the slow path"))
    with pytest.raises(IndexError, match="out of bounds"):
        gradient(ARRAY[0], 7)


def test_a_library_is_shared() -> None:
    gradient = ms.grad(lambda x: np.sum(np.cosh(x)))
    for _ in range(3):
        gradient(ARRAY)
    unit = inspect.signature(gradient.fast_call).parameters["unit"].default
    assert type(unit.loaded) is LoadedNative and unit.loaded.packing == 0
    again = unit.loaded.direct((0,), [None], False)
    np.testing.assert_allclose(again(ARRAY)[0], np.sinh(ARRAY))
