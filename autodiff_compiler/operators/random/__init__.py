"""Random draws."""

from autodiff_compiler.operators.random import draws

__all__ = [
    "draws",
]
