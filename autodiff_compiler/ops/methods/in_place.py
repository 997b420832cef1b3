"""The methods of ``Tensor`` that change the tensor itself: ``x.add_(y)`` is ``x = x + y`` under
every name that holds ``x``.

The table ``IN_PLACE`` has the new value of the tensor; its dtype and shape stay. Eager code writes
to the array; in compiled code a new value replaces the old one.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable
from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.operators.core import structure
from autodiff_compiler.ops.core.shape_queries import dtype_of, shape_of
from autodiff_compiler.ops.functions import gather_scatter, random
from autodiff_compiler.ops.methods.table import METHODS


def add_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Returns ``self + alpha * other``."""
    return self + (other if alpha == 1 else other * alpha)


def sub_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Returns ``self - alpha * other``."""
    return self - (other if alpha == 1 else other * alpha)


def zero_(self: Any) -> Any:
    """Returns zeros."""
    return structure.full_like(self, value=0)


def fill_(self: Any, value: Any) -> Any:
    """Returns ``value`` in this shape: a number, or a Tensor of one element."""
    return structure.full_like(self, value=0) + value


def copy_(self: Any, src: Any) -> Any:
    """Returns the elements of ``src``, broadcast where it is smaller."""
    return structure.full_like(self, value=0) + src


def index_add_(self: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """Adds ``alpha * source`` to the slices that ``index`` names."""
    return METHODS["index_add"](self, dim, index, source, alpha=alpha)


IN_PLACE: dict[str, Callable[..., Any]] = {
    **{
        f"{name}_": METHODS[name]
        for name in ("clamp", "div", "exp", "floor", "mul", "sigmoid", "tanh")
    },
    "add_": add_,
    "copy_": copy_,
    "fill_": fill_,
    "index_add_": index_add_,
    "masked_fill_": METHODS["masked_fill"],
    "normal_": random.normal_like,
    "scatter_": gather_scatter.scatter,
    "scatter_add_": gather_scatter.scatter_add_elements,
    "sub_": sub_,
    "uniform_": random.uniform_like,
    "zero_": zero_,
}


def as_before(self: Any, new: Any) -> Any:
    """Returns the new content of a tensor, cast to its dtype and shape."""
    before, after = shape_of(self), shape_of(new)
    is_unknown = after is None or None in after
    if is_unknown and before is not None and None not in before:
        new = structure.reshape(new, shape=before)
    elif before is not None and after is not None and before != after:
        raise ShapeError(
            f"an in-place operation on a tensor of shape {before} would give it the shape {after}",
            "use operands that broadcast to the shape of the tensor",
        )
    dtype = dtype_of(self)
    return new if dtype in (None, dtype_of(new)) else structure.cast(new, dtype=dtype)


def _eager(name: str) -> Callable[..., Tensor]:
    becomes = IN_PLACE[name]

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        self._data[...] = as_before(self, becomes(self, *args, **kwargs))._data
        self._written()
        return self

    method.__name__, method.__doc__ = name, becomes.__doc__
    return method


for _name in IN_PLACE:
    setattr(Tensor, _name, _eager(_name))
