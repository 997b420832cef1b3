"""The arguments of NumPy's functions that say where a result goes and what is computed: ``out``,
``where``, ``copy``, ``order`` and ``subok``. Each is honoured here, or refused by name.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_compiler import numpy as ours
from autodiff_compiler import ops
from autodiff_compiler.errors import DTypeError, ShapeError, UnsupportedSyntax
from autodiff_compiler.frontend.core.python_values import python_containers
from autodiff_compiler.frontend.numpy_rules.sharing import (
    METHODS,
    PERHAPS,
    is_array,
    kind_of,
    settled,
)
from autodiff_compiler.frontend.numpy_rules.signatures import signature_of
from autodiff_compiler.frontend.numpy_rules.writes import WRITING_METHODS, as_array, write_by
from autodiff_compiler.frontend.objects.array_updates import replace_array
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import BOOL, COMPLEX, FLOAT, INT, ArrayType
from autodiff_compiler.operators.core import structure
from autodiff_compiler.ops.core.shape_queries import dtype_of, known_rank, shape_of

#: Arguments that are taken here.
_TAKEN = ("copy", "order", "out", "subok", "where")
#: Functions that take an order, which says nothing but how their result is laid out.
_LAID_OUT = frozenset(("array", "asanyarray", "asarray", "astype", "copy"))
#: Functions that read their argument in an order.
_READ_IN_ORDER = frozenset(("flatten", "ravel", "reshape"))


@functools.cache
def _parameters(callee: Any, method: str = "") -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a NumPy function, or of a method of arrays; none if not known."""
    try:
        return signature_of(callee, method).parameters
    except (AttributeError, TypeError, ValueError):
        return {}


def _positions(callee: Any, name: str, is_method: bool) -> tuple[str, ...]:
    """Return the names of a NumPy function's parameters that may be given by position."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = _parameters(callee, name if is_method else "").values()
    return tuple(p.name for p in parameters if p.kind in kinds)


def _takes_out(callee: Any) -> bool:
    return isinstance(callee, np.ufunc) or "out" in _parameters(callee)


def _parted(
    callee: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], is_method: bool
) -> tuple[list[Any], dict[str, Any], Any]:
    """Return the arguments without ``out``, and that; those after the first one that is taken here
    by name."""
    given, named = list(args), dict(kwargs)
    if isinstance(callee, np.ufunc):
        given, outs = given[: callee.nin], given[callee.nin :]
        out = outs or named.pop("out", None)
    else:
        names = _positions(callee, name, is_method)
        first = next((k for k, each in enumerate(names) if each in _TAKEN), len(given))
        named |= dict(zip(names[first:], given[first:]))
        given, out = given[:first] + given[max(first, len(names)) :], named.pop("out", None)
    if isinstance(out, (tuple, list)):
        out = out[0] if len(out) == 1 else tuple(out)
    return given, named, None if out is ... else out


#: Functions that Python's numbers raise for, or make complex, where NumPy's give NaN or infinity.
_UNLIKE_PYTHON = frozenset((np.divide, np.floor_divide, np.power, np.remainder))


_DTYPES: dict[Any, str] = {INT: "int64", FLOAT: "float64", BOOL: "bool", COMPLEX: "complex128"}


def _in_numpy(args: Sequence[Any]) -> list[Any]:
    """Return numbers of Python with the first one that a run tells as a scalar of NumPy."""
    given = list(args)
    places = [n for n, arg in enumerate(given) if isinstance(arg, Value) and arg.type in _DTYPES]
    if places and not any(is_array(arg) or isinstance(arg, np.generic) for arg in given):
        first = given[places[0]]
        given[places[0]] = structure.cast(first, dtype=_DTYPES[first.type])
    return given


def call_numpy(
    low: Any,
    callee: Any,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Return what a function of NumPy gives in a plain function."""
    return _call(low, callee, callee.__name__, kind_of(callee), function, args, kwargs)


