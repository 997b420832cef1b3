"""Guards: the conditions under which a compiled pair may be used.

A source function reads outside values: attributes of ``self``, globals, variables of closures,
items of a configuration or of an argument. Each has a *path*. A path is a Python expression over
``fn``, the function or Cell being compiled, and ``slots``, the arguments. Reading the value records
a guard on its path. The compiled pair is used only while all its guards hold.
"""

from __future__ import annotations

import builtins
import enum
import functools
import math
import sys
import types
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.hooks import TO_FLOAT
from autodiff_compiler.common.random import Generator
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import (
    CompileError,
    UnknownAttribute,
    UnknownName,
    UnsupportedSyntax,
)
from autodiff_compiler.interface.compiled import (
    CONTAINERS,
    AttributeInput,
    Guard,
    count_of,
    frozen,
    special,
)
from autodiff_compiler.mindspore_names.suggestions import nearest
from autodiff_compiler.ops.transforms.transformed import Transformed
from autodiff_compiler.span import Span

PACKAGE = "autodiff_compiler"
#: Packages whose functions and classes are not the user's.
LIBRARY_PACKAGES = {PACKAGE, "numpy", *sys.stdlib_module_names} - {"__main__"}
MISSING = object()
ARRAYS = (Tensor, np.ndarray)
#: Types of things that may be replaced at their path: by another thing of this very type.
REPLACEABLE = (Tensor, np.ndarray, list, dict, tuple)
PLAIN = (bool, int, float, complex, str, bytes, type(None))


