"""MindSpore's operators by MindSpore's names: functions, operator classes, Tensor methods.

All of it is thin Python over the records of ``operators/``: the same text computes at once on
tensors and builds IR on the values of a method that is being compiled.
"""

from autodiff_compiler.ops import composite, functional, methods, operations
from autodiff_compiler.ops.functional import *  # noqa: F403
from autodiff_compiler.ops.operations import *  # noqa: F403

__all__ = ["composite", "functional", "methods", "operations"]
