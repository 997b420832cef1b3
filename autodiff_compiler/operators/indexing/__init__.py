"""Reading, writing, joining and rearranging parts of arrays; new arrays."""

from autodiff_compiler.operators.indexing import (
    concat_and_pad,
    creation,
    indexing,
    scatter_reduce,
    scatter_text,
)

__all__ = [
    "concat_and_pad",
    "creation",
    "indexing",
    "scatter_reduce",
    "scatter_text",
]
