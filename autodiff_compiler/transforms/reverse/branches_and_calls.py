"""Reverse rules of ``if``, of ``call`` and of containers.

An ``if`` reverses to an ``if`` on the same predicate. It yields the new cotangents of all outer
values to which a branch added. A call reverses to a call of the callee's backward function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.labels import WRITTEN_IN_LOOP
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, Value, type_of
from autodiff_compiler.ir.rewrite import Producers, free_values, fresh, substitute
from autodiff_compiler.ir.types import ArrayType, Type
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
    """A function's forward function, which returns the residuals last, and its backward function.

    ``reached`` are the positions of the parameters whose cotangents the backward function returns.
    """

    forward: Function
    backward: Function
    reached: tuple[int, ...]


class SweepProtocol(Protocol):
    """The interface of the sweep to the reverse rules of control flow."""

    builder: Builder
    varied: frozenset[Value]
    unset: set[Value]
    producers: Producers
    changing: frozenset[Value]

    def region(self, region: Region, scope: Cotangents) -> list[Op]:
        """Builds the adjoint operations of a region; returns its forward operations."""

    def pair_of_call(
        self,
        call: Op,
        wrt: tuple[int, ...],
        seeds: tuple[tuple[int, Type], ...],
        ones: tuple[int, ...],
    ) -> ForwardBackward:
        """Returns the forward and backward function of a callee.

        seeds  the types of the cotangents of some of its returns.
        ones   the returns of these whose cotangent is one everywhere, and is not passed.
        """

    def note(self, op: Op, cause: str, cure: str) -> None:
        """Records that an operation has no derivative; it is reported with all other problems."""


def reverse_if(sweep: SweepProtocol, op: Op, scope: Cotangents) -> Op:
    """Builds the adjoint of an ``if``; returns the ``if`` that also returns its residuals."""
    if not any(scope.has_cotangent(result) for result in op.results):
        return op
    branches = [_BranchSweep(sweep, op, region, scope) for region in op.regions]
    accumulated = list(
        dict.fromkeys(key for branch in branches for key in branch.scope.accumulated())
    )
    if not accumulated:
        return op
    for branch in branches:
        branch.finish(accumulated)
    for position, key in enumerate(accumulated):
        yielded = [type_of(branch.yields[position]) for branch in branches]
        type_ = common_type(type_at(key), *yielded)
        for branch in branches:
            branch.conform(position, type_)
    forward, (then, orelse) = _export_residuals(
        sweep, op, [branch.partition() for branch in branches]
    )
    names = [scope.names.wish(*key) for key in accumulated]
    for key, result in zip(accumulated, sweep.builder.branch(op.operands[0], then, orelse, names)):
        result.has_user_name = key[0].has_user_name
        scope.names.named.add(result)
        scope.set(key, result)
    return forward


class _BranchSweep:
    """The sweep of one branch."""

    def __init__(self, sweep: SweepProtocol, op: Op, region: Region, scope: Cotangents):
        self.builder, self.region, self.unset = sweep.builder, region, sweep.unset
        self.scope, self.changing = scope.inside(region), sweep.changing
        self.yields: list[AnyOperand] = []
        with self.builder.block() as self.ops:
            for result, yielded in zip(op.results, region.yields):
                if scope.has_cotangent(result):
                    self.scope.add(yielded, scope.full_cotangent(result))
            self.forward = sweep.region(region, self.scope)

    def finish(self, accumulated: Sequence[Key]) -> None:
        """Yields these cotangents as this branch leaves them."""
        with self.builder.block() as ops:
            self.yields = [self.scope.leaf(key) for key in accumulated]
        self.ops += ops

    def conform(self, position: int, type_: Type) -> None:
        with self.builder.block() as ops:
            self.yields[position] = conform(self.yields[position], type_)
        self.ops += ops

    def partition(self) -> Partition:
        region = Region((), tuple(self.ops), tuple(self.yields))
        parts = partition((), self.forward, region, self.unset, changing=self.changing)
        return self.with_copies(parts)

    def with_copies(self, parts: Partition) -> Partition:
        """Saves copies of the arrays that change in a loop around the branch.

        Only those that the backward branch reads as a whole, and only if this branch runs.
        """
        inside = set(parts.saved)
        unsaved = [v for v in free_values(parts.backward) if v in self.changing and v not in inside]
        with self.builder.block() as ops, self.builder.with_aside(WRITTEN_IN_LOOP):
            copies: dict[Value, AnyOperand] = {value: copy(value) for value in unsaved}
        forward = (*parts.forward, *(replace(op, role="primal") for op in ops))
        saved = (*parts.saved, *(op.result for op in ops))
        return Partition(forward, substitute(parts.backward, copies), saved) if unsaved else parts


def _export_residuals(
    sweep: SweepProtocol, op: Op, partitions: Sequence[Partition]
) -> tuple[Op, list[Region]]:
    """Returns the residuals of each branch as further results of the ``if``.

    A branch yields ``undefined`` for the residuals of the other one.
    """
    extra: list[tuple[int, Value, Value]] = []
    backward = []
    for number, (region, parts) in enumerate(zip(op.regions, partitions)):
        mapping: dict[Value, AnyOperand] = {}
        for value in parts.saved:
            result = _as_result(op, region, value)
            if result is None:
                result = fresh(value)
                extra.append((number, value, result))
            mapping[value] = result
        backward.append(substitute(parts.backward, mapping))
    regions = []
    for number, (region, parts) in enumerate(zip(op.regions, partitions)):
        with sweep.builder.block() as ops:
            strange = any(side != number for side, _, _ in extra)
            nothing = sweep.builder.apply(undefined, (), {}) if strange else None
        ops = [replace(inner, role=op.role) for inner in ops]
        yields = [value if side == number else nothing for side, value, _ in extra]
        regions.append(Region((), (*parts.forward, *ops), (*region.yields, *yields)))
    further = tuple(result for _, _, result in extra)
    sweep.unset.update(further)
    results = (*op.results, *further)
    return replace(op, regions=tuple(regions), results=results), backward


def _as_result(op: Op, region: Region, value: Value) -> Value | None:
    """Returns the result of the ``if`` that equals ``value`` whenever this branch ran."""
    for yielded, result in zip(region.yields, op.results):
        if yielded is value and result.type == value.type:
            return result
    return None


def reverse_call(sweep: SweepProtocol, op: Op, scope: Cotangents) -> Op:
    """Builds the call of the callee's backward function; returns the call of its forward one."""
    wanted = [k for k, result in enumerate(op.results) if scope.has_cotangent(result)]
    wrt = tuple(k for k, x in enumerate(op.operands) if isinstance(x, Value) and x in sweep.varied)
    if not wanted or not wrt:
        return op
    cotangents = [scope.full_cotangent(op.results[k]) for k in wanted]
    seeds = tuple((k, type_of(ct)) for k, ct in zip(wanted, cotangents))
    ones = tuple(k for k, ct in zip(wanted, cotangents) if _is_one(sweep, op.results[k], ct))
    pair = sweep.pair_of_call(op, wrt, seeds, ones)
    if not set(pair.reached) & set(wrt):
        return op
    residuals = Value(type_of(pair.forward.returns[-1]), "residuals")
    passed = [ct for k, ct in zip(wanted, cotangents) if k not in ones]
    operand_cotangents = sweep.builder.call(pair.backward, (residuals, *passed))
    for position, ct in zip(pair.reached, operand_cotangents):
        if position in wrt:
            scope.add(op.operands[position], ct)
    attrs: dict[str, Any] = {**op.attrs, "callee": pair.forward}
    return replace(op, attrs=attrs, results=(*op.results, residuals))


