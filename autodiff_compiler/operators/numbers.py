"""Python numbers out of arrays and shapes. None of them carries a gradient."""

from __future__ import annotations

from collections.abc import Sequence

from autodiff_compiler.ir.types import BOOL, FLOAT, INT, ArrayType, Type
from autodiff_compiler.operators.declare import zero_gradient

dim = zero_gradient(
    "dim", "The size of one axis of x, a Python int.", numpy="{x}.shape[{axis}]",
    result=lambda types, *, axis: INT, label="{x}_size",
)  # fmt: skip

shape_item = zero_gradient(
    "shape_item", "One size out of a run-time shape.", numpy="{x}[{at}]",
    result=lambda types, *, at: INT, label="{x}_item",
)  # fmt: skip


def _number_text(types: Sequence[Type], *, kind: str) -> str:
    """NumPy turns only arrays without axes into numbers by themselves."""
    plain = not isinstance(types[0], ArrayType) or types[0].shape == ()
    return f"{kind}({{x}})" if plain else f"{kind}({{x}}.item())"


to_number = zero_gradient(
    "to_number",
    "A Python number from an array of one element; as in MindSpore, no gradient goes through it.",
    numpy=_number_text,
    result=lambda types, *, kind: {"int": INT, "float": FLOAT, "bool": BOOL}[kind],
    label="{x}_number",
)  # fmt: skip
