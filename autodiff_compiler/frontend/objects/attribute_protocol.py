"""Python's attribute protocol, for objects on the heap and for objects from outside.

A read tries, in this order: a user-defined ``__getattribute__``, a data descriptor of the class,
the object's own attributes, other attributes of the class, and ``__getattr__``. A write tries a
user-defined ``__setattr__``, a data descriptor of the class, then the object's own attributes.
User-defined methods are inlined. A Cell sets attributes by its own ``__setattr__``.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.errors import (
    CompileError,
    DTypeError,
    Problem,
    UnknownAttribute,
    UnsupportedSyntax,
)
from autodiff_compiler.frontend.abstract.values import (
    CONTEXT,
    OBJECT,
    HeapRef,
    ObjectDict,
    SuperProxy,
)
from autodiff_compiler.frontend.core.error_translation import refused_object_dict
from autodiff_compiler.frontend.core.guards import (
    MISSING,
    is_generated_method,
    is_user_code,
    suggestion,
)
from autodiff_compiler.frontend.core.lowering import Lowering, refuse_foreign
from autodiff_compiler.frontend.core.reachability import reaches
from autodiff_compiler.frontend.objects.outside_writes import store_outside
from autodiff_compiler.interface.compiled import Write, special
from autodiff_compiler.ir.nodes import Value

#: Types whose values certainly have no user-defined methods.
_WITHOUT_SPECIAL_METHODS = (Value, int, float, bool, str, tuple, type(None))
#: Python's own methods that read or set an attribute.
_REACHING = ("__getattribute__", "__setattr__")


def class_attribute(low: Lowering, cls: type, name: str) -> Any:
    """Returns the attribute of a class, guarded from now on."""
    attribute = low.compilation.read_attribute(cls, name, low.builder.span)
    return getattr(attribute, "__func__", attribute)


def outside_attribute(low: Lowering, owner: Any, name: str) -> Any:
    """Returns ``owner.name`` for an owner that is known at compile time."""
    refuse_foreign(low, owner, installed=True)
    return get_attribute(low, owner, name)


def get_attribute(low: Lowering, owner: Any, name: str) -> Any:
    """Returns ``owner.name`` for an object on the heap or from outside."""
    if _is_inlined(low, owner, "__getattribute__"):
        getter = low.special(owner, "__getattribute__")
        if getter is not None:
            return low.call(getter, (name,), {})
    elif is_user_function(special(type(owner), "__getattribute__")):
        return low.lifted(low.compilation.read_attribute(owner, name, low.builder.span))
    return _get_attribute_plainly(low, owner, name)


def _is_inlined(low: Lowering, owner: Any, *names: str) -> bool:
    """True if the special methods of these names are inlined where the class has them. Methods that
    reach no written object run at compile time, under a guard.
    """
    if isinstance(owner, HeapRef):
        return True
    if not _writes_attributes(low):
        return False
    for name in names:
        low.compilation.guard_special_method(owner, name)
    kind = type(owner)
    has_method = any(is_user_function(special(kind, name)) for name in names)
    return has_method and _reaches_writes(low, owner)


def _reaches_writes(low: Lowering, owner: Any) -> bool:
    """True if methods of an outside object can reach an object that is written."""
    targets = frozenset(id(write.target) for write in _writes(low) if write.name is not None)
    key = (id(owner), targets)
    if key not in low.compilation.may_reach_written:
        low.compilation.may_reach_written[key] = reaches(owner, targets)
    if not low.compilation.may_reach_written[key]:
        low.compilation.guard_reachable_objects(owner)
    return low.compilation.may_reach_written[key]


def finds_missing(low: Lowering, owner: Any, name: str) -> bool:
    """True if an inlined ``__getattribute__`` finds this attribute, or an inlined ``__getattr__``
    because it is missing."""
    if not _is_inlined(low, owner, "__getattribute__", "__getattr__"):
        return False
    if low.special(owner, "__getattribute__") is not None:
        return True
    if isinstance(owner, HeapRef):
        attributes = low.state.heap[owner]
        exists = name in attributes or special(attributes["__class__"], name) is not None
    else:
        exists = inspect.getattr_static(owner, name, MISSING) is not MISSING
        exists = exists or _written_ref(low, owner, name) is not None
    return not exists and low.special(owner, "__getattr__") is not None


def _get_attribute_plainly(low: Lowering, owner: Any, name: str) -> Any:
    """Returns ``object.__getattribute__(owner, name)``, or the result of ``__getattr__``."""
    if isinstance(owner, (HeapRef, SuperProxy)):
        return _object_attribute(low, owner, name)
    ref = _written_ref(low, owner, name)
    if ref is not None and low.state.heap[ref] is not MISSING:
        return low.certainly(low.state.heap[ref])
    getter = _outside_getter(low, owner, name)
    if getter is not None:
        return low.call(getter, (), {})
    if _writes_attributes(low):
        kind = type(owner)
        attribute = _descriptor(low, owner, kind, name)
        instance_dict = getattr(owner, "__dict__", {})
        if attribute is not None and (
            name not in instance_dict or special(type(attribute), "__set__")
        ):
            reader = low.special(attribute, "__get__") if _reaches_writes(low, owner) else None
            if reader is not None:
                return low.call(reader, (owner, kind), {})
        fallback = None
        if inspect.getattr_static(owner, name, MISSING) is MISSING:
            runs = _is_inlined(low, owner, "__getattr__")
            fallback = low.special(owner, "__getattr__") if runs else None
        if fallback is not None:
            return low.call(fallback, (name,), {})
    below = is_user_function(special(type(owner), "__getattribute__"))
    read = low.compilation.read_default_attribute if below else low.compilation.read_attribute
    attribute = read(owner, name, low.builder.span)
    if name == "__dict__" and _has_writable_dict(low, owner):
        low.compilation.dict_owners[id(attribute)] = owner
    return low.lifted(attribute)


def _writes(low: Lowering) -> list[Write]:
    """Returns the writes to outside objects that are known so far."""
    return [*low.compilation.written.values(), *low.compilation.discovered.values()]


def _writes_attributes(low: Lowering) -> bool:
    return any(write.name is not None for write in _writes(low))


def _has_writable_dict(low: Lowering, owner: Any) -> bool:
    """True if the attributes of an outside object may be written through its ``__dict__``."""
    fixed = isinstance(owner, (Cell, type, types.ModuleType))
    if fixed and any(write.target is owner and write.name for write in _writes(low)):
        raise refused_object_dict(low, type(owner))
    return not fixed and isinstance(getattr(owner, "__dict__", None), dict)


def _written_ref(low: Lowering, owner: Any, name: str) -> HeapRef | None:
    """Returns the heap object of a written attribute, of the object or of its class; None without a
    write."""
    known = low.heap_object_of(owner, name)
    if known is not None or not _writes_attributes(low) or isinstance(owner, types.ModuleType):
        return known
    bases = owner.__mro__[1:] if isinstance(owner, type) else type(owner).__mro__
    for base in bases:
        ref = low.heap_object_of(base, name)
        if ref is None and name not in vars(base):
            continue
        return None if name in getattr(owner, "__dict__", {}) else ref
    return None


def _descriptor(low: Lowering, owner: Any, cls: type, name: str) -> Any:
    """Returns the user-defined descriptor that the class has under a name, guarded from now on;
    None if it has none."""
    descriptor = special(cls, name)
    kinds = (special(type(descriptor), method) for method in ("__get__", "__set__"))
    if not any(map(is_user_function, kinds)):
        return None
    path = low.compilation.path(owner)
    if isinstance(owner, HeapRef):
        path = low.compilation.path(cls)
    elif path is not None:
        path = f"type({path})"
        low.compilation.add_guard(path, cls)
    if path is not None:
        place = next(n for n, base in enumerate(cls.__mro__) if name in vars(base))
        low.compilation.add_guard(f"{path}.__mro__[{place}].__dict__[{name!r}]", descriptor)
    return descriptor


def _object_attribute(low: Lowering, thing: HeapRef | SuperProxy, name: str) -> Any:
    """Returns ``thing.name`` of an object on the heap, or of its class. For ``super()``, only the
    classes after the one of the method are asked."""
    ref = thing.ref if isinstance(thing, SuperProxy) else thing
    attributes = low.state.heap[ref]
    cls = attributes["__class__"]
    if name == "__dict__":
        return ObjectDict(ref)
    if isinstance(thing, SuperProxy):
        after = cls.__mro__[cls.__mro__.index(thing.owner) + 1 :]
        cls = next((base for base in after if name in vars(base)), object)
        if name == "__init__" and cls is object:
            return type(None)  # which takes no arguments either
        if name in _REACHING and cls is object:
            return types.MethodType(getattr(object, name), ref)
    elif name in attributes:
        return attributes[name]
    return _attribute_of_class(low, ref, cls, name)


def _attribute_of_class(low: Lowering, ref: HeapRef, cls: type, name: str) -> Any:
    """Returns an attribute that a class gives to its object on the heap."""
    attribute = inspect.getattr_static(cls, name, MISSING)
    if isinstance(attribute, (property, functools.cached_property)):
        return low.call(types.MethodType(_property_getter(low, cls, name, attribute), ref), (), {})
    if isinstance(attribute, types.FunctionType):
        return types.MethodType(class_attribute(low, cls, name), ref)
    descriptor = _descriptor(low, ref, cls, name)
    reader = None if descriptor is None else low.special(descriptor, "__get__")
    if reader is not None:
        return low.call(reader, (ref, low.state.heap[ref]["__class__"]), {})
    if attribute is not MISSING:
        return low.lifted(low.compilation.read_attribute(cls, name, low.builder.span))
    fallback = low.special(ref, "__getattr__")
    if fallback is not None:
        return low.call(fallback, (name,), {})
    raise low.fail(
        UnknownAttribute,
        f"the object '{cls.__name__}' has no attribute '{name}'",
        suggestion(name, [*low.state.heap[ref], *dir(cls)])
        or f"assign self.{name} in its __init__",
    )


def _property_getter(
    low: Lowering, cls: type, name: str, property_: property | functools.cached_property[Any]
) -> Callable[..., Any]:
    """Returns the function behind a property, guarded from now on."""
    place = "fget" if isinstance(property_, property) else "func"
    getter: Callable[..., Any] | None = getattr(property_, place)
    if getter is None:
        raise low.fail(
            UnknownAttribute,
            f"the property '{name}' of a '{cls.__name__}' cannot be read: it has no getter",
            "give the property a getter: @property",
        )
    low.compilation.guard_class_attribute(cls, name)
    if (path := low.compilation.path(property_)) is not None:
        low.compilation.register_path(getter, f"{path}.{place}")
    return getter


def set_attribute(low: Lowering, owner: Any, name: str, value: Any) -> None:
    """Sets ``owner.name`` of an object on the heap or from outside."""
    method = low.special(owner, "__setattr__")
    if method is not None:
        with _setting(low, owner, method, name):
            low.call(method, (name, value), {})
        return
    cls = low.state.heap[owner]["__class__"] if isinstance(owner, HeapRef) else type(owner)
    if isinstance(owner, HeapRef) and is_frozen(cls):
        raise _read_only(low, cls, name)
    set_attribute_plainly(low, owner, name, value)


def set_attribute_plainly(low: Lowering, owner: Any, name: str, value: Any) -> None:
    """Does ``object.__setattr__(owner, name, value)``."""
    if isinstance(owner, SuperProxy):
        owner = owner.ref
    on_heap = isinstance(owner, HeapRef)
    cls = low.state.heap[owner]["__class__"] if on_heap else type(owner)
    descriptor = _descriptor(low, owner, cls, name)
    writer = None if descriptor is None else low.special(descriptor, "__set__")
    if writer is not None:
        with _setting(low, descriptor, writer, name):
            low.call(writer, (owner, value), {})
    elif on_heap:
        _store_in_object(low, owner, cls, name, value)
    elif (setter := _outside_setter(low, owner, name)) is not None:
        low.call(setter, (value,), {})
    else:
        low.compilation.guard_special_method(owner, name)  # the class may gain a descriptor
        store_outside(low, owner, name, value)


@contextmanager
def _setting(low: Lowering, owner: Any, method: Any, name: str) -> Iterator[None]:
    """Enters a block that runs ``method``. Reports its refusals at the line that sets ``name``."""
    kind = low.state.heap[owner]["__class__"] if isinstance(owner, HeapRef) else type(owner)
    place, problems = low.place, low.compilation.problems
    mark = len(problems)

    def at_assignment(problem: Problem) -> Problem:
        if place is None or problem.kind not in (UnsupportedSyntax, DTypeError):
            return problem
        where = f" ({problem.span.place})" if problem.span else ""
        cause = (
            f"setting '{name}' runs {kind.__name__}.{method.__name__}, where{where} {problem.cause}"
        )
        cure = f"set '{name}' after the call of the compiled function, to what that returns"
        return replace(problem, cause=cause, cure=cure, span=place, callers=())

    try:
        yield
    except CompileError as error:
        raise error.holding([*map(at_assignment, error.problems)]) from None
    finally:
        problems[mark:] = map(at_assignment, problems[mark:])


def _read_only(low: Lowering, cls: type, name: str) -> CompileError:
    return low.fail(
        UnsupportedSyntax,
        f"the attribute '{name}' of a '{cls.__name__}' is read-only",
        "make a new object with the new value",
    )


def call_attribute_protocol(
    low: Lowering, callee: Any, args: Sequence[Any]
) -> tuple[Any, ...] | None:
    """Returns the outcome of a call such as ``object.__setattr__``, in a tuple; None for other
    calls.
    """
    name = getattr(callee, "__name__", "")
    if name not in _REACHING:
        return None
    function = getattr(callee, "__func__", callee)
    if isinstance(callee, (types.MethodType, types.MethodWrapperType)):
        args = (callee.__self__, *args)
    ours = function in (Cell.__setattr__, Cell.__dict__.get("__getattribute__"))
    if not ours and not isinstance(
        function, (types.WrapperDescriptorType, types.MethodWrapperType)
    ):
        return None
    owner, attribute, *rest = args
    attribute = low.static(attribute, "the name of an attribute")
    if name == "__setattr__":
        set_attribute_plainly(low, owner, attribute, *rest)
        return (None,)
    return (_get_attribute_plainly(low, owner, attribute),)


def _store_in_object(low: Lowering, ref: HeapRef, cls: type, name: str, value: Any) -> None:
    attribute = low.compilation.guard_class_attribute(cls, name)
    if isinstance(attribute, property) and attribute.fset is not None:
        low.call(types.MethodType(attribute.fset, ref), (value,), {})
        return
    store_own_attribute(low, ref, cls, name, value)


def store_own_attribute(low: Lowering, ref: HeapRef, cls: type, name: str, value: Any) -> None:
    """Sets an object's own attribute on the heap."""
    attribute = special(cls, name)
    slotted = not cls.__dictoffset__ and not isinstance(attribute, types.MemberDescriptorType)
    if slotted or isinstance(attribute, property):
        raise _read_only(low, cls, name)
    if ref in low.compilation.argument_objects:
        raise low.fail(
            UnsupportedSyntax,
            f"this assigns the attribute '{name}' of an argument, and compiled code "
            f"cannot change the caller's {cls.__name__}",
            f"return a new object: dataclasses.replace(obj, {name}=...)",
        )
    _set(low, ref, name, value)


