"""What the last stage adds, when nothing will be differentiated any more: writing over memory.

These records are of kind ``lowered``; the verifier lets them stand in no earlier stage, and holds
every write against ``ir/memory.py``. They have no derivative.
"""

from __future__ import annotations

from autodiff_compiler.ir.opdef import OpDef

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
    "Number key of the arrays to work in that a caller may lend, the tuple work.",
    ("work",),
    "{work}[{key}]",
    lambda types, *, key: types[0].items[key],
    kind="lowered",
    label="buffer",
)
