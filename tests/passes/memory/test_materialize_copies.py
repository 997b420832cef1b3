"""Explicit buffers for copies of reshapes: the same gradients, with and without lent buffers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, gradient_source, ops, value_and_grad
from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.passes.memory.materialize_copies import materialize_copies
from autodiff_compiler.testing import check_grads

RANDOM = np.random.default_rng(6)


@pytest.fixture(autouse=True)
def everything_is_large() -> Iterator[None]:
    with changed_costs(large_bytes=1):
        yield


def twice(x: Any, w: Any) -> Any:
    y = ops.tanh(ops.conv2d(x, w, padding=1, pad_mode="pad"))
    return ops.sum(ops.conv2d(y, w, dilation=2) ** 2)


def strided(x: Any, w: Any) -> Any:
    return ops.sum(ops.conv2d(x, w, stride=2) ** 2)


X, W = RANDOM.normal(size=(2, 2, 6, 5)), RANDOM.normal(size=(2, 2, 2, 2)) * 0.5


@pytest.mark.parametrize("function", [twice, strided])
def test_gradients_of_two_orders(function: Any) -> None:
    check_grads(function, (X, W))


def test_a_second_call_in_the_same_memory_gives_the_same() -> None:
    x, w = (Tensor(a.astype(np.float32)) for a in (X, W))
    call = value_and_grad(twice, (0, 1))
    first = [g.asnumpy().copy() for g in call(x, w)[1]]
    call(Tensor(-x.asnumpy()), w)
    for before, after in zip(first, call(x, w)[1]):
        np.testing.assert_array_equal(after.asnumpy(), before)


def heads(x: Any, w: Any) -> Any:
    y = ops.tanh(x).transpose(0, 2, 1, 3).reshape(12, 10)
    z = ops.sum(y * y, 1).reshape(2, 3, 2).swapaxes(1, 2).reshape(12)
    return ops.sum(z * z) + ops.sum(ops.conv2d(y.reshape(1, 2, 6, 10), w, stride=2) ** 2)


def test_axes_that_were_apart_are_laid_out() -> None:
    x, w = RANDOM.normal(size=(2, 2, 6, 5)), W
    check_grads(heads, (x, w))
    given = [Tensor(a.astype(np.float32)) for a in (x, w)]
    source = gradient_source(heads, *given)
    assert source.count("np.copyto(") >= 4 and "sliding" not in source
    call = value_and_grad(heads, (0, 1))
    first = [g.asnumpy().copy() for g in call(*given)[1]]
    call(Tensor(-given[0].asnumpy()), given[1])
    for before, after in zip(first, call(*given)[1]):
        np.testing.assert_array_equal(after.asnumpy(), before)


def test_a_reshape_copies_where_numpy_does() -> None:
    for _ in range(300):
        shape = tuple(RANDOM.choice([1, 2, 3, 4], size=RANDOM.integers(2, 5)).tolist())
        perm = tuple(RANDOM.permutation(len(shape)).tolist())
        turned = np.zeros(shape).transpose(perm)
        parts = [
            p for n in turned.shape for p in ((2, 2) if n == 4 and RANDOM.random() < 0.5 else (n,))
        ]
        at = sorted(RANDOM.choice(len(parts) + 1, size=RANDOM.integers(0, 4)).tolist())
        wanted = tuple(int(np.prod(part)) for part in np.split(np.array(parts), at))
        before, after, result = (
            f"f64[{','.join(map(str, each))}]" for each in (shape, turned.shape, wanted)
        )
        text = (
            f"func @f(%x: {before}) -> ({result}) {{\n"
            f"  %t: {after} = transpose %x {{perm={perm}}}\n"
            f"  %y: {result} = reshape %t {{shape={wanted}}}\n  return %y\n}}\n"
        )
        function = parse_function(text)
        copies = not np.shares_memory(turned.reshape(wanted), turned)
        assert (materialize_copies(function) is not function) == copies, text


def test_an_array_of_another_dtype_is_laid_out_where_that_loses_no_kind() -> None:
    x = Tensor(np.array([[1.5, -2.5, np.nan], [1e300, -0.0, np.inf]]))

    def casts(x: Any) -> Any:
        wide, narrow = (x > 0).astype("float32"), (x * 2).astype("float32")
        return wide, narrow, ops.sum(narrow), (ops.exp(-x * x) * 3).astype("int32")

    with np.errstate(all="ignore"):
        found = [each.asnumpy() for each in ms.jit(casts)(x)]
        wanted = [(x.asnumpy() > 0).astype("f"), (x.asnumpy() * 2).astype("f")]
    for one, other in zip(found, wanted):
        np.testing.assert_array_equal(one, other, strict=True)
        assert (np.signbit(one) == np.signbit(other)).all()
    source = ms.compile_info().units[-1].source
    assert source.count("np.copyto(") == 2 and "astype(np.int32)" in source


def test_disjoint_windows_are_reshaped() -> None:
    x, w = (Tensor(a.astype(np.float32)) for a in (X, W))
    assert "np.copyto(columns" in gradient_source(twice, x, w)
    assert "np.copyto(columns" not in gradient_source(strided, x, w)
