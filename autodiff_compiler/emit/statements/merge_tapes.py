"""Merges tapes that have one item more than the loop has iterations: several lists of the IR become
one printed list.

The values on entry and on exit of an iteration are kept in one list. If a loop stacks its results
``h``, that list is ``[x] + h_tape``. A later loop reads its ``[:-1]`` and its ``[1:]``. The
printed list starts as ``[x]``, is appended to, and is read at ``[i]`` and ``[i + 1]``. This
changes the notation only. A list with other uses is printed as it is. If the tape is an array, its
rows are read likewise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from autodiff_compiler.emit.statements.use_counts import Uses
from autodiff_compiler.ir.nodes import AnyOperand, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import Producers, producers

#: The indices ``[:-1]`` and ``[1:]``, with the number of rows before the part.
PARTS: dict[Any, int] = {(("slice", None, -1, None),): 0, (("slice", 1, None, None),): 1}


@dataclass
class TapeMerges:
    """The lists that are printed as one.

    first_items   the first item of a stacked list.
    merged_into   from a list with its first item to the stacked list that is printed for both.
    shifted       from a part of a list to that list and the number of items before the part.
    ops           the operations that are not printed.
    """

    first_items: dict[Value, AnyOperand] = field(default_factory=dict)
    merged_into: dict[Value, Value] = field(default_factory=dict)
    shifted: dict[AnyOperand, tuple[AnyOperand, int]] = field(default_factory=dict)
    ops: set[Op] = field(default_factory=set)


def mergeable_tapes(body: Region, uses: Uses) -> TapeMerges:
    """Returns the tapes of a function's body that can be merged."""
    tapes, makers = TapeMerges(), producers(body)
    for op in body.walk():
        if op.name == "list_join" and not op.attrs.get("in_place"):
            _headed(op, makers, uses, tapes)
        elif op.name in ("for", "while"):
            for source, param in zip(Loop(op).reads, Loop(op).read_params):
                if isinstance(source, Value) and source in makers and uses.count[param]:
                    _shifted(source, makers[source], uses, tapes)
    return tapes


def _headed(op: Op, makers: Producers, uses: Uses, tapes: TapeMerges) -> None:
    head, stacked = op.operands
    if not isinstance(head, Value) or not isinstance(stacked, Value):
        return
    first, stacking = makers.get(head), makers.get(stacked)
    if first is None or first.name != "make_list" or len(first.operands) != 1 or stacking is None:
        return
    loop = Loop(stacking) if stacking.name in ("for", "while") else None
    if loop is None or stacked not in loop.stacked or loop.runs_reversed:
        return
    if uses.count[head] == uses.count[stacked] == 1:
        tapes.first_items[stacked] = first.operands[0]
        tapes.merged_into[op.result] = stacked
        tapes.ops |= {first, op}


def _shifted(source: Value, maker: Op, uses: Uses, tapes: TapeMerges) -> None:
    part = _leaves_out(maker)
    if part is not None and uses.count[source] == 1:
        tapes.shifted[source] = part
        tapes.ops.add(maker)


def _leaves_out(op: Op) -> tuple[Value, int] | None:
    """Returns the list that ``op`` takes a part of, and the number of items before that part."""
    source = op.operands[0] if op.operands else None
    if not isinstance(source, Value) or op.attrs.get("in_place"):
        return None
    if op.name == "list_head":
        return source, 0
    if op.name == "index" and op.attrs["index"] in PARTS:
        return source, PARTS[op.attrs["index"]]
    start = op.operands[1] if op.name == "list_slice" else None
    if isinstance(start, int) and start >= 0 and op.operands[2:] == (None, None):
        return source, start
    return None
