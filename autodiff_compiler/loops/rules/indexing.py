"""Reading and writing parts of arrays: subscripts of numbers, slices and arrays of positions.

A write makes a copy of its array first, unless nothing reads the array afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff_compiler.ir.nodes import AnyOperand, Op, type_of
from autodiff_compiler.ir.types import BOOL, ArrayType
from autodiff_compiler.loop_ir.nodes import Affine, Apply, Expression, If, Literal, Read
from autodiff_compiler.loops.core.positions import check_positions, from_start, single_position
from autodiff_compiler.loops.core.state import Lowering, apply, array_facts, cast
from autodiff_compiler.loops.core.values import Array, NoNativeText
from autodiff_compiler.operators.core.index_patterns import is_op, is_slice, may_repeat_positions


@dataclass(frozen=True)
class Gathered:
    """An array of positions in a subscript, along an axis of ``size`` with a stride."""

    positions: Array
    size: int
    stride: int


@dataclass(frozen=True)
class Masked:
    """An array of bools in a subscript, and the strides of the axes that it selects from."""

    mask: Array
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Selection:
    """The elements that a subscript selects.

    view      the elements without the axes that arrays select from.
    gathered  the arrays of positions. Their common axes are ``common``.
    front     the number of axes of ``view`` before the common ones.
    masked    a mask instead of positions. Its axis has length one in ``common``.
    """

    view: Array
    gathered: tuple[Gathered, ...] = ()
    common: tuple[int, ...] = ()
    front: int = 0
    masked: Masked | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        dims = self.view.shape
        return (*dims[: self.front], *self.common, *dims[self.front :])

    def each(
        self,
        low: Lowering,
        body: Callable[[list[Affine], Affine], None],
        independent: bool = True,
    ) -> None:
        """Adds loops over the selected elements; ``body`` takes the indices and the position."""
        head = (*self.view.shape[: self.front], *self.common)

        def enter(indices: list[Affine]) -> None:
            at = Affine()
            for each in self.gathered:
                position = each.positions.load(indices[self.front :])
                at += from_start(low, position, each.size) * each.stride
            before = indices[: self.front]

            def element(rest: list[Affine]) -> None:
                body([*indices, *rest], self.view.position([*before, *rest]) + at)

            low.nest(self.view.shape[self.front :], element, independent)

        low.nest(head, enter, independent)

    def each_true(
        self, low: Lowering, body: Callable[[list[Affine], Affine], None], count: int
    ) -> None:
        """Adds loops over the elements that a mask selects, in order.

        ``count`` is the number of true items that the values need; one value suits any number.
        """
        assert self.masked is not None
        mask, strides = self.masked.mask, self.masked.strides
        place = low.variable("count", Literal(0, "int64"))
        if count != 1:
            low.nest(mask.shape, lambda at: low.set(place, cast(mask.load(at), "int64"), "add"))
            low.fail_if(
                Apply("not_equal", (Read(place), Literal(count, "int64")), "bool"),
                "ValueError",
                f"{count} values cannot be written where a mask is true: it has another number "
                "of true items",
            )
            low.set(place, Literal(0, "int64"))

        def enter(where: list[Affine]) -> None:
            at = sum((index * step for index, step in zip(where, strides)), Affine())
            with low.block() as statements:
                number = Affine()
                if count != 1:
                    current = low.current(place)
                    assert isinstance(current, Read), current
                    number = Affine.of(current.scalar)
                    low.set(place, Literal(1, "int64"), "add")

                def element(indices: list[Affine]) -> None:
                    front, rest = indices[: self.front], indices[self.front :]
                    body([*front, number, *rest], self.view.position(indices) + at)

                low.nest(self.view.shape, element)
            low.add(If(mask.load(where), tuple(statements), (), low.span))

        low.nest(mask.shape, enter, count == 1)


def select(low: Lowering, x: Array, index: Sequence[Any], rest: Sequence[AnyOperand]) -> Selection:
    """Returns the elements ``x[index]``."""
    used = sum(_axes_of(item, rest) for item in index if item is not None and item != "...")
    items = list(index) if "..." in index else [*index, "..."]
    at, axis = x.at, 0
    shape: list[int] = []
    strides: list[int] = []
    gathered: list[Gathered] = []
    commons: list[tuple[int, ...]] = []
    masks: list[Masked] = []
    places: list[tuple[int, int]] = []
    for number, item in enumerate(items):
        if isinstance(item, bool):
            places.append((number, len(shape)))
            commons.append((int(item),))
            continue
        if is_op(item) and _is_mask(rest[item[1]]):
            mask = low.array(rest[item[1]])
            places.append((number, len(shape)))
            masks.append(Masked(mask, x.strides[axis : axis + len(mask.shape)]))
            axis += len(mask.shape)
            continue
        if item is None:
            shape.append(1)
            strides.append(0)
            continue
        if item == "...":
            for _ in range(len(x.shape) - used):
                shape.append(x.shape[axis])
                strides.append(x.strides[axis])
                axis += 1
            continue
        size, stride = x.shape[axis], x.strides[axis]
        axis += 1
        if is_slice(item):
            if any(isinstance(bound, tuple) for bound in item[1:]):
                raise NoNativeText("a slice with run-time bounds")
            start, stop, step = slice(*item[1:]).indices(size)
            at += start * stride
            shape.append(len(range(start, stop, step)))
            strides.append(step * stride)
            continue
        places.append((number, len(shape)))
        positions = low.represent(rest[item[1]]) if is_op(item) else None
        if isinstance(positions, Array) and positions.shape:
            check_positions(low, rest[item[1]], size, axis - 1)
            gathered.append(Gathered(positions, size, stride))
            commons.append(positions.shape)
        else:
            given = rest[item[1]] if is_op(item) else item
            at += single_position(low, given, size, axis - 1) * stride
    view = Array(x.buffer, at, tuple(shape), tuple(strides))
    if not commons and not masks:
        return Selection(view)
    # NumPy puts the axes of the index arrays where they stand if they stand together.
    together = places[-1][0] - places[0][0] == len(places) - 1
    front = places[0][1] if together else 0
    if not masks:
        return Selection(view, tuple(gathered), _broadcast(commons), front)
    if commons or len(masks) > 1:
        raise NoNativeText("an index with a mask and other arrays")
    return Selection(view, (), (1,), front, masks[0])


def _axes_of(item: Any, rest: Sequence[AnyOperand]) -> int:
    """Returns the number of axes that an item of an index selects from."""
    if isinstance(item, bool):
        return 0
    if is_op(item) and _is_mask(rest[item[1]]):
        return len(getattr(type_of(rest[item[1]]), "static_shape", ()))
    return 1


def _is_mask(operand: AnyOperand) -> bool:
    """True if an operand of an index is a bool or an array of bools."""
    type_ = type_of(operand)
    return type_ == BOOL or isinstance(type_, ArrayType) and type_.dtype == "bool"


def _broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return tuple(next((size for size in sizes if size != 1), 1) for sizes in zip(*padded))


def _index(low: Lowering, op: Op) -> None:
    array_facts(op.result.type)
    chosen = select(low, low.array(op.operands[0]), op.attrs["index"], op.operands[1:])
    if not chosen.common:
        view = chosen.view
        low.bind(op.result, view if view.shape else low.let(op.result.name, view.load(())))
        return
    result = low.result_array(op.result)
    source = chosen.view.buffer

    def element(indices: list[Affine], position: Affine) -> None:
        low.store(result, indices, Array(source, position, (), ()).load(()))

    chosen.each(low, element)
    low.bind(op.result, result)


# ---- writing


def writable(low: Lowering, op: Op) -> Array:
    """Returns an array with the elements of the first operand that ``op`` may write to."""
    operand = op.operands[0]
    array = low.represent(operand)
    if isinstance(array, Array) and low.may_overwrite(op, operand):
        return array
    dtype, shape = array_facts(op.result.type)
    target = low.result_array(op.result) if shape else low.new_array(dtype, (), op.result.name)
    low.nest(shape, lambda at: low.store(target, at, low.element(operand, at)))
    return target


def zeros(low: Lowering, op: Op) -> Array:
    """Returns an array of zeros for a result."""
    dtype, shape = array_facts(op.result.type)
    target = low.result_array(op.result) if shape else low.new_array(dtype, (), op.result.name)
    zero = cast(Literal(0, "int64"), dtype)
    low.nest(shape, lambda at: low.store(target, at, zero))
    return target


def finish(low: Lowering, op: Op, target: Array) -> None:
    """Binds the result of a write."""
    low.bind(op.result, target if target.shape else low.let(op.result.name, target.load(())))


def written_value(low: Lowering, operand: AnyOperand, rank: int) -> Array | Expression:
    """Returns the value of a write, without leading axes of length one that its place lacks."""
    value = low.represent(operand)
    if isinstance(value, Array) and len(value.shape) > rank:
        extra = len(value.shape) - rank
        return value.with_axes(value.shape[extra:], value.strides[extra:])
    return value if isinstance(value, Array) else low.number(operand)


def add_to(
    low: Lowering, target: Array, value: Expression, combine: str, is_number: bool = False
) -> None:
    """Combines one element with a value, in the dtype in which NumPy computes it.

    An integer and a number of another dtype are combined in their common dtype.
    """
    if combine and is_number and not target.dtype.startswith("float"):
        common = str(np.result_type(target.dtype, value.dtype))
        if common != target.dtype:
            low.store(target, (), apply(combine, common, target.load(()), value))
            return
    if combine in ("", "add", "mul", "maximum", "minimum") and (
        value.dtype == target.dtype or is_number or not combine
    ):
        low.store(target, (), value, combine)
        return
    if value.dtype != target.dtype and not is_number:
        raise NoNativeText("a write in another dtype")
    low.store(target, (), apply(combine, target.dtype, target.load(()), value))


def _write(combine: str, into: Callable[[Lowering, Op], Array], first: int) -> Any:
    """Returns the rule of a write; its value is the operand at ``first``."""

    def rule(low: Lowering, op: Op) -> None:
        target, rest = into(low, op), op.operands[first + 1 :]
        chosen = select(low, target, op.attrs["index"], rest)
        given = op.operands[first]
        value = written_value(low, given, len(chosen.shape))
        is_number = not isinstance(type_of(given), ArrayType)
        repeats = bool(chosen.gathered) and may_repeat_positions(
            op.attrs["index"], [type_of(each) for each in rest]
        )

        def element(indices: list[Affine], position: Affine) -> None:
            item = value.load(indices) if isinstance(value, Array) else value
            add_to(low, Array(target.buffer, position, (), ()), item, combine, is_number)

        if chosen.masked is not None:
            chosen.each_true(low, element, _count(chosen, value))
        else:
            chosen.each(low, element, not repeats)
        finish(low, op, target)

    return rule


def _count(chosen: Selection, value: Array | Expression) -> int:
    """Returns the number of values that are written where a mask is true."""
    behind = len(chosen.view.shape) - chosen.front
    shape = value.shape if isinstance(value, Array) else ()
    return shape[-1 - behind] if len(shape) > behind else 1


def _increment_at(low: Lowering, op: Op) -> None:
    rest = op.operands[2:]
    if not may_repeat_positions(op.attrs["index"], [type_of(each) for each in rest]):
        _write("add", writable, 1)(low, op)
        return
    target = writable(low, op)
    chosen = select(low, target, op.attrs["index"], rest)
    value = written_value(low, op.operands[1], len(chosen.shape))
    sums = low.new_array(target.dtype, chosen.shape, "sums")

    def compute(indices: list[Affine], position: Affine) -> None:
        item = value.load(indices) if isinstance(value, Array) else value
        old = Array(target.buffer, position, (), ()).load(())
        low.store(sums, indices, apply("add", target.dtype, old, item))

    def replace(indices: list[Affine], position: Affine) -> None:
        low.store(Array(target.buffer, position, (), ()), (), sums.load(indices))

    chosen.each(low, compute)
    chosen.each(low, replace, False)
    finish(low, op, target)


def _last_writer(low: Lowering, op: Op) -> None:
    _, shape = array_facts(op.result.type)
    full = op.attrs["shape"]
    if full is None or None in full:
        raise NoNativeText("a write to an array of unknown shape")
    writers = low.new_array("int64", full, "writers")
    chosen = select(low, writers, op.attrs["index"], op.operands)
    order = low.new_array("int64", shape, "order")
    count = low.variable("count", Literal(0, "int64"))

    def number(indices: list[Affine]) -> None:
        low.store(order, indices, low.current(count))
        low.set(count, Literal(1, "int64"), "add")

    low.nest(shape, number, False)
    chosen.each(
        low,
        lambda at, position: low.store(Array(writers.buffer, position, (), ()), (), order.load(at)),
        False,
    )
    result = low.result_array(op.result)
    chosen.each(
        low,
        lambda at, position: low.store(
            result,
            at,
            Apply(
                "equal",
                (Array(writers.buffer, position, (), ()).load(()), order.load(at)),
                "bool",
            ),
        ),
    )
    low.bind(op.result, result)


RULES: Mapping[str, Callable[[Lowering, Op], None]] = {
    "index": _index,
    "scatter": _write("add", zeros, 0),
    "add_at": _write("add", writable, 1),
    "subtract_at": _write("sub", writable, 1),
    "multiply_at": _write("mul", writable, 1),
    "maximum_at": _write("maximum", writable, 1),
    "minimum_at": _write("minimum", writable, 1),
    "set_item": _write("", writable, 1),
    "increment_at": _increment_at,
    "last_writer": _last_writer,
}
