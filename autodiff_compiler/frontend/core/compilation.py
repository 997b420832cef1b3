"""The state of a compilation: the outside names and attributes that it reads and writes."""

from __future__ import annotations

import builtins
import itertools
import types
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.hooks import Hook
from autodiff_compiler.cost_model import costs
from autodiff_compiler.errors import (
    CompileError,
    Problem,
    UnknownAttribute,
    UnknownName,
    UnsupportedSyntax,
    calling,
)
from autodiff_compiler.frontend.abstract.aliasing import TensorAliases
from autodiff_compiler.frontend.abstract.array_recipes import Recipes
from autodiff_compiler.frontend.abstract.values import HeapRef, NeedsKnownValue
from autodiff_compiler.frontend.core.assumptions import (
    MISSING,
    GuardRecorder,
    holds_plain_only,
    is_assumed_constant,
    is_user_code,
    is_user_object,
    refuse_recomputed,
)
from autodiff_compiler.interface import AttributeInput, Item, Write
from autodiff_compiler.ir.nodes import Function, Op, Value
from autodiff_compiler.ir.printer import print_function
from autodiff_compiler.mindspore_names.suggestions import nearest
from autodiff_compiler.span import NOWHERE, Caller, Span


class NestingTooDeep(RecursionError):
    """More calls nest than one compilation takes. It unwinds all of them at once: the rest of each
    caller would be refused as well."""

    def __init__(self, cause: str, cure: str, span: Span | None):
        super().__init__(cause)
        self.cause, self.cure, self.span = cause, cure, span

    def refusal(self, place: Span | None) -> UnsupportedSyntax:
        """Returns the error for the user; ``place`` is that of the outermost source function."""
        return UnsupportedSyntax(self.cause, self.cure, self.span or place)


class CallDepths:
    """The numbers of calls that are being lowered inside each other."""

    def __init__(self) -> None:
        self._of_one: Counter[int] = Counter()
        self._of_all = 0

    @contextmanager
    def entering(self, tree: Any, name: str, caller: Caller | None) -> Iterator[None]:
        """Counts a call of ``tree`` by ``caller``. Raises NestingTooDeep where too many nest."""
        key, span = id(tree), caller.span if caller else None
        of_one, of_all = costs().deep_recursion_calls, costs().nested_calls
        self._of_one[key] += 1
        self._of_all += 1
        try:
            if self._of_one[key] > of_one:
                raise NestingTooDeep(
                    f"this function calls itself too deeply: '{name}' is met inside more than "
                    f"{of_one} calls of itself, which are all written out",
                    "write the recursion as a 'while' loop",
                    span,
                )
            if self._of_all > of_all:
                raise NestingTooDeep(
                    f"calls are nested too deeply: '{name}' is called inside more than {of_all} "
                    "other calls, which are all written out",
                    "call some of the functions one after the other, or in a loop",
                    span,
                )
            yield
        finally:
            self._of_one[key] -= 1
            self._of_all -= 1


