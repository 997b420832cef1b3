"""The fast path returns the same as the slow path, is taken, and refuses every call that
differs."""

from __future__ import annotations

import copy
import gc
import inspect
import weakref

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import GradOperation, Parameter, ParameterTuple, Tensor, nn, ops
from autodiff_compiler.api import RUNTIME
from autodiff_compiler.errors import CallError, SensitivityError
from autodiff_compiler.runtime.compiled_function import CompiledFunction

X = Tensor(np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]], np.float32))
S = Tensor(np.array([[10.0, 1.0, -1.0], [2.0, 0.0, 5.0]], np.float32))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.array([2.0, 3.0, 5.0], np.float32)), name="w")
        self.scale = 2.0

    def construct(self, x, k):
        return x * x * self.w * self.scale * k


def expected(net, x, k, sens):
    x, w, sens = x.asnumpy(), net.w.asnumpy(), sens.asnumpy()
    factor = net.scale * k
    return 2 * x * w * factor * sens, (x * x * factor * sens).sum(0)


def close(found, wanted):
    (d_x,), (d_w,) = found
    assert np.allclose(d_x.asnumpy(), wanted[0]) and np.allclose(d_w.asnumpy(), wanted[1])


@pytest.fixture
def net():
    return Net()


@pytest.fixture
def gradient(net):
    made = GradOperation(True, True, True)(net, ParameterTuple(net.trainable_params()))
    for _ in range(3):
        close(made(X, 3.0, S), expected(net, X, 3.0, S))
    assert made.fast_call is not None and made.fast_call(net, (X, 3.0, S)) is not False
    return made


def test_other_numbers_and_new_values(net, gradient):
    y = Tensor(np.ones((2, 3), np.float32))
    assert gradient.fast_call(net, (y, -0.5, S)) is not False
    close(gradient(y, -0.5, S), expected(net, y, -0.5, S))
    net.w.set_data(Tensor(np.array([1.0, 0.0, -1.0], np.float32)))
    close(gradient(X, 3.0, S), expected(net, X, 3.0, S))


def test_a_call_that_differs_takes_the_slow_path(net, gradient):
    other = Tensor(np.ones((4, 3), np.float32))
    double = Tensor(X.asnumpy().astype(np.float64))
    for args in ((other, 3.0, other), (X, 3, S), (Parameter(X), 3.0, S), (double, 3.0, S)):
        assert gradient.fast_call(net, args) is False
    close(gradient(other, 3.0, other), expected(net, other, 3.0, other))
    close(gradient(X, 3, S), expected(net, X, 3, S))
    close(gradient(X, k=3.0, sens=S), expected(net, X, 3.0, S))


def test_a_changed_attribute_is_seen(net, gradient):
    net.scale = -7.0
    assert gradient.fast_call(net, (X, 3.0, S)) is False
    close(gradient(X, 3.0, S), expected(net, X, 3.0, S))


def test_errors_are_those_of_the_slow_path(gradient):
    with pytest.raises(SensitivityError, match="shape"):
        gradient(X, 3.0, Tensor(np.ones((1, 3), np.float32)))
    with pytest.raises(CallError, match="dtype float32"):
        gradient(X, 3.0, Tensor(np.ones((2, 3))))
    with pytest.raises(CallError, match="missing 2 required"):
        gradient(S)


def test_calls_are_counted_and_clear_lets_go(net, gradient):
    before, after = [], []
    for calls in (before, after):
        gradient(X, 3.0, S)
        calls += [unit.calls for unit in ms.compile_info().units if unit.title.startswith("Net.")]
    assert after[-1] == before[-1] + 1
    ms.compile_info().clear()
    assert gradient.fast_call is None
    close(gradient(X, 3.0, S), expected(net, X, 3.0, S))


def test_nothing_keeps_a_gradient_function_alive(net, gradient):
    again = GradOperation(True, True, True)(net, gradient.weights)
    again(X, 3.0, S)
    assert again.fast_call is gradient.fast_call
    gone = weakref.ref(again)
    del again
    gc.collect()
    assert gone() is None
    close(gradient(X, 3.0, S), expected(net, X, 3.0, S))


