"""Compile-time values as Python values for library code, and its results as compile-time values."""

from __future__ import annotations

from typing import Any

from autodiff_compiler.frontend.abstract import iterators
from autodiff_compiler.frontend.abstract.runtime_lists import is_runtime_list
from autodiff_compiler.frontend.abstract.values import (
    DictView,
    HeapRef,
    LazyIterable,
    leaves,
    tuple_like,
)
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.ir.nodes import Value


def python_containers(low: Lowering, arg: Any, lists_go: bool = False) -> Any:
    """Returns a heap list as a list, a heap dict as a dict, and arrays as values.

    ``lists_go``: a run-time list is returned as its value.
    """
    if isinstance(arg, (DictView, LazyIterable)) or iterators.is_iterator(arg):
        return [python_containers(low, item) for item in low.sequence(arg)]
    if isinstance(arg, HeapRef):
        contents = low.state.heap[arg] if lists_go else low.contents(arg)
        if is_runtime_list(contents):
            return contents
        if arg.kind == "list":
            return [python_containers(low, item) for item in contents]
        return {key: python_containers(low, item) for key, item in contents.items()}
    low.compilation.guard_contents(arg)
    if type(arg) is tuple:
        return tuple(python_containers(low, item) for item in arg)
    return low.lifted(arg)


def to_python(low: Lowering, value: Any) -> Any:
    """Returns a value known at compile time, with lists and dicts in place of references."""
    return low.original(python_containers(low, value))


def from_python(low: Lowering, result: Any) -> Any:
    """Returns the outcome of library code as a compile-time value: its lists go to the heap."""
    if isinstance(result, list):
        return low.new_list([from_python(low, item) for item in result])
    if isinstance(result, tuple) and (type(result) is tuple or hasattr(result, "_fields")):
        return tuple_like(result, [from_python(low, item) for item in result])
    if type(result) is dict and any(isinstance(leaf, Value) for leaf in leaves(result)):
        return low.allocate("dict", {key: from_python(low, each) for key, each in result.items()})
    return low.lifted(result)
