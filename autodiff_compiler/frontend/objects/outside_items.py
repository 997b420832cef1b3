"""Written items of outside dicts, and the ``__dict__`` of objects.

A written item is treated as a written attribute: it has a heap object, and the run time stores it
after forward. An item of the ``__dict__`` of an object is an attribute of the object. The exception
is a data descriptor of that name in the class.
"""

from __future__ import annotations

from typing import Any

from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.errors import UnsupportedSyntax
from autodiff_compiler.frontend.abstract.values import ObjectDict
from autodiff_compiler.frontend.core.error_translation import missing_item
from autodiff_compiler.frontend.core.guards import MISSING, has_literal_repr
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.objects.attribute_protocol import store_own_attribute
from autodiff_compiler.frontend.objects.outside_writes import store_outside
from autodiff_compiler.interface.compiled import Item, special
from autodiff_compiler.ir.nodes import Value


def read_item(low: Lowering, owner: Any, key: Any) -> Any:
    """Returns ``owner[key]`` for a written item of an outside dict, and for the ``__dict__`` of an
    object on the heap. Returns ``MISSING`` for others."""
    if isinstance(owner, ObjectDict):
        contents = low.state.heap[owner.ref]
        _refuse_descriptor(low, contents["__class__"], key)
        if key == "__class__" or key not in contents:
            attributes = {name: None for name in contents if name != "__class__"}
            raise missing_item(low, attributes, key, KeyError(key))
        return contents[key]
    if not isinstance(owner, dict):
        return MISSING
    thing, name = _place(low, owner, key)
    ref = low.heap_object_of(thing, name)
    contents = MISSING if ref is None else low.state.heap[ref]
    return contents if contents is MISSING else low.certainly(contents)


def has_item(low: Lowering, owner: Any, key: Any) -> bool | None:
    """Returns the answer to ``key in owner`` for an outside dict with written items; None for other
    owners.
    """
    source = low.compilation.source_of(owner)
    if (
        not isinstance(source, dict)
        or not low.compilation.holds_written(source)
        or not has_literal_repr(key)
    ):
        return None
    thing, name = _place(low, source, key)
    ref = low.heap_object_of(thing, name)
    if ref is not None:
        contents = low.state.heap[ref]
        return contents is not MISSING and low.certainly(contents) is not MISSING
    if key not in source and (path := low.compilation.path(source)) is not None:
        low.compilation.guard_missing_key(path, key)
    return key in source and low.compilation.item(source, key) is not MISSING


def store_item(low: Lowering, owner: Any, key: Any, value: Any) -> bool:
    """Sets an item of an outside dict or of a ``__dict__``. Returns False for other owners."""
    if isinstance(owner, ObjectDict):
        cls = low.state.heap[owner.ref]["__class__"]
        key = low.static(key, "the name of an attribute")
        _refuse_descriptor(low, cls, key)
        store_own_attribute(low, owner.ref, cls, key, value)
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
            f"this writes the item {key!r} of a dict that was made outside of the function; "
            "the old or the new value is a Parameter",
            "assign the Parameter's value with ops.assign, or store a copy: parameter * 1",
        )
    low.compilation.require_identity(source)
    low.compilation.guard_special_method(source, "__setitem__")
    store_outside(low, source, name, value)
    return True


def _place(low: Lowering, owner: Any, key: Any) -> tuple[Any, Any]:
    """Returns the owner of an item's heap object and its name there. The owner is the object itself
    for an item of its ``__dict__``."""
    source = low.compilation.source_of(owner)
    thing = low.compilation.dict_owners.get(id(source))
    if thing is None or not isinstance(key, str):
        return source, Item(key)
    descriptor = special(type(thing), key)
    return (source, Item(key)) if special(type(descriptor), "__set__") else (thing, key)


def _is_plain(thing: Any) -> bool:
    """True for a dict whose class reads and sets items as ``dict`` does."""
    kind = type(thing)
    if not isinstance(thing, dict) or hasattr(kind, "__missing__"):
        return False
    return kind.__setitem__ is dict.__setitem__ and kind.__getitem__ is dict.__getitem__


def _is_argument(thing: Any, path: str) -> bool:
    """True if a dict is an argument, or an item of one."""
    return type(thing) is dict and path.startswith("slots[") and "." not in path


def _refuse_descriptor(low: Lowering, cls: type, key: Any) -> None:
    """Refuses an item of a ``__dict__`` where the class has a data descriptor of that name."""
    if isinstance(key, str) and special(
        type(low.compilation.guard_class_attribute(cls, key)), "__set__"
    ):
        raise low.fail(
            UnsupportedSyntax,
            f"the class '{cls.__name__}' has a descriptor '{key}'; this is the item {key!r} of "
            "the __dict__ of an object that the function makes",
            f"keep it under another name, such as '_{key}'",
        )
