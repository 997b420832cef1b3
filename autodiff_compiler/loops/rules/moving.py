"""Operators that copy elements to other places: joining, padding, repeating, and triangles."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import Op
from autodiff_compiler.loop_ir.nodes import Affine, Apply, Expression, Literal, Position
from autodiff_compiler.loops.core.state import Lowering, array_facts, cast
from autodiff_compiler.loops.core.values import Array, NoNativeText
from autodiff_compiler.loops.rules.indexing import finish, zeros


class Block(NamedTuple):
    """Places along an axis of a result, from ``first`` on, and the elements copied to them."""

    first: int
    size: int
    source: int
    step: int = 1


def part_of(x: Array, axis: int, first: int, size: int, step: int = 1) -> Array:
    """Returns the part ``x[..., first:first + size * step:step, ...]`` along an axis."""
    shape, strides = list(x.shape), list(x.strides)
    shape[axis], strides[axis] = size, strides[axis] * step
    return Array(x.buffer, x.at + x.strides[axis] * first, tuple(shape), tuple(strides))


def copy_blocks(
    low: Lowering, result: Array, source: Array, blocks: Sequence[Sequence[Block]]
) -> None:
    """Copies every combination of blocks, one block for each axis."""
    for chosen in itertools.product(*blocks):
        place, taken = result, source
        for axis, block in enumerate(chosen):
            place = part_of(place, axis, block.first, block.size)
            taken = part_of(taken, axis, block.source, block.size, block.step)
        copy_into(low, place, taken)


def copy_into(low: Lowering, place: Array, source: Array) -> None:
    """Copies an array to a place, as NumPy broadcasts."""
    low.nest(place.shape, lambda at: low.store(place, at, source.load(at)))


def _concat(low: Lowering, op: Op) -> None:
    result, first = low.result_array(op.result), 0
    axis = op.attrs["axis"] % len(result.shape)
    for operand in op.operands:
        source = low.array(operand)
        copy_into(low, part_of(result, axis, first, source.shape[axis]), source)
        first += source.shape[axis]
    low.bind(op.result, result)


def _stack(low: Lowering, op: Op) -> None:
    result = low.result_array(op.result)
    axis = op.attrs["axis"] % len(result.shape)
    shape, strides = list(result.shape), list(result.strides)
    del shape[axis]
    step = strides.pop(axis)
    for number, operand in enumerate(op.operands):
        place = Array(result.buffer, result.at + step * number, tuple(shape), tuple(strides))
        copy_into(low, place, low.array(operand))
    low.bind(op.result, result)


def _pad(low: Lowering, op: Op) -> None:
    dtype, shape = array_facts(op.result.type)
    source, result = low.array(op.operands[0]), low.result_array(op.result)
    widths = op.attrs["widths"]
    value = op.attrs["value"]
    border = cast(Literal(value, "float64" if isinstance(value, float) else "int64"), dtype)
    if any(width for pair in widths for width in pair):
        low.nest(shape, lambda at: low.store(result, at, border))
    blocks = [[Block(first, size, 0)] for (first, _), size in zip(widths, source.shape)]
    copy_blocks(low, result, source, blocks)
    low.bind(op.result, result)


def _mirrored(size: int, before: int, after: int, mode: str) -> list[Block]:
    """Returns the blocks of one axis: the border before, the elements, the border behind."""
    borders = {
        "reflect": ((before, -1), (size - 2, -1)),
        "symmetric": ((before - 1, -1), (size - 1, -1)),
        "edge": ((0, 0), (size - 1, 0)),
        "wrap": ((size - before, 1), (0, 1)),
    }[mode]
    blocks = [
        Block(0, before, *borders[0]),
        Block(before, size, 0),
        Block(before + size, after, *borders[1]),
    ]
    return [block for block in blocks if block.size]


def _pad_mirrored(low: Lowering, op: Op) -> None:
    source, result = low.array(op.operands[0]), low.result_array(op.result)
    blocks = [
        _mirrored(size, before, after, op.attrs["mode"])
        for size, (before, after) in zip(source.shape, op.attrs["widths"])
    ]
    copy_blocks(low, result, source, blocks)
    low.bind(op.result, result)


def _roll(low: Lowering, op: Op) -> None:
    source, result = low.array(op.operands[0]), low.result_array(op.result)
    shifts = [0] * len(source.shape)
    for shift, axis in zip(op.attrs["shifts"], op.attrs["axes"]):
        shifts[axis] += shift
    blocks = []
    for size, shift in zip(source.shape, shifts):
        on = shift % max(size, 1)
        both = [Block(0, on, size - on), Block(on, size - on, 0)]
        blocks.append([block for block in both if block.size] or [Block(0, 0, 0)])
    copy_blocks(low, result, source, blocks)
    low.bind(op.result, result)


def _tile(low: Lowering, op: Op) -> None:
    _repeated(low, op, [(count, 1) for count in op.attrs["counts"]])


def _repeat(low: Lowering, op: Op) -> None:
    counts = op.attrs["counts"]
    _, shape = array_facts(op.types[0])
    axis = op.attrs["axis"] % len(shape)
    if isinstance(counts, int):
        _repeated(low, op, [(1, counts if axis == each else 1) for each in range(len(shape))])
        return
    if counts is None or len(counts) > costs().unrolled_copy_items:
        raise NoNativeText("repeat with many counts")
    counts = counts if len(counts) == shape[axis] else tuple(counts) * shape[axis]
    source, result, first = low.array(op.operands[0]), low.result_array(op.result), 0
    for number, count in enumerate(counts):
        copy_into(low, part_of(result, axis, first, count), part_of(source, axis, number, 1))
        first += count
    low.bind(op.result, result)


def _repeated(low: Lowering, op: Op, counts: Sequence[tuple[int, int]]) -> None:
    """Copies each axis a number of times as a whole, and each of its elements."""
    source, result = low.array(op.operands[0]), low.result_array(op.result)
    shape: list[int] = []
    strides: list[int] = []
    once: list[int] = []
    for (times, each), size, step, taken in zip(
        counts, source.shape, result.strides, source.strides
    ):
        shape += [times, size, each]
        strides += [step * size * each, step * each, step]
        once += [0, taken, 0]
    copy_into(low, result.with_axes(shape, strides), source.with_axes(shape, once))
    low.bind(op.result, result)


# ---- matrices


def _triangle(name: str) -> Callable[[Lowering, Op], None]:
    def rule(low: Lowering, op: Op) -> None:
        dtype, _ = array_facts(op.result.type)
        x, offset = op.operands[0], op.attrs["offset"]
        zero = cast(Literal(0, "int64"), dtype)

        def element(indices: Sequence[Affine]) -> Expression:
            right = Position(indices[-1] + indices[-2] * -1)
            stays = Apply(name, (right, Literal(offset, "int64")), "bool")
            return Apply("select", (stays, low.element(x, indices), zero), dtype)

        low.map(op.result, element)

    return rule


def _diagonal_of(x: Array, offset: int) -> Array:
    *lead, rows, columns = x.shape
    below, right = max(-offset, 0), max(offset, 0)
    size = max(0, min(rows - below, columns - right))
    *steps, down, across = x.strides
    at = x.at + below * down + right * across if size else x.at
    return Array(x.buffer, at, (*lead, size), (*steps, down + across))


def _diagonal(low: Lowering, op: Op) -> None:
    low.bind(op.result, _diagonal_of(low.array(op.operands[0]), op.attrs["offset"]))


def _put_diagonal(low: Lowering, op: Op) -> None:
    result, value = zeros(low, op), op.operands[0]
    place = _diagonal_of(result, op.attrs["offset"])
    low.nest(place.shape, lambda at: low.store(place, at, low.element(value, at)))
    finish(low, op, result)


RULES: Mapping[str, Callable[[Lowering, Op], None]] = {
    "concat": _concat,
    "stack": _stack,
    "pad": _pad,
    "pad_mirrored": _pad_mirrored,
    "roll": _roll,
    "tile": _tile,
    "repeat": _repeat,
    "tril": _triangle("less_equal"),
    "triu": _triangle("greater_equal"),
    "diagonal": _diagonal,
    "put_diagonal": _put_diagonal,
}
