"""Numbers that sizes decide, and numbers made of arrays of one element."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from autodiff_compiler.ir.nodes import Op
from autodiff_compiler.loop_ir.nodes import Affine, Literal
from autodiff_compiler.loops.core.rows import length_of
from autodiff_compiler.loops.core.state import Lowering, array_facts, cast
from autodiff_compiler.loops.core.values import Items, NoNativeText


def _size(low: Lowering, op: Op, size: int) -> None:
    low.bind(op.result, Literal(size, "int64"))


def _dim(low: Lowering, op: Op) -> None:
    _size(low, op, array_facts(op.types[0])[1][op.attrs["axis"]])


def _size_of(low: Lowering, op: Op) -> None:
    _, shape = array_facts(op.types[0])
    axes = op.attrs["axes"]
    _size(low, op, math.prod(shape if axes is None else [shape[axis] for axis in axes]))


def _shape_of(low: Lowering, op: Op) -> None:
    _, shape = array_facts(op.types[0])
    low.bind(op.result, Items(tuple(Literal(size, "int64") for size in shape)))


def _shape_item(low: Lowering, op: Op) -> None:
    shape = low.represent(op.operands[0])
    if not isinstance(shape, Items):
        raise NoNativeText("a size of an array of unknown rank")
    low.bind(op.result, shape.items[op.attrs["at"]])


def _number(low: Lowering, op: Op) -> None:
    dtype, _ = array_facts(op.result.type)
    _, shape = array_facts(op.types[0])
    value = low.element(op.operands[0], [Affine()] * len(shape))
    low.bind(op.result, low.let(op.result.name, cast(value, dtype)))


def _list_length(low: Lowering, op: Op) -> None:
    length = length_of(low.represent(op.operands[0]))
    low.bind(op.result, Literal(length, "int64") if isinstance(length, int) else length)


RULES: Mapping[str, Callable[[Lowering, Op], None]] = {
    "dim": _dim,
    "size_of": _size_of,
    "shape_of": _shape_of,
    "shape_item": _shape_item,
    "as_float": _number,
    "to_number": _number,
    "list_length": _list_length,
}
