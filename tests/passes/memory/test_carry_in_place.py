"""In-place loop carries: updates that are safe, updates that are not, and the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler import Tensor, gradient_source, jit, ops, value_and_grad
from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.ir.nodes import Function, Loop
from autodiff_compiler.passes.memory.carry_in_place import carry_in_place
from autodiff_compiler.testing import check_grads
from tests.passes.conftest import Optimised

RANDOM = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def everything_is_large() -> Iterator[None]:
    with changed_costs(medium_bytes=1, tape_row_bytes=1):
        yield


@pytest.fixture
def changed(optimised: Optimised) -> Callable[..., Function]:
    """Returns a function that makes a loop from lines and applies the pass to it."""

    def changed(*body: str, **places: str) -> Function:
        text = carrying(*body, **places)
        return optimised(text, carry_in_place, stage="lowered")

    return changed


def carrying(*body: str, init: str = "%z", after: str = "%d", more: str = "") -> str:
    """Returns a loop of three iterations that carries an array."""
    lines = "\n".join(f"    {line}" for line in body)
    returns = "%a, %z" if more == "read later" else "%a"
    types = "f32[4], f32[4]" if more == "read later" else "f32[4]"
    return f"""func @f(%x: f32[4], %w: f32[4,4]) -> ({types}) {{
  %z: f32[4] = sin %x
  %v: f32[4] = transpose %z {{perm=(0,)}}
  %a: f32[4], %n: int = for %p, %i in (0, 3, 1) carry (%c: f32[4] = {init}) {{
{lines}
    yield carry {after}
  }}
  return {returns}
}}
"""


def in_place(function: Function) -> bool:
    (loop,) = (Loop(op) for op in function.body.ops if op.name == "for")
    return any(
        op.name == "compute_into" and op.operands[-1] in loop.carry_params for op in loop.body.ops
    )


def test_the_new_value_overwrites_the_old_one(changed: Any) -> None:
    assert in_place(changed("%d: f32[4] = add %c, %x"))
    assert in_place(changed("%e: f32[4] = mul %c, %x", "%d: f32[4] = add %e, %x"))
    assert in_place(changed("%e: f32[4] = cos %c", "%d: f32[4] = matmul %e, %w"))


def test_an_array_of_the_caller_is_copied_once(changed: Any) -> None:
    found = changed("%d: f32[4] = add %c, %x", init="%x")
    assert in_place(found) and [op.name for op in found.body.ops][-2] == "copy"
    assert in_place(changed("%d: f32[4] = add %c, %x", more="read later"))


def test_the_update_comes_after_other_readers_of_the_line(changed: Any) -> None:
    found = changed("%d: f32[4] = mul %c, %x", "%e: f32[4] = cos %c", "%g: f32[4] = mul %e, %c")
    assert in_place(found)
    (loop,) = (Loop(op) for op in found.body.ops if op.name == "for")
    assert [op.name for op in loop.body.ops] == ["cos", "mul", "compute_into"]


def test_a_product_does_not_overwrite_its_operand(changed: Any) -> None:
    assert not in_place(changed("%d: f32[4] = matmul %c, %w"))
    assert not in_place(changed(
        "%e: f32[4] = index %c {index=(('slice', None, None, -1),)}", "%d: f32[4] = matmul %e, %w"
    ))  # fmt: skip


def test_arithmetic_may_overwrite_any_operand(changed: Any) -> None:
    assert in_place(changed(
        "%e: f32[4] = index %c {index=(('slice', None, None, -1),)}", "%d: f32[4] = add %c, %e"
    ))  # fmt: skip


def horner(x: Any, c: Any) -> Any:
    y = x * 0.5
    for k in range(4):
        y = y * x + c[k]
    return ops.sum(y * y)


def fibonacci(x: Any, w: Any) -> Any:
    a, b = x, x
    for _ in range(4):
        a, b = b, a * w + b * b
    return ops.sum(a * b)


def kept(x: Any, w: Any) -> Any:
    all_of_them = [x]
    for k in range(1, 4):
        all_of_them.append(all_of_them[k - 1] * w + x)
    return ops.sum(all_of_them[0] * all_of_them[1] * all_of_them[3])


def until(x: Any, w: Any) -> Any:
    y = x + 0.0
    while ops.sum(y * y) > 0.1:
        y = y * w * 0.5
    return ops.sum(y) + ops.sum(x)


@pytest.mark.parametrize("function", [horner, fibonacci, kept, until])
def test_gradients_of_two_orders(function: Any) -> None:
    random = np.random.default_rng(5)
    check_grads(function, (random.uniform(-1, 1, size=4), random.uniform(0.3, 0.9, size=4)))


def test_arguments_are_never_written_to() -> None:
    x, w = (np.arange(1.0, 5.0, dtype=np.float32) / 9 for _ in range(2))
    call = value_and_grad(fibonacci, (0, 1))
    first = [np.array(g) for g in call(Tensor(x), Tensor(w))[1]]
    second = [np.array(g) for g in call(Tensor(x), Tensor(w))[1]]
    np.testing.assert_array_equal(x, np.arange(1.0, 5.0, dtype=np.float32) / 9)
    np.testing.assert_array_equal(first, second)


def test_a_sum_over_the_iterations_grows_where_it_stands() -> None:
    x, c = (Tensor(RANDOM.normal(size=4).astype(np.float32)) for _ in range(2))
    source = gradient_source(horner, x, c, get_all=True)
    assert "d_x_1 = np.add(d_x_1, d_y_times_y, out=d_x_1)" in source


def rows(x: Any, w: Any) -> Any:
    y = ops.tanh(x)
    s = y[0]
    for i in range(1, 4):
        s = s * w + y[i] * y[i - 1]
    return ops.sum(s)


def test_rows_of_a_saved_array_are_no_tape() -> None:
    x, w = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=3)
    check_grads(rows, (x, w))
    source = gradient_source(rows, Tensor(x), Tensor(w), get_all=True)
    assert "y_item_tape" not in source and "y[i]" in source.split("def rows_backward")[1]


def test_few_rows_of_much_are_a_tape() -> None:
    x, w = RANDOM.normal(size=(40, 3)), RANDOM.normal(size=3)
    source = gradient_source(rows, Tensor(x), Tensor(w))
    assert "y_item_tape" in source


def test_a_product_goes_to_memory_of_any_order() -> None:
    """The initial value has the layout of a transpose, to which ``np.dot`` cannot write."""

    def turned(x: Any, w: Any) -> Any:
        u, v = ops.sin(x.T), ops.cos(x)
        for _ in range(3):
            v = ops.sin(v + u)
            u = ops.matmul(v, w)
        return ops.concat((u[:, :2], ops.matmul(v, w)[:, ::-1]), 1)

    x, w = (Tensor(np.random.default_rng(k).uniform(-1, 1, (4, 4))) for k in range(2))
    found = jit(turned)(x, w).asnumpy()
    u, v = np.sin(x.asnumpy().T), np.cos(x.asnumpy())
    for _ in range(3):
        v = np.sin(v + u)
        u = v @ w.asnumpy()
    np.testing.assert_allclose(found, np.concatenate([u[:, :2], u[:, ::-1]], 1), rtol=1e-12)
    check_grads(turned, [x, w], order=1)
