"""Einstein sums and the cross product under MindSpore's names."""

from __future__ import annotations

__macro__ = True

from collections.abc import Sequence
from string import ascii_letters
from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.operators.indexing import concat_and_pad
from autodiff_compiler.operators.linalg import einsum as einsum_records
from autodiff_compiler.operators.windows import rearrange
from autodiff_compiler.ops.core.shape_queries import axis_of, known_rank, rank_of, shape_of
from autodiff_compiler.ops.functions import arrays


def einsum(equation: str, *operands: Any) -> Tensor:
    """Returns the sum of products that the equation says: ``'ij,jk->ik'``, ``'...ij->...ji'``,
    ``'ii'``."""
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = tuple(operands[0])
    terms, out = _explicit(equation, operands)
    pairs = [_without_repeats(x, term) for x, term in zip(operands, terms)]
    pairs = _of_one_size(pairs)
    wanted = f"{','.join(term for _, term in pairs)}->{out}"
    return einsum_records.einsum(*(x for x, _ in pairs), equation=wanted)


def _explicit(equation: str, operands: Sequence[Any]) -> tuple[list[str], str]:
    """Returns the letters of each operand and of the result, with letters for an ellipsis.

    Without an arrow the result has the letters that occur once, in alphabetical order.
    """
    left, arrow, out = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise ShapeError(f"'{equation}' is for {len(terms)} operands, not {len(operands)}")
    free = [letter for letter in ascii_letters if letter not in equation]
    longest = ""
    for k, term in enumerate(terms):
        if "..." in term:
            count = known_rank(operands[k], "an ellipsis in einsum") - len(term) + 3
            dots = "".join(free[-count:]) if count else ""
            longest = max(longest, dots, key=len)
            terms[k] = term.replace("...", dots)
    if not arrow:
        letters = "".join(terms)
        once = sorted(c for c in set(letters) if letters.count(c) == 1 and c not in longest)
        out = "..." + "".join(once)
    out = out.replace("...", longest)
    for letter in out:
        if out.count(letter) > 1 or not any(letter in term for term in terms):
            raise ShapeError(
                f"the output of '{equation}' must contain only letters of the operands, each once"
            )
    return terms, out


def _without_repeats(x: Any, term: str) -> tuple[Any, str]:
    """Takes the diagonal of an operand for each letter that occurs twice in it."""
    for letter in term:
        if term.count(letter) > 1:
            first, second = [k for k, other in enumerate(term) if other == letter][:2]
            rest = [k for k in range(len(term)) if k not in (first, second)]
            x = rearrange.diagonal(arrays.transpose(x, (*rest, first, second)), offset=0)
            return _without_repeats(x, "".join(term[k] for k in rest) + letter)
    return x, term


def _of_one_size(pairs: Sequence[tuple[Any, str]]) -> list[tuple[Any, str]]:
    """Drops axes of size 1 whose letter names a larger axis of another operand: they broadcast."""
    large = {
        letter
        for x, term in pairs
        for letter, dim in zip(term, shape_of(x) or ())
        if dim not in (1, None)
    }
    reduced = []
    for x, term in pairs:
        shape = shape_of(x)
        if shape is not None and len(shape) == len(term):
            dropped = tuple(k for k, c in enumerate(term) if shape[k] == 1 and c in large)
            if dropped:
                x = concat_and_pad.squeeze(x, axes=dropped)
                term = "".join(c for k, c in enumerate(term) if k not in dropped)
        reduced.append((x, term))
    return reduced


def cross(input: Any, other: Any, dim: int | None = None) -> Tensor:
    """Returns the cross product of vectors of three along ``dim`` (None: the first axis of size
    3)."""
    if dim is None:
        shape = shape_of(input)
        if shape is None or 3 not in shape:
            raise ShapeError("a cross product needs an axis of size 3", "pass it as dim=...")
        dim = shape.index(3) - len(shape)
    if rank_of(input) == rank_of(other):
        dim = axis_of(dim, rank_of(input))
    return einsum_records.cross(input, other, axis=dim)


__all__ = ["cross", "einsum"]
