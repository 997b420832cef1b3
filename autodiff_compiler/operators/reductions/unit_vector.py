"""The direction of a vector, for the derivative of its norm: right also where squares overflow or
underflow."""

from __future__ import annotations

__macro__ = True

from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_compiler.errors import DTypeError
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import ArrayType, Type, is_floating
from autodiff_compiler.operators.core.declare import behind_new_axis
from autodiff_compiler.operators.core.families import no_casts
from autodiff_compiler.operators.core.structure import expand_dims, unbroadcast
from autodiff_compiler.operators.elementwise.arithmetic import maximum

#: The smallest norm whose squares do not underflow; beyond its inverse they overflow.
_LEAST = {"float16": 1e-2, "float32": 1e-17, "float64": 1e-147}


def least_of(dtype: str) -> float:
    """Returns the smallest number above 0."""
    return float(f"{np.finfo(dtype).smallest_subnormal:.0e}")


def _unit_numpy(types: Sequence[Type], *, axes: Any) -> str:
    x = types[0]
    dtype = x.dtype if isinstance(x, ArrayType) and x.dtype in _LEAST else "float64"
    along = f"axis={axes}, keepdims=True" if axes is not None else "keepdims=True"
    least = _LEAST[dtype]
    return (
        f"if np.all(({{n}} > {least}) & ({{n}} < {1 / least:.0e})):\n"
        "    {out} = {x} / {n}\n"
        "else:\n"
        f"    {{out}} = np.max(np.abs({{x}}), {along}, initial=0)\n"
        "    {out} = {x} / np.where({out} > 0, {out}, 1)\n"
        f"    {{out}} = {{out}} / np.maximum(np.sqrt(np.sum({{out}} * {{out}}, {along})), 1)"
    )


def _float_type(types: Sequence[Type], *, axes: Any) -> Type:
    if isinstance(types[0], ArrayType) and not is_floating(types[0]):
        raise DTypeError(
            "the unit vector of an array of integers is not an array of integers",
            "cast the array to a float first: x.astype(float)",
        )
    return types[0]


def _safe(size: Any) -> Any:
    return maximum(size, least_of(size.dtype_name))


def _batch(x: Any, n: Any, axes: Any, mapped: Sequence[bool]) -> Any:
    if not all(mapped) or x.type.ndim is None:
        return None
    rank = x.type.ndim
    if n.type.ndim == 1:
        n = expand_dims(n, axes=tuple(range(1, rank)))
    return unit(x, n, axes=tuple(range(1, rank)) if axes is None else behind_new_axis(axes))


unit: Any = OpDef(
    "unit",
    "x / n, where n is the norm of x over axes, with these axes kept. x is scaled first where "
    "squares underflow or overflow; the result is 0 where x is 0.",
    operands=("x", "n"),
    numpy=_unit_numpy,
    result=_float_type,
    promote=no_casts,
    adjoint={
        "x": lambda ct, n: ct / _safe(n),
        "n": lambda ct, out, n: unbroadcast(-ct * out / _safe(n), n),
    },
    tangent={
        "x": lambda dot, n: dot / _safe(n),
        "n": lambda dot, out, n: -out * (dot / _safe(n)),
    },
    label="unit_{x}",
    batch=_batch,
)
