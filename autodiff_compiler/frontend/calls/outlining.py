"""Outlining: a call is lowered as a function of its own, with its results and its writes."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.errors import DTypeError, ShapeError
from autodiff_compiler.frontend.abstract.heap import detach
from autodiff_compiler.frontend.abstract.in_place_writes import write_heap_object
from autodiff_compiler.frontend.abstract.numpy_layouts import layout_in_order
from autodiff_compiler.frontend.abstract.values import (
    NUMBERS,
    OBJECT,
    Heap,
    HeapRef,
    MaybeNone,
    State,
    UsesPoison,
    holds_values,
    leaves,
    tuple_like,
)
from autodiff_compiler.frontend.core.cotangents import without_gradient
from autodiff_compiler.frontend.core.guards import MISSING
from autodiff_compiler.frontend.core.hook_placement import place_hooks
from autodiff_compiler.frontend.core.lowering import Lowering, require_value
from autodiff_compiler.frontend.core.naming import member_label, owner_of, printed_names, slot_names
from autodiff_compiler.frontend.core.parameters import (
    add_parameter,
    outer_name,
    parameters_read,
    trainable_parameters,
)
from autodiff_compiler.frontend.objects.outside_writes import (
    create_heap_objects,
    rebind_owned_parameters,
)
from autodiff_compiler.frontend.objects.user_objects import open_objects
from autodiff_compiler.interface.compiled import Write
from autodiff_compiler.ir.builder import Unreached
from autodiff_compiler.ir.nodes import AnyOperand, Function, Region, Value, array_type
from autodiff_compiler.ir.rewrite import free_values, use_counts
from autodiff_compiler.ir.types import ArrayType, DictType, ListType, TupleType
from autodiff_compiler.operators.core import containers
from autodiff_compiler.ops.transforms.nested_arguments import Flat
from autodiff_compiler.span import NOWHERE


@dataclass(frozen=True)
class OutlinedCall:
    """A function made of a call, with the operands that a call of it takes."""

    function: Function
    #: The operands of the call, in the caller.
    operands: list[AnyOperand]
    #: The parameter of each slot.
    places: dict[int, int]
    #: The parameters that are the kept weights.
    weights: list[int]
    #: The packed outcome; ``MISSING`` where the function cannot be called.
    returned: Any
    #: The outcome as a compile-time value, and the heap that its containers are in.
    outcome: Any
    heap: Mapping[HeapRef, Any]
    #: The writes to outside objects, whose new values are returned after the outcome.
    writes: tuple[Write, ...] = ()
    #: The caller's tensors that may be in the outcome.
    memory: frozenset[Any] = frozenset()
    #: The caller's arrays that the function writes to.
    wrote: frozenset[Any] = frozenset()
    #: True if it has a hook on an argument, whose whole cotangent only the caller knows.
    hooks_argument: bool = False
    #: The heap objects of the caller's handlers that it sets, with their contents in the callee.
    thrown: Mapping[HeapRef, Any] = field(default_factory=dict)
    #: The written values in the callee.
    contents: tuple[Any, ...] = ()
    #: Of a root, the lists, named tuples and objects of its outcome.
    tree: Any = None
    #: The Parameters that it reads.
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True)
class _Options:
    """The arguments of ``outline`` that decide what the function returns."""

    aux: bool
    keep: Sequence[Any] | None
    root: bool
    effects: bool
    throws: bool
    opens: bool
    differentiated: bool

    @property
    def returns_writes(self) -> bool:
        return self.root or self.effects


@dataclass(frozen=True)
class _BoundArguments:
    """The arguments of an outlined call, as the callee sees them."""

    values: list[Any]
    #: The parameter of each slot.
    places: dict[int, int]
    #: The kept Parameters that were written before: parameter and value in the caller, by identity.
    written: dict[int, tuple[int, Any]]
    #: The heap before the call.
    heap: Mapping[HeapRef, Any]


@dataclass(frozen=True)
class _Results:
    """The results of an outlined function, packed in the callee."""

    returned: Any
    #: With ``aux``, the first output once more.
    first: list[AnyOperand]
    writes: list[tuple[Write, AnyOperand]]
    #: The written values before they were packed.
    contents: list[Any]
    #: The heap objects of the caller's handlers that the callee sets; those with run-time values
    #: packed.
    thrown: dict[HeapRef, Any]
    packed_thrown: list[AnyOperand]
    tree: Any

    @property
    def after_outcome(self) -> list[AnyOperand]:
        return [*self.first, *(value for _, value in self.writes), *self.packed_thrown]


def outline(
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
    differentiated: bool = False,
) -> OutlinedCall:
    """Lowers ``callee(*args, **kwargs)`` as a function of its own.

    Its parameters are the arguments, the caller's values that it captures, and the outside arrays
    that it reads. It may change nothing of its caller's heap but what the options allow.

    aux      returns the first output once more; the others are not differentiated.
    keep     arrays that are parameters in any case; None for every trainable one that is read.
    root     the outermost function: returns its writes after the outcome, and may return objects.
    effects  returns its writes after the outcome.
    throws   returns, after those, what it threw to handlers of the caller.
    opens    may return objects.
    differentiated  runs the hooks of its arguments and of arrays from outside, on whole cotangents.
             Functions that it calls do not run them.
    """
    opens = opens or root or isinstance(callee, Flat)
    options = _Options(aux, keep, root, effects, throws, opens, differentiated or root)
    low.frame.names = low.state.names
    child = _child_lowering(low, callee)
    with child.builder:
        bound = _bind_arguments(low, child, options, callee, args, kwargs)
        outcome = _lower_call(low, child, options, callee, bound, list(kwargs))
        if options.differentiated:
            given = enumerate((*args, *kwargs.values()))
            arguments = {bound.places[n]: value for n, value in given if n in bound.places}
            child.handlers.add_outside_hooks(child, arguments)
        differentiable = trainable_parameters(child) if keep is None else tuple(keep)
        lifted = [thing for thing in differentiable if id(thing) not in bound.written]
        for thing in lifted:
            child.lift(thing)
        results = _collect_results(low, child, options, bound, outcome)
    given = enumerate((*args, *kwargs.values()))
    operands = [low.packed(value) for slot, value in given if slot in bound.places]
    operands += [value for _, value in bound.written.values()]
    name, title = printed_names(_of_class(low, callee))
    function, extra = _finish_function(child, results, name, title, lifted)
    count = len(operands)
    operands += [
        thing if isinstance(thing, Value) else low.lift(thing, outer_name(child, thing))
        for thing in extra
    ]
    places_of_written = {key: place for key, (place, _) in bound.written.items()}
    weights = [
        places_of_written[id(thing)]
        if id(thing) in places_of_written
        else count + _index_of(thing, extra)
        for thing in differentiable
    ]
    return OutlinedCall(
        function=function,
        operands=operands,
        places=bound.places,
        weights=weights,
        returned=results.returned,
        outcome=outcome,
        heap=child.state.heap,
        writes=tuple(write for write, _ in results.writes),
        memory=_shared(low, child, outcome),
        wrote=frozenset(child.written_arrays),
        hooks_argument=child.hooks_argument,
        thrown=results.thrown,
        contents=tuple(results.contents),
        tree=results.tree,
        parameters=parameters_read(child),
    )


def _bind_arguments(
    low: Lowering,
    child: Lowering,
    options: _Options,
    callee: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> _BoundArguments:
    """Makes the parameters of the callee, and the heap that it starts with."""
    child.state = State({}, Heap(low.state.heap))
    child.pinned = frozenset(low.state.heap)
    if options.throws:
        child.catching = low.catching
    values, places = [], {}
    for slot, (name, value) in enumerate(slot_names(callee, args, kwargs)):
        before = len(child.parameters)
        values.append(add_parameter(child, name, value))
        if len(child.parameters) > before:
            places[slot] = before
    if options.root:
        _note_layouts(low, child, values)
        create_heap_objects(child)
    else:
        rebind_owned_parameters(child)
    written: dict[int, tuple[int, Any]] = {}
    for thing in options.keep or () if options.effects else ():
        ref = low.heap_object_of(thing)
        if ref is not None:
            value = low.state.heap[ref]
            written[id(thing)] = len(child.parameters), value
            child.state.heap[ref] = add_parameter(child, ref.kind, value)
    return _BoundArguments(values, places, written, dict(child.state.heap))


def _note_layouts(low: Lowering, child: Lowering, values: Sequence[Any]) -> None:
    """Notes the layouts of a root's arguments, and which arrays of the caller they are."""
    compilation = low.compilation
    for slot, order in compilation.orders.items():
        compilation.aliases.layouts[values[slot]] = layout_in_order(values[slot].type, order)
    compilation.arguments = {
        leaf: compilation.found_at[its]
        for leaf, its in child.caller_values.items()
        if isinstance(leaf.type, ArrayType) and its in compilation.found_at
    }
    for argument in compilation.arguments:
        if array_type(argument).ndim is None:
            compilation.aliases.arrays.add(argument)


