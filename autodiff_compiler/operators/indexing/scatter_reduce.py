"""Products, maxima and minima scattered to the positions that an index names.

The index is that of ``indexing.py``; a position named twice gets the product, or the extreme, of
its old value and all new ones. Sums are ``add_at``, plain writing is ``set_item``.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import Type
from autodiff_compiler.operators.core.index_patterns import Index, index_text
from autodiff_compiler.operators.core.structure import cast_like, shape_argument, unbroadcast
from autodiff_compiler.operators.elementwise.arithmetic import where
from autodiff_compiler.operators.elementwise.comparisons import equal
from autodiff_compiler.operators.indexing.indexing import check_written, scatter, set_item
from autodiff_compiler.operators.indexing.indexing import index as read

Rules = dict[str, Callable[..., Any]]


def _gathered(name: str, function: str, doc: str, adjoint: Rules, tangent: Rules) -> OpDef:
    """Returns lines that combine ``acc`` with v at [index] by the ``at`` method of a NumPy
    function."""

    def numpy(types: Sequence[Type], *, index: Index, in_place: bool = False) -> str:
        head = "" if in_place else "{out} = {acc}.copy()\n"
        return f"{head}np.{function}.at({{out}}, {index_text(index, 2)}, {{v}})"

    return OpDef(
        name,
        doc,
        ("acc", "v", "*rest"),
        numpy,
        lambda types, *, index, in_place=False: check_written(types, index),
        adjoint={**adjoint, "*rest": lambda: None},
        tangent=tangent,
        label="{acc}",
        writes=True,
    )


def _scattered(v: Any, like: Any, rest: Sequence[Any], index: Index) -> Any:
    """Returns zeros of the shape of ``like`` with v added at [index]."""
    shape, more = shape_argument(like)
    return scatter(v, *rest, *more, index=index, shape=shape)


def _others(acc: Any, v: Any, out: Any, rest: Sequence[Any], index: Index) -> Any:
    """Returns for each element of v the product of all others at its position, exact at zeros too.

    Only the positions in the index are touched.
    """
    zero = equal(v, 0.0)
    spread = _scattered(cast_like(zero, acc), acc, rest, index)
    zeros, filled = read(spread, *rest, index=index), where(zero, 1.0, v)
    ones = set_item(spread, 1.0, *rest, index=index)
    product = read(multiply_at(ones, filled, *rest, index=index), *rest, index=index)
    alone = where(equal(zeros, 1.0), read(acc, *rest, index=index) * product, 0.0)
    return where(zero, alone, read(out, *rest, index=index) / filled)


multiply_at: OpDef = _gathered(
    "multiply_at",
    "multiply",
    "acc with v multiplied in at [index]. d_v = ct * (product of the others); the second "
    "derivative is right wherever at most one factor of a position is zero.",
    adjoint={
        "acc": lambda ct, v, rest, index: multiply_at(ct, v, *rest, index=index),
        "v": lambda ct, acc, v, out, rest, index: unbroadcast(
            read(ct, *rest, index=index) * _others(acc, v, out, rest, index), v
        ),
    },
    tangent={
        "acc": lambda dot, v, rest, index: multiply_at(dot, v, *rest, index=index),
        "v": lambda dot, acc, v, out, rest, index: _scattered(
            dot * _others(acc, v, out, rest, index), acc, rest, index
        ),
    },
)


def _winners(acc: Any, v: Any, out: Any, rest: Sequence[Any], index: Index) -> tuple[Any, ...]:
    """Returns for each position in the index where acc wins, where v wins, and the number of
    winners."""
    best = read(out, *rest, index=index)
    old, new = equal(read(acc, *rest, index=index), best), equal(v, best)
    count = _scattered(cast_like(new, out), acc, rest, index)
    return old, new, cast_like(old, out) + read(count, *rest, index=index)


def _extreme(name: str, doc: str) -> OpDef:
    def to_acc(part: Any, acc: Any, v: Any, out: Any, rest: Sequence[Any], index: Index) -> Any:
        old, _, count = _winners(acc, v, out, rest, index)
        unchanged = where(old, read(part, *rest, index=index) / count, 0.0)
        return set_item(part, unchanged, *rest, index=index)

    def to_v(ct: Any, acc: Any, v: Any, out: Any, rest: Sequence[Any], index: Index) -> Any:
        _, new, count = _winners(acc, v, out, rest, index)
        return unbroadcast(where(new, read(ct, *rest, index=index) / count, 0.0), v)

    def from_v(dot: Any, acc: Any, v: Any, out: Any, rest: Sequence[Any], index: Index) -> Any:
        _, new, count = _winners(acc, v, out, rest, index)
        contribution = where(new, dot / count, 0.0)
        return _scattered(contribution, acc, rest, index)

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
