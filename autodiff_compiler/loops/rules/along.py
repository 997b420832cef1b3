"""Reading and writing at positions along one axis: one position for each element of the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from autodiff_compiler.ir.nodes import AnyOperand, Op
from autodiff_compiler.loop_ir.nodes import Affine
from autodiff_compiler.loops.core.positions import check_positions, from_start
from autodiff_compiler.loops.core.state import Lowering
from autodiff_compiler.loops.core.values import Array
from autodiff_compiler.loops.rules.indexing import add_to, finish, writable, zeros


def _each(
    low: Lowering,
    x: Array,
    positions: AnyOperand,
    axis: int,
    body: Callable[[list[Affine], Affine], None],
    independent: bool = True,
) -> None:
    """Adds loops over the positions; ``body`` takes their indices and the position in ``x``."""
    axis %= len(x.shape)
    size = x.shape[axis]
    check_positions(low, positions, size, axis)
    array = low.array(positions)
    base = x.with_axes(
        [1 if each == axis else length for each, length in enumerate(x.shape)], x.strides
    )

    def enter(indices: list[Affine]) -> None:
        place = from_start(low, array.load(indices), size)
        body(indices, base.position(indices) + place * x.strides[axis])

    low.nest(array.shape, enter, independent)


def _take_along(low: Lowering, op: Op) -> None:
    x, result = low.array(op.operands[0]), low.result_array(op.result)

    def element(indices: list[Affine], position: Affine) -> None:
        low.store(result, indices, Array(x.buffer, position, (), ()).load(()))

    _each(low, x, op.operands[1], op.attrs["axis"], element)
    low.bind(op.result, result)


def _add(low: Lowering, op: Op, target: Array, value: AnyOperand, positions: AnyOperand) -> None:
    def element(indices: list[Affine], position: Affine) -> None:
        place = Array(target.buffer, position, (), ())
        add_to(low, place, low.element(value, indices), "add")

    axis = op.attrs["axis"]
    is_once = low.array(positions).shape[axis] == 1
    _each(low, target, positions, axis, element, is_once)
    finish(low, op, target)


def _put_along(low: Lowering, op: Op) -> None:
    _add(low, op, zeros(low, op), op.operands[0], op.operands[1])


def _add_along(low: Lowering, op: Op) -> None:
    _add(low, op, writable(low, op), op.operands[1], op.operands[2])


RULES: Mapping[str, Callable[[Lowering, Op], None]] = {
    "take_along": _take_along,
    "put_along": _put_along,
    "add_along": _add_along,
}
