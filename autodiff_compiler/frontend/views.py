"""Views of NumPy arrays: a write through one name shows under every name of the same memory.

Values are never changed, so a write makes new ones. What is written to through a view is put into
the array that it is a view of, and whatever else views that array is looked up in it again. Where
it is not certain what a name is a view of (ways met, a loop began), the name is lost (``memory``).
"""

from __future__ import annotations

from typing import Any

from autodiff_compiler.frontend.values import leaves
from autodiff_compiler.ir.nodes import Op, Value, type_of
from autodiff_compiler.ir.types import INT, ArrayType
from autodiff_compiler.operators import indexing, structure

#: Operators whose result lies in the memory of their operand, whatever that is like.
_ALWAYS = ("transpose", "swap_last_axes", "squeeze", "expand_dims", "flip")


def may_share(op: Op) -> bool:
    """Whether the result of ``op`` may lie in the memory of its first operand."""
    type_ = op.results[0].type if op.results else None
    if not op.opdef.views or not isinstance(type_, ArrayType) or type_.ndim == 0:
        return False
    return op.opdef is not indexing.index or not any(_copies(p, op) for p in op.attrs["index"])


def _shares(op: Op | None) -> bool:
    """Whether it certainly does."""
    if op is None or not may_share(op):
        return False
    if op.opdef is not indexing.index:
        return op.name in _ALWAYS
    return all(_is_basic(part, op) for part in op.attrs["index"])


def _copies(part: Any, op: Op) -> bool:
    """Whether this part of an index makes NumPy take a copy: a bool, or an array of positions.
    What has no dimensions may be a NumPy number, which reads a view."""
    if not isinstance(part, tuple) or part[0] == "slice":
        return part is True
    type_ = type_of(op.operands[1 + part[1]])
    return isinstance(type_, ArrayType) and (type_.dtype == "bool" or bool(type_.ndim))


def _is_basic(part: Any, op: Op) -> bool:
    if isinstance(part, tuple):
        kind, *inner = part
        if kind == "slice":
            return all(_is_basic(end, op) for end in inner)
        place = op.operands[1 + inner[0]]
        return not isinstance(place, Value) or place.type == INT
    return part is None or part == "..." or type(part) is int


def changes(low: Any, owner: Value, new: Value) -> dict[Value, Value]:
    """What every value that lies in the memory of ``owner`` becomes, when that becomes ``new``."""
    base, now = owner, new
    while (maker := low.builder.producer(base)) is not None and _shares(maker):
        if maker.opdef is structure.transpose:
            now = structure.transpose(now, perm=structure.inverse(maker.attrs["perm"]))
        elif maker.opdef is structure.swap_last_axes:
            now = structure.swap_last_axes(now)
        elif maker.opdef is indexing.index:
            source, *rest = maker.operands
            now = indexing.set_item(source, now, *rest, index=maker.attrs["index"])
        else:
            break
        base = maker.operands[0]
    now.name, now.given = base.name, base.given
    found = {base: now}

    def follow(value: Any) -> Value | None:
        maker = low.builder.producer(value)
        if value in found or maker is None or not _shares(maker):
            return found.get(value)
        source = follow(maker.operands[0])
        if source is None:
            return None
        made: Value = maker.opdef(source, *maker.operands[1:], **maker.attrs)
        made.name, made.given = value.name, value.given
        found[value] = made
        return made

    follow(owner)
    frames = (frame.names for frame in low.waiting)
    for names in (low.state.names, low.state.heap, *frames):
        for thing in names.values():
            for leaf in leaves(thing):
                follow(leaf)
    return found
