"""The base of all operators: constructors of definitions, linear structure, regions, containers,
effects."""

from autodiff_compiler.operators.core import (
    containers,
    control,
    declare,
    effects,
    families,
    index_patterns,
    macros,
    scalar_conversion,
    structure,
)

__all__ = [
    "containers",
    "control",
    "declare",
    "effects",
    "families",
    "index_patterns",
    "macros",
    "scalar_conversion",
    "structure",
]
