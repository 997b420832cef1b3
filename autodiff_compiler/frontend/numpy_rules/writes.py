"""NumPy's functions and methods that write to an array: ``np.copyto(y, x)``, ``y.fill(0.0)``.

``WRITERS`` and ``WRITING_METHODS`` map each of them to a function that returns the new value of the
array. It has NumPy's parameters, and takes run-time values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_compiler import numpy as ours
from autodiff_compiler import ops
from autodiff_compiler.common.tensor import tensor
from autodiff_compiler.errors import DTypeError, UnsupportedSyntax
from autodiff_compiler.frontend.abstract.values import HeapRef
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.core.python_values import python_containers
from autodiff_compiler.frontend.numpy_rules.copies_and_views import is_array
from autodiff_compiler.frontend.objects.array_updates import replace_array
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core import structure
from autodiff_compiler.operators.indexing import indexing
from autodiff_compiler.ops.core.shape_queries import dtype_of, known_sizes, rank_of
from autodiff_compiler.ops.functions.gather_scatter import item_at


def _copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> Any:
    src = as_array(src)
    have, want = dtype_of(src), dtype_of(dst)
    if isinstance(src, Value) and have and want and not np.can_cast(have, want, casting):
        raise DTypeError(
            f"NumPy does not cast {have} to {want}, the dtype of the array that is written to",
            "cast the value first: value.astype(y.dtype)",
        )
    if where is not True:
        src = structure.cast(ops.where(as_array(where), src, dst), dtype=want)
    return indexing.set_item(dst, src, index=("...",))


def _put(a: Any, ind: Any, v: Any, mode: str = "raise") -> Any:
    if mode != "raise":
        raise TypeError(f"np.put with mode={mode!r} is not supported; use mode='raise'")
    places = _row(ind)
    count = known_sizes(places, "put")[0]
    row = ops.reshape(a, (-1,))
    return _in_shape(indexing.set_item(row, _cycled(v, count), places, index=(("op", 0),)), a)


def _place(arr: Any, mask: Any, vals: Any) -> Any:
    row, chosen = _row(vals), ops.reshape(as_array(mask), (-1,))
    count = known_sizes(row, "place")[0]
    number = ours.cumsum(structure.cast(chosen, dtype="int64")) - 1
    values = item_at(row, ours.maximum(number, 0) % count)
    return _in_shape(_where(chosen, values, ops.reshape(arr, (-1,)), arr), arr)


def _putmask(a: Any, mask: Any, values: Any) -> Any:
    chosen, size = ops.reshape(as_array(mask), (-1,)), math.prod(known_sizes(a, "putmask"))
    return _in_shape(_where(chosen, _cycled(values, size), ops.reshape(a, (-1,)), a), a)


def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> Any:
    sizes = known_sizes(a, "fill_diagonal")
    if len(sizes) < 2:
        raise ValueError("array must be at least 2-d")
    if len(sizes) == 2:
        step, end = sizes[1] + 1, None if wrap else sizes[1] * sizes[1]
    else:
        if len(set(sizes)) > 1:
            raise ValueError("All dimensions of input must be of equal length")
        step, end = 1 + sum(sizes[0] ** power for power in range(1, len(sizes))), None
    places = range(math.prod(sizes))[:end:step]
    row = ops.reshape(a, (-1,))
    index = (("slice", None, end, step),)
    return _in_shape(indexing.set_item(row, _cycled(val, len(places)), index=index), a)


def _put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> Any:
    indices, shape = as_array(indices), arr
    if axis is None:
        arr, axis = ops.reshape(arr, (-1,)), 0
    sizes = known_sizes(indices, "put_along_axis")
    axis %= len(sizes)
    places = [
        tensor(np.arange(size).reshape([-1 if k == place else 1 for k in range(len(sizes))]))
        for place, size in enumerate(known_sizes(arr, "put_along_axis"))
    ]
    places[axis] = indices
    index = tuple(("op", place) for place in range(len(places)))
    return _in_shape(indexing.set_item(arr, as_array(values), *places, index=index), shape)


def _fill(a: Any, value: Any) -> Any:
    if rank_of(as_array(value)) not in (0, None):
        raise TypeError("fill() takes a single number")
    return indexing.set_item(a, value, index=("...",))


def _sort(a: Any, axis: int = -1, kind: Any = None, *, stable: Any = None) -> Any:
    return ours.sort(a, axis)


WRITERS: dict[Any, Callable[..., Any]] = {
    np.copyto: _copyto,
    np.fill_diagonal: _fill_diagonal,
    np.place: _place,
    np.put: _put,
    np.put_along_axis: _put_along_axis,
    np.putmask: _putmask,
}
WRITING_METHODS: dict[str, Callable[..., Any]] = {"fill": _fill, "put": _put, "sort": _sort}
#: Methods that NumPy's scalars have, too. There they write to a copy, and nothing changes.
OF_SCALARS = frozenset({"fill", "put"})


def write_by(
    low: Lowering,
    name: str,
    new_value: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> None:
    """Writes to an array by one of NumPy's functions, which return None."""
    owner = next(iter((*args, *kwargs.values())), None)
    owner = low.lifted(owner)
    if not isinstance(owner, Value) or not isinstance(owner.type, ArrayType):
        raise low.fail(
            UnsupportedSyntax,
            f"'{name}' writes in place to a {low.described(owner)}, which is not an array",
            "pass an array that the function itself made",
        )

    def run(*given: Any, **named: Any) -> Any:
        return new_value(*given, **named)

    run.__name__ = name
    written = low.macro(run, args, kwargs)
    stands = low.compilation.aliases.is_array(owner)
    if stands is True:
        replace_array(low, owner, written)
    elif stands is None or name not in OF_SCALARS:
        what = "a NumPy scalar on some paths" if stands is None else "a NumPy scalar"
        raise low.fail(
            DTypeError,
            f"'{name}' cannot write to {what}: only an array can be written to",
            "make it an array first: np.array(y)",
        )


