"""Operators of the last stages, which write into existing memory.

These operators are of kind ``lowered``; the verifier lets them stand in no earlier stage, and holds
every write against ``ir/verify/memory_safety.py``. They have no derivative.
"""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Sequence
from typing import Any

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import Value, type_of
from autodiff_compiler.ir.opdef import OPERATORS, OpDef
from autodiff_compiler.ir.types import COMPLEX, ArrayType, Type
from autodiff_compiler.operators.core.declare import (
    broadcast_shapes,
    expect_array_type,
    shape_of_type,
)
from autodiff_compiler.operators.core.structure import reduced_shape

compute_into = OpDef(
    "compute_into",
    "The result of the NumPy call in the attribute text, written into the last operand. If "
    "that operand is None (an absent workspace buffer), a new array is allocated.",
    operands=("*rest",),
    numpy=lambda types, *, text: text,
    result=lambda types, *, text: types[-1],
    kind="lowered",
)

update = OpDef(
    "update",
    "x after a statement that writes all of it, such as x *= y.",
    operands=("x", "*rest"),
    numpy=lambda types, *, text, in_place: text,
    result=lambda types, *, text, in_place: types[0],
    kind="lowered",
    label="{x}",
)

work_buffer = OpDef(
    "work_buffer",
    "Item key of the tuple work, the buffers that a caller may give. Buffers of one allocation "
    "begin at the same address. A donated one may be returned: no other call gets it.",
    operands=("work",),
    numpy="{work}[{key}]",
    result=lambda types, *, key, allocation, donated=False: types[0].items[key],
    kind="lowered",
    label="buffer",
)

copy_if_set = OpDef(
    "copy_if_set",
    "A copy of x, or nothing if x is unset.",
    operands=("x",),
    numpy="None if {x} is None else {x}.copy()",
    result=lambda types: types[0],
    kind="lowered",
    label="{x}",
)

#: Integers as wide as a float.
BITS = {"float16": "int16", "float32": "int32", "float64": "int64"}


def _bits(type_: Type, x: str, dtype: str) -> str:
    """Returns the text of the bits of ``x``, a float of this dtype or a number."""
    if not isinstance(type_, ArrayType):
        x = f"np.{dtype}({x})"
    elif not type_.shape:
        x = f"np.asarray({x})"
    return f"{x}.view(np.{BITS[dtype]})"


def mask_bits_text(type_: Type, x: str, c: str) -> str:
    """Returns the text of ``mask_bits``, or of ``np.where`` if the dtype is unknown."""
    dtype = getattr(type_, "dtype", None)
    if dtype not in BITS:
        return f"np.where({c}, {x}, 0)"
    return f"({x}.view(np.{BITS[dtype]}) * {c}).view(np.{dtype})"


def _masked_numpy(types: Sequence[Type]) -> str:
    dtype = expect_array_type(types[0]).known_dtype
    return f"({_bits(types[0], '{x}', dtype)} * {{c}}).view(np.{dtype})"


def _flips_numpy(types: Sequence[Type], *, dtype: str) -> str:
    x, y = (_bits(type_, slot, dtype) for type_, slot in zip(types, ("{x}", "{y}")))
    return f"({x} ^ {y}).view(np.{dtype})"


def _broadcast_type(types: Sequence[Type], *, dtype: str) -> Type:
    return ArrayType(dtype, broadcast_shapes([shape_of_type(type_) for type_ in types]))


mask_bits = OpDef(
    "mask_bits",
    "x where c is true, and 0 elsewhere, computed on the bits of x. It is exact for infinities "
    "and NaN, and many times as fast as a branch that the processor mispredicts.",
    operands=("x", "c"),
    numpy=_masked_numpy,
    result=lambda types: _broadcast_type(types, dtype=types[0].dtype),
    kind="lowered",
    label="{x}_masked",
)

xor_bits = OpDef(
    "xor_bits",
    "The bitwise exclusive or of x and y, floats of this dtype or numbers, as a float of this "
    "dtype.",
    operands=("x", "y"),
    numpy=_flips_numpy,
    result=_broadcast_type,
    kind="lowered",
    label="flips",
)


def choice_parts(c: Any, x: Any, y: Any) -> Any:
    """Decomposes a choice between floats by an array of bools into operations on their bits.

    None for any other choice. If neither value is zero, the result is y with the bits flipped in
    which x differs, where c is true.
    """
    if getattr(type_of(c), "dtype", None) != "bool":
        return None  # masking the bits works with bools alone
    for value, other in ((x, y), (y, x)):
        zero = type(other) in (int, float) and other == 0 and math.copysign(1, other) > 0
        if zero and isinstance(value, Value) and getattr(value.type, "dtype", None) in BITS:
            return mask_bits(value, c if value is x else OPERATORS["logical_not"](c))
    dtypes = {getattr(type_of(value), "dtype", ...) for value in (x, y)} - {...}
    (dtype,) = dtypes if len(dtypes) == 1 else (None,)
    if dtype not in BITS or any(type_of(value) == COMPLEX for value in (x, y)):
        return None
    return xor_bits(y, mask_bits(xor_bits(x, y, dtype=dtype), c), dtype=dtype)


