"""Arrays and NumPy scalars: whether a value is one or the other.

NumPy returns a scalar where a result has no axes. ``y += 1`` writes to an array, and every name of
the array sees it. If ``y`` is a scalar, it binds the name ``y`` alone. Where the number of axes is
not known, or differs between paths, both may happen.
"""

from __future__ import annotations

from autodiff_compiler.errors import DTypeError
from autodiff_compiler.frontend.abstract.values import leaves
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import ArrayType


def is_surely_array(low: Lowering, value: Value) -> bool:
    """True if ``value`` is an array of plain NumPy code on every path."""
    is_in_numpy = low.compilation.numpy and isinstance(value.type, ArrayType)
    return is_in_numpy and low.compilation.aliases.is_array(value) is True


def refuse_array_or_scalar(low: Lowering, value: Value) -> None:
    """Refuses a write to a value that may be a scalar, if another name would see it."""
    if low.compilation.aliases.is_array(value) is not None or not _is_shared(low, value):
        return
    raise low.fail(
        DTypeError,
        "this writes in place to an array without axes on some paths, and to a NumPy scalar on "
        "others; a NumPy scalar cannot be written to; another variable shares the value",
        "make a new value: y = y + 1; or make it an array first: y = np.atleast_1d(y)",
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


__all__ = ["is_surely_array", "refuse_array_or_scalar"]
