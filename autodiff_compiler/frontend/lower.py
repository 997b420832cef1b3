"""A function and the types of its arguments to typed IR: the last file that has heard of an AST.

``lower`` is the entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.errors import CompileError, DTypeError, raise_all
from autodiff_compiler.frontend.abstract.heap import detach
from autodiff_compiler.frontend.abstract.packing import pack
from autodiff_compiler.frontend.abstract.values import HeapRef, NeedsKnownValue, UsesPoison, leaves
from autodiff_compiler.frontend.calls.outlining import OutlinedCall
from autodiff_compiler.frontend.core.assumptions import MISSING, PLAIN
from autodiff_compiler.frontend.core.compilation import Compilation, NestingTooDeep
from autodiff_compiler.frontend.core.dependencies import parameters_behind
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.dispatch import HANDLERS
from autodiff_compiler.frontend.syntax.source import read_source
from autodiff_compiler.interface import (
    ArraySlot,
    Assumption,
    AttributeInput,
    Hoisted,
    HookedSlot,
    Item,
    NeedValues,
    Request,
    Slot,
    StaticSlot,
    Write,
)
from autodiff_compiler.ir.nodes import Function, Region, Value
from autodiff_compiler.ir.rewrite import free_values
from autodiff_compiler.ir.types import (
    ArrayType,
    ScalarType,
)
from autodiff_compiler.ops.transforms.transformed import Transformed, unwrapped
from autodiff_compiler.span import Span


@dataclass(frozen=True)
class TypedProgram:
    """A root function with what it was made under.

    places   slot -> position of its parameter; weights  the positions of the wanted weights.
    silenced the kinds of NumPy's warnings that are.
    orders   position of a parameter -> the layout that is assumed of it.
    """

    function: Function
    places: dict[int, int]
    hoisted: tuple[Hoisted, ...]
    weights: tuple[Any, ...]
    weight_places: tuple[int, ...]
    structure: Any
    assumptions: tuple[Assumption, ...]
    writes: tuple[Write, ...]
    silenced: tuple[str, ...]
    orders: dict[int, Any]


def lower(
    fn: Callable[..., Any],
    request: Request,
    slots: Sequence[Slot],
    keywords: Sequence[str],
) -> TypedProgram:
    """The typed IR of ``fn`` for arguments of the given types.

    Raises a CompileError that tells every problem, or ``interface.NeedValues`` where a number must
    be known that ``slots`` gives as a type.
    """
    written: dict[Any, Write] = {}
    unrolled: frozenset[Any] = frozenset()
    refusal: CompileError | None = None
    failed = doubtful = False
    orders: dict[int, Any] = {}
    while True:
        world = Compilation(
            numpy=request.numpy,
            differentiates=request.differentiates or request.tangent,
            written=written,
            unrolled_loops=unrolled,
            orders=orders,
        )
        try:
            made = _lower_once(world, fn, request, slots, keywords)
            if not world.discovered:
                return made
        except CompileError as error:
            if not world.discovered:
                refusal = refusal or error
                doubtful |= world.aliases.has_unknown_views
                if world.growing_loops <= unrolled:
                    known = (
                        _known_layouts(slots) if request.numpy and doubtful and not orders else {}
                    )
                    if not known:
                        raise refusal from None
                    orders, unrolled, failed = known, frozenset(), False
                    continue
            # Written out, the items and sizes of what grows are known. A first failure may come of
            # a write that was not known of.
            if failed or not world.discovered:
                unrolled |= world.growing_loops
            failed = True
        except Exception:
            # What goes wrong after a write that was not known of is not to be told.
            if not world.discovered:
                raise
        written = {**written, **world.discovered}


def _is_array_without_axes(slot: Slot) -> bool:
    """Decide whether an array without axes stands in a slot, and no number."""
    return isinstance(slot, ArraySlot) and slot.type.ndim == 0


def _known_layouts(slots: Sequence[Slot]) -> dict[int, Any]:
    """Return the layouts of arguments, by slot. What is given as a type is taken to be in C
    order."""
    found = {}
    for n, slot in enumerate(slots):
        if isinstance(slot, ArraySlot):
            found.update({n: slot.order} if slot.type.ndim and slot.order is not None else {})
        elif isinstance(slot, ArrayType) and slot.ndim and slot.has_static_shape:
            found[n] = "C"
    return found


def _lower_once(  # noqa: C901
    world: Compilation,
    fn: Callable[..., Any],
    request: Request,
    slots: Sequence[Slot],
    keywords: Sequence[str],
) -> TypedProgram:
    world.register_path(fn, "fn")
    for n, slot in enumerate(slots):
        if isinstance(slot, StaticSlot):
            world.register_path(slot.value, f"slots[{n}]")
        for number, hook in enumerate(slot.hooks if isinstance(slot, HookedSlot) else ()):
            world.register_path(hook.function, f"slots[{n}]._hooks[{number}].function")
    world.hooks = {n: slot.hooks for n, slot in enumerate(slots) if isinstance(slot, HookedSlot)}
    root = Lowering(world, HANDLERS)
    values = [_slot_value(slot, f"slot{n}") for n, slot in enumerate(slots)]
    places_of = {value: n for n, value in enumerate(values) if isinstance(value, Value)}
    world.slots = places_of
    if request.numpy:
        world.aliases.arrays.update(
            v for v, n in places_of.items() if _is_array_without_axes(slots[n])
        )
    with root.builder:
        given = [root.unpacked(v) if isinstance(v, Value) else v for v in values]
        for leaf in leaves(detach(tuple(given), root.state)):
            if leaf not in places_of:  # an item of a container, of which the type alone is known
                world.aliases.set_is_array(leaf, None)
        for n, value in enumerate(given):
            world.found_at.update(_value_paths(root, value, f"slots[{n}]"))
        count = len(values) - len(keywords)
        try:
            made = root.outline(
                fn,
                given[:count],
                dict(zip(keywords, given[count:])),
                request.aux,
                request.weights,
                root=True,
            )
        except NeedsKnownValue as need:
            inputs = parameters_behind(root, need.value)
            wanted = tuple(n for value, n in places_of.items() if value in inputs)
            if not wanted or not all(isinstance(slots[n], ScalarType) for n in wanted):
                raise need.refusal(
                    f"{need.purpose} must be a compile-time constant, but it is computed "
                    "from tensors",
                    "compute it from shapes, attributes or Python numbers, which are "
                    "known at compile time",
                ) from None
            raise NeedValues(wanted, need.purpose) from None
        except UsesPoison:
            pass
        except NestingTooDeep as error:
            raise error.refusal(place_of(fn)) from None
        world.guard_written()
        raise_all(world.problems)
    if made.returned is MISSING:
        with root.builder:
            raise _refuse_result(made)
    things = {id(value): thing for thing, value in root.hoisted.values()}
    hoisted, arguments = [], len(made.places)
    for param, operand in zip(made.function.params[arguments:], made.operands[arguments:]):
        hoisted.append(_hoisted(world, param, things[id(operand)]))
    for n, slot in enumerate(slots):
        if isinstance(slot, StaticSlot) and isinstance(slot.value, PLAIN):
            world.add_guard(f"slots[{n}]", slot.value)
    for n, order in world.orders.items():
        flag = {"C": "flags.c_contiguous", "F": "flags.f_contiguous"}.get(order)
        world.add_guard(f"slots[{n}].{flag or 'strides'}", True if flag else order)
    _guard_distinct_memory(world, made.function, hoisted)
    world.guard_replaceable()
    world.guard_array_types([item.source for item in hoisted])
    orders = {made.places[n]: order for n, order in world.orders.items()}
    weights = tuple(hoisted[place - arguments].source for place in made.weights)
    return TypedProgram(
        made.function, made.places, tuple(hoisted), weights, tuple(made.weights),
        made.tree, tuple(world.assumptions.values()), made.writes,
        tuple(sorted(world.silenced)), orders,
    )  # fmt: skip


def _value_paths(low: Lowering, thing: Any, path: str) -> Iterator[tuple[Value, str]]:
    """Return where the values in an argument are found."""
    if isinstance(thing, Value):
        yield thing, path
        return
    thing = low.state.heap[thing] if isinstance(thing, HeapRef) else thing
    if isinstance(thing, (dict, tuple)):
        for key, part in thing.items() if isinstance(thing, dict) else enumerate(thing):
            yield from _value_paths(low, part, f"{path}[{key!r}]")


def _guard_distinct_memory(
    world: Compilation, function: Function, hoisted: Sequence[Hoisted]
) -> None:
    """Record that arguments which the text writes to share no memory with what it reads after
    that, and that no two of their own elements share memory."""
    if not world.overwritten:
        return
    if world.numpy:
        for argument, (*_, span) in world.overwritten.items():
            place = world.arguments[argument]
            world.assumptions[place, "whole"] = Assumption(place, "whole", None, span)
    outside = zip(function.params[-len(hoisted) :] if hoisted else (), hoisted)
    paths = {**world.arguments}
    for param, item in outside:
        source, path = item.source, item.path
        if isinstance(source, AttributeInput) and (owner := world.path(source.owner)):
            name = source.name
            path = f"{owner}[{name.key!r}]" if isinstance(name, Item) else f"{owner}.{name}"
        if path and isinstance(item.type, ArrayType):
            paths[param] = path
    written, read, first = set(), set(), None
    for argument, (ops, count, span) in world.overwritten.items():
        seen = free_values(Region((), tuple(ops[count:]), function.returns))
        memory = world.aliases.of_all(seen)
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
        world.assumptions[path, "apart"] = Assumption(path, "apart", ends, first)


def _hoisted(world: Compilation, param: Any, thing: Any) -> Hoisted:
    """What stands behind a parameter that is no argument; with its text, where it is made here."""
    path = world.path(thing)
    made = path is None and isinstance(thing, (np.ndarray, np.generic))
    text = world.recipes.text(thing) if made else None
    return Hoisted(param.name, thing, param.type, text, path, world.is_read_per_call(thing))


def _refuse_result(made: OutlinedCall) -> DTypeError:
    """What is wrong with an outcome that generated source cannot return."""
    cause = "the function returns a value that generated code cannot hold"
    try:
        pack(made.outcome, made.heap)
    except DTypeError as error:
        cause = f"{error.problems[0].cause}, but it is returned"
    return DTypeError(
        cause,
        "return tensors, numbers, strings, None, and tuples, lists or dicts of these",
        made.function.span,
    )


def place_of(fn: Any) -> Span:
    """Where the text of ``fn`` begins."""
    while isinstance(fn, Transformed):
        fn = fn.fn
    source = read_source(unwrapped(fn.construct) if isinstance(fn, Cell) else fn)
    return source.span(source.tree)


def _slot_value(slot: Slot, name: str) -> Any:
    if isinstance(slot, StaticSlot):
        return slot.value
    return Value(slot.type if isinstance(slot, (HookedSlot, ArraySlot)) else slot, name, True)
