"""``import autodiff_compiler.ops.composite as C``: the functions and the transforms."""

from autodiff_compiler.mindspore_names.suggestions import module_getattr
from autodiff_compiler.ops.functional import *  # noqa: F403
from autodiff_compiler.ops.transforms.gradient import GradOperation, get_grad, grad, value_and_grad
from autodiff_compiler.ops.transforms.higher_order import HyperMap, Map, MultitypeFuncGraph

__all__ = [
    "GradOperation",
    "HyperMap",
    "Map",
    "MultitypeFuncGraph",
    "get_grad",
    "grad",
    "value_and_grad",
]

__getattr__ = module_getattr("ops", globals())
