"""A source-to-source differentiating compiler with MindSpore's names.

>>> import autodiff_compiler as ms
>>> def cube(x):
...     return x * x * x
>>> print(ms.grad(cube)(ms.Tensor(2.0)))
12.0
"""

from autodiff_compiler import common, errors, nn, ops
from autodiff_compiler.api import (
    compile_info,
    differentiable,
    export_source,
    gradient_source,
    jit,
)
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
    manual_seed,
    mutable,
    pytype_to_dtype,
    seed,
    set_context,
    set_rng_state,
    set_seed,
    tensor,
)
from autodiff_compiler.common.dtype import (
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
from autodiff_compiler.ops.batched import vmap
from autodiff_compiler.ops.custom import Function, custom_gradient
from autodiff_compiler.ops.custom import Function as _Function  # MindSpore's name  # noqa: F401
from autodiff_compiler.ops.derivatives import (
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
from autodiff_compiler.ops.gradient import GradOperation, get_grad, grad, value_and_grad
from autodiff_compiler.ops.hooks import insert_grad_of
from autodiff_compiler.ops.primitive import constexpr
from autodiff_compiler.ops.recompute import checkpointed, recompute
from autodiff_compiler.testing.numeric import check_grads

__version__ = "0.1.0"

__all__ = [
    "Function",
    "GRAPH_MODE",
    "Generator",
    "GradOperation",
    "PYNATIVE_MODE",
    "Parameter",
    "ParameterTuple",
    "Tensor",
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
    "jvp",
    "linearize",
    "manual_seed",
    "mutable",
    "nn",
    "ops",
    "pytype_to_dtype",
    "seed",
    "recompute",
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
