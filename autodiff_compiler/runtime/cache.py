"""The cache of compiled functions: finds the code for a call, or compiles it.

The first key is the identity of the source function. A Cell is identified by the object, a plain
function or lambda by its code. A transformed function is identified by its request and the function
inside. A lambda that a loop creates again is therefore not compiled again; guards compare the
function object. The second key is that of the call. It leads to a few compiled functions, and their
guards choose among them.

If a source function dies, its entries are dropped. If there are too many entries, the least
recently used one is dropped.
"""

from __future__ import annotations

import functools
import itertools
import threading
import types
import weakref
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from typing import Any

from autodiff_compiler.common.context import TARGET_ATTRIBUTE
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.cost_model import costs
from autodiff_compiler.faults import compiling
from autodiff_compiler.interface.compiled import Compiled, NoNativeText, TupleType
from autodiff_compiler.interface.request import Request
from autodiff_compiler.ops.transforms.transformed import Transformed, unwrapped
from autodiff_compiler.runtime.arguments import signatures
from autodiff_compiler.runtime.compiled_function import CompiledFunction
from autodiff_compiler.runtime.fast_call import FastCall
from autodiff_compiler.runtime.guards import check_separate_arguments, first_failed_guard
from autodiff_compiler.runtime.late_imports import imported_late
from autodiff_compiler.runtime.static_arguments import retry_with_static_numbers
from autodiff_compiler.span import Span

#: Warns that NumPy source runs instead of C.
warn_once = imported_late("autodiff_compiler.runtime.native.errors", "warn_once")

#: ``(fn, request, values of the slots, keywords, slots whose value must be known) -> Compiled``
Compile = Callable[[Any, Request, tuple[Any, ...], tuple[str, ...], frozenset[int]], Compiled]

#: The request with all its fields; the signatures of the slots; the keywords.
Key = tuple[tuple[Hashable, tuple[Hashable, ...]], tuple[Hashable, ...], tuple[str, ...]]

#: How often a call is compiled again if a value that the compiler read has changed meanwhile.
RETRIES = 2


def call_key(
    asked: Hashable, template: Request, slots: tuple[Any, ...], keywords: tuple[str, ...]
) -> Key:
    """Returns the key of a call: everything besides the function that decides the code.

    template   the request, without the fields that follow from the signatures of the arguments.
    """
    return (asked, template.key), signatures(slots), keywords


class FunctionEntries:
    """The compiled functions of one source function, by the keys of its calls.

    units          the compiled functions of each key; their guards choose among them.
    fast_calls     by ``CallSite.asked``, the unit that answered last and its fast call.
    static_slots   by key, the slots whose values the compiler turned out to need.
    owners         weak references to the objects that make up the identity.
    takes_objects  True if the source function writes to objects among its arguments, so that these
                   must not be flattened.
    """

    def __init__(self) -> None:
        self.units: dict[Key, tuple[CompiledFunction, ...]] = {}
        self.fast_calls: dict[Hashable, tuple[CompiledFunction, FastCall]] = {}
        self.static_slots: dict[Key, frozenset[int]] = {}
        self.owners: list[Any] = []
        self.takes_objects = False

    def all(self) -> Iterator[tuple[Key, CompiledFunction]]:
        return ((key, unit) for key, units in [*self.units.items()] for unit in units)

    def drop(self, key: Key, unit: CompiledFunction) -> None:
        unit.drop_fast_calls()
        self.fast_calls = {
            asked: row for asked, row in self.fast_calls.items() if row[0] is not unit
        }
        self.units[key] = tuple(u for u in self.units.get(key, ()) if u is not unit)
        if not self.units[key]:
            del self.units[key]
            self.static_slots.pop(key, None)


class CallSite:
    """A call: the function, its arguments and the derivative that is asked for.

    fn        the function that is run or differentiated.
    asked     the key of the derivative, or None if ``fn`` is run.
    slots     the positional arguments, then the keyword arguments in the order of the call.
    keywords  the names of the keyword arguments.
    key       everything besides ``fn`` that decides the code.
    entries   the compiled functions of ``fn``, once the cache has looked them up.

    Each kind of call is a subclass in ``dispatch.py``.
    """

    __slots__ = ("asked", "entries", "fn", "key", "keywords", "slots")

    fn: Any
    asked: Hashable
    slots: tuple[Any, ...]
    keywords: tuple[str, ...]
    key: Key
    entries: FunctionEntries | None

    def request(self) -> Request:
        """Checks the arguments and returns what to compile. The cache asks only on a miss."""
        raise NotImplementedError


