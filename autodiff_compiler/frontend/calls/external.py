"""Calls of functions that are not compiled.

Functions of this package run at compile time, as macros. The functions that replace NumPy and
``math`` on run-time values do, too. All others run at compile time on known arguments. A function
is refused if every call gives something else, or if it reads more than its arguments. Its outcome
would become a constant of the generated source. Logging is done at run time, by forward.
"""

from __future__ import annotations

import builtins
import collections
import functools
import logging
import types
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.errors import CompileError, DTypeError, UnsupportedSyntax
from autodiff_compiler.frontend.abstract import iterators
from autodiff_compiler.frontend.abstract.heap import detach
from autodiff_compiler.frontend.abstract.values import Closure, leaves
from autodiff_compiler.frontend.calls.python_callbacks import call_python
from autodiff_compiler.frontend.core.lowering import Lowering, refuse_foreign
from autodiff_compiler.frontend.core.python_values import (
    from_python,
    python_containers,
)
from autodiff_compiler.frontend.expressions.strings import format_string
from autodiff_compiler.frontend.numpy_rules.names import MATH, NUMPY
from autodiff_compiler.interface.compiled import CONTAINERS, frozen
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import ArrayType, ScalarType
from autodiff_compiler.mindspore_names.suggestions import equivalent
from autodiff_compiler.operators.core import structure
from autodiff_compiler.ops.functions import arrays

#: Functions of NumPy that fill an array with one number. ``empty`` is taken to give zeros.
_FILLING = (np.zeros, np.ones, np.empty, np.full)
#: Methods that change their container.
MUTATING_METHODS = frozenset(
    """append appendleft extend insert remove pop popleft popitem clear sort reverse add discard
    update setdefault""".split()
)
#: Macros that take a list of run-time length.
TAKING_LONG_LISTS = (arrays.stack, arrays.concat)
#: Libraries whose functions may give something else in every call.
IMPURE = tuple(
    """random time secrets uuid datetime _random numpy.random os posix nt genericpath pathlib
    platform tempfile subprocess threading inspect""".split()
)
_ONCE = (
    "'{name}' would run only once, at compile time, and every call would reuse that result",
    "call it outside of the function, and pass the result as an argument",
)
_TEXT = (
    "'{name}' runs code from a string, which the compiler cannot read",
    "write the code itself in place of the string",
)
_NAMES = (
    "'{name}' needs all variables, and compiled code keeps only those that the function names",
    "use the variable by its name",
)
REFUSED: dict[Any, tuple[str, str]] = {
    **dict.fromkeys((eval, exec, compile), _TEXT),
    **dict.fromkeys((globals, locals), _NAMES),
    **dict.fromkeys((open, input, breakpoint, builtins.__import__), _ONCE),
    Parameter: (
        "this makes a Parameter inside compiled code, which would be a new one in every call",
        "create it in __init__: self.weight = Parameter(...)",
    ),
}


