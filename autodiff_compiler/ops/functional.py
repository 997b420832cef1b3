"""``import autodiff_compiler.ops.functional as F``: the functions."""

from autodiff_compiler.ops.arrays import *  # noqa: F403
from autodiff_compiler.ops.creation import *  # noqa: F403
from autodiff_compiler.ops.elementwise import *  # noqa: F403
from autodiff_compiler.ops.reductions import *  # noqa: F403
