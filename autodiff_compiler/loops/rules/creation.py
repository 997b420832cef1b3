"""Arrays that no operand decides: numbers in steps, unit matrices, positions of triangles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from autodiff_compiler.ir.nodes import Op
from autodiff_compiler.loop_ir.nodes import Affine, Apply, Expression, If, Literal, Position, Read
from autodiff_compiler.loops.core.state import Lowering, apply, array_facts, cast
from autodiff_compiler.loops.core.values import NoNativeText


def _arange(low: Lowering, op: Op) -> None:
    dtype, _ = array_facts(op.result.type)
    start, stop, step = op.attrs["bounds"]
    if any(isinstance(bound, tuple) for bound in (start, stop, step)):
        raise NoNativeText("arange with run-time bounds")
    if isinstance(start, int) and isinstance(step, int):
        low.map(op.result, lambda at: cast(Position(at[0] * step + start), dtype))
        return
    # NumPy computes the step in the dtype of the result.
    first, second = (np.asarray(value, dtype)[()] for value in (start, start + step))
    low.map(op.result, lambda at: _in_steps(at[0], float(first), float(second - first), dtype))


def _linspace(low: Lowering, op: Op) -> None:
    start, stop, count = (op.attrs[name] for name in ("start", "stop", "count"))
    step = (stop - start) / max(count - 1, 1)
    low.map(op.result, lambda at: cast(_in_steps(at[0], start, step, "float64"), "float32"))


def _in_steps(place: Affine, start: float, step: float, dtype: str) -> Expression:
    distance = apply("mul", dtype, cast(Position(place), dtype), step)
    return apply("add", dtype, distance, start)


def unit_element(at: Sequence[Affine], dtype: str) -> Expression:
    """Returns an element of a unit matrix."""
    one, zero = (cast(Literal(value, "int64"), dtype) for value in (1, 0))
    is_diagonal = Apply("equal", (Position(at[0]), Position(at[1])), "bool")
    return Apply("select", (is_diagonal, one, zero), dtype)


def _unit_matrix(low: Lowering, op: Op) -> None:
    dtype, _ = array_facts(op.result.type)
    low.map(op.result, lambda at: unit_element(at, dtype))


def _triangle_indices(low: Lowering, op: Op) -> None:
    name, rows, columns, k = (op.attrs[each] for each in ("name", "rows", "columns", "k"))
    result = low.result_array(op.result)
    count = low.variable("count", Literal(0, "int64"))
    compare = "less_equal" if name == "tril" else "greater_equal"

    def visit(at: list[Affine]) -> None:
        right = Position(at[1] + at[0] * -1)
        with low.block() as statements:
            place = low.current(count)
            assert isinstance(place, Read), place
            for row, index in enumerate(at):
                low.store(result, [Affine(row), Affine.of(place.scalar)], Position(index))
            low.set(count, Literal(1, "int64"), "add")
        inside = Apply(compare, (right, Literal(k, "int64")), "bool")
        low.add(If(inside, tuple(statements), (), low.span))

    low.nest((rows, columns), visit, False)
    low.bind(op.result, result)


RULES: Mapping[str, Callable[[Lowering, Op], None]] = {
    "arange": _arange,
    "linspace": _linspace,
    "eye": _unit_matrix,
    "basis": _unit_matrix,
    "triangle_indices": _triangle_indices,
}
