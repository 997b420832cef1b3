"""Objects of the user's own classes that a text makes.

Such an object is a cell of the heap, as a list or dict is: a dict of its attributes, and of its
class under ``__class__``. So branches and loops treat it as they treat a dict. Its methods are
texts, written out where they are called. A Cell is no such object: it is a model, made for good.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.structures import Known, Node, is_named_tuple, registered
from autodiff_compiler.errors import CallError
from autodiff_compiler.frontend.abstract.heap import detach
from autodiff_compiler.frontend.abstract.values import OBJECT, HeapRef, holds_values
from autodiff_compiler.frontend.core.assumptions import is_generated_method, is_user_code
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.core.python_values import to_python
from autodiff_compiler.frontend.objects.attribute_protocol import (
    class_attribute,
    set_attribute,
    set_attribute_plainly,
)
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ops.transforms.nested_arguments import Flat

#: What has no method of the user's, as is known at a glance.
PLAINEST = (Value, int, float, bool, str, tuple, type(None))


def make_object(
    low: Lowering, cls: type, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> HeapRef:
    """``cls(*args, **kwargs)``."""
    ref = low.allocate(OBJECT, {"__class__": cls})
    init = inspect.getattr_static(cls, "__init__")
    low.compilation.guard_class_attribute(cls, "__init__")
    if dataclasses.is_dataclass(cls) and is_generated_method(init):
        _fill(low, ref, cls, args, kwargs)
    elif init is not object.__init__:
        low.call(types.MethodType(class_attribute(low, cls, "__init__"), ref), args, kwargs)
    elif args or kwargs:
        raise low.fail(
            CallError, f"{cls.__name__}() takes no arguments", "call it without arguments"
        )
    return ref


def call_flat(low: Lowering, flat: Flat, args: Sequence[Any]) -> Any:
    """The outcome of a function whose arguments have these leaves."""
    if (path := low.compilation.path(flat)) is not None:
        for number, thing in enumerate(flat.known):
            low.compilation.register_path(thing, f"{path}.known[{number}]")
    row = iter(args)
    found = [_rebuild_container(low, skeleton, row) for skeleton in flat.skeletons]
    count = len(found) - len(flat.keywords)
    return low.call(flat.fn, found[:count], dict(zip(flat.keywords, found[count:])))


def _rebuild_container(low: Lowering, skeleton: Any, leaves: Iterator[Any]) -> Any:
    """A container with these leaves, as the text sees it."""
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
    made = low.allocate(OBJECT, {"__class__": kind, **named})
    low.compilation.argument_objects.add(made)
    return made


def open_objects(low: Lowering, value: Any) -> tuple[Any, Any]:
    """What is returned, without objects, and where the user's lists, named tuples and objects
    stand in it: a tree of lists, tuples, dicts and nodes, None for what holds none of these."""
    inner: Any = low.state.heap.get(value) if isinstance(value, HeapRef) else value
    cls: Any = inner.get("__class__") if isinstance(inner, dict) else None
    if registered(cls) or dataclasses.is_dataclass(cls):
        return _opened_object(low, value, inner, cls)
    if isinstance(inner, dict):
        found = {key: open_objects(low, item) for key, item in inner.items()}
        trees = {key: tree for key, (_, tree) in found.items()}
        plain = {key: item for key, (item, _) in found.items()}
        return plain, trees if any(tree is not None for tree in trees.values()) else None
    if not isinstance(inner, (tuple, list)):
        return value, None
    parts = [open_objects(low, item) for item in inner]
    made, row = tuple(item for item, _ in parts), [tree for _, tree in parts]
    if is_named_tuple(type(inner)):
        return made, Node(type(inner), None, tuple(row))
    if isinstance(inner, list) or isinstance(value, HeapRef) and value.kind == "list":
        return made, row
    return made, tuple(row) if any(tree is not None for tree in row) else None


def _opened_object(low: Lowering, ref: Any, held: Mapping[str, Any], cls: type) -> tuple[Any, Any]:
    if known := registered(cls):
        parts, rest = low.call(known[0], (ref,), {})
        found = [open_objects(low, part) for part in low.contents(parts)]
        trees = tuple(tree for _, tree in found)
        return tuple(item for item, _ in found), Node(cls, None, trees, to_python(low, rest))
    plain: dict[str, Any] = {}
    keys: list[str] = []
    places: list[Any] = []
    for key, item in held.items():
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


def _fill(
    low: Lowering, ref: HeapRef, cls: type, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """What the ``__init__`` does that ``dataclass`` writes."""
    signature = inspect.signature(cls)
    if (path := low.compilation.path(cls)) is not None:
        low.compilation.add_guard(f"{path}.__init__.__defaults__", cls.__init__.__defaults__)  # type: ignore[misc]
        low.compilation.add_guard(f"{path}.__init__.__kwdefaults__", cls.__init__.__kwdefaults__)  # type: ignore[misc]
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
        if cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
            set_attribute_plainly(low, ref, field.name, value)
        else:
            set_attribute(low, ref, field.name, value)
    if "__post_init__" in cls.__init__.__code__.co_names:  # type: ignore[misc]
        low.compilation.guard_class_attribute(cls, "__post_init__")
        low.call(types.MethodType(class_attribute(low, cls, "__post_init__"), ref), (), {})


def is_users(callee: Any) -> bool:
    """Whether ``callee`` is a class whose objects are made by texts: a plain one of the user's."""
    if not isinstance(callee, type) or issubclass(callee, (Cell, BaseException)):
        return False
    if not is_user_code(callee):
        return False
    made = inspect.getattr_static(callee, "__init__")
    plain = callee.__new__ is object.__new__ and type(callee).__call__ is type.__call__
    return plain and (made is object.__init__ or isinstance(made, types.FunctionType))
