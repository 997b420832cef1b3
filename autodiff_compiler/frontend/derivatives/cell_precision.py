"""Cells that compute in another precision than their Parameters are kept in: ``Cell.to_float``.

Floating tensors are cast where they come in: the arguments of such a Cell, and what its text reads
from outside. What the text computes has the dtype that follows, and a cast of its own stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.hooks import TO_FLOAT
from autodiff_compiler.errors import DTypeError
from autodiff_compiler.frontend.abstract.values import HeapRef, leaves, rebuild
from autodiff_compiler.frontend.derivatives.hooks import Hooks
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core import structure


class Precision(Hooks):
    """Adds casts to ``Hooks``."""

    def enter(self, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """As ``Hooks.enter``; a Cell has its own precision, a function that of its caller."""
        if not isinstance(callee, Cell):
            return super().enter(callee, args, kwargs)
        around, self.world.precision = self.world.precision, _precision_of(callee)
        try:
            if self.world.precision is not None:
                args = [self._narrowed(arg) for arg in args]
                kwargs = {name: self._narrowed(arg) for name, arg in kwargs.items()}
            return super().enter(callee, args, kwargs)
        finally:
            self.world.precision = around

    def lifted(self, thing: Any) -> Any:
        """As ``Expressions.lifted``, in the present precision. A Parameter that the text writes is
        not cast: a moving average would not move by less than its last digit."""
        found = super().lifted(thing)
        if self.world.precision is None or found is thing or not isinstance(found, Value):
            return found
        if self.world.cell_of(self.state.heap, thing) is not None:
            return found
        cast = self._cast(found)
        if cast is not found:
            self.world.uncast[cast] = found
        return cast

    def _narrowed(self, arg: Any) -> Any:
        """An argument with its floating tensors cast; a list with such tensors is a new one."""
        if (
            isinstance(arg, HeapRef)
            and arg.kind == "list"
            and isinstance(self.state.heap[arg], tuple)
        ):
            items = [self._narrowed(item) for item in self.state.heap[arg]]
            return arg if tuple(items) == self.state.heap[arg] else self.new_list(items)
        return rebuild(arg, (self._cast(leaf) for leaf in leaves(arg)))

    def _cast(self, value: Any) -> Any:
        if not isinstance(value, Value) or not isinstance(value.type, ArrayType):
            return value
        if value.type.dtype is None:
            raise self.fail(
                DTypeError,
                f"to_float({self.world.precision}) casts '{value.name}' only if its dtype "
                "is a float, and the dtype is not known",
                "give a dtype in the signature, such as f32[...]",
            )
        if "float" not in value.type.dtype or value.type.dtype == self.world.precision:
            return value
        return structure.cast(value, dtype=self.world.precision)


def _precision_of(cell: Cell) -> str | None:
    """The dtype that ``to_float`` gave a Cell; its hooks are guarded."""
    return next((hook.function for hook in cell._hooks if hook.kind == TO_FLOAT), None)
