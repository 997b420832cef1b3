"""Arrays and NumPy scalars: whether a value is one or the other.

NumPy returns a scalar where a result has no axes. ``y += 1`` writes to an array, and every name of
the array sees it. If ``y`` is a scalar, it binds the name ``y`` alone. Where the number of axes is
not known, or differs between paths, both may happen.
"""

from __future__ import annotations

from typing import Any

from autodiff_compiler.errors import DTypeError
from autodiff_compiler.frontend.abstract.values import leaves
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.ir.nodes import Op, Value
from autodiff_compiler.ir.types import ArrayType

#: Operators whose results are arrays, also without axes.
_ARRAY_MAKERS = frozenset(("full", "empty", "full_like", "reshape", "broadcast_to"))
#: Operators whose results have at least one axis.
_WITH_AXES = frozenset(("concat", "stack", "stack_rows", "arange", "tile", "list_rows"))


def is_array_or_scalar(low: Lowering, value: Value) -> bool | None:
    """True if ``value`` is an array, False if it is a scalar, None if that is not known."""
    assert isinstance(value.type, ArrayType), value
    ndim = value.type.ndim
    if ndim == 0:
        return low.compilation.aliases.is_array(value)
    arrays = low.compilation.aliases.arrays
    if ndim is not None or value in arrays or value in low.compilation.arguments:
        return True
    maker = low.builder.producer(value)
    if maker is not None and maker.name in _ARRAY_MAKERS:
        return True
    if maker is not None and maker.name == "if":
        kinds = {_kind_of_yield(low, each) for each in _yields(maker, value)}
        return kinds.pop() if len(kinds) == 1 else None
    return True if _has_axes(low, value) else None


def is_surely_array(low: Lowering, value: Value) -> bool:
    """True if ``value`` is an array of plain NumPy code on every path."""
    is_array = low.compilation.numpy and isinstance(value.type, ArrayType)
    return is_array and is_array_or_scalar(low, value) is True


def refuse_array_or_scalar(low: Lowering, value: Value) -> None:
    """Refuses a write to a value that may be a scalar, if another name would see it."""
    if is_array_or_scalar(low, value) is not None or not _is_shared(low, value):
        return
    raise low.fail(
        DTypeError,
        "this writes in place to an array without axes on some paths, and to a NumPy scalar, "
        "which cannot be written to, on others; another variable shares the value",
        "make a new value: y = y + 1; or make it an array first: y = np.atleast_1d(y)",
    )


def _kind_of_yield(low: Lowering, value: Any) -> bool | None:
    is_array = isinstance(value, Value) and isinstance(value.type, ArrayType)
    return is_array_or_scalar(low, value) if is_array else False


def _yields(branches: Op, result: Value) -> list[Any]:
    place = branches.results.index(result)
    return [region.yields[place] for region in branches.regions]


def _has_axes(low: Lowering, value: Any) -> bool:
    """True if an array surely has axes."""
    type_ = value.type if isinstance(value, Value) else None
    if not isinstance(type_, ArrayType):
        return False
    if type_.ndim is not None:
        return type_.ndim > 0
    maker = low.builder.producer(value)
    if maker is None:
        return False
    if maker.name == "if":
        return all(_has_axes(low, each) for each in _yields(maker, value))
    if maker.name in _WITH_AXES:
        return True
    keeps = maker.opdef.kind == "elementwise" or maker.opdef.batch == "elements"
    return (keeps or maker.attrs.get("keepdims") is True) and any(
        _has_axes(low, operand) for operand in maker.operands
    )


def _is_shared(low: Lowering, value: Value) -> bool:
    """True if the memory of ``value`` is the caller's, or has several names here."""
    aliases = low.compilation.aliases
    memory = aliases.of(value)
    if not memory.isdisjoint(low.caller_values):
        return True
    frames = (frame.names for frame in low.waiting_frames)
    named = [
        leaf
        for things in (low.state.names.values(), low.state.heap.values(), *map(dict.values, frames))
        for leaf in leaves(tuple(things))
        if not memory.isdisjoint(aliases.of(leaf))
    ]
    return len(named) > 1


__all__ = ["is_array_or_scalar", "is_surely_array", "refuse_array_or_scalar"]
