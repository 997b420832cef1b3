"""The sensitivity: the gradient of the output that a caller gives. It must fit the output exactly.

Nothing is broadcast and nothing is cast. There are three exceptions. A 0-d output takes shape [1]
or a Python float. A single tensor may be in a 1-tuple, and a tuple may replace a list.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import CallError, SensitivityError
from autodiff_compiler.interface.compiled import ArrayType, DictType, ListType, TupleType, Type


def sensitivity_arrays(sens: Any, type_: Type, place: str = "") -> Any:
    """Returns ``sens`` as arrays, in the structure of the output."""
    if isinstance(type_, ArrayType):
        return _array(sens, type_, place)
    if isinstance(type_, DictType):
        if not isinstance(sens, dict) or set(sens) != set(type_.keys):
            raise _misfit(sens, type_, place, f"a dict with the keys {list(type_.keys)}")
        pairs = zip(type_.keys, type_.items)
        return {k: sensitivity_arrays(sens[k], item, f"{place}[{k!r}]") for k, item in pairs}
    if isinstance(type_, TupleType):
        size = len(type_.items)
        if not isinstance(sens, (tuple, list)) or len(sens) != size:
            raise _misfit(sens, type_, place, f"a tuple of {size}")
        rows = enumerate(zip(sens, type_.items))
        return tuple(sensitivity_arrays(part, item, f"{place}[{n}]") for n, (part, item) in rows)
    if isinstance(type_, ListType):
        if not isinstance(sens, (tuple, list)):
            raise _misfit(sens, type_, place, "a list")
        return [sensitivity_arrays(s, type_.item, f"{place}[{n}]") for n, s in enumerate(sens)]
    if isinstance(sens, complex) and str(type_) != "complex":
        raise _misfit(sens, type_, place, f"a {type_}")
    return sens._data.item() if isinstance(sens, Tensor) and sens.size == 1 else sens


def _array(sens: Any, type_: ArrayType, place: str) -> np.ndarray:
    if isinstance(sens, (tuple, list)) and len(sens) == 1:
        sens = sens[0]
    kinds = (float, complex) if "complex" in (type_.dtype or "") else (float,)
    if type(sens) in kinds and type_.shape == () and type_.dtype is not None:
        return np.array(sens, type_.dtype)
    if not isinstance(sens, Tensor):
        raise _misfit(sens, type_, place, f"a Tensor {type_}")
    array = sens._data
    if type_.dtype is not None and array.dtype != type_.dtype:
        raise CallError(
            f"the sensitivity{_at(place)} should have the dtype {type_.dtype} of the output, "
            f"but got {array.dtype.name}",
            f"cast it: sens.astype('{type_.dtype}')",
        )
    if type_.shape == () and array.shape == (1,):
        return array.reshape(())
    if array.shape != type_.shape and not _fits(array.shape, type_.shape):
        raise SensitivityError(
            f"the sensitivity{_at(place)} should have the shape {_text(type_.shape)} of the "
            f"output, but got {list(array.shape)}",
            "give the sensitivity one element per element of the output; it is not broadcast",
        )
    return array


def directions(dot: Any, like: Any, place: str = "") -> Any:
    """Returns the tangent given for an argument as arrays in its structure. It is broadcast, never
    cast."""
    if isinstance(like, (tuple, list)):
        if not isinstance(dot, (tuple, list)) or len(dot) != len(like):
            raise CallError(f"the tangent{_at(place)} should be a tuple of {len(like)}")
        return tuple(directions(d, x, f"{place}[{n}]") for n, (d, x) in enumerate(zip(dot, like)))
    if isinstance(like, dict):
        if not isinstance(dot, dict) or set(dot) != set(like):
            raise CallError(f"the tangent{_at(place)} should be a dict with keys {list(like)}")
        return {key: directions(dot[key], x, f"{place}[{key!r}]") for key, x in like.items()}
    like, dot = getattr(like, "_data", like), getattr(dot, "_data", dot)
    if not isinstance(like, (np.ndarray, np.generic)):
        return float(dot) if isinstance(like, float) else dot
    dot = np.asarray(dot, like.dtype) if isinstance(dot, (int, float)) else np.asarray(dot)
    if dot.dtype != like.dtype:
        raise CallError(
            f"the tangent{_at(place)} should have the dtype {like.dtype} of the input, "
            f"but got {dot.dtype}",
            f"cast it: v.astype('{like.dtype}')",
        )
    if dot.shape == like.shape:
        return dot
    try:  # a broadcast view would make products slow
        return np.broadcast_to(dot, like.shape).copy()
    except ValueError:
        raise CallError(
            f"the tangent{_at(place)} should have the shape {_text(like.shape)} of the input, "
            f"but got {list(dot.shape)}",
            "give the tangent one element per element of the input",
        ) from None


def _fits(shape: tuple[Any, ...], wanted: tuple[Any, ...] | None) -> bool:
    return (
        wanted is None
        or len(shape) == len(wanted)
        and all(not isinstance(want, int) or size == want for size, want in zip(shape, wanted))
    )


def _text(shape: tuple[Any, ...] | None) -> str:
    return f"[{', '.join('?' if size is None else str(size) for size in shape or ())}]"


def _at(place: str) -> str:
    return f" for output{place}" if place else ""


def _misfit(sens: Any, type_: Type, place: str, wanted: str) -> CallError:
    given = f"a {type(sens).__name__}"
    if isinstance(sens, (tuple, list)):
        given += f" of {len(sens)}"
    return SensitivityError(
        f"the sensitivity{_at(place)} should be {wanted}, but got {given}",
        f"the output is {type_}, and its sensitivity has the same structure",
    )


__all__ = ["directions", "sensitivity_arrays"]
