"""Matrix products, and functions of square matrices: solutions, inverses, determinants.

Each matrix of a stack is eliminated in a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import AnyOperand, Op
from autodiff_compiler.ir.types import SHORT
from autodiff_compiler.loop_ir.nodes import Affine, Expression, Literal, Matrix, Part, Product
from autodiff_compiler.loops.core.state import Element, Lowering, apply, array_facts, cast
from autodiff_compiler.loops.core.values import Array, NoNativeText
from autodiff_compiler.loops.rules.creation import unit_element
from autodiff_compiler.loops.rules.indexing import finish
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


# ---- functions of square matrices

#: NumPy's messages of a LinAlgError.
SINGULAR, NOT_POSITIVE = "Singular matrix", "Matrix is not positive definite"


def _each_matrix(
    low: Lowering,
    operand: AnyOperand,
    dtype: str,
    stack: Sequence[int],
    body: Callable[[list[Affine], Part, int], None],
) -> None:
    """Adds loops over a stack; ``body`` takes the indices, a copy of the matrix, and its size."""
    x = low.array(operand)
    size = x.shape[-1]
    if size > costs().eliminated_rows:
        raise NoNativeText(f"elimination in a matrix of {size} rows")
    factors = low.new_array(dtype, (size, size), "factors")

    def enter(at: list[Affine]) -> None:
        low.nest(
            factors.shape,
            lambda within: low.store(factors, within, cast(x.load([*at, *within]), dtype)),
        )
        body(at, factors.part((), 2), size)

    low.nest(stack, enter, False)


def _result(low: Lowering, op: Op) -> Array:
    """Returns the array for a result, which may be a number."""
    dtype, shape = array_facts(op.result.type)
    return low.result_array(op.result) if shape else low.new_array(dtype, (), op.result.name)


def _pivots(low: Lowering, op: Op, name: str) -> Part:
    _, shape = array_facts(op.types[0])
    return low.new_array("int64", shape[-1:], name).part((), 1)


def _solved(low: Lowering, op: Op, start: Element) -> None:
    """Solves equations whose right sides are the elements of ``start``."""
    dtype, shape = array_facts(op.result.type)
    result, pivots = low.result_array(op.result), _pivots(low, op, "pivots")
    low.nest(shape, lambda at: low.store(result, at, cast(start(at), dtype)))
    error = low.error("LinAlgError", SINGULAR)

    def solve(at: list[Affine], factors: Part, size: int) -> None:
        changed = (result.part(at, 2), factors, pivots)
        low.call(f"solve_{SHORT[dtype]}", (size, shape[-1]), changed, (), error)

    _, equations = array_facts(op.types[0])
    if 0 not in (*shape[:-2], equations[-1]):
        _each_matrix(low, op.operands[0], dtype, shape[:-2], solve)
    low.bind(op.result, result)


def _inverse(low: Lowering, op: Op) -> None:
    dtype, _ = array_facts(op.result.type)
    _solved(low, op, lambda at: unit_element(at[-2:], dtype))


def _solve(low: Lowering, op: Op) -> None:
    right = low.array(op.operands[1])
    _solved(low, op, right.load)


def _determinant(names: Sequence[str], place: int, of_none: int) -> Callable[[Lowering, Op], None]:
    """Returns the rule of one of the numbers that an algorithm computes.

    The first one of ``names`` is that of the algorithm, the others are those of its numbers.
    ``of_none`` is the result for a matrix without rows.
    """

    def rule(low: Lowering, op: Op) -> None:
        dtype, shape = array_facts(op.result.type)
        result, pivots = _result(low, op), _pivots(low, op, "pivots")
        numbers = [low.new_array(dtype, (), name).part((), 0) for name in names[1:]]

        def determinant(at: list[Affine], factors: Part, size: int) -> None:
            numbers[place] = result.part(at, 0)
            low.call(f"{names[0]}_{SHORT[dtype]}", (size,), (*numbers, factors, pivots))

        if pivots.size:
            _each_matrix(low, op.operands[0], dtype, shape, determinant)
        else:
            one = cast(Literal(of_none, "int64"), dtype)
            low.nest(shape, lambda at: low.store(result, at, one))
        finish(low, op, result)

    return rule


def _cofactors(low: Lowering, op: Op) -> None:
    dtype, shape = array_facts(op.result.type)
    result = low.result_array(op.result)
    rows, columns = (_pivots(low, op, name) for name in ("rows", "columns"))

    def minors(at: list[Affine], factors: Part, size: int) -> None:
        changed = (result.part(at, 2), factors, rows, columns)
        low.call(f"cofactors_{SHORT[dtype]}", (size,), changed)

    if 0 not in shape:
        _each_matrix(low, op.operands[0], dtype, shape[:-2], minors)
    low.bind(op.result, result)


def _cofactors_slope(low: Lowering, op: Op) -> None:
    dtype, shape = array_facts(op.result.type)
    result, along = low.result_array(op.result), low.array(op.operands[1])
    rows, columns = (_pivots(low, op, name) for name in ("rows", "columns"))
    direction = low.new_array(dtype, shape[-2:], "along")

    def slope(at: list[Affine], factors: Part, size: int) -> None:
        low.nest(
            direction.shape,
            lambda within: low.store(direction, within, cast(along.load([*at, *within]), dtype)),
        )
        changed = (result.part(at, 2), factors, direction.part((), 2), rows, columns)
        low.call(f"cofactors_slope_{SHORT[dtype]}", (size,), changed)

    if 0 not in shape:
        _each_matrix(low, op.operands[0], dtype, shape[:-2], slope)
    low.bind(op.result, result)


def _cholesky(low: Lowering, op: Op) -> None:
    dtype, shape = array_facts(op.result.type)
    x, result = low.array(op.operands[0]), low.result_array(op.result)
    if shape[-1] > costs().eliminated_rows:
        raise NoNativeText(f"elimination in a matrix of {shape[-1]} rows")
    low.nest(shape, lambda at: low.store(result, at, cast(x.load(at), dtype)))
    error = low.error("LinAlgError", NOT_POSITIVE)

    def factorise(at: list[Affine]) -> None:
        low.call(f"cholesky_{SHORT[dtype]}", shape[-1:], (result.part(at, 2),), (), error)

    if 0 not in shape:
        low.nest(shape[:-2], factorise, False)
    low.bind(op.result, result)


RULES: Mapping[str, Callable[[Lowering, Op], None]] = {
    "matmul": _matmul,
    "inverse": _inverse,
    "solve": _solve,
    "det": _determinant(("det", "determinant"), 0, 1),
    "det_sign": _determinant(("slogdet", "sign", "logarithm"), 0, 1),
    "logabsdet": _determinant(("slogdet", "sign", "logarithm"), 1, 0),
    "cofactors": _cofactors,
    "cofactors_slope": _cofactors_slope,
    "cholesky": _cholesky,
}