def _is_one(sweep: SweepProtocol, result: Value, ct: AnyOperand) -> bool:
    """True if the cotangent of a number is one: then the callee's backward function folds it.

    An array of ones is passed, so that all calls may share one backward function.
    """
    if not isinstance(ct, Value):
        return False
    maker, type_ = sweep.builder.producer(ct), result.type
    is_known = isinstance(type_, ArrayType) and type_.shape == () and ct.type == type_
    return is_known and maker is not None and maker.name == "full" and maker.attrs["value"] == 1


def reverse_items(sweep: SweepProtocol, op: Op, scope: Cotangents) -> Op:
    """Adds each part of a container's cotangent to the operand at its place."""
    keys: Sequence[Any] = op.attrs.get("keys", range(len(op.operands)))
    for key, operand in zip(keys, op.operands):
        if isinstance(operand, Value):
            for path, _ in leaves(operand.type):
                scope.add(operand, scope.partial_sum((op.result, (key, *path))), path)
    return op


def reverse_item(sweep: SweepProtocol, op: Op, scope: Cotangents) -> Op:
    """Adds an item's cotangent to that part of its container's."""
    for path, _ in leaves(op.result.type):
        ct = scope.partial_sum((op.result, path))
        scope.add(op.operands[0], ct, (op.attrs["key"], *path))
    return op


def reverse_list(sweep: SweepProtocol, op: Op, scope: Cotangents) -> Op:
    """Adds the items of a list's cotangent to the operands of a list display."""
    if scope.has_cotangent(op.result):
        ct = scope.full_cotangent(op.result)
        for position, operand in enumerate(op.operands):
            if isinstance(operand, Value) and operand in sweep.varied:
                scope.add(operand, list_item(ct, position))
    return op


def reverse_list_item(sweep: SweepProtocol, op: Op, scope: Cotangents) -> Op:
    """Adds an item's cotangent to its list's, in its place.

    A sum of two lists for each item that is read would take too long.
    """
    if scope.has_cotangent(op.result):
        scope.add_at(op.operands[0], scope.full_cotangent(op.result), op.operands[1])
    return op


#: Builds the adjoint of an operation; returns what replaces it in the forward function.
Rule = Callable[[SweepProtocol, Op, Cotangents], Op | list[Op]]
