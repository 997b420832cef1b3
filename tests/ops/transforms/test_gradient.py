"""GradOperation: structure, outputs, weights, kinds of functions, repeated use, nesting."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import ParameterTuple, nn, ops
from autodiff_compiler.errors import CallError
from tests.ops.gradients import (
    GO,
    GU,
    GX,
    GY,
    GZ,
    Net,
    NoInput,
    S,
    Square,
    X,
    Y,
    plain,
    product,
    t,
)

# ---- the flags


@pytest.mark.parametrize(
    "flags, want",
    [
        ((False, False, False), GX),
        ((False, False, True), [60, 1000]),
        ((False, True, False), (GZ, GU)),
        ((False, True, True), ([1030], GU)),
        ((True, False, False), (GX, GY)),
        ((True, False, True), ([60, 1000], [20, 400])),
        ((True, True, False), ((GX, GY), (GZ, GU))),
        ((True, True, True), (([60, 1000], [20, 400]), ([1030], GU))),
    ],
)
def test_structure_by_flags(flags, want):
    net = Net()
    gradient = GO(*flags)(net, ParameterTuple([net.z, net.u]))
    assert plain(gradient(X, Y, S) if flags[2] else gradient(X, Y)) == want


@pytest.mark.parametrize(
    "flags, want",
    [((False, False), [4, 8]), ((True, False), ([4, 8],)), ((True, True), (([4, 8],), ([5],)))],
)
def test_one_input(flags, want):
    net = Square()
    assert plain(GO(*flags)(net, ParameterTuple([net.z]))(X)) == want


@pytest.mark.parametrize(
    "flags, want",
    [
        ((False, False), ()), ((True, False), ()), ((False, True), ([4],)),
        ((True, True), ((), ([4],))),
    ],
)  # fmt: skip
def test_no_input(flags, want):
    net = NoInput()
    assert plain(GO(*flags)(net, ParameterTuple([net.z]))()) == want


@pytest.mark.parametrize(
    "flags, text",
    [
        ({"get_all": 1}, "For 'GradOperation', the 'get_all' should be bool, but got int"),
        ({"get_by_list": "x"},
         "For 'GradOperation', the 'get_by_list' should be bool, but got str"),
        ({"sens_param": None},
         "For 'GradOperation', the 'sens_param' should be bool, but got NoneType"),
    ],
)  # fmt: skip
def test_flags_are_bools(flags, text):
    with pytest.raises(TypeError) as caught:
        GO(**flags)
    assert str(caught.value) == text


def test_flags_are_readable_and_no_more_than_three():
    made = GO(True, False, True)
    assert (made.get_all, made.get_by_list, made.sens_param) == (True, False, True)
    with pytest.raises(TypeError):
        GO(True, True, True, True)
    with pytest.raises(TypeError, match="fn"):
        GO()()


def test_gradients_have_the_dtype_of_the_input():
    gradient = GO(get_all=True)(product)(t(1, 2, dtype=np.float16), t(3, 5))
    assert [g.dtype for g in gradient] == [ms.float16, ms.float32]


# ---- outputs


@pytest.mark.parametrize(
    "fn, want",
    [
        (lambda x, y: (x * y, x + x), ([5, 7], [1, 2])),
        (lambda x, y: (x * y, (x * 2, y * 3)), ([5, 7], [4, 5])),
        (lambda x, y: [x * y, x + x], ([5, 7], [1, 2])),
        (lambda x, y: {"a": x * y, "b": x + x}, ([5, 7], [1, 2])),
        (lambda x, y: (x * y, 3, None, "s"), ([3, 5], [1, 2])),
        (lambda x, y: x > y, ([0, 0], [0, 0])),
        (lambda x, y: 3, ([0, 0], [0, 0])),
        (lambda x, y: x, ([1, 1], [0, 0])),
        (lambda x, y: (ops.cast(x * 2, ms.int32), x * y), ([5, 7], [1, 2])),
    ],
    ids=[
        "tuple",
        "nested",
        "list",
        "dict",
        "other",
        "bool",
        "int",
        "input",
        "cast",
    ],
)
def test_every_output_is_seeded_with_ones(fn, want):
    assert plain(GO(get_all=True)(fn)(X, Y)) == want


@pytest.mark.parametrize("fn", [lambda x, y: None, lambda x, y: ()], ids=["none", "empty"])
def test_an_output_without_a_number_has_no_gradient(fn):
    with pytest.raises(CallError, match="the function returns no number"):
        GO(get_all=True)(fn)(X, Y)


# ---- weights


@pytest.fixture
def net():
    return Net()


@pytest.mark.parametrize("kind", [ParameterTuple, list, tuple])
def test_weights_in_the_given_order(net, kind):
    assert plain(GO(get_by_list=True)(net, kind([net.u, net.z]))(X, Y)) == (GU, GZ)


@pytest.mark.parametrize(
    "pick, want",
    [
        (lambda n: n.z, GZ),
        (lambda n: ParameterTuple([n.z]), (GZ,)),
        (lambda n: [], ()),
        (lambda n: [n.z, n.z], (GZ, GZ)),
        (lambda n: {"z": n.z, "u": n.u}, {"z": GZ, "u": GU}),
        (lambda n: [n.u, [n.z]], (GU, (GZ,))),
        (lambda n: None, (GZ,)),
    ],
    ids=["bare", "one", "none", "twice", "dict", "nested", "omitted"],
)
def test_weights_structure(net, pick, want):
    assert plain(GO(get_by_list=True)(net, pick(net))(X, Y)) == want
    assert plain(GO(True, True)(net, pick(net))(X, Y)) == ((GX, GY), want)


def test_weights_are_ignored_when_not_asked_for(net):
    assert plain(GO(get_all=True)(net, ParameterTuple([net.z]))(X, Y)) == (GX, GY)


def test_weights_of_the_wrong_kind(net):
    for weights, shown in (("z", "z"), (net.get_parameters(), "generator"), ({}.values(), "dict")):
        with pytest.raises(TypeError, match=f"The weights you provided .* but got .*{shown}"):
            GO(get_by_list=True)(net, weights)(X, Y)


def test_weight_without_requires_grad(net):
    net.z.requires_grad = False
    assert plain(GO(get_by_list=True)(net, [net.z])(X, Y)) == (GZ,)
    assert plain(GO(get_by_list=True)(net, ParameterTuple(net.trainable_params()))(X, Y)) == (GU,)


def test_a_weight_frozen_or_thawed_later_is_seen(net):
    gradient = GO(get_by_list=True)(net)
    within = ms.jit(lambda x, y: GO(get_by_list=True)(net)(x, y))
    for trainable in (True, False, True):
        net.z.requires_grad = trainable
        for _ in range(3):
            assert len(gradient(X, Y)) == len(within(X, Y)) == trainable


def test_weight_of_another_net(net):
    assert plain(GO(get_by_list=True)(net, [Net().z])(X, Y)) == ([0],)


def test_the_list_of_weights_is_remembered_as_it_was(net):
    weights = [net.z]
    gradient = GO(get_by_list=True)(net, weights)
    weights.append(net.u)
    assert plain(gradient(X, Y)) == (GZ,)


# ---- what fn may be


class Owner:
    def scaled(self, x):
        return x * x


LAMBDA = lambda x: x * x  # noqa: E731


def doubled(k, x):
    return x * x * k


@ms.jit
def jitted(x):
    return x * x


@pytest.mark.parametrize(
    "fn",
    [LAMBDA, Owner().scaled, functools.partial(doubled, 1.0), jitted, lambda x: ops.mul(x, x)],
    ids=["lambda", "method", "partial", "jit", "function"],
)
def test_kinds_of_functions(fn):
    assert plain(GO()(fn)(X)) == [2, 4]


def test_operator_functions_and_primitives():
    assert plain(GO(get_all=True)(ops.mul)(X, Y)) == ([3, 5], [1, 2])
    assert plain(GO(get_all=True)(ops.Mul())(X, Y)) == ([3, 5], [1, 2])


@pytest.mark.parametrize("fn, name", [(3, "int"), (None, "NoneType")])
def test_what_is_not_callable(fn, name):
    gradient = GO()(fn)
    with pytest.raises(TypeError) as caught:
        gradient(X)
    assert str(caught.value) == f"The fn should be callable, but got {name}"


# ---- repeated use


def test_follows_set_data_and_new_shapes(net):
    gradient = GO(get_by_list=True)(net, [net.z])
    assert plain(gradient(X, Y)) == (GZ,)
    net.z.set_data(t(5, 7))
    assert plain(GO()(net)(X, Y)) == [15, 35]
    assert plain(gradient(X, Y)) == ([3, 10],)
    assert plain(gradient(t(1, 2), t(3, 0))) == ([3, 0],)


def test_follows_attributes():
    class Scaled(nn.Cell):
        factor = 2.0

        def construct(self, x):
            return x * self.factor

    net = Scaled()
    gradient = GO()(net)
    assert plain(gradient(X)) == [2, 2]
    net.factor = 3.0
    assert plain(gradient(X)) == [3, 3]
    net.factor = 3
    assert plain(gradient(X)) == [3, 3]


# ---- keywords and defaults


class Keywords(nn.Cell):
    def construct(self, x, y=2.0, *, k=3.0):
        return x * y * k


def test_keywords():
    z = t(7, 11)
    gradient = GO(get_all=True)(Keywords())
    assert plain(gradient(X)) == ([6, 6],)
    assert plain(gradient(X, Y)) == plain(gradient(X, y=Y)) == ([9, 15], [3, 6])
    assert plain(gradient(X, Y, k=z)) == ([21, 55], [7, 22], [3, 10])
    assert plain(gradient(y=Y, x=X)) == ([3, 6], [9, 15])


def test_variable_arguments():
    def fn(*args, **kw):
        return args[0] * args[1] * kw["a"]

    assert plain(GO(get_all=True)(fn)(X, Y, a=S)) == ([30, 500], [10, 200], [3, 10])


def test_none_as_default_and_given():
    def fn(x, y=None):
        return x * 2 if y is None else x * y

    gradient = GO(get_all=True)(fn)
    assert plain(gradient(X)) == plain(gradient(X, None)) == ([2, 2],)
    assert plain(gradient(X, Y)) == ([3, 5], [1, 2])


# ---- higher order


def cube(x):
    return x**3


@pytest.mark.parametrize("order, want", [(1, [3, 12]), (2, [6, 12]), (3, [6, 6]), (4, [0, 0])])
def test_nesting(order, want):
    fn = cube
    for _ in range(order):
        fn = GO()(fn)
    assert plain(fn(X)) == want


def test_the_gradients_of_all_gradients_are_summed():
    fn = GO(get_all=True)(GO(get_all=True)(lambda x, y: x * x * y * y))
    assert plain(fn(X, Y)) == ([30, 90], [14, 48])


def test_gradient_cells_of_gradient_cells():
    class GradCell(nn.Cell):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner
            self.op = GO()

        def construct(self, x):
            return self.op(self.inner)(x)

    assert plain(GradCell(GradCell(Square()))(X)) == [4, 4]


def test_a_text_does_not_take_the_answer_of_an_earlier_call():
    """It would be a constant there, whatever it hangs on."""

    def f(x, y):
        return x * y

    def scaled(z):
        return z * ms.jvp(f, (2.0, 3.0), (1.0, 1.0))[1]

    for _ in range(4):
        assert ms.jvp(f, (2.0, 3.0), (1.0, 1.0)) == (6.0, 5.0)
    with pytest.raises(CallError, match="argument 0 holds no tensor"):
        ms.grad(scaled)(np.ones(3))