def test_a_copy_is_of_the_copied_cell(net, gradient):
    other = copy.deepcopy(gradient)
    other.fn.w.set_data(Tensor(np.array([1.0, 0.0, -1.0], np.float32)))
    for _ in range(3):
        close(other(X, 3.0, S), expected(other.fn, X, 3.0, S))
        close(gradient(X, 3.0, S), expected(net, X, 3.0, S))


def taken(x, flag):
    return x if flag else x + 1.0


@pytest.mark.parametrize(
    ("fn", "apart"),
    [
        (lambda x: ops.reshape(x, (3, 2)), False),
        (lambda x: x, False),
        (lambda x: ops.broadcast_to(ops.exp(x), (2, 2, 3)), False),
        (lambda x: taken(x, x.sum() > 0), False),
        (ops.exp, True),  # saved for backward, too
        (lambda x: ops.reshape(x * x, (3, 2)), True),
    ],
)
def test_a_value_owns_its_memory(fn, apart):
    gradient = ms.value_and_grad(fn)
    before = X.asnumpy().copy()
    first = [each.asnumpy().copy() for each in gradient(X)]
    for _ in range(4):
        value, d_x = gradient(X)
        value.asnumpy()[...] = 0.0
        d_x.asnumpy()[...] = 0.0
    assert gradient.fast_call is not None and np.array_equal(X.asnumpy(), before)
    assert all(np.array_equal(a.asnumpy(), b) for a, b in zip(gradient(X), first))
    unit = inspect.signature(gradient.fast_call).parameters["unit"].default
    assert unit.compiled.owns_memory == apart


@pytest.mark.parametrize(
    "make",
    [
        lambda f: GradOperation()(f),
        lambda f: GradOperation(get_all=True)(f),
        lambda f: ms.grad(f, (0, 1)),
        lambda f: ms.grad(f, 1),
        lambda f: ms.grad(f, (1, 0), return_ids=True),
        lambda f: ms.value_and_grad(f, (1,)),
        lambda f: ms.value_and_grad(f, (0, 1)),
    ],
)
def test_structures(make):
    gradient = make(lambda x, y: (x * y * y).sum())
    first = gradient(X, S)
    for _ in range(3):
        assert str(gradient(X, S)) == str(first)


def test_lists_and_single_weights_keep_their_structure(net):
    w = net.w
    made = [GradOperation(get_by_list=True)(net, weights) for weights in ((w,), [w], w, [w, w])]
    for _ in range(3):
        results = [gradient(X, 3.0) for gradient in made]
        assert [type(result) for result in results] == [tuple, tuple, Tensor, tuple]
        assert len(results[3]) == 2


def test_the_note_names_the_users_line():
    def f(x, n):
        return x[n] * x[n]

    gradient = ms.grad(f)
    for _ in range(3):
        gradient(X, 1)
    with pytest.raises(IndexError) as caught:
        gradient(X, 5)
    assert "return x[n] * x[n]" in "".join(getattr(caught.value, "__notes__", [])) + str(
        caught.value
    ) + str(caught.value.__cause__)


def square_and_more(x, y):
    return x * y * y, [ops.exp(x), (x + y).sum()]


def pulled(found, sens):
    value, pull, *aux = found
    return value, pull(sens), pull(sens), *aux


def cube(x):
    return (x * x * x).sum()


