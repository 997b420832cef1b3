"""The arguments ``out``, ``where``, ``copy``, ``order`` and ``subok`` of NumPy's functions.

They decide where a result lies and which elements are computed. Each is honoured or refused by
name.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff_compiler import numpy as ours
from autodiff_compiler import ops
from autodiff_compiler.errors import DTypeError, ShapeError, UnsupportedSyntax
from autodiff_compiler.frontend.abstract.values import TensorMethod
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.core.python_values import python_containers
from autodiff_compiler.frontend.numpy_rules.copies_and_views import (
    METHODS,
    PERHAPS,
    NumpyCall,
    is_array,
    kind_of,
    place_result,
    row_of,
)
from autodiff_compiler.frontend.numpy_rules.signatures import signature_of
from autodiff_compiler.frontend.numpy_rules.writes import WRITING_METHODS, as_array, write_by
from autodiff_compiler.frontend.objects.array_updates import replace_array
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import BOOL, COMPLEX, FLOAT, INT, ArrayType
from autodiff_compiler.operators.core import structure
from autodiff_compiler.ops.core.shape_queries import dtype_of, known_rank, shape_of

#: Arguments that this module handles.
_HANDLED = ("copy", "order", "out", "subok", "where")
#: Functions that take an order, which only decides how their result is laid out.
_LAID_OUT = frozenset(("array", "asanyarray", "asarray", "astype", "copy"))
#: Functions that read their argument in an order.
_READ_IN_ORDER = frozenset(("flatten", "ravel", "reshape"))


@dataclass(frozen=True)
class _Callee:
    """A function or method of NumPy: its name, its row in the table of copies and views, and the
    function of ours that computes it."""

    name: str
    kind: str
    function: Callable[..., Any]
    #: NumPy's function; None for a method without a function of the same name.
    original: Any
    is_method: bool = False

    @property
    def is_ufunc(self) -> bool:
        return isinstance(self.original, np.ufunc)

    @property
    def takes_out(self) -> bool:
        return self.is_ufunc or "out" in _parameters(self.original)

    @property
    def positional(self) -> tuple[str, ...]:
        """The names of NumPy's parameters that may be given by position."""
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = _parameters(self.original, self.name if self.is_method else "").values()
        return tuple(p.name for p in parameters if p.kind in kinds)


@functools.cache
def _parameters(callee: Any, method: str = "") -> Mapping[str, inspect.Parameter]:
    """Returns the parameters of a NumPy function, or of a method of arrays; none if not known."""
    try:
        return signature_of(callee, method).parameters
    except (AttributeError, TypeError, ValueError):
        return {}


def _split_out(
    callee: _Callee, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any], Any]:
    """Returns the arguments without ``out``, and ``out``. The first argument that is handled here
    and those after it are returned by name."""
    given, named = list(args), dict(kwargs)
    if isinstance(callee.original, np.ufunc):
        count = callee.original.nin
        given, outs = given[:count], given[count:]
        out = outs or named.pop("out", None)
    else:
        names = callee.positional
        first = next((k for k, name in enumerate(names) if name in _HANDLED), len(given))
        named |= dict(zip(names[first:], given[first:]))
        given, out = given[:first] + given[max(first, len(names)) :], named.pop("out", None)
    if isinstance(out, (tuple, list)):
        out = out[0] if len(out) == 1 else tuple(out)
    return given, named, None if out is ... else out


#: Functions that raise or give complex numbers in Python, and NaN or infinity in NumPy.
_UNLIKE_PYTHON = frozenset((np.divide, np.floor_divide, np.power, np.remainder))


_DTYPES: dict[Any, str] = {INT: "int64", FLOAT: "float64", BOOL: "bool", COMPLEX: "complex128"}


def _in_numpy(args: Sequence[Any]) -> list[Any]:
    """Returns arguments with the first run-time number as a NumPy scalar. Leaves them as they are
    beside an array or NumPy scalar."""
    given = list(args)
    places = [n for n, arg in enumerate(given) if isinstance(arg, Value) and arg.type in _DTYPES]
    if places and not any(is_array(arg) or isinstance(arg, np.generic) for arg in given):
        first = given[places[0]]
        given[places[0]] = structure.cast(first, dtype=_DTYPES[first.type])
    return given


