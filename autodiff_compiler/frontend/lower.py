"""Lowers a function to typed IR for the types of its arguments. No later stage sees an AST."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.common.structures import fill_skeleton
from autodiff_compiler.errors import CompileError, DTypeError, raise_all
from autodiff_compiler.frontend.abstract.heap import detach
from autodiff_compiler.frontend.abstract.packing import pack
from autodiff_compiler.frontend.abstract.values import HeapRef, NeedsKnownValue, UsesPoison, leaves
from autodiff_compiler.frontend.calls.outlining import OutlinedCall
from autodiff_compiler.frontend.core.compilation import Compilation, NestingTooDeep
from autodiff_compiler.frontend.core.dependencies import parameters_behind
from autodiff_compiler.frontend.core.guards import MISSING, PLAIN
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.dispatch import HANDLERS
from autodiff_compiler.frontend.syntax.source import read_source
from autodiff_compiler.interface.compiled import (
    ArraySlot,
    AttributeInput,
    Guard,
    Hoisted,
    HookedSlot,
    Item,
    MutableSlot,
    NeedValues,
    Slot,
    StaticSlot,
    Write,
)
from autodiff_compiler.interface.request import Request
from autodiff_compiler.ir.nodes import Function, Region, Value
from autodiff_compiler.ir.rewrite import free_values, use_counts
from autodiff_compiler.ir.types import (
    ArrayType,
    ScalarType,
)
from autodiff_compiler.ops.transforms.transformed import Transformed, unwrapped
from autodiff_compiler.span import Span


@dataclass(frozen=True)
class TypedProgram:
    """A root function, and the facts that it was lowered under.

    places         slot -> position of its parameter.
    weights        the wanted weights; ``weight_places`` are the positions of their parameters.
    silenced       the kinds of NumPy's warnings that the source function silences.
    orders         position of a parameter -> the layout that is assumed of it.
    met_rules      True if the program would be another one without a derivative.
    parameters     the Parameters that the source function reads.
    weight_guards  the guards, by path and test, that follow from the choice of the weights.
    """

    function: Function
    places: dict[int, int]
    hoisted: tuple[Hoisted, ...]
    weights: tuple[Any, ...]
    weight_places: tuple[int, ...]
    structure: Any
    guards: tuple[Guard, ...]
    writes: tuple[Write, ...]
    silenced: tuple[str, ...]
    orders: dict[int, Any]
    met_rules: bool
    parameters: tuple[Parameter, ...]
    weight_guards: frozenset[tuple[str, str]]

    def with_weights(self, weights: Sequence[Any] | None) -> TypedProgram | None:
        """Returns the program whose derivatives in other weights are wanted; None if lowering must
        begin again, because they are no parameters of it, or are parameters for their own sake.

        ``weights`` are those of a Request.
        """
        if weights == () == self.weights:
            return self
        first, used = len(self.places), use_counts(self.function.body)
        outside = {id(item.source): first + at for at, item in enumerate(self.hoisted)}
        wanted: Sequence[Any] = weights or ()
        if weights is None:
            wanted = [parameter for parameter in self.parameters if parameter.requires_grad]
        needed = self.parameters if weights is None else wanted
        if any(param not in used for param in self.function.params[first:]) or any(
            id(thing) not in outside for thing in needed
        ):
            return None
        guards = {(g.path, g.test): g for g in self.guards}
        guards = {key: g for key, g in guards.items() if key not in self.weight_guards}
        added = set()
        for parameter in self.parameters if weights is None else ():
            path = self.hoisted[outside[id(parameter)] - first].path
            flag = Guard(f"{path}.requires_grad", "equal", parameter.requires_grad)
            if path is not None and guards.setdefault((flag.path, flag.test), flag) is flag:
                added.add((flag.path, flag.test))
        return replace(
            self,
            weights=tuple(wanted),
            weight_places=tuple(outside[id(weight)] for weight in wanted),
            guards=tuple(guards.values()),
            weight_guards=frozenset(added),
        )


def lower(
    fn: Callable[..., Any],
    request: Request,
    slots: Sequence[Slot],
    keywords: Sequence[str],
) -> TypedProgram:
    """Lowers ``fn`` for arguments of the given types.

    Begins again until all that the source function writes outside is known from the beginning.
    Raises a CompileError with every problem, or ``interface.NeedValues`` if a number must be known
    that ``slots`` gives as a type.
    """
    written: dict[Any, Write] = {}
    unrolled: frozenset[Any] = frozenset()
    layouts: dict[int, Any] = {}
    refusal: CompileError | None = None
    failed = unknown_views = False
    while True:
        compilation = Compilation(
            numpy=request.numpy,
            differentiates=request.needs_rules,
            written=written,
            unrolled_loops=unrolled,
            orders=layouts,
        )
        try:
            typed = _lower_once(compilation, fn, request, slots, keywords)
            if not compilation.discovered:
                return typed
        except CompileError as error:
            if not compilation.discovered:
                refusal = refusal or error
                unknown_views |= compilation.aliases.has_unknown_views
                if compilation.growing_loops <= unrolled:
                    # Unrolling was no remedy. Known layouts tell views from copies.
                    may_help = request.numpy and unknown_views and not layouts
                    known = _known_layouts(slots) if may_help else {}
                    if not known:
                        raise refusal from None
                    layouts, unrolled, failed = known, frozenset(), False
                    continue
            # In an unrolled loop the items and sizes of a growing list are known. A first failure
            # may be due to a write that was not yet known, so it unrolls nothing.
            if failed or not compilation.discovered:
                unrolled |= compilation.growing_loops
            failed = True
        except Exception:
            # A failure after a write that was not yet known may be due to that write.
            if not compilation.discovered:
                raise
        written = {**written, **compilation.discovered}


def _is_array_without_axes(slot: Slot) -> bool:
    """True if the argument is an array without axes, and no number."""
    return isinstance(slot, ArraySlot) and slot.type.ndim == 0


def _known_layouts(slots: Sequence[Slot]) -> dict[int, Any]:
    """Returns the layouts of arguments, by slot. An argument given as a type is in C order."""
    layouts = {}
    for n, slot in enumerate(slots):
        if isinstance(slot, ArraySlot):
            layouts.update({n: slot.order} if slot.type.ndim and slot.order is not None else {})
        elif isinstance(slot, ArrayType) and slot.ndim and slot.has_static_shape:
            layouts[n] = "C"
    return layouts


def _lower_once(
    compilation: Compilation,
    fn: Callable[..., Any],
    request: Request,
    slots: Sequence[Slot],
    keywords: Sequence[str],
) -> TypedProgram:
    """Lowers ``fn`` under what is known so far of its writes, loops and layouts."""
    _register_paths(compilation, fn, slots)
    root = Lowering(compilation, HANDLERS)
    with root.builder:
        arguments = _argument_values(root, slots)
        outlined = _outline_root(root, fn, request, slots, arguments, keywords)
        compilation.guard_written()
        raise_all(compilation.problems)
        assert outlined is not None
        if outlined.returned is MISSING:
            raise _refuse_result(outlined)
    hoisted = _hoisted_inputs(root, outlined)
    _guard_slots(compilation, slots)
    _guard_distinct_memory(compilation, outlined.function, hoisted)
    _guard_unwritten_arguments(compilation, outlined.function.span)
    compilation.guard_replaceable()
    compilation.guard_array_types([item.source for item in hoisted])
    return TypedProgram(
        function=outlined.function,
        places=outlined.places,
        hoisted=tuple(hoisted),
        weights=tuple(hoisted[place - len(outlined.places)].source for place in outlined.weights),
        weight_places=tuple(outlined.weights),
        structure=outlined.tree,
        guards=tuple(compilation.guards.values()),
        writes=outlined.writes,
        silenced=tuple(sorted(compilation.silenced)),
        orders={outlined.places[n]: order for n, order in compilation.orders.items()},
        met_rules=compilation.met_rules,
        parameters=outlined.parameters,
        weight_guards=frozenset(compilation.weight_guards),
    )


def _register_paths(
    compilation: Compilation, fn: Callable[..., Any], slots: Sequence[Slot]
) -> None:
    """Registers the paths of the function, its static arguments and their hooks."""
    compilation.register_path(fn, "fn")
    for n, slot in enumerate(slots):
        if isinstance(slot, StaticSlot):
            compilation.register_path(slot.value, f"slots[{n}]")
        if isinstance(slot, HookedSlot):
            compilation.hooks[n] = slot.hooks
            for number, hook in enumerate(slot.hooks):
                compilation.register_path(hook.function, f"slots[{n}]._hooks[{number}].function")


def _argument_values(root: Lowering, slots: Sequence[Slot]) -> list[Any]:
    """Returns the compile-time values of the arguments, and records what is known of them."""
    compilation, aliases = root.compilation, root.compilation.aliases
    values = [_slot_value(slot, f"slot{n}") for n, slot in enumerate(slots)]
    slot_of = {value: n for n, value in enumerate(values) if isinstance(value, Value)}
    compilation.slots = slot_of
    if compilation.numpy:
        aliases.arrays.update(v for v, n in slot_of.items() if _is_array_without_axes(slots[n]))
    arguments = [root.unpacked(v) if isinstance(v, Value) else v for v in values]
    for leaf in leaves(detach(tuple(arguments), root.state)):
        if leaf not in slot_of:  # an item of a container, of which only the type is known
            aliases.set_is_array(leaf, None)
    for slot, argument in zip(slots, arguments):
        if isinstance(slot, MutableSlot):
            like = fill_skeleton(slot.skeleton, itertools.repeat(None))
            compilation.mutables.mark(argument, like)
    for n, argument in enumerate(arguments):
        compilation.found_at.update(_value_paths(root, argument, f"slots[{n}]"))
    return arguments


def _outline_root(
    root: Lowering,
    fn: Callable[..., Any],
    request: Request,
    slots: Sequence[Slot],
    arguments: Sequence[Any],
    keywords: Sequence[str],
) -> OutlinedCall | None:
    """Lowers the call of ``fn``. Returns None where its outcome depends on a reported problem."""
    count = len(arguments) - len(keywords)
    by_name = dict(zip(keywords, arguments[count:]))
    try:
        outlined: OutlinedCall = root.outline(
            fn, arguments[:count], by_name, request.aux, request.weights, root=True
        )
        return outlined
    except UsesPoison:
        return None
    except NestingTooDeep as error:
        raise error.refusal(place_of(fn)) from None
    except NeedsKnownValue as need:
        inputs = parameters_behind(root, need.value)
        wanted = tuple(n for value, n in root.compilation.slots.items() if value in inputs)
        if wanted and all(isinstance(slots[n], ScalarType) for n in wanted):
            raise NeedValues(wanted, need.purpose) from None
        raise need.refusal(
            f"{need.purpose} must be a compile-time constant, but it is computed from tensors",
            "compute it from shapes, attributes or Python numbers, which are known at compile time",
        ) from None


def _hoisted_inputs(root: Lowering, outlined: OutlinedCall) -> list[Hoisted]:
    """Returns what stands behind the parameters of the root that are no arguments."""
    things = {id(value): thing for thing, value in root.hoisted.values()}
    first = len(outlined.places)
    pairs = zip(outlined.function.params[first:], outlined.operands[first:])
    return [_hoisted(root.compilation, param, things[id(operand)]) for param, operand in pairs]


def _guard_slots(compilation: Compilation, slots: Sequence[Slot]) -> None:
    """Records static arguments, and the layouts that are assumed of arrays."""
    for n, slot in enumerate(slots):
        if isinstance(slot, StaticSlot) and isinstance(slot.value, PLAIN):
            compilation.add_guard(f"slots[{n}]", slot.value)
    for n, order in compilation.orders.items():
        flag = {"C": "flags.c_contiguous", "F": "flags.f_contiguous"}.get(order)
        compilation.add_guard(f"slots[{n}].{flag or 'strides'}", True if flag else order)


def _value_paths(low: Lowering, thing: Any, path: str) -> Iterator[tuple[Value, str]]:
    """Yields the values in an argument with their paths."""
    if isinstance(thing, Value):
        yield thing, path
        return
    thing = low.state.heap[thing] if isinstance(thing, HeapRef) else thing
    if isinstance(thing, (dict, tuple)):
        for key, part in thing.items() if isinstance(thing, dict) else enumerate(thing):
            yield from _value_paths(low, part, f"{path}[{key!r}]")


def _guard_distinct_memory(
    compilation: Compilation, function: Function, hoisted: Sequence[Hoisted]
) -> None:
    """Records that arguments which the function writes to share no memory with later reads.

    Records also that no two elements of such an argument share memory.
    """
    if not compilation.overwritten:
        return
    if compilation.numpy:
        for argument, (*_, span) in compilation.overwritten.items():
            place = compilation.arguments[argument]
            compilation.guards[place, "whole"] = Guard(place, "whole", None, span)
    paths = {**compilation.arguments, **dict(_array_paths(compilation, function, hoisted))}
    written, read, first = set(), set(), None
    for argument, (ops, count, span) in compilation.overwritten.items():
        later = free_values(Region((), tuple(ops[count:]), function.returns))
        memory = compilation.aliases.of_all(later)
        others = {other for other in paths if other is not argument and other in memory}
        if others:
            written.add(argument)
            read |= others
            first = first or span
    if written:
        rows = [written - read, written & read, read - written]
        ordered = [path for row in rows for value, path in paths.items() if value in row]
        ends = len(rows[0]), len(written)
        path = f"({', '.join(ordered)})"
        compilation.guards[path, "apart"] = Guard(path, "apart", ends, first)


def _guard_unwritten_arguments(compilation: Compilation, span: Span) -> None:
    """Records that no argument is a Parameter that the function writes to."""
    parameters = [write.target for write in compilation.written.values() if write.name is None]
    written = tuple(compilation.path(each) or each for each in parameters)
    if not written or compilation.numpy:
        return
    for argument, path in compilation.arguments.items():
        if isinstance(argument.type, ArrayType):
            compilation.guards[path, "not written"] = Guard(path, "not written", written, span)


def _array_paths(
    compilation: Compilation, function: Function, hoisted: Sequence[Hoisted]
) -> Iterator[tuple[Value, str]]:
    """Yields the parameters that are arrays from outside, with their paths."""
    params = function.params[-len(hoisted) :] if hoisted else ()
    for param, item in zip(params, hoisted):
        source, path = item.source, item.path
        if isinstance(source, AttributeInput) and (owner := compilation.path(source.owner)):
            name = source.name
            path = f"{owner}[{name.key!r}]" if isinstance(name, Item) else f"{owner}.{name}"
        if path and isinstance(item.type, ArrayType):
            yield param, path


def _hoisted(compilation: Compilation, param: Any, thing: Any) -> Hoisted:
    """Returns the input behind a parameter that is no argument. An array that the function itself
    makes at compile time comes with its source.
    """
    path = compilation.path(thing)
    is_constant = path is None and isinstance(thing, (np.ndarray, np.generic))
    text = compilation.recipes.text(thing) if is_constant else None
    return Hoisted(param.name, thing, param.type, text, path, compilation.is_read_per_call(thing))


def _refuse_result(outlined: OutlinedCall) -> DTypeError:
    """Returns the error of an outcome that generated source cannot return."""
    cause = "the function returns a value that generated code cannot hold"
    try:
        pack(outlined.outcome, outlined.heap)
    except DTypeError as error:
        cause = f"{error.problems[0].cause}, but it is returned"
    return DTypeError(
        cause,
        "return tensors, numbers, strings, None, and tuples, lists or dicts of these",
        outlined.function.span,
    )


def place_of(fn: Any) -> Span:
    """Returns the place where the source of ``fn`` begins."""
    while isinstance(fn, Transformed):
        fn = fn.fn
    source = read_source(unwrapped(fn.construct) if isinstance(fn, Cell) else fn)
    return source.span(source.tree)


def _slot_value(slot: Slot, name: str) -> Any:
    if isinstance(slot, StaticSlot):
        return slot.value
    if isinstance(slot, (HookedSlot, ArraySlot, MutableSlot)):
        return Value(slot.type, name, True)
    return Value(slot, name, True)