class Cache:
    """The entries of all source functions.

    A look-up takes no lock. ``lock`` is held during a compilation, so that nothing is compiled
    twice. Compilation is pure Python: two threads would not be faster than one.
    """

    def __init__(
        self,
        compile_unit: Compile,
        place_of: Callable[[Any], Span | None] = lambda fn: None,
        per_function: int | None = None,
        overall: int | None = None,
    ):
        self.compile_unit, self.place_of = compile_unit, place_of
        self.per_function = (
            costs().cached_functions_of_source if per_function is None else per_function
        )
        self.overall = costs().cached_functions if overall is None else overall
        self.lock = threading.RLock()
        self.functions: dict[Hashable, FunctionEntries] = {}
        #: The units whose programs are kept as they were before they were differentiated.
        self.with_program: deque[weakref.ref[CompiledFunction]] = deque()
        self.clock = itertools.count(1)

    # ---- find or compile

    def find_or_compile(self, site: CallSite) -> CompiledFunction:
        """Returns the compiled function for a call, and counts the call."""
        unit = self.find(site)
        if unit is None:
            request = site.request()
            site.fn = unwrapped(site.fn)
            unit = compiling(lambda: self._compile(site, request), lambda: self.place_of(site.fn))
        unit.calls += 1
        return unit

    def find(self, site: CallSite) -> CompiledFunction | None:
        """Returns the compiled function whose guard holds for a call, or None."""
        site.entries = entries = self.functions.get(identity(site.fn))
        if entries is None:
            return None
        fn, key, slots = site.fn, site.key, site.slots
        units = entries.units.get(key, ())
        for unit in units:
            if unit.guards_hold(fn, slots):
                unit.used = next(self.clock)
                if unit is not units[0]:
                    # Most recent first. Two threads may race here; either order is right.
                    entries.units[key] = (unit, *(other for other in units if other is not unit))
                return unit
        return None

    def _compile(self, site: CallSite, request: Request) -> CompiledFunction:
        """Returns a new compiled function for a call, or the one that another thread has made."""
        with self.lock:
            unit = self.find(site)
            if unit is not None:
                return unit
            reason = self._recompile_reason(site)
            unit = self._compiled_now(site, request, reason)
            for _ in range(RETRIES):
                guards = unit.compiled.guards
                check_separate_arguments(guards, site.fn, site.slots)
                # Another thread may have changed a value that the compiler read.
                if unit.guards_hold(site.fn, site.slots) or not first_failed_guard(
                    guards, site.fn, site.slots
                ):
                    break
                unit = self._compiled_now(site, request, reason)
            self.add(site, unit)
        return unit

    def _compiled_now(self, site: CallSite, request: Request, reason: str) -> CompiledFunction:
        """Compiles for a call, to NumPy source if the C compiler cannot finish."""
        try:
            return self._compiled_for(site, request, reason)
        except NoNativeText as error:  # such as a full disk
            fallback = str(error)
        warn_once(fallback)
        return self._compiled_for(site, replace(request, target="numpy"), reason, fallback)

    def _compiled_for(
        self, site: CallSite, request: Request, reason: str, fallback: str = ""
    ) -> CompiledFunction:
        """Compiles for a call. Numbers are inputs of the generated function if possible; the others
        become constants, and a guard compares them."""
        entries = self.entries(site.fn)

        def attempt(known: frozenset[int]) -> Compiled:
            shared = self._undifferentiated(site, known)
            rest = (shared,) if shared else ()
            return self.compile_unit(site.fn, request, site.slots, site.keywords, known, *rest)

        compiled, entries.static_slots[site.key] = retry_with_static_numbers(
            attempt,
            site.slots,
            entries.static_slots.get(site.key, frozenset()),
            request.positions,
        )
        if request.aux:
            _check_aux(compiled)
        title = compiled.title or getattr(site.fn, "__qualname__", type(site.fn).__name__)
        if fallback:
            compiled = replace(compiled, fallback=fallback)
        unit = CompiledFunction(compiled, request, site.slots, reason, title)
        unit.has_target_of_its_own = hasattr(site.fn, TARGET_ATTRIBUTE)
        return unit

    def _undifferentiated(self, site: CallSite, known: frozenset[int]) -> list[Any]:
        """Returns the programs of other requests for a call, before they were differentiated."""
        entries = self.entries(site.fn)
        return [
            unit.undifferentiated
            for key, unit in entries.all()
            if unit.undifferentiated is not None
            and key[1:] == site.key[1:]
            and entries.static_slots.get(key, frozenset()) == known
            and unit.guards_hold(site.fn, site.slots)
        ]

    def _recompile_reason(self, site: CallSite) -> str:
        """Returns the reason why a call has to be compiled, for ``compile_info``."""
        rows = list(self.entries(site.fn).all())
        same = [unit for key, unit in rows if key == site.key]
        if same:
            broken = first_failed_guard(same[0].compiled.guards, site.fn, site.slots)
            if broken is None:
                return "a parameter has another dtype or shape"
            return f"{broken.path} is no longer {_short(broken.value)}"
        if not rows:
            return "first call"
        asked_before = site.key[0] in {key[0] for key, _ in rows}
        return "other argument types" if asked_before else "another gradient is requested"

    # ---- entries

    def entries_of(self, fn: Any) -> FunctionEntries | None:
        """Returns the entries of ``fn``, or None if it has none."""
        return self.functions.get(identity(fn))

    def entries(self, fn: Any) -> FunctionEntries:
        """Returns the entries of ``fn``, created if needed. The caller holds the lock."""
        name = identity(fn)
        entries = self.functions.get(name)
        if entries is None:
            entries = self.functions[name] = FunctionEntries()
            for owner in _owners(fn):
                entries.owners.append(self._watched(owner, name))
        return entries

    def add(self, site: CallSite, unit: CompiledFunction) -> None:
        """Stores ``unit`` for a call, and drops the least recently used beyond the limits."""
        with self.lock:
            self._note_calls()
            site.entries = entries = self.entries(site.fn)
            unit.used = next(self.clock)
            entries.units[site.key] = (unit, *entries.units.get(site.key, ()))
            self._keep_undifferentiated(unit)
            known = [(other.used, key, other) for key, other in entries.all()]
            if len(known) > self.per_function:
                _, old_key, old = min(known, key=lambda row: row[0])
                entries.drop(old_key, old)
            every = [(u.used, e, k, u) for e in [*self.functions.values()] for k, u in e.all()]
            if len(every) > self.overall:
                _, old_entries, old_key, old = min(every, key=lambda row: row[0])
                old_entries.drop(old_key, old)
            empty = [n for n, e in self.functions.items() if not e.units and e is not entries]
            for name in empty:
                self.functions.pop(name, None)

    def _keep_undifferentiated(self, unit: CompiledFunction) -> None:
        """Keeps the program of ``unit``, and drops that of the oldest unit beyond the limit."""
        self.with_program.append(weakref.ref(unit))
        if len(self.with_program) > costs().undifferentiated_programs:
            oldest = self.with_program.popleft()()
            if oldest is not None:
                oldest.undifferentiated = None

    def all(self) -> list[CompiledFunction]:
        """Returns every compiled function, the least recently used first."""
        self._note_calls()
        units = [unit for entries in [*self.functions.values()] for _, unit in entries.all()]
        return sorted(units, key=lambda unit: unit.used)

    def _note_calls(self) -> None:
        """Counts the functions that were called since the last time, by any path, as used.

        A fast call does not ask for the time: that would take a tenth of a small call.
        """
        for entries in [*self.functions.values()]:
            for _, unit in entries.all():
                if unit.calls != unit.noted:
                    unit.noted, unit.used = unit.calls, next(self.clock)

    def clear(self) -> None:
        """Drops all entries."""
        with self.lock:
            for unit in self.all():
                unit.drop_fast_calls()
            self.functions.clear()

    def _watched(self, owner: Any, name: Hashable) -> Any:
        """Returns a weak reference to ``owner`` that drops the entries with it.

        Code stays, because a function that is created again asks for it again. An object that
        allows no weak reference stays, too.
        """
        cache = weakref.ref(self)

        def forget(dead: Any) -> None:
            # Another function may have the name by now: only entries of this owner are dropped.
            functions = present.functions if (present := cache()) is not None else {}
            if name in functions and any(owner is dead for owner in functions[name].owners):
                functions.pop(name, None)

        if isinstance(owner, types.CodeType):
            return owner
        try:
            return weakref.ref(owner, forget)
        except TypeError:
            return owner


