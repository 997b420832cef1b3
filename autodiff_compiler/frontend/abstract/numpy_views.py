"""Views of NumPy arrays: a write through one name shows under every name of the same memory.

Values are never changed, so a write makes new ones. A write through a view is a write to the base
array. The other views of that array are computed from it again. After a join or at the start of an
iteration, the base of a view may be unknown. Then the name is lost (``aliasing.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.frontend.abstract.aliasing import TensorAliases, has_no_axes
from autodiff_compiler.frontend.abstract.evaluator import Evaluator
from autodiff_compiler.frontend.abstract.numpy_layouts import layout_of, static_shape
from autodiff_compiler.frontend.abstract.path_dtypes import record_path_dtypes
from autodiff_compiler.frontend.abstract.values import leaves
from autodiff_compiler.ir.nodes import Op, Value, array_type, type_of
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import INT, ArrayType
from autodiff_compiler.operators.core import structure
from autodiff_compiler.operators.core.index_patterns import is_slice
from autodiff_compiler.operators.elementwise import complex_parts as parts
from autodiff_compiler.operators.indexing import concat_and_pad, creation, indexing
from autodiff_compiler.operators.windows import rearrange


def _reshape_back(source: Value, new: Any, op: Op) -> Any:
    return structure.reshape_like(new, source)


def _write_diagonal(source: Value, new: Any, op: Op) -> Any:
    """Returns ``source`` with ``new`` on the diagonal that ``op`` read."""
    *_, rows, columns = static_shape(source) or (0, 0)
    offset = op.attrs["offset"]
    low, right = max(-offset, 0), max(offset, 0)
    count = min(rows - low, columns - right)
    places = [
        creation.arange(bounds=(start, start + count, 1), dtype="int64") for start in (low, right)
    ]
    return indexing.set_item(source, new, *places, index=("...", ("op", 0), ("op", 1)))


def with_written(source: Value, new: Any, rest: Sequence[Any], index: Any) -> Any:
    """Returns ``source`` with ``new`` written at an index. An array without axes is replaced
    as a whole, if the index selects all of it."""
    if source.ndim == 0 and all(part in ("...", None) for part in index):
        array = new if isinstance(new, Value) and isinstance(new.type, ArrayType) else None
        if array is not None and (array.ndim == 0 or static_shape(array) == (1,) * len(index)):
            array = array if array.ndim == 0 else structure.reshape(array, shape=())
            return structure.cast(array, dtype=array_type(source).dtype)
        if array is None:
            return structure.full_like(source, value=0) + new
    return indexing.set_item(source, new, *rest, index=index)


#: Functions that write the new value of a view to its base array, by the view's operator.
#: Results of other operators are not written through.
_WRITE_BACK: dict[OpDef, Callable[[Value, Any, Op], Any]] = {
    indexing.index: lambda source, new, op: with_written(
        source, new, op.operands[1:], op.attrs["index"]
    ),
    concat_and_pad.flip: lambda source, new, op: concat_and_pad.flip(new, axes=op.attrs["axes"]),
    concat_and_pad.squeeze: _reshape_back,
    rearrange.diagonal: _write_diagonal,
    parts.imag: lambda source, new, op: parts.real(source) + new * 1j,
    parts.real: lambda source, new, op: new + parts.imag(source) * 1j,
    structure.expand_dims: _reshape_back,
    structure.reshape: _reshape_back,
    structure.swap_last_axes: lambda source, new, op: structure.swap_last_axes(new),
    structure.transpose: lambda source, new, op: structure.transpose(
        new, perm=structure.inverse(op.attrs["perm"])
    ),
}


#: Operators whose results are arrays, also without axes.
_ARRAY_MAKERS = frozenset(("full", "empty", "full_like", "reshape", "broadcast_to"))
#: Operators whose results have at least one axis.
_WITH_AXES = frozenset(("concat", "stack", "stack_rows", "arange", "tile", "list_rows"))


def may_be_view(op: Op) -> bool:
    """True if the result of ``op`` may lie in the memory of its first operand."""
    type_ = op.results[0].type if op.results else None
    if not op.opdef.views or not isinstance(type_, ArrayType):
        return False
    if op.opdef is indexing.index:
        if type_.ndim == 0 and "..." not in op.attrs["index"]:
            return False  # a number
        return not any(_is_advanced_index(part, op) for part in op.attrs["index"])
    source = type_of(op.operands[0])
    if type_.ndim != 0 or isinstance(source, ArrayType) and source.ndim != 0:
        return True
    return op.opdef is not structure.reshape  # a reshaped number is a new array


def is_view(low: Evaluator, op: Op | None) -> bool:
    """True if the result of ``op`` certainly lies in the memory of its first operand."""
    if op is None or not may_be_view(op) or op.results[0] in low.compilation.aliases.bases:
        return False
    if _is_array(low, op.operands[0]) is not True:
        return False
    if op.opdef is indexing.index:
        parts = op.attrs["index"]
        surely_array = array_type(op.result).ndim is not None or any(
            part is None or part == "..." or is_slice(part) for part in parts
        )
        return surely_array and all(_is_basic_index(part, op) for part in parts)
    if op.opdef is structure.reshape:
        return op.results[0] in low.compilation.aliases.reshaped
    if op.opdef is rearrange.diagonal:
        return static_shape(op.operands[0]) is not None
    return op.opdef in _WRITE_BACK or op.opdef is structure.broadcast_to


def _is_array(low: Evaluator, source: Any) -> bool | None:
    """True if an operand is an array, False for a scalar of plain NumPy code, None if this is
    unknown. NumPy makes new arrays of scalars.
    """
    if not low.compilation.numpy or not has_no_axes(source):
        return True
    return low.compilation.aliases.is_array(source)


def record_aliases(low: Evaluator, op: Op) -> None:
    """Records the layout, the dtypes and the aliases of a new operation's result."""
    memory = low.compilation.aliases
    if not op.results or not isinstance(op.results[0].type, ArrayType):
        return
    record_path_dtypes(memory, op)
    _record_rank(memory, op)
    layout = layout_of(op, memory.layouts)
    result = op.results[0]
    if layout is not None:
        memory.layouts[result] = layout
    if may_be_view(op) and _is_array(low, op.operands[0]) is not False:
        memory.set_aliases(result, memory.of(op.operands[0]))
        if op.opdef is indexing.index:
            memory.set_is_array(result, True)
        if op.opdef is structure.reshape and (layout is not None or _keeps_order(op)):
            memory.reshaped.add(result)
        if op.operands[0] in memory.read_only or op.opdef is structure.broadcast_to:
            memory.read_only.add(result)


