"""Python numbers out of arrays and shapes. Only ``as_float`` carries a gradient."""

from __future__ import annotations

__macro__ = True

from collections.abc import Sequence
from typing import Any

from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import BOOL, FLOAT, INT, ArrayType, Type
from autodiff_compiler.operators.core.declare import linear, zero_gradient
from autodiff_compiler.operators.core.structure import cast, cast_like, full_like, reshape_like

dim = zero_gradient(
    "dim",
    "The size of one axis of x, a Python int.",
    numpy="{x}.shape[{axis}]",
    result=lambda types, *, axis: INT,
    label="{x}_size",
)

shape_item = zero_gradient(
    "shape_item",
    "A size of a run-time shape.",
    numpy="{x}[{at}]",
    result=lambda types, *, at: INT,
    label="{x}_item",
)


def _number_text(types: Sequence[Type], *, kind: str) -> str:
    """Returns the text of a conversion to a number: NumPy converts only arrays without axes by
    itself."""
    plain = not isinstance(types[0], ArrayType) or types[0].shape == ()
    return f"{kind}({{x}})" if plain else f"{kind}({{x}}.item())"


to_number = zero_gradient(
    "to_number",
    "A Python number from an array of one element; as in MindSpore, its gradient is zero.",
    numpy=_number_text,
    result=lambda types, *, kind: {"int": INT, "float": FLOAT, "bool": BOOL}[kind],
    label="{x}_number",
)


as_float = linear(
    "as_float",
    "A Python float from an array of one real number, with its gradient: no array adapts to it.",
    numpy=lambda types: _number_text(types, kind="float"),
    result=lambda types: FLOAT,
    adjoint={"x": lambda ct, x: _cotangent_of_array(ct, x)},
    label="{x}_number",
)


def _cotangent_of_array(ct: Any, x: Value) -> Any:
    """Returns the cotangent of a number as the cotangent of the array that it was taken from."""
    if not isinstance(ct, Value):
        return full_like(x, value=ct) if isinstance(x.type, ArrayType) else ct
    if ct.type == FLOAT and isinstance(x.type, ArrayType) and x.type.shape != ():
        return reshape_like(cast(ct, dtype=x.type.dtype or "float64"), x)
    return cast_like(reshape_like(ct, x) if isinstance(ct.type, ArrayType) else ct, x)
