"""Products and extremes gathered at the positions that an index names.

The index is that of ``indexing.py``; a position named twice gets the product, or the extreme, of
all its values and of what stood there. Sums are ``add_at``, plain writing is ``set_item``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import Type
from autodiff_compiler.operators.compare import equal
from autodiff_compiler.operators.elementwise import where
from autodiff_compiler.operators.indexing import add_at, check_written
from autodiff_compiler.operators.indexing import index as read
from autodiff_compiler.operators.structure import cast_like, full_like, unbroadcast
from autodiff_compiler.operators.subscripts import Index, index_text

Rules = dict[str, Callable[..., Any]]


def _gathered(name: str, function: str, doc: str, adjoint: Rules, tangent: Rules) -> OpDef:
    """``acc`` combined with v at [index] by the ``at`` method of a NumPy function."""

    def numpy(types: Sequence[Type], *, index: Index) -> str:
        place = index_text(index, 2)
        return f"{{out}} = {{acc}}.copy()\nnp.{function}.at({{out}}, {place}, {{v}})"

    return OpDef(
        name,
        doc,
        ("acc", "v", "*rest"),
        numpy,
        lambda types, *, index: check_written(types, index),
        adjoint={**adjoint, "*rest": lambda: None},
        tangent=tangent,
        label="{acc}",
    )


def _factor(acc: Any, v: Any, rest: Sequence[Any], index: Index) -> Any:
    """What each position of ``acc`` is multiplied by."""
    return multiply_at(full_like(acc, value=1), v, *rest, index=index)


def _others(acc: Any, v: Any, out: Any, rest: Sequence[Any], index: Index) -> Any:
    """For each of v the product of all others at its position: exact also where some are zero."""
    zero = equal(v, 0.0)
    zeros = add_at(full_like(acc, value=0), cast_like(zero, acc), *rest, index=index)
    filled = where(zero, 1.0, v)
    whole = multiply_at(acc, filled, *rest, index=index)
    alone = read(where(equal(zeros, 1.0), whole, 0.0), *rest, index=index)
    return where(zero, alone, read(out, *rest, index=index) / filled)


multiply_at: OpDef = _gathered(
    "multiply_at",
    "multiply",
    "acc with v multiplied in at [index]. d_v = ct * (product of the others); the second "
    "derivative is right wherever at most one factor of a position is zero.",
    adjoint={
        "acc": lambda ct, acc, v, rest, index: ct * _factor(acc, v, rest, index),
        "v": lambda ct, acc, v, out, rest, index: unbroadcast(
            read(ct, *rest, index=index) * _others(acc, v, out, rest, index), v
        ),
    },
    tangent={
        "acc": lambda dot, acc, v, rest, index: dot * _factor(acc, v, rest, index),
        "v": lambda dot, acc, v, out, rest, index: add_at(
            full_like(acc, value=0), dot * _others(acc, v, out, rest, index), *rest, index=index
        ),
    },
)


def _winners(acc: Any, v: Any, out: Any, rest: Sequence[Any], index: Index) -> tuple[Any, ...]:
    """Where acc wins, where v wins, and how many winners each position has."""
    old, new = equal(acc, out), equal(v, read(out, *rest, index=index))
    return old, new, add_at(cast_like(old, out), cast_like(new, out), *rest, index=index)


def _extreme(name: str, doc: str) -> OpDef:
    def to_acc(part: Any, acc: Any, v: Any, out: Any, rest: Sequence[Any], index: Index) -> Any:
        old, _, count = _winners(acc, v, out, rest, index)
        return where(old, part / count, 0.0)

    def to_v(ct: Any, acc: Any, v: Any, out: Any, rest: Sequence[Any], index: Index) -> Any:
        _, new, count = _winners(acc, v, out, rest, index)
        return unbroadcast(where(new, read(ct / count, *rest, index=index), 0.0), v)

    def from_v(dot: Any, acc: Any, v: Any, out: Any, rest: Sequence[Any], index: Index) -> Any:
        _, new, count = _winners(acc, v, out, rest, index)
        share = where(new, dot / read(count, *rest, index=index), 0.0)
        return add_at(full_like(acc, value=0), share, *rest, index=index)

    return _gathered(
        f"{name}_at",
        name,
        doc,
        adjoint={
            "acc": lambda ct, acc, v, out, rest, index: to_acc(ct, acc, v, out, rest, index),
            "v": to_v,
        },
        tangent={
            "acc": lambda dot, acc, v, out, rest, index: to_acc(dot, acc, v, out, rest, index),
            "v": from_v,
        },
    )


maximum_at = _extreme("maximum", "acc, or the largest v at [index]; a tie shares the gradient.")
minimum_at = _extreme("minimum", "acc, or the smallest v at [index]; a tie shares the gradient.")