def as_array(thing: Any) -> Any:
    """Returns a list as an array; other values as they are."""
    if isinstance(thing, (list, tuple)):
        known = np.array(thing) if not _holds_values(thing) else None
        return ours.array(thing) if known is None else tensor(known)
    return thing


def beside_arrays(low: Lowering, sign: str, left: Any, right: Any) -> tuple[Any, Any]:
    """Returns the operands of an operator of plain NumPy code. A list or tuple beside an array
    becomes an array. A sequence times a scalar is repeated, or an error, and stays a sequence."""
    pair = [left, right]
    for place, (array, other) in enumerate(((right, left), (left, right))):
        is_list = (
            isinstance(other, HeapRef) and other.kind == "list" or type(other) in (tuple, list)
        )
        if not is_array(array) or not is_list:
            continue
        if sign != "Mult" or array.type.ndim or low.compilation.aliases.is_array(array):
            pair[place] = low.lifted(as_array(python_containers(low, other)))
    return pair[0], pair[1]


def _holds_values(thing: Any) -> bool:
    return any(
        _holds_values(item) if isinstance(item, (list, tuple)) else isinstance(item, Value)
        for item in thing
    )


def _row(thing: Any) -> Any:
    """Returns all elements in one row. A number becomes a row of one."""
    thing = as_array(thing)
    if isinstance(thing, (bool, int, float, complex)):
        return tensor(np.array([thing]))
    return ops.reshape(thing, (-1,))


def _cycled(values: Any, count: int) -> Any:
    """Returns ``count`` elements of ``values``, repeated cyclically."""
    values = as_array(values)
    if rank_of(values) == 0 or isinstance(values, (bool, int, float, complex)):
        return values
    row = ops.reshape(values, (-1,))
    (size,) = known_sizes(row, "put")
    return row if size == count else item_at(row, tensor(np.arange(count) % size))


def _where(chosen: Any, values: Any, row: Any, like: Any) -> Any:
    return structure.cast(ops.where(chosen, values, row), dtype=dtype_of(like))


def _in_shape(row: Any, like: Any) -> Any:
    return structure.reshape_like(row, like)
