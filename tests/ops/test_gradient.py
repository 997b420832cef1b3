"""What gradient functions return and refuse: the tables of measured behaviour, row by row.

The net is x * y * z with a parameter u that takes no part; all numbers are worked out by hand.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, ParameterTuple, Tensor, nn, ops
from autodiff_compiler.errors import CallError, SensitivityError

GO = ops.GradOperation


def t(*numbers, dtype=np.float32):
    return Tensor(np.array(numbers, dtype))


X, Y, S = t(1, 2), t(3, 5), t(10, 100)
GX, GY, GZ, GU = [6, 10], [2, 4], [13], [0, 0]


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.z = Parameter(np.array([2], np.float32))
        self.u = Parameter(np.array([3, 4], np.float32))

    def construct(self, x, y):
        return x * y * self.z


class Square(Net):
    def construct(self, x):
        return x * x * self.z


class NoInput(Net):
    def construct(self):
        return self.z * self.z


def plain(result):
    """Tensors as lists, so that structures compare with ``==``; types must be Tensor exactly."""
    if isinstance(result, Tensor):
        assert type(result) is Tensor
        return result.asnumpy().tolist()
    if isinstance(result, (tuple, list)):
        return type(result)(map(plain, result))
    if isinstance(result, dict):
        return {key: plain(item) for key, item in result.items()}
    return result


def product(x, y):
    return x * y


def times(x, k):
    return x * k


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
        (lambda x, y: None, ([0, 0], [0, 0])),
        (lambda x, y: (), ([0, 0], [0, 0])),
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
        "none",
        "empty",
        "input",
        "cast",
    ],
)
def test_every_output_is_seeded_with_ones(fn, want):
    assert plain(GO(get_all=True)(fn)(X, Y)) == want


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
