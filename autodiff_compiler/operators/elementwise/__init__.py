"""Operators that compute each element by itself."""

from autodiff_compiler.operators.elementwise import (
    activation,
    arithmetic,
    comparisons,
    complex_parts,
    error_function,
    gamma,
    powers,
    scalar_choice,
    special,
    zero_wins,
)

__all__ = [
    "activation",
    "arithmetic",
    "comparisons",
    "complex_parts",
    "error_function",
    "gamma",
    "powers",
    "scalar_choice",
    "special",
    "zero_wins",
]
