"""A text as a function of its own: what it takes, what it gives, and what it writes outside."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from autodiff_compiler.errors import DTypeError, ShapeError
from autodiff_compiler.frontend.abstract.aliasing import put
from autodiff_compiler.frontend.abstract.heap import detach
from autodiff_compiler.frontend.abstract.numpy_layouts import ordered
from autodiff_compiler.frontend.abstract.values import (
    NUMBERS,
    OBJECT,
    Heap,
    HeapRef,
    MaybeNone,
    State,
    UsesPoison,
    as_tuple,
    holds_values,
    leaves,
)
from autodiff_compiler.frontend.core.assumptions import MISSING
from autodiff_compiler.frontend.core.cotangents import without_gradient
from autodiff_compiler.frontend.core.hook_placement import with_hooks
from autodiff_compiler.frontend.core.lowering import Lowering, require_value
from autodiff_compiler.frontend.core.naming import label_of, names_of, owner_of, slot_names
from autodiff_compiler.frontend.core.parameters import (
    add_parameter,
    outer_name,
    trainable_parameters,
)
from autodiff_compiler.frontend.objects.outside_writes import begin_cells, begin_own_cells
from autodiff_compiler.frontend.objects.user_objects import open_objects
from autodiff_compiler.interface import Write
from autodiff_compiler.ir.builder import Unreached
from autodiff_compiler.ir.nodes import AnyOperand, Function, Region, Value
from autodiff_compiler.ir.rewrite import free_values, use_counts
from autodiff_compiler.ir.types import ArrayType, DictType, ListType, TupleType
from autodiff_compiler.operators.core import containers
from autodiff_compiler.ops.transforms.nested_arguments import Flat
from autodiff_compiler.span import NOWHERE


@dataclass(frozen=True)
class OutlinedCall:
    """A function made of a call: its operands here, where the slots went (slot -> parameter), the
    parameters that are the kept weights, what it returns packed, and as a compile-time value with
    the heap that it is told in; what tensors from here that may be,
    and those of them that the function writes to."""

    function: Function
    operands: list[AnyOperand]
    places: dict[int, int]
    weights: list[int]
    returned: Any
    outcome: Any
    heap: Mapping[HeapRef, Any]
    writes: tuple[Write, ...] = ()
    memory: frozenset[Any] = frozenset()
    wrote: frozenset[Any] = frozenset()
    #: Whether it has a hook on an argument, whose whole cotangent it does not know.
    hooks_argument: bool = False
    #: The cells of handlers here that it sets, with their contents as it sees them.
    thrown: Mapping[HeapRef, Any] = field(default_factory=dict)
    #: What it writes, as it sees that.
    contents: tuple[Any, ...] = ()
    #: Of a root, where lists, named tuples and objects stand in its outcome.
    tree: Any = None


def outline(  # noqa: C901
    low: Lowering,
    callee: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    aux: bool = False,
    keep: Sequence[Any] | None = (),
    root: bool = False,
    effects: bool = False,
    throws: bool = False,
    opens: bool = False,
) -> OutlinedCall:
    """Lowers ``callee(*args, **kwargs)`` as a function of its own, with the operands that a
    call of it takes. Outside arrays that it reads, and values of this text that it sees as a
    closure, are parameters after the arguments. ``keep`` names arrays that are parameters in
    any case (None: every trainable one that is read). With ``aux`` the first output is returned
    once more, by itself, and the others are not differentiated. A ``root`` returns what it
    writes outside after its outcome, and so does one with ``effects``; after that, one that
    ``throws`` returns what it threw to handlers here. A root may return objects, and so may one
    that ``opens``. No function may change anything else of
    its caller's heap.
    """  # fmt: skip
    low.frame.names = low.state.names
    child = _child_lowering(low, callee)
    opens = opens or root or isinstance(callee, Flat)
    operands: list[AnyOperand] = []
    places: dict[int, int] = {}
    told = len(low.compilation.problems)
    with child.builder:
        child.state = State({}, Heap(low.state.heap))
        child.pinned = frozenset(low.state.heap)
        if throws:
            child.catching = low.catching
        given = []
        for slot, (name, value) in enumerate(slot_names(callee, args, kwargs)):
            before = len(child.parameters)
            given.append(add_parameter(child, name, value))
            if len(child.parameters) > before:
                places[slot] = before
        if root:
            for slot, order in low.compilation.orders.items():
                low.compilation.memory.layouts[given[slot]] = ordered(given[slot].type, order)
            low.compilation.arguments = {
                leaf: low.compilation.found_at[its] for leaf, its in child.taken.items()
                if isinstance(leaf.type, ArrayType) and its in low.compilation.found_at
            }  # fmt: skip
            begin_cells(child)
        else:
            begin_own_cells(child)
        # Kept Parameters that this text writes are, as they stand now, arguments.
        own: dict[int, tuple[int, Any]] = {}
        for thing in keep or () if effects else ():
            cell = low.compilation.cell_of(low.state.heap, thing)
            if cell is not None:
                own[id(thing)] = len(child.parameters), low.state.heap[cell]
                child.state.heap[cell] = add_parameter(child, cell.kind, low.state.heap[cell])
        heap = dict(child.state.heap)
        outcome: Any = None
        with suppress(Unreached):
            named = dict(zip(kwargs, given[len(args) :]))
            outcome = child.enter(callee, given[: len(args)], named)
        if len(low.compilation.problems) > told:
            raise UsesPoison
        if not throws and isinstance(outcome, MaybeNone):
            outcome = require_value(child, outcome)
        if aux and not (isinstance(outcome, tuple) and len(outcome) > 1):
            raise low.fail(
                ShapeError,
                "When has_aux is True, origin fn requires more than one outputs.",
                "return a tuple with the output to differentiate first: return loss, aux",
            )
        if aux:
            outcome = (outcome[0], *(without_gradient(child, item) for item in outcome[1:]))
        if (root or effects) and low.compilation.differentiates:
            child.handlers.add_outside_hooks(child, places if root else {})
        kept = trainable_parameters(child) if keep is None else tuple(keep)
        lifted = [thing for thing in kept if id(thing) not in own]
        for thing in lifted:
            child.lift(thing)
        now = child.state.heap
        outside = set(low.compilation.cells.values()) if effects else set()
        cells = [cell for each in child.catching for cell in (each.flag, each.thrown)]
        changed = {ref for ref, was in heap.items() if now.get(ref) is not was}
        thrown = {
            cell: detach(child.certainly(now[cell], guarded=True), child.state)
            for cell in cells if cell in changed
        }  # fmt: skip
        clean = root or changed - set(thrown) <= outside
        shown, tree = open_objects(child, outcome) if opens else (outcome, None)
        try:
            returned = child.packed(shown) if clean else MISSING
        except DTypeError:
            returned = MISSING
        first = [child.packed(shown[0])] if aux else []
        writes, contents = [], []
        for key, write in child.compilation.written.items() if root or effects else ():
            if child.compilation.cells[key] in changed:
                value = child.certainly(now[child.compilation.cells[key]])
                contents.append(value)
                kinds = None
                if root:
                    value, kinds = open_objects(child, value)
                writes.append((replace(write, structure=kinds), child.packed(value)))
        told_thrown = [child.packed(each) for each in thrown.values() if holds_values(each)]
    for slot, value in enumerate((*args, *kwargs.values())):
        if slot in places:
            operands.append(low.packed(value))
    operands += [value for _, value in own.values()]
    wish, title = names_of(_of_class(low, callee))
    more = [*first, *(new for _, new in writes), *told_thrown]
    function, extra = _finish_function(child, returned, wish, title, lifted, more)
    for thing in extra:
        operands.append(thing if isinstance(thing, Value) else
                        low.lift(thing, outer_name(child, thing)))  # fmt: skip
    count = len(operands) - len(extra)
    weights = [
        own[id(thing)][0] if id(thing) in own else count + _index_of(thing, extra)
        for thing in kept
    ]  # fmt: skip
    return OutlinedCall(
        function, operands, places, weights, returned, outcome, child.state.heap,
        tuple(write for write, _ in writes), _shared(low, child, outcome),
        frozenset(child.wrote), child.hooks_argument, thrown, tuple(contents), tree,
    )  # fmt: skip


def _of_class(low: Lowering, callee: Any) -> Any:
    """``callee``; a method of an object that the text made, as a method of its class."""
    owner = getattr(callee, "__self__", None)
    if not isinstance(owner, HeapRef):
        return callee
    return types.MethodType(callee.__func__, low.state.heap[owner]["__class__"])


def _shared(low: Lowering, child: Any, outcome: Any) -> frozenset[Any]:
    """What of this text an outcome of ``child`` may be."""
    memory = low.compilation.memory.of_all(leaves(detach(outcome, child.state)))
    here = [_original_here(low, child, value) for value in memory]
    return low.compilation.memory.of_all(here)


def _original_here(low: Lowering, child: Any, value: Any) -> Any:
    """A tensor that ``child`` sees, as this text sees it."""
    thing = child.original(value)
    return child.taken.get(value, value) if thing is value else low.lift(thing)


def unpacked(
    low: Lowering,
    result: Any,
    like: Any = None,
    heap: Mapping[HeapRef, Any] | None = None,
    known: bool = False,
) -> Any:
    """A run-time container as its items. ``like`` is the compile-time value it was packed from
    (``heap`` its lists and dicts), where that is known: a list is a list again; and with
    ``known`` a number or string in it is itself again."""
    if known and isinstance(like, (*NUMBERS, str)):
        return like
    inner = like
    if isinstance(like, HeapRef) and heap is not None:
        inner = heap[like]
    if isinstance(result, Value) and isinstance(result.type, ListType):
        return low.allocate("list", result)
    parts = dict(enumerate(inner)) if isinstance(inner, (tuple, list)) else inner
    if not isinstance(result, Value) or not isinstance(result.type, (TupleType, DictType)):
        return result
    keys = result.type.keys if isinstance(result.type, DictType) else range(len(result.type.items))
    likes = parts if isinstance(parts, dict) else {}
    items = {
        key: low.unpacked(containers.item(result, key=key), likes.get(key), heap, known)
        for key in keys
    }
    if isinstance(like, HeapRef) and like.kind == OBJECT:
        return low.allocate(OBJECT, {key: items.get(key, part) for key, part in likes.items()})
    if isinstance(result.type, DictType):
        return low.allocate("dict", items)
    if isinstance(like, list) or (isinstance(like, HeapRef) and like.kind == "list"):
        return low.new_list(list(items.values()))
    return as_tuple(like, items.values())


def apply_writes(low: Lowering, made: OutlinedCall, news: Sequence[Value]) -> None:
    """Writes here what a called function wrote: its last results."""
    for write, value, like in zip(made.writes, news, made.contents):
        value.name = str(write.name or write.target.name.rpartition(".")[2])
        value.has_user_name = True
        cell = low.compilation.cells[id(write.target), write.name]
        if write.name is None:
            put(low, cell, low.unpacked(value))
        else:
            low.state.heap[cell] = low.unpacked(value, like, made.heap, known=True)
    thrown = iter(news[len(made.writes) :])
    for cell, contents in made.thrown.items():
        known = not holds_values(contents)
        low.state.heap[cell] = contents if known else low.unpacked(next(thrown), contents)


def link_aliases(low: Lowering, outcome: Any, made: OutlinedCall) -> Any:
    """The outcome of a call, which may hold tensors that were given; one that certainly does
    is the very tensor."""
    given = dict(zip(made.function.params, made.operands))

    def handed(here: Any, there: Any) -> Any:
        if isinstance(there, Value):
            if there in low.compilation.memory.layouts and isinstance(here, Value):
                low.compilation.memory.layouts[here] = low.compilation.memory.layouts[there]
            return given.get(there, here)
        if type(here) is tuple and type(there) is tuple:
            return tuple(map(handed, here, there))
        return here

    outcome, memory = handed(outcome, made.outcome), low.compilation.memory
    here = [*leaves(detach(outcome, low.state))]
    there = [*leaves(detach(made.outcome, State({}, Heap(made.heap))))]
    for place, leaf in enumerate(here):
        if leaf not in given.values():
            memory.may_be(leaf, made.memory)
            alike = len(here) == len(there)
            memory.stands(leaf, memory.is_array(there[place]) if alike else None)
    return outcome


def _index_of(thing: Any, things: Sequence[Any]) -> int:
    return next(place for place, other in enumerate(things) if other is thing)


def _child_lowering(low: Lowering, callee: Any) -> Lowering:
    owner = owner_of(callee)
    same = owner is not None and owner is low.owner  # a method calls one of its own Cell
    label = "" if same else label_of(low.compilation.path(owner))
    return Lowering(low.compilation, low.handlers, low, label, owner)


def _is_made(low: Lowering, thing: Any) -> bool:
    """Whether this array is made by the text while it is compiled: such ones come last, for
    the generated source has values for them."""
    is_array = isinstance(thing, (np.ndarray, np.generic))
    return is_array and low.compilation.path(thing) is None


def _finish_function(
    low: Lowering,
    returned: Any,
    name: str,
    title: str,
    keep: Sequence[Any] = (),
    written: Sequence[AnyOperand] = (),
) -> tuple[Function, list[Any]]:
    """The finished function, and what its parameters after the arguments are: values of the
    function around it, then outside arrays."""
    yields = () if returned is MISSING else (returned, *written)
    if (
        isinstance(returned, Value)
        and not returned.has_user_name
        and low.builder.producer(returned)
    ):
        returned.name, returned.has_user_name = "out", True
    body = with_hooks(low.hooks, Region((), tuple(low.builder.ops), yields))
    yields = body.yields
    used = {*free_values(body), *use_counts(body)}
    lifted = {value for _, value in low.hoisted.values()}
    own = {*low.parameters, *lifted}
    captured = [value for value in free_values(body) if value not in own]
    outside = [
        (thing, value) for thing, value in low.hoisted.values()
        if value in used or any(thing is kept for kept in keep)
    ]  # fmt: skip
    outside.sort(key=lambda pair: _is_made(low, pair[0]))
    params = (*low.parameters, *captured, *(value for _, value in outside))
    span = low.started or NOWHERE
    function = Function(name, Region(params, body.ops, yields), span, title)
    return function, [
        *(low.handed.get(value, value) for value in captured),
        *(thing for thing, _ in outside),
    ]
