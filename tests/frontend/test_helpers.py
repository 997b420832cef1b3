"""MindSpore's helpers outside of compiled code, their refusals, and gradients of containers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, mutable, ops
from autodiff_compiler.errors import DTypeError
from autodiff_compiler.ops.core import primitive_base

GO = ops.GradOperation
X, Y = Tensor([1.0, 2.0]), Tensor([3.0, 5.0])


def numbers(value: Any) -> Any:
    """Returns Tensors as lists, in their structure."""
    if isinstance(value, Tensor):
        return value.asnumpy().tolist()
    if isinstance(value, dict):
        return {key: numbers(item) for key, item in value.items()}
    return type(value)(map(numbers, value)) if isinstance(value, (tuple, list)) else value


def product(pair, x):
    return pair[0] * pair[1] * x


def of_dict(d, x):
    return d["a"] * d["b"] * x


def scaled(k, x):
    return k * k * x


def test_a_container_straight_from_python_is_left_out() -> None:
    assert numbers(GO(get_all=True)(product)((X, Y), X)) == ([6.0 / 2, 20.0 / 2],)


@pytest.mark.parametrize(
    ("fn", "given", "expected"),
    [
        (product, (X, Y), ([3.0, 10.0], [1.0, 4.0])),
        (product, [X, Y], [[3.0, 10.0], [1.0, 4.0]]),
        (product, [X, 2.0], [[2.0, 4.0], 1.0 + 4.0]),
        (of_dict, {"a": X, "b": Y}, {"a": [3.0, 10.0], "b": [1.0, 4.0]}),
        (scaled, 3.0, 2 * 3.0 * (1.0 + 2.0)),
    ],
)
def test_a_mutable_input_has_a_gradient_of_its_own_structure(fn, given, expected) -> None:
    found, of_x = GO(get_all=True)(fn)(mutable(given), X)
    assert numbers(found) == expected
    first, second = (given, given) if isinstance(given, float) else (
        given.values() if isinstance(given, dict) else given)  # fmt: skip
    np.testing.assert_allclose(of_x.asnumpy(), (Tensor(first) * second).asnumpy())
    assert numbers(GO()(fn)(mutable(given), X)) == expected
    assert numbers(ms.grad(fn, (0, 1))(mutable(given), X)[0]) == expected


def test_an_unused_mutable_input_has_zeros() -> None:
    assert numbers(GO()(lambda pair, x: x * x)(mutable((X, [Y, 2.0])), X)) == (
        [0.0, 0.0], [[0.0, 0.0], 0.0],
    )  # fmt: skip


def test_a_mutable_thing_is_the_thing() -> None:
    assert mutable((1, 2)) == (1, 2) and mutable([1]) == [1] and mutable({"a": 1}) == {"a": 1}
    assert mutable(2.5) == 2.5 and mutable(True) is True and mutable(X) is X
    assert numbers(ms.jit(product)(mutable((X, Y)), X)) == [3.0, 20.0]
    assert mutable((1, 2), dynamic_len=True) == (1, 2)


@pytest.mark.parametrize("given", ["a", None, (X, "a"), {"a": [None]}, np.ones(2)])
def test_what_cannot_be_mutable(given: Any) -> None:
    with pytest.raises(TypeError, match="For 'mutable', the 'input_data' should be one of"):
        mutable(given)


def test_only_a_row_has_a_length_that_changes() -> None:
    with pytest.raises(TypeError, match="the first input should be list or tuple, but got: int"):
        mutable(3, dynamic_len=True)


def test_jit_class_is_for_plain_classes() -> None:
    with pytest.raises(TypeError, match="can only be used for class type, but got 3"):
        ms.jit_class(3)
    with pytest.raises(TypeError, match="cannot be used for nn.Cell"):
        ms.jit_class(ms.nn.Tanh)


def test_constexpr_stands_before_a_function_in_both_ways() -> None:
    @ops.constexpr
    def doubled(n):
        return n * 2

    @primitive_base.constexpr(get_instance=False)
    def halved(n):
        return n // 2

    assert doubled(4) == 8 and halved(4) == 2 and doubled.__name__ == "doubled"


def test_constexpr_of_a_tensor_is_refused() -> None:
    def doubled(n):
        return n * 2

    known = ops.constexpr(doubled)
    with pytest.raises(DTypeError, match="an argument of the constexpr function 'doubled' must be"):
        ms.jit(lambda x: known(x) * x)(X)


def test_kinds_and_lengths_that_do_not_fit() -> None:
    graph = ops.MultitypeFuncGraph("f")
    with pytest.raises(RuntimeError, match="Unsupported type name: Foo!"):
        graph.register("Tensor", "Foo")
    with pytest.raises(TypeError, match="'f' has no function for these arguments"):
        graph(X)
    with pytest.raises(ValueError, match="should have the same length"):
        ops.HyperMap()(ops.add, (X, Y), (X,))
    with pytest.raises(ValueError, match="given 2 items, but the length 3"):
        ops.Scan()(lambda a, b: (a, b), X, [X, Y], 3)
