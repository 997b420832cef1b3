"""Objects of user-defined classes that compiled code makes.

An object is a heap object: a dict of its attributes, with its class under ``__class__``.
Branches and loops treat it as they treat a dict. Its methods are inlined where they are called.
A Cell cannot be made by compiled code.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.structures import Known, Node, is_named_tuple, registered
from autodiff_compiler.errors import CallError
from autodiff_compiler.frontend.abstract.heap import detach
from autodiff_compiler.frontend.abstract.values import OBJECT, HeapRef, holds_values
from autodiff_compiler.frontend.core.guards import is_generated_method, is_user_code
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.core.python_values import to_python
from autodiff_compiler.frontend.objects.attribute_protocol import (
    class_attribute,
    is_frozen,
    set_attribute,
    set_attribute_plainly,
)
from autodiff_compiler.ops.transforms.nested_arguments import Flat


def make_object(
    low: Lowering, cls: type, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> HeapRef:
    """Returns a new object: ``cls(*args, **kwargs)``."""
    ref = low.allocate(OBJECT, {"__class__": cls})
    init = inspect.getattr_static(cls, "__init__")
    low.compilation.guard_class_attribute(cls, "__init__")
    if dataclasses.is_dataclass(cls) and is_generated_method(init):
        _set_fields(low, ref, cls, args, kwargs)
    elif init is not object.__init__:
        low.call(types.MethodType(class_attribute(low, cls, "__init__"), ref), args, kwargs)
    elif args or kwargs:
        raise low.fail(
            CallError, f"{cls.__name__}() takes no arguments", "call it without arguments"
        )
    return ref


def call_flat(low: Lowering, flat: Flat, args: Sequence[Any]) -> Any:
    """Calls a function with arguments that are rebuilt from their leaves."""
    if (path := low.compilation.path(flat)) is not None:
        for number, thing in enumerate(flat.known):
            low.compilation.register_path(thing, f"{path}.known[{number}]")
    remaining = iter(args)
    arguments = [_rebuild_container(low, skeleton, remaining) for skeleton in flat.skeletons]
    count = len(arguments) - len(flat.keywords)
    return low.call(flat.fn, arguments[:count], dict(zip(flat.keywords, arguments[count:])))


def _rebuild_container(low: Lowering, skeleton: Any, leaves: Iterator[Any]) -> Any:
    """Returns a container of compiled code with these leaves."""
    if isinstance(skeleton, Known):
        return low.lifted(skeleton.value)
    if not isinstance(skeleton, Node):
        return next(leaves)
    parts = [_rebuild_container(low, part, leaves) for part in skeleton.parts]
    kind = skeleton.kind
    if known := registered(kind):
        return low.call(known[1], (skeleton.rest, tuple(parts)), {})
    if kind is list:
        return low.new_list(parts)
    if kind is tuple or is_named_tuple(kind):
        return tuple(parts) if kind is tuple else kind(*parts)
    named = dict(zip(skeleton.keys or (), parts))
    if kind is dict:
        return low.allocate("dict", named)
    rebuilt = low.allocate(OBJECT, {"__class__": kind, **named})
    low.compilation.argument_objects.add(rebuilt)
    return rebuilt


def open_objects(low: Lowering, value: Any) -> tuple[Any, Any]:
    """Returns an outcome without objects, and the tree to build them again.

    Lists, named tuples and objects become tuples and dicts. The tree has lists, tuples, dicts and
    nodes in their places; it is None where there are none of them.
    """
    inner: Any = low.state.heap.get(value) if isinstance(value, HeapRef) else value
    if isinstance(inner, dict):
        cls = inner.get("__class__")
        if registered(cls) or dataclasses.is_dataclass(cls):
            return _open_object(low, value, inner, cls)
        opened = {key: open_objects(low, item) for key, item in inner.items()}
        plain = {key: item for key, (item, _) in opened.items()}
        trees = {key: tree for key, (_, tree) in opened.items()}
        return plain, trees if _has_tree(trees.values()) else None
    if not isinstance(inner, (tuple, list)):
        return value, None
    parts = [open_objects(low, item) for item in inner]
    items, places = tuple(item for item, _ in parts), [tree for _, tree in parts]
    if is_named_tuple(type(inner)):
        return items, Node(type(inner), None, tuple(places))
    if isinstance(inner, list) or isinstance(value, HeapRef) and value.kind == "list":
        return items, places
    return items, tuple(places) if _has_tree(places) else None


def _has_tree(trees: Iterable[Any]) -> bool:
    return any(tree is not None for tree in trees)


def _open_object(
    low: Lowering, ref: Any, attributes: Mapping[str, Any], cls: Any
) -> tuple[Any, Any]:
    """Returns an object's parts without objects, and the node to build it again."""
    if known := registered(cls):
        parts, rest = low.call(known[0], (ref,), {})
        opened = [open_objects(low, part) for part in low.contents(parts)]
        trees = tuple(tree for _, tree in opened)
        return tuple(item for item, _ in opened), Node(cls, None, trees, to_python(low, rest))
    plain: dict[str, Any] = {}
    keys: list[str] = []
    places: list[Any] = []
    for key, item in attributes.items():
        if key == "__class__":
            continue
        thing, tree = open_objects(low, item)
        keys.append(key)
        if holds_values(detach(item, low.state)):
            plain[key] = thing
            places.append(tree)
        else:
            places.append(Known(to_python(low, item)))
    return plain, Node(cls, tuple(keys), tuple(places))


def _set_fields(
    low: Lowering, ref: HeapRef, cls: type, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Sets the fields as the ``__init__`` that ``dataclass`` generates does."""
    signature, init = inspect.signature(cls), inspect.getattr_static(cls, "__init__")
    if (path := low.compilation.path(cls)) is not None:
        for place in ("__defaults__", "__kwdefaults__"):
            low.compilation.add_guard(f"{path}.__init__.{place}", getattr(init, place))
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise low.fail(
            CallError, f"{cls.__name__}(): {error}", "pass the fields that the class declares"
        ) from None
    for field in dataclasses.fields(cls):
        if field.name in bound.arguments:
            value = bound.arguments[field.name]
        elif field.default_factory is not dataclasses.MISSING:
            value = low.call(field.default_factory, (), {})
        elif field.init and field.default is not dataclasses.MISSING:
            value = low.lifted(signature.parameters[field.name].default)
        elif field.default is not dataclasses.MISSING:
            value = low.lifted(field.default)
        else:
            continue
        if is_frozen(cls):
            set_attribute_plainly(low, ref, field.name, value)
        else:
            set_attribute(low, ref, field.name, value)
    if "__post_init__" in init.__code__.co_names:
        low.compilation.guard_class_attribute(cls, "__post_init__")
        low.call(types.MethodType(class_attribute(low, cls, "__post_init__"), ref), (), {})


def is_user_class(callee: Any) -> bool:
    """True for a plain user-defined class, whose objects compiled code can make."""
    if not isinstance(callee, type) or issubclass(callee, (Cell, BaseException)):
        return False
    if not is_user_code(callee):
        return False
    init = inspect.getattr_static(callee, "__init__")
    plain = callee.__new__ is object.__new__ and type(callee).__call__ is type.__call__
    return plain and (init is object.__init__ or isinstance(init, types.FunctionType))
