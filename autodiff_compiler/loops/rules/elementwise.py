"""Elementwise operators: one operation of the same name on each element."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from autodiff_compiler.ir.nodes import Op, is_real_literal
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.types import BOOL, FLOAT, INT, ArrayType, common_dtype
from autodiff_compiler.loop_ir.nodes import Affine, Apply, Expression, Literal, Position
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
#: Attributes that are further operands of an operation, in order.
ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "bessel_i": ("n",),
    "elu": ("alpha",),
    "leaky_relu": ("slope",),
    "huber": ("delta",),
    "isclose": ("rtol", "atol", "equal_nan"),
    "polygamma": ("n",),
    "sinc_slope": ("n",),
}
#: Operators of integers that are the operand itself, and questions that have one answer for them.
WHOLE_ALREADY = frozenset(("floor", "ceil", "trunc", "round"))
ANSWERS_OF_INTEGERS = {"isnan": False, "isinf": False, "isfinite": True}
#: Operations that Python refuses for some numbers, with such numbers.
DIVISIONS: Mapping[str, tuple[int, int]] = {
    "div": (1, 0),
    "floor_div": (1, 0),
    "mod": (1, 0),
    "pow": (0, -1),
}
#: The highest derivative of digamma that has a function in C.
HIGHEST_POLYGAMMA = 22


def elementwise(low: Lowering, op: Op) -> None:
    """Applies the operation to each element."""
    _check(op)
    position = _position(low, op)
    if position is not None:
        low.bind(op.result, position)
        return

    _check_divisor(low, op)

    def element(indices: Sequence[Affine]) -> Expression:
        return scalar_operation(op, [low.element(operand, indices) for operand in op.operands])

    low.map(op.result, element)


def _check(op: Op) -> None:
    for type_ in op.types:
        array_facts(type_)
    if op.name == "polygamma" and op.attrs["n"] > HIGHEST_POLYGAMMA:
        raise NoNativeText(f"polygamma of order {op.attrs['n']}")


def _check_divisor(low: Lowering, op: Op) -> None:
    """Fails where Python does: a number divided by zero. Arrays give NaN or infinity."""
    zeros = DIVISIONS.get(op.name)
    if zeros is None or not all(type_ in (INT, FLOAT, BOOL) for type_ in op.types):
        return
    left, right = (low.number(operand) for operand in op.operands)
    tested = right if op.name != "pow" else left
    outside = Apply("equal", (tested, cast(Literal(0, "int64"), tested.dtype)), "bool")
    if op.name == "pow":
        negative = Apply("less", (right, cast(Literal(0, "int64"), right.dtype)), "bool")
        outside = Apply("logical_and", (outside, negative), "bool")
    if isinstance(right, Literal) and right.value > 0:
        return
    numbers = [float(n) if t == FLOAT else int(n) for n, t in zip(zeros, op.types)]
    try:
        op.opdef.evaluate(*numbers, types=op.types, **op.attrs)
    except ZeroDivisionError as error:
        low.fail_if(outside, "ZeroDivisionError", str(error))


def _position(low: Lowering, op: Op) -> Position | None:
    """Returns a sum or difference of loop indices as a position; None for other operations."""
    if op.name not in ("add", "sub") or op.result.type != INT:
        return None
    forms = []
    for operand in op.operands:
        value = low.represent(operand)
        if isinstance(value, Position):
            forms.append(value.at)
        elif isinstance(value, Literal) and value.dtype == "int64":
            forms.append(Affine(int(value.value)))
        else:
            return None
    return Position(forms[0] + forms[1] * (1 if op.name == "add" else -1))


def scalar_operation(op: Op, operands: Sequence[Expression]) -> Expression:
    """Returns the operation of ``op`` on single elements."""
    dtype, _ = array_facts(op.result.type)
    if op.name == "where":
        condition, left, right = operands
        sides = cast(left, dtype), cast(right, dtype)
        return Apply("select", (cast(condition, "bool"), *sides), dtype)
    if op.name in COMPARISONS:
        common = operand_dtype(op)
        if op.name in ANSWERS_OF_INTEGERS and not common.startswith("float"):
            return Literal(ANSWERS_OF_INTEGERS[op.name], "bool")
        return Apply(op.name, tuple(cast(each, common) for each in operands), "bool")
    if op.name in LOGICAL:
        return Apply(op.name, tuple(cast(each, "bool") for each in operands), "bool")
    if op.name == "isclose":
        common = operand_dtype(op)
        if not common.startswith("float"):
            common = "float64"
        rtol, atol, equal_nan = (op.attrs[name] for name in ATTRIBUTES["isclose"])
        bounds = (Literal(float(each), common) for each in (rtol, atol))
        numbers = (*(cast(each, common) for each in operands), *bounds)
        return Apply("isclose", (*numbers, Literal(bool(equal_nan), "bool")), "bool")
    if op.name in WHOLE_ALREADY and not dtype.startswith("float"):
        return cast(operands[0], dtype)
    if op.name == "invert":
        if dtype == "bool":
            return Apply("logical_not", (cast(operands[0], "bool"),), dtype)
        ones = 2 ** int(dtype.lstrip("uint")) - 1 if dtype.startswith("u") else -1
        return Apply("bit_xor", (operands[0], Literal(ones, dtype)), dtype)
    if op.name == "polygamma" and op.attrs["n"] == 0:
        return apply("digamma", dtype, *operands)
    power = op.operands[1] if op.name == "pow" else None
    if is_real_literal(power) and power in PRODUCTS and dtype.startswith("float"):
        return _product(cast(operands[0], dtype), int(power))
    more = [op.attrs[name] for name in ATTRIBUTES.get(op.name, ())]
    return apply(op.name, dtype, *operands, *more)


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
