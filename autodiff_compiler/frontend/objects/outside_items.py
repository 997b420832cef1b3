"""Items of dicts from outside that the text writes, and the ``__dict__`` of objects.

An item of a dict is written as an attribute is: a cell of the heap stands for it, and it is put
into the dict after forward has run. What is in the ``__dict__`` of an object is an attribute of it,
but where the class has a descriptor that sets: only there the two are not the same.
"""

from __future__ import annotations

from typing import Any

from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.errors import UnsupportedSyntax
from autodiff_compiler.frontend.abstract.values import ObjectDict
from autodiff_compiler.frontend.core.assumptions import MISSING, has_literal_repr
from autodiff_compiler.frontend.core.error_translation import missing_item
from autodiff_compiler.frontend.objects.attribute_protocol import store_own
from autodiff_compiler.frontend.objects.outside_writes import store_outside
from autodiff_compiler.interface import Item, special
from autodiff_compiler.ir.nodes import Value


def read(low: Any, owner: Any, key: Any) -> Any:
    """``owner[key]``, where that is an item that the text writes, or an attribute that it has made;
    ``MISSING`` of all others."""
    if isinstance(owner, ObjectDict):
        held = low.state.heap[owner.ref]
        _refuse_descriptor(low, held["__class__"], key)
        if key == "__class__" or key not in held:
            raise missing_item(low, {each: None for each in held if each != "__class__"}, key,
                              KeyError(key))  # fmt: skip
        return held[key]
    if not isinstance(owner, dict):
        return MISSING
    thing, name = _place(low, owner, key)
    cell = low.compilation.heap_object_of(low.state.heap, thing, name)
    held = MISSING if cell is None else low.state.heap[cell]
    return held if held is MISSING else low.certainly(held)


def has(low: Any, owner: Any, key: Any) -> bool | None:
    """Return whether there is an item, of a dict of which the text writes some; None for others."""
    source = low.compilation.source_of(owner)
    if (
        not isinstance(source, dict)
        or not low.compilation.holds_written(source)
        or not has_literal_repr(key)
    ):
        return None
    thing, name = _place(low, source, key)
    cell = low.compilation.heap_object_of(low.state.heap, thing, name)
    if cell is not None:
        held = low.state.heap[cell]
        return held is not MISSING and low.certainly(held) is not MISSING
    if key not in source and (path := low.compilation.path(source)) is not None:
        low.compilation.guard_missing_key(path, key)
    return key in source and low.compilation.item(source, key) is not MISSING


def store(low: Any, owner: Any, key: Any, value: Any) -> bool:
    """``owner[key] = value`` for a dict from outside or a ``__dict__``; whether it is one."""
    if isinstance(owner, ObjectDict):
        cls = low.state.heap[owner.ref]["__class__"]
        key = low.static(key, "the name of an attribute")
        _refuse_descriptor(low, cls, key)
        store_own(low, owner.ref, cls, key, value)
        return True
    source = low.compilation.source_of(owner)
    path = low.compilation.path(source)
    if path is None or not _is_plain(source) or _is_argument(source, path):
        return False
    key = low.static(key, "the key of an item that is written")
    if not has_literal_repr(key) or key is None:
        raise low.fail(
            UnsupportedSyntax,
            "this writes an item of a dict that was made outside of the function, whose key is a "
            f"{type(key).__name__}",
            "use a string or a number as the key",
        )
    thing, name = _place(low, source, key)
    if not isinstance(name, Item):
        low.compilation.guard_special_method(thing, name)  # the class may gain a descriptor
        store_outside(low, thing, name, value)
        return True
    if isinstance(source.get(key), Parameter) or isinstance(
        low.original(value) if isinstance(value, Value) else value, Parameter
    ):
        raise low.fail(
            UnsupportedSyntax,
            f"this writes the item {key!r} of a dict that was made outside of the function, and "
            "a Parameter stands there, or would",
            "assign the Parameter's value with ops.assign, or store a copy: parameter * 1",
        )
    low.compilation.pin(source)
    low.compilation.guard_special_method(source, "__setitem__")
    store_outside(low, source, name, value)
    return True


def _place(low: Any, owner: Any, key: Any) -> tuple[Any, Any]:
    """Return what has the cell of an item, and by which name: the object, for its ``__dict__``."""
    source = low.compilation.source_of(owner)
    thing = low.compilation.dict_owners.get(id(source))
    if thing is None or not isinstance(key, str):
        return source, Item(key)
    found = special(type(thing), key)
    return (source, Item(key)) if special(type(found), "__set__") else (thing, key)


def _is_plain(thing: Any) -> bool:
    """Decide whether the items of ``thing`` are set as those of a dict are."""
    kind = type(thing)
    ways = ("__setitem__", "__getitem__")
    return isinstance(thing, dict) and not hasattr(kind, "__missing__") and all(
        getattr(kind, way) is getattr(dict, way) for way in ways)  # fmt: skip


def _is_argument(thing: Any, path: str) -> bool:
    """Decide whether a dict is an argument, or an item of one, which is the caller's."""
    return type(thing) is dict and path.startswith("slots[") and "." not in path


def _refuse_descriptor(low: Any, cls: type, key: Any) -> None:
    """Refuses the item of a ``__dict__`` which the attribute of that name is not."""
    if isinstance(key, str) and special(
        type(low.compilation.guard_class_attribute(cls, key)), "__set__"
    ):
        raise low.fail(
            UnsupportedSyntax,
            f"the class '{cls.__name__}' has a descriptor '{key}', and this is the item {key!r} of "
            "the __dict__ of an object that the function makes",
            f"keep it under another name, such as '_{key}'",
        )
