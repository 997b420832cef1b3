"""Attributes as Python's protocol finds and sets them, for objects that the text made and for those
from outside.

To read: ``__getattribute__`` of the class, if it is the user's; else a data descriptor of the
class, the object's own, what else the class has, ``__getattr__``. To set: ``__setattr__`` of the
class, if it is the user's; else a data descriptor of the class, else the object's own. Methods of
the user's are texts, written out where they are called. A Cell sets attributes as it always does.
"""

from __future__ import annotations

import dataclasses
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
from autodiff_compiler.frontend.abstract.values import HeapRef, Own, SuperProxy
from autodiff_compiler.frontend.calls.outlining import OBJECT, Outlines
from autodiff_compiler.frontend.core import outside_items
from autodiff_compiler.frontend.core.assumptions import MISSING, is_generated, is_theirs
from autodiff_compiler.frontend.core.compilation import suggested
from autodiff_compiler.frontend.core.reachability import reaches
from autodiff_compiler.interface import Write, special
from autodiff_compiler.ir.nodes import Value

#: What has no method of the user's, as is known at a glance.
PLAINEST = (Value, int, float, bool, str, tuple, type(None))
#: Methods of Python's own classes that reach an attribute.
_REACHING = ("__getattribute__", "__setattr__")


class Attributes(Outlines):
    """Adds attributes to ``Outlines``."""

    def _from_class(self, cls: type, name: str) -> Any:
        """Return what ``cls`` defines under a name, guarded from now on."""
        found = self.world.attribute(cls, name, self.builder.span)
        return getattr(found, "__func__", found)

    def read(self, owner: Any, name: str) -> Any:
        """``owner.name`` for an object that the text made, or one from outside."""
        if self._runs(owner, "__getattribute__"):
            own = self.special(owner, "__getattribute__")
            if own is not None:
                return self.call(own, (name,), {})
        elif is_written(special(type(owner), "__getattribute__")):
            return self.lifted(self.world.attribute(owner, name, self.builder.span))
        return self.read_plainly(owner, name)

    def _runs(self, owner: Any, *names: str) -> bool:
        """Return True if the special methods of these names are inlined, if the class has them.
        Methods that reach no written object are run by Python while compiling, under a guard."""
        if isinstance(owner, HeapRef):
            return True
        if not self._writes_attributes:
            return False
        for name in names:
            self.world.assume_special(owner, name)
        kind = type(owner)
        return any(is_written(special(kind, name)) for name in names) and self._leads(owner)

    def _leads(self, owner: Any) -> bool:
        """Return True if methods of an outside object can reach an object that is written."""
        targets = frozenset(id(write.target) for write in self._writes() if write.name is not None)
        key = (id(owner), targets)
        if key not in self.world.leading:
            self.world.leading[key] = reaches(owner, targets)
        if not self.world.leading[key]:
            self.world.assume_parts(owner)
        return self.world.leading[key]

    def finds_missing(self, owner: Any, name: str) -> bool:
        """Return True if an inlined ``__getattr__`` or ``__getattribute__`` looks up an attribute
        that is missing."""
        if not self._runs(owner, "__getattribute__", "__getattr__"):
            return False
        if self.special(owner, "__getattribute__") is not None:
            return True
        if isinstance(owner, HeapRef):
            held = self.state.heap[owner]
            there = name in held or special(held["__class__"], name) is not None
        else:
            there = inspect.getattr_static(owner, name, MISSING) is not MISSING
            there = there or self._cell(owner, name) is not None
        return not there and self.special(owner, "__getattr__") is not None

    def read_plainly(self, owner: Any, name: str) -> Any:
        """``object.__getattribute__(owner, name)``, or what ``__getattr__`` gives."""
        if isinstance(owner, (HeapRef, SuperProxy)):
            return self.object_attribute(owner, name)
        cell = self._cell(owner, name)
        if cell is not None and self.state.heap[cell] is not MISSING:
            return self.certainly(self.state.heap[cell])
        getter = self.getter(owner, name)
        if getter is not None:
            return self.call(getter, (), {})
        if self._writes_attributes:
            kind = type(owner)
            found = self._descriptor(owner, kind, name)
            own = getattr(owner, "__dict__", {})
            if found is not None and (name not in own or special(type(found), "__set__")):
                reader = self.special(found, "__get__") if self._leads(owner) else None
                if reader is not None:
                    return self.call(reader, (owner, kind), {})
            fallback = None
            if inspect.getattr_static(owner, name, MISSING) is MISSING:
                runs = self._runs(owner, "__getattr__")
                fallback = self.special(owner, "__getattr__") if runs else None
            if fallback is not None:
                return self.call(fallback, (name,), {})
        below = is_written(special(type(owner), "__getattribute__"))
        read = self.world.attribute_below if below else self.world.attribute
        found = read(owner, name, self.builder.span)
        if name == "__dict__" and self._is_ones_own(owner):
            self.world.owners[id(found)] = owner
        return self.lifted(found)

    def _writes(self) -> list[Write]:
        """Return the writes to outside objects that are known so far."""
        return [*self.world.written.values(), *self.world.discovered.values()]

    @property
    def _writes_attributes(self) -> bool:
        return any(write.name is not None for write in self._writes())

    def _is_ones_own(self, owner: Any) -> bool:
        """Return True if the ``__dict__`` of an outside object holds attributes that may be
        written through it."""
        fixed = isinstance(owner, (Cell, type, types.ModuleType))
        if fixed and any(write.target is owner and write.name for write in self._writes()):
            raise outside_items.without_dict(self, type(owner))
        return not fixed and isinstance(getattr(owner, "__dict__", None), dict)

    def _cell(self, owner: Any, name: str) -> HeapRef | None:
        """The cell of a written attribute: of the object's own, or of its class's."""
        found = self.world.cell_of(self.state.heap, owner, name)
        if found is not None or not self._writes_attributes or isinstance(owner, types.ModuleType):
            return found
        bases = owner.__mro__[1:] if isinstance(owner, type) else type(owner).__mro__
        for base in bases:
            cell = self.world.cell_of(self.state.heap, base, name)
            if cell is None and name not in vars(base):
                continue
            return None if name in getattr(owner, "__dict__", {}) else cell
        return None

    def _descriptor(self, owner: Any, cls: type, name: str) -> Any:
        """Return the user-defined descriptor that the class has under a name, guarded from now
        on; None if it has none."""
        found = special(cls, name)
        kinds = (special(type(found), way) for way in ("__get__", "__set__"))
        if not any(map(is_written, kinds)):
            return None
        path = self.world.path(owner)
        if isinstance(owner, HeapRef):
            path = self.world.path(cls)
        elif path is not None:
            path = f"type({path})"
            self.world.assume(path, cls)
        if path is not None:
            place = next(n for n, base in enumerate(cls.__mro__) if name in vars(base))
            self.world.assume(f"{path}.__mro__[{place}].__dict__[{name!r}]", found)
        return found

    def object_attribute(self, thing: HeapRef | SuperProxy, name: str) -> Any:
        """``thing.name``: of the object itself, or of its class; for ``super()``, of the classes
        after the one that the method stands in."""
        ref = thing.ref if isinstance(thing, SuperProxy) else thing
        held = self.state.heap[ref]
        cls = held["__class__"]
        if name == "__dict__":
            return Own(ref)
        if isinstance(thing, SuperProxy):
            after = cls.__mro__[cls.__mro__.index(thing.owner) + 1 :]
            cls = next((base for base in after if name in vars(base)), object)
            if name == "__init__" and cls is object:
                return type(None)  # which takes no arguments either
            if name in _REACHING and cls is object:
                return types.MethodType(getattr(object, name), ref)
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
        descriptor = self._descriptor(ref, cls, name)
        reader = None if descriptor is None else self.special(descriptor, "__get__")
        if reader is not None:
            return self.call(reader, (ref, held["__class__"]), {})
        fallback = self.special(ref, "__getattr__") if found is MISSING else None
        if fallback is not None:
            return self.call(fallback, (name,), {})
        if found is MISSING:
            raise self.fail(
                UnknownAttribute,
                f"the object '{cls.__name__}' has no attribute '{name}'",
                suggested(name, [*held, *dir(cls)]) or f"assign self.{name} in its __init__",
            )
        return self.lifted(self.world.attribute(cls, name, self.builder.span))

    def set(self, owner: Any, name: str, value: Any) -> None:
        """``owner.name = value`` for an object that the text made, or one from outside."""
        own = self.special(owner, "__setattr__")
        if own is not None:
            with self._setting(owner, own, name):
                self.call(own, (name, value), {})
            return
        cls = self.state.heap[owner]["__class__"] if isinstance(owner, HeapRef) else type(owner)
        if isinstance(owner, HeapRef) and _is_frozen(cls):
            raise self._read_only(cls, name)
        self.set_plainly(owner, name, value)

    def set_plainly(self, owner: Any, name: str, value: Any) -> None:
        """``object.__setattr__(owner, name, value)``."""
        if isinstance(owner, SuperProxy):
            owner = owner.ref
        made = isinstance(owner, HeapRef)
        cls = self.state.heap[owner]["__class__"] if made else type(owner)
        descriptor = self._descriptor(owner, cls, name)
        writer = None if descriptor is None else self.special(descriptor, "__set__")
        if writer is not None:
            with self._setting(descriptor, writer, name):
                self.call(writer, (owner, value), {})
        elif made:
            self._store_in_object(owner, cls, name, value)
        elif (setter := self.setter(owner, name)) is not None:
            self.call(setter, (value,), {})
        else:
            self.world.assume_special(owner, name)  # the class may gain a descriptor
            self.store_outside(owner, name, value)

    @contextmanager
    def _setting(self, owner: Any, method: Any, name: str) -> Iterator[None]:
        """Report refusals inside ``method`` at the line that sets the attribute ``name``."""
        kind = self.state.heap[owner]["__class__"] if isinstance(owner, HeapRef) else type(owner)
        place, problems = self.place, self.world.problems
        mark = len(problems)

        def told(problem: Problem) -> Problem:
            if place is None or problem.kind not in (UnsupportedSyntax, DTypeError):
                return problem
            where = f" ({problem.span.place})" if problem.span else ""
            cause = (
                f"setting '{name}' runs {kind.__name__}.{method.__name__}, where{where} "
                f"{problem.cause}"
            )
            cure = f"set '{name}' after the call of the compiled function, to what that returns"
            return replace(problem, cause=cause, cure=cure, span=place, callers=())

        try:
            yield
        except CompileError as error:
            raise error.holding([*map(told, error.problems)]) from None
        finally:
            problems[mark:] = map(told, problems[mark:])

    def store_outside(self, owner: Any, name: str, value: Any) -> None:
        """Writes an attribute of an outside object, as its own."""
        raise NotImplementedError

    def _read_only(self, cls: type, name: str) -> CompileError:
        return self.fail(
            UnsupportedSyntax,
            f"the attribute '{name}' of a '{cls.__name__}' is read-only",
            "make a new object with the new value",
        )

    def reached(self, callee: Any, args: Sequence[Any]) -> tuple[Any, ...] | None:
        """The outcome of ``object.__setattr__`` and its like, in a tuple; None of other calls."""
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
        attribute = self.static(attribute, "the name of an attribute")
        if name == "__setattr__":
            self.set_plainly(owner, attribute, *rest)
            return (None,)
        return (self.read_plainly(owner, attribute),)

    def _store_in_object(self, ref: HeapRef, cls: type, name: str, value: Any) -> None:
        found = self.world.assume_of_class(cls, name)
        if isinstance(found, property) and found.fset is not None:
            self.call(types.MethodType(found.fset, ref), (value,), {})
            return
        self.store_own(ref, cls, name, value)

    def store_own(self, ref: HeapRef, cls: type, name: str, value: Any) -> None:
        """Sets an attribute of an object that the text made, as its own."""
        found = special(cls, name)
        slotted = not cls.__dictoffset__ and not isinstance(found, types.MemberDescriptorType)
        if slotted or isinstance(found, property):
            raise self._read_only(cls, name)
        if ref in self.world.given:
            raise self.fail(
                UnsupportedSyntax,
                f"this assigns the attribute '{name}' of an argument, and compiled code "
                f"cannot change the caller's {cls.__name__}",
                f"return a new object: dataclasses.replace(obj, {name}=...)",
            )
        self._set(ref, name, value)

    def _set(self, ref: HeapRef, name: str, value: Any) -> None:
        self.state.heap[ref] = {**self.state.heap[ref], name: value}

    def special(self, thing: Any, name: str) -> Callable[..., Any] | None:
        """A method such as ``__add__`` that the class of an object has: of one that was made here,
        or of an object of the user's from outside."""
        if isinstance(thing, HeapRef):
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


def _is_frozen(cls: type) -> bool:
    return dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen  # type: ignore[attr-defined]


def is_written(function: Any) -> bool:
    """Return True if this is a function of the user's with source code."""
    written = isinstance(function, types.FunctionType) and not is_generated(function)
    return written and is_theirs(function)
