"""Elementwise operators: one operation of the same name on each element."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from autodiff_compiler.ir.nodes import Op, is_real_literal
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.types import ArrayType, common_dtype
from autodiff_compiler.loop_ir.nodes import Affine, Apply, Expression, Literal
from autodiff_compiler.loops.core.state import NUMBER_DTYPES, Lowering, apply, array_facts, cast
from autodiff_compiler.loops.core.values import NoNativeText

#: Operators whose operands keep a common dtype that is not the result's.
COMPARISONS = frozenset(
    (
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "isnan",
        "isinf",
        "isfinite",
    )
)
LOGICAL = frozenset(("logical_and", "logical_or", "logical_xor", "logical_not"))
#: Powers that are written as products.
PRODUCTS = (1, 2, 3, 4)


def elementwise(low: Lowering, op: Op) -> None:
    """Applies the operation to each element."""
    _check(op)

    def element(indices: Sequence[Affine]) -> Expression:
        return scalar_operation(op, [low.element(operand, indices) for operand in op.operands])

    low.map(op.result, element)


def _check(op: Op) -> None:
    for type_ in op.types:
        array_facts(type_)
    if op.attrs and op.name not in ("cast",):
        raise NoNativeText(f"{op.name} with {', '.join(op.attrs)}")


def scalar_operation(op: Op, operands: Sequence[Expression]) -> Expression:
    """Returns the operation of ``op`` on single elements."""
    dtype, _ = array_facts(op.result.type)
    if op.name == "where":
        condition, left, right = operands
        sides = cast(left, dtype), cast(right, dtype)
        return Apply("select", (cast(condition, "bool"), *sides), dtype)
    if op.name in COMPARISONS:
        common = operand_dtype(op)
        return Apply(op.name, tuple(cast(each, common) for each in operands), "bool")
    if op.name in LOGICAL:
        return Apply(op.name, tuple(cast(each, "bool") for each in operands), "bool")
    power = op.operands[1] if op.name == "pow" else None
    if is_real_literal(power) and power in PRODUCTS and dtype.startswith("float"):
        return _product(cast(operands[0], dtype), int(power))
    return apply(op.name, dtype, *operands)


def _product(base: Expression, count: int) -> Expression:
    product = base
    for _ in range(count - 1):
        product = apply("mul", base.dtype, product, base)
    return product


def operand_dtype(op: Op) -> str:
    """Returns the dtype in which NumPy compares the operands."""
    types = op.types
    arrays = [type_ for type_ in types if isinstance(type_, ArrayType)]
    if not arrays:
        kinds = [NUMBER_DTYPES[type_] for type_ in types]
        return str(np.result_type(*kinds))
    return common_dtype(types)


def _cast(low: Lowering, op: Op) -> None:
    dtype = op.attrs["dtype"]
    low.map(op.result, lambda indices: cast(low.element(op.operands[0], indices), dtype))


def _same(low: Lowering, op: Op) -> None:
    low.bind(op.result, low.represent(op.operands[0]))


def _copy(low: Lowering, op: Op) -> None:
    low.map(op.result, lambda indices: low.element(op.operands[0], indices))


def _full(low: Lowering, op: Op) -> None:
    dtype, _ = array_facts(op.result.type)
    value = Literal(op.attrs["value"], "float64")
    low.map(op.result, lambda indices: cast(value, dtype))


RULES: Mapping[str, Callable[[Lowering, Op], None]] = {
    **{name: elementwise for name, opdef in OPERATORS.items() if opdef.batch == "elements"},
    "cast": _cast,
    "copy": _copy,
    "conj": _same,
    "real": _same,
    "stop_gradient": _same,
    "full": _full,
    "full_like": _full,
}
