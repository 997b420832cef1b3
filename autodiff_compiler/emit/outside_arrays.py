"""Source of arrays that the source function reads from outside or makes at compile time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.frontend.abstract.array_recipes import literal
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.program import Program


def constant_texts(program: Program) -> dict[Value, str]:
    """Returns the source of arrays that the source function makes at compile time, by their
    parameters.
    """
    return {param: each.text for param, each in program.outside() if each.text is not None}


def all_constants(program: Program) -> tuple[dict[Value, str], dict[str, np.ndarray]]:
    """Returns the source of all outside arrays but Parameters, with the values that they have now.

    An array too large for source is read from the ``.npz`` beside the module. The second result
    holds these arrays by the names under which the module reads them.
    """
    texts, stored = constant_texts(program), {}
    for param, each in program.outside():
        if param in texts or not _is_constant(each.source):
            continue
        array = getattr(each.source, "_data", each.source)
        text = literal(array)
        if text is None and array.dtype.kind in "biufc":
            name = next(n for n in _numbered(each.name or "array") if n not in stored)
            stored[name] = np.asarray(array)
            text = f'np.load(__file__.rpartition(".")[0] + ".npz")["{name}"]'
        if text is not None:
            texts[param] = text
    return texts, stored


def constant_arrays(program: Program) -> dict[Value, np.ndarray]:
    """Returns all outside arrays but Parameters, with the values that they have now."""
    return {
        param: np.asarray(getattr(each.source, "_data", each.source))
        for param, each in program.outside()
        if _is_constant(each.source)
    }


def _is_constant(source: Any) -> bool:
    """True for an array or a Tensor that is no Parameter."""
    return isinstance(source, (np.ndarray, np.generic)) or (
        isinstance(source, Tensor) and not isinstance(source, Parameter)
    )


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{n}" for n in itertools.count(1))


__all__ = ["all_constants", "constant_arrays", "constant_texts"]
