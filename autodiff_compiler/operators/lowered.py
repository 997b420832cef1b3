"""What the last stage adds, when nothing will be differentiated any more: writing over memory.

These records are of kind ``lowered``; the verifier lets them stand in no earlier stage, and holds
every write against ``ir/memory.py``. They have no derivative.
"""

from __future__ import annotations

from collections.abc import Sequence

from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import ArrayType, Type

into = OpDef(
    "into",
    "What the attribute text computes of the operands, in the memory of the last one: None there "
    "(a work array that nobody lent) makes a new array.",
    ("*rest",),
    lambda types, *, text: text,
    lambda types, *, text: types[-1],
    kind="lowered",
)

lent = OpDef(
    "lent",
    "Number key of the arrays to work in that a caller may lend, the tuple work. Those of a block "
    "begin at the same place.",
    ("work",),
    "{work}[{key}]",
    lambda types, *, key, block: types[0].items[key],
    kind="lowered",
    label="buffer",
)


def _part_type(types: Sequence[Type], *, rows: int) -> Type:
    (x, _) = types
    assert isinstance(x, ArrayType) and x.shape
    return ArrayType(x.dtype, (rows, *x.shape[1:]))


empty = OpDef(
    "empty",
    "An array whose elements are not set yet: tiles will fill all of it.",
    (),
    lambda types, *, shape, dtype: (
        f"np.empty({shape[0] if len(shape) == 1 else shape}, np.{dtype})"
    ),
    lambda types, *, shape, dtype: ArrayType(dtype, shape),
    kind="lowered",
)

part = OpDef(
    "part",
    "So many rows of x from row start on: a view.",
    ("x", "start"),
    "{x}[{start}:{start} + {rows}]",
    _part_type,
    kind="lowered",
    label="{x}_part",
    views=("x",),
)

filled = OpDef(
    "filled",
    "x itself, once part was written to a tile of it.",
    ("part", "x"),
    "{x}",
    lambda types: types[1],
    kind="lowered",
    label="{x}",
    views=("x",),
)
