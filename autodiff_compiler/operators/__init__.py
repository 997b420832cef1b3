"""The operator records, one family per file. Importing this package fills ``OPERATORS``.

A record can be had by its name: ``from autodiff_compiler.operators import matmul``.
"""

from autodiff_compiler.ir.opdef import OPERATORS, OpDef
from autodiff_compiler.operators import (
    activation,
    along,
    compare,
    complex,
    containers,
    contraction,
    control,
    convolution,
    creation,
    decompositions,
    depthwise,
    draws,
    effects,
    elementwise,
    gamma,
    indexing,
    joining,
    linalg,
    lists,
    moving,
    numbers,
    ordering,
    orthogonal,
    placing,
    pooling,
    powers,
    reduce,
    running,
    singular,
    special,
    structure,
    tapes,
    unit,
    zeros,
)

__all__ = [
    "activation",
    "along",
    "compare",
    "complex",
    "containers",
    "contraction",
    "control",
    "convolution",
    "creation",
    "decompositions",
    "depthwise",
    "draws",
    "effects",
    "elementwise",
    "gamma",
    "indexing",
    "joining",
    "linalg",
    "lists",
    "moving",
    "numbers",
    "ordering",
    "orthogonal",
    "placing",
    "pooling",
    "powers",
    "reduce",
    "running",
    "singular",
    "special",
    "structure",
    "tapes",
    "unit",
    "zeros",
]


def __getattr__(name: str) -> OpDef:
    try:
        return OPERATORS[name]
    except KeyError:
        raise AttributeError(f"there is no operator {name}") from None
