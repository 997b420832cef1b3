"""Loops in the tangent sweep: they carry, read and stack tangents beside what they carry, read and
stack. Each function is told the sweep to use.
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
    """What loops need of the sweep."""

    builder: Builder
    names: Names
    known: Cotangents

    def has(self, operand: AnyOperand) -> bool:
        """Whether any part of a value has a tangent."""

    def whole(self, operand: AnyOperand) -> AnyOperand:
        """The tangent of a value, with zeros for the parts that have none."""

    def leaf(self, operand: AnyOperand, path: Path, type_: Type) -> AnyOperand:
        """The tangent of one leaf as a value of ``type_``."""

    def set(self, value: Value, dot: AnyOperand, path: Path = ()) -> None:
        """Enters the tangent of (a part of) a value."""

    def region(self, region: Region) -> None:
        """Adds the operations of a region with their tangents."""


def jvp_loop(sweep: TangentSweepProtocol, op: Op) -> None:
    """A loop carries, reads and stacks tangents beside what it carries, reads and stacks.

    Which carries have one depends on the body, which is swept until that is settled.
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
    """Notes the carries that ``sources`` give a tangent, with a type that holds it."""
    for number, (param, source) in enumerate(zip(params, sources)):
        for path, leaf in leaves(param.type):
            dot = partial_tangent(sweep, source, path)
            if dot is not None:
                port = number, path
                carries[port] = common_type(leaf, carries.get(port, leaf), type_of(dot))


def _enter(
    sweep: TangentSweepProtocol, loop: Loop, carries: Mapping[Port, Type]
) -> dict[Port, Value]:
    """The parameters for the tangents of carries."""
    made = {}
    for (number, path), type_ in carries.items():
        param = loop.carry_params[number]
        made[number, path] = sweep.names.fresh(type_, param, path)
        sweep.known.put((param, path), made[number, path])
    return made


def _enter_reads(sweep: TangentSweepProtocol, loop: Loop) -> list[tuple[AnyOperand, Value]]:
    """The parameters for the tangents of what is read, with what is read for them."""
    made: list[tuple[AnyOperand, Value]] = []
    for source, param in zip(loop.reads, loop.read_params):
        dots = partial_tangent(sweep, source, ())
        if dots is not None:
            dot = sweep.names.fresh(read_type(type_of(dots)), param)
            made.append((dots, dot))
            sweep.set(param, dot)
    return made


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
            if sweep.has(yielded)
        ]
        with sweep.builder.block(ops):
            carry_yields = self._leaves(loop.carry_yields)
            stacked = [sweep.whole(yielded) for _, yielded in stacks]
        until = loop.body.yields[len(loop.body.yields) - loop.has_until :]
        yields = (*loop.carry_yields, *carry_yields, *loop.stack_yields, *stacked, *until)
        lead = loop.body.params[: 1 + loop.is_for]
        params = (*lead, *loop.carry_params, *self.ports.values(),
                  *loop.read_params, *(param for _, param in self.reads))  # fmt: skip
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
        operands = (*loop.bounds, *loop.inits, *self._leaves(loop.inits),
                    *loop.reads, *(source for source, _ in self.reads))  # fmt: skip
        attrs = {**op.attrs, "carries": loop.carries + len(carried)}
        results = (*loop.carried, *carried, *loop.stacked, *tapes, loop.count)
        sweep.builder.add(
            replace(op, operands=operands, attrs=attrs, results=results, regions=regions)
        )
        for (number, path), dot in zip(self.carries, carried):
            sweep.known.put((loop.carried[number], path), dot)
        for (result, _), tape in zip(stacks, tapes):
            sweep.known.put((result, ()), tape)

    def _leaves(self, sources: Sequence[AnyOperand]) -> list[AnyOperand]:
        return [
            self.sweep.leaf(sources[number], path, type_)
            for (number, path), type_ in self.carries.items()
        ]


def partial_tangent(sweep: TangentSweepProtocol, operand: AnyOperand, path: Path) -> AnyOperand:
    """The tangent of a leaf of an operand, None for zero."""
    return sweep.known.so_far((operand, path)) if isinstance(operand, Value) else None
