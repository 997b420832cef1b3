"""In whose memory a value may lie: what may be written over, and the proof that nobody minds.

A *cell* is a piece of memory, known by the value that brought it into being: a parameter, an
operation that computes, or one of the work arrays that a caller lends. ``cells`` says of every
value in which cells it may lie, and says too many rather than too few: a view lies where its
operand does, a container where any of its parts do, the result of a call anywhere in reach.

``check_writes`` is the proof: it walks the program as it runs, and no value is read after the
memory it may lie in was given to another result. It does not ask how the writes were chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value, type_of
from autodiff_compiler.ir.types import ArrayType, ScalarType

Cells: TypeAlias = frozenset[Value]
NONE: Cells = frozenset()


def writes_to(op: Op) -> Value | None:
    """The value in whose memory ``op`` puts its result: the last operand of an ``into``."""
    target = op.operands[-1] if op.name == "into" else None
    return target if isinstance(target, Value) else None


def cells(body: Region) -> dict[Value, Cells]:
    """The cells in which each value defined in ``body``, or around it, may lie."""
    found: dict[Value, Cells] = {}
    size = -1
    while size != sum(map(len, found.values())):  # loops carry memory round: until nothing is new
        size = sum(map(len, found.values()))
        _Cells(found).region(body, [])
    return found


class _Cells:
    def __init__(self, found: dict[Value, Cells]):
        self.found = found

    def of(self, operand: AnyOperand) -> Cells:
        return self.found.get(operand, NONE) if isinstance(operand, Value) else NONE

    def all(self, operands: Iterable[AnyOperand]) -> Cells:
        return NONE.union(*map(self.of, operands))

    def add(self, value: Value, more: Cells) -> None:
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
        target = writes_to(op)
        if target is not None:
            self.add(op.result, self.of(target))
            return
        known = all(isinstance(type_of(value), (ArrayType, ScalarType))
                    for value in (*op.operands, *op.results))  # fmt: skip
        if op.opdef.views:
            seen = [operand for place, operand in enumerate(op.operands)
                    if op.opdef.operand_name(place) in op.opdef.views]  # fmt: skip
            shared = self.all(seen)
        elif op.name == "lent" or known and op.opdef.kind not in ("container", "control"):
            shared = NONE
        else:
            shared = self.all(op.operands)
        for result in op.results:
            self.add(result, shared | (frozenset() if op.opdef.views else frozenset([result])))


def check_writes(function: Function, demand: Callable[[bool, str], None]) -> None:
    """Demands that every write into memory finds it owned, dead, and not returned to a user."""
    if any(writes_to(op) is not None for op in function.body.walk()):
        _Writes(function, demand).check()


class _Writes:
    def __init__(self, function: Function, demand: Callable[[bool, str], None]):
        self.function, self.demand = function, demand
        self.lies = cells(function.body)
        self.stale: set[Value] = set()
        self.lent = {op.result for op in function.body.ops if op.name == "lent"}

    def check(self) -> None:
        body = self.function.body
        self.region(body)
        for value in body.yields:
            if isinstance(value, Value) and value.name != "residuals":
                kept = self.lies.get(value, NONE) & self.lent
                self.demand(not kept, f"{value} is returned in memory that is only lent")

    def region(self, region: Region) -> None:
        self.stale.difference_update(region.params)
        for op in region.ops:
            self.read(op.operands)
            for _ in range(2):  # what an iteration spoils, the next one may read
                for inner in op.regions:
                    self.region(inner)
            target = writes_to(op)
            if target is not None:
                self.write(op, target)
            self.stale.difference_update(op.results)
        self.read(region.yields)

    def read(self, operands: Iterable[AnyOperand]) -> None:
        for operand in operands:
            if isinstance(operand, Value):
                self.demand(
                    operand not in self.stale, f"{operand} is read after it was overwritten"
                )

    def write(self, op: Op, target: Value) -> None:
        lies = self.lies.get(target, NONE)
        foreign = lies & set(self.function.params)
        self.demand(not foreign, f"{op.result} is written over {target}, which is the caller's")
        self.demand(target.type == op.result.type, f"{op.result} does not fit over {target}")
        self.stale.update(value for value, where in self.lies.items() if where & lies)