def _record_rank(memory: TensorAliases, op: Op) -> None:
    """Records if a result of unknown rank is an array, and if it has axes."""
    if array_type(op.results[0]).ndim is not None:
        return
    if op.name in _ARRAY_MAKERS:
        memory.arrays.add(op.results[0])
    keeps = op.opdef.kind == "elementwise" or op.opdef.batch == "elements"
    keeps = keeps or op.attrs.get("keepdims") is True
    if op.name in _WITH_AXES or keeps and any(map(memory.has_axes, op.operands)):
        memory.with_axes.add(op.results[0])


def _keeps_order(op: Op) -> bool:
    """True if a reshape is a view of an array of any layout."""
    have, want = (getattr(type_of(each), "shape", None) for each in (op.operands[0], op.results[0]))
    if have is not None and len(have) == 1:
        return True
    if have is None or want is None or None in (*have, *want):
        return False
    return [size for size in have if size != 1] == [size for size in want if size != 1]


def _is_advanced_index(part: Any, op: Op) -> bool:
    """True if this part of an index makes NumPy take a copy: a bool, or an array of positions.
    A position without dimensions may be a NumPy number, which reads a view."""
    if not isinstance(part, tuple) or part[0] == "slice":
        return part is True or part is False
    type_ = type_of(op.operands[1 + part[1]])
    return isinstance(type_, ArrayType) and (type_.dtype == "bool" or bool(type_.ndim))


def _is_basic_index(part: Any, op: Op) -> bool:
    if isinstance(part, tuple):
        kind, *inner = part
        if kind == "slice":
            return all(_is_basic_index(end, op) for end in inner)
        place = op.operands[1 + inner[0]]
        return not isinstance(place, Value) or place.type == INT
    return part is None or part == "..." or type(part) is int


def updated_views(low: Evaluator, owner: Value, new: Value) -> dict[Value, Value]:
    """Returns the new value of each view of the memory of ``owner``, when that becomes ``new``."""
    base, now = owner, new
    while (maker := low.builder.producer(base)) is not None and is_view(low, maker):
        write = _WRITE_BACK.get(maker.opdef)
        if write is None:
            break
        base = maker.value_operand(0)
        now = write(base, now, maker)
    now.name, now.has_user_name = base.name, base.has_user_name
    low.compilation.aliases.copy_facts(base, now)
    low.compilation.aliases.bases.add(now)
    updated = {base: now}

    def follow(value: Any) -> Value | None:
        maker = low.builder.producer(value)
        if value in updated or maker is None or not is_view(low, maker):
            return updated.get(value)
        source = follow(maker.operands[0])
        if source is None:
            return None
        view: Value = maker.opdef(source, *maker.operands[1:], **maker.attrs)
        view.name, view.has_user_name = value.name, value.has_user_name
        low.compilation.aliases.copy_facts(value, view)
        updated[value] = view
        return view

    follow(owner)
    waiting = (frame.names.values() for frame in low.waiting_frames)
    for things in (low.state.names.values(), low.state.heap.values(), *waiting):
        for leaf in leaves(tuple(things)):
            follow(leaf)
    return updated
