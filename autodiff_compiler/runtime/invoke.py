"""The call path: a row of slots to a signature, to a unit, to arrays, to results.

``Runtime`` is the engine behind ``common/engine.py``. The compiler is handed to it as a function,
so that this floor knows text and plain records only.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autodiff_compiler.common.context import stabilises
from autodiff_compiler.common.mutable import Mutable
from autodiff_compiler.common.tensor import Tensor, wrap
from autodiff_compiler.ops.gradient import GradientFunction, unwrapped
from autodiff_compiler.plan import Compiled, Request, TupleType
from autodiff_compiler.runtime.cache import Cache
from autodiff_compiler.runtime.guards import compile_guard, first_broken
from autodiff_compiler.runtime.known import with_known_numbers
from autodiff_compiler.runtime.load import load
from autodiff_compiler.runtime.quick import Quick, compile_quick
from autodiff_compiler.runtime.sensitivity import sensitivity_arrays
from autodiff_compiler.runtime.slots import (
    check_arity,
    check_numpy_positions,
    compile_reader,
    holds_tensor,
    is_numpy_call,
    is_tensor,
    known_by_identity,
    signature,
)
from autodiff_compiler.runtime.workspace import Workspace

#: ``(fn, request, values of the slots, keywords, slots whose value must be known) -> Compiled``
Compile = Callable[[Any, Request, tuple, tuple[str, ...], frozenset[int]], Compiled]

FORWARD = Request()
_new = Tensor.__new__


class Unit:
    """A loaded pair with all that calling it needs."""

    def __init__(
        self,
        compiled: Compiled,
        request: Request,
        slots: Sequence[Any],
        reason: str,
        title: str,
    ):
        self.compiled, self.request, self.reason, self.title = compiled, request, reason, title
        loaded = self.loaded = load(compiled, title)
        self.forward, self.backward = loaded.forward, loaded.backward
        self.workspace = Workspace(compiled.work, compiled.lent)
        self.guard = compile_guard(compiled.assumptions, compiled.hoisted)
        sources = [item.source for item in compiled.hoisted]
        self.read = compile_reader(slots, compiled.dynamic_slots, sources)
        self.wraps = not request.numpy and (
            holds_tensor([*slots, *sources])
            or not any(isinstance(slot, np.ndarray) for slot in slots)
        )
        self.used = self.calls = 0
        self.has_value = request.returns_value
        self.sens = compiled.output if request.sens == "given" else None
        self.inputs = _places(request.positions, compiled.positions, 0, lambda slot: slot)
        wanted = compiled.weights if request.weights is None else request.weights
        self.weights = _places(wanted, compiled.weights, len(compiled.positions), id)
        self.lists = [
            (number, _lists_in(slots[slot]))
            for number, slot in enumerate(request.positions)
            if isinstance(slots[slot], Mutable)
        ]
        self.exact = not _is_partial(self.inputs, self.weights)
        # An id in the signature speaks of an object only as long as that lives.
        self.kept = [thing for slot in slots for thing in known_by_identity(slot)]
        self.quick: Quick | None = None
        self.quick_users: weakref.WeakSet[GradientFunction] = weakref.WeakSet()

    def retire(self) -> None:
        """Nobody calls this unit any more but those who find it in the cache."""
        for gradient in [*self.quick_users]:
            if gradient.quick is self.quick:
                gradient.quick = None

    def run_forward(self, slots: Sequence[Any]) -> Any:
        """The value of a forward-only unit."""
        arrays = self.read(slots)
        lent = self.workspace.borrow()
        try:
            out = self.forward(*arrays, *filter(None, lent))
        except Exception as error:
            self.loaded.explain(error)
            raise
        self.workspace.give_back(lent)
        if self.compiled.writes:
            out, *written = out
            self.write(written, arrays)
        (value,) = self.results((out,), arrays)
        return _relisted(value, self.compiled.structure)

    def run_pair(self, slots: Sequence[Any], sens: Any) -> tuple[Any, list, list]:
        """The value (None where it is not wanted) and the gradients, inputs then weights."""
        arrays = self.read(slots)
        given = () if self.sens is None else (sensitivity_arrays(sens, self.sens),)
        lent = forward_work, backward_work = self.workspace.borrow()
        try:
            out = self.forward(*arrays, *([forward_work] if forward_work else []))
            if self.compiled.writes:
                *out, residuals = out
                self.write(out[self.has_value :], arrays)
                value = out[0] if self.has_value else None
            else:
                value, residuals = out if self.has_value else (None, out)
            work = [backward_work] if backward_work else []
            found = self.backward(residuals, *given, *work)  # type: ignore[misc]
        except Exception as error:
            self.loaded.explain(error)
            raise
        if not self.exact or len(self.inputs) + len(self.weights) < 2:
            found = self._spread(found, slots)
        inputs = len(self.inputs)
        gradients = self.results(found, arrays)
        self.workspace.give_back(lent)
        for number, structure in self.lists:
            gradients[number] = _relisted(gradients[number], structure)
        if not self.request.value:
            return None, gradients[:inputs], gradients[inputs:]
        # Unlike backward, forward may return an argument, a view of one, or a residual.
        (value,) = self.results((_own_apart(value, arrays),), arrays)
        value = _relisted(value, self.compiled.structure)
        return value, gradients[:inputs], gradients[inputs:]

    def write(self, values: Sequence[Any], arrays: Sequence[Any]) -> None:
        """Puts what the text writes in place, in memory of its own."""
        held = _memory(arrays)
        for write, value in zip(self.compiled.writes, values):
            value = _own(value, held)
            if write.name is None:
                write.target._data = np.asarray(value)
            else:
                setattr(write.target, write.name, wrap(value))

    def results(self, found: Sequence[Any], arrays: Sequence[Any]) -> list:
        """What generated code returned, as tensors. Arrays own their memory already; inside a
        container one may be an argument, and writing to a result must not change that."""
        made: list[Any] = []
        for item in found:
            if type(item) is np.ndarray and self.wraps:
                tensor = _new(Tensor)
                tensor._data = item
                made.append(tensor)
            else:
                if type(item) in (tuple, list, dict):
                    item = _own(item, _memory((*arrays, *found[: len(made)])))
                made.append(wrap(item) if self.wraps else item)
        return made

    def _spread(self, found: Any, slots: Sequence[Any]) -> list:
        """The gradients in the order wanted, with zeros for what takes no part."""
        if len(self.compiled.positions) + len(self.compiled.weights) == 1:
            found = (found,)
        things = [slots[slot] for slot, _ in self.inputs] + [weight for weight, _ in self.weights]
        places = [place for _, place in (*self.inputs, *self.weights)]
        return [
            _zeros(thing) if place is None else found[place] for thing, place in zip(things, places)
        ]


class Runtime:
    """Runs Cells, functions and gradient functions, and compiles what is not compiled yet."""

    def __init__(self, compile_unit: Compile):
        self.compile_unit = compile_unit
        self.cache = Cache()

    def run_cell(self, cell: Any, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """The compiled forward half of ``cell.construct``, or of any function."""
        slots = (*args, *kwargs.values()) if kwargs else args
        stable = stabilises()
        key = (stable, tuple(map(signature, slots)), tuple(kwargs))
        unit = self.cache.find(cell, key, slots)
        if unit is None:
            check_arity(cell, args, kwargs, False)
            request = replace(FORWARD, numpy=is_numpy_call(cell, slots), stabilise=stable)
            unit = self._compiled(cell, key, slots, request, tuple(kwargs))
        unit.calls += 1
        return unit.run_forward(slots)

    def run_gradient(
        self, gradient: GradientFunction, args: tuple, kwargs: Mapping[str, Any]
    ) -> Any:
        """The gradient, packed as promised."""
        sens = None
        if gradient.sens_param:
            args, kwargs, sens = gradient.split_sens(args, kwargs)
        slots = (*args, *kwargs.values()) if kwargs else args
        key = (gradient.key, tuple(map(signature, slots)), tuple(kwargs))
        unit = self.cache.find(gradient.fn, key, slots)
        if unit is None:
            check_arity(gradient.fn, args, kwargs, gradient.sens_param)
            numpy = gradient.numpy and is_numpy_call(gradient.fn, slots)
            request = gradient.request([numpy or is_tensor(slot) for slot in slots])
            if numpy:
                check_numpy_positions(slots, request.positions)
                request = replace(request, numpy=True)
            unit = self._compiled(gradient.fn, key, slots, request, tuple(kwargs))
        unit.calls += 1
        value, inputs, weights = unit.run_pair(slots, sens)
        if unit.calls > 1 and not kwargs:
            self._quicken(gradient, unit, slots)
        return gradient.pack(value, inputs, weights, unit.request.positions)

    def _quicken(self, gradient: GradientFunction, unit: Unit, slots: tuple) -> None:
        """The next call of ``gradient`` may take the quick way."""
        if unit.quick is None and unit.exact and unit.wraps:
            clock = self.cache.clock

            def used() -> None:
                unit.calls += 1
                unit.used = next(clock)

            unit.quick = compile_quick(
                gradient,
                unit.compiled,
                unit.request,
                unit.loaded,
                slots,
                _own_apart,
                used,
                unit.workspace,
            )
        if unit.quick is not None and gradient.packs_plainly:
            gradient.quick = unit.quick
            unit.quick_users.add(gradient)

    def _compiled(
        self, fn: Any, key: tuple, slots: tuple, request: Request, keywords: tuple[str, ...]
    ) -> Unit:
        fn = unwrapped(fn)
        with self.cache.lock:
            unit = self.cache.find(fn, key, slots)
            if unit is not None:
                return unit
            reason = self._reason(fn, key, slots)
            compiled = self._text(fn, key, slots, request, keywords)
            if request.aux:
                _check_aux(compiled)
            title = compiled.title or getattr(fn, "__qualname__", type(fn).__name__)
            unit = Unit(compiled, request, slots, reason, title)
            self.cache.add(fn, key, unit)
        return unit

    def _text(
        self, fn: Any, key: tuple, slots: tuple, request: Request, keywords: tuple[str, ...]
    ) -> Compiled:
        """What the compiler makes of a call. Numbers are carried at run time where that can be;
        where it cannot, they become known values, which a guard holds on to."""
        table = self.cache.table(fn)
        compiled, table.needed[key] = with_known_numbers(
            lambda known: self.compile_unit(fn, request, slots, keywords, known),
            slots, table.needed.get(key, frozenset()),
        )  # fmt: skip
        return compiled

    def _reason(self, fn: Any, key: tuple, slots: Sequence[Any]) -> str:
        """Why a call has to be compiled, for ``compile_info``."""
        rows = list(self.cache.table(fn).all())
        same = [unit for other, unit in rows if other == key]
        if same:
            broken = first_broken(same[0].compiled.assumptions, fn, slots)
            if broken is None:
                return "a parameter has another dtype or shape"
            return f"{broken.path} is no longer {_short(broken.value)}"
        if not rows:
            return "first call"
        asked = {other[0] for other, _ in rows}  # type: ignore[index]
        return "other argument types" if key[0] in asked else "another gradient is asked for"


def _check_aux(compiled: Compiled) -> None:
    if not isinstance(compiled.output, TupleType) or len(compiled.output.items) < 2:
        raise ValueError("When has_aux is True, origin fn requires more than one outputs.")


def _places(
    wanted: Sequence[Any], given: Sequence[Any], first: int, name: Callable[[Any], Any]
) -> list[tuple[Any, int | None]]:
    """For everything wanted, where its gradient stands in what backward returns, if it does."""
    found = {name(thing): first + place for place, thing in enumerate(given)}
    return [(thing, found.get(name(thing))) for thing in wanted]


def _is_partial(inputs: list, weights: list) -> bool:
    places = [place for _, place in (*inputs, *weights)]
    return places != list(range(len(places)))


def _zeros(thing: Any) -> Any:
    """The gradient of what takes no part."""
    if isinstance(thing, Tensor):
        return np.zeros_like(thing._data)
    if isinstance(thing, dict):
        return {key: _zeros(item) for key, item in thing.items()}
    if isinstance(thing, (tuple, list)):
        return tuple(map(_zeros, thing))
    return 0.0 if isinstance(thing, float) else 0


def _memory(arrays: Sequence[Any]) -> set[int]:
    """Names of the memory that belongs to the caller."""
    held: set[int] = set()
    for array in arrays:
        _hold(array, held)
    return held


def _hold(value: Any, held: set[int]) -> None:
    if isinstance(value, np.ndarray):
        base = value.base
        held.add(id(value if base is None else base))
    elif isinstance(value, (tuple, list)):
        for item in value:
            _hold(item, held)
    elif isinstance(value, dict):
        for item in value.values():
            _hold(item, held)


def _own(value: Any, held: set[int]) -> Any:
    """``value`` in memory that neither the caller nor another result holds: writing to a result
    must change nothing else."""
    if isinstance(value, np.ndarray):
        base = value.base
        memory = id(value if base is None else base)
        if memory in held or not value.flags.writeable:
            return value.copy()
        held.add(memory)
        return value
    if type(value) in (tuple, list):
        return type(value)(_own(item, held) for item in value)
    if type(value) is dict:
        return {key: _own(item, held) for key, item in value.items()}
    return value


def _own_apart(value: Any, arrays: Sequence[Any]) -> Any:
    return _own(value, _memory(arrays))


def _relisted(value: Any, structure: Any) -> Any:
    """``value`` with lists where the user returned lists (see ``Compiled.structure``)."""
    if structure is None:
        return value
    if isinstance(structure, dict):
        return {key: _relisted(value[key], tree) for key, tree in structure.items()}
    return type(structure)(_relisted(item, tree) for item, tree in zip(value, structure))


def _lists_in(value: Any) -> Any:
    """Where ``value`` has lists, as ``_relisted`` wants it told."""
    if isinstance(value, dict):
        return {key: _lists_in(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return (list if isinstance(value, list) else tuple)(map(_lists_in, value))
    return None


def _short(value: Any) -> str:
    if isinstance(value, Tensor) or not isinstance(value, (bool, int, float, str, type(None))):
        return f"the same {type(value).__name__}"
    return repr(value)


__all__ = ["Runtime", "Unit"]
