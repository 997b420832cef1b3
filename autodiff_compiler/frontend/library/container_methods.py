"""The methods of lists and dicts that the text made, on the heap's present contents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autodiff_compiler.errors import CompileError, DTypeError, UnsupportedSyntax
from autodiff_compiler.frontend.abstract import iterators, runtime_lists
from autodiff_compiler.frontend.abstract.values import ContainerMethod, DictView, HeapRef
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.expressions.comparisons import equal_values
from autodiff_compiler.frontend.library.builtins import BUILTINS
from autodiff_compiler.ir.nodes import Value


def heap_method(
    low: Lowering, method: ContainerMethod, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """``l.append(x)``, ``d.items()`` and so on, on the heap's present contents."""
    try:
        return _heap_method(low, method, args, kwargs)
    except CompileError:
        raise
    except (LookupError, TypeError, ValueError) as error:
        raise low.fail(
            DTypeError,
            f"the {method.ref.kind} method '{method.name}' fails: {error}",
            "check the container before the call: if x in items",
        ).meaning(error) from None


def _heap_method(  # noqa: C901
    low: Lowering, method: ContainerMethod, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    if method.ref.kind == "list" and method.name == "sort":
        low.state.heap[method.ref] = low.state.heap[
            BUILTINS[sorted](low, method.ref, *args, **kwargs)
        ]
        return None
    if kwargs and method.name != "update":
        raise TypeError(f"{method.name}() takes no keyword arguments")
    contents, heap, ref = low.state.heap[method.ref], low.state.heap, method.ref
    if runtime_lists.is_runtime_list(contents):
        return runtime_lists.call_method(low, ref, method.name, args)
    takes_any = method.name in ("append", "extend", "update")
    known = [] if takes_any else [low.static(arg, "the index or key") for arg in args[:1]]
    if ref.kind == "list":
        items = list(contents)
        if method.name in ("index", "count", "remove"):
            found = _looked_for(low, items, method.name, *known, *args[1:])
            if method.name == "remove":
                del items[found]
                heap[ref] = tuple(items)
            return None if method.name == "remove" else found
        if method.name in ("append", "extend", "insert", "pop", "reverse", "clear"):
            result = None
            if method.name == "append":
                items.append(args[0])
            elif method.name == "extend":
                added = args[0]
                if isinstance(added, HeapRef) and not iterators.is_iterator(added):
                    added = heap[added]
                if runtime_lists.is_runtime_list(added):
                    heap[ref] = runtime_lists.require_one_type(
                        low, runtime_lists.concatenate(low, contents, added)
                    )
                    return None
                items.extend(low.sequence(added))
            else:
                result = getattr(items, method.name)(*(known + list(args[1:])))
            heap[ref] = tuple(items)
            return result
        if method.name == "copy":
            return low.new_list(items)
    if ref.kind == "dict":
        if method.name in ("items", "keys", "values"):
            return DictView(method.name, ref)
        if method.name == "get":
            return contents.get(known[0], *args[1:])
        if method.name == "copy":
            return low.allocate("dict", dict(contents))
        if method.name in ("update", "pop", "setdefault", "clear"):
            changed = dict(contents)
            if method.name == "update":
                for source in (*args, kwargs):
                    source = low.contents(source)
                    changed.update(source if isinstance(source, dict) else low.sequence(source))
                result = None
            else:
                result = getattr(changed, method.name)(*(known + list(args[1:])))
            heap[ref] = changed
            return result
    raise low.fail(
        UnsupportedSyntax,
        f"the {ref.kind} method '{method.name}' is not supported in compiled code",
        f"use another way to build the {ref.kind}: a literal, a comprehension, or item assignment",
    )


def _looked_for(low: Lowering, items: Sequence[Any], name: str, thing: Any, *ends: Any) -> int:
    """How many items equal ``thing`` (``count``), or where the first is."""
    alike = [equal_values(low, item, thing) for item in items]
    if any(isinstance(one, Value) for one in alike):
        raise low.fail(
            UnsupportedSyntax,
            f"the list method '{name}' compares values known only when the function runs",
            "keep the index of the item in a variable",
        )
    if name == "count":
        return alike.count(True)
    try:
        return alike.index(True, *(low.static(end, "a position") for end in ends))
    except ValueError:
        told = "list.remove(x): x" if name == "remove" else f"{thing!r} is"
        raise ValueError(f"{told} not in list") from None
