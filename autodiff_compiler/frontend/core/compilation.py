"""The state of a compilation: the outside names and attributes that it reads and writes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.hooks import Hook
from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.cost_model import costs
from autodiff_compiler.errors import (
    Problem,
    UnsupportedSyntax,
    calling,
)
from autodiff_compiler.frontend.abstract.aliasing import TensorAliases
from autodiff_compiler.frontend.abstract.array_recipes import Recipes
from autodiff_compiler.frontend.abstract.values import HeapRef, NeedsKnownValue
from autodiff_compiler.frontend.core.guards import (
    MISSING,
    GuardRecorder,
    holds_plain_only,
    is_user_object,
)
from autodiff_compiler.interface.compiled import AttributeInput, Item, Write
from autodiff_compiler.ir.nodes import Function, Op, Value
from autodiff_compiler.ir.printer import print_function
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


class Mutables:
    """The compile-time values that the source function or its caller marked by ``mutable``."""

    def __init__(self) -> None:
        self._marked: dict[int, tuple[Any, Any]] = {}  # a value, and the structure of its gradient

    def mark(self, value: Any, like: Any) -> None:
        """Marks a value; its gradient has the lists, dicts and tuples of ``like``."""
        self._marked[id(value)] = value, like

    def copy(self, value: Any, other: Any) -> None:
        """Marks ``other`` if ``value`` is marked."""
        if id(value) in self._marked:
            self.mark(other, self._marked[id(value)][1])

    def __contains__(self, value: Any) -> bool:
        return id(value) in self._marked

    def like(self, value: Any) -> Any:
        """Returns the structure of the gradient of a value; None if the value is not marked."""
        return self._marked.get(id(value), (None, None))[1]


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
                    f"this function calls itself too deeply: '{name}' is nested in more than "
                    f"{of_one} calls of itself, and all of them are inlined",
                    "write the recursion as a 'while' loop",
                    span,
                )
            if self._of_all > of_all:
                raise NestingTooDeep(
                    f"calls are nested too deeply: '{name}' is called inside more than {of_all} "
                    "other calls, and all of them are inlined",
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
    #: True while the code being lowered is to be differentiated; ``wants_rules`` asks for it.
    differentiates: bool = False
    #: True if a rule, or a hook on a gradient, was met: without a derivative the program differs.
    met_rules: bool = False
    #: The guards that only follow from which Parameters are trainable.
    weight_guards: set[Any] = field(default_factory=set)
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
    mutables: Mutables = field(default_factory=Mutables)
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
    #: The variables that loops turned out to carry: see ``control_flow/learned_carries.py``.
    learned_loops: dict[Any, Any] = field(default_factory=dict)
    aliases: TensorAliases = field(default_factory=TensorAliases)
    #: The arrays made at compile time, as by ``np.zeros(3)``, by identity.
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

    def guard_trainable(self, path: str, parameter: Parameter) -> None:
        """Guards that a Parameter is trainable, or that it is not."""
        flag = f"{path}.requires_grad"
        if (flag, "equal") not in self.guards:
            self.weight_guards.add((flag, "equal"))
        self.add_guard(flag, parameter.requires_grad)

    def wants_rules(self) -> bool:
        """True if the code being lowered is to be differentiated. Asked only where a rule, or a
        hook on a gradient, was met."""
        self.met_rules = True
        return self.differentiates

    @contextmanager
    def differentiating(self) -> Iterator[None]:
        """Enters a block whose code is to be differentiated."""
        before = self.differentiates, self.met_rules
        self.differentiates = True
        try:
            yield
        finally:  # rules that were met inside are needed in any case
            self.differentiates, self.met_rules = before

    @contextmanager
    def calling(self, caller: Caller | None) -> Iterator[None]:
        """Enters a block whose problems are in a function that ``caller`` called."""
        try:
            with calling(caller, self.problems) if caller else nullcontext():
                yield
        except NeedsKnownValue as need:
            need.callers += (caller,) if caller else ()
            raise

    def source_of(self, thing: Any) -> Any:
        """Returns the dict from outside that ``thing`` is, or is a copy of."""
        return self.copied_dicts[id(thing)][1] if id(thing) in self.copied_dicts else thing

    def _written_dicts(self) -> dict[int, list[Any]]:
        """Returns the keys of written items, by the identity of their dict from outside."""
        keys: dict[int, list[Any]] = {}
        for write in (*self.written.values(), *self.discovered.values()):
            if isinstance(write.name, Item):
                keys.setdefault(id(write.target), []).append(write.name.key)
            elif write.name is not None:
                attributes = getattr(write.target, "__dict__", None)
                if id(attributes) in self.dict_owners:
                    keys.setdefault(id(attributes), []).append(write.name)
        return keys

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
                "this reads a whole dict that was made outside of the function; the function "
                f"writes its item {keys[0]!r}",
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
            if write.present_value(MISSING) is not MISSING:
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
            for name, value in object.__getattribute__(thing, "__dict__").items():
                if is_user_object(value) or isinstance(value, Cell):
                    self.add_guard(f"{path}.__dict__[{name!r}]", value)
                    rest.append(value)
                elif type(value) in (list, tuple, dict) and not holds_plain_only(value):
                    self.register_path(value, f"{path}.__dict__[{name!r}]")
                    self.guard_contents(value)

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
