"""Lists of run-time length, and the tapes of loops."""

from autodiff_compiler.operators.lists import loop_tapes, runtime_lists

__all__ = [
    "loop_tapes",
    "runtime_lists",
]
