"""Sensitivities, and arguments that are no tensors: the tables of measured behaviour."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor
from autodiff_compiler.errors import CallError, SensitivityError
from tests.ops.gradients import (
    GO,
    S,
    X,
    Y,
    plain,
    product,
    t,
    times,
)

# ---- the sensitivity


def test_sens_last_or_by_keyword():
    gradient = GO(get_all=True, sens_param=True)(product)
    assert plain(gradient(X, Y, S)) == plain(gradient(X, Y, sens=S)) == ([30, 500], [10, 200])


def test_sens_missing_is_an_arity_error():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        GO(sens_param=True)(product)(X, Y)
    with pytest.raises(CallError, match="the sensitivity is missing"):
        GO(sens_param=True)(product)()


@pytest.mark.parametrize("sens", [t(1, 2, 3), t(1), Tensor(np.float32(1)), 1.0])
def test_sens_is_not_broadcast(sens):
    with pytest.raises(ValueError) as caught:
        GO(sens_param=True)(product)(X, Y, sens)
    assert isinstance(caught.value, SensitivityError)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32])
def test_sens_is_not_cast(dtype):
    with pytest.raises(TypeError, match=f"float32 of the output, but got {np.dtype(dtype).name}"):
        GO(sens_param=True)(product)(X, Y, t(1, 1, dtype=dtype))


@pytest.mark.parametrize("sens", [None, np.ones(2, np.float32)])
def test_sens_is_a_tensor(sens):
    with pytest.raises(CallError):
        GO(sens_param=True)(product)(X, Y, sens)


@pytest.mark.parametrize(
    "sens", [t(3), Tensor(np.float32(3)), 3.0, (t(3),), Parameter(np.array([3], np.float32))]
)
def test_sens_of_a_scalar(sens):
    assert plain(GO(sens_param=True)(lambda x: (x * x).sum())(X, sens)) == [6, 12]


def test_sens_in_a_one_tuple():
    assert plain(GO(sens_param=True)(product)(X, Y, (S,))) == [30, 500]


def test_sens_not_asked_for():
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        GO()(product)(X, Y, S)
    with pytest.raises(TypeError, match="unexpected keyword argument 'sens'"):
        GO()(product)(X, Y, sens=S)


@pytest.mark.parametrize(
    "fn, sens",
    [
        (lambda x, y: (x * y, x + y), (S, t(1, 1))),
        (lambda x, y: [x * y, x + y], [S, t(1, 1)]),
        (lambda x, y: [x * y, x + y], (S, t(1, 1))),
        (lambda x, y: {"a": x * y, "b": x + y}, {"a": S, "b": t(1, 1)}),
        (lambda x, y: (x * y, (x + y,)), (S, (t(1, 1),))),
    ],
)
def test_sens_has_the_structure_of_the_output(fn, sens):
    gradient = GO(get_all=True, sens_param=True)(fn)
    assert plain(gradient(X, Y, sens)) == ([31, 501], [11, 201])
    assert plain(gradient(X, Y, sens=sens)) == ([31, 501], [11, 201])


def test_sens_of_the_wrong_structure():
    gradient = GO(sens_param=True)(lambda x, y: (x * y, x + y))
    for sens in (S, (S,), (S, S, S), {"a": S}):
        with pytest.raises(SensitivityError, match="a tuple of 2"):
            gradient(X, Y, sens)
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        gradient(X, Y, S, S)


def test_an_argument_called_sens():
    def fn(x, sens):
        return x * sens

    assert plain(GO(get_all=True)(fn)(X, sens=Y)) == ([3, 5], [1, 2])
    assert plain(GO(get_all=True, sens_param=True)(fn)(X, Y, S)) == ([30, 500], [10, 200])


# ---- arguments that are no tensors


@pytest.mark.parametrize("k, factor", [(3, 3), (2.5, 2.5), (True, 1), (np.float32(2), 2)])
def test_what_is_no_tensor_is_left_out(k, factor):
    assert plain(GO(get_all=True)(times)(X, k)) == ([factor, factor],)


@pytest.mark.parametrize("k", [None, "a", (Y, Y), [Y], {"a": Y}, ()])
def test_what_is_no_number_is_left_out_too(k):
    assert plain(GO(get_all=True)(lambda x, k: x * 2)(X, k)) == ([2, 2],)
    assert plain(GO()(lambda k, x: x * 2)(k, X)) == ()


def test_position_zero_is_not_replaced():
    def swapped(k, x):
        return x * k

    for k in (3, 2.5, np.ones(2, np.float32)):
        assert plain(GO()(swapped)(k, X)) == ()
    assert plain(GO(get_all=True)(swapped)(3, X)) == ([3, 3],)
    assert plain(GO(get_all=True)(lambda k: k * 2.0)(3.0)) == ()


def test_containers_are_used_though_left_out():
    assert plain(GO(get_all=True)(lambda x, p: x * p[0] * p["b" if False else 1])(X, (Y, Y))) == (
        [9, 25],
    )
    assert plain(GO(get_all=True)(lambda x, d: x * d["a"])(X, {"a": Y})) == ([3, 5],)


def test_integer_tensors_get_integer_gradients():
    i = t(1, 2, dtype=np.int32)
    got = GO(get_all=True)(product)(t(3, 4), i)
    assert plain(got) == ([1, 2], [3, 4])
    assert got[1].dtype == ms.int32
    assert plain(GO()(lambda i: i * i)(i)) == [2, 4]
    assert plain(GO()(lambda i: i * 2.5)(i)) == [2, 2]
    assert plain(GO(get_all=True)(lambda x, i: x * 1)(X, i)) == ([1, 1], [0, 0])


def test_the_same_tensor_twice_is_two_inputs():
    a = t(1, 2)
    assert plain(GO(get_all=True)(product)(a, a)) == ([1, 2], [1, 2])


def test_a_parameter_as_input():
    p = Parameter(np.array([1, 2], np.float32))
    assert plain(GO(get_all=True)(product)(p, Y)) == ([3, 5], [1, 2])


@pytest.mark.parametrize("forgotten", [lambda x: None, lambda x: "x", lambda x: (None, ())])
def test_an_output_without_a_number_has_no_gradient(forgotten):
    with pytest.raises(CallError, match="(?s)returns no number.*check for a missing 'return'"):
        ms.grad(forgotten)(X)
    with pytest.raises(CallError, match="nothing to differentiate"):
        ms.value_and_grad(forgotten)(X)


def test_a_constant_number_has_the_gradient_zero():
    assert plain(ms.grad(lambda x: 3.0)(X)) == [0, 0]
    assert plain(ms.grad(lambda x: 3)(X)) == [0, 0]


def _not_written(x):
    raise NotImplementedError("write me")


def _one_of_two(x):
    if x.sum() > 0:
        _not_written(x)
    else:
        raise NotImplementedError("write me")


@pytest.mark.parametrize("unfinished", [_not_written, _one_of_two, lambda x: _not_written(x)])
def test_a_text_that_only_raises_raises(unfinished):
    with pytest.raises(NotImplementedError, match="write me"):
        ms.grad(unfinished)(X)