@dataclass
class GuardRecorder:
    """The reads of one compilation: outside attributes, names and items, their paths and guards."""

    guards: dict[tuple[str, str], Guard] = field(default_factory=dict)
    _paths: dict[int, str] = field(default_factory=dict)
    _alive: list[Any] = field(default_factory=list)
    _visited: set[int] = field(default_factory=set)
    #: The arrays that became values, by identity.
    lifted_arrays: dict[int, Any] = field(default_factory=dict)
    #: Things that may be replaced by another one of their type in another call, by path: arrays,
    #: which are read at each call, and containers, whose contents are guards of their own.
    replaceable: dict[str, Any] = field(default_factory=dict)
    #: Things whose identity the source function tested.
    pinned_ids: set[int] = field(default_factory=set)

    def register_path(self, thing: Any, path: str) -> None:
        """Registers that ``thing`` is found at ``path``, unless it has a path already."""
        if not isinstance(thing, PLAIN) and id(thing) not in self._paths:
            self._paths[id(thing)] = path
            self._alive.append(thing)

    def register_callee_parts(self, callee: Any) -> None:
        """Registers the components of a callable from outside: the owner of a method, the function
        and the arguments of a partial, the function that was transformed."""
        path = self.path(callee)
        if path is None:
            return
        if isinstance(callee, types.MethodType):
            self.register_path(callee.__self__, f"{path}.__self__")
            self.register_path(callee.__func__, f"{path}.__func__")
        elif isinstance(callee, Transformed):
            self.register_path(callee.fn, f"{path}.fn")
        elif isinstance(callee, functools.partial):
            self.register_path(callee.func, f"{path}.func")
            self.register_path(callee.keywords, f"{path}.keywords")
            self.guard_keys(callee.keywords)
            for place, arg in enumerate(callee.args):
                self.add_guard(f"{path}.args[{place}]", arg)
            for name, arg in callee.keywords.items():
                self.add_guard(f"{path}.keywords[{name!r}]", arg)

    def path(self, thing: Any) -> str | None:
        """Returns the path of ``thing``, or None if the compilation made it itself."""
        return self._paths.get(id(thing))

    def recorded_value(self, path: str) -> Any:
        """Returns the value that was read at ``path``, or ``MISSING``. Each path is read once: a
        change by another thread in between is not seen as two things."""
        if path in self.replaceable:
            return self.replaceable[path]
        for test in ("is", "equal"):
            if (path, test) in self.guards:
                return self.guards[path, test].value
        return MISSING

    def add_guard(self, path: str, value: Any) -> None:
        """Guards that ``path`` has ``value``."""
        if type(value) in REPLACEABLE and not (type(value) is tuple and _is_constant(value)):
            self.replaceable.setdefault(path, value)
            self.register_path(value, path)
            return
        items = value if isinstance(value, tuple) else (value,)
        test = "equal" if all(isinstance(item, PLAIN) for item in items) else "is"
        self.guards.setdefault((path, test), Guard(path, test, value))
        self.register_path(value, path)

    def guard_method(self, owner: Any, name: str, function: Any, known: bool = False) -> None:
        """Guards that ``owner.name`` is its own method with this function. With ``known`` the
        function may be another one, and its code is guarded elsewhere. (A bound method is a new
        object at every access; its function is not.)"""
        path = self.path(owner)
        if path is not None:
            if known:
                self.register_path(function, f"{path}.{name}.__func__")
            else:
                self.add_guard(f"{path}.{name}.__func__", function)
            self._add(f"{path}.{name}.__self__", "the same", path)

    def guard_code(self, function: Any) -> None:
        """Guards the code of a user's function, which may be replaced."""
        path = self.path(function)
        if path is not None and is_user_code(function):
            self._add(f"{path}.__code__", "is", function.__code__)

    def guard_type(self, thing: Any) -> None:
        """Guards the class of an outside object."""
        path = self.path(thing)
        if path is not None and not isinstance(thing, (type, types.FunctionType)):
            self.add_guard(f"type({path})", type(thing))

    def guard_special_method(self, thing: Any, name: str) -> None:
        """Guards a method such as ``__len__`` of a user's outside object, or its absence. Python
        looks it up in the class alone."""
        path = self.path(thing)
        if path is not None and is_user_object(thing):
            self.register_path(type(thing), f"type({path})")
            self.guard_class_attribute(type(thing), name)

    def guard_class_attribute(self, kind: type, name: str) -> Any:
        """Returns an attribute of an outside class, or None, and guards it."""
        path, attribute = self.path(kind), special(kind, name)
        hook = name.startswith("__")  # no descriptor hides it
        if path is not None and attribute is None and hook and not hasattr(kind, name):
            self._add(path, "without attribute", name, name)
        elif path is not None:
            self._add(path, "special", (name, attribute), name)
            self.register_path(attribute, f"{path}.{name}")
        return attribute

    def guard_module(self, module: types.ModuleType, name: str) -> None:
        """Guards a module that the source function imports by its full name."""
        if not is_assumed_constant(module):
            self.add_guard(f"__import__('sys').modules[{name!r}]", module)

    def guard_hooks(self, holder: Any) -> None:
        """Guards the hooks of an outside Cell or Tensor."""
        path = self.path(holder)
        if path is not None:
            self.guard_identity(f"{path}._hooks", holder._hooks)
            for number, hook in enumerate(holder._hooks):
                if hook.kind != TO_FLOAT:
                    self.register_path(hook.function, f"{path}._hooks[{number}].function")

    def guard_missing_key(self, path: str, key: str) -> None:
        """Guards that the dict at ``path`` has no such key."""
        self._add(path, "without", key, key)

    def _add(self, path: str, test: str, value: Any, *more: Any) -> None:
        key = (path, " ".join((test, *more)))
        if key not in self.guards:
            self.guards[key] = Guard(path, test, value)

    def guard_distinct_arguments(self, one: int | None, other: int | None) -> None:
        """Guards that two arguments are not one and the same object."""
        if one is not None and other is not None and one != other:
            self._add(f"slots[{one}]", "another", f"slots[{other}]", str(other))

    def require_identity(self, thing: Any) -> None:
        """Requires that an outside thing is the very same in every call."""
        self.pinned_ids.add(id(thing))

    def is_read_per_call(self, thing: Any) -> bool:
        """True if an outside array is read at each call, at the path where it was found."""
        return isinstance(thing, ARRAYS) and self._may_change(thing, self.path(thing))

    def _may_change(self, thing: Any, path: str | None) -> bool:
        return (
            path in self.replaceable
            and self.replaceable[path] is thing
            and id(thing) not in self.pinned_ids
        )

    def guard_replaceable(self) -> None:
        """Guards all objects that may be replaced. A container must have its type, and an object
        with two paths must be the same at both. An array that was never read must be the very same.
        """
        for path, value in self.replaceable.items():
            first = self.path(value)
            if first != path and first is not None:
                self._add(path, "the same", first)
            elif not self._may_change(value, path):
                self.guard_identity(path, value)
            elif not isinstance(value, ARRAYS):
                self._add(path, "type", type(value))
                if type(value) is tuple:
                    self._add(path, "length", len(value))
            elif id(value) not in self.lifted_arrays:
                self.guard_identity(path, value)

    def guard_array_types(self, inputs: Collection[Any]) -> None:
        """Guards the dtypes and shapes of arrays that were read and are no ``inputs``."""
        given = set(map(id, inputs))
        for thing in self.lifted_arrays.values():
            path = self.path(thing)
            if path is not None and id(thing) not in given and isinstance(thing, ARRAYS):
                array: Any = thing
                if isinstance(thing, Tensor):
                    array, path = thing._data, f"{path}._data"
                self._add(path, "like", (array.dtype, array.shape))

    def guard_identity(self, path: str, value: Any) -> None:
        """Guards that ``path`` has this very object, whatever its contents."""
        self.guards.setdefault((path, "is"), Guard(path, "is", value))

    def guard_length(self, thing: Any) -> None:
        """Guards the length of an outside container."""
        path = self.path(thing)
        if path is not None and not isinstance(thing, tuple):
            self.guards[path, "length"] = Guard(path, "length", len(thing))

    def guard_truth(self, thing: Any) -> None:
        """Guards the truth of an outside object that may change."""
        path, kind = self.path(thing), type(thing)
        if path is not None and (hasattr(kind, "__len__") or hasattr(kind, "__bool__")):
            self.add_guard(f"bool({path})", bool(thing))

    def guard_keys(self, thing: Mapping[Any, Any]) -> None:
        """Guards the keys of an outside dict, and their order."""
        path = self.path(thing)
        if path is not None:
            self.guards[path, "keys"] = Guard(f"list({path})", "equal", list(thing))

    def guard_contents(self, thing: Any) -> None:
        """Guards the contents of an outside container, at any depth: it was read as a whole."""
        if isinstance(thing, (*PLAIN, range)) or is_array(thing) or id(thing) in self._visited:
            return
        path = self.path(thing)
        if path is None:
            for item in thing if type(thing) is tuple else ():
                self.guard_contents(item)
            return
        self._visited.add(id(thing))  # it may hold itself
        if _has_state(thing):
            self._guard_state(thing, path)
        if isinstance(thing, CONTAINERS) and holds_plain_only(thing):
            self.guards[path, "equal"] = Guard(path, "equal", frozen(thing))
        elif isinstance(thing, Mapping):
            self.guard_keys(thing)
            for key in thing:
                self.guard_contents(self.item(thing, key))
        elif isinstance(thing, (Sequence, deque)):
            self.guard_length(thing)
            for place in range(count_of(thing)):
                self.guard_contents(self.item(thing, place))
        elif isinstance(thing, Collection) and not isinstance(thing, Cell):
            self._add(path, "length", len(thing))
            for place, item in enumerate(thing):  # such as a set, or the values of a dict
                self.add_guard(f"list({path})[{place}]", item)
                self.guard_contents(item)

    def _guard_state(self, thing: Any, path: str | None) -> None:
        """Guards the attributes of a user's outside object, whose methods Python runs."""
        if path is None or (path, "state") in self.guards:
            return
        self.guards[path, "state"] = Guard(path, "is", thing)
        for slot in _slot_names(type(thing)):
            if hasattr(thing, slot):
                self.add_guard(f"{path}.{slot}", getattr(thing, slot))
                self.guard_contents(getattr(thing, slot))
            else:
                self.guard_absent_attribute(thing, slot)
        if hasattr(thing, "__dict__"):
            self.register_path(thing.__dict__, f"{path}.__dict__")
            self.guard_contents(thing.__dict__)

    def item(self, owner: Any, key: Any) -> Any:
        """Returns ``owner[key]`` for an outside container and a plain key, and guards it."""
        path = self.path(owner)
        recorded = (
            self.recorded_value(f"{path}[{key!r}]") if path and has_literal_repr(key) else MISSING
        )
        if recorded is not MISSING:
            return recorded
        try:
            value = owner[key]
        except LookupError:
            self.guard_keys(owner) if isinstance(owner, Mapping) else self.guard_length(owner)
            raise
        refuse_recomputed(value, lambda: owner[key], f"the item {key!r}")
        if path is not None and isinstance(owner, dict) and not has_literal_repr(key):
            self.guard_keys(owner)  # by position: the key has no literal
            self.add_guard(f"list({path}.values())[{list(owner).index(key)}]", value)
        elif path is not None and not isinstance(key, slice):
            if isinstance(owner, tuple) and (path, "is") in self.guards:
                self.register_path(value, f"{path}[{key!r}]")  # a constant tuple
            else:
                self.add_guard(f"{path}[{key!r}]", value)
        elif path is not None:
            self.guard_length(owner)
            for place in range(*key.indices(len(owner))):
                self.add_guard(f"{path}[{place}]", owner[place])
        return value

    def guard_absent_attribute(self, owner: Any, name: str) -> None:
        """Guards that an outside object has no attribute ``name``."""
        path = self.path(owner)
        if path is not None and not is_assumed_constant(owner):
            key = f"{path}.{name}"
            self.guards[key, "absent"] = Guard(key, "absent", None)

    def read_default_attribute(self, owner: Any, name: str, span: Span) -> Any:
        """Returns ``owner.name`` as ``object.__getattribute__`` reads it, and guards it."""
        path = self.path(owner)
        place = f"object.__getattribute__({path}, {name!r})"
        recorded = MISSING if path is None else self.recorded_value(place)
        if recorded is not MISSING:
            return recorded
        try:
            value = object.__getattribute__(owner, name)
        except AttributeError as error:
            cause = f"{_owner_description(owner)} has no attribute '{name}' of its own"
            raise UnknownAttribute(cause, _cure_for_missing(owner, name), span).meaning(
                error
            ) from None
        except CompileError:
            raise
        except Exception as error:
            raise _attribute_failure(owner, name, error, span) from None
        if path is None or isinstance(value, types.MethodType):
            return self.read_attribute(owner, name, span)
        self.add_guard(place, value)
        return value

    def read_attribute(self, owner: Any, name: str, span: Span) -> Any:
        """Returns ``owner.name`` for an outside object, and guards it."""
        path = self.path(owner)
        recorded = MISSING if path is None else self.recorded_value(f"{path}.{name}")
        if recorded is not MISSING:
            return recorded
        try:
            value = getattr(owner, name)
        except AttributeError as error:
            self.guard_absent_attribute(owner, name)
            if isinstance(error, UnknownAttribute):  # ops, nn and Tensor have a better cure
                cause, cure = error.problems[0].cause, error.problems[0].cure
            else:
                cause = f"{_owner_description(owner)} has no attribute '{name}'"
                cure = suggestion(name, dir(owner)) or _cure_for_missing(owner, name)
            raise UnknownAttribute(cause, cure, span).meaning(error) from None
        except CompileError:
            raise
        except Exception as error:
            raise _attribute_failure(owner, name, error, span) from None
        refuse_recomputed(value, lambda: getattr(owner, name), f"'{name}'", span)
        if path is not None and not is_assumed_constant(owner):
            if isinstance(value, types.MethodType) and value.__self__ is owner:
                self.guard_method(owner, name, value.__func__)
            elif isinstance(value, types.MethodType) and getattr(owner, name) is not value:
                self.add_guard(f"{path}.{name}.__func__", value.__func__)
                if not isinstance(owner, super):  # a method of another object
                    self.add_guard(f"{path}.{name}.__self__", value.__self__)
            elif isinstance(value, types.BuiltinMethodType) and not isinstance(
                owner, types.ModuleType
            ):
                self.guard_contents(owner)
            else:
                self.add_guard(f"{path}.{name}", value)
        return value

    def free_name(self, function: Any, name: str, span: Span) -> Any:
        """Returns a free variable of ``function`` (closure, global or builtin), and guards it."""
        code = function.__code__
        path = self.path(function)
        if name in code.co_freevars and function.__closure__ is not None:
            place = code.co_freevars.index(name)
            cell = function.__closure__[place]
            recorded = self.recorded_value(f"{path}.__closure__[{place}].cell_contents")
            try:
                value = cell.cell_contents if recorded is MISSING else recorded
            except ValueError:
                value = MISSING
            if value is not MISSING:
                if path is not None:
                    self.add_guard(f"{path}.__closure__[{place}].cell_contents", value)
                return value
        recorded = self.recorded_value(f"{path}.__globals__[{name!r}]")
        if recorded is not MISSING:
            return recorded
        if name in function.__globals__:
            value = function.__globals__[name]
            if path is not None:
                self.add_guard(f"{path}.__globals__[{name!r}]", value)
            return value
        if hasattr(builtins, name):
            if path is not None and is_user_code(function):
                self.guard_missing_key(f"{path}.__globals__", name)
            return getattr(builtins, name)
        known = [*function.__globals__, *code.co_varnames, *dir(builtins)]
        raise UnknownName(
            f"the name '{name}' is not defined",
            suggestion(name, known) or f"define '{name}', or pass it as an argument",
            span,
        )


