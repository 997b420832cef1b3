"""The mirror of ``if``, of ``call`` and of containers. Each is told the sweep to use.

An ``if`` reverses to an ``if`` on the same predicate that yields the cotangents, as they are now,
of everything outside that a branch touched. A call reverses to a call of the callee's backward.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, Value, type_of
from autodiff_compiler.ir.rewrite import Producers, free_values, fresh, substitute
from autodiff_compiler.ir.types import Type
from autodiff_compiler.operators.core.containers import list_item
from autodiff_compiler.operators.core.control import undefined
from autodiff_compiler.operators.core.structure import copy
from autodiff_compiler.transforms.reverse.cotangents import (
    Cotangents,
    Key,
    common_type,
    conform,
    leaves,
    type_at,
)
from autodiff_compiler.transforms.reverse.partition import Partition, partition


@dataclass(frozen=True)
class ForwardBackward:
    """A function's forward, whose last result are the residuals, and its backward.

    ``reached`` are the positions of the parameters whose cotangents backward returns.
    """

    forward: Function
    backward: Function
    reached: tuple[int, ...]


class SweepProtocol(Protocol):
    """What the mirror of control flow needs of the sweep."""

    builder: Builder
    varied: frozenset[Value]
    unset: set[Value]
    producers: Producers
    changing: frozenset[Value]

    def region(self, region: Region, scope: Cotangents) -> list[Op]:
        """Sweeps a region; gives its forward operations, and builds the adjoint ones."""

    def halves(
        self, call: Op, wrt: tuple[int, ...], seeds: tuple[tuple[int, Type], ...]
    ) -> ForwardBackward:
        """The halves of a callee for cotangents, of these types, of some of its returns."""

    def note(self, op: Op, cause: str, cure: str) -> None:
        """Keeps the problem that an operation has no derivative, to be told with all others."""


def reverse_if(sweep: SweepProtocol, op: Op, scope: Cotangents) -> Op:
    """Builds the adjoint of an ``if``; gives the ``if`` that also delivers what that reads."""
    if not any(scope.has(result) for result in op.results):
        return op
    sides = [_Side(sweep, op, region, scope) for region in op.regions]
    touched = list(dict.fromkeys(key for side in sides for key in side.scope.touched()))
    if not touched:
        return op
    for side in sides:
        side.close(touched)
    for position, key in enumerate(touched):
        yielded = [type_of(side.yields[position]) for side in sides]
        type_ = common_type(type_at(key), *yielded)
        for side in sides:
            side.fit(position, type_)
    forward, (then, orelse) = _deliver(sweep, op, [side.cut() for side in sides])
    names = [scope.names.wish(*key) for key in touched]
    for key, result in zip(touched, sweep.builder.branch(op.operands[0], then, orelse, names)):
        result.has_user_name = key[0].has_user_name
        scope.names.named.add(result)
        scope.put(key, result)
    return forward


class _Side:
    """One branch being swept."""

    def __init__(self, sweep: SweepProtocol, op: Op, region: Region, scope: Cotangents):
        self.builder, self.region, self.unset = sweep.builder, region, sweep.unset
        self.scope, self.changing = scope.inside(region), sweep.changing
        self.yields: list[AnyOperand] = []
        with self.builder.block() as self.ops:
            for result, yielded in zip(op.results, region.yields):
                if scope.has(result):
                    self.scope.add(yielded, scope.whole(result))
            self.forward = sweep.region(region, self.scope)

    def close(self, touched: Sequence[Key]) -> None:
        """Yields the touched cotangents as this branch leaves them."""
        with self.builder.block() as ops:
            self.yields = [self.scope.leaf(key) for key in touched]
        self.ops += ops

    def fit(self, position: int, type_: Type) -> None:
        with self.builder.block() as ops:
            self.yields[position] = conform(self.yields[position], type_)
        self.ops += ops

    def cut(self) -> Partition:
        region = Region((), tuple(self.ops), tuple(self.yields))
        parts = partition((), self.forward, region, self.unset, changing=self.changing)
        return self.with_copies(parts)

    def with_copies(self, parts: Partition) -> Partition:
        """``parts`` that keep a copy of what changes from iteration to iteration around the branch,
        where backward reads all of it: so it is copied where this branch runs, and else not."""
        inside = set(parts.kept)
        whole = [v for v in free_values(parts.backward) if v in self.changing and v not in inside]
        with self.builder.block() as ops:
            copies: dict[Value, AnyOperand] = {value: copy(value) for value in whole}
        forward = (*parts.forward, *(replace(op, role="primal") for op in ops))
        kept = (*parts.kept, *(op.result for op in ops))
        return Partition(forward, substitute(parts.backward, copies), kept) if whole else parts


def _deliver(sweep: SweepProtocol, op: Op, cuts: Sequence[Partition]) -> tuple[Op, list[Region]]:
    """Hands what each branch keeps to its adjoint, as further results of the ``if``.

    The branch that does not have such a value yields an undefined one.
    """
    extra: list[tuple[int, Value, Value]] = []
    backward = []
    for number, (region, parts) in enumerate(zip(op.regions, cuts)):
        mapping: dict[Value, AnyOperand] = {}
        for value in parts.kept:
            known = _as_result(op, region, value)
            mapping[value] = fresh(value) if known is None else known
            if mapping[value] not in op.results:
                extra.append((number, value, mapping[value]))  # type: ignore[arg-type]
        backward.append(substitute(parts.backward, mapping))
    regions = []
    for number, (region, parts) in enumerate(zip(op.regions, cuts)):
        with sweep.builder.block() as ops:
            strange = any(side != number for side, _, _ in extra)
            nothing = sweep.builder.apply(undefined, (), {}) if strange else None
        ops = [replace(made, role=op.role) for made in ops]
        yields = [value if side == number else nothing for side, value, _ in extra]
        regions.append(Region((), (*parts.forward, *ops), (*region.yields, *yields)))
    further = tuple(result for _, _, result in extra)
    sweep.unset.update(further)
    results = (*op.results, *further)
    return replace(op, regions=tuple(regions), results=results), backward


def _as_result(op: Op, region: Region, value: Value) -> Value | None:
    """The result of the ``if`` that is ``value`` whenever this branch ran."""
    for yielded, result in zip(region.yields, op.results):
        if yielded is value and result.type == value.type:
            return result
    return None


def reverse_call(sweep: SweepProtocol, op: Op, scope: Cotangents) -> Op:
    """Builds the call of the callee's backward; gives the call of its forward."""
    wanted = [k for k, result in enumerate(op.results) if scope.has(result)]
    wrt = tuple(k for k, x in enumerate(op.operands) if isinstance(x, Value) and x in sweep.varied)
    if not wanted or not wrt:
        return op
    cotangents = [scope.whole(op.results[k]) for k in wanted]
    seeds = tuple((k, type_of(ct)) for k, ct in zip(wanted, cotangents))
    halves = sweep.halves(op, wrt, seeds)
    if not set(halves.reached) & set(wrt):
        return op
    residuals = Value(type_of(halves.forward.returns[-1]), "residuals")
    found = sweep.builder.call(halves.backward, (residuals, *cotangents))
    for position, ct in zip(halves.reached, found):
        if position in wrt:
            scope.add(op.operands[position], ct)
    attrs: dict[str, Any] = {**op.attrs, "callee": halves.forward}
    return replace(op, attrs=attrs, results=(*op.results, residuals))


