"""Table look-ups: ``embedding``, and updates of Parameters at some of their rows."""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable
from typing import Any

from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.operators.elementwise import arithmetic, comparisons
from autodiff_compiler.ops.core.marks import mark
from autodiff_compiler.ops.core.primitive_base import Primitive
from autodiff_compiler.ops.core.shape_queries import dtype_of
from autodiff_compiler.ops.functions import arrays, creation, gather_scatter, scans_and_norms
from autodiff_compiler.ops.neural.parameter_updates import updated


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Tensor:
    """Returns the rows of ``weight`` at the positions in ``input``.

    padding_idx           this row gets no gradient (counted from the back if negative).
    max_norm, norm_type   rows of a larger norm are given scaled down to it; weight itself stays,
                          and the gradient is that of the row as it is given.
    scale_grad_by_freq    a row's gradient is divided by how often it is looked up.
    """
    rows = arrays.gather(weight, input, 0)
    if max_norm is not None:
        norm = scans_and_norms.vector_norm(arithmetic.stop_gradient(rows), norm_type, -1, True)
        scale = arithmetic.where(norm > max_norm, max_norm / (norm + 1e-7), 1.0)
        rows = _with_value(rows, rows * scale)
    if scale_grad_by_freq:
        places = arrays.reshape(input, (-1,))
        ones = creation.ones_like(places, dtype=dtype_of(weight))
        counts = gather_scatter.unsorted_segment_sum(ones, places, arrays.shape(weight)[0])
        share = rows / arrays.expand_dims(arrays.gather(counts, input, 0), -1)
        rows = _with_value(share, rows)
    if padding_idx is not None:
        padding = padding_idx if padding_idx >= 0 else arrays.shape(weight)[0] + padding_idx
        hit = arrays.expand_dims(comparisons.equal(input, padding), -1)
        rows = arithmetic.where(hit, arithmetic.stop_gradient(rows), rows)
    return rows


def _with_value(x: Any, value: Any) -> Any:
    """Returns ``value``, with the gradient of x."""
    return x + arithmetic.stop_gradient(value - x)


class EmbeddingLookup(Primitive):
    """The rows of a table at ``indices - offset``; zeros where there is no such row."""

    def __call__(self, input_params: Any, input_indices: Any, offset: int) -> Tensor:
        places = input_indices - offset
        count = arrays.shape(input_params)[0]
        known = comparisons.logical_and(places >= 0, places < count)
        rows = arrays.gather(input_params, arithmetic.where(known, places, 0), 0)
        lead = arrays.shape(known)
        wide = (*lead, *(1,) * (rows.ndim - len(lead)))
        return arithmetic.where(arrays.reshape(known, wide), rows, 0.0)


# ---- updates of Parameters at some rows, or at places

#: The functions on plain tensors that change rows, by the kind of the change.
CHANGES: dict[str, Callable[..., Any]] = {
    "update": gather_scatter.tensor_scatter_update,
    "add": gather_scatter.tensor_scatter_add,
    "sub": gather_scatter.tensor_scatter_sub,
    "mul": gather_scatter.tensor_scatter_mul,
    "div": gather_scatter.tensor_scatter_div,
    "max": gather_scatter.tensor_scatter_max,
    "min": gather_scatter.tensor_scatter_min,
}


def _update(change: str, of_rows: bool) -> Callable[[Parameter, Any, Any], Tensor]:
    """Returns the function that changes a Parameter at ``indices`` by ``updates``."""

    def new(before: Any, indices: Any, updates: Any) -> Any:
        places = arrays.expand_dims(indices, -1) if of_rows else indices
        return CHANGES[change](before, places, updates)

    def update(input_x: Parameter, indices: Any, updates: Any) -> Tensor:
        return updated(input_x, new(input_x, indices, updates))

    where = "rows at positions" if of_rows else "places that the last axis of ``indices`` names"
    update.__doc__ = f"Changes a Parameter ({change}) in the {where}; gives the new value."
    return mark(update, parameter_update=new)


def _primitive(name: str, function: Any) -> type[Primitive]:
    def __init__(self: Primitive, use_locking: bool = False) -> None:
        Primitive.__init__(self)
        vars(self).update(use_locking=use_locking)

    def __call__(self: Primitive, input_x: Parameter, indices: Any, updates: Any) -> Tensor:
        return function(input_x, indices, updates)

    space = {
        "__init__": __init__,
        "__call__": __call__,
        "__doc__": function.__doc__,
        "__module__": __name__,
        "function": staticmethod(function),
        "parameter_update": staticmethod(function.parameter_update),
    }
    return type(name, (Primitive,), space)


scatter_update, scatter_nd_update = _update("update", True), _update("update", False)
scatter_add, scatter_nd_add = _update("add", True), _update("add", False)
scatter_sub, scatter_nd_sub = _update("sub", True), _update("sub", False)
scatter_mul, scatter_nd_mul = _update("mul", True), _update("mul", False)
scatter_div, scatter_nd_div = _update("div", True), _update("div", False)
scatter_max, scatter_nd_max = _update("max", True), _update("max", False)
scatter_min, scatter_nd_min = _update("min", True), _update("min", False)

ScatterUpdate = _primitive("ScatterUpdate", scatter_update)
ScatterAdd = _primitive("ScatterAdd", scatter_add)
ScatterSub = _primitive("ScatterSub", scatter_sub)
ScatterMul = _primitive("ScatterMul", scatter_mul)
ScatterDiv = _primitive("ScatterDiv", scatter_div)
ScatterMax = _primitive("ScatterMax", scatter_max)
ScatterMin = _primitive("ScatterMin", scatter_min)
ScatterNdUpdate = _primitive("ScatterNdUpdate", scatter_nd_update)
ScatterNdAdd = _primitive("ScatterNdAdd", scatter_nd_add)
ScatterNdSub = _primitive("ScatterNdSub", scatter_nd_sub)
ScatterNdMul = _primitive("ScatterNdMul", scatter_nd_mul)
ScatterNdDiv = _primitive("ScatterNdDiv", scatter_nd_div)
ScatterNdMax = _primitive("ScatterNdMax", scatter_nd_max)
ScatterNdMin = _primitive("ScatterNdMin", scatter_nd_min)

__all__ = [
    "EmbeddingLookup",
    "ScatterAdd",
    "ScatterDiv",
    "ScatterMax",
    "ScatterMin",
    "ScatterMul",
    "ScatterNdAdd",
    "ScatterNdDiv",
    "ScatterNdMax",
    "ScatterNdMin",
    "ScatterNdMul",
    "ScatterNdSub",
    "ScatterNdUpdate",
    "ScatterSub",
    "ScatterUpdate",
    "embedding",
    "scatter_add",
    "scatter_div",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_nd_add",
    "scatter_nd_div",
    "scatter_nd_max",
    "scatter_nd_min",
    "scatter_nd_mul",
    "scatter_nd_sub",
    "scatter_nd_update",
    "scatter_sub",
    "scatter_update",
]