def _is_constant(value: tuple[Any, ...]) -> bool:
    return all(isinstance(item, PLAIN) for item in value)


def is_array(thing: Any) -> bool:
    """True if ``thing`` may change without its identity: it has numbers, or the state of a random
    generator."""
    return isinstance(thing, (Tensor, np.ndarray, AttributeInput, Generator))


def is_user_code(thing: Any) -> bool:
    """True if a class or function is the user's: not of this package, NumPy or Python's library."""
    return (thing.__module__ or "").partition(".")[0] not in LIBRARY_PACKAGES


def default_accessor(thing: Any, name: str) -> Callable[..., Any]:
    """Returns the accessor that ``thing`` would have without methods of the user's own.

    ``name`` is ``__getattribute__`` or ``__setattr__``.
    """
    below_user_method = False
    for each in type(thing).__mro__:
        accessor: Callable[..., Any] | None = each.__dict__.get(name)
        if _is_user_method(accessor):
            below_user_method = True
        elif accessor is not None and below_user_method:
            return accessor
    return getattr if name == "__getattribute__" else setattr


def _is_user_method(function: Any) -> bool:
    """True if a function is the user's, with a source of its own."""
    is_function = isinstance(function, types.FunctionType)
    return is_function and is_user_code(function) and not is_generated_method(function)


