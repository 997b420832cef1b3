"""Hooks: texts that run where a value, a Tensor's cotangent or a Cell passes by.

A hook of the backward is a rule whose value is the value itself. It is compiled where its text can
be, and all that it does is compute or print; else the Python function is an input of the generated
function, which calls it at that place (``docs/decisions/0010``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.hooks import TO_FLOAT, Hook
from autodiff_compiler.common.tensor import wrap
from autodiff_compiler.errors import CompileError, UnsupportedSyntax
from autodiff_compiler.frontend.abstract.values import (
    CustomRule,
    HeapRef,
    LoopNotRollable,
    NeedsKnownValue,
    State,
    UsesPoison,
    leaves,
    rebuild,
)
from autodiff_compiler.frontend.derivatives.cotangent_types import cotangent_type, has_cotangent
from autodiff_compiler.frontend.derivatives.custom_rules import Rules, rule_op
from autodiff_compiler.interface import PythonFunction
from autodiff_compiler.ir.nodes import AnyOperand, Op, Region, Value, type_of
from autodiff_compiler.ir.rewrite import fresh, map_regions, substitute
from autodiff_compiler.operators.core.control import undefined
from autodiff_compiler.operators.core.effects import python_hook


class TextHandle:
    """What ``x.register_hook(h)`` gives inside a text."""

    def __init__(self, low: Hooks, value: Value, op: Op):
        self.low, self.entry, self.depth = low, (value, op), low.depth

    def remove(self) -> None:
        """Takes the hook away again, from the whole text."""
        if self.low.depth != self.depth:
            raise UnsupportedSyntax(
                "a hook is removed in a branch or loop other than the one that registered it",
                "call remove() in the same branch or loop as register_hook()",
            )
        self.low.hooks = [entry for entry in self.low.hooks if entry[1] is not self.entry[1]]


class Hooks(Rules):
    """Adds hooks to ``Rules``."""

    #: The values of this function with hooks on their whole cotangents, and the hooks' operations.
    hooks: list[tuple[Value, Op]]
    parameters: list[Value]
    hoisted: dict[int, tuple[Any, Value]]
    #: Whether one of them is an argument, whose whole cotangent only the caller knows.
    hooks_argument = False

    # ---- around a Cell

    def enter(self, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """As ``Rules.enter``; a Cell's hooks run around it."""
        if not isinstance(callee, Cell):
            return super().enter(callee, args, kwargs)
        self.watch(callee, self.world.path(callee))
        args = tuple(args)
        for hook in _of_kind(callee, "forward_pre"):
            found = self.looked_at(hook.function, [callee, args])
            if found is not None:
                args = found if isinstance(found, tuple) else (found,)
        behind = _of_kind(callee, "backward") if self.world.differentiates else ()
        if behind:
            outcome = self._enter_watched(callee, behind, args, kwargs)
        else:
            outcome = self._enter_hooked(callee, args, kwargs)
        for hook in reversed(_of_kind(callee, "backward_pre")):
            outcome = self.hooked(hook.function, outcome, (callee,), in_tuple=True)
        return outcome

    def _enter_hooked(self, cell: Cell, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Enters a Cell; its forward hooks run behind it."""
        outcome = super().enter(cell, args, kwargs)
        for hook in _of_kind(cell, "forward"):
            found = self.looked_at(hook.function, [cell, args, outcome])
            outcome = outcome if found is None else found
        return outcome

    def watch(self, holder: Any, path: str | None) -> None:
        """Records which hooks ``holder`` has, and where they are found."""
        if path is not None:
            self.world.assume_same(f"{path}._hooks", holder._hooks)
            for number, hook in enumerate(holder._hooks):
                if hook.kind != TO_FLOAT:
                    self.world.know(hook.function, f"{path}._hooks[{number}].function")

    def _enter_watched(
        self, cell: Cell, hooks: Sequence[Hook], args: tuple, kwargs: Mapping[str, Any]
    ) -> Any:
        """Enters a Cell whose backward hooks see the cotangents of its inputs and of its output.

        The rule that stands at the inputs learns the output's cotangent by a value that links
        them, whose own cotangent it is.
        """
        inputs = [x for x in leaves(args) if isinstance(x, Value) and has_cotangent(x)]
        seen = {value: fresh(value) for value in inputs}
        entered = rebuild(args, iter([seen.get(leaf, leaf) for leaf in leaves(args)]))  # type: ignore[arg-type]
        with self.builder.block() as ops:
            outcome = self._enter_hooked(cell, entered, kwargs)
            out = self.packed(outcome)
            if not has_cotangent(out):
                self.builder.blocks[-2].extend(ops)
                return outcome
            link = Value(cotangent_type(out.type), "link")
            after = self._linked(outcome, link)
        hook_text = hooks[0].function

        def lower(low: Any, given: Sequence[Any]) -> Any:
            found, ct = tuple(given[2 * len(inputs) + 1 : -1]), given[-1]
            cts = low.unpacked(ct, outcome, low.state.heap)
            cts = cts if isinstance(cts, tuple) else (cts,)
            for hook in hooks:
                new = low.looked_at(hook.function, [cell, found, cts], like=found)
                found = found if new is None else new if isinstance(new, tuple) else (new,)
            return low.fitted(found, given[: len(inputs)], names, hook_text, "the hook")

        names = [value.name or "x" for value in inputs]
        outs, cts = [*seen.values(), link], [fresh(value) for value in (*inputs, link)]
        with self.builder.block():
            text = CustomRule(hook_text, (*names, *names, "link", *names, "d_out"), lower)
            rule, reads, wrt = self.rule_for(text, inputs, outs, cts, "the hook")
        values = [*inputs, self.builder.make(undefined, (), {})]
        self.builder.add(rule_op(rule, reads, wrt, values, outs, self.builder.span))
        self.builder.ops.extend(ops)
        return after

    def _linked(self, outcome: Any, link: Value) -> Any:
        """``outcome``, whose cotangent goes to ``link`` as well."""

        def run(low: Any, seen: Sequence[Any], out: Any, ct: Any) -> Any:
            return ct, ct

        return self.ruled(None, [("link", link), ("out", outcome)], outcome, run, "the hook")

    # ---- on a value

    def hooked(self, hook: Any, value: Any, before: tuple = (), in_tuple: bool = False) -> Any:
        """``value`` with a hook on its cotangent, which is called with ``before`` and that."""

        def run(low: Any, seen: Sequence[Any], out: Any, ct: Any) -> Any:
            given = ct if isinstance(ct, tuple) or not in_tuple else (ct,)
            found = low.looked_at(hook, [*before, given], like=given)
            found = given if found is None else found
            bare = in_tuple and not isinstance(ct, tuple)
            return (found[0] if bare and isinstance(found, tuple) else found,)

        return self.ruled(hook, [("x", value)], value, run, "the hook")

    def register_hook(self, value: Value, hook: Any) -> TextHandle:
        """``x.register_hook(h)``: a hook on the whole cotangent of ``x``, wherever it is used."""
        made_here = any(value in op.results for op in self.builder.ops)
        if self.depth and not made_here:
            raise self.fail(
                UnsupportedSyntax,
                "the hook is registered in another loop or branch than the one that "
                f"computes '{value.name}'",
                "call register_hook() right after the Tensor is computed",
            )
        return TextHandle(self, value, self.add_hook(value, hook))

    def add_hook(self, value: Value, hook: Any) -> Op:
        """Notes a hook, to be put right behind what makes ``value``."""
        with self.builder.block() as ops:
            self.hooked(hook, value)
        (op,) = ops
        known = {thing for _, thing in self.hoisted.values()} | {*self.parameters, value}
        strange = [x for x in op.operands if isinstance(x, Value) and x not in known]
        if strange:
            raise self.fail(
                UnsupportedSyntax,
                f"the hook reads '{strange[0].name}', which may not be available yet in "
                "the backward pass",
                "use ops.InsertGradientOf, which reads its values at the point of the call",
            )
        self.hooks.append((value, op))
        outside = value not in {thing for _, thing in self.hoisted.values()}
        self.hooks_argument |= outside and self.builder.producer(value) is None
        return op

    def add_outside_hooks(self, places: Mapping[int, int]) -> None:
        """Adds the hooks of arguments and of Tensors from outside; ``places`` are the parameters
        of this function by slot."""
        for slot, place in places.items():
            for hook in self.world.hooks.get(slot, ()):
                self.add_hook(self.parameters[place], hook.function)
        for thing, value in list(self.hoisted.values()):
            for hook in getattr(thing, "_hooks", ()):
                self.add_hook(value, hook.function)

    def with_hooks(self, body: Region) -> Region:
        """``body`` with the hooks of its values right behind what makes them.

        Of several on one value the first is the last to be passed in forward.
        """
        chains: dict[Value, list[Op]] = {}
        last: dict[Value, AnyOperand] = {}
        for value, op in reversed(self.hooks):
            before = last.get(value, value)
            passed = fresh(value)
            operands = tuple(before if x is value else x for x in op.operands)
            chains.setdefault(value, []).append(replace(op, operands=operands, results=(passed,)))
            last[value] = passed
        if not chains:
            return body

        def visit(region: Region, values: Iterable[Value]) -> Region:
            ops = [made for value in values for made in chains.get(value, ())]
            for op in region.ops:
                ops.append(map_regions(op, lambda inner: visit(inner, inner.params)))
                ops += [made for result in op.results for made in chains.get(result, ())]
            return Region(region.params, tuple(ops), region.yields)

        inside = {v for op in body.walk() for r in op.regions for v in r.params}
        inside.update(result for op in body.walk() for result in op.results)
        return visit(substitute(body, last), [value for value in chains if value not in inside])

    # ---- texts that look

    def looked_at(self, hook: Any, args: Sequence[Any], like: Any = None) -> Any:
        """What a hook gives: compiled, or else by calling the Python function at run time.

        ``like`` are the cotangents that such a function may replace; without it it may only look.
        """
        base, told = self.state.fork(), len(self.world.problems)
        assumed, strict = dict(self.world.assumptions), self.world.strict
        self.world.strict = True
        try:
            with self.builder.block() as ops:
                found = self.enter(hook, args, {})
            if len(self.world.problems) == told and self._unchanged(base):
                self.builder.ops.extend(ops)
                return found
        except (CompileError, UsesPoison, NeedsKnownValue, LoopNotRollable):
            pass
        finally:
            self.world.strict = strict
        del self.world.problems[told:]
        self.world.assumptions, self.state = assumed, base
        return self.call_python(hook, args, like)

    def _unchanged(self, base: State) -> bool:
        now = self.state.heap
        return all(now.get(ref) is contents for ref, contents in base.heap.items())

    def call_python(self, hook: Any, args: Sequence[Any], like: Any = None) -> Any:
        """Calls a Python function at run time, with the values of ``args`` as tensors."""
        values: list[Value] = []
        shown = tuple(_shown(arg, values, self.state.heap) for arg in args)
        kept: list[Value] = []
        wanted = None if like is None else _shown(like, kept, self.state.heap)
        places = tuple(values.index(value) for value in kept)
        name = getattr(hook, "__name__", type(hook).__name__)
        name = name if name.isidentifier() else "hook"
        call = _PythonCall(hook, shown, wanted, places, self.world.numpy)
        function = self.lift(PythonFunction(name, call), name)
        attrs = {"gives": tuple(type_of(value) for value in kept)}
        made = self.builder.make(python_hook, (function, *values), attrs)
        if not kept:
            return None
        found = iter(made if isinstance(made, tuple) else (made,))
        return rebuild(like, (next(found) if isinstance(x, Value) else x for x in leaves(like)))


@dataclass(frozen=True)
class _Slot:
    """Where an array goes, in what a Python function is shown."""

    place: int


@dataclass(frozen=True, eq=False)
class _PythonCall:
    """A Python hook as generated code calls it: with arrays, for arrays.

    ``args`` is what it is shown, ``like`` what it may replace, with slots for arrays; ``places``
    are those of ``args`` that the slots of ``like`` stand for.
    """

    hook: Any
    args: tuple
    like: Any
    places: tuple[int, ...]
    numpy: bool

    def __call__(self, *arrays: Any) -> Any:
        # What a hook keeps, or passes on, is nobody else's memory.
        own = [np.array(x) if isinstance(x, (np.ndarray, np.generic)) else x for x in arrays]
        given = own if self.numpy else wrap(own)
        found = self.hook(*(_filled(arg, given) for arg in self.args))
        old = [np.array(own[place]) for place in self.places]
        if self.like is None:
            if found is not None:
                raise TypeError(
                    f"the hook {self._name} cannot be compiled, so it may read the "
                    f"gradient but must return None; it returned a {type(found).__name__}"
                )
            return None
        if isinstance(self.like, tuple) and len(self.like) == 1 and not isinstance(found, tuple):
            found = (found,)
        new = old if found is None else [*self._parts(found, self.like, old)]
        return new[0] if len(new) == 1 else tuple(new)

    @property
    def _name(self) -> str:
        return f"'{getattr(self.hook, '__qualname__', type(self.hook).__name__)}'"

    def _parts(self, found: Any, like: Any, old: Sequence[Any]) -> Iterator[Any]:
        """The arrays of a new cotangent, each with the dtype and shape of the old one."""
        if isinstance(like, _Slot):
            before = old[like.place]
            if found is None:
                yield before
                return
            array = np.asarray(getattr(found, "_data", found))
            if array.shape != np.shape(before):
                raise ValueError(
                    f"the hook {self._name} was given a gradient of shape {np.shape(before)} and "
                    f"returned one of shape {array.shape}"
                )
            yield array.astype(before.dtype) if hasattr(before, "dtype") else array
        elif isinstance(like, (tuple, list, dict)):
            keys = list(like) if isinstance(like, dict) else range(len(like))
            if not isinstance(found, type(like)) or len(found) != len(like):
                raise TypeError(f"the hook {self._name} returned no {type(like).__name__} "
                                f"of {len(like)} gradients")  # fmt: skip
            for key in keys:
                yield from self._parts(found[key], like[key], old)


def _shown(value: Any, values: list[Value], heap: Mapping[HeapRef, Any]) -> Any:
    """``value`` with slots for run-time values, which are appended to ``values``."""
    if isinstance(value, Value):
        values.append(value)
        return _Slot(len(values) - 1)
    if isinstance(value, HeapRef):
        inner = _shown(heap[value], values, heap)
        return list(inner) if value.kind == "list" else inner
    if type(value) is tuple:
        return tuple([_shown(item, values, heap) for item in value])
    if isinstance(value, dict):
        return {key: _shown(item, values, heap) for key, item in value.items()}
    return value


def _filled(shown: Any, arrays: Sequence[Any]) -> Any:
    """What a Python function is shown, with the arrays in their slots."""
    if isinstance(shown, _Slot):
        return arrays[shown.place]
    if type(shown) in (tuple, list):
        return type(shown)([_filled(item, arrays) for item in shown])
    if type(shown) is dict:
        return {key: _filled(item, arrays) for key, item in shown.items()}
    return shown


def _of_kind(cell: Cell, kind: str) -> list[Hook]:
    return [hook for hook in cell._hooks if hook.kind == kind]
