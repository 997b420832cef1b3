"""The JVP of loops: for each value that a loop carries, reads or stacks, it does the same with the
value's tangent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from autodiff_compiler.ir.builder import Builder, read_type
from autodiff_compiler.ir.nodes import AnyOperand, Loop, Op, Region, Value, type_of
from autodiff_compiler.ir.rewrite import fresh
from autodiff_compiler.ir.types import ListType, Type
from autodiff_compiler.transforms.reverse.cotangents import (
    Cotangents,
    Names,
    Path,
    common_type,
    leaves,
)

#: A part of a carry, operand or yield: its number and the path in it.
Port = tuple[int, Path]


class TangentSweepProtocol(Protocol):
    """The interface of the tangent sweep to the rule of loops."""

    builder: Builder
    names: Names
    known: Cotangents

    def has_tangent(self, operand: AnyOperand) -> bool:
        """True if any part of a value has a tangent."""

    def full_tangent(self, operand: AnyOperand) -> AnyOperand:
        """Builds the tangent of a value, with zeros for the parts that have none."""

    def tangent_leaf(self, operand: AnyOperand, path: Path, type_: Type) -> AnyOperand:
        """Returns the tangent of one leaf as a value of ``type_``."""

    def set(self, value: Value, dot: AnyOperand, path: Path = ()) -> None:
        """Enters the tangent of a value, or of its part at ``path``."""

    def region(self, region: Region) -> None:
        """Adds the operations of a region with their tangents."""


def jvp_loop(sweep: TangentSweepProtocol, op: Op) -> None:
    """Adds a loop that also carries, reads and stacks tangents.

    The carries that have a tangent depend on the body, which is swept until a fixed point.
    """
    loop = Loop(op)
    carries: dict[Port, Type] = {}
    _widen(sweep, carries, loop.carry_params, loop.inits)
    while True:
        before = dict(carries)
        with sweep.builder.block() as ops:
            ports = _enter(sweep, loop, carries)
            reads = _enter_reads(sweep, loop)
            sweep.region(loop.body)
        _widen(sweep, carries, loop.carry_params, loop.carry_yields)
        if carries == before:
            break
    _Loop(sweep, loop, carries, ports, reads).build(ops)


def _widen(
    sweep: TangentSweepProtocol,
    carries: dict[Port, Type],
    params: Sequence[Value],
    sources: Sequence[AnyOperand],
) -> None:
    """Enters the carries that get a tangent from ``sources``, with a type that holds it."""
    for number, (param, source) in enumerate(zip(params, sources)):
        for path, leaf in leaves(param.type):
            dot = partial_tangent(sweep, source, path)
            if dot is not None:
                port = number, path
                carries[port] = common_type(leaf, carries.get(port, leaf), type_of(dot))


def _enter(
    sweep: TangentSweepProtocol, loop: Loop, carries: Mapping[Port, Type]
) -> dict[Port, Value]:
    """Makes the parameters for the tangents of carries."""
    params = {}
    for (number, path), type_ in carries.items():
        param = loop.carry_params[number]
        params[number, path] = sweep.names.fresh(type_, param, path)
        sweep.known.set((param, path), params[number, path])
    return params


def _enter_reads(sweep: TangentSweepProtocol, loop: Loop) -> list[tuple[AnyOperand, Value]]:
    """Makes the parameters for the tangents of items that are read, each with its source."""
    params: list[tuple[AnyOperand, Value]] = []
    for source, param in zip(loop.reads, loop.read_params):
        dots = partial_tangent(sweep, source, ())
        if dots is not None:
            dot = sweep.names.fresh(read_type(type_of(dots)), param)
            params.append((dots, dot))
            sweep.set(param, dot)
    return params


@dataclass(frozen=True)
class _Loop:
    """A loop whose body has been swept."""

    sweep: TangentSweepProtocol
    loop: Loop
    carries: Mapping[Port, Type]
    ports: Mapping[Port, Value]
    reads: Sequence[tuple[AnyOperand, Value]]

    def build(self, ops: list[Op]) -> None:
        """Adds the loop, and enters the tangents of its results."""
        sweep, loop, op = self.sweep, self.loop, self.loop.op
        stacks = [
            (result, yielded)
            for result, yielded in zip(loop.stacked, loop.stack_yields)
            if sweep.has_tangent(yielded)
        ]
        with sweep.builder.block(ops):
            carry_yields = self._leaves(loop.carry_yields)
            stacked = [sweep.full_tangent(yielded) for _, yielded in stacks]
        until = loop.body.yields[len(loop.body.yields) - loop.has_until :]
        yields = (*loop.carry_yields, *carry_yields, *loop.stack_yields, *stacked, *until)
        lead = loop.body.params[: 1 + loop.is_for]
        read_dots = (param for _, param in self.reads)
        carry_params = (*loop.carry_params, *self.ports.values())
        params = (*lead, *carry_params, *loop.read_params, *read_dots)
        regions: tuple[Region, ...] = (Region(params, tuple(ops), yields),)
        if loop.condition is not None:
            test = loop.condition
            tested = (*test.params, *(fresh(port) for port in self.ports.values()))
            regions = (Region(tested, test.ops, test.yields), *regions)
        carried = [
            sweep.names.fresh(type_, loop.carried[number], path)
            for (number, path), type_ in self.carries.items()
        ]
        tapes = [
            sweep.names.fresh(ListType(type_of(dot)), result)
            for (result, _), dot in zip(stacks, stacked)
        ]
        inits = (*loop.inits, *self._leaves(loop.inits))
        operands = (*loop.bounds, *inits, *loop.reads, *(source for source, _ in self.reads))
        attrs = {**op.attrs, "carries": loop.carries + len(carried)}
        results = (*loop.carried, *carried, *loop.stacked, *tapes, loop.count)
        sweep.builder.add(
            replace(op, operands=operands, attrs=attrs, results=results, regions=regions)
        )
        for (number, path), dot in zip(self.carries, carried):
            sweep.known.set((loop.carried[number], path), dot)
        for (result, _), tape in zip(stacks, tapes):
            sweep.known.set((result, ()), tape)

    def _leaves(self, sources: Sequence[AnyOperand]) -> list[AnyOperand]:
        return [
            self.sweep.tangent_leaf(sources[number], path, type_)
            for (number, path), type_ in self.carries.items()
        ]


def partial_tangent(sweep: TangentSweepProtocol, operand: AnyOperand, path: Path) -> AnyOperand:
    """Returns the tangent of a leaf of an operand, None for zero."""
    return sweep.known.partial_sum((operand, path)) if isinstance(operand, Value) else None
