"""The outside world as a compilation sees it: what was read, and what that assumes.

Whatever the text reads from outside (an attribute of ``self``, a global, a closure's variable, an
item of a configuration) has a *path*, a Python expression over ``fn``, the function or Cell being
compiled. Reading it records an assumption on that path; the compiled pair is used only while all
its assumptions hold.
"""

from __future__ import annotations

import builtins
import enum
import functools
import itertools
import sys
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from autodiff_compiler.common.cell import Cell
from autodiff_compiler.common.hooks import Hook
from autodiff_compiler.common.seed import Generator
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import (
    Problem,
    UnknownAttribute,
    UnknownName,
    UnsupportedSyntax,
    calling,
)
from autodiff_compiler.frontend.memory import Memory
from autodiff_compiler.frontend.recipes import Recipes
from autodiff_compiler.frontend.values import NeedStatic, Ref
from autodiff_compiler.ir.nodes import Function, Value
from autodiff_compiler.ir.text import print_function
from autodiff_compiler.ops.transform import Transformed
from autodiff_compiler.plan import CONTAINERS, Assumption, AttributeInput, Write, frozen
from autodiff_compiler.span import Caller, Span
from autodiff_compiler.vocabulary.missing import nearest

PACKAGE = "autodiff_compiler"
#: Where what is not the user's comes from.
NOT_THEIRS = {PACKAGE, "numpy", *sys.stdlib_module_names} - {"__main__"}
PLAIN = (bool, int, float, complex, str, bytes, type(None))
MISSING = object()


def is_array(thing: Any) -> bool:
    """Whether ``thing`` holds what may change without its identity changing: numbers, or the state
    of a random generator."""
    return isinstance(thing, (Tensor, np.ndarray, AttributeInput, Generator))


