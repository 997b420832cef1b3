"""Matrix products."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from autodiff_compiler.ir.nodes import Op
from autodiff_compiler.loop_ir.nodes import Affine, Matrix, Product
from autodiff_compiler.loops.core.state import Lowering, array_facts
from autodiff_compiler.loops.core.values import Array, NoNativeText


def _matmul(low: Lowering, op: Op) -> None:
    dtype, shape = array_facts(op.result.type)
    if dtype not in ("float32", "float64"):
        raise NoNativeText(f"a matrix product of {dtype}")
    left, right = (low.array(operand) for operand in op.operands)
    if left.dtype != dtype or right.dtype != dtype:
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

    low.nest(full[:-2], product)
    low.bind(op.result, result if shape else low.let(op.result.name, result.load(())))


def _matrix(array: Array, indices: Sequence[Affine]) -> Matrix:
    at = array.with_axes(array.shape[:-2], array.strides[:-2]).position(indices)
    return Matrix(array.buffer, at, (array.strides[-2], array.strides[-1]))


RULES: Mapping[str, Callable[[Lowering, Op], None]] = {"matmul": _matmul}