def _lower_call(
    low: Lowering,
    child: Lowering,
    options: _Options,
    callee: Any,
    bound: _BoundArguments,
    keywords: Sequence[str],
) -> Any:
    """Returns the outcome of the call, lowered in the callee. The last values are those of the
    ``keywords``."""
    problems, count = len(low.compilation.problems), len(bound.values) - len(keywords)
    outcome: Any = None
    with suppress(Unreached):
        named = dict(zip(keywords, bound.values[count:]))
        outcome = child.enter(callee, bound.values[:count], named)
    if len(low.compilation.problems) > problems:
        raise UsesPoison
    if not options.throws and isinstance(outcome, MaybeNone):
        outcome = require_value(child, outcome)
    if not options.aux:
        return outcome
    if not (isinstance(outcome, tuple) and len(outcome) > 1):
        raise low.fail(
            ShapeError,
            "When has_aux is True, origin fn requires more than one outputs.",
            "return a tuple with the output to differentiate first: return loss, aux",
        )
    return (outcome[0], *(without_gradient(item) for item in outcome[1:]))


def _collect_results(
    low: Lowering, child: Lowering, options: _Options, bound: _BoundArguments, outcome: Any
) -> _Results:
    """Packs the outcome, the writes to outside objects and what was thrown to the caller."""
    heap = child.state.heap
    changed = {ref for ref, before in bound.heap.items() if heap.get(ref) is not before}
    thrown = {
        ref: detach(child.certainly(heap[ref], guarded=True), child.state)
        for handler in child.catching
        for ref in (handler.flag, handler.thrown)
        if ref in changed
    }
    outside = set(low.compilation.heap_objects.values()) if options.effects else set()
    is_callable = options.root or changed - set(thrown) <= outside
    shown, tree = open_objects(child, outcome) if options.opens else (outcome, None)
    returned = _packed_or_missing(child, shown) if is_callable else MISSING
    first = [child.packed(shown[0])] if options.aux else []
    writes, contents = [], []
    refs = child.compilation.heap_objects
    for key, write in child.compilation.written.items() if options.returns_writes else ():
        if refs[key] in changed:
            value, structure = child.certainly(heap[refs[key]]), None
            contents.append(value)
            if options.root:
                value, structure = open_objects(child, value)
            writes.append((replace(write, structure=structure), child.packed(value)))
    packed_thrown = [child.packed(each) for each in thrown.values() if holds_values(each)]
    return _Results(returned, first, writes, contents, thrown, packed_thrown, tree)


