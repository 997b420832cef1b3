"""Reachability: the outside objects that methods of an object can access.

A method such as ``__getattr__`` that Python runs at compile time sees objects as they were before
the call. This is right as long as it can reach no object that the source function writes.
"""

from __future__ import annotations

import gc
import sys
import types
import weakref
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.cost_model import costs
from autodiff_compiler.frontend.core.guards import PLAIN, is_user_code

#: Names in a function through which it can reach everything.
_EVERYTHING = {"eval", "exec", "globals", "locals", "import_module", "__import__", "gc", "sys"}
_NOTHING = (*PLAIN, Tensor, types.BuiltinFunctionType, types.MappingProxyType, np.generic)


def reaches(thing: Any, wanted: Collection[int]) -> bool:
    """True if the methods of ``thing`` can reach an object with one of these ids. They reach the
    attributes of objects, and the names in the functions of their classes.
    """
    seen: set[int] = set()
    reached = [thing]  # keeps each object alive, so that no id is used again meanwhile
    for each in reached:
        if id(each) in wanted or len(seen) > costs().reached_objects:
            return True
        if id(each) in seen or isinstance(each, _NOTHING):
            continue
        seen.add(id(each))
        if isinstance(each, types.FunctionType) and _EVERYTHING & _names(each.__code__):
            return True
        reached.extend(_parts(each))
    return False


def _parts(thing: Any) -> Iterator[Any]:
    """Yields the objects that ``thing`` reaches directly."""
    if isinstance(thing, types.FunctionType):
        yield from _parts_of_function(thing)
    elif isinstance(thing, types.ModuleType):
        if _is_theirs(thing.__name__):
            yield from vars(thing).values()
    elif isinstance(thing, type):
        if is_user_code(thing):
            yield from (*thing.__mro__, *vars(thing).values())
    elif isinstance(thing, weakref.ref):
        yield thing()
    elif not isinstance(thing, np.ndarray):
        yield from gc.get_referents(thing)
    elif thing.dtype.hasobject:
        yield thing.tolist()  # the collector does not see the items of an array


def _parts_of_function(function: types.FunctionType) -> Iterator[Any]:
    if not is_user_code(function):
        return
    yield from (function.__closure__, function.__defaults__, function.__kwdefaults__)
    yield vars(function)
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield function.__globals__[name]
        elif name in sys.modules:  # imported in the function
            yield sys.modules[name]


def _names(code: types.CodeType) -> set[str]:
    """Returns the names of the free variables and attributes that a function reads."""
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _is_theirs(module: str) -> bool:
    return is_user_code(types.SimpleNamespace(__module__=module))
