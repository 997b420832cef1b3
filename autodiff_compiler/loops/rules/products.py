"""Matrix products."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from autodiff_compiler.ir.nodes import Op
from autodiff_compiler.loop_ir.nodes import Affine, Expression, Matrix, Product
from autodiff_compiler.loops.core.state import Lowering, apply, array_facts
from autodiff_compiler.loops.core.values import Array, NoNativeText
from autodiff_compiler.loops.rules.reductions import reduced


def _matmul(low: Lowering, op: Op) -> None:
    dtype, shape = array_facts(op.result.type)
    is_float = dtype in ("float32", "float64")
    left, right = (low.array(operand) for operand in op.operands)
    if is_float and (left.dtype != dtype or right.dtype != dtype):
        raise NoNativeText("a matrix product of two dtypes")
    as_rows, as_columns = len(left.shape) == 1, len(right.shape) == 1
    if as_rows:
        left = left.with_axes((1, *left.shape), (0, *left.strides))
    if as_columns:
        right = right.with_axes((*right.shape, 1), (*right.strides, 0))
    result = low.result_array(op.result) if shape else low.new_array(dtype, (), op.result.name)
    full, strides = list(result.shape), list(result.strides)
    for place, missing in ((len(full) - (not as_columns), as_rows), (None, as_columns)):
        if missing:
            place = len(full) if place is None else place
            full.insert(place, 1)
            strides.insert(place, 0)
    matrix_result = result.with_axes(full, strides)

    def product(indices: Sequence[Affine]) -> None:
        a, b, c = (_matrix(array, indices) for array in (left, right, matrix_result))
        m, k = left.shape[-2:]
        low.add(Product(c, a, b, m, right.shape[-1], k, span=low.span))

    if is_float:
        low.nest(full[:-2], product)
    else:
        _multiply_elements(low, matrix_result, left, right)
    low.bind(op.result, result if shape else low.let(op.result.name, result.load(())))


def _multiply_elements(low: Lowering, result: Array, left: Array, right: Array) -> None:
    """Computes products of integers or bools. A product of bools is true if any pair is."""
    dtype = "int64" if result.dtype == "bool" else result.dtype
    sums = low.new_array(dtype, (*result.shape, 1), "sums")

    def term(at: Sequence[Affine]) -> Expression:
        *batch, row, column, inner = at
        one, other = left.load([*batch, row, inner]), right.load([*batch, inner, column])
        return apply("mul", dtype, one, other)

    rank = len(result.shape)
    reduced(low, "add", term, (*result.shape, left.shape[-1]), (rank,), sums)
    low.nest(result.shape, lambda at: low.store(result, at, sums.load([*at, Affine()])))


def _matrix(array: Array, indices: Sequence[Affine]) -> Matrix:
    at = array.with_axes(array.shape[:-2], array.strides[:-2]).position(indices)
    return Matrix(array.buffer, at, (array.strides[-2], array.strides[-1]))


RULES: Mapping[str, Callable[[Lowering, Op], None]] = {"matmul": _matmul}