@dataclass
class Compilation(GuardRecorder):
    """The facts of one compilation, shared by the compiled function and all that it calls."""

    problems: list[Problem] = field(default_factory=list)
    numpy: bool = False
    #: True while the code being lowered is to be differentiated: only then are rules needed.
    differentiates: bool = False
    #: True while the code being lowered may only compute: it may not call Python at run time.
    strict: bool = False
    #: The dtype that floating tensors from outside are cast to (``Cell.to_float``), and the value
    #: before its cast.
    precision: str | None = None
    uncast: dict[Value, Value] = field(default_factory=dict)
    #: The arguments that are values, with their slots.
    slots: dict[Value, int] = field(default_factory=dict)
    #: The paths of the values in arguments.
    found_at: dict[Value, str] = field(default_factory=dict)
    #: The arrays in arguments, as the outermost function sees them, and their paths.
    arguments: dict[Value, str] = field(default_factory=dict)
    #: The arguments that it writes to: the list of operations, their number at the first write, and
    #: the place of that write.
    overwritten: dict[Value, tuple[list[Op], int, Span]] = field(default_factory=dict)
    #: The layouts of arguments that are assumed, by slot: see ``interface.ArraySlot``.
    orders: Mapping[int, Any] = field(default_factory=dict)
    #: The hooks of arguments, by slot.
    hooks: dict[int, tuple[Hook, ...]] = field(default_factory=dict)
    #: The kinds of NumPy's warnings that the source function silences.
    silenced: set[str] = field(default_factory=set)
    #: The outside things that the source function writes, by key, and their heap objects.
    written: dict[Any, Write] = field(default_factory=dict)
    heap_objects: dict[Any, HeapRef] = field(default_factory=dict)
    #: Writes that were found and are not in ``written``: the lowering begins again, so that every
    #: branch and loop has the heap object from the beginning.
    discovered: dict[Any, Write] = field(default_factory=dict)
    #: The calls of source functions that are being lowered, the outermost first.
    calls: list[Any] = field(default_factory=list)
    depths: CallDepths = field(default_factory=CallDepths)
    #: Source functions that can only be inlined, known from the first try.
    inlined_only: set[Any] = field(default_factory=set)
    #: The loops in which lists grow and that could be unrolled, and those that must be.
    growing_loops: set[Any] = field(default_factory=set)
    unrolled_loops: frozenset[Any] = frozenset()
    aliases: TensorAliases = field(default_factory=TensorAliases)
    #: The arrays made while compiling, as by ``np.zeros(3)``, by identity.
    created_arrays: dict[int, Any] = field(default_factory=dict)
    recipes: Recipes = field(default_factory=Recipes)
    #: The objects that stand for arguments.
    argument_objects: set[HeapRef] = field(default_factory=set)
    inputs: dict[Any, AttributeInput] = field(default_factory=dict)
    #: True if methods of an outside object can reach a written thing, by both.
    may_reach_written: dict[Any, bool] = field(default_factory=dict)
    refs: Iterator[int] = field(default_factory=itertools.count)
    #: Dicts from outside of which a copy was made, by the identity of the copy.
    copied_dicts: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    #: The objects whose ``__dict__`` was read, by its identity.
    dict_owners: dict[int, Any] = field(default_factory=dict)
    _functions: dict[str, Function] = field(default_factory=dict)
    _names: dict[str, int] = field(default_factory=dict)

    @contextmanager
    def differentiating(self) -> Iterator[None]:
        """Enters a block whose code is to be differentiated."""
        before, self.differentiates = self.differentiates, True
        try:
            yield
        finally:
            self.differentiates = before

    @contextmanager
    def calling(self, caller: Caller | None) -> Iterator[None]:
        """Enters a block whose problems are in a function that ``caller`` called."""
        try:
            with calling(caller, self.problems) if caller else nullcontext():
                yield
        except NeedsKnownValue as need:
            need.callers += (caller,) if caller else ()
            raise

    def read_default_attribute(self, owner: Any, name: str, span: Span) -> Any:
        """Returns ``owner.name`` as ``object.__getattribute__`` reads it, and guards it."""
        path = self.path(owner)
        place = f"object.__getattribute__({path}, {name!r})"
        found = MISSING if path is None else self.recorded_value(place)
        if found is not MISSING:
            return found
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
        found = MISSING if path is None else self.recorded_value(f"{path}.{name}")
        if found is not MISSING:
            return found
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
            found = self.recorded_value(f"{path}.__closure__[{place}].cell_contents")
            try:
                value = cell.cell_contents if found is MISSING else found
            except ValueError:
                value = MISSING
            if value is not MISSING:
                if path is not None:
                    self.add_guard(f"{path}.__closure__[{place}].cell_contents", value)
                return value
        found = self.recorded_value(f"{path}.__globals__[{name!r}]")
        if found is not MISSING:
            return found
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

    def heap_object_of(
        self, heap: Mapping[HeapRef, Any], thing: Any, name: Any = None
    ) -> HeapRef | None:
        """Returns the heap object of a written Parameter or attribute, if it is in ``heap``. One
        from an abandoned trial is not."""
        cell = self.heap_objects.get((id(thing), name))
        return cell if cell in heap else None

    def source_of(self, thing: Any) -> Any:
        """Returns the dict from outside that ``thing`` is, or is a copy of."""
        return self.copied_dicts[id(thing)][1] if id(thing) in self.copied_dicts else thing

    def _written_dicts(self) -> dict[int, list[Any]]:
        """Returns the keys of written items, by the identity of their dict from outside."""
        found: dict[int, list[Any]] = {}
        for write in (*self.written.values(), *self.discovered.values()):
            if isinstance(write.name, Item):
                found.setdefault(id(write.target), []).append(write.name.key)
            elif write.name is not None:
                held = getattr(write.target, "__dict__", None)
                if id(held) in self.dict_owners:
                    found.setdefault(id(held), []).append(write.name)
        return found

    def holds_written(self, thing: Any) -> bool:
        """True if a container is a dict whose items are written, or holds one."""
        written = self._written_dicts()

        def holds(thing: Any) -> bool:
            if isinstance(thing, (tuple, list)):
                return any(map(holds, thing))
            return isinstance(thing, dict) and (
                id(thing) in written or any(map(holds, thing.values()))
            )

        return bool(written) and holds(thing)

    def _refuse_reading_whole(self, thing: Any, new_keys_only: bool = False) -> None:
        """Refuses to read a dict as a whole, if the source function writes its items."""
        keys = self._written_dicts().get(id(thing), ()) if isinstance(thing, dict) else ()
        if new_keys_only and all(key in thing for key in keys):
            return
        if keys:
            raise UnsupportedSyntax(
                "this reads a dict that was made outside of the function as a whole, and the "
                f"function writes its item {keys[0]!r}",
                "read the items one by one: d[key]",
            )

    def guard_contents(self, thing: Any) -> None:
        self._refuse_reading_whole(thing)
        super().guard_contents(thing)

    def guard_keys(self, thing: Mapping[Any, Any]) -> None:
        self._refuse_reading_whole(thing, True)
        super().guard_keys(thing)

    def guard_length(self, thing: Any) -> None:
        self._refuse_reading_whole(thing, True)
        super().guard_length(thing)

    def guard_written(self) -> None:
        """Guards the values of written attributes before the call, except those that are read at
        every call. Only now the paths of their owners are known."""
        for key, write in self.written.items():
            if write.name is None or key in self.inputs:
                continue
            if write.held(MISSING) is not MISSING:
                super().guard_contents(self.value_before(write, NOWHERE))
            else:
                self.guard_was_absent(write)

    def guard_was_absent(self, write: Write) -> None:
        """Guards that an attribute, or item, did not exist before it was written."""
        if not isinstance(write.name, Item):
            self.guard_absent_attribute(write.target, str(write.name))
        elif (path := self.path(write.target)) is not None:
            self.guard_missing_key(path, write.name.key)

    def guard_reachable_objects(self, owner: Any) -> None:
        """Guards the user's objects that an outside object can reach. Python runs its methods, and
        they can reach no others."""
        rest, seen = [owner], set()
        while rest:
            thing = rest.pop()
            path = self.path(thing)
            if path is None or id(thing) in seen or not hasattr(thing, "__dict__"):
                continue
            seen.add(id(thing))
            for name, held in object.__getattribute__(thing, "__dict__").items():
                if is_user_object(held) or isinstance(held, Cell):
                    self.add_guard(f"{path}.__dict__[{name!r}]", held)
                    rest.append(held)
                elif type(held) in (list, tuple, dict) and not holds_plain_only(held):
                    self.register_path(held, f"{path}.__dict__[{name!r}]")
                    self.guard_contents(held)

    def value_before(self, write: Write, span: Span) -> Any:
        """Returns the value of a written attribute or item before the call."""
        if isinstance(write.name, Item):
            return super().item(write.target, write.name.key)
        read = self.read_attribute if write.get is getattr else self.read_default_attribute
        return read(write.target, str(write.name), span)

    def attribute_input(self, write: Write) -> AttributeInput:
        """Returns the one input that stands for a written attribute."""
        key = (id(write.target), write.name)
        assert write.name is not None
        if key not in self.inputs:
            self.inputs[key] = AttributeInput(write.target, write.name, write.get)
        return self.inputs[key]

    def report(self, problem: Problem) -> None:
        """Adds a problem to the report."""
        if problem not in self.problems:
            self.problems.append(problem)

    def unique_function(self, function: Function) -> Function:
        """Returns an earlier function of equal text, or else ``function`` under a unique name."""
        text = print_function(replace(function, name="shared"))
        if text not in self._functions:
            number = self._names.get(function.name, 0)
            self._names[function.name] = number + 1
            name = f"{function.name}_{number}" if number else function.name
            self._functions[text] = replace(function, name=name)
        return self._functions[text]


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
