"""The text of a scatter-add, number by number.

``np.add.at`` is several times as fast if the array has one axis and single numbers are added. The
positions of all numbers are therefore computed, part by part, so that they stay in the cache. The
order is the same, and so are the bits.
"""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Sequence

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.types import Shape, Type
from autodiff_compiler.operators.core.declare import broadcast_shapes, shape_of_type, static_sizes
from autodiff_compiler.operators.core.index_patterns import (
    FULL,
    Index,
    index_text,
    may_repeat_positions,
)


def added_text(
    v: Type, rest: Sequence[Type], index: Index, shape: Shape, fixed: int = 1, new: bool = True
) -> str:
    """Returns the lines that add v to ``{out}``; ``new`` says that it is surely row-major."""
    numbers = _numbers_added(v, rest, index, shape, fixed) if new else None
    return numbers or f"np.add.at({{out}}, {index_text(index, fixed)}, {{v}})"


def wants_zeros(v: Type, rest: Sequence[Type], index: Index, shape: Shape) -> bool:
    """True if it is faster to add v to zeros, and the zeros to an array, than v to the array
    itself.

    It is if v is added number by number, and there are few more zeros than numbers.
    """
    numbers, zeros = static_sizes(shape_of_type(v)), static_sizes(shape)
    if numbers is None or zeros is None or not may_repeat_positions(index, rest):
        return False
    if _numbers_added(v, rest, index, shape, 1) is None:
        return False
    return math.prod(zeros) <= costs().scattered_zeros_ratio * math.prod(numbers)


def _numbers_added(
    v: Type, rest: Sequence[Type], index: Index, shape: Shape, fixed: int
) -> str | None:
    """Returns lines that add numbers, rows or columns where arrays of ints point in a new array.

    None if a size is unknown, the index has another form, or there are few numbers.
    """
    values, sizes, count = static_sizes(shape_of_type(v)), static_sizes(shape), len(index)
    if not values or not sizes:
        return None
    arrays = rest[: count if FULL not in index else 1]
    dtypes = [getattr(array, "dtype", None) for array in arrays]
    if math.prod(values) < costs().scattered_elements or not {"int32", "int64"}.issuperset(dtypes):
        return None
    named = [shape_of_type(array) for array in arrays]
    places = broadcast_shapes(named) if None not in named else None
    if not places:
        return None
    if index == (FULL, ("op", 0)) and values == (sizes[0], *places, *sizes[2:]):
        return _columns_added(f"{{{fixed}}}", values, sizes)
    if index != tuple(("op", k) for k in range(count)) or values != (*places, *sizes[count:]):
        return None
    narrow = dtypes[0] == "int32"
    terms = _row_offsets(sizes, count, fixed, narrow)
    return _rows_added(terms, narrow, values, math.prod(sizes[count:]))


def _row_offsets(sizes: Sequence[int], count: int, fixed: int, narrow: bool) -> list[str]:
    """Returns the terms whose sum numbers the rows that ``count`` operands select.

    ``narrow`` says that the first operand is of int32, in which a product may overflow.
    """
    first, step = f"{{{fixed}}}", math.prod(sizes[1:count])
    if count > 1:
        first = f"{first} * np.int64({step})" if narrow else f"{first} * {step}"
    return [first, *(row_offsets(f"{{{fixed + k}}}", sizes, k, count) for k in range(1, count))]


def row_offsets(places: str, shape: Sequence[int], axis: int, count: int) -> str:
    """Returns the offsets of ``places`` on an axis, in rows; the first ``count`` axes number the
    rows.

    ``take`` from all offsets counts negative places from the end, and refuses those out of range.
    """
    step = math.prod(shape[axis + 1 : count])
    return f"np.arange({_every(shape[axis], step)}).take({places})"


def _every(size: int, step: int) -> str:
    return f"0, {size * step}, {step}" if step > 1 else f"{size}"