def _set(low: Lowering, ref: HeapRef, name: str, value: Any) -> None:
    low.state.heap[ref] = {**low.state.heap[ref], name: value}


def special_method(low: Lowering, thing: Any, name: str) -> Callable[..., Any] | None:
    """Returns a user-defined method such as ``__add__`` of an object on the heap or from outside;
    None if its class has none."""
    if isinstance(thing, HeapRef):
        if thing.kind != OBJECT:
            return None
        method_function = low.compilation.guard_class_attribute(
            low.state.heap[thing]["__class__"], name
        )
        written = isinstance(method_function, types.FunctionType) and not is_generated_method(
            method_function
        )
        return types.MethodType(method_function, thing) if written else None
    if type(thing) in _WITHOUT_SPECIAL_METHODS:
        return None
    method_function = inspect.getattr_static(type(thing), name, None)
    method = _bind_user_method(low, thing, method_function, name)
    if method is None:
        low.compilation.guard_special_method(thing, name)
    return method


def _outside_getter(low: Lowering, owner: Any, name: str) -> Callable[..., Any] | None:
    """Returns the user-defined getter of an outside object's property, to be inlined: it may
    compute with Parameters. Returns None if there is none."""
    attribute = inspect.getattr_static(type(owner), name, None)
    if isinstance(attribute, property):
        return _bind_user_method(low, owner, attribute.fget, f"{name}.fget", attribute)
    if isinstance(attribute, functools.cached_property) and name not in vars(owner):
        path = low.compilation.path(owner)
        if path is not None:
            low.compilation.add_guard(f"{path}.__dict__.__contains__({name!r})", False)
        return _bind_user_method(low, owner, attribute.func, f"{name}.func", attribute)
    return None