def _packed_or_missing(low: Lowering, value: Any) -> Any:
    """Returns ``value`` as one operand; ``MISSING`` where it cannot be one."""
    try:
        return low.packed(value)
    except DTypeError:
        return MISSING


def _of_class(low: Lowering, callee: Any) -> Any:
    """Returns ``callee``; a method of an object on the heap as a method of its class."""
    owner = getattr(callee, "__self__", None)
    if not isinstance(owner, HeapRef):
        return callee
    return types.MethodType(callee.__func__, low.state.heap[owner]["__class__"])


def _shared(low: Lowering, child: Lowering, outcome: Any) -> frozenset[Any]:
    """Returns the caller's tensors that may be in the outcome of ``child``."""
    memory = low.compilation.aliases.of_all(leaves(detach(outcome, child.state)))
    return low.compilation.aliases.of_all(_in_caller(low, child, value) for value in memory)


def _in_caller(low: Lowering, child: Lowering, value: Any) -> Any:
    """Returns a member of a memory of ``child``, a tensor or a mark, as the caller sees it."""
    thing = child.original(value)
    if thing is value or isinstance(thing, Value):
        return child.caller_values.get(value, value)
    return low.lift(thing)


def unpacked(
    low: Lowering,
    result: Any,
    like: Any = None,
    heap: Mapping[HeapRef, Any] | None = None,
    known: bool = False,
) -> Any:
    """Returns a run-time container as its items.

    ``like`` is the compile-time value it was packed from, where that is known, and ``heap`` has its
    lists and dicts: a list becomes a list again. With ``known``, a number or string in ``like`` is
    returned itself.
    """
    if known and isinstance(like, (*NUMBERS, str)):
        return like
    if not isinstance(result, Value):
        return result
    type_ = result.type
    if isinstance(type_, ListType):
        return low.allocate("list", result)
    if not isinstance(type_, (TupleType, DictType)):
        return result
    likes = _parts_by_key(like, heap)
    keys = type_.keys if isinstance(type_, DictType) else range(len(type_.items))
    items: dict[Any, Any] = {
        key: low.unpacked(containers.item(result, key=key), likes.get(key), heap, known)
        for key in keys
    }
    kind = like.kind if isinstance(like, HeapRef) else None
    if kind == OBJECT:
        return low.allocate(OBJECT, {key: items.get(key, part) for key, part in likes.items()})
    if isinstance(type_, DictType):
        return low.allocate("dict", items)
    if kind == "list" or isinstance(like, list):
        return low.new_list(list(items.values()))
    return tuple_like(like, items.values())


