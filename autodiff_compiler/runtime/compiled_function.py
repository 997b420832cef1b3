"""A compiled function: the loaded source with everything that a call of it needs."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from autodiff_compiler.common.mutable import Mutable
from autodiff_compiler.common.structures import Known, Node, rebuild
from autodiff_compiler.common.tensor import BLANK, Tensor, wrap
from autodiff_compiler.errors import InternalError
from autodiff_compiler.interface.compiled import Compiled, TupleType
from autodiff_compiler.interface.request import Request
from autodiff_compiler.ops.transforms.transformed import Transformed
from autodiff_compiler.runtime.arguments import compile_reader, holds, known_by_identity
from autodiff_compiler.runtime.buffers import Workspace
from autodiff_compiler.runtime.fast_call import FastCall
from autodiff_compiler.runtime.guards import compile_guards
from autodiff_compiler.runtime.late_imports import imported_late
from autodiff_compiler.runtime.loader import load
from autodiff_compiler.runtime.sensitivity import directions, sensitivity_arrays

#: Loads the functions of a C text.
load_compiled = imported_late("autodiff_compiler.runtime.native.loaded", "LoadedNative")


class CompiledFunction:
    """Generated functions, loaded, for one request and one structure of the arguments.

    reason           why it was compiled, for ``compile_info``.
    guards_hold      ``guards_hold(fn, slots)`` is true while all guards hold.
    read             ``read(fn, slots)`` returns the arrays for the forward function.
    returns_tensors  True if arrays are returned as tensors.
    calls            the number of calls; ``used`` and ``noted`` belong to the cache.
    retired          True if the cache has dropped it.
    has_target_of_its_own  True if the target of the source function is not that of the settings.
    undifferentiated the program before it was differentiated, while the cache keeps it.
    inputs, weights  the requested values, each with the place of its gradient or None.
    lists            the inputs with lists in them, by number, and where these are.
    unconnected      the numbers of requested gradients that the output does not depend on.
    matches_request  True if backward returns exactly the requested gradients, in that order.
    owners           the objects whose ids are part of the signature, kept alive.
    fast_call        the fast path; False if there is none, None until it is asked for.
    """

    def __init__(
        self,
        compiled: Compiled,
        request: Request,
        slots: Sequence[Any],
        reason: str,
        title: str,
    ):
        self.request, self.reason, self.title = request, reason, title
        self.undifferentiated = compiled.undifferentiated
        self.compiled = compiled = replace(compiled, undifferentiated=None)
        loaded = self.loaded = load_compiled(compiled) if compiled.native else load(compiled, title)
        self.forward, self.backward = loaded.forward, loaded.backward or _no_backward
        self.workspace = Workspace(compiled.allocations, compiled.work_arrays, compiled.donated)
        self.guards_hold = compile_guards(compiled.guards, compiled.hoisted)
        sources = [item.source for item in compiled.hoisted]
        self.read = compile_reader(slots, compiled.dynamic_slots, compiled.hoisted)
        self.returns_tensors = not request.numpy and (
            holds([*slots, *sources], Tensor)
            or not any(isinstance(slot, np.ndarray) for slot in slots)
        )
        self.calls = self.used = self.noted = 0
        self.retired = self.has_target_of_its_own = False
        self.has_value = request.returns_value
        output = compiled.output
        if request.aux and isinstance(output, TupleType):
            output = output.items[0]
        self.sens = output if request.takes_sens else None
        self.inputs = _places(request.positions, compiled.positions, 0, lambda slot: slot)
        wanted = compiled.weights if request.weights is None else request.weights
        self.weights = _places(wanted, compiled.weights, len(compiled.positions), id)
        self.lists = [
            (number, _lists_in(slots[slot]))
            for number, slot in enumerate(request.positions)
            if isinstance(slots[slot], (Mutable, tuple, list, dict))
        ]
        missing = {*compiled.unconnected, None}
        places = [place for _, place in (*self.inputs, *self.weights)]
        self.unconnected = [n for n, place in enumerate(places) if place in missing]
        self.matches_request = not _is_partial(self.inputs, self.weights)
        # An id in the signature identifies an object only while that object lives.
        self.owners = [thing for slot in slots for thing in known_by_identity(slot)]
        self.fast_call: FastCall | Literal[False] | None = None
        self.fast_pullback: FastCall | Literal[False] | None = None
        self.fast_call_users: weakref.WeakSet[Transformed[..., Any]] = weakref.WeakSet()

    def install_fast_call(self, caller: Transformed[..., Any]) -> None:
        """Lets ``caller`` take the fast path without a look-up."""
        caller.fast_call, caller.fast_unit = self.fast_call or None, weakref.ref(self)
        self.fast_call_users.add(caller)

    def note_answer(self, caller: Transformed[..., Any]) -> None:
        """Notes in ``caller`` that this function serves its call, and not by the fast path."""
        fast = caller.fast_unit and caller.fast_unit()
        caller.last_run = weakref.ref(self), -1 if fast is None else fast.calls

    def drop_fast_calls(self) -> None:
        """Removes the fast path from all callers. The cache calls this when it drops the
        function."""
        self.retired = True
        for caller in [*self.fast_call_users]:
            if caller.fast_call is self.fast_call:
                caller.fast_call = None

    def run_forward(self, fn: Any, slots: Sequence[Any]) -> Any:
        """Returns the value, if there is no backward function."""
        arrays = self.read(fn, slots)
        buffers = self.workspace.acquire()
        try:
            out = self.forward(*arrays, *filter(None, buffers))
        except Exception as error:
            self.loaded.explain(error)
            raise
        self.workspace.release(buffers)
        if self.compiled.writes:
            out, *written = out
            self.write(written, arrays)
        (value,) = self.results((out,), arrays)
        return _restore_lists(value, self.compiled.structure)

    def run_pair(
        self, fn: Any, slots: Sequence[Any], sens: Any
    ) -> tuple[Any, list[Any], list[Any]]:
        """Returns the value (None if it is not wanted), the gradients of the inputs and of the
        weights."""
        arrays = self.read(fn, slots)
        given = () if self.sens is None else (self.sensitivity(sens),)
        buffers = forward_work, backward_work = self.workspace.acquire()
        try:
            if self.compiled.is_joint:
                value, outcome = self.run_forward_of_pair((*arrays, *given), forward_work)
            else:
                value, residuals = self.run_forward_of_pair(arrays, forward_work)
                work = [backward_work] if backward_work else []
                outcome = self.backward(residuals, *given, *work)
        except Exception as error:
            self.loaded.explain(error)
            raise
        inputs = len(self.inputs)
        gradients = self.gradients(outcome, slots, arrays)
        self.workspace.release(buffers)
        if not self.request.value:
            return None, gradients[:inputs], gradients[inputs:]
        # Unlike backward, forward may return an argument, a view of one, or a residual.
        return self.wrap_output(value, arrays), gradients[:inputs], gradients[inputs:]

    def gradients(self, outcome: Any, slots: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
        """Returns the results of backward as the caller gets them: of the inputs, then of the
        weights."""
        several = len(self.inputs) + len(self.weights)
        if not self.matches_request or not several:
            outcome = self._in_requested_order(outcome, slots)
        elif several == 1:
            outcome = (outcome,)
        gradients = self.results(outcome, arrays)
        for number, structure in self.lists:
            gradients[number] = _restore_lists(gradients[number], structure)
        return gradients

    def sensitivity(self, sens: Any) -> Any:
        """Returns the sensitivity that the caller gave, as arrays."""
        assert self.sens is not None
        return sensitivity_arrays(_tensors(sens) if self.request.numpy else sens, self.sens)

    def run_forward_of_pair(self, arrays: Sequence[Any], work: Sequence[Any]) -> tuple[Any, Any]:
        """Runs forward and its writes. Returns the value (None if it is not wanted) and the
        residuals."""
        out = self.forward(*arrays, *([work] if work else []))
        if not self.compiled.writes:
            return out if self.has_value else (None, out)
        *out, residuals = out
        self.write(out[self.has_value :], arrays)
        return out[0] if self.has_value else None, residuals

    def wrap_output(self, value: Any, arrays: Sequence[Any]) -> Any:
        """Returns the value as the caller gets it."""
        (value,) = self.results((copy_if_shared(value, arrays),), arrays)
        return _restore_lists(value, self.compiled.structure)

    def run_pullback(
        self, fn: Any, slots: Sequence[Any]
    ) -> tuple[Any, Callable[[Any], tuple[list[Any], list[Any]]]]:
        """Returns the value, and a function from a sensitivity to the gradients of inputs and
        weights.

        Later writes to the arguments do not affect it. No workspace buffers are used, because the
        residuals outlive the call.
        """
        arrays = self.read(fn, slots)
        forward_work, _ = self.workspace.no_buffers()
        try:
            value, residuals = self.run_forward_of_pair(arrays, forward_work)
        except Exception as error:
            self.loaded.explain(error)
            raise
        answer, residuals = (
            self.wrap_output(value, arrays),
            _copy_if_shared(residuals, _memory_ids((*arrays, value))),
        )

        return answer, lambda sens: self.apply_pullback(residuals, sens, slots)

    def apply_pullback(
        self, residuals: Any, sens: Any, slots: Sequence[Any] = ()
    ) -> tuple[list[Any], list[Any]]:
        """Returns the gradients of inputs and weights for the ``residuals`` of an earlier call.
        ``slots`` are needed if some gradients are zero."""
        _, backward_work = self.workspace.no_buffers()
        work = [backward_work] if backward_work else []
        try:
            outcome = self.backward(residuals, self.sensitivity(sens), *work)
        except Exception as error:
            self.loaded.explain(error)
            raise
        gradients = self.gradients(outcome, slots, ())
        return gradients[: len(self.inputs)], gradients[len(self.inputs) :]

    def run_tangent(self, fn: Any, slots: Sequence[Any], dots: Sequence[Any]) -> tuple[Any, Any]:
        """Returns the value and its tangent, in forward mode."""
        arrays = self.read(fn, slots)
        inputs = [slots[slot] for slot, _ in self.inputs] + [weight for weight, _ in self.weights]
        places = [place for _, place in (*self.inputs, *self.weights)]
        buffers = self.workspace.acquire()
        given = {place: directions(dot, x) for dot, x, place in zip(dots, inputs, places)}
        try:
            ordered = [given[n] for n in range(len(given))]
            out, *written, dot = self.forward(*arrays, *ordered, *filter(None, buffers))
        except Exception as error:
            self.loaded.explain(error)
            raise
        self.workspace.release(buffers)
        self.write(written, arrays)
        results = self.results(_copy_if_shared((out, dot), _memory_ids((arrays, dots))), arrays)
        structure = self.compiled.structure
        first = structure[0] if self.request.aux and structure is not None else structure
        return _restore_lists(results[0], structure), _restore_lists(results[1], first)

    def write(self, values: Sequence[Any], arrays: Sequence[Any]) -> None:
        """Carries out the writes of the source function, with values in memory of their own."""
        in_use = _memory_ids(arrays)
        for write, value in zip(self.compiled.writes, values):
            value = _copy_if_shared(value, in_use)
            if write.name is None:
                write.target._data = np.asarray(value)
            else:
                value = _restore_lists(
                    wrap(value) if self.returns_tensors else value, write.structure
                )
                write.put(write.target, write.name, value)

    def results(self, outcomes: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
        """Returns results of generated functions as tensors.

        An array owns its memory. An array inside a container may be an argument; it is copied
        then, because a write to a result must not change an argument.
        """
        results: list[Any] = []
        for item in outcomes:
            if type(item) is np.ndarray and self.returns_tensors:
                tensor = next(BLANK)
                tensor._data, tensor._hooks = item, ()
                results.append(tensor)
            else:
                if type(item) in (tuple, list, dict):
                    item = _copy_if_shared(item, _memory_ids((*arrays, *outcomes[: len(results)])))
                results.append(wrap(item) if self.returns_tensors else item)
        return results

    def _in_requested_order(self, outcome: Any, slots: Sequence[Any]) -> list[Any]:
        """Returns the gradients in the requested order, with zeros for values that take no part."""
        if len(self.compiled.positions) + len(self.compiled.weights) == 1:
            outcome = (outcome,)
        things = [slots[slot] for slot, _ in self.inputs] + [weight for weight, _ in self.weights]
        places = [place for _, place in (*self.inputs, *self.weights)]
        return [
            _zeros(thing) if place is None else outcome[place]
            for thing, place in zip(things, places)
        ]


def _no_backward(*arguments: Any) -> Any:
    raise InternalError("runtime: this function was compiled without a backward function")


def _places(
    wanted: Sequence[Any], given: Sequence[Any], first: int, name: Callable[[Any], Any]
) -> list[tuple[Any, int | None]]:
    """Returns each wanted value with the place of its gradient in the results of backward, or
    None."""
    position_of = {name(thing): first + place for place, thing in enumerate(given)}
    return [(thing, position_of.get(name(thing))) for thing in wanted]


def _is_partial(inputs: Sequence[Any], weights: Sequence[Any]) -> bool:
    places = [place for _, place in (*inputs, *weights)]
    return places != list(range(len(places)))


def _zeros(thing: Any) -> Any:
    """Returns the gradient of a value that takes no part."""
    if isinstance(thing, Tensor):
        return np.zeros_like(thing._data)
    if isinstance(thing, dict):
        return {key: _zeros(item) for key, item in thing.items()}
    if isinstance(thing, (tuple, list)):
        return tuple(map(_zeros, thing))
    return 0.0 if isinstance(thing, float) else 0


def _memory_ids(arrays: Sequence[Any]) -> set[int]:
    """Returns the ids of the memory that belongs to the caller."""
    in_use: set[int] = set()
    for array in arrays:
        _add_memory(array, in_use)
    return in_use


def _add_memory(value: Any, in_use: set[int]) -> None:
    if isinstance(value, np.ndarray):
        base = value.base
        in_use.add(id(value if base is None else base))
    elif isinstance(value, (tuple, list)):
        for item in value:
            _add_memory(item, in_use)
    elif isinstance(value, dict):
        for item in value.values():
            _add_memory(item, in_use)


def _copy_if_shared(value: Any, in_use: set[int]) -> Any:
    """Returns ``value`` in memory that neither the caller nor another result holds: a write to a
    result must change nothing else."""
    if isinstance(value, np.ndarray):
        base = value.base
        memory = id(value if base is None else base)
        if memory in in_use or not value.flags.writeable:
            return value.copy()
        in_use.add(memory)
        return value
    if type(value) in (tuple, list):
        return type(value)(_copy_if_shared(item, in_use) for item in value)
    if type(value) is dict:
        return {key: _copy_if_shared(item, in_use) for key, item in value.items()}
    return value


def copy_if_shared(value: Any, arrays: Sequence[Any]) -> Any:
    """Returns ``value`` in memory that none of ``arrays`` uses."""
    return _copy_if_shared(value, _memory_ids(arrays))


def _tensors(value: Any) -> Any:
    """Returns ``value`` with a Tensor for every array."""
    if type(value) in (tuple, list):
        return type(value)(map(_tensors, value))
    if type(value) is dict:
        return {key: _tensors(item) for key, item in value.items()}
    return wrap(value) if isinstance(value, (np.ndarray, np.generic)) else value


def _restore_lists(value: Any, structure: Any) -> Any:
    """Returns ``value`` with lists where the user returned lists (see ``Compiled.structure``)."""
    if structure is None:
        return value
    if isinstance(structure, Node):
        return _rebuilt(value, structure)
    if isinstance(structure, dict):
        return {key: _restore_lists(value[key], tree) for key, tree in structure.items()}
    return type(structure)(_restore_lists(item, tree) for item, tree in zip(value, structure))


def _rebuilt(value: Any, node: Node) -> Any:
    """Rebuilds the named tuple or object that the user returned from the generated function's
    tuple."""
    parts = []
    for number, tree in enumerate(node.parts):
        if isinstance(tree, Known):
            parts.append(tree.value)
        else:
            parts.append(_restore_lists(value[node.keys[number] if node.keys else number], tree))
    return rebuild(node, parts)


def _lists_in(value: Any) -> Any:
    """Returns the structure of ``value`` for ``_restore_lists``."""
    if isinstance(value, dict):
        return {key: _lists_in(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return (list if isinstance(value, list) else tuple)(map(_lists_in, value))
    return None


__all__ = ["CompiledFunction", "copy_if_shared"]
