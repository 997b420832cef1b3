"""Samples of the operators that move, order and place elements."""

from __future__ import annotations

import numpy as np

from autodiff_compiler.operators.core.index_patterns import FULL
from autodiff_compiler.testing.sampling import Sample, case, ints, real

X, ROW, CUBE, SQUARE = real(2, 3), real(3, seed=2), real(2, 3, 4), real(3, 3, seed=4)
_TWICE = np.array([2, 0, 2])
_PAIR = (ints(3, below=2), ints(3, below=4))

#: Indices of ``CUBE`` that name some places twice.
_PLACES = (
    ((("op", 0),), (np.array([1, 1]),), (2, 3, 4)),
    ((FULL, ("op", 0)), (_TWICE,), (2, 3, 4)),
    ((("op", 0), FULL, ("op", 1)), _PAIR, (3, 3)),
)
#: The same with values to write.
_WRITTEN = (
    *(case(CUBE, real(*shape, seed=7), *rest, index=index) for index, rest, shape in _PLACES),
    case(CUBE, 0.6, _TWICE, index=(FULL, ("op", 0))),
    case(ROW, real(seed=3), _TWICE, index=(("op", 0),)),
)
_MATRICES = (case(SQUARE, offset=0), case(X, offset=1), case(CUBE, offset=-1), case(X, offset=-5))
_MIRRORED = ((X, ((1, 0), (2, 1))), (ROW, ((2, 2),)), (CUBE, ((0, 0), (0, 2), (3, 0))))

ARRAY_SAMPLES: dict[str, tuple[Sample, ...]] = {
    # moving
    "tile": (case(X, counts=(2, 3)), case(ROW, counts=(2,)), case(CUBE, counts=(1, 2, 1))),
    "repeat": (
        case(X, counts=2, axis=1),
        case(X, counts=(1, 0, 3), axis=1),
        case(ROW, np.array([2, 1, 0]), counts=None, axis=0),
        case(CUBE, counts=(2, 1), axis=0),
    ),
    "roll": (case(X, shifts=(1,), axes=(1,)), case(CUBE, shifts=(1, -2), axes=(0, 2))),
    "pad_mirrored": tuple(
        case(x, widths=widths, mode=mode)
        for mode in ("reflect", "symmetric", "edge", "wrap")
        for x, widths in _MIRRORED
        if mode != "reflect" or x is not X
    )
    + (case(X, widths=((1, 1), (2, 1)), mode="reflect"),),
    "tril": _MATRICES,
    "triu": _MATRICES,
    "diagonal": _MATRICES[:3],
    "put_diagonal": (
        case(ROW, shape=(3, 3), offset=0),
        case(ROW, shape=(4, 4), offset=1),
        case(X, shape=(2, 4, 3), offset=-1),
    ),
    "triangle_indices": (
        case(name="tril", rows=3, columns=3, k=0),
        case(name="triu", rows=2, columns=4, k=1),
        case(name="tril", rows=4, columns=2, k=-1),
    ),
    # ordering
    "argsort": (
        case(X, axis=1, descending=False),
        case(CUBE, axis=0, descending=True),
        case(ints(5, below=3), axis=0, descending=True),
    ),
    "searchsorted": (case(np.sort(ROW), X, side="left"), case(np.sort(ROW), ROW, side="right")),
    "nonzero": (case(X > 0), case(CUBE)),
    "first_occurrences": (case(ints(5, below=3)), case(X)),
    "unique": (case(X), case(ROW)),
    # placing
    "last_writer": tuple(case(*rest, index=index, shape=CUBE.shape) for index, rest, _ in _PLACES),
    "multiply_at": _WRITTEN,
    "maximum_at": _WRITTEN,
    "minimum_at": _WRITTEN,
    # products that name their axes
    "einsum": (
        case(X, real(3, 4), equation="ij,jk->ik"),
        case(X, equation="ij->j"),
        case(CUBE, X, ROW, equation="ijk,ij,j->k"),
        case(X, ROW, equation="ij,k->i"),
        case(CUBE, real(2, 3, seed=5), equation="ijk,ij->ki"),
    ),
    "cross": (case(X, real(2, 3, seed=1), axis=1), case(real(3, 2), real(3, 1, seed=1), axis=0)),
}