def reverse_items(sweep: SweepProtocol, op: Op, scope: Cotangents) -> Op:
    """A tuple or dict hands each part of its cotangent to the operand that it is made of."""
    keys: Sequence[Any] = op.attrs.get("keys", range(len(op.operands)))
    for key, operand in zip(keys, op.operands):
        if isinstance(operand, Value):
            for path, _ in leaves(operand.type):
                scope.add(operand, scope.so_far((op.result, (key, *path))), path)
    return op


def reverse_item(sweep: SweepProtocol, op: Op, scope: Cotangents) -> Op:
    """An item's cotangent is a part of that of its container."""
    for path, _ in leaves(op.result.type):
        ct = scope.so_far((op.result, path))
        scope.add(op.operands[0], ct, (op.attrs["key"], *path))
    return op


def reverse_list(sweep: SweepProtocol, op: Op, scope: Cotangents) -> Op:
    """The items of a list that was made at once."""
    if scope.has(op.result):
        ct = scope.whole(op.result)
        for position, operand in enumerate(op.operands):
            if isinstance(operand, Value) and operand in sweep.varied:
                scope.add(operand, list_item(ct, position))
    return op


def reverse_list_item(sweep: SweepProtocol, op: Op, scope: Cotangents) -> Op:
    """An item's cotangent is added to that of its list, in its place: a sum of whole lists for
    each item that is read would take too long."""
    if scope.has(op.result):
        scope.add_at(op.operands[0], scope.whole(op.result), op.operands[1])
    return op


#: Builds the adjoint of an operation; gives what stands for it in forward.
Rule = Callable[[SweepProtocol, Op, Cotangents], Op | list[Op]]