def is_user_object(thing: Any) -> bool:
    """True if ``thing`` is an object of a user's class that may change: no Cell, and no member of
    an enumeration."""
    kind = type(thing)
    fixed = isinstance(thing, (Cell, Tensor, type, enum.Enum))
    return not fixed and (is_user_code(kind) or kind is types.SimpleNamespace)


def _has_state(thing: Any) -> bool:
    """True if an object has attributes that may change, also one of Python's library."""
    kind = type(thing)
    library = kind.__module__ != "builtins" and not is_user_code(kind) and not callable(thing)
    named = library and kind.__module__.partition(".")[0] in sys.stdlib_module_names
    return is_user_object(thing) or named and not isinstance(thing, enum.Enum)


def _slot_names(kind: type) -> Iterator[str]:
    """Yields the names in the ``__slots__`` of a class and its bases."""
    for each in kind.__mro__:
        for name, member in vars(each).items():
            if isinstance(member, types.MemberDescriptorType) and name != "__dict__":
                yield name


def holds_plain_only(thing: Any) -> bool:
    """True if a container holds nothing but plain things, at any depth."""
    if isinstance(thing, dict):
        return all(map(holds_plain_only, (*thing, *thing.values())))
    if isinstance(thing, (list, tuple)):
        return all(map(holds_plain_only, thing))
    return isinstance(thing, PLAIN)


