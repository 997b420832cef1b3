"""Eager indexing of a Tensor: ``x[i]`` and ``x[i] = v``.

NumPy's rules hold. Indices that MindSpore refuses are refused in its words.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Iterator
from typing import Any

import numpy as np

from autodiff_compiler.common.tensor_data import as_plain_data, cast, to_array


def read(array: np.ndarray, index: Any) -> np.ndarray:
    """Returns a new array of the elements that ``index`` selects.

    >>> read(np.array([[1, 2, 3], [4, 5, 6]]), (slice(None), [0, -1])).tolist()
    [[1, 3], [4, 6]]
    """
    if array.ndim == 0 and isinstance(index, int) and not isinstance(index, bool):
        raise TypeError("Cannot iterate over a scalar tensor.")
    parts = _parts(index)
    _check(array.shape, parts, "index {index} is out of bounds for dimension with size {size}")
    return np.array(array[parts])


def write(array: np.ndarray, index: Any, value: Any) -> None:
    """Writes ``value``, cast and broadcast, to the elements that ``index`` selects."""
    is_number = isinstance(value, (bool, int, float, complex, np.generic, list, tuple))
    if not is_number and not hasattr(value, "asnumpy"):
        raise TypeError(
            "only support numbers, Tensor, tuple, list as value, but got "
            f"{value} with type {type(value)}."
        )
    parts = _parts(index)
    _check(array.shape, parts, "Index {index} is out of bounds for axis {axis} with size {size}")
    new = to_array(value)
    if isinstance(value, (float, list, tuple)):
        new = np.array(
            as_plain_data(value)
        )  # without float32 in between: the target may be float64
    new = cast(new, array.dtype.name)
    try:
        array[parts] = new
    except ValueError:
        shape = array[parts].shape
        raise ValueError(
            f"For 'BroadcastTo', a value of shape {new.shape} cannot be broadcast to the "
            f"shape {shape} that it is assigned to."
        ) from None


def _parts(index: Any) -> tuple:
    """Returns an index as a tuple of parts that NumPy accepts."""
    return tuple(map(_part, index)) if isinstance(index, tuple) else (_part(index),)


def _part(index: Any) -> Any:
    if index is None or index is Ellipsis or isinstance(index, (slice, bool, int)):
        return index
    if isinstance(index, (np.integer, np.bool_)):
        return index.item()
    if isinstance(index, (list, tuple)):
        picked = to_array(index) if len(index) else np.zeros(0, np.int64)
    elif hasattr(index, "asnumpy"):
        picked = index.asnumpy()
    else:
        raise IndexError(
            "a Tensor index is made of int, slice, Ellipsis, None, bool, list and int or bool "
            f"Tensor, but got {index} with type {type(index)}."
        )
    if picked.dtype.kind not in "iub":
        raise IndexError(f"The tensor index must be int or bool type, but got {picked}")
    return picked


def _check(shape: tuple[int, ...], parts: tuple, text: str) -> None:
    """Raises MindSpore's errors for an index out of bounds, before NumPy raises its own."""
    taken = sum(_axes_taken(part) for part in parts)
    if taken > len(shape):
        raise IndexError(f"too many indices for tensor of dimension{len(shape)}")
    for part, axis in _located(parts, len(shape) - taken):
        size = shape[axis] if axis < len(shape) else 0
        if isinstance(part, int) and not -size <= part < size:
            raise IndexError(text.format(index=part, axis=axis, size=size))
        if isinstance(part, np.ndarray) and part.dtype.kind in "iu":
            outside = part[(part < -size) | (part >= size)]
            if outside.size:
                raise RuntimeError(
                    f"For 'Gather', the index {outside.flat[0]} is out of bounds for axis {axis} "
                    f"with size {size}."
                )


def _located(parts: tuple, skipped: int) -> Iterator[tuple[Any, int]]:
    """Yields each part with the first axis that it takes; an Ellipsis takes ``skipped`` axes."""
    axis = 0
    for part in parts:
        if _axes_taken(part) and not isinstance(part, slice):
            yield part, axis
        axis += skipped if part is Ellipsis else _axes_taken(part)


def _axes_taken(part: Any) -> int:
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    if isinstance(part, np.ndarray) and part.dtype.kind == "b":
        return part.ndim
    return 1
