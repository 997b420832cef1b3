"""The objects of a user's program: Tensor, Parameter, Cell, dtypes and settings."""

from autodiff_compiler.common import dtype
from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.cells.containers import CellDict, CellList, SequentialCell
from autodiff_compiler.common.context import (
    GRAPH_MODE,
    PYNATIVE_MODE,
    get_context,
    set_context,
)
from autodiff_compiler.common.dtype import (
    dtype_to_nptype,
    dtype_to_pytype,
    pytype_to_dtype,
)
from autodiff_compiler.common.files.parameter_files import (
    load_checkpoint,
    load_param_into_net,
    save_checkpoint,
)
from autodiff_compiler.common.mutable import jit_class, lazy_inline, mutable
from autodiff_compiler.common.parameter import Parameter, ParameterTuple
from autodiff_compiler.common.random import (
    Generator,
    default_generator,
    get_rng_state,
    get_seed,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
    set_seed,
)
from autodiff_compiler.common.tensor import Tensor, tensor

__all__ = [
    "GRAPH_MODE",
    "PYNATIVE_MODE",
    "Cell",
    "CellDict",
    "CellList",
    "Generator",
    "Parameter",
    "ParameterTuple",
    "SequentialCell",
    "Tensor",
    "default_generator",
    "dtype",
    "dtype_to_nptype",
    "dtype_to_pytype",
    "get_context",
    "get_rng_state",
    "get_seed",
    "initial_seed",
    "jit_class",
    "lazy_inline",
    "load_checkpoint",
    "load_param_into_net",
    "manual_seed",
    "mutable",
    "pytype_to_dtype",
    "save_checkpoint",
    "seed",
    "set_context",
    "set_rng_state",
    "set_seed",
    "tensor",
]