def has_literal_repr(key: Any) -> bool:
    """True if the ``repr`` of a key is an expression for it, as that of an Enum is not."""
    if type(key) is tuple:
        return all(map(has_literal_repr, key))
    finite = type(key) is float and math.isfinite(key)
    return finite or type(key) in (bool, int, str, bytes, type(None))


def is_assumed_constant(owner: Any) -> bool:
    """True if the attributes of ``owner`` are not guarded: a module of this package, of NumPy, or
    ``math``."""
    name = owner.__name__ if isinstance(owner, types.ModuleType) else ""
    return name.partition(".")[0] in ("autodiff_compiler", "numpy", "math")


def is_generated_method(function: Any) -> bool:
    """True if a method has no source of its own, as those that ``dataclass`` writes."""
    return getattr(getattr(function, "__code__", None), "co_filename", "") == "<string>"


def refuse_recomputed(
    value: Any, again: Callable[[], Any], name: str, span: Span | None = None
) -> None:
    """Refuses a tensor that is another one at each access. Its computation is not compiled, and as
    a constant it would have no gradient."""
    if isinstance(value, Tensor) and again() is not value:
        raise UnsupportedSyntax(
            f"{name} is computed at each access, by code that the compiler cannot read "
            "(__getattr__ or a descriptor)",
            "make it a property or a method",
            span,
        )


