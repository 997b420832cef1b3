"""Comparisons, logic and tests: bool results, zero derivative."""

from __future__ import annotations

__macro__ = True

from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.operators.core.families import boolean, elementwise, no_casts

_SHAPES = "Broadcasts; the operands are promoted together; the result is bool."


def _comparison(name: str, sign: str, label: str) -> OpDef:
    return elementwise(
        name,
        f"x {sign} y, element by element. {_SHAPES}",
        operands=("x", "y"),
        numpy=f"{{x}} {sign} {{y}}",
        dtype=boolean,
        label=label,
    )


equal = _comparison("equal", "==", "{x}_is_{y} is_equal")
not_equal = _comparison("not_equal", "!=", "{x}_not_{y} differs")
less = _comparison("less", "<", "{x}_below_{y} is_below")
less_equal = _comparison("less_equal", "<=", "{x}_until_{y} is_at_most")
greater = _comparison("greater", ">", "{x}_above_{y} is_above")
greater_equal = _comparison("greater_equal", ">=", "{x}_from_{y} is_at_least")


def _logical(name: str, doc: str, operands: tuple[str, ...], label: str) -> OpDef:
    slots = ", ".join(f"{{{operand}}}" for operand in operands)
    return elementwise(
        name,
        doc,
        operands=operands,
        numpy=f"np.{name}({slots})",
        dtype=boolean,
        promote=no_casts,
        label=label,
    )


logical_and = _logical(
    "logical_and", "Both x and y are nonzero. Broadcasts.", ("x", "y"), "{x}_and_{y} both"
)
logical_or = _logical(
    "logical_or", "At least one of x and y is nonzero. Broadcasts.", ("x", "y"), "{x}_or_{y} either"
)
logical_xor = _logical(
    "logical_xor", "Exactly one of x and y is nonzero. Broadcasts.", ("x", "y"), "{x}_xor_{y}"
)
logical_not = _logical("logical_not", "x is zero.", ("x",), "not_{x} negation")

isnan = _logical("isnan", "x is not a number.", ("x",), "{x}_is_nan")
isinf = _logical("isinf", "x is plus or minus infinity.", ("x",), "{x}_is_inf")
isfinite = _logical("isfinite", "x is neither infinite nor NaN.", ("x",), "{x}_is_finite")

isclose = elementwise(
    "isclose",
    "|x - y| <= atol + rtol * |y|. Broadcasts; NaN is close to NaN if ``equal_nan``.",
    operands=("x", "y"),
    numpy=lambda types, *, rtol, atol, equal_nan: (
        f"np.isclose({{x}}, {{y}}, {rtol!r}, {atol!r}" + (", equal_nan=True)" if equal_nan else ")")
    ),
    dtype=boolean,
    promote=no_casts,
    label="{x}_near_{y} is_near",
)
