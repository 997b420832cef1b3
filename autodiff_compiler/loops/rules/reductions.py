"""Reductions over axes, and operators that consist of reductions and maps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from autodiff_compiler.ir.nodes import AnyOperand, Op, Value, type_of
from autodiff_compiler.loop_ir.nodes import Affine, Apply, Expression, If, Literal, Read
from autodiff_compiler.loops.core.state import Element, Lowering, apply, array_facts, cast
from autodiff_compiler.loops.core.values import Array, NoNativeText

#: The neutral element of each combination.
NEUTRAL = {"add": 0, "mul": 1, "maximum": -math.inf, "minimum": math.inf}
#: The smallest norm whose squares do not underflow; beyond its inverse they overflow.
LEAST_NORM = {"float32": 1e-17, "float64": 1e-147}


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


def _extreme(combine: str) -> Callable[[Lowering, Op], None]:
    def rule(low: Lowering, op: Op) -> None:
        dtype, _ = array_facts(op.result.type)
        if dtype == "bool":
            _count_nonzero(low, op, combine == "minimum")
        else:
            reduce_to(low, op.result, combine, op.operands[0], op.attrs["axes"])

    return rule


def _truth(all_of_them: bool) -> Callable[[Lowering, Op], None]:
    return lambda low, op: _count_nonzero(low, op, all_of_them)


def _count_nonzero(low: Lowering, op: Op, all_of_them: bool) -> None:
    """Counts the true elements, or the false ones, and compares the number with 0."""
    dtype, full = array_facts(op.types[0])
    _, shape = array_facts(op.result.type)
    x, axes = op.operands[0], _axes(op.attrs["axes"], len(full))
    zero = cast(Literal(0, "int64"), dtype)
    name = "equal" if all_of_them else "not_equal"
    counts = low.new_array(
        "int64", [1 if axis in axes else size for axis, size in enumerate(full)], "count"
    )

    def counted(at: Sequence[Affine]) -> Expression:
        return cast(Apply(name, (low.element(x, at), zero), "bool"), "int64")

    reduced(low, "add", counted, full, axes, counts)
    stays = [a for a in range(len(full)) if a not in axes or len(shape) == len(full)]
    view = counts.with_axes([counts.shape[a] for a in stays], [counts.strides[a] for a in stays])
    none = Literal(0, "int64")
    truth = "equal" if all_of_them else "not_equal"
    low.map(op.result, lambda at: Apply(truth, (view.load(at), none), "bool"))


def _unit(low: Lowering, op: Op) -> None:
    """Divides x by its norm. Where squares may underflow or overflow, x is scaled first."""
    x, norm = (low.array(operand) for operand in op.operands)
    dtype, shape = array_facts(op.result.type)
    if not shape:
        raise NoNativeText("the unit vector of a number")
    axes, least = _axes(op.attrs["axes"], len(shape)), LEAST_NORM[dtype]
    most = float(f"{1 / least:.0e}")
    zero, one = Literal(0, "int64"), Literal(1.0, dtype)
    extreme = low.variable("extreme", zero)

    def is_extreme(at: list[Affine]) -> None:
        size = low.let("size", norm.load(at))
        inside = [
            Apply("greater", (size, Literal(least, dtype)), "bool"),
            Apply("less", (size, Literal(most, dtype)), "bool"),
        ]
        outside = Apply("logical_not", (Apply("logical_and", tuple(inside), "bool"),), "bool")
        low.set(extreme, cast(outside, "int64"), "add")

    low.nest(norm.shape, is_extreme)
    result = low.result_array(op.result)

    def divided(by: Array, source: Array) -> None:
        low.nest(
            shape,
            lambda at: low.store(result, at, apply("div", dtype, source.load(at), by.load(at))),
        )

    with_ones = [1 if axis in axes else size for axis, size in enumerate(shape)]
    with low.block() as plain:
        divided(norm, x)
    with low.block() as scaled:
        largest = low.new_array(dtype, with_ones, "largest")
        reduced(low, "maximum", lambda at: apply("abs", dtype, x.load(at)), shape, axes, largest)
        safe = low.mapped(
            "scale",
            dtype,
            with_ones,
            lambda at: Apply(
                "select",
                (
                    Apply("greater", (largest.load(at), Literal(0.0, dtype)), "bool"),
                    largest.load(at),
                    one,
                ),
                dtype,
            ),
        )
        divided(safe, x)
        squares = low.new_array(dtype, with_ones, "squares")
        reduced(
            low,
            "add",
            lambda at: apply("mul", dtype, result.load(at), result.load(at)),
            shape,
            axes,
            squares,
        )
        length = low.mapped(
            "length",
            dtype,
            with_ones,
            lambda at: apply("maximum", dtype, apply("sqrt", dtype, squares.load(at)), 1.0),
        )
        divided(length, result)
    low.add(
        If(Apply("equal", (Read(extreme), zero), "bool"), tuple(plain), tuple(scaled), low.span)
    )
    low.bind(op.result, result)


def _unbroadcast_to(low: Lowering, op: Op) -> None:
    dtype, full = array_facts(op.types[0])
    _, shape = array_facts(op.result.type)
    lead, x = len(full) - len(shape), op.operands[0]
    axes = [
        axis
        for axis, size in enumerate(full)
        if axis < lead or shape[axis - lead] == 1 and size != 1
    ]
    sums = low.new_array(
        dtype, [1 if axis in axes else size for axis, size in enumerate(full)], "sums"
    )
    reduced(low, "add", lambda at: low.element(x, at), full, axes, sums)
    view = sums.with_axes(sums.shape[lead:], sums.strides[lead:])
    low.map(op.result, view.load)


def _mean(low: Lowering, op: Op) -> None:
    dtype, _ = array_facts(op.result.type)
    _, full = array_facts(op.types[0])
    axes = _axes(op.attrs["axes"], len(full))
    count = math.prod(full[axis] for axis in axes)
    if not dtype.startswith("float"):
        _whole_mean(low, op, axes, count)
        return
    finish: Callable[[Expression], Expression] = lambda total: apply("div", dtype, total, count)
    reduce_to(low, op.result, "add", op.operands[0], op.attrs["axes"], finish)


def _whole_mean(low: Lowering, op: Op, axes: Sequence[int], count: int) -> None:
    """Computes a mean of integers in float64, and cuts it."""
    dtype, shape = array_facts(op.result.type)
    _, full = array_facts(op.types[0])
    if count == 0:
        raise NoNativeText("a mean of no integers")
    x = op.operands[0]
    means = low.new_array("float64", [1 if a in axes else n for a, n in enumerate(full)], "means")
    reduced(
        low,
        "add",
        lambda at: low.element(x, at),
        full,
        axes,
        means,
        lambda total: apply("div", "float64", total, count),
    )
    stays = [a for a in range(len(full)) if a not in axes or len(shape) == len(full)]
    view = means.with_axes([means.shape[a] for a in stays], [means.strides[a] for a in stays])
    low.map(op.result, lambda at: cast(view.load(at), dtype))


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
    "max": _extreme("maximum"),
    "min": _extreme("minimum"),
    "any": _truth(False),
    "all": _truth(True),
    "unit": _unit,
    "unbroadcast_to": _unbroadcast_to,
    "prod": _reduction("mul"),
    "softmax": _softmax,
    "log_softmax": _log_softmax,
}
