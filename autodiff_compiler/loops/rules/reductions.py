"""Reductions over axes, and operators that consist of reductions and maps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from autodiff_compiler.ir.nodes import AnyOperand, Op, Value, type_of
from autodiff_compiler.loop_ir.nodes import Affine, Expression, Literal, Read
from autodiff_compiler.loops.core.state import Element, Lowering, apply, array_facts, cast
from autodiff_compiler.loops.core.values import Array

#: The neutral element of each combination.
NEUTRAL = {"add": 0, "mul": 1, "maximum": -math.inf, "minimum": math.inf}


def neutral(combine: str, dtype: str) -> Literal:
    """Returns the number that changes nothing when it is combined with another."""
    value = NEUTRAL[combine]
    if dtype.startswith("float"):
        return Literal(float(value), dtype)
    if math.isinf(value):
        bits = int(dtype.lstrip("uint")) - (not dtype.startswith("u"))
        high = 2**bits - 1
        low = 0 if dtype.startswith("u") else -high - 1
        return Literal(low if value < 0 else high, dtype)
    return Literal(int(value), dtype)


def reduced(
    low: Lowering,
    combine: str,
    element: Element,
    shape: Sequence[int],
    axes: Sequence[int],
    result: Array,
    finish: Callable[[Expression], Expression] = lambda total: total,
) -> None:
    """Combines the elements of ``shape`` along ``axes`` into ``result``, which keeps the axes with
    length one.

    The last axes that are reduced are summed in a register. Where an axis before a kept one is
    reduced, the result is combined in memory, row after row.
    """
    rank = len(shape)
    inner = rank
    while inner and inner - 1 in axes:
        inner -= 1
    in_memory = any(axis < inner and shape[axis] != 1 for axis in axes)
    start = neutral(combine, result.dtype)
    with_ones = [1 if axis in axes else size for axis, size in enumerate(shape)]

    def inner_total(outer: list[Affine]) -> Expression:
        if inner == rank:
            return cast(element(outer), result.dtype)
        total = low.variable("total", start)
        low.nest(
            shape[inner:],
            lambda rest: low.set(total, cast(element([*outer, *rest]), result.dtype), combine),
        )
        return Read(total)

    def at(outer: list[Affine]) -> list[Affine]:
        return [*outer, *[Affine()] * (rank - inner)]

    if not in_memory:
        low.nest(
            shape[:inner],
            lambda outer: low.store(result, at(outer), finish(inner_total(outer))),
        )
        return
    low.nest(with_ones, lambda indices: low.store(result, indices, start))
    low.nest(
        shape[:inner],
        lambda outer: low.store(result, at(outer), inner_total(outer), combine),
    )
    low.nest(
        with_ones, lambda indices: low.store(result, indices, finish(result.load(indices)))
    ) if finish(start) is not start else None


def _axes(axes: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    return tuple(range(rank)) if axes is None else tuple(axis % rank for axis in axes)


def reduce_to(
    low: Lowering,
    value: Value,
    combine: str,
    source: AnyOperand,
    axes: Sequence[int] | None,
    finish: Callable[[Expression], Expression] = lambda total: total,
) -> None:
    """Binds ``value`` to the reduction of ``source``."""
    dtype, shape = array_facts(value.type)
    _, full = array_facts(type_of(source))
    over = _axes(axes, len(full))

    def element(indices: Sequence[Affine]) -> Expression:
        return low.element(source, indices)

    if not shape and len(over) == len(full):
        total = low.variable(value.name, neutral(combine, dtype))
        low.nest(full, lambda at: low.set(total, cast(element(at), dtype), combine))
        low.bind(value, low.let(value.name, finish(Read(total))))
        return
    result = low.result_array(value)
    with_ones = [1 if axis in over else size for axis, size in enumerate(full)]
    steps = iter(zip(result.shape, result.strides))
    strides = []
    keeps = len(result.shape) == len(full)
    for axis in range(len(full)):
        strides.append(next(steps)[1] if keeps or axis not in over else 0)
    reduced(low, combine, element, full, over, result.with_axes(with_ones, strides), finish)
    low.bind(value, result)


def _reduction(combine: str) -> Callable[[Lowering, Op], None]:
    def rule(low: Lowering, op: Op) -> None:
        reduce_to(low, op.result, combine, op.operands[0], op.attrs["axes"])

    return rule


def _mean(low: Lowering, op: Op) -> None:
    dtype, _ = array_facts(op.result.type)
    _, full = array_facts(op.types[0])
    count = math.prod(full[axis] for axis in _axes(op.attrs["axes"], len(full)))
    finish: Callable[[Expression], Expression] = lambda total: apply("div", dtype, total, count)
    reduce_to(low, op.result, "add", op.operands[0], op.attrs["axes"], finish)


def _row_reduction(
    low: Lowering,
    combine: str,
    element: Element,
    shape: Sequence[int],
    axis: int,
    dtype: str,
    name: str,
) -> Array:
    with_ones = [1 if each == axis else size for each, size in enumerate(shape)]
    result = low.new_array(dtype, with_ones, name)
    reduced(low, combine, element, shape, (axis,), result)
    return result


def _softmax(low: Lowering, op: Op) -> None:
    dtype, shape = array_facts(op.result.type)
    axis, x = op.attrs["axis"] % len(shape), op.operands[0]

    def element(indices: Sequence[Affine]) -> Expression:
        return low.element(x, indices)

    largest = _row_reduction(low, "maximum", element, shape, axis, dtype, "largest")
    shifted = low.mapped(
        "weights",
        dtype,
        shape,
        lambda at: apply("exp", dtype, apply("sub", dtype, element(at), largest.load(at))),
    )
    total = _row_reduction(low, "add", shifted.load, shape, axis, dtype, "total")
    low.map(op.result, lambda at: apply("div", dtype, shifted.load(at), total.load(at)))


def _log_softmax(low: Lowering, op: Op) -> None:
    dtype, shape = array_facts(op.result.type)
    axis, x = op.attrs["axis"] % len(shape), op.operands[0]

    def element(indices: Sequence[Affine]) -> Expression:
        return low.element(x, indices)

    largest = _row_reduction(low, "maximum", element, shape, axis, dtype, "largest")

    def shifted(at: Sequence[Affine]) -> Expression:
        return apply("sub", dtype, element(at), largest.load(at))

    total = _row_reduction(
        low, "add", lambda at: apply("exp", dtype, shifted(at)), shape, axis, dtype, "total"
    )
    log_total = low.mapped(
        "log_total", dtype, total.shape, lambda at: apply("log", dtype, total.load(at))
    )
    low.map(op.result, lambda at: apply("sub", dtype, shifted(at), log_total.load(at)))


RULES: Mapping[str, Callable[[Lowering, Op], None]] = {
    "sum": _reduction("add"),
    "mean": _mean,
    "max": _reduction("maximum"),
    "min": _reduction("minimum"),
    "prod": _reduction("mul"),
    "softmax": _softmax,
    "log_softmax": _log_softmax,
}