def _rows_at_once(shape: Sequence[int]) -> int:
    """Returns how many rows of an array of this shape are added at a time."""
    return max(1, shape[0] * costs().scatter_step_elements // math.prod(shape))


def _rows_added(terms: Sequence[str], narrow: bool, values: Sequence[int], row: int) -> str | None:
    """Returns the lines that add rows of ``row`` numbers at the sum of ``terms``."""
    if row < 2 and len(terms) < 2:
        return None
    step = _rows_at_once(values)
    rows, head, part = terms[0], "", ""
    if len(terms) > 1:
        rows, head = "places", f"places = {' + '.join(terms)}\n"
    if row < 2:
        return f"{head}np.add.at({{out}}.reshape(-1), places.ravel(), {{v}}.ravel())"
    if step < values[0]:
        part = "[i]" if step == 1 else f"[i : i + {step}]"
        count = f"{values[0]}" if step == 1 else f"0, {values[0]}, {step}"
        head += f"for i in range({count}):\n    "
    wide = f"np.int64({row})" if narrow and len(terms) < 2 else row
    flat = f"({rows}{part}[..., None] * {wide} + np.arange({row})).ravel()"
    return f"{head}np.add.at({{out}}.reshape(-1), {flat}, {{v}}{part}.ravel())"


def _columns_added(places: str, values: Sequence[int], sizes: Sequence[int]) -> str:
    """Returns the lines that add to columns, a block of rows at a time."""
    row = math.prod(sizes[2:])
    step = min(_rows_at_once(values), sizes[0])
    flat = f"np.arange({step})[:, None] * {sizes[1]} + {row_offsets(places, sizes, 1, 2)}.ravel()"
    if row > 1:
        flat = f"({flat})[..., None] * {row} + np.arange({row})"
    places = f"places = ({flat}).ravel()"
    if step == sizes[0]:
        return f"{places}\nnp.add.at({{out}}.reshape(-1), places, {{v}}.ravel())"
    part = f"[i : i + {step}]"
    return (
        f"{places}\nfor i in range(0, {sizes[0]}, {step}):\n    terms = {{v}}{part}.ravel()\n"
        f"    np.add.at({{out}}{part}.reshape(-1), places[: terms.size], terms)"
    )


def added_along(i: Type, shape: Shape, axis: int) -> str | None:
    """Returns the lines that add v to a new array at positions i along one axis. Along all other
    axes, i is as large as v. Returns None if numbers are few, or sizes are unknown.
    """
    sizes, target = static_sizes(shape_of_type(i)), static_sizes(shape)
    dtype = getattr(i, "dtype", None)
    if not sizes or not target or len(sizes) < 2 or dtype not in ("int32", "int64"):
        return None
    if math.prod(sizes) < costs().scattered_elements:
        return None
    axis, part, rows = axis % len(sizes), "", sizes[0]
    if axis:
        few, ratio = _rows_at_once(sizes), costs().divisor_search_ratio
        rows = next(k for k in range(min(few, sizes[0]), 0, -1) if sizes[0] % k == 0)
        rows = rows if ratio * rows > few else sizes[0]  # a prime number of rows is one block
        part = f"[i : i + {rows}]" if rows < sizes[0] else ""
    terms = [
        _broadcast_offsets(size, target, place) for place, size in enumerate((rows, *sizes[1:]))
    ]
    wide = f"np.int64({math.prod(target[1:])})" if dtype == "int32" else math.prod(target[1:])
    terms[axis] = (
        row_offsets(f"{{i}}{part}", target, axis, len(target)) if axis else f"{{i}} * {wide}"
    )
    line = (
        f"np.add.at({{out}}{part}.reshape(-1), ({' + '.join(terms)}).ravel(), {{v}}{part}.ravel())"
    )
    return f"for i in range(0, {sizes[0]}, {rows}):\n    {line}" if part else line


def _broadcast_offsets(size: int, shape: Sequence[int], axis: int) -> str:
    """Returns the offsets of the places below ``size`` on an axis, shaped to broadcast along it."""
    step, upright = math.prod(shape[axis + 1 :]), ", None" * (len(shape) - 1 - axis)
    return f"np.arange({_every(size, step)})" + (f"[:{upright}]" if upright else "")