def call_numpy(
    low: Lowering,
    callee: Any,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Returns the result of a function of NumPy in a plain function."""
    name = callee.__name__
    return _call(low, _Callee(name, kind_of(low, callee), function, callee), args, kwargs)


def call_method(
    low: Lowering, method: TensorMethod, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Returns the result of a method of an array in a plain function."""
    name, args = method.name, (method.value, *args)
    if name in WRITING_METHODS:
        return write_by(low, name, method.function, args, kwargs)
    kind = row_of(low, METHODS, name, f"the method '{name}' of an array")
    callee = _Callee(name, kind, method.function, getattr(np, name, None), is_method=True)
    return _call(low, callee, args, kwargs)


def _call(low: Lowering, callee: _Callee, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    given, named, out = _split_out(callee, args, kwargs)
    if callee.original in _UNLIKE_PYTHON:
        with low.builder:
            given = _in_numpy(given)
    if out is not None and not callee.takes_out:
        raise low.fail(
            UnsupportedSyntax,
            f"the argument 'out' of np.{callee.name} is not supported",
            f"assign the result: y[...] = np.{callee.name}(...)",
        )
    where = named.pop("where", True)
    casting = named.pop("casting", "same_kind") if callee.is_ufunc else "same_kind"
    options = _memory_options(low, callee, named)

    def run(*given: Any, **named: Any) -> Any:
        outcome = _result(low, callee, where, options, given, named)
        call = NumpyCall(callee.kind, callee.name, given, options, callee.is_method)
        return place_result(low, call, outcome)

    run.__name__ = callee.name
    result = low.macro(run, given, named)
    if callee.name == "nan_to_num" and options.get("copy") is False:
        if not is_array(given[0]):
            return result
        out = given[0]
    if out is not None:
        chosen = where if callee.is_ufunc else True
        return _write_out(low, callee.name, out, result, chosen, casting)
    if where is not True and callee.is_ufunc:
        raise low.fail(
            UnsupportedSyntax,
            f"np.{callee.name} leaves the elements where 'where' is False uninitialised",
            "pass out= as well, or use np.where(mask, a, b)",
        )
    return result


def _memory_options(low: Lowering, callee: _Callee, named: dict[str, Any]) -> dict[str, Any]:
    """Removes ``order``, ``subok`` and ``copy`` from keyword arguments, and returns ``order`` and
    ``copy`` where the call has them."""
    options: dict[str, Any] = {}
    name = callee.name
    if name in _LAID_OUT or name in _READ_IN_ORDER or callee.is_ufunc:
        given = named.pop("order", None)
        options["order"] = _known(low, name, "order", given, (None, "C", "F", "A", "K"))
        if name in ("flatten", "copy") and callee.is_method:
            options["order"] = options["order"] or "C"
    if "subok" in named:
        _known(low, name, "subok", named.pop("subok"), (True, False))
    if "copy" in named or callee.kind == PERHAPS and name in ("asarray", "asanyarray"):
        options["copy"] = _known(low, name, "copy", named.pop("copy", None), (None, True, False))
    return options


def _result(
    low: Lowering,
    callee: _Callee,
    where: Any,
    options: Mapping[str, Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Returns the result of a function, before it is copied or written to ``out``."""
    name, function = callee.name, callee.function
    if where is True:
        return _in_order(low, name, function, args, kwargs, options)
    if callee.is_ufunc:
        return _with_safe_operands(low, name, function, where, args, kwargs)
    return _reduce_chosen(low, name, function, where, args, kwargs)


def _known(low: Lowering, name: str, argument: str, given: Any, allowed: Sequence[Any]) -> Any:
    """Returns an argument that must be known at compile time. Refuses all but the ``allowed``."""
    equal = [] if isinstance(given, Value) else [choice for choice in allowed if given == choice]
    if not equal:
        raise low.fail(
            UnsupportedSyntax,
            f"np.{name} is not supported with {argument}={given!r}",
            f"use one of {', '.join(map(repr, allowed))}",
        )
    return equal[0]  # the given 1 becomes True


def _in_order(
    low: Lowering,
    name: str,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Any:
    """Returns the result of ``function``, with its argument read in the order that is asked for."""
    order = options.get("order")
    if name not in _READ_IN_ORDER or order in (None, "C"):
        return function(*args, **kwargs)
    source, *rest = args
    rank = known_rank(source, name)
    if rank < 2 and name != "reshape" or order != "F" and _is_row_major(low, source):
        return function(*args, **kwargs)
    if order != "F":
        low.compilation.aliases.has_unknown_views = True
        raise low.fail(
            UnsupportedSyntax,
            f"np.{name} with order={order!r} depends on the memory layout, which is not "
            "known at compile time",
            "pass order='C' or order='F'",
        )
    transposed = ours.transpose(source)
    if name != "reshape":
        return function(transposed, *rest, **kwargs)
    shape: Any = rest[0] if len(rest) == 1 and isinstance(rest[0], (tuple, list)) else tuple(rest)
    shape = shape or kwargs.get("shape") or kwargs.get("newshape")
    return ours.transpose(ours.reshape(transposed, tuple(reversed(shape))))


def _is_row_major(low: Lowering, value: Value) -> bool:
    layout = low.compilation.aliases.layouts.get(value)
    return layout is not None and layout.flags.c_contiguous


#: A harmless operand of functions that are not defined, or have no slope, everywhere. It stands for
#: the elements that ``where`` leaves out, which NumPy does not compute.
_SAFE = {
    name: value
    for names, value in (
        ("cbrt divide float_power floor_divide fmod hypot log log10 log1p log2 power", 1),
        ("reciprocal remainder sqrt", 1),
        ("arccos arcsin arctan2 arctanh", 0.5),
        ("arccosh", 2),
    )
    for name in names.split()
}


def _with_safe_operands(
    low: Lowering,
    name: str,
    function: Callable[..., Any],
    where: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Returns the result of a ufunc, with harmless operands where ``where`` leaves elements out."""
    if name in _SAFE:
        chosen, safe = as_array(python_containers(low, where)), _SAFE[name]
        args = [ops.where(chosen, arg, safe) if is_array(arg) else arg for arg in args]
    return function(*args, **kwargs)


#: The neutral elements of reductions, in place of the elements that ``where`` leaves out.
_NEUTRAL = {"sum": 0, "prod": 1, "any": False, "all": True, "nansum": 0}


def _reduce_chosen(
    low: Lowering,
    name: str,
    function: Callable[..., Any],
    where: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Returns a reduction of the elements that ``where`` chooses."""
    (a, *rest), where = args, as_array(python_containers(low, where))
    if name in _NEUTRAL:
        return function(ops.where(where, a, _NEUTRAL[name]), *rest, **kwargs)
    if name in ("max", "min", "amax", "amin") and kwargs.get("initial") is not None:
        others = {**kwargs}
        initial = others.pop("initial")
        join = ours.maximum if "max" in name else ours.minimum
        return join(function(ops.where(where, a, initial), *rest, **others), initial)
    if name in ("mean", "var", "std"):
        return _moments(name, a, where, rest, dict(kwargs))
    raise low.fail(
        UnsupportedSyntax,
        f"the argument 'where' of np.{name} is not supported here",
        "select the elements first: np.where(mask, x, neutral); np.max and np.min need "
        "'initial' as well",
    )


def _moments(name: str, a: Any, where: Any, rest: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Returns the mean, variance or standard deviation of the chosen elements."""
    axis = rest[0] if rest else kwargs.pop("axis", None)
    keepdims, ddof = kwargs.pop("keepdims", False), kwargs.pop("ddof", 0)
    if kwargs or len(rest) > 1:
        raise TypeError(
            f"{name} with 'where' supports no other arguments than axis, keepdims and ddof"
        )
    # One or zero for each element, in the dtype of a mean.
    chosen = ops.where(where, ops.ones_like(a) * 1.0, 0.0)

    def mean(values: Any, keepdims: bool, ddof: Any = 0) -> Any:
        total = ours.sum(ops.where(where, values, 0.0), axis, keepdims=keepdims)
        return total / (ours.sum(chosen, axis, keepdims=keepdims) - ddof)

    if name == "mean":
        return mean(a, keepdims)
    deviation = a - mean(a, True)
    variance = mean(deviation * deviation, keepdims, ddof)
    return variance if name == "var" else ours.sqrt(variance)


def _write_out(low: Lowering, name: str, out: Any, result: Any, where: Any, casting: Any) -> Any:
    """Writes the result of ``np.name`` to ``out``. Returns ``out``."""
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
    shape, result_shape = shape_of(out), shape_of(result)
    if where is not True:
        with low.builder:
            result = ops.where(as_array(python_containers(low, where)), result, out)
    elif shape != result_shape and shape is not None and result_shape is not None:
        if (
            len(result_shape) > len(shape)
            or isinstance(result.type, ArrayType)
            and name not in _UFUNCS
        ):
            raise low.fail(
                ShapeError,
                f"the result of np.{name} has shape {result_shape}, and 'out' has shape {shape}",
                "pass an 'out' of the result's shape",
            )
        result = structure.broadcast_to(result, shape=shape)
    return replace_array(low, out, result)


_UFUNCS = frozenset(name for name in dir(np) if isinstance(getattr(np, name), np.ufunc)) | {"clip"}