ARRAY = np.array([[1.0, -2.0], [0.5, 4.0]])
#: The other kinds of calls, each as a function of a tensor or of an array.
CALLS = {
    "forward": lambda: (ms.jit(lambda x: x * x), X),
    "forward of several": lambda: (ms.jit(lambda x: square_and_more(x, S)), X),
    "aux": lambda: (ms.grad(square_and_more, (0, 1), has_aux=True), X, S),
    "value and aux": lambda: (ms.value_and_grad(square_and_more, 1, has_aux=True), X, S),
    "several outputs": lambda: (ms.value_and_grad(square_and_more, (0, 1)), X, S),
    "grad of grad": lambda: (ms.grad(lambda x: ms.grad(cube)(x)), X),
    "made anew": lambda: (lambda x: ms.grad(cube)(x), X),
    "jvp": lambda: (lambda x: ms.jvp(square_and_more, (x, S), (S, x)), X),
    "jvp, aux": lambda: (lambda x: ms.jvp(square_and_more, (x, S), (S, x), has_aux=True), X),
    "vjp": lambda: (lambda x: pulled(ms.vjp(lambda x, y: x * y * y, x, S), S), X),
    "vjp, aux": lambda: (lambda x: pulled(ms.vjp(square_and_more, x, S, has_aux=True), x), X),
    "vjp of arrays": lambda: (lambda x: pulled(ms.vjp(lambda x: x * x, x), x), ARRAY),
    "hvp": lambda: (lambda x: ms.hvp(cube, x, S), X),
    "jacrev": lambda: (ms.jacrev(lambda x: x * x), X),
    "jacfwd": lambda: (ms.jacfwd(lambda x: ops.exp(x).sum(0)), X),
    "hessian": lambda: (ms.hessian(cube), X),
    "vmap": lambda: (ms.vmap(cube), X),
    "arrays": lambda: (ms.grad(lambda x: (x * x).sum()), ARRAY),
    "arrays and numbers": lambda: (
        ms.value_and_grad(lambda x, k: (x * k).sum(), (0, 1)),
        ARRAY,
        2.0,
    ),
    "tangent of arrays": lambda: (lambda x: ms.jvp(lambda x: x * x, x, x), ARRAY),
}


@pytest.fixture
def only_fast(monkeypatch):
    """Forbids the slow path from now on."""

    def forbid():
        for name in ("run_forward", "run_pair", "run_tangent", "run_pullback", "apply_pullback"):
            monkeypatch.setattr(
                CompiledFunction, name, lambda *_: pytest.fail("the slow path was taken")
            )

    return forbid


@pytest.mark.parametrize("kind", CALLS)
def test_every_kind_of_call_has_a_fast_path(kind, only_fast):
    fn, *args = CALLS[kind]()
    held = [np.asarray(arg).copy() for arg in args]
    slow = fn(*args)
    text = str(slow)
    for _ in range(3):
        fn(*args)
    only_fast()
    fast = fn(*args)
    assert str(fast) == text and kinds(fast) == kinds(slow)
    for answer in (fast, fn(*args)):  # no result shares memory with an argument or another result
        for part in parts(answer):
            part[...] = np.nan
    assert str(fn(*args)) == text
    assert all(np.array_equal(np.asarray(arg), h) for arg, h in zip(args, held))


def kinds(answer):
    if isinstance(answer, (tuple, list)):
        return type(answer), [*map(kinds, answer)]
    return type(answer)


def parts(answer):
    if isinstance(answer, (tuple, list)):
        return [part for item in answer for part in parts(item)]
    array = answer.asnumpy() if isinstance(answer, Tensor) else answer
    return [array] if isinstance(array, np.ndarray) else []


@pytest.mark.parametrize("kind", ["forward", "jvp", "aux"])
def test_parts_of_an_answer_do_not_share_memory(kind):
    def twice(x):
        y = x * x
        return y, y, x, ops.reshape(x, (3, 2))

    fn = {
        "forward": ms.jit(twice),
        "jvp": lambda x: ms.jvp(twice, x, x),
        "aux": ms.value_and_grad(twice, has_aux=True),
    }[kind]
    for _ in range(4):
        arrays = parts(fn(X))
        for n, one in enumerate(arrays):
            others = [X.asnumpy(), *arrays[n + 1 :]]
            assert not any(np.shares_memory(one, other) for other in others)