@dataclass
class World:
    """What one compilation knows; shared by the function compiled and all that it calls."""

    assumptions: dict[tuple[str, str], Assumption] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    numpy: bool = False
    #: Whether what is being lowered is to be differentiated: only then do rules matter.
    differentiates: bool = False
    #: Whether what is being lowered must compute and nothing else: no Python may run meanwhile.
    strict: bool = False
    #: The dtype that floating tensors from outside are cast to (``Cell.to_float``), and what was.
    precision: str | None = None
    uncast: dict[Value, Value] = field(default_factory=dict)
    #: The hooks of arguments, by slot.
    hooks: Mapping[int, tuple[Hook, ...]] = field(default_factory=dict)
    #: The kinds of NumPy's warnings that the text silences.
    silenced: set[str] = field(default_factory=set)
    #: What the text writes outside itself, by key, and the cell of the heap that stands for it.
    written: dict[Any, Write] = field(default_factory=dict)
    cells: dict[Any, Ref] = field(default_factory=dict)
    #: What turned out to be written and is not among ``written``: the lowering begins again, so
    #: that every branch and loop has its cell from the beginning.
    discovered: dict[Any, Write] = field(default_factory=dict)
    #: The calls of texts that are being lowered, the outermost first.
    calls: list[Any] = field(default_factory=list)
    #: Texts that cannot be functions of their own, known from the first try.
    written_out: set[Any] = field(default_factory=set)
    #: The loops in which lists grow and that could be written out, and those that must be.
    growing: set[Any] = field(default_factory=set)
    unrolled: frozenset[Any] = frozenset()
    memory: Memory = field(default_factory=Memory)
    #: The arrays that the text makes while it is compiled, as with ``np.zeros(3)``, by identity.
    made: dict[int, Any] = field(default_factory=dict)
    recipes: Recipes = field(default_factory=Recipes)
    inputs: dict[Any, AttributeInput] = field(default_factory=dict)
    refs: Iterator[int] = field(default_factory=itertools.count)
    _paths: dict[int, str] = field(default_factory=dict)
    _alive: list[Any] = field(default_factory=list)
    _functions: dict[str, Function] = field(default_factory=dict)
    _names: dict[str, int] = field(default_factory=dict)

    @contextmanager
    def differentiating(self) -> Iterator[None]:
        """What is lowered inside is to be differentiated."""
        before, self.differentiates = self.differentiates, True
        try:
            yield
        finally:
            self.differentiates = before

    @contextmanager
    def calling(self, caller: Caller | None) -> Iterator[None]:
        """What is refused or reported inside is in a text that was called there."""
        try:
            with calling(caller, self.problems) if caller else nullcontext():
                yield
        except NeedStatic as need:
            need.callers += (caller,) if caller else ()
            raise

    def know(self, thing: Any, path: str) -> None:
        """From now on ``thing`` is known to be found at ``path``."""
        if not isinstance(thing, PLAIN) and id(thing) not in self._paths:
            self._paths[id(thing)] = path
            self._alive.append(thing)

    def know_parts(self, callee: Any) -> None:
        """What a callable from outside is made of is found through it: the owner of a method, the
        function and the arguments of a partial, the function that was transformed."""
        path = self.path(callee)
        if path is None:
            return
        if isinstance(callee, types.MethodType):
            self.know(callee.__self__, f"{path}.__self__")
        elif isinstance(callee, Transformed):
            self.know(callee.fn, f"{path}.fn")
        elif isinstance(callee, functools.partial):
            self.know(callee.func, f"{path}.func")
            for place, arg in enumerate(callee.args):
                self.assume(f"{path}.args[{place}]", arg)
            for name, arg in callee.keywords.items():
                self.assume(f"{path}.keywords[{name!r}]", arg)

    def path(self, thing: Any) -> str | None:
        """Where ``thing`` was found, or None for what the compilation made itself."""
        return self._paths.get(id(thing))

    def assume(self, path: str, value: Any) -> None:
        """Records that ``path`` gave ``value``."""
        items = value if isinstance(value, tuple) else (value,)
        test = "equal" if all(isinstance(item, PLAIN) for item in items) else "is"
        self.assumptions.setdefault((path, test), Assumption(path, test, value))
        self.know(value, path)

    def assume_same(self, path: str, value: Any) -> None:
        """Records that ``path`` gave this very object, whatever it holds."""
        self.assumptions.setdefault((path, "is"), Assumption(path, "is", value))

    def assume_length(self, thing: Any) -> None:
        """Records how many items an outside container has."""
        path = self.path(thing)
        if path is not None and not isinstance(thing, tuple):
            self.assumptions[path, "length"] = Assumption(path, "length", len(thing))

    def assume_truth(self, thing: Any) -> None:
        """Records whether an outside object that may change is true."""
        path, kind = self.path(thing), type(thing)
        if path is not None and (hasattr(kind, "__len__") or hasattr(kind, "__bool__")):
            self.assume(f"bool({path})", bool(thing))

    def assume_keys(self, thing: Mapping[Any, Any]) -> None:
        """Records which keys an outside dict has, in order."""
        path = self.path(thing)
        if path is not None:
            self.assumptions[path, "keys"] = Assumption(f"list({path})", "equal", list(thing))

    def assume_held(self, thing: Any) -> None:
        """Records what an outside container holds, at any depth: it was read as a whole."""
        if isinstance(thing, PLAIN):
            return
        path = self.path(thing)
        if is_of_theirs(thing):
            self._assume_state(thing, path)
        elif isinstance(thing, (set, deque)) or isinstance(thing, CONTAINERS) and _is_plain(thing):
            if path is not None:
                self.assumptions[path, "equal"] = Assumption(path, "equal", frozen(thing))
        elif isinstance(thing, dict):
            self.assume_keys(thing)
            for key in thing:
                self.assume_held(self.item(thing, key))
        elif isinstance(thing, (list, tuple)):
            self.assume_length(thing)
            for place in range(len(thing)):
                self.assume_held(self.item(thing, place))

    def _assume_state(self, thing: Any, path: str | None) -> None:
        """Records what is in an outside object of the user's: Python runs its methods."""
        if path is None or (path, "state") in self.assumptions:
            return
        self.assumptions[path, "state"] = Assumption(path, "is", thing)
        for slot in _slots(type(thing)):
            if hasattr(thing, slot):
                self.assume(f"{path}.{slot}", getattr(thing, slot))
                self.assume_held(getattr(thing, slot))
            else:
                self.assume_absent(thing, slot)
        if hasattr(thing, "__dict__"):
            self.know(thing.__dict__, f"{path}.__dict__")
            self.assume_held(thing.__dict__)

    def assume_absent(self, owner: Any, name: str) -> None:
        """Records that an outside object has no attribute ``name``."""
        path = self.path(owner)
        if path is not None and not isinstance(owner, types.ModuleType):
            key = f"{path}.{name}"
            self.assumptions[key, "absent"] = Assumption(key, "absent", None)

    def attribute(self, owner: Any, name: str, span: Span) -> Any:
        """``owner.name`` for an outside object."""
        path = self.path(owner)
        try:
            value = getattr(owner, name)
        except AttributeError as error:
            self.assume_absent(owner, name)
            if isinstance(error, UnknownAttribute):  # of ops, nn or Tensor, which know more
                cause, cure = error.problems[0].cause, error.problems[0].cure
            else:
                cause = f"{_described(owner)} has no attribute '{name}'"
                cure = suggested(name, dir(owner)) or (
                    "use a name that the module has" if isinstance(owner, types.ModuleType)
                    else f"use what a {type(owner).__name__} has, or pass something else"
                    if type(owner).__module__ == "builtins" and not isinstance(owner, type)
                    else f"define '{name}' before construct reads it"
                )  # fmt: skip
            raise UnknownAttribute(cause, cure, span).meaning(error) from None
        _refuse_fresh(value, lambda: getattr(owner, name), f"'{name}'", span)
        if path is not None and not _is_fixed(owner):
            # A bound method is a new object at every look; its function is not.
            if isinstance(value, types.MethodType) and value.__self__ is owner:
                self.assume(f"{path}.{name}.__func__", value.__func__)
            elif isinstance(value, types.BuiltinMethodType) and not isinstance(
                owner, types.ModuleType
            ):
                self.assume_held(owner)
            else:
                self.assume(f"{path}.{name}", value)
        return value

    def item(self, owner: Any, key: Any) -> Any:
        """``owner[key]`` for an outside container; the key is plain."""
        value = owner[key]
        _refuse_fresh(value, lambda: owner[key], f"the item {key!r}")
        path = self.path(owner)
        if path is not None and isinstance(owner, dict) and not _is_plain((key,)):
            self.assume_keys(owner)  # by its place, for its text need not be an expression
            self.assume(f"list({path}.values())[{list(owner).index(key)}]", value)
        elif path is not None and not isinstance(key, slice):
            self.assume(f"{path}[{key!r}]", value)
        elif path is not None:
            self.assume_length(owner)
            for place in range(*key.indices(len(owner))):
                self.assume(f"{path}[{place}]", owner[place])
        return value

    def free_name(self, function: Any, name: str, span: Span) -> Any:
        """A name that ``function`` reads from around it: closure, global, builtin."""
        code = function.__code__
        path = self.path(function)
        if name in code.co_freevars and function.__closure__ is not None:
            place = code.co_freevars.index(name)
            cell = function.__closure__[place]
            try:
                value = cell.cell_contents
            except ValueError:
                value = MISSING
            if value is not MISSING:
                if path is not None:
                    self.assume(f"{path}.__closure__[{place}].cell_contents", value)
                return value
        if name in function.__globals__:
            value = function.__globals__[name]
            if path is not None:
                self.assume(f"{path}.__globals__[{name!r}]", value)
            return value
        if hasattr(builtins, name):
            return getattr(builtins, name)
        known = [*function.__globals__, *code.co_varnames, *dir(builtins)]
        raise UnknownName(
            f"the name '{name}' is not defined",
            suggested(name, known) or f"define '{name}', or pass it as an argument",
            span,
        )

    def cell_of(self, heap: Mapping[Ref, Any], thing: Any, name: str | None = None) -> Ref | None:
        """The cell that stands for a written Parameter or attribute, if it is in ``heap``: one that
        was found in a trial is not, once the trial has been given up."""
        cell = self.cells.get((id(thing), name))
        return cell if cell in heap else None

    def attribute_input(self, write: Write) -> AttributeInput:
        """The one input that stands for a written attribute."""
        key = (id(write.target), write.name)
        if key not in self.inputs:
            self.inputs[key] = AttributeInput(write.target, str(write.name))
        return self.inputs[key]

    def report(self, problem: Problem) -> None:
        """Keeps a problem to be told with all others."""
        if problem not in self.problems:
            self.problems.append(problem)

    def share(self, function: Function) -> Function:
        """The function of equal text met before, or else ``function`` under a name of its own."""
        text = print_function(replace(function, name="shared"))
        if text not in self._functions:
            number = self._names.get(function.name, 0)
            self._names[function.name] = number + 1
            name = f"{function.name}_{number}" if number else function.name
            self._functions[text] = replace(function, name=name)
        return self._functions[text]


