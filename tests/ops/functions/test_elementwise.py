"""Elementwise functions under MindSpore's names: values of NumPy, at once and compiled alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.errors import DTypeError
from autodiff_compiler.ops.functions import elementwise

UNIT = np.array([-0.9, -0.25, 0.0, 0.5, 0.75])
ABOVE = np.array([1.25, 2.0, 3.5, 1.0, 7.0])
MIXED = np.array([-2.5, -0.5, 0.0, 1.5, 2.5])
OTHER = np.array([2.0, -0.75, 1.5, 1.5, -4.0])
BITS, MORE_BITS = np.array([0, 5, 12, 255, 9]), np.array([3, 6, 10, 1, 9])
TRUTH, OTHER_TRUTH = np.array([True, True, False, False]), np.array([True, False, True, False])
ODD = np.array([1.0, np.inf, -np.inf, np.nan, -0.0])

#: NumPy's function for each name, by the arguments that they are compared on.
TABLE: list[tuple[tuple[np.ndarray, ...], dict[str, Callable[..., Any]]]] = [
    ((UNIT,), {
        "acos": np.arccos, "arccos": np.arccos, "asin": np.arcsin, "arcsin": np.arcsin,
        "atanh": np.arctanh, "arctanh": np.arctanh,
    }),
    ((ABOVE,), {
        "acosh": np.arccosh, "arccosh": np.arccosh, "log": np.log, "rsqrt": lambda x: x**-0.5,
        "sqrt": np.sqrt, "reciprocal": np.reciprocal,
    }),
    ((MIXED,), {
        "abs": np.abs, "absolute": np.abs, "asinh": np.arcsinh, "arcsinh": np.arcsinh,
        "atan": np.arctan, "arctan": np.arctan, "ceil": np.ceil, "cos": np.cos, "cosh": np.cosh,
        "deepcopy": np.copy, "exp": np.exp, "expm1": np.expm1, "floor": np.floor,
        "log1p": lambda x: np.log1p(x), "neg": np.negative, "negative": np.negative,
        "relu": lambda x: np.maximum(x, 0), "round": np.round,
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "sign": np.sign, "sin": np.sin,
        "sinh": np.sinh, "softplus": lambda x: np.log(1 + np.exp(x)), "square": np.square,
        "stop_gradient": np.copy, "tan": np.tan, "tanh": np.tanh, "trunc": np.trunc,
    }),
    ((MIXED, OTHER), {
        "add": np.add, "atan2": np.arctan2, "arctan2": np.arctan2, "div": np.divide,
        "divide": np.divide, "true_divide": np.divide, "floor_div": np.floor_divide,
        "floor_divide": np.floor_divide, "floor_mod": np.mod, "remainder": np.remainder,
        "maximum": np.maximum, "minimum": np.minimum, "mul": np.multiply,
        "multiply": np.multiply, "sub": np.subtract, "subtract": np.subtract,
        "eq": np.equal, "equal": np.equal, "ne": np.not_equal, "not_equal": np.not_equal,
        "less": np.less, "lt": np.less, "less_equal": np.less_equal, "le": np.less_equal,
        "greater": np.greater, "gt": np.greater, "greater_equal": np.greater_equal,
        "ge": np.greater_equal,
    }),
    ((ABOVE, OTHER), {"pow": np.power}),
    ((BITS, MORE_BITS), {
        "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    }),
    ((BITS,), {"bitwise_not": np.bitwise_not}),
    ((BITS.astype(np.uint8),), {"bitwise_not": np.bitwise_not}),
    ((TRUTH, OTHER_TRUTH), {
        "logical_and": np.logical_and, "logical_or": np.logical_or,
        "logical_xor": np.logical_xor,
    }),
    ((TRUTH,), {"logical_not": np.logical_not, "bitwise_not": np.bitwise_not}),
    ((ODD,), {"isfinite": np.isfinite, "isinf": np.isinf, "isnan": np.isnan}),
    ((MIXED > 0, MIXED, OTHER), {"where": np.where, "select": np.where}),
]  # fmt: skip
#: Names with arguments of their own, which have tests below.
WITH_SETTINGS = {"cast", "clamp", "clip", "clip_by_value", "masked_fill"}


def test_the_table_has_every_name() -> None:
    named = {name for _, names in TABLE for name in names}
    assert named | WITH_SETTINGS == set(elementwise.__all__)


@pytest.mark.parametrize("row", range(len(TABLE)))
def test_values_are_numpys(row: int) -> None:
    arrays, names = TABLE[row]

    def every(*given: Any) -> Any:
        return tuple([getattr(ops, name)(*given) for name in names])

    tensors = [Tensor(array) for array in arrays]
    with np.errstate(all="ignore"):
        at_once, compiled = every(*tensors), ms.jit(every)(*tensors)
        wanted = [function(*arrays) for function in names.values()]
    for name, now, later, value in zip(names, at_once, compiled, wanted):
        for found in (now.asnumpy(), later.asnumpy()):
            assert (found.dtype.kind, found.shape) == (value.dtype.kind, value.shape), name
            np.testing.assert_allclose(found, value, rtol=1e-14, atol=1e-15, err_msg=name)


@pytest.mark.parametrize("name", ["clamp", "clip", "clip_by_value"])
@pytest.mark.parametrize("bounds", [(-1.0, 2.0), (None, 0.5), (0.5, None)])
def test_bounds(name: str, bounds: tuple[Any, Any]) -> None:
    x = Tensor(MIXED)
    wanted = np.clip(MIXED, *bounds)
    for clipped in (getattr(ops, name), ms.jit(getattr(ops, name))):
        np.testing.assert_array_equal(clipped(x, *bounds).asnumpy(), wanted)


def test_casts_and_filled_masks() -> None:
    x, mask = Tensor(MIXED), Tensor(MIXED > 0)
    np.testing.assert_array_equal(ops.cast(x, ms.int32).asnumpy(), MIXED.astype(np.int32))
    filled = np.where(MIXED > 0, 7.0, MIXED)
    np.testing.assert_array_equal(ops.masked_fill(x, mask, 7.0).asnumpy(), filled)
    slope = ms.grad(lambda x: ops.masked_fill(x * x, mask, 7.0).sum())(x)
    np.testing.assert_allclose(slope.asnumpy(), np.where(MIXED > 0, 0, 2 * MIXED))


def test_bits_of_floats_are_refused() -> None:
    with pytest.raises(DTypeError, match="bitwise_not takes integers or bools"):
        ops.bitwise_not(Tensor(MIXED))
