"""Results in lent buffers: the same numbers, call after call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Tensor, compile_info, ops, value_and_grad
from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.ir.printer import print_function
from autodiff_compiler.ir.verify.structure import verify
from autodiff_compiler.passes.memory.assign_buffers import assign_buffers
from autodiff_compiler.testing import check_grads

RANDOM = np.random.default_rng(12)
X = RANDOM.permutation(144).reshape(2, 1, 8, 9) * 0.05 - 3


def pooled(kind: str, *sizes: Any) -> Callable[[Any], Any]:
    def pooling(x: Any) -> Any:
        y = getattr(ops, kind)(x * 1.5, *sizes)
        return ops.sum(y * y) + ops.sum(x * x)

    return pooling


def repeated(x: Any) -> Any:
    y = ops.repeat_interleave(ops.repeat_interleave(x * x, 2, 2), 3, 3)
    return ops.sum(ops.tanh(ops.repeat_interleave(y, 2, 3)))


def tiled(x: Any) -> Any:
    y = ops.tile(ops.tanh(x), (1, 2, 2, 3))
    return ops.sum(y * y * ops.tile(x[:1], (2, 2, 2, 3)))


def padded(x: Any) -> Any:
    y = ops.pad(x * 2.0, (1, 2, 0, 1), value=-1.5)
    return ops.sum(ops.tanh(y) * y)


def joined(x: Any) -> Any:
    y = ops.cat((x, x * 2.0, ops.sin(x)), 3)
    return ops.sum(ops.exp(y * 0.1))


BIG = "f32[20000]"


def text_of(params: str, returns: str, *lines: str) -> str:
    return "\n".join([f"func @f({params}) -> ({returns}) {{", *lines, "}", ""])


WORKS = [
    pooled("max_pool2d", 2, 2), pooled("max_pool2d", 3, 2, 1), pooled("max_pool2d", 3, 1),
    pooled("avg_pool2d", 3, 1), pooled("avg_pool2d", 3, 2, 1), pooled("avg_pool2d", 2, 2),
    repeated, tiled, padded, joined,
]  # fmt: skip


@pytest.mark.parametrize("function", WORKS)
def test_memory_changes_no_number(function: Any) -> None:
    xs = [Tensor(x.astype(np.float32)) for x in (X, -X, np.where(X < 0, np.inf, 0.0), X * np.nan)]
    found = []
    for least in (2**16, 1):
        compile_info().clear()
        call = value_and_grad(function)
        with changed_costs(large_bytes=least), np.errstate(all="ignore"):
            found.append([[part.asnumpy().copy() for part in call(x)] for x in (*xs, *xs)])
    assert compile_info().units[-1].work_bytes
    for plain, lent in zip(*found):
        np.testing.assert_array_equal(lent[1], plain[1])
        np.testing.assert_allclose(lent[0], plain[0], rtol=1e-5)


@pytest.mark.parametrize("function", WORKS)
@changed_costs(large_bytes=1)
def test_gradients_of_two_orders(function: Any) -> None:
    check_grads(function, (X[:1, :, :5, :6],))


def test_a_block_grows_for_the_result_that_takes_it_along() -> None:
    found = assign_buffers(parse_function(text_of(
        f"%x: {BIG}, %w: f32[3,20000]", "f32[3,20000]", f"%u: {BIG} = sin %x",
        "%s: f32[] = sum %u {axes=(0,), keepdims=False}", "%v: f32[3,20000] = mul %w, %s",
        "return %v")))  # fmt: skip
    assert (found.allocations, found.donated) == ((240000,), {0})
    smaller = assign_buffers(parse_function(text_of(
        f"%x: {BIG}, %w: f32[17000]", "f32[17000]", f"%u: {BIG} = sin %x",
        "%s: f32[] = sum %u {axes=(0,), keepdims=False}", "%v: f32[17000] = mul %w, %s",
        "return %v")))  # fmt: skip
    assert (smaller.allocations, smaller.donated) == (
        (80000,),
        set(),
    )  # nobody holds more than a result


def test_zeros_in_lent_memory_are_zeros_again() -> None:
    found = assign_buffers(parse_function(text_of(
        f"%x: {BIG}", "f32[]", f"%u: {BIG} = sin %x",
        "%s: f32[] = sum %u {axes=(0,), keepdims=False}",
        f"%z: {BIG} = full {{dtype='float32', shape=(20000,), value=0}}",
        f"%v: {BIG} = add_at %z, %s {{in_place=True, index=(3,)}}",
        "%y: f32[] = sum %v {axes=(0,), keepdims=False}", "return %y")))  # fmt: skip
    verify(found.function, "lowered")
    text = print_function(found.function)
    assert "compute_into 0, %z {text='{1}.fill({0})'}" in text
