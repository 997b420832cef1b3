"""grad, value_and_grad and get_grad: the tables of measured behaviour, row by row."""

from __future__ import annotations

import functools

import pytest

import autodiff_compiler as ms
from autodiff_compiler import ParameterTuple
from autodiff_compiler.errors import CallError
from tests.ops.gradients import (
    GO,
    GU,
    GX,
    GY,
    GZ,
    Net,
    S,
    X,
    Y,
    plain,
    product,
    t,
    times,
)


@pytest.fixture
def net():
    return Net()


def cube(x):
    return x**3


# ---- grad and value_and_grad


@pytest.mark.parametrize(
    "position, want",
    [
        (0, GX), ((0,), GX), (1, GY), ((1,), GY), ((0, 1), (GX, GY)), ((1, 0), (GY, GX)),
        (True, GY),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "pick, weights",
    [
        (lambda n: None, None),
        (lambda n: n.z, GZ),
        (lambda n: [n.z], (GZ,)),
        (lambda n: ParameterTuple([n.z, n.u]), (GZ, GU)),
        (lambda n: [], ()),
    ],
    ids=["none", "bare", "one", "two", "empty"],
)
def test_grad_structure(net, position, want, pick, weights):
    promised = want if weights is None else (want, weights)
    assert plain(ms.grad(net, position, pick(net))(X, Y)) == promised
    value, got = ms.value_and_grad(net, position, pick(net))(X, Y)
    assert plain(value) == [6, 20]
    assert plain(got) == promised


def test_grad_of_weights_alone(net):
    assert plain(ms.grad(net, None, net.z)(X, Y)) == GZ
    assert plain(ms.grad(net, None, [net.z, net.u])(X, Y)) == (GZ, GU)
    assert plain(ms.grad(net, None, [])(X, Y)) == ()


def test_grad_at_what_is_no_tensor():
    assert plain(ms.grad(times, (0, 1))(X, 2.0)) == [2, 2]
    assert plain(ms.grad(times, 1)(X, 2.0)) == ()


def test_return_ids(net):
    def ids(position, weights=None):
        return plain(ms.grad(net, position, weights, return_ids=True)(X, Y))

    z, u = net.z, net.u
    assert ids(0) == (0, GX)
    assert ids(0, z) == ((0, GX), ("z", GZ))
    assert ids(0, [z, u]) == ((0, GX), (("z", GZ), ("u", GU)))
    assert ids((0, 1)) == ((0, GX), (1, GY))
    assert ids((0, 1), z) == (((0, GX), (1, GY)), ("z", GZ))
    assert ids(None, [z, u]) == (("z", GZ), ("u", GU))
    assert ids(None, z) == ("z", GZ)
    assert ids((1,)) == (1, GY)


def test_get_grad(net):
    result = ms.grad(net, (0, 1), [net.z, net.u], return_ids=True)(X, Y)
    assert plain(ms.get_grad(result, 1)) == GY
    assert plain(ms.get_grad(result, net.z)) == GZ
    with pytest.raises(TypeError) as caught:
        ms.get_grad(result, "z")
    assert str(caught.value) == (
        "For `get_grad`, the `x` should be an integer or a Parameter, but got z"
    )
    with pytest.raises(RuntimeError, match="Can not find the gradient for position or Parameter 5"):
        ms.get_grad(result, 5)


def aux(x, y):
    return x * y, x + y, y


def test_has_aux():
    extra = ([4, 7], [3, 5])
    assert plain(ms.grad(aux, has_aux=True)(X, Y)) == ([3, 5], extra)
    assert plain(ms.grad(aux, (0, 1), has_aux=True)(X, Y)) == (([3, 5], [1, 2]), extra)
    value, gradient = ms.value_and_grad(aux, has_aux=True)(X, Y)
    assert plain(value) == ([3, 10], *extra)
    assert plain(gradient) == [3, 5]
    assert plain(ms.grad(lambda x, y: (x * y, x), has_aux=True)(X, Y)) == ([3, 5], ([1, 2],))
    assert plain(ms.grad(lambda x, y: ((x * y, x), y), has_aux=True)(X, Y)) == ([4, 6], ([3, 5],))


def test_has_aux_with_the_sensitivity_of_the_first_output():
    def fn(x, y):
        return x * y, (x, y)

    g, aux = ms.grad(fn, (0, 1), has_aux=True, sens_param=True)(X, Y, S)
    assert plain((g, aux)) == (([30, 500], [10, 200]), (([1, 2], [3, 5]),))
    value, g = ms.value_and_grad(fn, has_aux=True, sens_param=True)(X, Y, S)
    assert plain(value) == ([3, 10], ([1, 2], [3, 5])) and plain(g) == [30, 500]

    def inside(x, y, s):
        return ms.grad(fn, has_aux=True, sens_param=True)(x, y, s)[0]

    assert plain(ms.jit(inside)(X, Y, S)) == [30, 500]
    with pytest.raises(CallError, match=r"should have the shape \[2\]"):
        ms.grad(fn, has_aux=True, sens_param=True)(X, Y, t(1))


def test_what_the_output_does_not_depend_on(net):
    def fn(x, y):
        return x * 2 + ms.ops.stop_gradient(y)

    assert plain(ms.grad(fn, (0, 1))(X, Y)) == ([2, 2], [0, 0])
    assert plain(ms.grad(fn, (1, 0), unconnected="none")(X, Y)) == (None, [2, 2])
    weights = [net.u, net.z]
    found = ms.grad(net, (0, 1), weights, unconnected="none")(X, Y)
    assert plain(found) == ((GX, GY), (None, GZ))
    value, found = ms.value_and_grad(net, None, weights, unconnected="none")(X, Y)
    assert plain((value, found)) == ([6, 20], (None, GZ))
    for _ in range(3):  # the fast path must not be taken
        assert plain(ms.grad(fn, 1, unconnected="none")(X, Y)) is None
    with pytest.raises(CallError, match="the output does not depend on argument 1"):
        ms.grad(fn, (0, 1), unconnected="error")(X, Y)
    with pytest.raises(CallError, match="does not depend on the Parameter 'u'"):
        ms.grad(net, 0, weights, unconnected="error")(X, Y)
    assert plain(ms.grad(fn, 0, unconnected="error")(X, Y)) == [2, 2]
    assert plain(ms.grad(lambda x: x - x, unconnected="error")(X)) == [0, 0]
    with pytest.raises(ValueError, match="unconnected must be"):
        ms.grad(fn, unconnected=None)
    with pytest.raises(CallError, match="inside compiled code"):
        ms.jit(lambda x, y: ms.grad(fn, 1, unconnected="none")(x, y))(X, Y)


def test_methods_and_partials_follow_what_they_hold():
    class Scaled:
        k = 2.0

        def square(self, x):
            return x * x * self.k

    owner = Scaled()
    assert plain(ms.grad(owner.square)(X)) == [4, 8]
    owner.k = 5.0
    assert plain(ms.grad(owner.square)(X)) == [10, 20]

    def times(k):
        return lambda x, y: x * y * k

    for k in (2.0, 3.0):
        assert plain(ms.grad(functools.partial(times(k), X))(Y)) == [k, 2 * k]
        assert plain(ms.grad(functools.partial(times(1.0), k))(Y)) == [k, k]
        assert plain(ms.grad(functools.partial(times(1.0), y=k))(Y)) == [k, k]


def test_has_aux_needs_two_outputs():
    with pytest.raises(ValueError, match="requires more than one outputs"):
        ms.grad(product, has_aux=True)(X, Y)


@pytest.mark.parametrize("make", [ms.grad, ms.value_and_grad])
@pytest.mark.parametrize(
    "options, kind, text",
    [
        ({"grad_position": -1}, ValueError, "grad_position must be >= 0."),
        ({"grad_position": (0, 0)}, ValueError,
         "There are duplicate positions in `grad_position`, please check it"),
        ({"grad_position": "0"}, TypeError,
         "For 'F.grad', the 'grad_position' must be int or tuple."),
        ({"grad_position": [0]}, TypeError,
         "For 'F.grad', the 'grad_position' must be int or tuple."),
        ({"grad_position": 1.0}, TypeError,
         "For 'F.grad', the 'grad_position' must be int or tuple."),
        ({"grad_position": ("a",)}, TypeError,
         "For 'F.grad', the element in 'grad_position' must be int."),
        ({"grad_position": None}, ValueError,
         "`grad_position` and `weight` can not be None at the same time."),
        ({"has_aux": 1}, TypeError, "For '_Grad', the 'has_aux' should be bool, but got int"),
        ({"return_ids": 1}, TypeError, "For '_Grad', the 'return_ids' should be bool, but got int"),
        ({"sens_param": 1}, TypeError, "For '_Grad', the 'sens_param' should be bool, but got int"),
    ],
)  # fmt: skip
def test_grad_refuses_at_once(make, options, kind, text):
    with pytest.raises(kind) as caught:
        make(product, **options)
    assert str(caught.value) == text


def test_grad_refuses_in_the_call():
    with pytest.raises(RuntimeError, match="Position index 2 is exceed input size.") as caught:
        ms.grad(product, 2)(X, Y)
    assert isinstance(caught.value, IndexError)
    with pytest.raises(RuntimeError, match="should not be empty when grad by position!"):
        ms.grad(product, ())(X, Y)


def test_grad_with_keywords_and_sens():
    assert plain(ms.grad(product, (0, 1))(X, y=Y)) == ([3, 5], [1, 2])
    assert plain(ms.grad(product, sens_param=True)(X, Y, S)) == [30, 500]
    assert plain(ms.grad(product, sens_param=True)(X, Y, sens=S)) == [30, 500]


def test_grad_and_value_are_both_differentiated():
    assert plain(ms.grad(ms.value_and_grad(lambda x: x * x * x))(X)) == [9, 24]
    assert plain(ms.jit(ms.grad(cube))(X)) == [3, 12]


def test_training_idiom(net):
    def forward(x, y):
        out = net(x, y)
        return out.sum(), out

    step = ms.value_and_grad(forward, None, net.trainable_params(), has_aux=True)
    (loss, logits), gradients = step(X, Y)
    assert plain((loss, logits)) == (26, [6, 20])
    assert plain(gradients) == (GZ, GU)


def test_results_are_tensors_of_their_own():
    x = t(1, 2)
    for result in GO(get_all=True, sens_param=True)(lambda a, b: a + b)(x, x, S):
        result[0] = 99.0
    assert plain((x, S)) == ([1, 2], [10, 100])
    copy = ms.jit(lambda a: a)(x)
    copy[0] = 5.0
    assert plain(x) == [1, 2]


def test_one_function_asked_in_two_ways():
    def doubled(x):
        return x * 2.0

    def nothing():
        return t(1)

    # GradOperation takes no float for an input; grad, of a plain function, does.
    assert GO()(doubled)(3.0) == ()
    assert ms.grad(doubled)(3.0) == 2.0
    assert GO()(doubled)(3.0) == ()
    assert GO()(nothing)() == ()
    with pytest.raises(IndexError):
        ms.grad(nothing)()
