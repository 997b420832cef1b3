"""Subscripts: items of containers and of tensors, by positions known now or at run time only."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from typing import Any

import numpy as np

from autodiff_compiler import numpy
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import CompileError, DTypeError, ShapeError
from autodiff_compiler.frontend.abstract import runtime_lists
from autodiff_compiler.frontend.abstract.iterators import is_iterator
from autodiff_compiler.frontend.abstract.values import (
    DictView,
    HeapRef,
    LazyIterable,
    ObjectDict,
    RuntimeRange,
)
from autodiff_compiler.frontend.core.dependencies import parameters_behind
from autodiff_compiler.frontend.core.error_translation import missing_item
from autodiff_compiler.frontend.core.guards import MISSING
from autodiff_compiler.frontend.core.lowering import Lowering, refuse_foreign
from autodiff_compiler.frontend.core.python_values import python_containers
from autodiff_compiler.frontend.numpy_rules.copies_and_views import index_without_axes
from autodiff_compiler.frontend.objects import outside_items
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import BOOL, INT, SHAPE, ArrayType, DictType, ListType, TupleType
from autodiff_compiler.operators.core import containers, effects, scalar_conversion
from autodiff_compiler.operators.core.declare import without_rank
from autodiff_compiler.operators.elementwise import comparisons
from autodiff_compiler.operators.indexing import indexing


def evaluate_slice(low: Lowering, node: Any) -> Any:
    parts = (node.lower, node.upper, node.step)
    return slice(*(None if part is None else low.evaluate(part) for part in parts))


def evaluate_subscript(low: Lowering, node: Any) -> Any:
    return subscript(low, low.evaluate(node.value), low.evaluate(node.slice))


def subscript(low: Lowering, owner: Any, key: Any) -> Any:
    """Returns ``owner[key]``."""
    if isinstance(owner, Value):
        return _value_item(low, owner, key)
    refuse_foreign(low, owner, installed=True)
    method = low.special(owner, "__getitem__")
    if method is not None:
        return low.call(method, (key,), {})
    if isinstance(owner, (dict, ObjectDict)) and not isinstance(key, slice):
        written = outside_items.read_item(low, owner, low.static(key, "an index into a dict"))
        if written is not MISSING:
            return low.lifted(written)
    container = low.state.heap[owner] if isinstance(owner, HeapRef) else owner
    if isinstance(container, RuntimeRange):
        container = low.sequence(container)
    if isinstance(owner, (DictView, LazyIterable)) or is_iterator(owner):
        what = "an iterator" if not isinstance(owner, DictView) else f"the {owner.kind}() of a dict"
        raise low.fail(
            DTypeError, f"{what} cannot be indexed", "make it a list first: list(items)"
        ).meaning(TypeError(f"{what} is not subscriptable"))
    if needs_runtime_list(low, container, key):
        long = runtime_lists.as_runtime_list(low, map(low.lifted, container))
        if long is not None:
            return runtime_lists.read_item(low, long, key)
    if not isinstance(container, Value):
        return _known_item(low, owner, container, key)
    if isinstance(key, slice):
        return low.allocate("list", runtime_lists.slice_of(low, container, key))
    return runtime_lists.read_item(low, container, key)


def _known_item(low: Lowering, owner: Any, container: Any, key: Any) -> Any:
    """Returns an item or slice of a container whose items are known now. ``owner`` is the container
    itself, or the heap object that holds it."""
    if isinstance(key, slice):
        key = slice(*(low.static(part, "a bound") for part in (key.start, key.stop, key.step)))
    key = low.static(key, "an index into a list, tuple or dict")
    try:
        if not isinstance(owner, HeapRef):
            return low.lifted(low.compilation.item(container, key))
        item = container[key]
    except IndexError as error:
        named = IndexError("list index out of range") if isinstance(owner, HeapRef) else error
        raise missing_item(low, container, key, named) from None
    except (LookupError, TypeError) as error:
        raise missing_item(low, container, key, error) from None
    return low.new_list(item) if isinstance(key, slice) else item


def needs_runtime_list(low: Lowering, container: Any, key: Any) -> bool:
    """True if the items are known and the position is not. The index of a short loop counts as
    known: the loop will be unrolled."""
    is_dynamic = isinstance(container, (tuple, list)) and isinstance(key, Value)
    return is_dynamic and not parameters_behind(low, key) <= low.unrollable_indices


def _value_item(low: Lowering, owner: Value, key: Any) -> Any:
    if isinstance(owner.type, (TupleType, DictType)):
        return containers.item(owner, key=low.static(key, "an index into a tuple"))
    if isinstance(owner.type, ListType):
        return runtime_lists.read_item(low, owner, key)
    if owner.type == SHAPE:
        if isinstance(key, slice):
            raise without_rank()
        return scalar_conversion.shape_item(owner, at=low.static(key, "an axis"))
    rest, index = encode_index(low, key)
    if low.compilation.numpy and owner.ndim == 0 and index in (("...",), ()):
        return index_without_axes(low, owner, index == ("...",))
    with ExitStack() as tested:
        for at, axis in _run_time_positions(key):
            tested.enter_context(_in_bounds(low, owner, at, axis))
        try:
            item = indexing.index(owner, *rest, index=index)
        except ShapeError as error:
            raise _with_numpys_message(error, owner, key) from None
        if rest:
            runtime_lists.require_item(low, item)
        return item


def _run_time_positions(key: Any) -> list[tuple[Value, int]]:
    """Returns the run-time integers of a subscript, with their axes. Returns none where one of them
    is in a slice, or where an axis is not known."""
    parts = key if isinstance(key, tuple) else (key,)
    known = (Value, slice, int)
    if not all(isinstance(part, known) and type(part) is not bool for part in parts):
        return []
    slices = [part for part in parts if isinstance(part, slice)]
    if any(isinstance(end, Value) for s in slices for end in (s.start, s.stop, s.step)):
        return []
    positions = [(part, axis) for axis, part in enumerate(parts) if isinstance(part, Value)]
    return positions if all(_is_integer(part) for part, _ in positions) else []


def _is_integer(value: Value) -> bool:
    """True for a number, or an array without axes, of an integer dtype."""
    has_no_axes = getattr(value.type, "shape", None) == ()
    return value.type == INT or has_no_axes and "int" in str(value.dtype_name)


def _in_bounds(low: Lowering, owner: Value, at: Value, axis: int) -> AbstractContextManager[None]:
    """Enters a block that reads an array at a position. Raises IndexError where it is outside."""

    def size() -> Any:
        shape = low.shape(owner)
        return (
            scalar_conversion.shape_item(shape, at=axis)
            if isinstance(shape, Value)
            else shape[axis]
        )

    def outside() -> Any:
        above = comparisons.greater_equal(at, size())
        return comparisons.logical_or(above, comparisons.less(at + size(), 0))

    def text() -> Any:
        pattern = f"index {{}} is out of bounds for axis {axis} with size {{}}"
        return effects.text(at, size(), pattern=pattern, sign="format")

    return low.may_raise(IndexError, outside, text)


def encode_index(low: Lowering, key: Any) -> tuple[list[Value], tuple[Any, ...]]:
    """Returns a subscript for ``indexing.index``: its run-time parts, and the pattern of all."""
    rest: list[Value] = []

    def code(part: Any) -> Any:
        if isinstance(part, Value):
            if not (part.type in (INT, BOOL) or isinstance(part.type, ArrayType)):
                raise low.fail(DTypeError, f"an index cannot be of type {part.type}")
            rest.append(part)
            return ("op", len(rest) - 1)
        if isinstance(part, slice):
            return ("slice", code(part.start), code(part.stop), code(part.step))
        if part is Ellipsis:
            return "..."
        if isinstance(part, (HeapRef, tuple, list)):
            return code(_positions(low, part))
        if isinstance(part, (np.integer, np.bool_)):
            part = part.item()
        if part is None or isinstance(part, (bool, int)):
            return part
        raise low.fail(
            DTypeError,
            f"an index cannot be of type {type(part).__name__}",
            "use ints, slices, None, '...', or Tensors of ints or bools",
        )

    parts = key if isinstance(key, tuple) else (key,)
    return rest, tuple(code(part) for part in parts)


def _positions(low: Lowering, listed: Any) -> Value:
    """Returns a list of positions or bools, known or not, as an array."""
    nested = python_containers(low, listed)
    if not _holds_value(nested):
        try:
            constant = np.array(nested)
        except ValueError as error:
            raise low.translate(error, "this index is not supported") from None
        return low.lift(Tensor(constant if constant.size else constant.astype(np.int64)))
    stacked: Value = low.macro(numpy.array, [nested], {})
    return stacked


def _holds_value(thing: Any) -> bool:
    """True if nested lists hold a run-time value."""
    if isinstance(thing, (list, tuple)):
        return any(map(_holds_value, thing))
    return isinstance(thing, Value)


def _with_numpys_message(error: ShapeError, owner: Value, key: Any) -> CompileError:
    """Returns ``error`` with the message of NumPy, where shape and subscript are known."""
    shape = getattr(owner.type, "shape", None)
    if shape is not None and all(isinstance(dim, int) for dim in shape):
        try:
            np.broadcast_to(0, shape)[key]
        except IndexError as meant:
            return error.meaning(meant)
        except Exception:
            return error
    return error