def bound_parts(x: Any, y: Any, other: float) -> Any:
    """Decomposes the maximum or minimum of an array and a nonzero number into a ``clip``.

    The ``other`` bound is infinite. It takes half the time, since NumPy has fast loops only for two
    arrays. (Of two zeros ``maximum`` gives the second, a ``clip`` gives x.)
    """
    if not isinstance(x, Value):
        x, y = y, x
    if (
        isinstance(y, Value)
        or not y
        or getattr(x.type, "dtype", None) not in ("float32", "float64")
    ):
        return None
    return OPERATORS["clip"](x, *((y, other) if other > 0 else (other, y)))


def _part_type(types: Sequence[Type], *, rows: int) -> Type:
    (x, _) = types
    assert isinstance(x, ArrayType) and x.shape
    return ArrayType(x.dtype, (rows, *x.shape[1:]))


empty = OpDef(
    "empty",
    "An uninitialised array; tiles fill all of it.",
    operands=(),
    numpy=lambda types, *, shape, dtype: (
        f"np.empty({shape[0] if len(shape) == 1 else shape}, np.{dtype})"
    ),
    result=lambda types, *, shape, dtype: ArrayType(dtype, shape),
    kind="lowered",
)

tile_view = OpDef(
    "tile_view",
    "A number of rows of x from row start on: a view.",
    operands=("x", "start"),
    numpy="{x}[{start}:{start} + {rows}]",
    result=_part_type,
    kind="lowered",
    label="{x}_part",
    views=("x",),
)


def _lane_numpy(types: Sequence[Type], *, axis: int, start: int, stop: int) -> str:
    reaches_end = stop == expect_array_type(types[0]).dims[axis]
    return f"{{x}}[{':, ' * axis}{start or ''}:{'' if reaches_end else stop}]"


def _lane_type(types: Sequence[Type], *, axis: int, start: int, stop: int) -> Type:
    (x,) = types
    assert isinstance(x, ArrayType) and x.shape
    size = x.shape[axis]
    assert isinstance(size, int) and axis > 0 and 0 <= start < stop <= size
    return ArrayType(x.dtype, (*x.shape[:axis], stop - start, *x.shape[axis + 1 :]))


slice_view = OpDef(
    "slice_view",
    "The slice of x from start up to stop along an axis that is not the first: a view. Disjoint "
    "slices of one array may be written independently.",
    operands=("x",),
    numpy=_lane_numpy,
    result=_lane_type,
    kind="lowered",
    label="{x}_lane",
    views=("x",),
)

after_write = OpDef(
    "after_write",
    "x after part was written to one of its tiles.",
    operands=("part", "x"),
    numpy="{x}",
    result=lambda types: types[1],
    kind="lowered",
    label="{x}",
    views=("x",),
)


def _dot_numpy(types: Sequence[Type], *, axes: Sequence[int], keepdims: bool) -> str:
    shape = expect_array_type(types[0]).static_shape
    rank, over = len(shape), tuple(axes)
    short = shape[-1] < costs().vecdot_elements and types[0] == types[1]
    if over == (rank - 1,) and rank > 1 and not short:
        return f"np.vecdot({{a}}, {{b}}{', keepdims=True' if keepdims else ''})"
    if len(over) == rank and not keepdims:
        return "np.vdot({a}, {b})"
    letters = "ijklmnop"[:rank]
    left = "".join(letter for axis, letter in enumerate(letters) if axis not in over)
    total = f'np.einsum("{letters},{letters}->{left}", {{a}}, {{b}})'
    kept_shape = tuple(1 if axis in over else dim for axis, dim in enumerate(shape))
    return f"{total}.reshape({kept_shape})" if keepdims else total


sum_of_products = OpDef(
    "sum_of_products",
    "sum(a * b) over axes, without the product in memory. The arrays are real and have one "
    "known shape; for the last axis alone, b may be broadcast to the shape of a.",
    operands=("a", "b"),
    numpy=_dot_numpy,
    result=lambda types, *, axes, keepdims: ArrayType(
        types[0].dtype, reduced_shape(types[0].shape, axes, keepdims)
    ),
    kind="lowered",
    label="{a}_dot_{b} product",
)
