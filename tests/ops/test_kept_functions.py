"""Gradient functions are pickled, copied and sent to other processes, before and after they are
called; and they tell what they are and what ran."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ad
from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import CallError
from tests.kept_functions import MADE, Scale, T, X, asked, cubes, numbers, product

WAYS = {
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("calls", [0, 1, 3])
@pytest.mark.parametrize("made", MADE)
def test_a_copy_answers_as_the_function_does(made: str, calls: int) -> None:
    function, args = MADE[made]()
    for _ in range(calls):
        function(*args)
    for way in WAYS.values():
        other = way(function)
        for _ in range(3):
            assert numbers(other(*args)) == numbers(function(*args))
        assert numbers(way(other)(*args)) == numbers(function(*args))


def test_in_other_processes() -> None:
    rows = [make() for make in MADE.values()]
    for function, args in rows:
        function(*args)
        function(*args)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        found = list(pool.map(asked, *zip(*rows)))
    assert found == [asked(*row) for row in rows]


@pytest.mark.parametrize("calls", [0, 3])
def test_a_deep_copy_of_a_cell_has_its_own_parameters(calls: int) -> None:
    net = Scale()
    gradient = ops.GradOperation(get_by_list=True)
    for _ in range(calls):
        gradient(net, net.trainable_params())(T)
        net(T)
    other = copy.deepcopy(net)
    other.w.set_data(Tensor(np.array([7.0, 11.0], np.float32)))
    other.factor = 3.0
    assert other.w is not net.w and other.trainable_params()[0] is other.w
    for _ in range(3):
        np.testing.assert_array_equal(ad.grad(net)(T).asnumpy(), 4.0 * X * [2.0, 3.0])
        np.testing.assert_array_equal(ad.grad(other)(T).asnumpy(), 6.0 * X * [7.0, 11.0])
        for each, factor in ((net, 2.0), (other, 3.0)):
            (found,) = gradient(each, each.trainable_params())(T)
            np.testing.assert_array_equal(found.asnumpy(), factor * X * X)


def test_a_deep_copy_of_a_gradient_function_has_its_own_cell() -> None:
    net = Scale()
    gradient = ops.GradOperation(get_by_list=True)(net, net.trainable_params())
    gradient(T)
    gradient(T)
    other = copy.deepcopy(gradient)
    other.fn.factor = 5.0
    (one,), (two,) = gradient(T), other(T)
    np.testing.assert_array_equal(one.asnumpy(), 2.0 * X * X)
    np.testing.assert_array_equal(two.asnumpy(), 5.0 * X * X)


# ---- what it is, and what ran


@pytest.mark.parametrize(
    "made, told",
    [
        (lambda: ad.grad(cubes), "gradient of cubes in argument 0"),
        (lambda: ad.value_and_grad(product, (0, 1)), "gradient of product in arguments 0, 1"),
        (lambda: ops.GradOperation(get_all=True)(product), "gradient of product in all arguments"),
        (lambda: ops.GradOperation(get_by_list=True)(Scale()), "gradient of Scale in all weights"),
        (lambda: MADE["weights by name"]()[0], "gradient of Scale in the weights w"),
        (
            lambda: MADE["GradOperation, all"]()[0],
            "gradient of Scale in all arguments and the weights w",
        ),
        (lambda: ad.vmap(cubes), "cubes"),
        (lambda: ad.hessian(cubes), "cubes"),
    ],
)
def test_it_says_what_it_is(made: Any, told: str) -> None:
    found = repr(made())
    assert told in found and found.endswith(", not compiled yet>")


def test_it_says_what_is_compiled() -> None:
    ad.compile_info().clear()
    gradient = ad.grad(cubes)
    gradient(np.ones(2))
    assert repr(gradient).endswith(", compiled: cubes f64[2]>")
    gradient(np.ones(3))
    assert repr(gradient).endswith(", compiled: cubes f64[2]; cubes f64[3]>")


@pytest.mark.parametrize("name", ["source", "forward", "backward"])
def test_before_a_call_there_is_nothing_to_show(name: str) -> None:
    with pytest.raises(CallError, match="nothing has been compiled for .*\n.*call it first"):
        getattr(ad.grad(cubes), name)


def test_what_ran_last_is_shown() -> None:
    """Also where one signature answers by its fast path, and another does not yet."""
    ad.compile_info().clear()
    gradient = ad.grad(product)
    for size in (2, 2, 2, 3, 2, 3, 3, 3, 2, 4, 4, 3):
        gradient(np.ones(size), np.ones(size))
        assert f"f64[{size}]" in gradient.source
        assert gradient.forward.__name__ == "product_forward"
        x = np.full(size, 3.0)
        found = gradient.backward(gradient.forward(x, 2 * x))
        np.testing.assert_array_equal(found, 2 * x * 2 * x)
    ad.compile_info().clear()
    with pytest.raises(CallError):
        gradient.source  # noqa: B018


def test_a_tangent_has_no_backward_half() -> None:
    found = ad.jacfwd(cubes)
    found(X)
    assert found.backward is None
    np.testing.assert_allclose(np.ravel(found.forward(X)), 3 * X**2)