def test_a_difference_is_seen_by_every_kind_of_call(net):
    """Tried are a changed attribute, other shapes and dtypes, a tangent that does not fit, and a
    setting."""
    run = ms.jit(lambda x: net.construct(x, 1.0))
    for _ in range(4):
        run(X)
        ms.jvp(lambda x: net.construct(x, 1.0), X, S)
        ms.jvp(cube, X, S)
        ms.hvp(cube, X, S)
    net.scale = 5.0
    x, w = X.asnumpy(), net.w.asnumpy()
    assert np.allclose(run(X).asnumpy(), x * x * w * 5.0)
    _, dot = ms.jvp(lambda x: net.construct(x, 1.0), X, S)
    assert np.allclose(dot.asnumpy(), 2 * x * S.asnumpy() * w * 5.0)
    double = Tensor(x.astype(np.float64))
    assert ms.hvp(cube, double, double).asnumpy().dtype == np.float64
    with pytest.raises(CallError, match="dtype float32"):
        ms.jvp(cube, X, double)
    with pytest.raises(ValueError, match="invalid length"):
        ms.jvp(cube, X, (X, X))
    with pytest.raises(TypeError, match="must be Tensor"):
        ms.jvp(cube, X, x)


def test_a_setting_is_seen_by_forward_halves():
    run = ms.jit(lambda x: ops.log(1.0 + ops.exp(x)))
    large = Tensor(np.array([1000.0], np.float32))
    for _ in range(3):
        assert run(large).asnumpy()[0] == 1000.0
    ms.set_context(stabilise=False)
    try:
        with np.errstate(over="ignore"):
            assert run(large).asnumpy()[0] == np.inf
    finally:
        ms.set_context(stabilise=True)
    assert run(large).asnumpy()[0] == 1000.0


def test_gradients_without_and_with_no_weights_are_packed_apart():
    plain, listed = GradOperation(True)(cube), GradOperation(True, True)(cube, ())
    for _ in range(4):
        assert [len(plain(X)), len(listed(X))] == [1, 2]


def test_a_dropped_function_is_not_called_again():
    def f(x):
        return x * x

    run = ms.jit(f)
    for _ in range(3):
        run(X)
    (table,) = [table for table in RUNTIME.cache.functions.values() if table.fast_calls
                and any(unit.title.endswith("f f32[2,3]") for _, unit in table.all())]  # fmt: skip
    ((key, unit),) = table.all()
    table.drop(key, unit)
    assert not table.fast_calls
    assert np.array_equal(run(X).asnumpy(), X.asnumpy() ** 2)


def test_an_attribute_called_double_is_no_setting():
    class Doubled(nn.Cell):
        def __init__(self):
            super().__init__()
            self.double = 2.0

        def construct(self, x):
            return x * self.double

    assert ms.jit(Doubled())(X).asnumpy().dtype == np.float32


def test_a_pullback_is_of_its_own_call(net):
    """Neither later writes nor another call affect it; any sensitivity that fits may be given."""

    def run(x):
        return net.construct(x, 1.0), x + 0.0

    for round in range(4):
        x = Tensor(X.asnumpy() + round)
        before, w = x.asnumpy().copy(), net.w.asnumpy()
        (value, _), pull = ms.vjp(run, x)
        value.asnumpy()[...] = np.nan
        x.asnumpy()[...] = np.nan
        zero = Tensor(np.zeros((2, 3), np.float32))
        for _ in range(2):
            (d_x,) = pull(S, zero)
            assert np.allclose(d_x.asnumpy(), 2 * before * w * net.scale * S.asnumpy())
            d_x.asnumpy()[...] = np.nan


def test_sensitivities_of_a_fast_pullback_are_checked(net):
    def loss(x):
        return (net.construct(x, 1.0)).sum()

    for _ in range(4):
        value, pull = ms.vjp(loss, X, weights=(net.w,))
        (d_x,), (d_w,) = pull(Tensor(np.float32(2.0)))
        other = pull(Tensor(np.array([2.0], np.float32)))  # shape [1] serves for a number
        assert str(other) == str(((d_x,), (d_w,)))
        assert np.allclose(d_w.asnumpy(), (X.asnumpy() ** 2).sum(0) * 2.0 * net.scale)
        with pytest.raises(CallError, match="dtype float32"):
            pull(Tensor(np.array(1.0)))
        with pytest.raises(SensitivityError, match="shape"):
            pull(S)
