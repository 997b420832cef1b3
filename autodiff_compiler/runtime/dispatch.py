"""The call path: a row of slots to a signature, to a unit, to arrays, to results.

``Runtime`` is the engine behind ``common/compiler_hook.py``. The compiler is handed to it as a
function, so that this layer knows text and plain records only.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.context import opt_level, stabilises
from autodiff_compiler.common.structures import holds_records
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import CallError, CompileError
from autodiff_compiler.faults import compiling
from autodiff_compiler.interface import Compiled, Request, TupleType
from autodiff_compiler.ops.transforms.gradient import GradientFunction
from autodiff_compiler.ops.transforms.nested_arguments import Flat, flattened, is_active
from autodiff_compiler.ops.transforms.nested_arguments import plain as as_plain
from autodiff_compiler.ops.transforms.tangent import TangentFunction
from autodiff_compiler.ops.transforms.transformed import Transformed, unwrapped
from autodiff_compiler.runtime.arguments import (
    check_arity,
    check_arrays,
    check_asked,
    check_bare_numbers,
    holds,
    is_numpy_call,
    is_tensor,
    signatures,
)
from autodiff_compiler.runtime.cache import Cache, identity
from autodiff_compiler.runtime.compiled_function import CompiledFunction, copy_if_shared
from autodiff_compiler.runtime.fast_call import compile_fast_call
from autodiff_compiler.runtime.guards import check_apart, first_failed_guard
from autodiff_compiler.runtime.static_arguments import retry_with_static_numbers
from autodiff_compiler.span import Span

#: ``(fn, request, values of the slots, keywords, slots whose value must be known) -> Compiled``
Compile = Callable[[Any, Request, tuple, tuple[str, ...], frozenset[int]], Compiled]

FORWARD = Request()
#: How often a call is compiled anew where what was read has changed meanwhile.
TRIES = 2


def _nowhere(fn: Any) -> None:
    """The place of a function, where there is nobody to ask for it."""


class Runtime:
    """Runs Cells, functions and gradient functions, and compiles what is not compiled yet."""

    def __init__(self, compile_unit: Compile, place_of: Callable[[Any], Span | None] = _nowhere):
        self.compile_unit, self.place_of = compile_unit, place_of
        self.cache = Cache()

    def run_cell(self, cell: Any, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """The compiled forward half of ``cell.construct``, or of any function."""
        found = False if kwargs else self._try_fast_call(cell, None, args)
        if found is not False:
            return found
        if apart := self._flat(cell, args, kwargs):
            return self._either(
                cell, lambda: self.run_cell(*apart, {}), lambda: self._run_cell(cell, args, kwargs)
            )
        return self._run_cell(cell, args, kwargs)

    def _run_cell(self, cell: Any, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        slots = (*args, *kwargs.values()) if kwargs else args
        settings = stable, level = stabilises(), opt_level()
        key = (settings, signatures(slots), tuple(kwargs))
        unit = self.cache.find(cell, key, slots)
        if unit is None:
            check_arity(cell, args, kwargs, False)
            if isinstance(cell, Transformed):
                check_asked(cell.fn, slots, cell.asked(len(slots)))
            request = replace(
                FORWARD, numpy=is_numpy_call(cell, slots), stabilise=stable,
                opt_level=level, double=isinstance(cell, Transformed) and cell.double,
            )  # fmt: skip
            unit = self._compiled(cell, key, slots, request, tuple(kwargs))
        unit.calls += 1
        if isinstance(cell, Transformed):
            unit.note_answer(cell)
        found = unit.run_forward(cell, slots)
        if not kwargs:
            self._install_fast_call(cell, cell, None, unit, slots)
        return found

    def run_gradient(
        self, gradient: GradientFunction, args: tuple, kwargs: Mapping[str, Any]
    ) -> Any:
        """The gradient, packed as promised."""
        plain = not kwargs and gradient.packs_plainly
        found = self._try_fast_call(*gradient.entry, args, gradient) if plain else False
        if found is not False:
            return found
        sens = None
        if gradient.sens_param:
            args, kwargs, sens = gradient.split_sens(args, kwargs)
        slots = (*args, *kwargs.values()) if kwargs else args
        # In plain NumPy code, floats in a container that is asked for have gradients.
        bare = gradient.numpy and not isinstance(gradient.fn, Cell) and not holds([*slots], Tensor)
        asked = [slot for slot in gradient.wanted() if slot < len(slots)] if bare else []
        wanted = [slot for slot in asked if holds(slots[slot], float)]
        if apart := self._flat(gradient.fn, args, kwargs, wanted):
            due = any(holds_records(slots[slot]) or slot in wanted for slot in asked)
            return self._either(
                gradient.fn,
                lambda: self._run_apart(gradient, *apart, sens, plain),
                None if due else lambda: self._run_gradient(gradient, args, kwargs, sens, plain),
            )
        return self._run_gradient(gradient, args, kwargs, sens, plain)

    def _run_gradient(
        self,
        gradient: GradientFunction,
        args: tuple,
        kwargs: Mapping[str, Any],
        sens: Any,
        plain: bool,
    ) -> Any:
        unit, slots = self._pair(gradient, args, kwargs)
        unit.note_answer(gradient)
        value, inputs, weights = _connected(gradient, unit, slots, sens)
        if plain:
            self._install_fast_call(gradient, *gradient.entry, unit, slots)
        return gradient.pack(value, inputs, weights, unit.request.positions)

    def _flat(
        self, fn: Any, args: tuple, kwargs: Mapping[str, Any], wanted: Sequence[int] = ()
    ) -> tuple[Flat, tuple] | None:
        """The function of leaves, and the leaves of a call whose arguments are to be taken apart;
        None where they are not."""
        if isinstance(fn, Transformed):
            return None
        table = self.cache.tables.get(identity(fn))
        if table is not None and table.takes_objects and not wanted:
            return None
        try:
            return flattened(fn, args, kwargs, wanted)
        except RecursionError:
            signatures((*args, *kwargs.values()))  # which refuses what holds itself
            raise

    def _either(self, fn: Any, apart: Callable[[], Any], whole: Callable[[], Any] | None) -> Any:
        """The outcome of a call with its arguments taken apart; or, where that is refused, with the
        objects as they are: a text may write to them. Then it is so from now on."""
        try:
            return apart()
        except CompileError as error:
            refusal = error
        if whole is None:
            raise refusal
        try:
            found = whole()
        except CompileError:
            raise refusal from None
        with self.cache.lock:
            self.cache.table(fn).takes_objects = True
        return found

    def _run_apart(
        self, gradient: GradientFunction, flat: Flat, leaves: tuple, sens: Any, simple: bool
    ) -> Any:
        """The gradient, in the structure of the arguments that were taken apart. A ``simple``
        question is asked of the leaves in the same words, and may be answered the fast path."""
        kind = (flat.key, *map(type, leaves), *map(is_active, leaves))
        known = gradient.of_leaves.get(kind) if simple else None
        if known is not None:
            flat, inner, slots, active = known
            answer = inner(*leaves)
            value, packed = answer if gradient.value else (None, answer)
            found = dict(zip(active, packed if len(active) > 1 else (packed,)))
            return gradient.pack(value, flat.gradients(slots, found), (), slots)
        count = len(flat.skeletons)
        numpy = gradient.numpy and is_numpy_call(flat, leaves)
        # A container of Tensors is a constant, as in MindSpore.
        is_due = [numpy or flat.is_leaf(n) and is_tensor(leaves[flat.places(n)[0]])
                  for n in range(count)]  # fmt: skip
        slots = gradient.positions(is_due)
        if numpy:
            bare = [leaves[flat.places(n)[0]] if flat.is_leaf(n) else None for n in range(count)]
            check_asked(flat.fn, bare, slots)
        active = [
            place for n in slots for place in flat.places(n)
            if flat.is_leaf(n) or is_active(leaves[place])
        ]  # fmt: skip
        inner = gradient.of(flat, tuple(active))
        unit, _ = self._pair(inner, leaves, {})
        value, inputs, weights = _connected(inner, unit, leaves, as_plain(sens))
        if simple and active and not (gradient.by_list or gradient.sens_param or gradient.has_aux):
            gradient.keep_leaves(kind, (flat, inner, slots, active))
        made = flat.gradients(slots, dict(zip(active, inputs)))
        return gradient.pack(value, made, weights, slots)

    def run_pullback(self, gradient: GradientFunction, args: tuple) -> tuple[Any, Callable]:
        """The value, and what gives the gradients, packed as promised, for a sensitivity."""
        plain, asked = gradient.packs_plainly, ("pullback", gradient.key)
        found: Any = self._try_fast_call(gradient.fn, asked, args) if plain else False
        if found is not False:
            return found
        unit, slots = self._pair(gradient, args, {})
        unit.note_answer(gradient)
        value, back = unit.run_pullback(gradient.fn, slots)
        if plain and unit.calls > 1 and unit.fast_pullback is None:
            made = compile_fast_call(unit, slots, copy_if_shared, gradient, unit.apply_pullback)
            unit.fast_pullback = made or False
        table = self.cache.tables.get(identity(gradient.fn))
        if plain and unit.fast_pullback and table is not None:
            table.fast_calls[asked] = unit, unit.fast_pullback

        def pull(sens: Any) -> Any:
            return gradient.pack(None, *back(sens), unit.request.positions)[1]

        return value, pull

    def _pair(
        self, gradient: GradientFunction, args: tuple, kwargs: Mapping[str, Any]
    ) -> tuple[CompiledFunction, tuple]:
        """The unit for a gradient, and the slots."""
        slots = (*args, *kwargs.values()) if kwargs else args
        key = (gradient.key, signatures(slots), tuple(kwargs))
        unit = self.cache.find(gradient.fn, key, slots)
        if unit is None:
            check_arity(gradient.fn, args, kwargs, gradient.sens_param)
            numpy = gradient.numpy and is_numpy_call(gradient.fn, slots)
            if gradient.numpy:
                check_asked(gradient.fn, slots, gradient.asked(len(slots)))
            if gradient.numpy and not numpy:
                check_arrays(gradient.fn, slots, gradient.wanted())
            request = gradient.request([numpy or is_tensor(slot) for slot in slots])
            asked = gradient.numpy and gradient.position is not None
            if asked and not request.positions and request.weights == ():
                check_bare_numbers(slots)
            if numpy:
                request = replace(request, numpy=True)
            unit = self._compiled(gradient.fn, key, slots, request, tuple(kwargs))
        unit.calls += 1
        return unit, slots

    def run_tangent(self, tangent: TangentFunction, args: tuple) -> tuple[Any, Any]:
        """The value and the tangent."""
        slots, dots = args[: tangent.inputs], args[tangent.inputs :]
        fn, asked = tangent.entry
        key = ((asked, stabilises(), opt_level()), signatures(slots), ())
        unit = self.cache.find(fn, key, slots)
        if unit is None:
            check_arity(fn, slots, {}, False)
            check_asked(fn, slots, tangent.positions)
            request = replace(tangent.request(), numpy=is_numpy_call(fn, slots))
            unit = self._compiled(fn, key, slots, request, ())
        unit.calls += 1
        unit.note_answer(tangent)
        found = unit.run_tangent(fn, slots, dots)
        self._install_fast_call(tangent, fn, asked, unit, slots)
        return found

    def try_fast_call(self, function: Transformed, args: tuple) -> Any:
        """The answer of a call that is like an earlier one, or False."""
        return self._try_fast_call(*function.entry, args)

    def compiled_titles(self, function: Transformed) -> list[str]:
        """The titles of the units that answer ``function``, the least lately used first."""
        fn, asked = function.entry
        table = self.cache.tables.get(identity(fn))
        rows = () if table is None else table.all()
        found = [unit for key, unit in rows if asked is None or asked in (key[0], key[0][0])]  # type: ignore[index]
        return [unit.title for unit in sorted(found, key=lambda unit: unit.used)]

    def _try_fast_call(
        self, fn: Any, asked: Hashable, args: tuple, caller: Transformed | None = None
    ) -> Any:
        """As ``again``; where there is one, ``caller`` need not look for it any more."""
        table = self.cache.tables.get(identity(fn))
        known = None if table is None else table.fast_calls.get(asked)
        if known is None:
            return False
        unit, fast_call = known
        found = fast_call(fn, args)
        if found is not False and caller is not None:
            unit.install_fast_call(caller)
        return found

    def _install_fast_call(
        self, caller: Any, fn: Any, asked: Hashable, unit: CompiledFunction, slots: tuple
    ) -> None:
        """The next call that asks this of ``fn`` may take the fast path, if there is one: it is
        made when the unit is used again, for many are not."""
        gradient = caller if isinstance(caller, GradientFunction) else None
        if unit.calls > 1 and unit.fast_call is None:
            unit.fast_call = compile_fast_call(unit, slots, copy_if_shared, gradient) or False
        table = self.cache.tables.get(identity(fn))
        if unit.fast_call and table is not None:
            table.fast_calls[asked] = unit, unit.fast_call
            if isinstance(caller, Transformed):
                unit.install_fast_call(caller)

    def _compiled(
        self, fn: Any, key: tuple, slots: tuple, request: Request, keywords: tuple[str, ...]
    ) -> CompiledFunction:
        fn = unwrapped(fn)
        return compiling(
            lambda: self._made(fn, key, slots, request, keywords), lambda: self.place_of(fn)
        )

    def _made(
        self, fn: Any, key: tuple, slots: tuple, request: Request, keywords: tuple[str, ...]
    ) -> CompiledFunction:
        with self.cache.lock:
            unit = self.cache.find(fn, key, slots)
            if unit is not None:
                return unit
            reason = self._reason(fn, key, slots)
            unit = self._unit(fn, key, slots, request, keywords, reason)
            for _ in range(TRIES):
                check_apart(unit.compiled.assumptions, fn, slots)
                # Another thread may have changed what was read meanwhile.
                if unit.guard(fn, slots) or not first_failed_guard(
                    unit.compiled.assumptions, fn, slots
                ):
                    break
                unit = self._unit(fn, key, slots, request, keywords, reason)
            self.cache.add(fn, key, unit)
        return unit

    def _unit(
        self, fn: Any, key: tuple, slots: tuple, request: Request, keywords: tuple[str, ...],
        reason: str,
    ) -> CompiledFunction:  # fmt: skip
        compiled = self._text(fn, key, slots, request, keywords)
        if request.aux:
            _check_aux(compiled)
        title = compiled.title or getattr(fn, "__qualname__", type(fn).__name__)
        return CompiledFunction(compiled, request, slots, reason, title)

    def _text(
        self, fn: Any, key: tuple, slots: tuple, request: Request, keywords: tuple[str, ...]
    ) -> Compiled:
        """What the compiler makes of a call. Numbers are carried at run time where that can be;
        where it cannot, they become known values, which a guard holds on to."""
        table = self.cache.table(fn)
        compiled, table.needed[key] = retry_with_static_numbers(
            lambda known: self.compile_unit(fn, request, slots, keywords, known),
            slots, table.needed.get(key, frozenset()), request.positions,
        )  # fmt: skip
        return compiled

    def _reason(self, fn: Any, key: tuple, slots: Sequence[Any]) -> str:
        """Why a call has to be compiled, for ``compile_info``."""
        rows = list(self.cache.table(fn).all())
        same = [unit for other, unit in rows if other == key]
        if same:
            broken = first_failed_guard(same[0].compiled.assumptions, fn, slots)
            if broken is None:
                return "a parameter has another dtype or shape"
            return f"{broken.path} is no longer {_short(broken.value)}"
        if not rows:
            return "first call"
        asked = {other[0] for other, _ in rows}  # type: ignore[index]
        return "other argument types" if key[0] in asked else "another gradient is asked for"


def _connected(
    gradient: GradientFunction, unit: CompiledFunction, slots: Sequence[Any], sens: Any
) -> tuple[Any, list, list]:
    """What a unit gives, with what is asked for in the place of gradients in what the output does
    not depend on."""
    if gradient.unconnected == "error" and unit.unconnected:
        raise _unconnected(unit)
    value, inputs, weights = unit.run_pair(gradient.fn, slots, sens)
    if gradient.unconnected == "none":
        for number in unit.unconnected:
            of = inputs if number < len(inputs) else weights
            of[number - (0 if of is inputs else len(inputs))] = None
    return value, inputs, weights


def _unconnected(unit: CompiledFunction) -> CallError:
    """What to say of inputs and weights that the output does not depend on."""
    slots = [f"argument {slot}" for slot, _ in unit.inputs]
    names = [*slots, *(f"the Parameter '{weight.name}'" for weight, _ in unit.weights)]
    return CallError(
        f"the output does not depend on {', '.join(names[n] for n in unit.unconnected)}",
        "do not differentiate it, or pass unconnected='zero' or unconnected='none'",
    )


def _check_aux(compiled: Compiled) -> None:
    if not isinstance(compiled.output, TupleType) or len(compiled.output.items) < 2:
        raise ValueError("When has_aux is True, origin fn requires more than one outputs.")


def _short(value: Any) -> str:
    if isinstance(value, Tensor) or not isinstance(value, (bool, int, float, str, type(None))):
        return f"the same {type(value).__name__}"
    return repr(value)


__all__ = ["Runtime"]
