"""Preallocated tapes: filled in place, right in every order, and lists otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler import Tensor, compile_info, gradient_source, ops, vmap
from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.ir.printer import print_function
from autodiff_compiler.passes.memory.preallocate_tapes import preallocate_tapes
from autodiff_compiler.testing import check_grads

RANDOM = np.random.default_rng(8)


def steps(x: Any, w: Any) -> Any:
    h = x[0]
    for k in range(3):
        h = ops.tanh(ops.matmul(h, w)) * x[k] + h
    return ops.sum(h * h)


def nested(x: Any, w: Any) -> Any:
    h = x[0]
    for k in range(2):
        v = h
        for _ in range(3):
            v = ops.sin(v) * w[0] + v * x[k]
        h = ops.exp(-v * v) + h
    return ops.sum(h)


X, W = (RANDOM.normal(size=shape) * 0.5 for shape in ((3, 2, 4), (4, 4)))


@pytest.mark.parametrize("function", [steps, nested])
@changed_costs(tape_row_bytes=1)
def test_gradients_of_two_orders(function: Any) -> None:
    check_grads(function, (X, W))


@changed_costs(tape_row_bytes=1)
def test_a_batch_of_them() -> None:
    many = np.stack([X, X[::-1], -X])
    check_grads(lambda x, w: ops.sum(vmap(steps, (0, None))(x, w)), (many, W), order=1)


def test_a_long_tape_is_never_copied() -> None:
    x, w = (Tensor(a.astype(np.float32)) for a in (np.ones((64, 32, 128)), np.ones((128, 128))))

    def net(x: Any, w: Any) -> Any:
        h = x[0]
        for k in range(64):
            h = ops.tanh(ops.matmul(h, w) + k)
        return ops.sum(h)

    text = gradient_source(net, x, w, get_all=True)
    assert "np.stack" not in text and "append" not in text
    assert "h_tape[k + 1] = h" in text and "h_tape = np.empty((65, 32, 128)" in text


def test_values_of_one_iteration_are_computed_in_their_row() -> None:
    def fading(x: Any) -> Any:
        total = ops.zeros_like(x[0])
        for k in range(x.shape[0]):
            total = total * 0.9 + ops.sin(x[k]) * x[k]
        return ops.sum(total * total)

    text = gradient_source(fading, "f32[100,300]")
    assert "sin_x_item = np.sin(x_item, out=tape[k])" in text
    assert "out=d_x_item_tape[k])" in text
    check_grads(fading, (RANDOM.normal(size=5),), order=1)  # numbers have no memory of their own


LOOP = """\
func @f(%x: f32[4]) -> ({type}) {{
  %y: f32[4], %t: list[f32[4]], %n: int = for %p, %k in (0, 3, 1) carry (%c: f32[4] = %x) {{
    %u: f32[4] = sin %c
    yield carry %u stack %u
  }}
  {lines}
  return %r
}}
"""


@pytest.mark.parametrize(
    ("type", "lines"),
    [
        ("f32[4,4]", "%o: list[f32[4]] = make_list %y\n"
                     "  %l: list[f32[4]] = list_join %o, %t\n"
                     "  %r: f32[4,4] = stack_rows %l {length=4}"),
        ("(f32[3,4], list[f32[4]])", "%a: f32[3,4] = stack_rows %t {length=3}\n"
                                     "  %r: (f32[3,4], list[f32[4]]) = make_tuple %a, %t"),
    ],
    ids=["what it begins with comes last", "read as a list too"],
)  # fmt: skip
def test_lists_that_stay_lists(type: str, lines: str) -> None:
    function = parse_function(LOOP.format(type=type, lines=lines))
    assert preallocate_tapes(function) is function
    assert "empty" not in print_function(function)


def test_the_tangent_of_a_recurrence_fills_its_arrays_too() -> None:
    def energy(w: Tensor, x: Tensor) -> Tensor:
        h = ops.zeros_like(x[0])
        for i in range(4):
            h = ops.tanh(x[i] + ops.matmul(h, w))
        return ops.sum(h * h)

    compile_info().clear()
    random = np.random.default_rng(0)
    w, v = (random.normal(size=(16, 16)) for _ in range(2))
    x, slope = Tensor(random.normal(size=(4, 16, 16))), ops.grad(energy)
    _, found = ops.jvp(lambda w: slope(w, x), (Tensor(w),), (Tensor(v),))
    (text,) = [unit.source for unit in compile_info().units if "dot_h_tape" in unit.source]
    assert "dot_h_tape[i + 1] = " in text and "np.stack" not in text
    step = 1e-6
    ahead, behind = (slope(Tensor(w + sign * step * v), x).asnumpy() for sign in (1, -1))
    np.testing.assert_allclose(found.asnumpy(), (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-6)


@changed_costs(large_bytes=1, tape_row_bytes=1)
def test_rows_that_lie_as_a_transpose_does_take_a_product() -> None:
    """A pullback is lent nothing: the tape lies in an array that NumPy made in another order."""

    def cubes(x: Any, w: Any) -> Any:
        turned, total = ops.sin(ops.transpose(x, (1, 0, 2))), 0.0
        for k in range(4):
            row = ops.matmul(turned[k] * 0.5, w)
            total = total + (row * row * row).sum()
        return total

    x = ops.sin(ops.reshape(ops.arange(24.0), (2, 4, 3)))
    w = ops.cos(ops.reshape(ops.arange(9.0), (3, 3)))
    expected = ops.grad(cubes, (0, 1))(x, w)
    _, pullback = ops.vjp(cubes, x, w)
    for found in (pullback(Tensor(np.float32(1))), pullback(Tensor(np.float32(1)))):
        for one, other in zip(found, expected):
            np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())
    check_grads(cubes, (x, w))
