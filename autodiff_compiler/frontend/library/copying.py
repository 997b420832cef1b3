"""``copy.copy`` and ``copy.deepcopy``: of heap objects, of arrays of plain NumPy code, and of
outside containers.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from autodiff_compiler.errors import CompileError, UnsupportedSyntax
from autodiff_compiler.frontend.abstract.runtime_lists import is_runtime_list
from autodiff_compiler.frontend.abstract.values import HeapRef
from autodiff_compiler.frontend.core.guards import PLAIN
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.numpy_rules.names import ARRAY_METHODS
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import ScalarType


def _copy(low: Lowering, thing: Any) -> Any:
    """Returns a shallow copy."""
    thing = low.lifted(thing)
    if type(thing) in (list, dict, OrderedDict):
        return low.call(dict if isinstance(thing, dict) else list, (thing,), {})
    if isinstance(thing, HeapRef) and thing.kind in ("list", "dict", "object"):
        method = low.special(thing, "__copy__")
        return (
            low.call(method, (), {}) if method else low.allocate(thing.kind, low.state.heap[thing])
        )
    if (
        isinstance(thing, Value)
        and low.compilation.numpy
        and not isinstance(thing.type, ScalarType)
    ):
        return low.macro(ARRAY_METHODS["copy"], [thing], {})
    if isinstance(thing, (*PLAIN, tuple)) or _is_number(thing):
        return thing
    raise _cannot_copy(low, thing)


def _deepcopy(low: Lowering, thing: Any, copies: dict[HeapRef, HeapRef] | None = None) -> Any:
    """Returns a deep copy. ``copies`` holds the lists and dicts that were copied before."""
    copies = {} if copies is None else copies
    thing = low.lifted(thing)
    if type(thing) in (list, dict, OrderedDict):
        thing = _copy(low, thing)
    if type(thing) is tuple:
        return tuple(_deepcopy(low, item, copies) for item in thing)
    if not isinstance(thing, HeapRef):
        return _copy(low, thing)
    if thing.kind not in ("list", "dict"):
        raise _cannot_copy(low, thing)
    if thing not in copies:
        contents = low.state.heap[thing]
        copied = copies[thing] = low.allocate(thing.kind, contents)
        if isinstance(contents, dict):
            low.state.heap[copied] = {k: _deepcopy(low, v, copies) for k, v in contents.items()}
        elif not is_runtime_list(contents):
            low.state.heap[copied] = tuple(_deepcopy(low, item, copies) for item in contents)
    return copies[thing]


def _is_number(thing: Any) -> bool:
    return isinstance(thing, Value) and isinstance(thing.type, ScalarType)


def _cannot_copy(low: Lowering, thing: Any) -> CompileError:
    is_tensor = isinstance(thing, Value)
    what = "a Tensor" if is_tensor else f"a {getattr(thing, 'kind', type(thing).__name__)}"
    return low.fail(
        UnsupportedSyntax,
        f"copying {what} is not supported in compiled code",
        "write x.copy()" if is_tensor else "copy its attributes one by one",
    )


COPYING: dict[Any, Callable[..., Any]] = {copy.copy: _copy, copy.deepcopy: _deepcopy}
