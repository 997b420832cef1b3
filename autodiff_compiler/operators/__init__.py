"""The operator records, one family per file. Importing this package fills ``OPERATORS``."""

from autodiff_compiler.operators import containers, control, structure

__all__ = ["containers", "control", "structure"]