def _outside_setter(low: Lowering, owner: Any, name: str) -> Callable[..., Any] | None:
    """Returns the user-defined setter of an outside object's property; None if there is none."""
    attribute = inspect.getattr_static(type(owner), name, None)
    if not isinstance(attribute, property):
        return None
    return _bind_user_method(low, owner, attribute.fset, f"{name}.fset", attribute)


def _bind_user_method(
    low: Lowering, owner: Any, function: Any, place: str, owner_property: Any = None
) -> Any:
    """Returns a user-defined function of an outside object's class as a method, guarded from now
    on. ``owner_property`` is the property that holds it. Returns None for functions that are not
    the user's."""
    if not is_user_function(function):
        return None
    path = low.compilation.path(owner)
    if path is not None:
        low.compilation.add_guard(f"type({path})", type(owner))
        low.compilation.add_guard(
            f"type({path}).{place.partition('.')[0]}", owner_property or function
        )
        low.compilation.register_path(function, f"type({path}).{place}")
    return types.MethodType(function, owner)


def is_frozen(cls: type) -> bool:
    """True for a frozen dataclass."""
    params = getattr(cls, "__dataclass_params__", None)
    return params is not None and bool(params.frozen)


def is_user_function(function: Any) -> bool:
    """True for a user-defined function with source code."""
    written = isinstance(function, types.FunctionType) and not is_generated_method(function)
    return written and is_user_code(function)


def store_attribute(low: Lowering, owner: Any, name: str, value: Any) -> None:
    """Does ``owner.name = value``."""
    if isinstance(owner, HeapRef) and owner.kind == CONTEXT:
        low.state.heap[owner] = {**low.state.heap[owner], name: value}
        return
    on_heap = isinstance(owner, HeapRef) and owner.kind == OBJECT
    if not on_heap and (isinstance(owner, (Value, HeapRef)) or low.compilation.path(owner) is None):
        raise low.fail(
            UnsupportedSyntax,
            f"the attribute '{name}' of a {low.described(owner)} cannot be assigned",
            "use a variable instead, and return it",
        )
    set_attribute(low, owner, name, value)
