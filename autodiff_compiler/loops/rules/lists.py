"""Tuples, and lists of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from autodiff_compiler.ir.nodes import Op
from autodiff_compiler.loop_ir.nodes import Affine, Apply, Literal, Load, Position, Read
from autodiff_compiler.loops.core.state import Lowering, array_facts
from autodiff_compiler.loops.core.values import Array, Items, NoNativeText, Rows


def _make_items(low: Lowering, op: Op) -> None:
    low.bind(op.result, Items(tuple(low.represent(operand) for operand in op.operands)))


def _item(low: Lowering, op: Op) -> None:
    items = low.represent(op.operands[0])
    if not isinstance(items, Items):
        raise NoNativeText("an item of a container")
    low.bind(op.result, items.items[op.attrs["key"]])


def _list_join(low: Lowering, op: Op) -> None:
    low.bind(op.result, Items(tuple(low.represent(operand) for operand in op.operands)))


def _stack_rows(low: Lowering, op: Op) -> None:
    rows = low.represent(op.operands[0])
    if isinstance(rows, Rows) and isinstance(rows.length, int):
        low.bind(op.result, rows.rows)
        return
    _, shape = array_facts(op.result.type)
    result = low.result_array(op.result)
    done = _fill(low, result, rows, 0)
    assert done == shape[0], op
    low.bind(op.result, result)


def _fill(low: Lowering, result: Array, part: object, first: int) -> int:
    """Copies items into rows from ``first`` on. Returns the number of the row after them."""
    if isinstance(part, Items):
        for each in part.items:
            first = _fill(low, result, each, first)
        return first
    if isinstance(part, Rows) and isinstance(part.length, int):
        rows = part.rows
        low.nest(rows.shape, lambda at: low.store(result, [at[0] + first, *at[1:]], rows.load(at)))
        return first + part.length
    row = result.item(Affine(first))
    if isinstance(part, Array):
        low.nest(row.shape, lambda at: low.store(row, at, part.load(at)))
    elif isinstance(part, (Literal, Read, Load, Position, Apply)):
        low.store(row, (), part)
    else:
        raise NoNativeText("a list of run-time length as an array")
    return first + 1


RULES: Mapping[str, Callable[[Lowering, Op], None]] = {
    "make_tuple": _make_items,
    "make_list": _make_items,
    "item": _item,
    "list_join": _list_join,
    "stack_rows": _stack_rows,
}
