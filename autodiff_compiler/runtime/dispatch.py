"""The path of a call: describes it, finds or compiles its code, runs that and packs the result.

``Runtime`` is the engine behind ``common/compiler_hook.py``. The compiler is given to it as a
function: this layer handles source text and plain records only.

A call is a ``CallSite``. Each kind of call is a class here, which knows its key and its request.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.context import new_request
from autodiff_compiler.common.structures import holds_records
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import CallError, CompileError
from autodiff_compiler.interface.request import Request
from autodiff_compiler.ops.transforms.gradient import GradientFunction
from autodiff_compiler.ops.transforms.nested_arguments import Flat, flattened, is_active
from autodiff_compiler.ops.transforms.nested_arguments import plain as as_plain
from autodiff_compiler.ops.transforms.tangent import TangentFunction
from autodiff_compiler.ops.transforms.transformed import Transformed
from autodiff_compiler.runtime.arguments import (
    check_arity,
    check_arrays,
    check_bare_numbers,
    check_not_whole_numbers,
    holds,
    is_numpy_call,
    is_tensor,
    signatures,
)
from autodiff_compiler.runtime.cache import Cache, CallSite, Compile, call_key, identity
from autodiff_compiler.runtime.compiled_function import CompiledFunction, copy_if_shared
from autodiff_compiler.runtime.fast_call import compile_fast_call
from autodiff_compiler.span import Span

Gradient: TypeAlias = GradientFunction[..., Any]
AnyTransformed: TypeAlias = Transformed[..., Any]


class ForwardCall(CallSite):
    """A call that runs a Cell or function."""

    __slots__ = ("template",)

    def __init__(self, fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]):
        self.fn, self.asked = fn, None
        self.slots = (*args, *kwargs.values()) if kwargs else args
        self.keywords = tuple(kwargs)
        self.template = new_request(isinstance(fn, Transformed) and fn.double, fn)
        self.key = call_key(None, self.template, self.slots, self.keywords)

    def request(self) -> Request:
        fn, slots = self.fn, self.slots
        check_arity(fn, slots, self.keywords, False)
        if isinstance(fn, Transformed):
            check_not_whole_numbers(fn.fn, slots, fn.asked(len(slots)))
        return replace(self.template, numpy=is_numpy_call(fn, slots))


class GradientCall(CallSite):
    """A call of a gradient function, without the sensitivity."""

    __slots__ = ("gradient",)

    def __init__(self, gradient: Gradient, args: tuple[Any, ...], kwargs: Mapping[str, Any]):
        self.gradient, self.fn, self.asked = gradient, gradient.fn, gradient.key
        self.slots = (*args, *kwargs.values()) if kwargs else args
        self.keywords = tuple(kwargs)
        self.key = call_key(self.asked, gradient.template, self.slots, self.keywords)

    def request(self) -> Request:
        gradient, fn, slots = self.gradient, self.fn, self.slots
        check_arity(fn, slots, self.keywords, gradient.sens_param)
        if not gradient.numpy:
            return gradient.request([*map(is_tensor, slots)])
        numpy = is_numpy_call(fn, slots)
        check_not_whole_numbers(fn, slots, gradient.asked(len(slots)))
        if not numpy:
            check_arrays(fn, slots, gradient.wanted())
        request = gradient.request([numpy or is_tensor(slot) for slot in slots])
        if gradient.position is not None and not request.positions and request.weights == ():
            check_bare_numbers(slots)
        return replace(request, numpy=True) if numpy else request


class PullbackCall(GradientCall):
    """A call that returns the value and a pullback, which takes the sensitivity."""

    __slots__ = ()

    def __init__(self, gradient: Gradient, args: tuple[Any, ...]):
        super().__init__(gradient, args, {})
        template = replace(gradient.template, sens="later")
        self.key = call_key(self.asked, template, args, ())

    def request(self) -> Request:
        return replace(super().request(), sens="later")


class TangentCall(CallSite):
    """A call of a tangent function, without the tangents of its inputs."""

    __slots__ = ("template",)

    def __init__(self, tangent: TangentFunction, slots: tuple[Any, ...]):
        (self.fn, self.asked), self.template = tangent.entry, tangent.request()
        self.slots, self.keywords = slots, ()
        self.key = call_key(self.asked, self.template, slots, ())

    def request(self) -> Request:
        check_arity(self.fn, self.slots, (), False)
        check_not_whole_numbers(self.fn, self.slots, self.template.positions)
        return replace(self.template, numpy=is_numpy_call(self.fn, self.slots))


class Runtime:
    """Runs Cells, functions and derivatives, and compiles those that are not compiled yet."""

    def __init__(
        self, compile_unit: Compile, place_of: Callable[[Any], Span | None] = lambda fn: None
    ):
        self.cache = Cache(compile_unit, place_of)

    # ---- values

    def run_cell(self, cell: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Returns the value of a Cell or function, run compiled."""
        outcome = False if kwargs else self._try_fast_call(cell, None, args)
        if outcome is not False:
            return outcome
        if flat := self._flattened(cell, args, kwargs):
            return self._run_flat_or_unflattened(
                cell,
                lambda: self.run_cell(*flat, {}),
                lambda: self._run_forward(cell, args, kwargs),
            )
        return self._run_forward(cell, args, kwargs)

    def _run_forward(self, cell: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        site = ForwardCall(cell, args, kwargs)
        unit = self.cache.find_or_compile(site)
        if isinstance(cell, Transformed):
            unit.note_answer(cell)
        outcome = unit.run_forward(cell, site.slots)
        if not kwargs:
            self._install_fast_call(cell, unit, site)
        return outcome

    # ---- gradients

    def run_gradient(
        self, gradient: Gradient, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        """Returns the gradient, packed as requested."""
        simple = not kwargs and gradient.packs_plainly
        outcome = self._try_fast_call(*gradient.entry, args, gradient) if simple else False
        if outcome is not False:
            return outcome
        sens = None
        if gradient.sens_param:
            args, kwargs, sens = gradient.split_sens(args, kwargs)
        slots = (*args, *kwargs.values()) if kwargs else args
        asked = _named_slots_of_numpy_call(gradient, slots)
        floats = [slot for slot in asked if holds(slots[slot], float)]
        if flat := self._flattened(gradient.fn, args, kwargs, floats):
            only_flat = any(holds_records(slots[slot]) or slot in floats for slot in asked)
            return self._run_flat_or_unflattened(
                gradient.fn,
                lambda: self._run_on_leaves(gradient, *flat, sens, simple),
                None
                if only_flat
                else lambda: self._run_gradient(gradient, args, kwargs, sens, simple),
            )
        return self._run_gradient(gradient, args, kwargs, sens, simple)

    def _run_gradient(
        self,
        gradient: Gradient,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        sens: Any,
        simple: bool,
    ) -> Any:
        site = GradientCall(gradient, args, kwargs)
        unit = self.cache.find_or_compile(site)
        unit.note_answer(gradient)
        value, inputs, weights = _run_pair(gradient, unit, site.slots, sens)
        if simple:
            self._install_fast_call(gradient, unit, site)
        return gradient.pack(value, inputs, weights, unit.request.positions)

    def run_pullback(
        self, gradient: Gradient, args: tuple[Any, ...]
    ) -> tuple[Any, Callable[..., Any]]:
        """Returns the value, and a function from a sensitivity to the packed gradients."""
        simple, asked = gradient.packs_plainly, ("pullback", gradient.key)
        outcome: tuple[Any, Callable[..., Any]] | Literal[False] = (
            self._try_fast_call(gradient.fn, asked, args) if simple else False
        )
        if outcome is not False:
            return outcome
        site = PullbackCall(gradient, args)
        unit = self.cache.find_or_compile(site)
        unit.note_answer(gradient)
        value, back = unit.run_pullback(gradient.fn, site.slots)
        if simple and unit.calls > 1 and unit.fast_pullback is None:
            fast_pullback = compile_fast_call(
                unit, site.slots, copy_if_shared, gradient, unit.apply_pullback
            )
            unit.fast_pullback = fast_pullback or False
        if simple and unit.fast_pullback and site.entries is not None:
            site.entries.fast_calls[asked] = unit, unit.fast_pullback

        def pull(sens: Any) -> Any:
            return gradient.pack(None, *back(sens), unit.request.positions)[1]

        return value, pull

    # ---- tangents

    def run_tangent(self, tangent: TangentFunction, args: tuple[Any, ...]) -> tuple[Any, Any]:
        """Returns the value and the tangent."""
        slots, dots = args[: tangent.inputs], args[tangent.inputs :]
        site = TangentCall(tangent, slots)
        unit = self.cache.find_or_compile(site)
        unit.note_answer(tangent)
        outcome = unit.run_tangent(site.fn, slots, dots)
        self._install_fast_call(tangent, unit, site)
        return outcome

    # ---- arguments that hold objects

    def _flattened(
        self, fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], wanted: Sequence[int] = ()
    ) -> tuple[Flat, tuple[Any, ...]] | None:
        """Returns ``fn`` as a function of leaves, and the leaves; None if nothing is flattened."""
        if isinstance(fn, Transformed):
            return None
        entries = self.cache.entries_of(fn)
        if entries is not None and entries.takes_objects and not wanted:
            return None
        try:
            return flattened(fn, args, kwargs, wanted)
        except RecursionError:
            signatures((*args, *kwargs.values()))  # refuses a container that holds itself
            raise

    def _run_flat_or_unflattened(
        self, fn: Any, flat: Callable[[], Any], unflattened: Callable[[], Any] | None
    ) -> Any:
        """Returns the result with the arguments flattened. If the compiler refuses that, passes
        the objects as they are, for ``fn`` may write to them; so does every later call."""
        try:
            return flat()
        except CompileError as error:
            refusal = error
        if unflattened is None:
            raise refusal
        try:
            outcome = unflattened()
        except CompileError:
            raise refusal from None
        with self.cache.lock:
            self.cache.entries(fn).takes_objects = True
        return outcome

    def _run_on_leaves(
        self, gradient: Gradient, flat: Flat, leaves: tuple[Any, ...], sens: Any, simple: bool
    ) -> Any:
        """Returns the gradient in the structure of the arguments that were flattened.

        A ``simple`` gradient packs the gradients of the leaves likewise, and may be a fast call.
        """
        kind = (flat.key, *map(type, leaves), *map(is_active, leaves))
        known = gradient.of_leaves.get(kind) if simple else None
        if known is not None:
            flat, inner, slots, active = known
            answer = inner(*leaves)
            value, packed = answer if gradient.value else (None, answer)
            by_position = dict(zip(active, packed if len(active) > 1 else (packed,)))
            return gradient.pack(value, flat.gradients(slots, by_position), (), slots)
        slots = _differentiated_arguments(gradient, flat, leaves)
        active = [
            place
            for slot in slots
            for place in flat.places(slot)
            if flat.is_leaf(slot) or is_active(leaves[place])
        ]
        inner = gradient.of(flat, tuple(active))
        unit = self.cache.find_or_compile(GradientCall(inner, leaves, {}))
        value, inputs, weights = _run_pair(inner, unit, leaves, as_plain(sens))
        if simple and active and not (gradient.by_list or gradient.sens_param or gradient.has_aux):
            gradient.keep_leaves(kind, (flat, inner, slots, active))
        gradients = flat.gradients(slots, dict(zip(active, inputs)))
        return gradient.pack(value, gradients, weights, slots)

    # ---- fast calls

    def try_fast_call(self, function: AnyTransformed, args: tuple[Any, ...]) -> Any:
        """Returns the result of a call that matches an earlier one, or False."""
        return self._try_fast_call(*function.entry, args)

    def _try_fast_call(
        self, fn: Any, asked: Hashable, args: tuple[Any, ...], caller: AnyTransformed | None = None
    ) -> Any:
        """Calls like ``try_fast_call``; ``caller`` makes its next fast call without a look-up."""
        entries = self.cache.functions.get(identity(fn))
        known = None if entries is None else entries.fast_calls.get(asked)
        if known is None:
            return False
        unit, fast_call = known
        outcome = fast_call(fn, args)
        if outcome is not False and caller is not None:
            unit.install_fast_call(caller)
        return outcome

    def _install_fast_call(self, caller: Any, unit: CompiledFunction, site: CallSite) -> None:
        """Lets the next call of ``caller`` take the fast path of ``unit``, if it has one.

        The fast call is compiled at the second use, because many functions are called once.
        """
        gradient = caller if isinstance(caller, GradientFunction) else None
        if unit.calls > 1 and unit.fast_call is None:
            unit.fast_call = compile_fast_call(unit, site.slots, copy_if_shared, gradient) or False
        if unit.fast_call and site.entries is not None and not unit.retired:
            site.entries.fast_calls[site.asked] = unit, unit.fast_call
            if isinstance(caller, Transformed):
                unit.install_fast_call(caller)

    def compiled_titles(self, function: AnyTransformed) -> list[str]:
        """Returns the titles of the units that serve ``function``, least recently used first."""
        fn, asked = function.entry
        entries = self.cache.entries_of(fn)
        rows = () if entries is None else entries.all()
        units = [unit for (question, *_), unit in rows if asked is None or asked == question[0]]
        return [unit.title for unit in sorted(units, key=lambda unit: unit.used)]


def _named_slots_of_numpy_call(gradient: Gradient, slots: Sequence[Any]) -> list[int]:
    """Returns the slots that a gradient names, if it is of plain NumPy code: only there do the
    floats in a container have gradients."""
    plain = gradient.numpy and not isinstance(gradient.fn, Cell) and not holds([*slots], Tensor)
    return [slot for slot in gradient.wanted() if slot < len(slots)] if plain else []


def _differentiated_arguments(
    gradient: Gradient, flat: Flat, leaves: Sequence[Any]
) -> tuple[int, ...]:
    """Returns the arguments, before flattening, whose gradient is asked for."""
    count = len(flat.skeletons)
    bare = [leaves[flat.places(n)[0]] if flat.is_leaf(n) else None for n in range(count)]
    numpy = gradient.numpy and is_numpy_call(flat, leaves)
    # A container of Tensors is a constant, as in MindSpore.
    slots = gradient.positions([numpy or is_tensor(leaf) for leaf in bare])
    if numpy:
        check_not_whole_numbers(flat.fn, bare, slots)
    return slots


def _run_pair(
    gradient: Gradient, unit: CompiledFunction, slots: Sequence[Any], sens: Any
) -> tuple[Any, list[Any], list[Any]]:
    """Returns the value and the gradients of inputs and weights.

    If the output does not depend on a value, ``gradient.unconnected`` decides about its gradient.
    """
    if gradient.unconnected == "error" and unit.unconnected:
        raise _unconnected(unit)
    value, inputs, weights = unit.run_pair(gradient.fn, slots, sens)
    if gradient.unconnected == "none":
        for number in unit.unconnected:
            of = inputs if number < len(inputs) else weights
            of[number - (0 if of is inputs else len(inputs))] = None
    return value, inputs, weights


def _unconnected(unit: CompiledFunction) -> CallError:
    """Returns the refusal of gradients in values that the output does not depend on."""
    slots = [f"argument {slot}" for slot, _ in unit.inputs]
    names = [*slots, *(f"the Parameter '{weight.name}'" for weight, _ in unit.weights)]
    return CallError(
        f"the output does not depend on {', '.join(names[n] for n in unit.unconnected)}",
        "do not differentiate it, or pass unconnected='zero' or unconnected='none'",
    )


__all__ = ["ForwardCall", "GradientCall", "Runtime", "TangentCall"]