def call_method(low: Any, method: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return what a method of an array gives in a plain function."""
    name, args = method.name, (method.value, *args)
    if name in WRITING_METHODS:
        return write_by(low, name, method.function, args, kwargs)
    like = getattr(np, name, None)
    return _call(low, like, name, METHODS[name], method.function, args, kwargs, True)


def _call(
    low: Any,
    callee: Any,
    name: str,
    kind: str,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    is_method: bool = False,
) -> Any:
    given, named, out = _parted(callee, name, args, kwargs, is_method)
    if callee in _UNLIKE_PYTHON:
        with low.builder:
            given = _in_numpy(given)
    if out is not None and not _takes_out(callee):
        raise low.fail(
            UnsupportedSyntax,
            f"the argument 'out' of np.{name} is not supported",
            f"assign the result: y[...] = np.{name}(...)",
        )
    where = named.pop("where", True)
    casting = named.pop("casting", "same_kind") if isinstance(callee, np.ufunc) else "same_kind"
    told: dict[str, Any] = {}
    if name in _LAID_OUT or name in _READ_IN_ORDER or isinstance(callee, np.ufunc):
        order = _known(low, name, "order", named.pop("order", None), (None, "C", "F", "A", "K"))
        told["order"] = order
        if name in ("flatten", "copy") and is_method:
            told["order"] = order or "C"
    if "subok" in named:
        _known(low, name, "subok", named.pop("subok"), (True, False))
    if "copy" in named or kind == PERHAPS and name in ("asarray", "asanyarray"):
        told["copy"] = _known(low, name, "copy", named.pop("copy", None), (None, True, False))

    def run(*given: Any, **named: Any) -> Any:
        if isinstance(callee, np.ufunc) and where is not True:
            made = _safely(low, name, function, where, given, named)
        elif where is True:
            made = _in_order(low, name, function, given, named, told)
        else:
            made = _some(low, name, function, where, given, named)
        return settled(low, kind, name, given, told, made, is_method)

    run.__name__ = name
    result = low.macro(run, given, named)
    if name == "nan_to_num" and told.get("copy") is False:
        out = given[0]
        if not is_array(out):
            return result
    if out is None:
        if where is not True and isinstance(callee, np.ufunc):
            raise low.fail(
                UnsupportedSyntax,
                f"np.{name} leaves the elements where 'where' is False uninitialised",
                "pass out= as well, or use np.where(mask, a, b)",
            )
        return result
    return _written(
        low, name, out, result, where if isinstance(callee, np.ufunc) else True, casting
    )


def _known(low: Any, name: str, argument: str, given: Any, allowed: Sequence[Any]) -> Any:
    """Return an argument that must be known while compiling, and one of some."""
    equal = [] if isinstance(given, Value) else [one for one in allowed if given == one]
    if not equal:
        raise low.fail(
            UnsupportedSyntax,
            f"np.{name} is not supported with {argument}={given!r}",
            f"use one of {', '.join(map(repr, allowed))}",
        )
    return equal[0]  # True for 1


def _in_order(
    low: Any,
    name: str,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    told: Mapping[str, Any],
) -> Any:
    """Return the result of ``function``, with its argument read in the order that is asked for."""
    order = told.get("order")
    if name not in _READ_IN_ORDER or order in (None, "C"):
        return function(*args, **kwargs)
    source, *rest = args
    rank = known_rank(source, name)
    if rank < 2 and name != "reshape" or order != "F" and _is_row_major(low, source):
        return function(*args, **kwargs)
    if order != "F":
        low.compilation.memory.doubtful = True
        raise low.fail(
            UnsupportedSyntax,
            f"np.{name} with order={order!r} depends on the memory layout, which is not "
            "known at compile time",
            "pass order='C' or order='F'",
        )
    turned = ours.transpose(source)
    if name != "reshape":
        return function(turned, *rest, **kwargs)
    shape: Any = rest[0] if len(rest) == 1 and isinstance(rest[0], (tuple, list)) else tuple(rest)
    shape = shape or kwargs.get("shape") or kwargs.get("newshape")
    return ours.transpose(ours.reshape(turned, tuple(reversed(shape))))


def _is_row_major(low: Any, value: Value) -> bool:
    layout = low.compilation.memory.layouts.get(value)
    return layout is not None and layout.flags.c_contiguous


#: What functions that are not defined everywhere, or have no slope there, take for the elements
#: that ``where`` leaves out: NumPy does not compute those.
_SAFE = dict.fromkeys(
    ("cbrt", "divide", "float_power", "floor_divide", "fmod", "hypot", "log", "log10", "log1p",
     "log2", "power", "reciprocal", "remainder", "sqrt"), 1,
) | dict.fromkeys(("arccos", "arcsin", "arctan2", "arctanh"), 0.5) | {"arccosh": 2}  # fmt: skip


def _safely(
    low: Any,
    name: str,
    function: Callable[..., Any],
    where: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Return what a ufunc gives, at harmless values where ``where`` leaves an element out."""
    if name in _SAFE:
        chosen, safe = as_array(python_containers(low, where)), _SAFE[name]
        args = [ops.where(chosen, arg, safe) if is_array(arg) else arg for arg in args]
    return function(*args, **kwargs)


#: What reductions take for the elements that ``where`` leaves out.
_NEUTRAL = {"sum": 0, "prod": 1, "any": False, "all": True, "nansum": 0}


def _some(
    low: Any,
    name: str,
    function: Callable[..., Any],
    where: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Return a reduction of the elements that ``where`` chooses."""
    (a, *rest), where = args, as_array(python_containers(low, where))
    if name in _NEUTRAL:
        return function(ops.where(where, a, _NEUTRAL[name]), *rest, **kwargs)
    if name in ("max", "min", "amax", "amin") and kwargs.get("initial") is not None:
        first = {**kwargs}
        initial = first.pop("initial")
        join = ours.maximum if "max" in name else ours.minimum
        return join(function(ops.where(where, a, initial), *rest, **first), initial)
    if name in ("mean", "var", "std"):
        return _moments(name, a, where, rest, dict(kwargs))
    raise low.fail(
        UnsupportedSyntax,
        f"the argument 'where' of np.{name} is not supported here",
        "select the elements first: np.where(mask, x, neutral); np.max and np.min need "
        "'initial' as well",
    )


def _moments(name: str, a: Any, where: Any, rest: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return the mean, variance or deviation of some elements."""
    axis = rest[0] if rest else kwargs.pop("axis", None)
    keepdims, ddof = kwargs.pop("keepdims", False), kwargs.pop("ddof", 0)
    if kwargs or len(rest) > 1:
        raise TypeError(
            f"{name} with 'where' supports no other arguments than axis, keepdims and ddof"
        )
    # In the dtype of a mean, and every element chosen or not.
    chosen = ops.where(where, ops.ones_like(a) * 1.0, 0.0)

    def mean(values: Any, keepdims: bool, ddof: Any = 0) -> Any:
        total = ours.sum(ops.where(where, values, 0.0), axis, keepdims=keepdims)
        return total / (ours.sum(chosen, axis, keepdims=keepdims) - ddof)

    if name == "mean":
        return mean(a, keepdims)
    apart = a - mean(a, True)
    spread = mean(apart * apart, keepdims, ddof)
    return spread if name == "var" else ours.sqrt(spread)


def _written(low: Any, name: str, out: Any, result: Any, where: Any, casting: Any) -> Any:
    """Write the result of ``np.name`` to ``out``, and return that."""
    out = low.lifted(out)
    if not is_array(out) or not isinstance(result, Value):
        raise low.fail(
            UnsupportedSyntax,
            f"'out' of np.{name} must be an array, and it is a {low.described(out)}",
            "pass one array that the function itself made: out=np.empty(...)",
        )
    have, want = dtype_of(result), dtype_of(out)
    if have and want and not np.can_cast(have, want, casting):
        raise low.fail(
            DTypeError,
            f"NumPy does not cast {have} to {want}, the dtype of the array that is written to",
            "pass an 'out' of the result's dtype, or cast the operands",
        )
    shape, made = shape_of(out), shape_of(result)
    if where is not True:
        with low.builder:
            result = ops.where(as_array(python_containers(low, where)), result, out)
    elif shape != made and shape is not None and made is not None:
        if len(made) > len(shape) or isinstance(result.type, ArrayType) and name not in _UFUNCS:
            raise low.fail(
                ShapeError,
                f"the result of np.{name} has shape {made}, and 'out' has shape {shape}",
                "pass an 'out' of the result's shape",
            )
        result = structure.broadcast_to(result, shape=shape)
    return replace_array(low, out, result)


_UFUNCS = frozenset(name for name in dir(np) if isinstance(getattr(np, name), np.ufunc)) | {"clip"}