def is_theirs(thing: Any) -> bool:
    """Whether a class or function is neither of this package nor of NumPy or Python's library."""
    return (thing.__module__ or "").partition(".")[0] not in NOT_THEIRS


def is_of_theirs(thing: Any) -> bool:
    """Whether ``thing`` is an object of a class of the user's, which may change: no Cell, and no
    member of an enumeration."""
    kind = type(thing)
    fixed = isinstance(thing, (Cell, Tensor, type, enum.Enum))
    return not fixed and (is_theirs(kind) or kind is types.SimpleNamespace)


def is_generated(function: Any) -> bool:
    """Whether a method has no text of its own, as those that ``dataclass`` writes."""
    return getattr(getattr(function, "__code__", None), "co_filename", "") == "<string>"


def _slots(kind: type) -> Iterator[str]:
    """The names of what objects of this class hold outside of a ``__dict__``."""
    for each in kind.__mro__:
        for name, member in vars(each).items():
            if isinstance(member, types.MemberDescriptorType) and name != "__dict__":
                yield name


def _is_plain(thing: Any) -> bool:
    """Whether a container holds nothing but plain things, at any depth."""
    if isinstance(thing, dict):
        return all(map(_is_plain, (*thing, *thing.values())))
    return all(map(_is_plain, thing)) if isinstance(thing, (list, tuple)) else isinstance(
        thing, PLAIN)  # fmt: skip


def _refuse_fresh(
    value: Any, again: Callable[[], Any], name: str, span: Span | None = None
) -> None:
    """Refuses a tensor that is another one at each look: what it is computed from is not seen, and
    as a constant it would have no gradient."""
    if isinstance(value, Tensor) and again() is not value:
        raise UnsupportedSyntax(
            f"{name} is computed anew at each look, by text that the compiler does not see",
            "give it by a method, or by a property",
            span,
        )


def _is_fixed(owner: Any) -> bool:
    """Whether what ``owner`` holds is taken for granted: this package, NumPy, the library."""
    name = owner.__name__ if isinstance(owner, types.ModuleType) else ""
    return name.partition(".")[0] in ("autodiff_compiler", "numpy", "math")


def _described(owner: Any) -> str:
    if isinstance(owner, types.ModuleType):
        return f"the module '{owner.__name__}'"
    if isinstance(owner, type):
        return f"the class '{owner.__name__}'"
    kind = "Cell" if isinstance(owner, Cell) else "object"
    return f"the {kind} '{type(owner).__name__}'"


def suggested(name: str, known: Iterable[str]) -> str:
    """The cure for a misspelt name: the one that it looks like."""
    like = nearest(name, known)
    return f"did you mean '{like}'?" if like else ""
