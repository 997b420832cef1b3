"""``vmap``: maps a function of one example over a batch."""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable, Hashable, Sequence
from typing import Any, ParamSpec, TypeVar, overload

import numpy as np

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.ir.opdef import PRECISION
from autodiff_compiler.ops.transforms.nested_arguments import Flat, flattened, leaves_of, parts
from autodiff_compiler.ops.transforms.transformed import (
    Transformed,
    caller,
    takes_functions,
    unwrapped,
)

P = ParamSpec("P")
R = TypeVar("R")
Array = TypeVar("Array", bound=Tensor | np.ndarray)

#: For each argument the axis of its examples, or None if all share it. A container has one axis
#: for all its items, or is a container of axes.
Axes = Any


class BatchedFunction(Transformed[P, R]):
    """``fn`` mapped over a batch: called with batches, it returns a batch."""

    suffix, phrase = "batched", "batch of"

    def __init__(self, fn: Any, in_axes: Axes = 0, out_axes: Axes = 0):
        for name, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
            _check_axes(name, axes)
        self.fn, self.in_axes, self.out_axes = unwrapped(fn), _frozen(in_axes), _frozen(out_axes)
        self.double = PRECISION.double

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.fast_call is None and caller() is None:
            flat_call = flattened(self.fn, args, kwargs)
            if flat_call is not None:
                return self._of_leaves(*flat_call, args)
        return super().__call__(*args, **kwargs)

    def _of_leaves(self, flat: Flat, leaves: Sequence[Any], args: Sequence[Any]) -> Any:
        """Maps over the batch of a call whose arguments were flattened."""
        axes: list[Axes] = []
        for slot, axis in enumerate(self.axes_of(len(flat.skeletons))):
            if flat.is_leaf(slot):
                axes.append(axis)
            else:
                axes += _for_leaves(args[slot], axis)
        return BatchedFunction(flat, tuple(axes), self.out_axes)(*leaves)

    @property
    def key(self) -> Hashable:
        """Returns the settings that decide the code, besides ``fn`` and the arguments."""
        return self.in_axes, self.out_axes, self.double

    def axes_of(self, count: int) -> tuple[Axes, ...]:
        """Returns ``in_axes`` for each of ``count`` arguments."""
        if not isinstance(self.in_axes, tuple):
            return (self.in_axes,) * count
        if len(self.in_axes) != count:
            raise RuntimeError(
                f"The size of 'in_axes' should be {count}, the number of arguments, "
                f"but got {len(self.in_axes)}."
            )
        return self.in_axes


@overload
def vmap(
    fn: Callable[..., Array], in_axes: Axes = 0, out_axes: Axes = 0
) -> BatchedFunction[..., Array]: ...


@overload
def vmap(
    fn: Callable[..., Any], in_axes: Axes = 0, out_axes: Axes = 0
) -> BatchedFunction[..., Any]: ...


@takes_functions
def vmap(fn: Any, in_axes: Axes = 0, out_axes: Axes = 0) -> BatchedFunction[..., Any]:
    """Maps ``fn`` over a batch of arguments.

    in_axes    the axis of each argument along which the examples lie, None for one that they
               share; an int for all. In a container, as the container.
    out_axes   the axis of each output along which the results lie.

    Dtypes are those of ``fn`` for one example. Raises TypeError for an axis that is neither int nor
    None; the call raises RuntimeError where there are not as many ``in_axes`` as arguments.
    """
    return BatchedFunction(fn, in_axes, out_axes)


def _for_leaves(value: Any, axis: Axes) -> list[Axes]:
    """Returns an axis for each leaf of a container: one for all, or a row with one for each
    part."""
    row = [*parts(value)]
    if not row:
        return [axis] * len(leaves_of(value))
    if not isinstance(axis, tuple):
        return [axis] * len(leaves_of(value))
    if len(axis) != len(row):
        raise RuntimeError(
            f"The size of 'in_axes' for a {type(value).__name__} should be {len(row)}, the number "
            f"of its parts, but got {len(axis)}."
        )
    return [each for part, one in zip(row, axis) for each in _for_leaves(part, one)]


def _check_axes(name: str, axes: Axes) -> None:
    if isinstance(axes, (tuple, list)):
        for axis in axes:
            _check_axes(name, axis)
    elif axes is not None and (not isinstance(axes, int) or isinstance(axes, bool)):
        raise TypeError(
            f"The axis in vmap's '{name}' can only be int or None, but got {type(axes).__name__}."
        )


def _frozen(axes: Axes) -> Axes:
    return tuple(map(_frozen, axes)) if isinstance(axes, (tuple, list)) else axes


__all__ = ["BatchedFunction", "vmap"]