def _check_aux(compiled: Compiled) -> None:
    if not isinstance(compiled.output, TupleType) or len(compiled.output.items) < 2:
        raise ValueError("When has_aux is True, origin fn requires more than one outputs.")


def _short(value: Any) -> str:
    if isinstance(value, Tensor) or not isinstance(value, (bool, int, float, str, type(None))):
        return f"the same {type(value).__name__}"
    return repr(value)


def identity(fn: Any) -> Hashable:
    """Returns the name of a function in the cache, valid as long as its owners live.

    Functions of the same code have one identity; their guards tell them apart.

    >>> one, two = (lambda x: x + number for number in (1, 2))
    >>> identity(one) == identity(two)
    True
    """
    kind = type(fn)
    if kind is types.FunctionType:
        inner = unwrapped(fn) if fn.__dict__ else fn
        return id(fn.__code__) if inner is fn else identity(inner)
    if isinstance(fn, Transformed):
        return kind, fn.key, identity(fn.fn)
    if kind is types.MethodType:
        return id(fn.__self__), identity(fn.__func__)
    if kind is functools.partial:
        return "partial", identity(fn.func), len(fn.args), tuple(fn.keywords)
    return id(fn)


def _owners(fn: Any) -> Iterator[Any]:
    """Yields the objects whose ids make up ``identity(fn)``."""
    if isinstance(fn, types.FunctionType):
        inner = unwrapped(fn)
        yield from [fn.__code__] if inner is fn else _owners(inner)
    elif isinstance(fn, Transformed):
        yield from fn.held_objects()
        yield from _owners(fn.fn)
    elif isinstance(fn, types.MethodType):
        yield fn.__self__
        yield from _owners(fn.__func__)
    elif type(fn) is functools.partial:
        yield from _owners(fn.func)
    else:
        yield fn


__all__ = ["Cache", "CallSite", "Compile", "FunctionEntries", "identity"]
