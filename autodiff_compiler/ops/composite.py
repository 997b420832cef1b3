"""``import autodiff_compiler.ops.composite as C``: the functions, and the ways to differentiate."""

from autodiff_compiler.ops.functional import *  # noqa: F403
