"""Sums of products over named axes: einsum, tensordot, and products of vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from autodiff_compiler.ir.nodes import Op
from autodiff_compiler.loop_ir.nodes import Affine, Expression, Matrix, Product
from autodiff_compiler.loops.core.state import Lowering, apply, array_facts, cast
from autodiff_compiler.loops.core.values import Array, reshaped_strides, row_major
from autodiff_compiler.loops.rules.reductions import reduced


class Named(NamedTuple):
    """An array whose axes have letters."""

    array: Array
    letters: str

    def in_order(self, letters: str) -> Array:
        """Returns the array with its axes in the order of ``letters``."""
        places = [self.letters.index(letter) for letter in letters]
        array = self.array
        return array.with_axes(
            [array.shape[place] for place in places], [array.strides[place] for place in places]
        )


def _named(array: Array, letters: str) -> Named:
    """Returns an array with one axis for each letter: a letter that occurs twice is a diagonal."""
    shape: dict[str, int] = {}
    strides: dict[str, int] = {}
    for letter, size, step in zip(letters, array.shape, array.strides):
        shape[letter] = size
        strides[letter] = strides.get(letter, 0) + step
    return Named(array.with_axes([*shape.values()], [*strides.values()]), "".join(shape))


def _summed(low: Lowering, x: Named, stays: str, dtype: str) -> Named:
    """Sums an array over the letters that are not in ``stays``."""
    axes = [place for place, letter in enumerate(x.letters) if letter not in stays]
    if not axes:
        return x
    shape = [1 if place in axes else size for place, size in enumerate(x.array.shape)]
    result = low.new_array(dtype, shape, "summed")
    reduced(low, "add", x.array.load, x.array.shape, axes, result)
    letters = "".join(letter for letter in x.letters if letter in stays)
    return Named(Named(result, x.letters).in_order(letters), letters)


def multiply(low: Lowering, a: Named, b: Named, stays: str, dtype: str) -> Named:
    """Returns the sum of products over the letters that are not in ``stays``."""
    a = _summed(low, a, stays + b.letters, dtype)
    b = _summed(low, b, stays + a.letters, dtype)
    both = [letter for letter in a.letters if letter in b.letters]
    batch = "".join(letter for letter in both if letter in stays)
    inner = "".join(letter for letter in both if letter not in stays)
    rows = "".join(letter for letter in a.letters if letter not in both)
    columns = "".join(letter for letter in b.letters if letter not in both)
    if not inner or dtype not in ("float32", "float64"):
        return _multiplied(low, a, b, batch, rows, columns, inner, dtype)
    left = _matrices(low, a, batch, rows, inner)
    right = _matrices(low, b, batch, inner, columns)
    m, k, n = left.shape[-2], left.shape[-1], right.shape[-1]
    result = low.new_array(dtype, (*left.shape[:-2], m, n), "product")

    def product(at: Sequence[Affine]) -> None:
        c, x, y = (_matrix(array, at) for array in (result, left, right))
        low.add(Product(c, x, y, m, n, k, span=low.span))

    low.nest(result.shape[:-2], product)
    sizes = [*a.in_order(batch + rows).shape, *b.in_order(columns).shape]
    return Named(result.with_axes(sizes, row_major(sizes)), batch + rows + columns)


def _multiplied(
    low: Lowering,
    a: Named,
    b: Named,
    batch: str,
    rows: str,
    columns: str,
    inner: str,
    dtype: str,
) -> Named:
    """Returns a sum of products that is no product of matrices."""
    order = batch + rows + columns + inner
    sizes = {**dict(zip(a.letters, a.array.shape)), **dict(zip(b.letters, b.array.shape))}
    x, y = (
        Array(
            each.array.buffer,
            each.array.at,
            tuple(sizes[letter] for letter in order),
            tuple(
                each.array.strides[each.letters.index(letter)] if letter in each.letters else 0
                for letter in order
            ),
        )
        for each in (a, b)
    )

    def term(at: Sequence[Affine]) -> Expression:
        return apply("mul", dtype, x.load(at), y.load(at))

    shape = [1 if letter in inner else sizes[letter] for letter in order]
    result = low.new_array(dtype, shape, "product")
    axes = range(len(order) - len(inner), len(order))
    reduced(low, "add", term, x.shape, axes, result)
    stays = len(order) - len(inner)
    return Named(result.with_axes(shape[:stays], result.strides[:stays]), order[:stays])


def _matrices(low: Lowering, x: Named, batch: str, rows: str, columns: str) -> Array:
    """Returns an array as matrices: one axis for each group of letters after the batch."""
    ordered = x.in_order(batch + rows + columns)
    cuts = len(batch), len(batch) + len(rows)
    groups = ordered.shape[cuts[0] : cuts[1]], ordered.shape[cuts[1] :]
    shape = (*ordered.shape[: cuts[0]], *map(math.prod, groups))
    steps: list[int] = [*ordered.strides[: cuts[0]]]
    for first, last in ((cuts[0], cuts[1]), (cuts[1], len(ordered.shape))):
        group = ordered.with_axes(ordered.shape[first:last], ordered.strides[first:last])
        merged = reshaped_strides(group, (math.prod(group.shape),))
        if merged is None:
            copy = low.copied(ordered, "matrix")
            return copy.with_axes(shape, row_major(shape))
        steps += merged
    return ordered.with_axes(shape, steps)


def _matrix(array: Array, indices: Sequence[Affine]) -> Matrix:
    at = array.with_axes(array.shape[:-2], array.strides[:-2]).position(indices)
    return Matrix(array.buffer, at, (array.strides[-2], array.strides[-1]))


def _finish(low: Lowering, op: Op, total: Named, letters: str) -> None:
    """Binds the result: the letters of the contraction in the order of the result."""
    dtype, shape = array_facts(op.result.type)
    ordered = total.in_order(letters)
    assert ordered.shape == shape, op
    low.map(op.result, lambda at: cast(ordered.load(at), dtype))


def contract(low: Lowering, op: Op, terms: Sequence[str], letters: str) -> None:
    """Binds the result of a contraction, which goes from the left to the right."""
    dtype, _ = array_facts(op.result.type)
    dtype = "int64" if dtype == "bool" else dtype  # a sum of bools is true if any is
    operands = [_named(low.array(each), term) for each, term in zip(op.operands, terms)]
    total = operands[0]
    for place, other in enumerate(operands[1:], 1):
        behind = "".join(term for term in terms[place + 1 :])
        total = multiply(low, total, other, letters + behind, dtype)
    _finish(low, op, _summed(low, total, letters, dtype), letters)


def _einsum(low: Lowering, op: Op) -> None:
    left, _, letters = op.attrs["equation"].partition("->")
    contract(low, op, left.split(","), letters)


def _tensordot(low: Lowering, op: Op) -> None:
    ranks = [len(array_facts(type_)[1]) for type_ in op.types]
    names = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    left = [next(names) for _ in range(ranks[0])]
    right = [next(names) for _ in range(ranks[1])]
    inner = [left[axis] for axis in op.attrs["axes"][0]]
    free = [letter for letter in left if letter not in inner]
    for one, other in zip(*op.attrs["axes"]):
        right[other] = left[one]
    free += [letter for letter in right if letter not in inner]
    contract(low, op, ["".join(left), "".join(right)], "".join(free))


def _outer(low: Lowering, op: Op) -> None:
    contract(low, op, ["a", "b"], "ab")


def _cross(low: Lowering, op: Op) -> None:
    dtype, shape = array_facts(op.result.type)
    axis = op.attrs["axis"] % len(shape)
    result = low.result_array(op.result)
    shapes = [*shape[:axis], 1, *shape[axis + 1 :]]

    def part(operand: int, at: Sequence[Affine], number: int) -> Expression:
        return low.element(op.operands[operand], [*at[:axis], Affine(number % 3), *at[axis + 1 :]])

    def element(at: list[Affine]) -> None:
        for number in range(3):
            one, other = (
                apply("mul", dtype, part(0, at, number + k), part(1, at, number - k))
                for k in (1, -1)
            )
            place = [*at[:axis], Affine(number), *at[axis + 1 :]]
            low.store(result, place, apply("sub", dtype, one, other))

    low.nest(shapes, element)
    low.bind(op.result, result)


RULES: Mapping[str, Callable[[Lowering, Op], None]] = {
    "einsum": _einsum,
    "tensordot": _tensordot,
    "outer": _outer,
    "cross": _cross,
}
