"""A text as a function of its own: what it takes, what it gives, and what it writes outside."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from autodiff_compiler.errors import (
    DTypeError,
    ShapeError,
)
from autodiff_compiler.frontend.abstract.aliasing import put
from autodiff_compiler.frontend.abstract.heap import detach
from autodiff_compiler.frontend.abstract.numpy_layouts import ordered
from autodiff_compiler.frontend.abstract.values import (
    NUMBERS,
    Heap,
    HeapRef,
    MaybeNone,
    State,
    UsesPoison,
    as_tuple,
    holds_values,
    leaves,
    rebuild,
)
from autodiff_compiler.frontend.calls.inlining import Texts
from autodiff_compiler.frontend.core.assumptions import MISSING
from autodiff_compiler.frontend.core.naming import names_of, slot_names
from autodiff_compiler.interface import Write
from autodiff_compiler.ir.builder import Unreached
from autodiff_compiler.ir.nodes import AnyOperand, Function, Value
from autodiff_compiler.ir.types import ArrayType, DictType, ListType, TupleType
from autodiff_compiler.operators.core import containers
from autodiff_compiler.operators.elementwise.arithmetic import stop_gradient
from autodiff_compiler.ops.transforms.nested_arguments import Flat

#: The kind of the heap's cells that are objects of the user's classes.
OBJECT = "object"


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


class Outlines(Texts):
    """Adds texts that are lowered as functions of their own to ``Texts``."""

    def child(self, callee: Any) -> Any:
        """A lowering like this one, for a function of its own."""
        raise NotImplementedError

    def outline(  # noqa: C901
        self,
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
        self.frame.names = self.state.names
        child = self.child(callee)
        opens = opens or root or isinstance(callee, Flat)
        operands: list[AnyOperand] = []
        places: dict[int, int] = {}
        told = len(self.world.problems)
        with child.builder:
            child.state = State({}, Heap(self.state.heap))
            child.pinned = frozenset(self.state.heap)
            if throws:
                child.handlers = self.handlers
            given = []
            for slot, (name, value) in enumerate(slot_names(callee, args, kwargs)):
                before = len(child.parameters)
                given.append(child.parameter_of(name, value))
                if len(child.parameters) > before:
                    places[slot] = before
            if root:
                for slot, order in self.world.orders.items():
                    self.world.memory.layouts[given[slot]] = ordered(given[slot].type, order)
                self.world.arguments = {
                    leaf: self.world.found_at[its] for leaf, its in child.taken.items()
                    if isinstance(leaf.type, ArrayType) and its in self.world.found_at
                }  # fmt: skip
                child.begin_cells()
            else:
                child.begin_own_cells()
            # Kept Parameters that this text writes are, as they stand now, arguments.
            own: dict[int, tuple[int, Any]] = {}
            for thing in keep or () if effects else ():
                cell = self.world.cell_of(self.state.heap, thing)
                if cell is not None:
                    own[id(thing)] = len(child.parameters), self.state.heap[cell]
                    child.state.heap[cell] = child.parameter_of(cell.kind, self.state.heap[cell])
            heap = dict(child.state.heap)
            outcome: Any = None
            with suppress(Unreached):
                named = dict(zip(kwargs, given[len(args) :]))
                outcome = child.enter(callee, given[: len(args)], named)
            if len(self.world.problems) > told:
                raise UsesPoison
            if not throws and isinstance(outcome, MaybeNone):
                outcome = child.present(outcome)
            if aux and not (isinstance(outcome, tuple) and len(outcome) > 1):
                raise self.fail(
                    ShapeError,
                    "When has_aux is True, origin fn requires more than one outputs.",
                    "return a tuple with the output to differentiate first: return loss, aux",
                )
            if aux:
                outcome = (outcome[0], *(child.stopped(item) for item in outcome[1:]))
            if (root or effects) and self.world.differentiates:
                child.add_outside_hooks(places if root else {})
            kept = child.trainable() if keep is None else tuple(keep)
            lifted = [thing for thing in kept if id(thing) not in own]
            for thing in lifted:
                child.lift(thing)
            now = child.state.heap
            outside = set(self.world.cells.values()) if effects else set()
            cells = [cell for each in child.handlers for cell in (each.flag, each.thrown)]
            changed = {ref for ref, was in heap.items() if now.get(ref) is not was}
            thrown = {
                cell: detach(child.certainly(now[cell], guarded=True), child.state)
                for cell in cells if cell in changed
            }  # fmt: skip
            clean = root or changed - set(thrown) <= outside
            shown, tree = child.opened(outcome) if opens else (outcome, None)
            try:
                returned = child.packed(shown) if clean else MISSING
            except DTypeError:
                returned = MISSING
            first = [child.packed(shown[0])] if aux else []
            writes, contents = [], []
            for key, write in child.world.written.items() if root or effects else ():
                if child.world.cells[key] in changed:
                    value = child.certainly(now[child.world.cells[key]])
                    contents.append(value)
                    kinds = None
                    if root:
                        value, kinds = child.opened(value)
                    writes.append((replace(write, structure=kinds), child.packed(value)))
            told_thrown = [child.packed(each) for each in thrown.values() if holds_values(each)]
        for slot, value in enumerate((*args, *kwargs.values())):
            if slot in places:
                operands.append(self.packed(value))
        operands += [value for _, value in own.values()]
        wish, title = names_of(self._of_class(callee))
        more = [*first, *(new for _, new in writes), *told_thrown]
        function, extra = child.finish(returned, wish, title, lifted, more)
        for thing in extra:
            operands.append(thing if isinstance(thing, Value) else
                            self.lift(thing, child.name_outside(thing)))  # fmt: skip
        count = len(operands) - len(extra)
        weights = [
            own[id(thing)][0] if id(thing) in own else count + _index_of(thing, extra)
            for thing in kept
        ]  # fmt: skip
        return OutlinedCall(
            function, operands, places, weights, returned, outcome, child.state.heap,
            tuple(write for write, _ in writes), self._shared(child, outcome),
            frozenset(child.wrote), child.hooks_argument, thrown, tuple(contents), tree,
        )  # fmt: skip

    def _of_class(self, callee: Any) -> Any:
        """``callee``; a method of an object that the text made, as a method of its class."""
        owner = getattr(callee, "__self__", None)
        if not isinstance(owner, HeapRef):
            return callee
        return types.MethodType(callee.__func__, self.state.heap[owner]["__class__"])

    def _shared(self, child: Any, outcome: Any) -> frozenset[Any]:
        """What of this text an outcome of ``child`` may be."""
        memory = self.world.memory.of_all(leaves(detach(outcome, child.state)))
        here = [self.original_here(child, value) for value in memory]
        return self.world.memory.of_all(here)

    def original_here(self, child: Any, value: Any) -> Any:
        """A tensor that ``child`` sees, as this text sees it."""
        thing = child.original(value)
        return child.taken.get(value, value) if thing is value else self.lift(thing)

    def stopped(self, value: Any) -> Any:
        """``value`` with no gradient through any part of it."""
        new = (stop_gradient(leaf) if isinstance(leaf, Value) else leaf for leaf in leaves(value))
        return rebuild(value, new)

    def unpacked(
        self,
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
            return self.allocate("list", result)
        parts = dict(enumerate(inner)) if isinstance(inner, (tuple, list)) else inner
        if not isinstance(result, Value) or not isinstance(result.type, (TupleType, DictType)):
            return result
        keys = (
            result.type.keys if isinstance(result.type, DictType) else range(len(result.type.items))
        )
        likes = parts if isinstance(parts, dict) else {}
        items = {
            key: self.unpacked(containers.item(result, key=key), likes.get(key), heap, known)
            for key in keys
        }
        if isinstance(like, HeapRef) and like.kind == OBJECT:
            return self.allocate(OBJECT, {key: items.get(key, part) for key, part in likes.items()})
        if isinstance(result.type, DictType):
            return self.allocate("dict", items)
        if isinstance(like, list) or (isinstance(like, HeapRef) and like.kind == "list"):
            return self.new_list(list(items.values()))
        return as_tuple(like, items.values())

    def write_back(self, made: OutlinedCall, news: Sequence[Value]) -> None:
        """Writes here what a called function wrote: its last results."""
        for write, value, like in zip(made.writes, news, made.contents):
            value.name = str(write.name or write.target.name.rpartition(".")[2])
            value.has_user_name = True
            cell = self.world.cells[id(write.target), write.name]
            if write.name is None:
                put(self, cell, self.unpacked(value))
            else:
                self.state.heap[cell] = self.unpacked(value, like, made.heap, known=True)
        thrown = iter(news[len(made.writes) :])
        for cell, contents in made.thrown.items():
            known = not holds_values(contents)
            self.state.heap[cell] = contents if known else self.unpacked(next(thrown), contents)

    def told(self, outcome: Any, made: OutlinedCall) -> Any:
        """The outcome of a call, which may hold tensors that were given; one that certainly does
        is the very tensor."""
        given = dict(zip(made.function.params, made.operands))

        def handed(here: Any, there: Any) -> Any:
            if isinstance(there, Value):
                if there in self.world.memory.layouts and isinstance(here, Value):
                    self.world.memory.layouts[here] = self.world.memory.layouts[there]
                return given.get(there, here)
            if type(here) is tuple and type(there) is tuple:
                return tuple(map(handed, here, there))
            return here

        outcome, memory = handed(outcome, made.outcome), self.world.memory
        here = [*leaves(detach(outcome, self.state))]
        there = [*leaves(detach(made.outcome, State({}, Heap(made.heap))))]
        for place, leaf in enumerate(here):
            if leaf not in given.values():
                memory.may_be(leaf, made.memory)
                alike = len(here) == len(there)
                memory.stands(leaf, memory.is_array(there[place]) if alike else None)
        return outcome


def _index_of(thing: Any, things: Sequence[Any]) -> int:
    return next(place for place, other in enumerate(things) if other is thing)
