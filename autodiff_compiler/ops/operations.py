"""``import autodiff_compiler.ops.operations as P``: the operator classes."""

from autodiff_compiler.ops.primitives import *  # noqa: F403
