"""The operator definitions, in packages of families. Importing this package fills ``OPERATORS``.

An operator definition has a name: ``from autodiff_compiler.operators import matmul``.
"""

__macro__ = True

from autodiff_compiler.ir.opdef import OPERATORS, OpDef
from autodiff_compiler.operators import (
    core,
    elementwise,
    indexing,
    linalg,
    lists,
    random,
    reductions,
    windows,
)

__all__ = ["core", "elementwise", "indexing", "linalg", "lists", "random", "reductions", "windows"]


def __getattr__(name: str) -> OpDef:
    try:
        return OPERATORS[name]
    except KeyError:
        raise AttributeError(f"there is no operator {name}") from None