def _parts_by_key(like: Any, heap: Mapping[HeapRef, Any] | None) -> dict[Any, Any]:
    """Returns the parts of a compile-time container by position or key; none of other values."""
    inner = heap[like] if isinstance(like, HeapRef) and heap is not None else like
    if isinstance(inner, (tuple, list)):
        return dict(enumerate(inner))
    return inner if isinstance(inner, dict) else {}


def apply_writes(low: Lowering, outlined: OutlinedCall, news: Sequence[Value]) -> None:
    """Applies the writes of a called function, which are its last results, in the caller."""
    for write, value, like in zip(outlined.writes, news, outlined.contents):
        value.name = str(write.name or write.target.name.rpartition(".")[2])
        value.has_user_name = True
        ref = low.compilation.heap_objects[id(write.target), write.name]
        if write.name is None:
            write_heap_object(low, ref, low.unpacked(value))
        else:
            low.state.heap[ref] = low.unpacked(value, like, outlined.heap, known=True)
    thrown = iter(news[len(outlined.writes) :])
    for ref, contents in outlined.thrown.items():
        known = not holds_values(contents)
        low.state.heap[ref] = contents if known else low.unpacked(next(thrown), contents)


def link_aliases(low: Lowering, outcome: Any, outlined: OutlinedCall) -> Any:
    """Returns the outcome of a call. A tensor that certainly is an argument becomes that argument;
    others are noted as tensors that may be arguments."""
    given = dict(zip(outlined.function.params, outlined.operands))
    memory = low.compilation.aliases

    def link(result: Any, inner: Any) -> Any:
        if isinstance(inner, Value):
            if inner in memory.layouts and isinstance(result, Value):
                memory.layouts[result] = memory.layouts[inner]
            memory.set_path_dtypes(result, memory.dtypes_of(inner))
            return given.get(inner, result)
        if type(result) is tuple and type(inner) is tuple:
            return tuple(map(link, result, inner))
        return result

    outcome = link(outcome, outlined.outcome)
    results = [*leaves(detach(outcome, low.state))]
    inner_leaves = [*leaves(detach(outlined.outcome, State({}, Heap(outlined.heap))))]
    is_same_tree = len(results) == len(inner_leaves)
    for place, leaf in enumerate(results):
        if leaf not in given.values():
            memory.set_aliases(leaf, outlined.memory)
            is_array = memory.is_array(inner_leaves[place]) if is_same_tree else None
            memory.set_is_array(leaf, is_array)
    return outcome


def _index_of(thing: Any, things: Sequence[Any]) -> int:
    """Returns the position of an object itself."""
    return next(place for place, other in enumerate(things) if other is thing)


def _child_lowering(low: Lowering, callee: Any) -> Lowering:
    """Returns the record of a callee's lowering."""
    owner = owner_of(callee)
    is_same = owner is not None and owner is low.owner  # a method calls a method of its Cell
    label = "" if is_same else member_label(low.compilation.path(owner))
    return Lowering(low.compilation, low.handlers, low, label, owner)


def _is_made_while_compiling(low: Lowering, thing: Any) -> bool:
    """True if an array is made at compile time. The parameters of these arrays come last: the
    generated source has values for them.
    """
    is_array = isinstance(thing, (np.ndarray, np.generic))
    return is_array and low.compilation.path(thing) is None


def _finish_function(
    low: Lowering, results: _Results, name: str, title: str, keep: Sequence[Any]
) -> tuple[Function, list[Any]]:
    """Returns the function, and what its parameters after the arguments stand for: values of the
    caller, then outside arrays."""
    returned = results.returned
    yields = () if returned is MISSING else (returned, *results.after_outcome)
    if (
        isinstance(returned, Value)
        and not returned.has_user_name
        and low.builder.producer(returned)
    ):
        returned.name, returned.has_user_name = "out", True
    body = place_hooks(low.hooks, Region((), tuple(low.builder.ops), yields))
    used = {*free_values(body), *use_counts(body)}
    inputs = {*low.parameters, *(value for _, value in low.hoisted.values())}
    captured = [value for value in free_values(body) if value not in inputs]
    outside = [
        (thing, value)
        for thing, value in low.hoisted.values()
        if value in used or any(thing is one for one in keep)
    ]
    outside.sort(key=lambda pair: _is_made_while_compiling(low, pair[0]))
    params = (*low.parameters, *captured, *(value for _, value in outside))
    span = low.started or NOWHERE
    function = Function(name, Region(params, body.ops, body.yields), span, title)
    return function, [
        *(low.substituted.get(value, value) for value in captured),
        *(thing for thing, _ in outside),
    ]
