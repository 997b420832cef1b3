"""Objects of the user's own classes that a text makes.

Such an object is a cell of the heap, as a list or dict is: a dict of its attributes, and of its
class under ``__class__``. So branches and loops treat it as they treat a dict. Its methods are
texts, written out where they are called. A Cell is no such object: it is a model, made for good.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from autodiff_compiler.common.cell import Cell
from autodiff_compiler.common.structures import Known, Node, is_named_tuple, registered
from autodiff_compiler.errors import CallError, UnknownAttribute, UnsupportedSyntax
from autodiff_compiler.frontend.heap import frozen
from autodiff_compiler.frontend.outlines import OBJECT, Outlines
from autodiff_compiler.frontend.recording import MISSING, is_generated, is_theirs
from autodiff_compiler.frontend.resolve import suggested
from autodiff_compiler.frontend.values import Above, Ref, holds_values
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ops.nested import Flat

#: What has no method of the user's, as is known at a glance.
PLAINEST = (Value, int, float, bool, str, tuple, type(None))


class Objects(Outlines):
    """Adds objects to ``Outlines``."""

    def make_object(self, cls: type, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Ref:
        """``cls(*args, **kwargs)``."""
        ref = self.allocate(OBJECT, {"__class__": cls})
        init = inspect.getattr_static(cls, "__init__")
        self.world.assume_of_class(cls, "__init__")
        if dataclasses.is_dataclass(cls) and is_generated(init):
            self._fill(ref, cls, args, kwargs)
        elif init is not object.__init__:
            self.call(types.MethodType(self._from_class(cls, "__init__"), ref), args, kwargs)
        elif args or kwargs:
            raise self.fail(
                CallError, f"{cls.__name__}() takes no arguments", "call it without arguments"
            )
        return ref

    def call_flat(self, flat: Flat, args: Sequence[Any]) -> Any:
        """The outcome of a function whose arguments have these leaves."""
        if (path := self.world.path(flat)) is not None:
            for number, thing in enumerate(flat.known):
                self.world.know(thing, f"{path}.known[{number}]")
        row = iter(args)
        found = [self.instance(skeleton, row) for skeleton in flat.skeletons]
        count = len(found) - len(flat.keywords)
        return self.call(flat.fn, found[:count], dict(zip(flat.keywords, found[count:])))

    def instance(self, skeleton: Any, leaves: Iterator[Any]) -> Any:
        """A container with these leaves, as the text sees it."""
        if isinstance(skeleton, Known):
            return self.lifted(skeleton.value)
        if not isinstance(skeleton, Node):
            return next(leaves)
        parts = [self.instance(part, leaves) for part in skeleton.parts]
        kind = skeleton.kind
        if known := registered(kind):
            return self.call(known[1], (skeleton.rest, tuple(parts)), {})
        if kind is list:
            return self.new_list(parts)
        if kind is tuple or is_named_tuple(kind):
            return tuple(parts) if kind is tuple else kind(*parts)
        named = dict(zip(skeleton.keys or (), parts))
        if kind is dict:
            return self.allocate("dict", named)
        made = self.allocate(OBJECT, {"__class__": kind, **named})
        self.world.given.add(made)
        return made

    def opened(self, value: Any) -> tuple[Any, Any]:
        """What is returned, without objects, and where the user's lists, named tuples and objects
        stand in it: a tree of lists, tuples, dicts and nodes, None for what holds none of these."""
        inner: Any = self.state.heap.get(value) if isinstance(value, Ref) else value
        cls: Any = inner.get("__class__") if isinstance(inner, dict) else None
        if registered(cls) or dataclasses.is_dataclass(cls):
            return self._opened_object(value, inner, cls)
        if isinstance(inner, dict):
            found = {key: self.opened(item) for key, item in inner.items()}
            trees = {key: tree for key, (_, tree) in found.items()}
            plain = {key: item for key, (item, _) in found.items()}
            return plain, trees if any(tree is not None for tree in trees.values()) else None
        if not isinstance(inner, (tuple, list)):
            return value, None
        parts = [self.opened(item) for item in inner]
        made, row = tuple(item for item, _ in parts), [tree for _, tree in parts]
        if is_named_tuple(type(inner)):
            return made, Node(type(inner), None, tuple(row))
        if isinstance(value, Ref) and value.kind == "list":
            return made, row
        return made, tuple(row) if any(tree is not None for tree in row) else None

    def _opened_object(self, ref: Any, held: Mapping[str, Any], cls: type) -> tuple[Any, Any]:
        if known := registered(cls):
            parts, rest = self.call(known[0], (ref,), {})
            found = [self.opened(part) for part in self.contents(parts)]
            trees = tuple(tree for _, tree in found)
            return tuple(item for item, _ in found), Node(cls, None, trees, self.as_python(rest))
        plain: dict[str, Any] = {}
        keys: list[str] = []
        places: list[Any] = []
        for key, item in held.items():
            if key == "__class__":
                continue
            thing, tree = self.opened(item)
            keys.append(key)
            if holds_values(frozen(item, self.state)):
                plain[key] = thing
                places.append(tree)
            else:
                places.append(Known(self.as_python(item)))
        return plain, Node(cls, tuple(keys), tuple(places))

    def as_python(self, value: Any) -> Any:
        """A value that is known while compiling, with lists and dicts for references."""
        raise NotImplementedError

    def _fill(self, ref: Ref, cls: type, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """What the ``__init__`` does that ``dataclass`` writes."""
        signature = inspect.signature(cls)
        if (path := self.world.path(cls)) is not None:
            self.world.assume(f"{path}.__init__.__defaults__", cls.__init__.__defaults__)  # type: ignore[misc]
            self.world.assume(f"{path}.__init__.__kwdefaults__", cls.__init__.__kwdefaults__)  # type: ignore[misc]
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise self.fail(
                CallError, f"{cls.__name__}(): {error}", "pass the fields that the class declares"
            ) from None
        for field in dataclasses.fields(cls):
            if field.name in bound.arguments:
                value = bound.arguments[field.name]
            elif field.default_factory is not dataclasses.MISSING:
                value = self.call(field.default_factory, (), {})
            elif field.init and field.default is not dataclasses.MISSING:
                value = self.lifted(signature.parameters[field.name].default)
            elif field.default is not dataclasses.MISSING:
                value = self.lifted(field.default)
            else:
                continue
            self._set(ref, field.name, value)
        if "__post_init__" in cls.__init__.__code__.co_names:  # type: ignore[misc]
            self.world.assume_of_class(cls, "__post_init__")
            self.call(types.MethodType(self._from_class(cls, "__post_init__"), ref), (), {})

    def _from_class(self, cls: type, name: str) -> Any:
        """What ``cls`` defines under a name; from now on it is assumed to."""
        found = self.world.attribute(cls, name, self.builder.span)
        return getattr(found, "__func__", found)

    def object_attribute(self, thing: Ref | Above, name: str) -> Any:
        """``thing.name``: of the object itself, or of its class; for ``super()``, of the classes
        after the one that the method stands in."""
        ref = thing.ref if isinstance(thing, Above) else thing
        held = self.state.heap[ref]
        cls = held["__class__"]
        if name == "__dict__":
            raise self.fail(
                UnsupportedSyntax,
                f"vars() or __dict__ of an object '{cls.__name__}' is not supported in "
                "compiled code",
                "read the attributes one by one",
            )
        if isinstance(thing, Above):
            after = cls.__mro__[cls.__mro__.index(thing.owner) + 1 :]
            cls = next((base for base in after if name in vars(base)), object)
            if name == "__init__" and cls is object:
                return type(None)  # which takes no arguments either
        elif name in held:
            return held[name]
        found = inspect.getattr_static(cls, name, MISSING)
        if isinstance(found, (property, functools.cached_property)):
            getter = found.fget if isinstance(found, property) else found.func
            self.world.assume_of_class(cls, name)
            if (path := self.world.path(found)) is not None:
                place = "fget" if isinstance(found, property) else "func"
                self.world.know(getter, f"{path}.{place}")
            return self.call(types.MethodType(getter, ref), (), {})  # type: ignore[arg-type]
        if isinstance(found, types.FunctionType):
            return types.MethodType(self._from_class(cls, name), ref)
        if found is MISSING:
            raise self.fail(
                UnknownAttribute,
                f"the object '{cls.__name__}' has no attribute '{name}'",
                suggested(name, [*held, *dir(cls)]) or f"assign self.{name} in its __init__",
            )
        return self.lifted(self.world.attribute(cls, name, self.builder.span))

    def store_in_object(self, ref: Ref, name: str, value: Any) -> None:
        """``ref.name = value``."""
        cls = self.state.heap[ref]["__class__"]
        found = self.world.assume_of_class(cls, name)
        if isinstance(found, property) and found.fset is not None:
            self.call(types.MethodType(found.fset, ref), (value,), {})
            return
        frozen = dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen  # type: ignore
        if frozen or isinstance(found, property):
            raise self.fail(
                UnsupportedSyntax,
                f"the attribute '{name}' of a '{cls.__name__}' is read-only",
                "make a new object with the new value",
            )
        if ref in self.world.given:
            raise self.fail(
                UnsupportedSyntax,
                f"this assigns the attribute '{name}' of an argument, and compiled code "
                f"cannot change the caller's {cls.__name__}",
                f"return a new object: dataclasses.replace(obj, {name}=...)",
            )
        self._set(ref, name, value)

    def _set(self, ref: Ref, name: str, value: Any) -> None:
        self.state.heap[ref] = {**self.state.heap[ref], name: value}

    def special(self, thing: Any, name: str) -> Callable[..., Any] | None:
        """A method such as ``__add__`` that the class of an object has: of one that was made here,
        or of an object of the user's from outside."""
        if isinstance(thing, Ref):
            if thing.kind != OBJECT:
                return None
            found = self.world.assume_of_class(self.state.heap[thing]["__class__"], name)
            written = isinstance(found, types.FunctionType) and not is_generated(found)
            return types.MethodType(found, thing) if written else None
        if type(thing) in PLAINEST:
            return None
        found = inspect.getattr_static(type(thing), name, None)
        method = self._of_outside(thing, found, name)
        if method is None:
            self.world.assume_special(thing, name)
        return method

    def getter(self, owner: Any, name: str) -> Callable[..., Any] | None:
        """The text of the property that an object from outside has under a name: it may compute
        with Parameters."""
        found = inspect.getattr_static(type(owner), name, None)
        if isinstance(found, property):
            return self._of_outside(owner, found.fget, f"{name}.fget", found)
        if isinstance(found, functools.cached_property) and name not in vars(owner):
            path = self.world.path(owner)
            if path is not None:
                self.world.assume(f"{path}.__dict__.__contains__({name!r})", False)
            return self._of_outside(owner, found.func, f"{name}.func", found)
        return None

    def setter(self, owner: Any, name: str) -> Callable[..., Any] | None:
        """As ``getter``, for the text that sets it."""
        found = inspect.getattr_static(type(owner), name, None)
        if not isinstance(found, property):
            return None
        return self._of_outside(owner, found.fset, f"{name}.fset", found)

    def _of_outside(self, owner: Any, function: Any, place: str, held: Any = None) -> Any:
        """A function of the class of an outside object as a method, if it is a text of the user's.
        ``held`` is what holds it there; from now on the class is assumed to."""
        if not is_written(function):
            return None
        path = self.world.path(owner)
        if path is not None:
            self.world.assume(f"type({path})", type(owner))
            self.world.assume(f"type({path}).{place.partition('.')[0]}", held or function)
            self.world.know(function, f"type({path}).{place}")
        return types.MethodType(function, owner)


def is_users(callee: Any) -> bool:
    """Whether ``callee`` is a class whose objects are made by texts: a plain one of the user's."""
    if not isinstance(callee, type) or issubclass(callee, (Cell, BaseException)):
        return False
    if not is_theirs(callee):
        return False
    made = inspect.getattr_static(callee, "__init__")
    plain = callee.__new__ is object.__new__ and type(callee).__call__ is type.__call__
    return plain and (made is object.__init__ or isinstance(made, types.FunctionType))


def is_written(function: Any) -> bool:
    """Whether this is a function with a text of the user's."""
    written = isinstance(function, types.FunctionType) and not is_generated(function)
    return written and is_theirs(function)
