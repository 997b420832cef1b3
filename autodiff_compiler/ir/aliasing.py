"""Alias analysis: the memory in which values may lie, and the operations that write to it.

An abstract memory location is named by the value that allocates it: a parameter, a result of an
operation that computes, or a workspace array of the caller. The *alias set* of a value holds the
locations in which it may lie, rather too many than too few. A view has the locations of its
operand, a container those of its parts. The result of a call has those of all operands. Memory
safety is proved in ``verify/memory_safety.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from autodiff_compiler.ir.nodes import AnyOperand, Loop, Op, Region, Value, type_of
from autodiff_compiler.ir.types import SHAPE, ArrayType, ScalarType, TupleType, Type

AliasSet: TypeAlias = frozenset[Value]
NONE: AliasSet = frozenset()


def destination_of(op: Op) -> Value | None:
    """Returns the value in whose memory ``op`` puts its result, None if it allocates.

    It is the last operand of an ``into``, and the first of an update in place.
    """
    if op.name == "compute_into":
        target = op.operands[-1]
    else:
        target = op.operands[0] if updates_in_place(op) else None
    return target if isinstance(target, Value) else None


def updates_in_place(op: Op) -> bool:
    """True if ``op`` changes a part of an array in place."""
    return bool(op.attrs.get("in_place")) and isinstance(type_of(op.operands[0]), ArrayType)


def alias_sets(
    body: Region, known: Mapping[Value, AliasSet] | None = None
) -> dict[Value, AliasSet]:
    """Maps each value in ``body`` to its alias set; ``known`` are those of some results."""
    aliases: dict[Value, AliasSet] = {}
    size = -1
    while size != sum(map(len, aliases.values())):  # a fixed point, because loops carry memory
        size = sum(map(len, aliases.values()))
        _AliasAnalysis(aliases, known or {}).region(body, [])
    return aliases


class _AliasAnalysis:
    def __init__(self, aliases: dict[Value, AliasSet], known: Mapping[Value, AliasSet]):
        self.aliases, self.known = aliases, known

    def of(self, operand: AnyOperand) -> AliasSet:
        return self.aliases.get(operand, NONE) if isinstance(operand, Value) else NONE

    def all(self, operands: Iterable[AnyOperand]) -> AliasSet:
        return NONE.union(*map(self.of, operands))

    def add(self, value: Value, more: AliasSet) -> None:
        self.aliases[value] = self.aliases.get(value, NONE) | more

    def region(self, region: Region, known: list[Value]) -> None:
        for param in region.params:
            if param not in known:
                self.add(param, frozenset([param]))
        for op in region.ops:
            self.op(op)

    def op(self, op: Op) -> None:
        if op.name == "if":
            for region in op.regions:
                self.region(region, [])
            for result, *yields in zip(op.results, *(region.yields for region in op.regions)):
                self.add(result, self.all(yields))
        elif op.regions:
            self.loop(Loop(op))
        else:
            self.plain(op)

    def loop(self, loop: Loop) -> None:
        tests = (None,) * loop.carries if loop.condition is None else loop.condition.params
        carries = zip(loop.carry_params, loop.inits, loop.carry_yields, loop.carried, tests)
        for param, init, after, result, test in carries:
            aliases = self.all((init, after))
            for value in (param, result, test):
                if value is not None:
                    self.add(value, aliases)
        for param, source in zip(loop.read_params, loop.reads):
            self.add(param, self.of(source))
        ports = [
            *loop.carry_params,
            *loop.read_params,
            *(test for test in tests if test is not None),
        ]
        for region in loop.op.regions:
            self.region(region, ports)
        for result, item in zip(loop.stacked, loop.stack_yields):
            self.add(result, self.of(item))

    def plain(self, op: Op) -> None:
        effect = memory_effect(op)
        shared = self.all(effect.shares)
        for result in op.results:
            aliases = shared | {result} if effect.owns else shared
            self.add(result, self.known.get(result, aliases))


def _shares(op: Op, target: Value | None) -> list[AnyOperand]:
    """Lists the operands of a plain operation in whose memory a result may lie.

    An operation that computes arrays or numbers of arrays, numbers and shapes allocates its
    results, unless its definition has ``views``.
    """
    if target is not None:
        return [target]
    if viewed := op.viewed:
        return viewed
    types = [type_of(value) for value in (*op.operands, *op.results)]
    known = all(isinstance(type_, ArrayType) or _holds_no_array(type_) for type_ in types)
    computes = known and op.opdef.kind not in ("container", "control")
    return [] if computes or op.name == "work_buffer" else list(op.operands)


def _holds_no_array(type_: Type) -> bool:
    """True if the type is that of a number, a shape or another tuple of numbers."""
    if isinstance(type_, TupleType):
        return all(map(_holds_no_array, type_.items))
    return isinstance(type_, ScalarType) or type_ == SHAPE


def is_row(op: Op) -> bool:
    """True if ``op`` reads or sets one row of an array, whose number is known at run time."""
    operands = {"index": 2, "set_item": 3}.get(op.name)
    return len(op.operands) == operands and op.attrs["index"] == (("op", 0),)


class MemoryEffect(NamedTuple):
    """The reads and writes of memory of a plain operation.

    reads    the operands that are read, without the destination.
    target   the value in whose memory the result is put; ``writes`` is True if that overwrites.
    shares   the operands in whose memory the results may lie; ``owns`` if they allocate, too.
    start    the place of the row or tile that is read, of ``rows`` rows.
    """

    reads: Sequence[AnyOperand]
    target: Value | None
    writes: bool
    shares: Sequence[AnyOperand]
    owns: bool
    start: AnyOperand
    rows: int


#: The effects so far: fixed points, and several analyses, ask for one operation again and again.
_EFFECTS: WeakKeyDictionary[Op, MemoryEffect] = WeakKeyDictionary()


def memory_effect(op: Op) -> MemoryEffect:
    """Returns the memory effect of ``op``, computed once."""
    effect = _EFFECTS.get(op)
    if effect is None:
        target = destination_of(op)
        takes = op.name == "tile_view" or op.name == "index" and is_row(op)
        effect = _EFFECTS[op] = MemoryEffect(
            reads=op.operands[:-1] if op.name in ("compute_into", "after_write") else op.operands,
            target=target,
            writes=target is not None and (len(op.operands) > 1 or updates_in_place(op)),
            shares=_shares(op, target),
            owns=target is None and not op.viewed,
            start=op.operands[-1] if takes else None,
            rows=op.attrs.get("rows", 1),
        )
    return effect
