"""Arguments and results of a batched call: the axes along which the examples lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.errors import CompileError, ShapeError
from autodiff_compiler.frontend.abstract.values import HeapRef, leaves, tuple_like
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.core.python_values import from_python
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import ArrayType, Dim
from autodiff_compiler.operators.core.structure import (
    broadcast_to,
    expand_dims,
    shape_argument,
    transpose,
)

#: An axis, None, or a tuple of these for the items of a container.
Axes = Any


def is_mapped(axes: Axes) -> bool:
    """True if any value under these axes differs from example to example."""
    return any(map(is_mapped, axes)) if isinstance(axes, tuple) else axes is not None


class Batch:
    """The arguments of one batched call."""

    def __init__(self, low: Lowering, axes: Sequence[Axes]):
        self.low = low
        self.lengths: list[tuple[Dim, Value]] = []
        if not is_mapped(tuple(axes)):
            raise self.refused(
                "in_axes is None for every argument, so no argument has a batch axis",
                "give the batch axis of at least one argument: in_axes=(0, None)",
            )

    def refused(self, cause: str, cure: str = "") -> CompileError:
        return self.low.fail(ShapeError, cause, cure)

    def each(self, value: Any, axes: Axes, change: Callable[[Any, Any], Any]) -> Any:
        """Returns ``value`` with ``change(leaf, axis)`` for each tensor in it."""
        if isinstance(value, HeapRef):
            value = self.low.contents(value)
        if isinstance(value, dict):
            return {key: self.each(item, axes, change) for key, item in value.items()}
        if isinstance(value, (tuple, list)):
            several = axes if isinstance(axes, tuple) else (axes,) * len(value)
            if len(several) != len(value):
                raise self.refused(f"{len(several)} axes are given for {len(value)} items")
            pairs = zip(value, several)
            return tuple_like(value, (self.each(part, axis, change) for part, axis in pairs))
        if isinstance(axes, tuple):
            raise self.refused(
                "a tuple of axes is given for an argument that is not a tuple, list or dict"
            )
        return change(value, axes)

    def moved(self, value: Any, axes: Axes) -> Any:
        """Returns ``value`` with the examples along the first axis of every batched tensor."""

        def first(leaf: Any, axis: int | None) -> Any:
            if axis is None:
                return leaf
            shape = self.shape(leaf)
            if not -len(shape) <= axis < len(shape):
                raise self.refused(
                    f"axis {axis} is out of bounds for an array of {len(shape)} dimensions",
                    f"use an axis from {-len(shape)} to {len(shape) - 1}, or None",
                )
            axis %= len(shape)
            rest = [place for place in range(len(shape)) if place != axis]
            leaf = transpose(leaf, perm=(axis, *rest)) if axis else leaf
            self.lengths.append((shape[axis], leaf))
            return leaf

        return self.each(value, axes, first)

    def shape(self, leaf: Any) -> tuple[Dim, ...]:
        if not isinstance(leaf, Value) or not isinstance(leaf.type, ArrayType):
            raise self.refused(
                f"a {self.low.described(leaf)} has no batch axis",
                "give None as its axis in in_axes: every example then uses the same value",
            )
        if leaf.type.shape is None:
            raise self.refused(
                "the number of axes of a batched argument must be known",
                "give its shape in the signature, such as f32[8,3]",
            )
        return leaf.type.shape

    def size(self) -> Dim:
        """Returns the number of examples, as far as it is known."""
        known = {size for size, _ in self.lengths if size is not None}
        if len(known) > 1:
            sizes = " and ".join(str(size) for size, _ in self.lengths)
            raise self.refused(
                f"the batch axes of the arguments have the sizes {sizes}",
                "make the sizes along the batch axes equal",
            )
        return known.pop() if known else None

    def example(self, value: Any, axes: Axes) -> Any:
        """Returns a stand-in for one example: values of the right types, which nothing computes."""

        def one(leaf: Any, axis: int | None) -> Any:
            if axis is None:
                return leaf
            return Value(
                ArrayType(leaf.type.dtype, leaf.type.shape[1:]), leaf.name, leaf.has_user_name
            )

        return self.each(value, axes, one)

    def batched(self, value: Any, axes: Axes) -> Any:
        """Returns ``value`` with every tensor made a batch, if any is one."""
        if not is_mapped(axes):
            return value
        _, like = self.lengths[0]
        shape, rest = shape_argument(like)

        def broadcast_leaf(leaf: Any, axis: int | None) -> Any:
            if axis is not None or not isinstance(leaf, Value):
                return leaf
            if rest:
                raise self.refused(
                    "a container holds batched tensors and unbatched ones, and the size "
                    "of the batch is not known",
                    "pass the batched and the unbatched tensors as separate arguments",
                )
            assert shape is not None
            return broadcast_to(expand_dims(leaf, axes=(0,)), shape=(shape[0], *self.shape(leaf)))

        return self.each(value, axes, broadcast_leaf)

    def with_out_axes(self, outcome: Any, axes: Axes) -> Any:
        """Returns the results with the examples along ``axes``."""

        def last(leaf: Any, axis: int | None) -> Any:
            if not isinstance(leaf, Value) or not isinstance(leaf.type, ArrayType):
                return leaf
            shape = self.shape(leaf)
            if axis is None or not -len(shape) <= axis < len(shape):
                raise self.refused(
                    f"out_axes is {axis} for a result of {len(shape)} dimensions",
                    f"use an axis from {-len(shape)} to {len(shape) - 1}",
                )
            axis %= len(shape)
            perm = (*range(1, axis + 1), 0, *range(axis + 1, len(shape)))
            return transpose(leaf, perm=perm) if axis else leaf

        if not any(True for _ in leaves(outcome)):
            return outcome
        return from_python(self.low, self.each(outcome, axes, last))
