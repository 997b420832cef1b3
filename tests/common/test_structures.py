"""Dataclasses, named tuples and registered classes: as results, and when texts are compiled."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.errors import CallError, CompileError
from tests.ops.nested_cases import (
    Model,
    Opaque,
    Params,
    Point,
    X,
    of_methods,
    of_object,
    of_tuple,
)

# ---- results


def stepped(p, rate):
    return Params(p.w - rate * p.w, p.b * 2.0, name="next")


def test_results_are_objects_again():
    compiled = ms.jit(stepped)
    for _ in range(3):
        new = compiled(Params(X, 0.5), 0.1)
        assert type(new) is Params and (new.name, new.power) == ("next", 2)
        np.testing.assert_allclose(new.w, 0.9 * X)
        assert new.b == 1.0
    point = ms.jit(lambda p: Point(p.b, {"inner": [Point(p.w, 1)]}))(Point(X, 0.5))
    assert type(point) is Point and type(point.b["inner"][0]) is Point and point.w == 0.5
    opaque = ms.jit(lambda p: Opaque(p.values * 2, p.scale, p.unit + "m"))(Opaque(X, 0.5, "m"))
    assert type(opaque) is Opaque and opaque.unit == "mm"
    np.testing.assert_array_equal(opaque.values, 2 * X)


def test_tangents_of_objects():
    value, dot = ms.jvp(stepped, (Params(X, 0.5), 0.1), (Params(X * X, 1.0), 0.0))
    assert type(value) is type(dot) is Params and dot.b == 2.0
    np.testing.assert_allclose(dot.w, 0.9 * X * X)


def test_a_batch_of_objects():
    found = ms.vmap(lambda x: Point(x * 2, x.sum()))(np.ones((2, 3)))
    assert type(found) is Point and found.b.tolist() == [3, 3]
    found = ms.vmap(lambda x: Params(x * 2, x.sum()))(np.ones((2, 3)))
    assert type(found) is Params and found.w.shape == (2, 3)


def test_a_sensitivity_that_is_an_object():
    _, pull = ms.vjp(lambda x: Params(x * x, np.sum(x)), X)
    (found,) = pull(Params(np.ones(3), np.array(10.0)))
    np.testing.assert_allclose(found, 2 * X + 10)


def test_replaced_parts():
    found = ms.grad(lambda p: dataclasses.replace(p, w=p.w * 2).total())(Params(X, 0.5))
    np.testing.assert_allclose(found.w, 2 * np.sin(2 * X) * np.cos(2 * X))


# ---- what is compiled, and when


def test_a_new_object_is_no_new_text():
    ms.compile_info().clear()  # what is full grows no more
    gradient = ms.grad(of_methods)
    gradient(Params(X, 0.5))
    before = len(ms.compile_info())
    for k in range(1, 5):
        found = gradient(Params(X * k, 0.1 * k))
        np.testing.assert_allclose(
            found.w, 0.1 * k * np.sin(2 * k * X) + np.array([1.0, 0, 0]), rtol=1e-12
        )
    assert len(ms.compile_info()) == before
    cubed = gradient(Params(X, 0.5, power=3))
    np.testing.assert_allclose(
        cubed.w, 1.5 * np.sin(X) ** 2 * np.cos(X) + np.array([1.0, 0, 0]), rtol=1e-12
    )
    assert cubed.power == 0 and len(ms.compile_info()) == before + 1


def test_floats_in_containers_are_no_new_text():
    ms.compile_info().clear()
    gradient = ms.grad(of_tuple)
    gradient((0.3, 0.5))
    before = len(ms.compile_info())
    for k in range(5):
        w, b = 0.1 * k, 0.2 + k
        found = gradient((w, b))
        np.testing.assert_allclose(found[0], np.cos(w) * b + 2 * w * b * b, rtol=1e-12)
    assert len(ms.compile_info()) == before


def test_a_float_that_becomes_an_array():
    gradient = ms.grad(of_object)
    for _ in range(2):
        assert isinstance(gradient(Params(0.3, 0.5)).w, float)
        assert gradient(Params(X, 0.5)).w.shape == (3,)
        assert gradient(Params(X, np.full(3, 0.5))).b.shape == (3,)


def test_an_object_beside_what_is_differentiated():
    def f(x, p):
        return np.sum(x * p.w) * p.b

    gradient = ms.grad(f)
    for k in (1.0, 2.0):
        np.testing.assert_allclose(gradient(X, Params(k * X, 0.5)), 0.5 * k * X)
    in_both = ms.grad(f, (1, 0))(X, Params(X, 0.5))
    assert type(in_both[0]) is Params
    np.testing.assert_allclose(in_both[1], 0.5 * X)


def test_arguments_are_not_written():
    def f(p):
        p.w = p.w * 2
        return np.sum(p.w)

    with pytest.raises(CompileError, match="assigns the attribute 'w' of an argument"):
        ms.grad(f)(Params(X, 0.5))


def test_whole_numbers_have_no_gradient():
    found = ms.grad(of_object)(Params(X, np.array([1, 2, 3])))
    assert found.b == 0
    np.testing.assert_allclose(found.w, 3 * np.cos(X) * [1, 2, 3] + 2 * X * 14, rtol=1e-12)


@pytest.mark.parametrize(
    "v, words",
    [
        ({"w": X}, "like its input"),
        ((Point(X, 1.0),), "like its input"),
        (Params(X, (1.0, 2.0)), "shape|tangent|float"),
    ],
)
def test_tangents_that_do_not_fit(v, words):
    with pytest.raises((CallError, TypeError, ValueError), match=words):
        ms.jvp(of_object, Params(X, 0.5), v)


def test_what_cannot_be_registered():
    with pytest.raises(TypeError, match="register_container takes a class"):
        ms.register_container(3, len, len)
    with pytest.raises(TypeError, match="should be callable"):
        ms.register_container(Model, None, len)


# ---- Tensors: MindSpore's rule


class Summed(nn.Cell):
    def construct(self, x, p):
        return ops.reduce_sum(x * p.w) * p.b


@pytest.mark.parametrize("graph", [False, True])
def test_containers_of_tensors(graph):
    x, p = Tensor(X), Point(Tensor(X), Tensor(np.array(0.5)))
    net = Summed()
    net._compiled_forward = graph
    np.testing.assert_allclose(net(x, p).asnumpy(), 0.5 * np.sum(X * X))
    found = ms.grad(net)(x, p)
    assert isinstance(found, Tensor)
    np.testing.assert_allclose(found.asnumpy(), 0.5 * X)
    # A container is a constant unless it is mutable.
    assert len(ms.GradOperation(get_all=True)(net)(x, p)) == 1


@dataclass
class Counting:
    h: Any
    calls: int = 0


def remembering(x, state):
    state.h = state.h + x
    state.calls = state.calls + 1
    return (state.h * x).sum()


@pytest.mark.parametrize("tensors", [False, True])
def test_an_object_that_the_text_writes_to_is_the_callers(tensors):
    made = Tensor if tensors else np.array
    state, x = Counting(made(X)), made(X)
    compiled, gradient = ms.jit(remembering), ms.grad(remembering)
    compiled(x, state)
    gradient(x, state)
    found = gradient(x, state)
    assert state.calls == 3
    np.testing.assert_allclose(np.asarray(state.h), 4 * X)
    np.testing.assert_allclose(np.asarray(found), 5 * X)


def total_of(things):
    total = 0.0
    for thing in things:
        total = total + thing.total()
    return total


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_row_of_objects(kind):
    things = kind([Params(X, 0.5), Params(2 * X, 3.0)])
    for found in (ms.grad(total_of)(things), ms.grad(lambda row: total_of(row))(things)):
        assert type(found) is kind and [type(each) for each in found] == [Params, Params]
        np.testing.assert_allclose(found[0].w, 0.5 * np.sin(2 * X), rtol=1e-12)
        np.testing.assert_allclose(found[1].b, np.sum(np.sin(2 * X) ** 2), rtol=1e-12)


def test_the_source_for_an_object():
    text = ms.gradient_source(of_methods, Params(X, 0.5), value=True)
    space = {}
    exec(text, space)
    value, residuals = space["of_methods_forward"](X, 0.5)
    d_w, d_b = space["of_methods_backward"](residuals)
    assert value == pytest.approx(of_methods(Params(X, 0.5)))
    np.testing.assert_allclose(d_w, 0.5 * np.sin(2 * X) + np.array([1.0, 0, 0]), rtol=1e-12)
    np.testing.assert_allclose(d_b, np.sum(np.sin(X) ** 2), rtol=1e-12)
    text = ms.gradient_source(of_methods, Params(X, 0.5), mode="forward")
    assert "dot_p_w" in text and "dot_p_b" in text


def test_keys_that_are_equal_but_not_alike_are_different_structures():
    gradient = ms.grad(lambda d: sum(v * v for v in d.values()))
    for key in (1, True, 1.0):
        ((found, slope),) = gradient({key: 2.0}).items()
        assert type(found) is type(key) and slope == 4.0
