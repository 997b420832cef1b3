"""``copy.copy`` and ``copy.deepcopy`` in compiled code."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.errors import UnsupportedSyntax
from tests.frontend.numpy_rules.test_names import numeric

X = np.array([0.5, -1.5, 2.0])
OUTSIDE = {"a": [1.0, 2.0], "b": (3.0,)}


class Pair:
    def __init__(self, left, right):
        self.left, self.right = left, right


def of_list(x):
    held = [x, 2 * x]
    other = copy.copy(held)
    other.append(x)
    other[0] = 3 * x
    return (held[0] * other[0] * other[2]).sum() * len(held) + other[1].sum()


def of_dict(x):
    held = {"x": x, "y": [x]}
    other = copy.copy(held)
    other["x"] = x * x
    other["y"].append(5 * x)
    return sum((v * held["x"]).sum() for v in held["y"]) + other["x"].sum()


def of_object(x):
    held = Pair(x, 2 * x)
    other = copy.copy(held)
    other.left = x * x
    return (held.left * other.left + other.right).sum()


def of_array(x):
    other = copy.copy(x)
    other[0] = 4.0
    return (x * other).sum()


def deeply(x):
    held = [x, [2 * x], {"k": x}]
    other = copy.deepcopy(held)
    other[1].append(x)
    other[2]["k"] = x * x
    other[0][1] = 7.0
    return (x * other[0]).sum() * len(held[1]) + (held[2]["k"] * other[2]["k"]).sum()


def deeply_shared(x):
    row = [x]
    held = copy.deepcopy([row, row])
    held[0].append(2 * x)
    return (held[1][1] * x).sum() + len(row)


def of_outside(x):
    table = copy.deepcopy(OUTSIDE)
    table["a"].append(4.0)
    flat = copy.copy(OUTSIDE)
    flat["c"] = 2.0
    return (x * x).sum() * sum(table["a"]) * len(OUTSIDE["a"]) + x.sum() * flat["c"]


WAYS = [of_list, of_dict, of_object, of_array, deeply, deeply_shared, of_outside]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_copy_is_another_one(way):
    value, gradient = ms.value_and_grad(way)(X.copy())
    np.testing.assert_allclose(value, way(X.copy()), rtol=1e-12)
    np.testing.assert_allclose(gradient, numeric(way, X), rtol=1e-6, atol=1e-7)


class Copies(nn.Cell):
    def construct(self, x):
        held = [x, x * x]
        other = copy.copy(held)
        other.append(ops.sin(x))
        return (held[1] * other[2]).sum() * len(held)


def test_a_list_of_tensors():
    x = X.astype(np.float32)
    gradient = ops.grad(Copies())(Tensor(x)).asnumpy()
    np.testing.assert_allclose(gradient, 2 * (2 * x * np.sin(x) + x * x * np.cos(x)), rtol=1e-5)


class CopiesTensor(nn.Cell):
    def construct(self, x):
        return copy.deepcopy([x])[0].sum()


def test_a_deep_copy_of_a_tensor_is_refused():
    with pytest.raises(UnsupportedSyntax, match=r"copying a Tensor(.|\n)*write x.copy\(\)"):
        ops.grad(CopiesTensor())(Tensor(X))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16"])
def test_the_copy_of_an_array_has_its_dtype(dtype):
    def copied(x):
        return x.copy(), np.copy(x)

    x = np.array([0, 1, 3]).astype(dtype)
    for found in ms.jit(copied)(x):
        np.testing.assert_array_equal(found, x, strict=True)
