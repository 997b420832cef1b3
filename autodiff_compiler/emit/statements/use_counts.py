"""Counts the uses of each value. Unused results of branches and loops need no operands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from autodiff_compiler.ir.nodes import AnyOperand, Loop, Op, Region, Value


@dataclass
class Uses:
    """The uses of values.

    count  the number of uses of each value.
    place  the region of the last use seen.
    moved  the values that are copied to another variable at the end of a region.
    """

    count: Counter[Value] = field(default_factory=Counter)
    place: dict[Value, Region] = field(default_factory=dict)
    moved: set[Value] = field(default_factory=set)

    def use(self, operands: Iterable[AnyOperand], region: Region) -> None:
        for operand in operands:
            if isinstance(operand, Value):
                self.count[operand] += 1
                self.place[operand] = region

    def only_in(self, value: Value, region: Region) -> bool:
        """True if ``value`` is used exactly once, and in ``region`` itself."""
        return self.count[value] == 1 and self.place[value] is region


def count_uses(body: Region) -> Uses:
    """Returns the uses in a function's body, visited from the end to the beginning."""
    uses = Uses()
    uses.use(body.yields, body)
    _visit(body, uses)
    return uses


def _visit(region: Region, uses: Uses) -> None:
    for op in reversed(region.ops):
        if op.name == "if":
            _visit_branches(op, uses)
            uses.use(op.operands, region)
        elif op.regions:
            _visit_loop(Loop(op), region, uses)
        else:
            # ``filled`` is its array, into which the part has been written.
            uses.use(op.operands[1:] if op.name == "after_write" else op.operands, region)


def _visit_branches(op: Op, uses: Uses) -> None:
    for branch in op.regions:
        _move(
            (y for y, result in zip(branch.yields, op.results) if uses.count[result]), branch, uses
        )
        _visit(branch, uses)


def _visit_loop(loop: Loop, region: Region, uses: Uses) -> None:
    _move(loop.carry_yields, loop.body, uses)
    for stacked, item in zip(loop.stacked, loop.stack_yields):
        if uses.count[stacked]:
            uses.use((item,), loop.body)
    uses.use((loop.until,), loop.body)
    _visit(loop.body, uses)
    if loop.condition is not None:
        uses.use(loop.condition.yields, loop.condition)
        _visit(loop.condition, uses)
    uses.use(loop.bounds, region)
    uses.use(loop.inits, region)
    for source, param in zip(loop.reads, loop.read_params):
        if uses.count[param]:  # read in every iteration: never part of an expression
            uses.use((source,), loop.body)


def _move(operands: Iterable[AnyOperand], region: Region, uses: Uses) -> None:
    listed = list(operands)
    uses.use(listed, region)
    uses.moved.update(operand for operand in listed if isinstance(operand, Value))
