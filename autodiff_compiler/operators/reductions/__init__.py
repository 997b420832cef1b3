"""Reductions, scans and other functions along axes."""

from autodiff_compiler.operators.reductions import (
    axis_functions,
    reduce,
    scans,
    sorting,
    unit_vector,
)

__all__ = [
    "axis_functions",
    "reduce",
    "scans",
    "sorting",
    "unit_vector",
]
