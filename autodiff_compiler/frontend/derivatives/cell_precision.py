"""Cells that compute in another precision than their Parameters have: ``Cell.to_float``.

Floating tensors are cast where they come in: the arguments of such a Cell, and what its functions
read from outside. Results have the dtype that follows, and a cast of the user's own stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.hooks import TO_FLOAT
from autodiff_compiler.errors import DTypeError
from autodiff_compiler.frontend.abstract.values import HeapRef, leaves, rebuild
from autodiff_compiler.frontend.core.handlers import Handler
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core import structure


def in_cell_precision(
    low: Lowering, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any], enter: Handler
) -> Any:
    """Enters a callee; a Cell has its own precision, a function that of its caller."""
    if not isinstance(callee, Cell):
        return enter(low, callee, args, kwargs)
    around, low.compilation.precision = low.compilation.precision, _precision_of(callee)
    try:
        if low.compilation.precision is not None:
            args = [_narrowed(low, arg) for arg in args]
            kwargs = {name: _narrowed(low, arg) for name, arg in kwargs.items()}
        return enter(low, callee, args, kwargs)
    finally:
        low.compilation.precision = around


def cast_to_cell_precision(low: Lowering, thing: Any, lifted: Any) -> Any:
    """Returns ``lifted``, the value of an outside array, in the precision of the present Cell.

    A Parameter that is written is not cast: a moving average would not move by less than its last
    digit."""
    if lifted is thing or not isinstance(lifted, Value) or low.heap_object_of(thing) is not None:
        return lifted
    cast = _cast(low, lifted)
    if cast is not lifted:
        low.compilation.uncast[cast] = lifted
    return cast


def _narrowed(low: Lowering, arg: Any) -> Any:
    """Returns an argument with its floating tensors cast; a list with such tensors becomes a new
    one."""
    if isinstance(arg, HeapRef) and arg.kind == "list" and isinstance(low.state.heap[arg], tuple):
        items = [_narrowed(low, item) for item in low.state.heap[arg]]
        return arg if tuple(items) == low.state.heap[arg] else low.new_list(items)
    return rebuild(arg, (_cast(low, leaf) for leaf in leaves(arg)))


def _cast(low: Lowering, value: Any) -> Any:
    if not isinstance(value, Value) or not isinstance(value.type, ArrayType):
        return value
    if value.type.dtype is None:
        raise low.fail(
            DTypeError,
            f"to_float({low.compilation.precision}) casts '{value.name}' only if its dtype "
            "is a float, and the dtype is not known",
            "give a dtype in the signature, such as f32[...]",
        )
    if "float" not in value.type.dtype or value.type.dtype == low.compilation.precision:
        return value
    return structure.cast(value, dtype=low.compilation.precision)


def _precision_of(cell: Cell) -> str | None:
    """Returns the dtype that ``to_float`` gave a Cell; its hooks are guarded."""
    return next((hook.function for hook in cell._hooks if hook.kind == TO_FLOAT), None)
