"""Sample operands for every operator, at points where it is smooth.

The table-driven tests compare each operator's types, derivatives and emission on these. Floating
arrays are tried in several dtypes; numbers, and arrays of ints and bools, stay as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_compiler.operators.core.index_patterns import FULL
from autodiff_compiler.testing.array_samples import ARRAY_SAMPLES
from autodiff_compiler.testing.convolution_samples import CONVOLUTION_SAMPLES
from autodiff_compiler.testing.draw_samples import DRAW_SAMPLES
from autodiff_compiler.testing.function_samples import FUNCTION_SAMPLES
from autodiff_compiler.testing.matrix_samples import MATRIX_SAMPLES
from autodiff_compiler.testing.sampling import Sample, case, ints, real

__all__ = ["SAMPLES", "Sample", "case", "ints", "real"]

X, Y, ROW, COLUMN = real(2, 3), real(2, 3, seed=1), real(3, seed=2), real(2, 1, seed=3)
POSITIVE, ABOVE = real(2, 3, low=0.3, high=3.0), real(2, 3, low=0.4, high=3.0, seed=1)
UNIT, CUBE = real(2, 3, low=-0.9, high=0.9), real(2, 3, 4)
MASK = np.array([[True, False, True], [False, True, True]])
BITS = np.array([1, 6, 3])
TILES = [real(2, 2, seed=4), real(2, 2, seed=5), real(2, 2, seed=6)]

_PAIRS = (case(X, Y), case(X, ROW), case(COLUMN, ROW), case(X, real()), case(X, 0.7), case(0.7, X))
_QUOTIENTS = (
    case(X, ABOVE),
    case(COLUMN, real(3, low=0.5, high=2.0)),
    case(X, 1.5),
    case(0.7, ABOVE),
)
_ONE = (case(X), case(real()))
_REDUCTIONS = (
    case(X, axes=None, keepdims=False),
    case(CUBE, axes=(1,), keepdims=False),
    case(CUBE, axes=(0, 2), keepdims=True),
    case(X, axes=None, keepdims=True),
)
_SPREADS = tuple(case(*s.operands, **s.attrs, ddof=d) for s, d in zip(_REDUCTIONS, (0, 1, 0, 1)))
_EXTREMES = (
    *(case(*sample.operands, **sample.attrs, first=False) for sample in _REDUCTIONS),
    case(CUBE, axes=(1,), keepdims=False, first=True),
    case(CUBE, axes=(2,), keepdims=True, first=True),
)
_ARGUMENTS = (case(X, axis=None, keepdims=False), case(CUBE, axis=1, keepdims=True))
_CHECKS = (case(X, X.copy()), case(X, ROW), case(X, 0.5), case(0.5, X))
_FINITE = (case(np.array([1.0, np.nan, np.inf, -np.inf])),)
_LOGIC = (case(MASK, MASK[::-1].copy()), case(X, MASK))
_ALONG = (case(CUBE, axis=1), case(CUBE, axis=2), case(real(5), axis=0))

#: Indices of ``CUBE``, and the run-time operands in them.
_PLACES: tuple[tuple[tuple[Any, ...], tuple[Any, ...]], ...] = (
    ((0,), ()),
    ((-1, 1), ()),
    ((("slice", 0, 2, None), 1), ()),
    (("...", 2), ()),
    ((FULL, None, ("slice", None, None, -2)), ()),
    ((("op", 0),), (1,)),
    ((), ()),
    ((FULL, ("slice", ("op", 0), ("op", 1), None)), (0, 2)),
    ((("op", 0),), (ints(2, 2, below=2),)),
    ((("op", 0), FULL, ("op", 1)), (ints(3, below=2), ints(3, below=4))),
    ((FULL, ("op", 0)), (np.array([2, 0, 2]),)),
    ((("op", 0),), (MASK,)),
    ((FULL, 1, ("op", 0)), (np.array([3, 0]),)),
    ((("op", 0),), (np.array(1),)),
    ((True, 0), ()),
    ((FULL, ("op", 0)), (np.array(True),)),
)


def _place(index: tuple[Any, ...], rest: tuple[Any, ...]) -> np.ndarray:
    """Returns an array of the shape of ``CUBE`` at an index, computed by NumPy and not by the
    operator."""

    def part(item: Any) -> Any:
        if isinstance(item, str):
            return ...
        if not isinstance(item, tuple):
            return item
        return rest[item[1]] if item[0] == "op" else slice(*map(part, item[1:]))

    part_of_cube: np.ndarray = np.cos(CUBE[tuple(map(part, index))])
    return part_of_cube


_INDEX = tuple(case(CUBE, *rest, index=index) for index, rest in _PLACES)
_SCATTER = tuple(
    case(_place(index, rest), *rest, index=index, shape=(2, 3, 4)) for index, rest in _PLACES
)
_ADD_AT = tuple(case(CUBE, _place(index, rest), *rest, index=index) for index, rest in _PLACES)
_SET_ITEM = tuple(case(CUBE, _place(index, rest), *rest, index=index) for index, rest in _PLACES)


def _all(names: str, samples: tuple[Sample, ...]) -> dict[str, tuple[Sample, ...]]:
    """Returns the same samples for a family of operators."""
    return dict.fromkeys(names.split(), samples)


SAMPLES: dict[str, tuple[Sample, ...]] = {
    # arithmetic
    "add": _PAIRS,
    "sub": _PAIRS,
    "mul": _PAIRS,
    "div": _QUOTIENTS,
    **_all("zero_mul zero_div", _QUOTIENTS),
    "unit": (case(X, POSITIVE[:, :1], axes=(1,)), case(X, np.array(1.5), axes=None)),
    "floor_div": _QUOTIENTS,
    "mod": _QUOTIENTS,
    "pow": (
        case(POSITIVE, X),
        case(X, 2),
        case(X, 3),
        case(X, 1),
        case(X, 0),
        case(2.0, X),
        case(POSITIVE, 0.5),
        case(POSITIVE, ROW),
        case(POSITIVE, -1.5),
    ),
    "maximum": _PAIRS,
    "minimum": _PAIRS,
    "atan2": _QUOTIENTS,
    "where": (case(MASK, X, Y), case(MASK, X, 0.0), case(MASK, 1.0, ROW), case(MASK, 1.0, 2.0)),
    "clip": (case(X, -1.05, 1.05), case(X, ROW - 1.0, ROW + 1.0), case(X, real() - 1.0, 1.0)),
    "neg": _ONE,
    "abs": _ONE,
    "square": _ONE,
    "relu": _ONE,
    "bit_and": (case(BITS, BITS[::-1].copy()), case(MASK, MASK[0])),
    "bit_or": (case(BITS, BITS[::-1].copy()), case(MASK, MASK[0])),
    "bit_xor": (case(BITS, BITS[::-1].copy()), case(MASK, MASK[0])),
    "invert": (case(MASK), case(BITS)),
    "stop_gradient": _ONE,
    # functions of one operand
    **_all(
        "exp expm1 sin cos asinh sinh cosh tanh tanh_slope sigmoid sigmoid_slope softplus atan",
        _ONE,
    ),
    **_all("log sqrt rsqrt reciprocal log1p", (case(POSITIVE), case(real() + 1.0))),
    **_all("tan asin acos atanh", (case(UNIT), case(real(low=-0.5, high=0.8)))),
    "acosh": (case(POSITIVE + 1.0),),
    **_all("sign floor ceil round trunc", _ONE),
    # comparison
    **_all("equal not_equal less less_equal greater greater_equal", _CHECKS),
    **_all("logical_and logical_or logical_xor", _LOGIC),
    "logical_not": (case(MASK), case(X)),
    **_all("isnan isinf isfinite", _FINITE),
    # reductions
    **_all("sum mean prod logsumexp norm", _REDUCTIONS),
    **_all("all any", (case(MASK, axes=None, keepdims=False), *_REDUCTIONS)),
    **_all("max min", _EXTREMES),
    **_all("argmax argmin", _ARGUMENTS),
    **_all("var std", _SPREADS),
    **_all("softmax log_softmax cumsum", _ALONG),
    # products
    "matmul": (
        case(X, real(3, 4)),
        case(ROW, real(3, 4)),
        case(X, ROW),
        case(ROW, ROW + 1.0),
        case(CUBE, real(4, 2)),
        case(CUBE, real(2, 4, 5)),
        case(real(1, 3, 4), real(2, 4, 2)),
        case(CUBE, real(4)),
        case(ROW, CUBE),
        case(real(2, 2, 3), CUBE),
    ),
    "outer": (case(ROW, real(4)),),
    # structure
    "shape_of": (case(X),),
    "cast": (case(X, dtype="float64"), case(BITS, dtype="float32"), case(X, dtype="int32")),
    "reshape": (case(X, shape=(3, 2)), case(X, shape=(-1,)), case(real(1), shape=())),
    "broadcast_to": (
        case(ROW, shape=(2, 3)),
        case(COLUMN, shape=(4, 2, 3)),
        case(real(), shape=(2,)),
    ),
    "unbroadcast_to": (case(CUBE, (3, 1)), case(X, (2, 3)), case(X, ())),
    "expand_dims": (case(X, axes=(0,)), case(X, axes=(-1,)), case(X, axes=(0, 2))),
    "transpose": (case(X, perm=(1, 0)), case(CUBE, perm=(1, 2, 0)), case(CUBE, perm=(-1, 0, 1))),
    "swap_last_axes": (case(X), case(CUBE)),
    "copy": _ONE,
    "full": (
        case(shape=(2, 3), dtype="float32", value=0),
        case(shape=(), dtype="float64", value=1),
        case(shape=(4,), dtype="float32", value=2.5),
    ),
    "arange": (
        case(bounds=(0, 5, 1), dtype="int64"),
        case(bounds=(0.0, 1.0, 0.3), dtype="float32"),
    ),
    "eye": (case(rows=3, columns=3, dtype="float32"), case(rows=2, columns=3, dtype="float64")),
    "basis": (case(count=3, dtype="float32"), case(count=1, dtype="float64")),
    "linspace": (case(start=0.0, stop=1.0, count=5),),
    "full_like": (case(X, value=0), case(real(), value=1), case(X, value=2.5)),
    # joining
    "size_of": (case(CUBE, axes=None), case(CUBE, axes=(0, 2))),
    "concat": (case(X, Y, axis=0), case(X, COLUMN, axis=1), case(X, COLUMN, Y, axis=-1)),
    "stack": (case(X, Y, axis=0), case(X, Y, X, axis=2), case(X, Y, axis=-1)),
    "squeeze": (case(COLUMN, axes=(1,)), case(real(1, 3, 1), axes=None)),
    "pad": (case(X, widths=((1, 0), (0, 2)), value=0), case(ROW, widths=((1, 1),), value=2.5)),
    "flip": (case(X, axes=None), case(X, axes=(1,))),
    **ARRAY_SAMPLES,
    **CONVOLUTION_SAMPLES,
    **DRAW_SAMPLES,
    **FUNCTION_SAMPLES,
    **MATRIX_SAMPLES,
    # parts
    "index": _INDEX,
    "scatter": _SCATTER,
    "add_at": _ADD_AT,
    "set_item": _SET_ITEM,
    "increment_at": _SET_ITEM,
    "take_along": (
        case(X, ints(2, 3, below=2), axis=0),
        case(CUBE, ints(2, 3, 2, below=4), axis=2),
        case(ROW, ints(4, below=3), axis=0),
    ),
    "put_along": (
        case(X, ints(2, 3, below=2), axis=0, shape=(2, 3)),
        case(CUBE, ints(2, 3, 4, below=3), axis=2, shape=(2, 3, 3)),
        case(ROW, ints(3, below=3), axis=0, shape=(5,)),
    ),
    "add_along": (
        case(X, real(2, 1), ints(2, 1, below=3), axis=1),
        case(CUBE, real(2, 3, 4), ints(2, 3, 4, below=3), axis=1),
    ),
    # lists
    "list_item": (case(TILES, 1), case(TILES, -1)),
    "list_length": (case(TILES),),
    "list_zeros": (case(TILES),),
    "list_ones": (case(TILES),),
    "zeros_if_set": (case(X, path=()), case(TILES, path=())),
    "list_add": (case(TILES, TILES[::-1]),),
    "list_append": (case(TILES, real(2, 2)),),
    "list_head": (case(TILES),),
    "list_set": (case(TILES, real(2, 2), 1), case(TILES, real(2, 2), -1)),
    "list_add_at": (case(TILES, real(2, 2), 1), case(TILES, real(2, 2), -1)),
    "list_slice": (case(TILES, 1, None, None), case(TILES, None, None, -1)),
    "list_unslice": (case(TILES[:2], TILES, None, 2, None),),
    "list_join": (case(TILES, TILES[:2]),),
    "list_repeat": (case(TILES, 2), case(TILES, 0)),
    "list_unrepeat": (case([*TILES, *TILES[::-1]], TILES),),
    "list_sum": (case(TILES, may_be_empty=False),),
    "list_sum_from": (case(TILES, real(2, 2)),),
    "list_broadcast": (case(real(2, 2), TILES),),
    "list_sum_items": (case(TILES, real(2, 2)),),
    "list_concat": (case(TILES, axis=0), case(TILES, axis=1)),
    "list_split": (case(real(6, 2), TILES, axis=0),),
    "list_copy": (case(TILES),),
    "list_as": (case([0.5, -1.5], type="f64[]"),),
    "list_own": (case(TILES),),
    "list_pad": (case(TILES[:2], TILES),),
    "list_trim": (case(TILES, TILES[:2]),),
    "stack_rows": (case(TILES, length=3),),
    "list_rows": (case(CUBE),),
    # numbers
    "dim": (case(X, axis=1),),
    "shape_item": (case((2, 3), at=1),),
    "as_float": (case(real()), case(real(1, 1))),
    "to_number": (case(real(), kind="float"), case(real(1, 1), kind="float")),
    "undefined": (case(),),
    "is_unset": (case(X),),
}
