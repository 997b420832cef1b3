"""Assignments to items: of lists and dicts of the heap, and of arrays, under all their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import DTypeError, UnsupportedSyntax
from autodiff_compiler.frontend.abstract import numpy_views, runtime_lists
from autodiff_compiler.frontend.abstract.values import HeapRef
from autodiff_compiler.frontend.core.error_translation import missing_item
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.expressions.subscripts import encode_index, needs_runtime_list
from autodiff_compiler.frontend.objects import outside_items
from autodiff_compiler.frontend.objects.array_updates import (
    refuse_write,
    replace_array,
    replace_everywhere,
)
from autodiff_compiler.frontend.objects.outside_writes import parameter_behind, store_parameter
from autodiff_compiler.ir.nodes import Value, array_type, type_of
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core import structure
from autodiff_compiler.operators.elementwise import arithmetic
from autodiff_compiler.operators.indexing import indexing, scatter_reduce
from autodiff_compiler.operators.indexing.concat_and_pad import stack

#: The updates of ``ufunc.at``.
_AT = {
    np.add: indexing.add_at,
    np.subtract: indexing.add_at,
    np.multiply: scatter_reduce.multiply_at,
    np.maximum: scatter_reduce.maximum_at,
    np.minimum: scatter_reduce.minimum_at,
}
#: And what it computes at a place that is surely named once.
_ONCE = {
    np.multiply: arithmetic.mul,
    np.maximum: arithmetic.maximum,
    np.minimum: arithmetic.minimum,
}


def assign_item(low: Lowering, owner: Any, key: Any, value: Any) -> None:
    """Assigns ``owner[key] = value``."""
    method = low.special(owner, "__setitem__")
    if method is not None:
        low.call(method, (key, value), {})
        return
    if outside_items.store_item(low, owner, key, value):
        return
    if isinstance(owner, HeapRef) and _assign_in_long_list(low, owner, key, value):
        return
    if isinstance(owner, HeapRef):
        if isinstance(key, slice):
            ends = (key.start, key.stop, key.step)
            key = slice(*(low.static(end, "a bound") for end in ends))
        key = low.static(key, "an index into a list or dict")
        contents = low.contents(owner)
        if not isinstance(contents, (dict, list, tuple)):
            raise low.fail(
                DTypeError,
                f"the items of a {low.described(owner)} cannot be set",
                "assign items of a list or dict",
            )
        changed = dict(contents) if isinstance(contents, dict) else list(contents)
        if isinstance(key, slice):
            value = low.sequence(value)
        try:
            changed[key] = value
        except (LookupError, TypeError, ValueError) as error:
            if isinstance(error, IndexError):
                raise missing_item(low, contents, key, error) from None
            raise low.translate(error, "assigning this item fails") from None
        low.state.heap[owner] = changed if isinstance(changed, dict) else tuple(changed)
    elif isinstance(owner, Value) and isinstance(owner.type, ArrayType):
        _assign_in_tensor(low, owner, key, value)
    else:
        raise low.fail(
            DTypeError,
            f"the items of a {low.described(owner)} cannot be set here",
            "assign items of a Tensor, or of a list or dict that the function itself made",
        )


def _assign_in_long_list(low: Lowering, owner: HeapRef, key: Any, value: Any) -> bool:
    """Assigns an item of a list of run-time length, or at a run-time position. True if it did."""
    contents = low.state.heap[owner]
    if needs_runtime_list(low, contents, key):
        contents = runtime_lists.as_runtime_list(low, contents)
    if not runtime_lists.is_runtime_list(contents) or isinstance(key, slice):
        low.contents(owner)
        return False
    low.state.heap[owner] = runtime_lists.set_item(low, contents, key, value)
    return True


def _assign_in_tensor(low: Lowering, owner: Value, key: Any, value: Any) -> None:
    """Assigns ``owner[key] = value``; the value is a tensor, a number or a list of these."""
    parameter = parameter_behind(low, owner)
    if parameter is None:
        refuse_write(low, owner)
    rest, index = encode_index(low, key)
    if isinstance(value, (HeapRef, tuple, list)):
        value = low.macro(_array_of, [value], {"dtype": array_type(owner).dtype})
    new = numpy_views.with_written(owner, low.lifted(value), rest, index)
    if rest:
        runtime_lists.require_item(low, new)
    if parameter is None:
        replace_everywhere(low, owner, new)
    else:
        store_parameter(low, parameter, new)


def update_at(low: Lowering, function: Any, owner: Any, key: Any, value: Any) -> None:
    """Updates items of an array in place, as ``np.add.at(owner, key, value)`` does."""
    if function not in _AT or not isinstance(owner, Value):
        raise low.fail(
            UnsupportedSyntax,
            f"np.{function.__name__}.at is not supported here",
            "use np.add.at, np.subtract.at, np.multiply.at, np.maximum.at or "
            "np.minimum.at, on an array that the function itself made",
        )
    rest, index = encode_index(low, key)
    value = -low.lifted(value) if function is np.subtract else low.lifted(value)
    once = _ONCE.get(function) if _is_part(owner, value, rest, index) else None
    if once is not None:
        item = indexing.index(owner, *rest, index=index)
        replace_array(low, owner, numpy_views.with_written(owner, once(item, value), rest, index))
    else:
        replace_array(low, owner, _AT[function](owner, value, *rest, index=index))


def _is_part(owner: Value, value: Any, rest: Sequence[Any], index: Any) -> bool:
    """True if an index of numbers and slices is written to in an array of floats."""
    types = [type_of(each) for each in rest]
    numbers = all(
        getattr(each, "ndim", 0) == 0 and getattr(each, "dtype", None) != "bool" for each in types
    )
    plain = not any(isinstance(part, bool) for part in index)
    real = getattr(type_of(value), "dtype", "float") or ""
    floats = "float" in (array_type(owner).dtype or "") and "complex" not in real
    return bool(index) and numbers and plain and floats and not isinstance(value, complex)


def _array_of(items: Sequence[Any], dtype: str | None) -> Any:
    """Returns the contents of a list as an array, in the dtype of the array that is written to."""
    parts = [_array_of(item, dtype) if isinstance(item, (list, tuple)) else item for item in items]
    if all(isinstance(part, (bool, int, float, complex)) for part in parts):
        return Tensor(np.array(parts, dtype))
    for part in parts:
        if not isinstance(part, (Value, Tensor, np.ndarray, np.number, bool, int, float, complex)):
            raise DTypeError(
                f"a list that contains {part!r} cannot be written to a tensor",
                "use a list of numbers and tensors",
            )
    arrays = [part if isinstance(part, Value) else Tensor(np.array(part)) for part in parts]
    return stack(*(structure.cast(array, dtype=dtype) for array in arrays), axis=0)
