"""Products in which a zero wins over infinity and NaN, and the operators that need them.

A value that a choice did not take has the cotangent 0, and 0 times an infinite slope is NaN. If a
cotangent may be 0 for this reason, the reverse sweep uses these operators
(``transforms/reverse/zero_wins.py``).
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import ArrayType, Type
from autodiff_compiler.operators.core.families import elementwise, floating
from autodiff_compiler.operators.elementwise.arithmetic import XY, abs, where
from autodiff_compiler.operators.elementwise.comparisons import equal, isfinite, logical_not
from autodiff_compiler.operators.elementwise.scalar_choice import single


def _zero_wins_text(mark: str) -> Callable[..., str]:
    def text(types: Sequence[Type]) -> str:
        x, y = types
        one = "1.0"
        if isinstance(x, ArrayType) and x.dtype and not isinstance(y, ArrayType):
            one = f"np.{x.dtype}(1.0)"  # np.where of two Python numbers is float64
        if dtype := single(types):
            return f"{{x}} {mark} np.{dtype}(1.0 if {{x}} == 0 else {{y}})"
        return f"{{x}} {mark} np.where({{x}} == 0, {one}, {{y}})"

    return text


zero_mul: Any = elementwise(
    "zero_mul",
    "x * y, and 0 where x is 0, whatever y is. Broadcasts.",
    operands=XY,
    numpy=_zero_wins_text("*"),
    dtype=floating,
    label="{x}_times_{y} scaled_{x} scaled_{y} product",
    partials={
        "x": lambda ct, x, y: ct * _guarded_factor(x, y, isfinite, 0.0),
        "y": lambda ct, x: zero_mul(x, ct),
    },
    decompose=lambda x, y: x * where(equal(x, 0.0), 1.0, y) if _have_one_dtype(x, y) else None,
)

zero_div: Any = elementwise(
    "zero_div",
    "x / y, and 0 where x is 0, whatever y is. Broadcasts.",
    operands=XY,
    numpy=_zero_wins_text("/"),
    dtype=floating,
    label="{x}_over_{y} scaled_{x} ratio",
    partials={
        "x": lambda ct, x, y: ct / _guarded_factor(x, y, lambda y: abs(y) > 0.0, 1.0),
        "y": lambda ct, out, y: -zero_div(zero_mul(out, ct), y),
    },
    decompose=lambda x, y: x / where(equal(x, 0.0), 1.0, y) if _have_one_dtype(x, y) else None,
)


def _guarded_factor(x: Any, y: Any, good: Callable[[Any], Any], other: float) -> Any:
    """Returns ``y``, but ``other`` where x is 0 and y is not ``good``."""
    if not isinstance(y, Value):
        return y
    return where(equal(x, 0.0) & logical_not(good(y)), other, y)


def _have_one_dtype(x: Any, y: Any) -> bool:
    dtypes = {getattr(each, "dtype_name", None) for each in (x, y)}
    return len(dtypes) == 1 and None not in dtypes


#: The replacements of products and quotients in which a zero of the first operand wins.
ZERO_WINS = {"mul": zero_mul, "div": zero_div}

#: The operands of which an operator selects elements: their cotangents are 0 elsewhere.
CHOICES: dict[str, tuple[str, ...]] = {
    "where": ("x", "y"),
    "maximum": XY,
    "minimum": XY,
    "clip": ("x", "low", "high"),
    "relu": ("x",),
    "hardsigmoid": ("x",),
    "max": ("x",),
    "min": ("x",),
    "index": ("x",),
    "take_along": ("x",),
    "set_item": ("x",),
    "tril": ("x",),
    "triu": ("x",),
    "diagonal": ("x",),
    "window_max": ("x",),
    "maximum_at": ("acc", "v"),
    "minimum_at": ("acc", "v"),
    "list_item": ("x",),
    "list_slice": ("x",),
    "list_head": ("x",),
    "zero_mul": ("y",),
    "zero_div": ("y",),
}

#: Operators whose results have tangents of 0 where they select a constant.
STILLING = frozenset(
    """
    where maximum minimum clip relu hardsigmoid set_item tril triu maximum_at minimum_at zero_mul
    zero_div concat stack pad
    """.split()
)

#: Operators whose value or slope is infinite or NaN at some finite operands. Products of large
#: numbers, which overflow as well, are not among them.
SINGULAR = frozenset(
    """
    div mod fmod pow exp expm1 log log1p log2 log10 sqrt rsqrt reciprocal asin acos sinh cosh acosh
    atanh xlogy erfinv lgamma polygamma bessel_i gamma_p gamma_p_slope zero_mul zero_div
    """.split()
)

#: Tests for values that are infinite or NaN.
TESTS = ("isnan", "isinf", "isfinite")
