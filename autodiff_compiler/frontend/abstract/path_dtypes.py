"""Dtypes that depend on the path: arrays of plain NumPy code with another dtype on each path.

After a join the compiled code holds one dtype, that of arithmetic on both. NumPy holds the dtype of
the path that was taken. Their numbers agree to rounding, but three things depend on the dtype
itself: whether a conversion returns its argument, how a write rounds, and what ``dtype`` is.
``TensorAliases.path_dtypes`` keeps the dtypes of such an array, and those of arrays made of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from autodiff_compiler.errors import DTypeError
from autodiff_compiler.frontend.abstract.aliasing import TensorAliases
from autodiff_compiler.frontend.abstract.evaluator import Evaluator
from autodiff_compiler.ir.nodes import Op, Value, array_type
from autodiff_compiler.ir.types import BOOL, ArrayType, ScalarType
from autodiff_compiler.operators.core import structure


def join_path_dtypes(memory: TensorAliases, joined: Any, paths: Iterable[Any]) -> None:
    """Records the dtypes of a value that is one of ``paths``, if they differ."""
    memory.set_path_dtypes(joined, frozenset().union(*map(memory.dtypes_of, paths)))


def record_path_dtypes(memory: TensorAliases, op: Op) -> None:
    """Records the dtypes of a result whose dtype follows from that of an operand.

    A cast has one dtype on all paths. A result in the dtype of an operand that has one does, too.
    """
    if not memory.path_dtypes or op.opdef is structure.cast:
        return
    result, dtypes = op.results[0], frozenset[str]()
    dtype = array_type(result).dtype
    for operand in op.operands:
        have = memory.dtypes_of(operand)
        if have == {dtype}:
            return
        if dtype in have:
            dtypes |= have
    memory.set_path_dtypes(result, dtypes)


def has_path_dtype(memory: TensorAliases, value: Any) -> bool:
    """True if the dtype of an array depends on the path."""
    return value in memory.path_dtypes


def refuse_path_dtype(low: Evaluator, value: Any, use: str) -> None:
    """Refuses the ``use`` of an array whose dtype depends on the path."""
    if not has_path_dtype(low.compilation.aliases, value):
        return
    names = " or ".join(sorted(low.compilation.aliases.path_dtypes[value]))
    raise low.fail(
        DTypeError,
        f"NumPy's dtype of this array is {names}, which depends on the path, and {use}",
        "give it one dtype on all paths: y = y.astype(np.float64)",
    )


def refuse_write_of_kinds(low: Evaluator, owner: Value) -> None:
    """Refuses a write to an array that holds integers on one path and fractions on another."""
    dtypes = low.compilation.aliases.dtypes_of(owner)
    if len({np.dtype(dtype).kind for dtype in dtypes}) > 1:
        refuse_path_dtype(low, owner, "a write rounds to that dtype")


#: Pairs of dtypes whose arrays one dtype can stand for. Other pairs wrap around, overflow, index or
#: take roots of negative numbers differently.
_ALIKE = frozenset(
    map(
        frozenset,
        (("float32", "float64"), ("complex64", "complex128"), ("int64", "float64")),
    )
)


def compute_alike(one: Any, other: Any) -> bool:
    """True if NumPy computes the same numbers in the types of two paths, but for rounding.

    >>> compute_alike(ArrayType("int64", (3,)), ArrayType("float64", (3,)))
    True
    >>> compute_alike(ArrayType("int64", (3,)), ArrayType("bool", (3,)))
    False
    >>> compute_alike(ArrayType("bool", (3,)), ScalarType("int"))
    False
    """
    arrays = [type_ for type_ in (one, other) if isinstance(type_, ArrayType)]
    dtypes = frozenset(type_.dtype for type_ in arrays)
    if len(arrays) == 2:
        return None in dtypes or len(dtypes) == 1 or dtypes in _ALIKE
    numbers = [type_ for type_ in (one, other) if isinstance(type_, ScalarType)]
    return not arrays or not numbers or (BOOL in numbers) is ("bool" in dtypes)


__all__ = [
    "compute_alike",
    "has_path_dtype",
    "join_path_dtypes",
    "record_path_dtypes",
    "refuse_path_dtype",
    "refuse_write_of_kinds",
]
