"""Choices between single numbers, which loops make item by item.

Python chooses between two numbers in a fiftieth of the time of NumPy.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable, Sequence

from autodiff_compiler.ir.types import BOOL, ArrayType, ScalarType, Type


def single(types: Sequence[Type]) -> str | None:
    """Returns the dtype of values that are one number each, and not all of them Python's; else
    None."""
    arrays = [type_ for type_ in types if isinstance(type_, ArrayType)]
    dtypes = {type_.dtype for type_ in arrays}
    known = all(isinstance(type_, (ArrayType, ScalarType)) for type_ in types)
    if not known or len(dtypes) != 1 or any(type_.shape != () for type_ in arrays):
        return None
    (dtype,) = dtypes
    return None if dtype == "bfloat16" else dtype


def chosen_text(types: Sequence[Type]) -> str | None:
    """Returns the text of ``where`` for single numbers."""
    test, *values = types
    dtype = single(values)
    is_test = test == BOOL or isinstance(test, ArrayType) and test.shape == ()
    return f"np.{dtype}({{x}} if {{c}} else {{y}})" if dtype and is_test else None


def bound_text(sign: str, name: str) -> Callable[[Sequence[Type]], str]:
    """Returns the text of ``maximum`` or ``minimum``, where NaN wins."""

    def text(types: Sequence[Type]) -> str:
        dtype = single(types)
        if dtype is None or "float" not in dtype:
            return f"np.{name}({{x}}, {{y}})"
        return f"np.{dtype}({{x}} if {{x}} {sign} {{y}} or {{x}} != {{x}} else {{y}})"

    return text
