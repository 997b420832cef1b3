"""Dtypes: every record keeps to its type rule in each, and the measured table of gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Tensor, grad, jit, ops
from autodiff_compiler.errors import DTypeError, ShapeError
from autodiff_compiler.ir.types import ArrayType
from tests.operators.test_records import CASES, Program
from tests.ops.test_kinks import function_of

DTYPES = ("float16", "int8", "uint8", "int32", "int64", "bool")


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_value_has_the_dtype_that_the_type_rule_says(dtype: str) -> None:
    """What a record does not take it refuses while compiling, or NumPy does with its values."""
    wrong, seen = [], 0
    for param in CASES:
        opdef, sample = param.values
        try:
            with np.errstate(invalid="ignore"):  # negative numbers as uint8
                program = Program(opdef, sample, dtype)
            value = program.value()
        except (DTypeError, ShapeError, TypeError, ValueError):  # LinAlgError is a ValueError
            continue
        seen += 1
        if isinstance(program.out.type, ArrayType) and program.out.type.dtype != value.dtype.name:
            wrong.append((opdef.name, str(program.out.type), value.dtype.name))
    assert wrong == []
    assert seen > 200


#: What was measured, with x = [1, 2] (for matmul [[1, 2], [3, 4]]) and ones as sensitivity: the
#: dtype of the result (``same`` as x) and the gradient, which has the dtype of x. None: refused.
FLOATS, INTS = ("float16", "float64"), ("int32", "int64", "uint8")
MEASURED: list[tuple[str, tuple[str, ...], str | None, Any]] = [
    ("ops.relu(x)", (*FLOATS, *INTS, "bool"), "same", [1, 1]),
    ("x * x", (*FLOATS, *INTS), "same", [2, 4]),
    ("x.sum()", FLOATS, "same", [1, 1]),
    ("x.sum()", (*INTS, "bool"), "int64", [1, 1]),
    ("ops.exp(x)", FLOATS, "same", [2.71828183, 7.3890561]),
    ("x.mean()", FLOATS, "same", [0.5, 0.5]),
    ("x.mean()", INTS, "same", [0, 0]),
    ("x.mean()", ("bool",), None, None),
    ("-x", ("bool",), None, None),
    ("x % x", ("bool",), None, None),
    ("ops.matmul(x, x)", (*FLOATS, *INTS), "same", [[7, 11], [9, 13]]),
    ("x / 3", FLOATS, "same", [1 / 3, 1 / 3]),
    ("x / 3", INTS, "float32", [0, 0]),
    ("x / 3", ("bool",), "float32", [1, 1]),
    ("ops.sqrt(x)", FLOATS, "same", [0.5, 0.35355339]),
    ("ops.sqrt(x)", INTS, "float32", [0, 0]),
    ("ops.softmax(x)", FLOATS, "same", [0, 0]),
    ("ops.tanh(x)", FLOATS, "same", [0.41997434, 0.07065082]),
    ("ops.cast(x, ms.float32) * 2", (*FLOATS, *INTS), "float32", [2, 2]),
    ("x * 2.5", FLOATS, "same", [2.5, 2.5]),
    ("x * 2.5", INTS, "float32", [2, 2]),
    ("x.cumsum(0)", ("uint8", "int32"), "int32", [2, 1]),
    ("ops.cumsum(x, 0)", INTS, "same", [2, 1]),
    ("x.prod()", (*INTS, "bool"), "int64", [2, 1]),
    ("ops.cumprod(x, 0)", INTS, "int64", [3, 1]),
    ("x.sum(dtype=ms.int32)", INTS, "int32", [1, 1]),
    ("x - (x > 1)", INTS, "same", [1, 1]),
]


@pytest.mark.parametrize(("text", "dtypes", "result", "gradient"), MEASURED)
def test_as_measured(text: str, dtypes: tuple[str, ...], result: str | None, gradient: Any) -> None:
    function = function_of(text, 1)
    for dtype in dtypes:
        numbers = [[1, 2], [3, 4]] if "matmul" in text else [1, 2]
        x = Tensor(np.array(numbers, dtype))
        if result is None:
            with pytest.raises(TypeError, match="bools"):
                function(x)
            continue
        wanted = dtype if result == "same" else result
        assert function(x).asnumpy().dtype == jit(function)(x).asnumpy().dtype == wanted
        slope = ops.GradOperation()(function)(x).asnumpy()
        assert slope.dtype == dtype
        close = 4e-3 if dtype == "float16" else 1e-7
        expected = np.array(gradient).astype(dtype) if dtype in ("bool", *INTS) else gradient
        np.testing.assert_allclose(slope.astype(float), np.array(expected, float), rtol=close)


def test_the_difference_of_bools_is_whether_they_differ() -> None:
    one, other = (Tensor(np.array(row)) for row in ([True, True, False], [True, False, True]))
    for run in (lambda x, y: x - y, jit(lambda x, y: x - y)):
        assert run(one, other).asnumpy().tolist() == [False, True, True]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_power_that_is_known_when_it_runs_is_as_exact_as_its_base(dtype):
    x, p = np.array([0.3, 0.7, 1.9], dtype), 2.1
    found = grad(lambda x, p: x**p)(Tensor(x), p)
    assert found.asnumpy().dtype == dtype
    exact = p * x.astype(np.float64) ** (p - 1)
    assert np.allclose(found.asnumpy(), exact, rtol=4 * np.finfo(dtype).eps, atol=0)


def test_halves_that_are_added_one_by_one_lose_nothing() -> None:
    """Each pixel in the middle is in 961 windows: to the sum of 961 halves a half adds too much."""
    share = np.float16(0.01)
    found = ops.GradOperation()(lambda x: ops.sum(ops.unfold(x, 31) * 0.01))(
        Tensor(np.ones((1, 1, 64, 64), np.float16))
    )
    assert found.asnumpy().dtype == "float16"
    assert found.asnumpy()[0, 0, 32, 32] == np.float16(31 * 31 * float(share))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int32"])
def test_whole_numbers_beside_floats_are_taken_in_their_dtype(dtype: str) -> None:
    """Computed with alone, a byte would be a half (np.log), and a bool a double (1.0 - y)."""
    x, y = np.linspace(0.5, 2.0, 6, dtype=np.float32), np.arange(1, 7).astype(dtype)
    exact = x.astype(np.float64), y.astype(np.float64)
    hit = Tensor((exact[1] > 3).astype(dtype))

    def loss(x: Any, y: Any) -> Any:
        return ops.binary_cross_entropy_with_logits(x, y, reduction="none")

    for run in (lambda f: f, jit):
        powers = run(ops.xlogy)(Tensor(x), Tensor(y)).asnumpy()
        losses = run(loss)(Tensor(x), hit).asnumpy()
        assert powers.dtype == losses.dtype == np.float32
        np.testing.assert_allclose(powers, exact[0] * np.log(exact[1]), rtol=1e-6)
        wanted = np.logaddexp(0.0, exact[0]) - exact[0] * (exact[1] > 3)
        np.testing.assert_allclose(losses, wanted, rtol=1e-6)
