"""In whose memory a value may lie, and which operations write to memory that is there.

A *cell* is a piece of memory, known by the value that brought it into being: a parameter, an
operation that computes, or one of the work arrays that a caller lends. ``alias_sets`` says of every
value in which cells it may lie, and says too many rather than too few: a view lies where its
operand does, a container where any of its parts do, the result of a call anywhere in reach.
What may be written over is proved in ``verify/memory_safety.py``.
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
    """The value in whose memory ``op`` puts its result: the last operand of an ``into``, the first
    of what changes an array in place."""
    if op.name == "into":
        target = op.operands[-1]
    else:
        target = op.operands[0] if updates_in_place(op) else None
    return target if isinstance(target, Value) else None


def updates_in_place(op: Op) -> bool:
    """Whether ``op`` changes a part of an array where it stands."""
    return bool(op.attrs.get("in_place")) and isinstance(type_of(op.operands[0]), ArrayType)


def alias_sets(
    body: Region, known: Mapping[Value, AliasSet] | None = None
) -> dict[Value, AliasSet]:
    """The cells in which each value defined in ``body``, or around it, may lie; ``known`` are those
    of some results."""
    found: dict[Value, AliasSet] = {}
    size = -1
    while size != sum(map(len, found.values())):  # loops carry memory round: until nothing is new
        size = sum(map(len, found.values()))
        _Cells(found, known or {}).region(body, [])
    return found


class _Cells:
    def __init__(self, found: dict[Value, AliasSet], known: Mapping[Value, AliasSet]):
        self.found, self.known = found, known

    def of(self, operand: AnyOperand) -> AliasSet:
        return self.found.get(operand, NONE) if isinstance(operand, Value) else NONE

    def all(self, operands: Iterable[AnyOperand]) -> AliasSet:
        return NONE.union(*map(self.of, operands))

    def add(self, value: Value, more: AliasSet) -> None:
        self.found[value] = self.found.get(value, NONE) | more

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
        rows = zip(loop.carry_params, loop.inits, loop.carry_yields, loop.carried, tests)
        for param, init, after, result, test in rows:
            lies = self.all((init, after))
            for value in (param, result, test):
                if value is not None:
                    self.add(value, lies)
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
        step = memory_effect(op)
        shared = self.all(step.shares)
        for result in op.results:
            lies = shared | {result} if step.owns else shared
            self.add(result, self.known.get(result, lies))


def _shares(op: Op, target: Value | None) -> list[AnyOperand]:
    """The operands of a plain operation in whose memory a result may lie. What computes arrays
    or numbers of arrays, numbers and shapes has no result in their memory but where its record
    says so (``views``): a shape holds no array."""
    if target is not None:
        return [target]
    if viewed := op.viewed:
        return viewed
    types = [type_of(value) for value in (*op.operands, *op.results)]
    known = all(isinstance(type_, ArrayType) or _holds_no_array(type_) for type_ in types)
    computes = known and op.opdef.kind not in ("container", "control")
    return [] if computes or op.name == "lent" else list(op.operands)


def _holds_no_array(type_: Type) -> bool:
    """Whether it is that of a number, or of a shape or another tuple of numbers."""
    if isinstance(type_, TupleType):
        return all(map(_holds_no_array, type_.items))
    return isinstance(type_, ScalarType) or type_ == SHAPE


def is_row(op: Op) -> bool:
    """Whether ``op`` takes, or sets, one row of an array, of a number that is known at run time."""
    operands = {"index": 2, "set_item": 3}.get(op.name)
    return len(op.operands) == operands and op.attrs["index"] == (("op", 0),)


class MemoryEffect(NamedTuple):
    """What a plain operation has to do with memory.

    reads    what is read: not what is written to, or was in part.
    target   the value that is written over; ``writes`` tells whether that spoils anything.
    shares   in whose memory the results may lie; ``owns`` if they have new memory, too.
    start    where the row or tile begins that is taken, of ``rows`` rows.
    """

    reads: Sequence[AnyOperand]
    target: Value | None
    writes: bool
    shares: Sequence[AnyOperand]
    owns: bool
    start: AnyOperand
    rows: int


#: Loops bring an operation by again, and so does whoever asks next.
_STEPS: WeakKeyDictionary[Op, MemoryEffect] = WeakKeyDictionary()


def memory_effect(op: Op) -> MemoryEffect:
    """What ``op`` has to do with memory, found out once."""
    step = _STEPS.get(op)
    if step is None:
        target = destination_of(op)
        takes = op.name == "part" or op.name == "index" and is_row(op)
        step = _STEPS[op] = MemoryEffect(
            reads=op.operands[:-1] if op.name in ("into", "filled") else op.operands,
            target=target,
            writes=target is not None and (len(op.operands) > 1 or updates_in_place(op)),
            shares=_shares(op, target),
            owns=target is None and not op.viewed,
            start=op.operands[-1] if takes else None,
            rows=op.attrs.get("rows", 1),
        )
    return step
