"""A derivative of a plain function in integers or bools is refused, by whatever way it is asked."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import GradOperation, Tensor, grad, gradient_source, nn, value_and_grad, vmap
from autodiff_compiler.errors import CallError


def squared(x):
    return x * x


def product(x, y):
    return np.sum(x * y)


def ones(args):
    return tuple(1.0 if np.ndim(x) == 0 else np.ones(np.shape(x)) for x in args)


def rows(args):
    return tuple(np.ones((1, *np.shape(x))) for x in args)


WAYS = {
    "grad": lambda fn, args: grad(fn)(*args),
    "grad, positions": lambda fn, args: grad(fn, (0,))(*args),
    "value_and_grad": lambda fn, args: value_and_grad(fn)(*args),
    "vjp": lambda fn, args: ms.vjp(fn, *args),
    "jvp": lambda fn, args: ms.jvp(fn, args, ones(args)),
    "linearize": lambda fn, args: ms.linearize(fn, args)[1](ones(args)),
    "jacfwd": lambda fn, args: ms.jacfwd(fn)(*args),
    "jacrev": lambda fn, args: ms.jacrev(fn)(*args),
    "hessian": lambda fn, args: ms.hessian(fn)(*args),
    "hvp": lambda fn, args: ms.hvp(fn, args, ones(args)),
    "derivative": lambda fn, args: ms.derivative(fn, args, 1),
    "jet": lambda fn, args: ms.jet(fn, args, rows(args)),
    "check_grads": lambda fn, args: ms.check_grads(fn, args),
    "gradient_source": lambda fn, args: gradient_source(fn, *args),
}
WHOLE = {
    "int": 3, "bool": True, "np.int64": np.int64(3), "np.int8": np.int8(3),
    "np.bool_": np.bool_(True), "an array of ints": np.array([1, 2]),
    "an array of bools": np.array([True, False]), "a 0-d array": np.array(3),
    "unsigned": np.array([1, 2], np.uint8),
}  # fmt: skip


@pytest.mark.parametrize("given", WHOLE)
@pytest.mark.parametrize("way", WAYS)
def test_whole_numbers_are_refused_with_the_cure(way, given):
    with pytest.raises(CallError, match="argument 0 holds integers") as refused:
        WAYS[way](squared, (WHOLE[given],))
    assert "3.0" in str(refused.value)


@pytest.mark.parametrize("given", WHOLE)
@pytest.mark.parametrize("position", (1, (0, 1), (1, 0)))
def test_a_named_position_is_refused_beside_floats(position, given):
    for x in (np.ones(2), 2.0):
        with pytest.raises(CallError, match="argument 1 holds integers"):
            grad(product, position)(x, WHOLE[given])


@pytest.mark.parametrize("given", WHOLE)
def test_whole_numbers_beside_what_is_asked_for_are_constants(given):
    found = grad(product)(np.ones(2), WHOLE[given])
    np.testing.assert_array_equal(found, np.broadcast_to(WHOLE[given], 2).astype(float))
    assert found.dtype == np.float64


def test_the_same_holds_inside_a_text():
    def outer(x):
        return x * grad(squared)(3)

    def examples(x):
        return vmap(grad(squared))(x)

    with pytest.raises(CallError, match="argument 0 holds integers"):
        grad(outer)(2.0)
    with pytest.raises(CallError, match="argument 0 holds integers"):
        ms.jit(examples)(np.array([1, 2]))


def test_integer_tensors_have_mindspores_gradient():
    x = Tensor(np.array([1, 2]))
    assert grad(squared)(x).asnumpy().tolist() == [2, 4]
    assert GradOperation()(squared)(3) == ()
    assert grad(lambda x, k: x * k, 1)(Tensor([1.0]), 2) == ()


class Product(nn.Cell):
    def construct(self, x, y):
        return x * y


@pytest.mark.parametrize("fn", (Product(), lambda x, y: x * y))
def test_an_array_beside_tensors_is_refused_rather_than_left_out(fn):
    array = np.ones(2, np.float32)
    for asked in (grad(fn), value_and_grad(fn), grad(fn, (1, 0))):
        with pytest.raises(CallError, match="argument 0 is a NumPy array"):
            asked(array, Tensor(array))


@pytest.mark.parametrize("integer", (np.int64(3), np.bool_(True), np.array([1, 2])))
def test_what_numpy_integers_are_mapped_to_is_numpys(integer):
    found = ms.jit(squared)(integer)
    assert not isinstance(found, Tensor) and found.dtype == (integer * integer).dtype