def macro(low: Lowering, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Runs a function of this package now. It adds operations for run-time values."""
    lists_go = getattr(function, "function", function) in TAKING_LONG_LISTS
    given = [python_containers(low, arg, lists_go) for arg in args]
    named = {key: python_containers(low, arg, lists_go) for key, arg in kwargs.items()}
    refuse_foreign(low, *given, *named.values())
    before, name = frozen((given, named)), getattr(function, "__name__", type(function).__name__)
    try:
        result = function(*given, **named)
    except CompileError:
        raise
    except Exception as error:
        raise low.translate(error, f"{name} fails", function) from None
    if not _unchanged(before, (given, named)):
        raise low.fail(
            UnsupportedSyntax,
            f"'{name}' changes its argument in place, and the compiler cannot see that change",
            "change the container in the function itself: items.append(x), items[0] = x",
        )
    return from_python(low, result)


def macro_for(low: Lowering, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Returns the macro for a call of NumPy or ``math`` with run-time values; None where there is
    none."""
    if not is_hashable(callee) or not (callee in NUMPY or callee in MATH):
        return None
    values = _values_in(low, args, kwargs)
    if callee in NUMPY:
        return NUMPY[callee] if values else None
    numbers = low.compilation.numpy or not any(isinstance(v.type, ArrayType) for v in values)
    return MATH[callee] if values and numbers else None


def _values_in(low: Lowering, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Value]:
    """Returns the run-time values in arguments."""
    given = detach(tuple(low.lifted(arg) for arg in (*args, *kwargs.values())), low.state)
    return [leaf for leaf in leaves(given) if isinstance(leaf, Value)]


def takes_numbers(low: Lowering, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """True if the arguments hold run-time values, and all of these are numbers."""
    values = _values_in(low, args, kwargs)
    return bool(values) and all(isinstance(value.type, ScalarType) for value in values)


def call_known(low: Lowering, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Calls a ``constexpr`` function, whose arguments must be known."""
    for leaf in _values_in(low, args, kwargs):
        low.static(leaf, f"an argument of the constexpr function '{callee.__name__}'")
    return call_now(low, callee, args, kwargs)


def call_now(low: Lowering, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Calls a callee that is neither a macro nor compiled, on known arguments."""
    name = getattr(callee, "__name__", type(callee).__name__)
    if not callable(callee):
        raise low.fail(
            DTypeError,
            f"a value of type {low.described(callee)} is not callable",
            "call a function, a Cell or an operator",
        )
    _refuse_outside(low, callee, name)
    if low.compilation.strict and not is_numpy(callee) and not isinstance(callee, type):
        raise low.fail(
            UnsupportedSyntax, f"'{name}' may have side effects, which are not allowed here"
        )
    if _logs(callee):
        call_python(low, functools.partial(callee, **kwargs), args)
        return None
    if _values_in(low, args, kwargs):
        if name == "format" and isinstance(getattr(callee, "__self__", None), str):
            return format_string(low, callee.__self__, args)
        raise low.fail(
            UnsupportedSyntax,
            f"'{name}' is not supported with arguments whose values are known only "
            "when the function runs",
            _cure_for(callee, name),
        )
    if low.compilation.numpy and any(callee is filling for filling in _FILLING):
        return _filled_array(low, callee, args, kwargs)
    return _run_now(low, callee, name, args, kwargs)


def _run_now(
    low: Lowering, callee: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Runs a function at compile time, under the assumption that its arguments stay as they are."""
    given, of_numpy = (*args, *kwargs.values()), is_numpy(callee)
    if of_numpy or getattr(callee, "__module__", "") == "itertools":
        _refuse_functions(low, name, given)
    for arg in given:
        low.compilation.guard_contents(arg)
    result = low.macro(callee, [_copied(arg) for arg in args], kwargs)
    if isinstance(result, Iterator):
        return iterators.new_iterator(low, result)
    if of_numpy:
        _remember_numpy_call(low, callee, args, kwargs, result)
    return result


def _remember_numpy_call(
    low: Lowering, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any
) -> None:
    """Notes how NumPy made a result, and that the function owns it if it is an array."""
    array = low.original(result)
    named = {key: low.original(arg) for key, arg in kwargs.items()}
    low.compilation.recipes.remember(callee, [*map(low.original, args)], named, array)
    if isinstance(result, Value) and isinstance(array, np.ndarray) and array.flags.writeable:
        low.compilation.created_arrays[id(array)] = array
        low.compilation.aliases.register_array(result, array)


def _refuse_functions(low: Lowering, name: str, given: Sequence[Any]) -> None:
    """Refuses functions among the arguments of a library. It would call them uncompiled, and the
    values that they read would be constants.
    """
    kinds = (Closure, types.FunctionType, types.MethodType)
    if any(isinstance(each, kinds) for each in given):
        raise low.fail(
            UnsupportedSyntax,
            f"'{name}' is given a function to call, and that call would not be compiled",
            "write a loop or a comprehension that calls the function",
        )


def _filled_array(
    low: Lowering, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Returns an array filled with one number, which the generated source makes itself."""
    try:
        array = callee(*map(partial(python_containers, low), args), **kwargs)
    except (TypeError, ValueError) as error:
        raise low.translate(error, f"{callee.__name__} fails", callee) from None
    if array.size == 0 or array.dtype.kind not in "biufc":
        return low.lifted(array)
    first = 0 if callee is np.empty else array.flat[0].item()
    full = structure.full(shape=array.shape, dtype=array.dtype.name, value=first)
    low.compilation.aliases.set_is_array(full, True)
    return full


def _refuse_outside(low: Lowering, callee: Any, name: str) -> None:
    """Refuses functions that must not run at compile time."""
    owner = getattr(callee, "__self__", None)
    if type(owner) in (list, dict, set, collections.deque) and name in MUTATING_METHODS:
        if low.compilation.path(owner) is None:
            raise low.fail(
                UnsupportedSyntax,
                f"'{name}' changes a {type(owner).__name__}, and the compiler cannot "
                "see that change",
                "use a list or dict that the function builds itself, starting from [] or {}",
            )
        raise low.fail(
            UnsupportedSyntax,
            f"'{name}' changes a {type(owner).__name__} that was made outside of the function",
            "return the value instead, or use a hook to look at it",
        )
    if name in ("__enter__", "__exit__"):
        raise low.fail(
            UnsupportedSyntax,
            "this context manager would be entered at compile time, not when the function runs",
            "put the 'with' around the call of the compiled function",
        )
    if any(callee is endless for endless in iterators.ENDLESS):
        cure = "loop over a range, or write 'while True'"
        raise low.fail(UnsupportedSyntax, f"'{name}' never ends", cure)
    reason = REFUSED.get(callee) if is_hashable(callee) else None
    if reason is None and _is_impure(callee):
        reason = _ONCE
    if reason is not None:
        cause, cure = reason
        raise low.fail(UnsupportedSyntax, cause.format(name=name), cure)


def _cure_for(callee: Any, name: str) -> str:
    if callee in (collections.OrderedDict, collections.defaultdict):
        return "use a plain dict, starting from {}: it keeps its order, and has setdefault"
    if is_hashable(callee) and callee in MATH:
        return f"use ops.{getattr(MATH[callee], '__name__', name)}, which has a derivative"
    ours = equivalent(callee)
    if ours:
        return f"use {ours}, which has a derivative"
    if is_numpy(callee):
        return "use a function that 'autodiff-compiler ops --numpy' lists"
    return "write it in Python, or with functions of ops"


def is_hashable(thing: Any) -> bool:
    try:
        hash(thing)
    except TypeError:
        return False
    return True


def _copied(thing: Any) -> Any:
    """Returns a copy of an outside container."""
    return frozen(thing) if type(thing) in (list, dict, set) else thing


def _unchanged(before: Any, after: Any) -> bool:
    """True if a container holds the items that it held when ``before`` was copied from it."""
    if isinstance(before, (list, tuple)):
        return len(before) == len(after) and all(map(_unchanged, before, after))
    if isinstance(before, dict):
        same_keys = list(before) == list(after)
        return same_keys and all(_unchanged(before[key], after[key]) for key in before)
    if isinstance(before, CONTAINERS):
        return bool(before == after)
    return before is after or isinstance(before, np.ndarray)


def is_numpy(callee: Any) -> bool:
    """True for a function of NumPy."""
    module = getattr(callee, "__module__", None) or ""
    return module.partition(".")[0] == "numpy" or type(callee).__module__ == "numpy"


def _is_impure(callee: Any) -> bool:
    """True if a function or method may give something else in every call."""
    owner = getattr(callee, "__self__", None)
    kind = type(callee) if owner is None or isinstance(owner, types.ModuleType) else type(owner)
    home = owner if isinstance(owner, type) else kind
    modules = (getattr(callee, "__module__", None) or "", home.__module__ or "")
    called = [module for module in modules if module not in ("builtins", "")]
    if isinstance(owner, types.ModuleType):
        called.append(owner.__name__)
    return any(
        module == library or module.startswith(f"{library}.")
        for module in called
        for library in IMPURE
    )


def stays_outside(callee: Any) -> bool:
    """True if a function is never compiled, though its source may be known."""
    return _logs(callee) or _is_impure(callee)


def _logs(callee: Any) -> bool:
    """True if a function writes to a log, or warns, which must happen at run time."""
    owner = getattr(callee, "__self__", None)
    logger = isinstance(owner, (logging.Logger, logging.LoggerAdapter))
    return logger or callee is warnings.warn or getattr(callee, "__module__", "") == "logging"