def _cure_for_missing(owner: Any, name: str) -> str:
    """Returns the cure for a missing attribute whose name resembles no other."""
    if isinstance(owner, types.ModuleType):
        return "correct the name, or import the module that has it"
    if type(owner).__module__ == "builtins" and not isinstance(owner, type):
        return f"use an attribute that a {type(owner).__name__} has"
    return f"assign self.{name} in __init__"


def _attribute_failure(owner: Any, name: str, error: Exception, span: Span) -> CompileError:
    """Returns the error of an attribute that code of a user's class fails to compute."""
    raised = type(error).__name__ + (f": {error}" if str(error) else "")
    owner_text = _owner_description(owner)
    return UnsupportedSyntax(
        f"reading '{name}' of {owner_text} runs code of its class, which raises {raised}",
        f"set '{name}' before the call, or correct the method that finds it",
        span,
    ).meaning(error)


def _owner_description(owner: Any) -> str:
    if isinstance(owner, types.ModuleType):
        return f"the module '{owner.__name__}'"
    if isinstance(owner, type):
        return f"the class '{owner.__name__}'"
    kind = "Cell" if isinstance(owner, Cell) else "object"
    return f"the {kind} '{type(owner).__name__}'"


def suggestion(name: str, known: Iterable[str]) -> str:
    """Returns the cure for a misspelt name: the most similar name."""
    like = nearest(name, [other for other in known if other != name])
    return f"did you mean '{like}'?" if like else ""
