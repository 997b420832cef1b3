"""The methods of lists and dicts on the heap."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from autodiff_compiler.errors import CompileError, DTypeError, UnsupportedSyntax
from autodiff_compiler.frontend.abstract import iterators, runtime_lists
from autodiff_compiler.frontend.abstract.values import ContainerMethod, DictView, HeapRef
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.expressions.comparisons import equal_values
from autodiff_compiler.frontend.library.builtins import BUILTINS
from autodiff_compiler.ir.nodes import Value


def call_container_method(
    low: Lowering, method: ContainerMethod, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Calls ``l.append(x)``, ``d.items()`` and so on, on the heap's present contents."""
    try:
        return _call_method(low, method, args, kwargs)
    except CompileError:
        raise
    except (LookupError, TypeError, ValueError) as error:
        raise low.fail(
            DTypeError,
            f"the {method.ref.kind} method '{method.name}' fails: {error}",
            "check the container before the call: if x in items",
        ).meaning(error) from None


def _call_method(
    low: Lowering, method: ContainerMethod, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Calls a method. Raises what Python raises."""
    ref, name, heap = method.ref, method.name, low.state.heap
    if ref.kind == "list" and name == "sort":
        if args:
            raise TypeError("sort() takes no positional arguments")
        heap[ref] = heap[BUILTINS[sorted](low, ref, *args, **kwargs)]
        return None
    if name == "update":
        args = (*args, kwargs)
    elif kwargs:
        raise TypeError(f"{name}() takes no keyword arguments")
    if runtime_lists.is_runtime_list(heap[ref]):
        return runtime_lists.call_method(low, ref, name, args)
    if args and name not in _TAKING_VALUES:
        args = (low.static(args[0], "the index or key"), *args[1:])
    handler = _METHODS.get((ref.kind, name))
    if handler is None:
        raise low.fail(
            UnsupportedSyntax,
            f"the {ref.kind} method '{name}' is not supported in compiled code",
            f"use another way to build the {ref.kind}: a literal, a comprehension, or item "
            "assignment",
        )
    return handler(low, ref, args)


def _python_copy(low: Lowering, ref: HeapRef) -> Any:
    """Returns the contents of a heap object as a list or dict of Python."""
    contents = low.state.heap[ref]
    return list(contents) if ref.kind == "list" else dict(contents)


def _change(name: str, low: Lowering, ref: HeapRef, args: Sequence[Any]) -> Any:
    """Changes a container by Python's method, and returns what that returns."""
    changed = _python_copy(low, ref)
    result = getattr(changed, name)(*args)
    low.state.heap[ref] = tuple(changed) if ref.kind == "list" else changed
    return result


def _extend(low: Lowering, ref: HeapRef, args: Sequence[Any]) -> None:
    """Appends the items of an iterable, which may be a list of run-time length."""
    if len(args) != 1:
        raise TypeError(f"list.extend() takes exactly one argument ({len(args)} given)")
    heap, added = low.state.heap, args[0]
    if isinstance(added, HeapRef) and not iterators.is_iterator(added):
        added = heap[added]
    if runtime_lists.is_runtime_list(added):
        heap[ref] = runtime_lists.require_one_type(
            low, runtime_lists.concatenate(low, heap[ref], added)
        )
    else:
        heap[ref] = (*heap[ref], *low.sequence(added))


def _update(low: Lowering, ref: HeapRef, args: Sequence[Any]) -> None:
    """Updates a dict from a dict or pairs, and from the keyword arguments, which come last."""
    if len(args) > 2:
        raise TypeError(f"update expected at most 1 argument, got {len(args) - 1}")
    changed = dict(low.state.heap[ref])
    for source in map(low.contents, args):
        changed.update(source if isinstance(source, dict) else low.sequence(source))
    low.state.heap[ref] = changed


def _remove(low: Lowering, ref: HeapRef, args: Sequence[Any]) -> None:
    """Removes the first item that equals a value."""
    items = list(low.state.heap[ref])
    del items[_search("remove", low, ref, args)]
    low.state.heap[ref] = tuple(items)


def _search(name: str, low: Lowering, ref: HeapRef, args: Sequence[Any]) -> int:
    """Returns the count of the items that equal a value, or the position of the first."""
    ends = [low.static(end, "a position") for end in args[1:]]
    with suppress(ValueError):
        getattr([], name)(*args[:1], *ends)  # raises TypeError for a wrong call
    wanted = args[0]
    matches = [equal_values(low, item, wanted) for item in low.state.heap[ref]]
    if any(isinstance(match, Value) for match in matches):
        raise low.fail(
            UnsupportedSyntax,
            f"the list method '{name}' compares values known only when the function runs",
            "keep the index of the item in a variable",
        )
    if name == "count":
        return matches.count(True)
    try:
        return matches.index(True, *ends)
    except ValueError:
        subject = "list.remove(x): x" if name == "remove" else f"{wanted!r} is"
        raise ValueError(f"{subject} not in list") from None


def _copy(low: Lowering, ref: HeapRef, args: Sequence[Any]) -> HeapRef:
    """Returns a shallow copy."""
    copied = _python_copy(low, ref).copy(*args)
    return low.new_list(copied) if ref.kind == "list" else low.allocate("dict", copied)


def _get(low: Lowering, ref: HeapRef, args: Sequence[Any]) -> Any:
    """Returns ``d.get(key, default)``."""
    return low.state.heap[ref].get(*args)


def _view(name: str, low: Lowering, ref: HeapRef, args: Sequence[Any]) -> DictView:
    """Returns a view of a dict, which sees its changes."""
    if args:
        raise TypeError(f"dict.{name}() takes no arguments ({len(args)} given)")
    return DictView(name, ref)


#: Methods whose first argument may be a run-time value. In other methods it must be known.
_TAKING_VALUES = ("append", "extend", "update")
#: The methods by the kind of container and their name; ``sort`` stands apart, for its keywords.
_METHODS: dict[tuple[str, str], Callable[[Lowering, HeapRef, Sequence[Any]], Any]] = {
    ("list", "extend"): _extend,
    ("list", "remove"): _remove,
    ("dict", "get"): _get,
    ("dict", "update"): _update,
    **{(kind, "copy"): _copy for kind in ("list", "dict")},
    **{("list", name): partial(_search, name) for name in ("count", "index")},
    **{("dict", name): partial(_view, name) for name in ("items", "keys", "values")},
    **{("dict", name): partial(_change, name) for name in ("clear", "pop", "setdefault")},
    **{
        ("list", name): partial(_change, name)
        for name in ("append", "clear", "insert", "pop", "reverse")
    },
}
