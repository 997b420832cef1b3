"""Operator classes of elementwise functions: NumPy's values, and the settings of the others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Tensor, ops
from tests.ops.functions import test_elementwise

#: Classes that have another name than their function.
OTHERS = {"RealDiv": "div", "Inv": "reciprocal", "Mod": "floor_mod", "Rint": "round"}
FUNCTIONS = {
    name.replace("_", ""): (arrays, function)
    for arrays, names in test_elementwise.TABLE
    for name, function in names.items()
}
CLASSES = """
    ACos Abs Acosh Add Asin Asinh Atan Atan2 Atanh BitwiseAnd BitwiseOr BitwiseXor Ceil Cos Cosh
    Div Equal Exp Expm1 Floor FloorDiv FloorMod Greater GreaterEqual Inv IsFinite IsInf IsNan Less
    LessEqual Log Log1p LogicalAnd LogicalNot LogicalOr LogicalXor Maximum Minimum Mod Mul Neg
    NotEqual Pow ReLU RealDiv Reciprocal Rint Round Rsqrt Select Sigmoid Sign Sin Sinh Softplus
    Sqrt Square StopGradient Sub Tan Tanh Trunc
""".split()

X, Y = np.array([-1.5, 0.25, 2.0]), np.array([0.5, 4.0, -3.0])
WHOLE, OTHER_WHOLE = np.array([12, 18, 7]), np.array([8, 27, 21])


def each(function: Any) -> Any:
    """Returns a function of single numbers as one of arrays."""
    return lambda *arrays: np.array([function(*row) for row in zip(*arrays)])


#: A class with its settings, its operands, and the values by NumPy or ``math``.
MORE: dict[str, tuple[Any, tuple[Any, ...], Any]] = {
    "Addcdiv": (ops.Addcdiv(), (X, Y, X, 2.0), X + 2.0 * Y / X),
    "Addcmul": (ops.Addcmul(), (X, Y, X, 2.0), X + 2.0 * Y * X),
    "CeLU": (ops.CeLU(alpha=2.0), (X,), np.where(X > 0, X, 2 * np.expm1(X / 2))),
    "DivNoNan": (ops.DivNoNan(), (X, np.array([0.0, 2.0, 4.0])), [0, 0.125, 0.5]),
    "Erf": (ops.Erf(), (X,), each(math.erf)(X)),
    "Erfc": (ops.Erfc(), (X,), each(math.erfc)(X)),
    "Gcd": (ops.Gcd(), (WHOLE, OTHER_WHOLE), np.gcd(WHOLE, OTHER_WHOLE)),
    "Hypot": (ops.Hypot(), (X, Y), np.hypot(X, Y)),
    "IsClose": (ops.IsClose(atol=0.5), (X, X + [0.4, 0.6, 0.0]), [True, False, True]),
    "Lcm": (ops.Lcm(), (WHOLE, OTHER_WHOLE), np.lcm(WHOLE, OTHER_WHOLE)),
    "Lerp": (ops.Lerp(), (X, Y, 0.25), 0.75 * X + 0.25 * Y),
    "Lgamma": (ops.Lgamma(), (np.abs(X),), each(math.lgamma)(np.abs(X))),
    "Logit": (ops.Logit(), (np.array([0.1, 0.5]),), [np.log(1 / 9), 0.0]),
    "Sinc": (ops.Sinc(), (X,), np.sinc(X)),
    "TruncateDiv": (ops.TruncateDiv(), (X, Y), np.trunc(X / Y)),
    "TruncateMod": (ops.TruncateMod(), (X, Y), np.fmod(X, Y)),
    "Xdivy": (ops.Xdivy(), (np.array([0.0, 3.0]), np.array([0.0, 2.0])), [0, 1.5]),
    "Xlogy": (ops.Xlogy(), (np.array([0.0, 3.0]), np.array([0.0, 2.0])), [0, 3 * np.log(2)]),
    "Cummax": (ops.Cummax(axis=0), (X[::-1].copy(),), (np.full(3, 2.0), np.zeros(3))),
    "Cummin": (ops.Cummin(axis=0), (X,), (np.full(3, -1.5), np.zeros(3))),
}


@pytest.mark.parametrize("name", CLASSES)
def test_the_class_of_a_function(name: str) -> None:
    arrays, function = FUNCTIONS[OTHERS.get(name, name.lower()).replace("_", "")]
    with np.errstate(all="ignore"):
        found = getattr(ops, name)()(*map(Tensor, arrays)).asnumpy()
        np.testing.assert_allclose(found, function(*arrays), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name", MORE)
def test_the_values_of_others(name: str) -> None:
    operator, operands, wanted = MORE[name]
    given = [Tensor(each) if isinstance(each, np.ndarray) else each for each in operands]
    found = operator(*given)
    pairs = zip(found, wanted) if isinstance(found, tuple) else [(found, wanted)]
    for one, value in pairs:
        np.testing.assert_allclose(one.asnumpy(), value, rtol=1e-12, atol=1e-15)
