"""Products that name their axes: Einstein sums, and the cross product.

An equation is explicit (``ij,jk->ik``) and has no ellipsis. No operand has a letter twice, and a
letter has one size: ``ops`` brings every other form to this one.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.nodes import Value, type_of
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import ArrayType, Dim, Shape, Type
from autodiff_compiler.operators.core.declare import (
    arithmetic_dtype,
    broadcast_shapes,
    casts_for,
    normal_axes,
    shape_of_type,
)
from autodiff_compiler.operators.core.families import bilinear
from autodiff_compiler.operators.core.structure import (
    broadcast_like,
    cast_like,
    expand_dims,
    unbroadcast,
    zeros_like,
)
from autodiff_compiler.operators.indexing.concat_and_pad import PerOperand


def split_equation(equation: str) -> tuple[list[str], str]:
    """Returns the letters of each operand, and those of the result.

    >>> split_equation("ij,jk->ik")
    (['ij', 'jk'], 'ik')
    """
    left, _, right = equation.partition("->")
    return left.split(","), right


def _einsum_type(types: Sequence[Type], *, equation: str) -> Type:
    terms, out = split_equation(equation)
    if len(terms) != len(types):
        raise ShapeError(f"'{equation}' is for {len(terms)} operands, not {len(types)}")
    dims: dict[str, Dim] = {}
    for letters, type_ in zip(terms, types):
        shape = shape_of_type(type_)
        if shape is not None and len(shape) != len(letters):
            raise ShapeError(f"'{letters}' in '{equation}' does not name the axes of {type_}")
        for letter, dim in zip(letters, (None,) * len(letters) if shape is None else shape):
            have = dims.get(letter, dim)
            if have != dim and (None not in (have, dim) or 1 in (have, dim)):
                names = (str("?" if size is None else size) for size in (have, dim))
                raise ShapeError(f"axis '{letter}' of '{equation}' has sizes {' and '.join(names)}")
            dims[letter] = dim if have is None else have
    return ArrayType(arithmetic_dtype(types), tuple(dims[letter] for letter in out))


def _einsum_numpy(types: Sequence[Type], *, equation: str) -> str:
    slots = ", ".join(f"{{{position}}}" for position in range(len(types)))
    if len(types) > 1:
        return f"np.einsum({equation!r}, {slots}, optimize=True)"
    (term,), out = split_equation(equation)
    copied = ".copy()" if set(term) == set(out) else ""  # NumPy returns a view
    return f"np.einsum({equation!r}, {slots}){copied}"


def _unsized(letter: str, term: str, shape: Shape) -> bool:
    return letter in term and (shape is None or shape[term.index(letter)] is None)


def _einsum_back(position: int) -> Callable[..., Any]:
    """Returns the einsum of ``ct`` and the other operands, broadcast over letters of this one
    alone."""

    def rule(ct: Value, rest: Sequence[Any], equation: str) -> Any:
        terms, out = split_equation(equation)
        wanted = terms.pop(position)
        others = [*rest[:position], *rest[position + 1 :]]
        shapes = [
            (term, shape_of_type(type_of(value)))
            for term, value in zip([wanted, *terms], [rest[position], *others])
        ]
        available = {*out, *"".join(terms)}
        summed = "".join(letter for letter in wanted if letter in available)
        part = einsum(ct, *others, equation=f"{','.join([out, *terms])}->{summed}")
        missing = tuple(axis for axis, letter in enumerate(wanted) if letter not in available)
        x = rest[position]
        part = expand_dims(part, axes=missing) if missing else part
        if any(_unsized(letter, term, shape) for letter in summed for term, shape in shapes):
            # An unknown size may be 1 and broadcast, here or in another operand.
            return unbroadcast(part + zeros_like(x), x)
        return cast_like(broadcast_like(part, x) if missing else part, x)

    return rule


def _einsum_forward(position: int) -> Callable[..., Any]:
    def rule(dot: Value, rest: Sequence[Any], equation: str) -> Any:
        return einsum(*rest[:position], dot, *rest[position + 1 :], equation=equation)

    return rule


def _einsum_batch(rest: Sequence[Any], equation: str, mapped: Sequence[bool]) -> Any:
    """Adds a letter for the examples to the equation."""
    terms, out = split_equation(equation)
    letter = next(c for c in "bzyxwvutsrqponmlkjihgfedcaABCDEFGH" if c not in equation)
    terms = [letter + term if maps else term for term, maps in zip(terms, mapped)]
    return einsum(*rest, equation=f"{','.join(terms)}->{letter}{out}")


einsum: OpDef = OpDef(
    "einsum",
    "The sum over all letters that the result lacks of the products of the operands' elements. "
    "The cotangent of an operand is the sum of ct with the other operands.",
    operands=("*rest",),
    numpy=_einsum_numpy,
    result=_einsum_type,
    promote=lambda types, **attrs: casts_for(types, arithmetic_dtype(types)),
    adjoint=PerOperand(_einsum_back),
    tangent=PerOperand(_einsum_forward),
    label="summed",
    batch=lambda rest, equation, mapped: _einsum_batch(rest, equation, mapped),
)


def _cross_type(types: Sequence[Type], *, axis: int) -> Type:
    shapes = [shape_of_type(type_) for type_ in types]
    for shape in shapes:
        if shape is not None:
            normal_axes(axis, len(shape))
            if shape[axis] not in (3, None):
                raise ShapeError(
                    f"a cross product needs axes of size 3, not {shape[axis]}",
                    "pass the axis of the three components: axis=...",
                )
    return ArrayType(arithmetic_dtype(types), broadcast_shapes(shapes))


cross: OpDef = bilinear(
    "cross",
    "The cross product a x b of vectors of three along an axis; the other axes broadcast. "
    "d_a = b x ct, d_b = ct x a.",
    numpy="np.cross({a}, {b}, axis={axis})",
    result=_cross_type,
    promote=lambda types, **attrs: casts_for(types, arithmetic_dtype(types)),
    adjoint={
        "a": lambda ct, a, b, axis: unbroadcast(cross(b, ct, axis=axis), a),
        "b": lambda ct, a, b, axis: unbroadcast(cross(ct, a, axis=axis), b),
    },
    label="{a}_cross_{b}",
)
