"""A source-to-source differentiating compiler with MindSpore's names.

>>> import autodiff_compiler as ms
>>> def cube(x):
...     return x * x * x
>>> print(ms.grad(cube)(ms.Tensor(2.0)))
12.0
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any

from autodiff_compiler import amp, common, errors, mindspore_paths, ops
from autodiff_compiler.common import (
    GRAPH_MODE,
    PYNATIVE_MODE,
    Generator,
    Parameter,
    ParameterTuple,
    Tensor,
    default_generator,
    dtype,
    dtype_to_nptype,
    dtype_to_pytype,
    get_context,
    get_rng_state,
    get_seed,
    initial_seed,
    jit_class,
    lazy_inline,
    load_checkpoint,
    load_param_into_net,
    manual_seed,
    mutable,
    pytype_to_dtype,
    random,
    save_checkpoint,
    set_context,
    set_rng_state,
    set_seed,
    tensor,
)
from autodiff_compiler.common.compiler_hook import install_on_demand
from autodiff_compiler.common.context import COMPATIBLE, LAX, STRICT
from autodiff_compiler.common.dtype import (
    Type,
    bfloat16,
    bool_,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    single,
    uint8,
    uint16,
    uint32,
    uint64,
)
from autodiff_compiler.common.structures import register_container
from autodiff_compiler.mindspore_names.module_paths import install_paths
from autodiff_compiler.ops.core.primitive_base import constexpr
from autodiff_compiler.ops.transforms.custom_rules import Function, custom_gradient
from autodiff_compiler.ops.transforms.custom_rules import Function as _Function  # MindSpore's name  # noqa: F401
from autodiff_compiler.ops.transforms.derivatives import (
    derivative,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jet,
    jvp,
    linearize,
    vjp,
)
from autodiff_compiler.ops.transforms.gradient import GradOperation, get_grad, grad, value_and_grad
from autodiff_compiler.ops.transforms.hooks import insert_grad_of
from autodiff_compiler.ops.transforms.recompute import checkpointed, recompute
from autodiff_compiler.ops.transforms.vmap import vmap
from autodiff_compiler.version import __version__ as __version__

if TYPE_CHECKING:
    from autodiff_compiler import nn as nn
    from autodiff_compiler import numpy as numpy
    from autodiff_compiler.api import (
        compile_info,
        differentiable,
        jit,
    )
    from autodiff_compiler.common import context as context
    from autodiff_compiler.generated_source import export_source, gradient_source
    from autodiff_compiler.testing.numeric import check_grads

from_numpy = Tensor.from_numpy

#: The names that need the compiler, and their modules. The compiler is half of the package. It is
#: imported at the first use of one of these names, or at the first compilation.
_COMPILER = {
    "check_grads": "testing.numeric",
    "compile_info": "api",
    "differentiable": "api",
    "export_source": "generated_source",
    "gradient_source": "generated_source",
    "jit": "api",
}
#: The modules that are imported at their first use, too.
_MODULES = ("nn", "numpy")


if not TYPE_CHECKING:  # a type checker would take every name for an attribute

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return importlib.import_module(f"{__name__}.{name}")
        if name not in _COMPILER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(
            importlib.import_module(f"{__name__}.{_COMPILER[name]}"), name
        )
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_COMPILER, *_MODULES})


install_on_demand(lambda: importlib.import_module(f"{__name__}.api"))
install_paths(sys.modules[__name__], mindspore_paths.paths(sys.modules[__name__]))

__all__ = [
    "COMPATIBLE",
    "Function",
    "GRAPH_MODE",
    "Generator",
    "GradOperation",
    "LAX",
    "PYNATIVE_MODE",
    "Parameter",
    "ParameterTuple",
    "STRICT",
    "Tensor",
    "Type",
    "amp",
    "bfloat16",
    "bool_",
    "check_grads",
    "checkpointed",
    "common",
    "compile_info",
    "complex64",
    "complex128",
    "constexpr",
    "custom_gradient",
    "default_generator",
    "derivative",
    "differentiable",
    "double",
    "dtype",
    "dtype_to_nptype",
    "dtype_to_pytype",
    "errors",
    "export_source",
    "float16",
    "float32",
    "float64",
    "from_numpy",
    "get_context",
    "get_grad",
    "get_rng_state",
    "get_seed",
    "grad",
    "gradient_source",
    "half",
    "hessian",
    "hvp",
    "initial_seed",
    "int8",
    "insert_grad_of",
    "int16",
    "int32",
    "int64",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jet",
    "jit",
    "jit_class",
    "lazy_inline",
    "load_checkpoint",
    "load_param_into_net",
    "jvp",
    "linearize",
    "manual_seed",
    "mutable",
    "nn",
    "ops",
    "pytype_to_dtype",
    "save_checkpoint",
    "random",
    "recompute",
    "register_container",
    "set_context",
    "set_rng_state",
    "set_seed",
    "single",
    "tensor",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "value_and_grad",
    "vjp",
    "vmap",
]
