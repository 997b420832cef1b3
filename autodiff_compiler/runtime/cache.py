"""What has been compiled, by the function it was compiled from.

A Cell is known by itself, a plain function or lambda by its code (so that one made anew in a loop
is not compiled anew; guards look at the very function), a transformed function by what it asks and
what it is made of. Below a function, a key leads to a few units, whose guards decide. When the
function dies its units go; and the least lately used go where there are too many.
"""

from __future__ import annotations

import functools
import itertools
import threading
import types
import weakref
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Protocol

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ops.transforms.transformed import Transformed, unwrapped
from autodiff_compiler.runtime.guards import Guard


class CacheEntry(Protocol):
    """What the cache needs of a unit: its guard, how often it was called, and places for the time
    of its last use and for the calls that this takes into account."""

    guard: Guard
    calls: int
    used: int
    noted: int

    def drop_fast_calls(self) -> None:
        """It is dropped: nobody may hold on to it."""


class FunctionEntries:
    """The units of one function: a key, and those that the guards choose among."""

    def __init__(self) -> None:
        self.units: dict[Hashable, tuple[Any, ...]] = {}
        #: By what is asked, the unit that answered last, if it has a fast path, and that.
        self.fast_calls: dict[Hashable, tuple[Any, Any]] = {}
        #: Slots whose values the compiler turned out to need, by key.
        self.needed: dict[Hashable, frozenset[int]] = {}
        self.owners: list[Any] = []
        #: Whether it needs the objects themselves that are arguments: it writes to them.
        self.takes_objects = False

    def all(self) -> Iterator[tuple[Hashable, Any]]:
        return ((key, unit) for key, units in [*self.units.items()] for unit in units)

    def drop(self, key: Hashable, unit: Any) -> None:
        unit.drop_fast_calls()
        self.fast_calls = {
            asked: row for asked, row in self.fast_calls.items() if row[0] is not unit
        }
        self.units[key] = tuple(u for u in self.units.get(key, ()) if u is not unit)
        if not self.units[key]:
            del self.units[key]
            self.needed.pop(key, None)


class Cache:
    """Finds units without a lock; ``lock`` is held while compiling, so that nothing is compiled
    twice. (Compiling is pure Python: two threads would not be faster than one.)"""

    def __init__(self, per_function: int | None = None, overall: int | None = None):
        self.per_function = costs().kept_units_of_function if per_function is None else per_function
        self.overall = costs().kept_units if overall is None else overall
        self.lock = threading.RLock()
        self.tables: dict[Hashable, FunctionEntries] = {}
        self.clock = itertools.count(1)

    def find(self, fn: Any, key: Hashable, slots: Sequence[Any]) -> Any | None:
        """The unit for this call, or None."""
        table = self.tables.get(identity(fn))
        if table is None:
            return None
        units = table.units.get(key, ())
        for unit in units:
            if unit.guard(fn, slots):
                unit.used = next(self.clock)
                if unit is not units[0]:
                    # Most recent first. Two threads may race here; either order is right.
                    table.units[key] = (unit, *(other for other in units if other is not unit))
                return unit
        return None

    def table(self, fn: Any) -> FunctionEntries:
        """The table of ``fn``, made where there is none. To be called with the lock held."""
        name = identity(fn)
        table = self.tables.get(name)
        if table is None:
            table = self.tables[name] = FunctionEntries()
            for owner in _owners(fn):
                table.owners.append(self._watched(owner, name))
        return table

    def add(self, fn: Any, key: Hashable, unit: Any) -> None:
        """Keeps ``unit``, and drops the least lately used where there are too many."""
        with self.lock:
            self._note_calls()
            table = self.table(fn)
            unit.used = next(self.clock)
            table.units[key] = (unit, *table.units.get(key, ()))
            own = [(other.used, k, other) for k, other in table.all()]
            if len(own) > self.per_function:
                _, old_key, old = min(own, key=lambda row: row[0])
                table.drop(old_key, old)
            every = [(u.used, t, k, u) for t in [*self.tables.values()] for k, u in t.all()]
            if len(every) > self.overall:
                _, old_table, old_key, old = min(every, key=lambda row: row[0])
                old_table.drop(old_key, old)
            for name in [n for n, t in self.tables.items() if not t.units and t is not table]:
                self.tables.pop(name, None)

    def all(self) -> list[Any]:
        """Every unit, the least lately used first."""
        self._note_calls()
        units = [unit for table in [*self.tables.values()] for _, unit in table.all()]
        return sorted(units, key=lambda unit: unit.used)

    def _note_calls(self) -> None:
        """What was called since calls were noted last, by whatever way, is in use. (To ask for the
        time in every call would be a tenth of what the way through a small one costs.)"""
        for table in [*self.tables.values()]:
            for _, unit in table.all():
                if unit.calls != unit.noted:
                    unit.noted, unit.used = unit.calls, next(self.clock)

    def clear(self) -> None:
        """Forgets everything."""
        with self.lock:
            for unit in self.all():
                unit.drop_fast_calls()
            self.tables.clear()

    def _watched(self, owner: Any, name: Hashable) -> Any:
        """A weak hold on ``owner`` that drops the table with it; a strong one on what allows no
        other, and on code, which a function made anew will ask for again."""
        cache = weakref.ref(self)

        def forget(dead: Any) -> None:
            # It must be this owner's table: another function may have the name by now.
            tables = found.tables if (found := cache()) is not None else {}
            if name in tables and any(owner is dead for owner in tables[name].owners):
                tables.pop(name, None)

        if isinstance(owner, types.CodeType):
            return owner
        try:
            return weakref.ref(owner, forget)
        except TypeError:
            return owner


def identity(fn: Any) -> Hashable:
    """What a function is known by, as long as its owners live.

    Functions made by the same text are alike; their guards tell them apart.

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
    """The objects whose ids make up ``identity(fn)``."""
    if isinstance(fn, types.FunctionType):
        inner = unwrapped(fn)
        yield from [fn.__code__] if inner is fn else _owners(inner)
    elif isinstance(fn, Transformed):
        yield from fn.kept()
        yield from _owners(fn.fn)
    elif isinstance(fn, types.MethodType):
        yield fn.__self__
        yield from _owners(fn.__func__)
    elif type(fn) is functools.partial:
        yield from _owners(fn.func)
    else:
        yield fn


__all__ = ["Cache", "FunctionEntries", "identity"]
