"""MindSpore's operators by MindSpore's names: functions, operator classes, Tensor methods.

All of it is thin Python over the operators of ``operators/``. The same code computes at once on
tensors, and builds IR on the values of a compiled method.
"""

from typing import TYPE_CHECKING

from autodiff_compiler.mindspore_names.suggestions import module_getattr
from autodiff_compiler.ops import composite, functional, operations
from autodiff_compiler.ops.core.primitive_base import constexpr
from autodiff_compiler.ops.functional import *  # noqa: F403
from autodiff_compiler.ops.methods import in_place, table
from autodiff_compiler.ops.operations import *  # noqa: F403
from autodiff_compiler.ops.transforms.derivatives import *  # noqa: F403
from autodiff_compiler.ops.transforms.gradient import GradOperation, get_grad, grad, value_and_grad
from autodiff_compiler.ops.transforms.higher_order import HyperMap, Map, MultitypeFuncGraph
from autodiff_compiler.ops.transforms.hooks import HookBackward, InsertGradientOf, insert_grad_of
from autodiff_compiler.ops.transforms.vmap import vmap

__all__ = [
    "GradOperation",
    "HookBackward",
    "HyperMap",
    "InsertGradientOf",
    "Map",
    "MultitypeFuncGraph",
    "composite",
    "constexpr",
    "functional",
    "get_grad",
    "grad",
    "in_place",
    "insert_grad_of",
    "table",
    "operations",
    "value_and_grad",
    "vmap",
]

if not TYPE_CHECKING:  # type checkers report names that are not defined here
    __getattr__ = module_getattr("ops", globals())
