"""Copies and views: one table of what each NumPy function, method and attribute returns.

``COPY``     new memory.
``VIEW``     the memory of the first argument, or that argument itself.
``PERHAPS``  a view if it can be one: the layout, the dtype or another argument decides. If they
             are not known at compile time, a write to either makes the other unreadable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from autodiff_compiler.errors import UnsupportedSyntax
from autodiff_compiler.frontend.abstract.numpy_layouts import has_one_order, row_major, static_shape
from autodiff_compiler.frontend.abstract.path_dtypes import has_path_dtype, refuse_write_of_kinds
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.ir.nodes import Value, array_type
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core import structure

Order = Literal["C", "F", "A", "K"]
COPY, VIEW, PERHAPS = "copy", "view", "view if it can"

_FUNCTIONS = {
    COPY: """all allclose amax amin angle any append argmax argmin argsort around average clip
        column_stack concatenate convolve copy count_nonzero cross cumprod cumsum dot dstack empty
        empty_like fix full_like gradient hstack inner interp isclose kron linspace max mean median
        min nanmean nansum ndim ones ones_like outer pad polyval prod ptp repeat roll round
        row_stack select shape sinc size sort stack std sum take take_along_axis tensordot tile
        trace trapezoid tril triu vander var vdot vstack where zeros zeros_like
        linalg.cholesky linalg.det linalg.inv linalg.multi_dot linalg.norm linalg.pinv
        linalg.slogdet linalg.solve linalg.svd""",
    VIEW: """array_split atleast_1d atleast_2d atleast_3d broadcast_to diagonal dsplit expand_dims
        flip fliplr flipud hsplit moveaxis real rollaxis rot90 split
        squeeze swapaxes transpose vsplit""",
    PERHAPS: """array asanyarray asarray ascontiguousarray diag diff einsum imag
        linalg.matrix_power meshgrid nan_to_num ravel reshape""",
}
_METHODS = {
    COPY: """all any argmax argmin argsort clip copy cumprod cumsum dot flatten item max mean min
        prod repeat round std sum take trace var""",
    VIEW: "diagonal squeeze swapaxes transpose view",
    PERHAPS: "astype conj conjugate ravel reshape",
}
_ATTRIBUTES = {COPY: "dtype ndim size", VIEW: "T mT real", PERHAPS: "imag"}


def _rows(named: Mapping[str, str]) -> dict[str, str]:
    """Returns the kind of each name."""
    return {name: kind for kind, names in named.items() for name in names.split()}


def _numpy_function(name: str) -> Any:
    """Returns NumPy's function of this name; None if this version has none."""
    home, _, last = name.rpartition(".")
    return getattr(np.linalg if home else np, last, None)


FUNCTIONS: dict[Any, str] = {
    function: kind
    for name, kind in _rows(_FUNCTIONS).items()
    if (function := _numpy_function(name)) is not None
}
METHODS, ATTRIBUTES = _rows(_METHODS), _rows(_ATTRIBUTES)
#: Functions that make arrays of numbers.
CREATORS = frozenset((np.arange, np.eye, np.full, np.identity))
#: Functions whose views are read-only.
READ_ONLY = frozenset(("broadcast_to", "diag", "diagonal", "imag"))
#: Functions whose result is in C order, whatever the order of their arguments.
ROW_MAJOR = frozenset(("dot", "empty", "ones", "outer", "zeros"))
#: Functions that make arrays also where these have no axes; other results without axes are scalars.
_ARRAYS = frozenset(
    """array asanyarray asarray broadcast_to copy cross empty empty_like full full_like ones
    ones_like roll select tensordot tile where zeros zeros_like""".split()
)
#: Functions, and methods and attributes, that return a scalar for a scalar, else an array.
_LIKE_THEIR_ARGUMENT = frozenset(("imag", "moveaxis", "real", "reshape", "squeeze", "transpose"))
_LIKE_THEIR_ARRAY = _LIKE_THEIR_ARGUMENT | {"T", "astype", "conj", "conjugate", "copy", "view"}
#: Functions that return a scalar for a Python number.
_OF_NUMBERS = frozenset(("imag", "real"))
#: Functions that return their argument itself, if it has the dtype that is asked for.
_MAY_RETURN_ARGUMENT = frozenset(("array", "asanyarray", "asarray", "ascontiguousarray", "astype"))


@dataclass(frozen=True)
class NumpyCall:
    """The part of a NumPy call that decides in which memory the result lies. These are its row in
    the table, its arguments, and its options ``copy`` and ``order``.
    """

    kind: str
    name: str
    args: Sequence[Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    #: True for a method or an attribute of an array.
    of_array: bool = False

    @property
    def source(self) -> Value | None:
        """The first argument, if it is an array known only at run time."""
        return self.args[0] if self.args and is_array(self.args[0]) else None

    @property
    def order(self) -> Order | None:
        """The argument ``order``."""
        return self.options.get("order")


def kind_of(low: Lowering, callee: Any) -> str:
    """Returns the row of a function. Ufuncs, classes and functions that take no array make new
    arrays."""
    if isinstance(callee, (np.ufunc, type)) or callee in CREATORS:
        return COPY
    return row_of(low, FUNCTIONS, callee, f"np.{callee.__name__}")


def row_of(low: Lowering, table: Mapping[Any, str], key: Any, title: str) -> str:
    """Returns a row of one of the tables above. Refuses a function that has none: its result
    might be a view, and a write to it would then be lost."""
    if key not in table:
        raise low.fail(
            UnsupportedSyntax,
            f"whether {title} returns a copy or a view is not known to the compiler",
            "use another function of NumPy, and report this one",
        )
    return table[key]


def place_result(low: Lowering, call: NumpyCall, result: Any) -> Any:
    """Returns the result of a NumPy call in the memory where NumPy would put it."""
    memory = low.compilation.aliases
    if call.kind == PERHAPS:
        kind, result = _copy_or_view(low, call, result)
        call = replace(call, kind=kind)
    arrays = [arg for arg in _flattened(call.args) if is_array(arg)]
    layouts = [memory.layouts.get(arg) for arg in arrays]
    # The order of another function's result depends on how NumPy computes it.
    exact = isinstance(_numpy_function(call.name), np.ufunc) or all(
        layout is None or layout.flags.c_contiguous for layout in layouts
    )
    given = memory.of_all(_flattened(call.args))
    return _map_arrays(partial(_place_array, low, call, given, exact), result)


def _map_arrays(change: Callable[[Value], Value], result: Any) -> Any:
    """Returns a result with each array in it changed."""
    if isinstance(result, (list, tuple)):
        items = [_map_arrays(change, item) for item in result]
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    return change(result) if is_array(result) else result


def _place_array(
    low: Lowering, call: NumpyCall, given: frozenset[Any], exact: bool, value: Value
) -> Value:
    """Returns one array of a result, copied where NumPy copies. Notes its layout.

    ``given`` is the memory of the arguments. ``exact`` is true if the layout follows from theirs.
    """
    memory = low.compilation.aliases
    is_shared = bool(memory.of(value) & given)
    if array_type(value).ndim == 0:
        value = _place_without_axes(low, call, value)
    elif call.kind == COPY and is_shared:
        value = structure.copy(value)
    _note_layout(low, call, value, exact)
    if call.name in READ_ONLY and (is_shared or call.name == "imag"):
        memory.read_only.add(value)
    return value


def _place_without_axes(low: Lowering, call: NumpyCall, value: Value) -> Value:
    """Returns a result without axes, which is noted as an array or a scalar."""
    memory, source = low.compilation.aliases, call.source
    if call.name == "reshape" and source is not None and array_type(source).ndim == 0:
        value = structure.transpose(source, perm=())
    stands = _is_array_without_axes(low, call)
    is_argument = any(value is arg for arg in _flattened(call.args))
    if is_argument and (call.kind == COPY or stands is not memory.is_array(value)):
        value = structure.copy(value)
    memory.set_is_array(value, stands)
    return value


def _is_array_without_axes(low: Lowering, call: NumpyCall) -> bool | None:
    """True if a result without axes is an array, false if it is a scalar, None if not known."""
    if not call.of_array and call.name in _ARRAYS:
        return True
    if call.name not in (_LIKE_THEIR_ARRAY if call.of_array else _LIKE_THEIR_ARGUMENT):
        return False
    if call.source is None:
        return call.name not in _OF_NUMBERS
    has_axes = array_type(call.source).ndim != 0
    return has_axes or low.compilation.aliases.is_array(call.source)


def _note_layout(low: Lowering, call: NumpyCall, value: Value, exact: bool) -> None:
    """Notes the layout of a result where it is known, and forgets it where it is not."""
    layouts, shape, order = low.compilation.aliases.layouts, static_shape(value), call.order
    is_copy = call.kind == COPY
    one_order = is_copy and (order == "C" or shape is not None and has_one_order(shape))
    if call.name.endswith("_like") and call.source is not None:
        _note_dtypes_like(low, call, value)
    if shape is not None and (call.name in ROW_MAJOR or one_order):
        layouts[value] = row_major(shape)
    elif call.name.endswith("_like") and order in (None, "K", "A"):
        like = None if call.source is None else layouts.get(call.source)
        if like is not None and like.shape == shape:
            layouts[value] = np.empty_like(like, order=order or "K")
        else:
            layouts.pop(value, None)
    elif is_copy and (order == "F" or not exact and array_type(value).ndim != 1):
        layouts.pop(value, None)


def _note_dtypes_like(low: Lowering, call: NumpyCall, value: Value) -> None:
    """Notes the dtypes of a result of ``zeros_like`` or its kin: those of the argument."""
    memory, source = low.compilation.aliases, call.source
    if array_type(value).dtype in memory.dtypes_of(source):
        memory.set_path_dtypes(value, memory.dtypes_of(source))
        if call.name == "full_like":
            refuse_write_of_kinds(low, value)


def index_without_axes(low: Lowering, array: Value, is_array: bool) -> Value:
    """Returns ``array[...]`` of a value without axes, which is an array, or ``array[()]``, which
    is a scalar."""
    memory = low.compilation.aliases
    is_copy = is_array and memory.is_array(array) is False
    result: Value = structure.copy(array) if is_copy else structure.transpose(array, perm=())
    memory.set_is_array(result, is_array)
    return result


def _flattened(things: Any) -> Iterator[Any]:
    """Yields the items of nested lists and tuples."""
    for thing in things:
        if isinstance(thing, (list, tuple)):
            yield from _flattened(thing)
        else:
            yield thing


def _copy_or_view(low: Lowering, call: NumpyCall, result: Any) -> tuple[str, Any]:
    """Returns ``COPY`` or ``VIEW`` for a call that may give either, and its result."""
    copies_by_default = call.name in ("array", "astype", "meshgrid", "nan_to_num")
    if call.options.get("copy", copies_by_default) is True:
        return COPY, result
    if call.name in _MAY_RETURN_ARGUMENT:
        return _converted(low, call, result)
    if call.name in ("reshape", "ravel") and isinstance(result, Value):
        return _reshaped(low, call, result), result
    return VIEW, result


def _reshaped(low: Lowering, call: NumpyCall, result: Value) -> str:
    """Returns ``COPY`` where a ``reshape`` or ``ravel`` certainly copies, else ``VIEW``."""
    memory = low.compilation.aliases
    maker = low.builder.producer(result)
    while maker is not None and maker.opdef is structure.transpose:
        maker = low.builder.producer(maker.operands[0])
    if maker is None or maker.opdef is not structure.reshape:
        return VIEW
    reshaped, source = maker.results[0], maker.operands[0]
    layout = memory.layouts.get(source) if isinstance(source, Value) else None
    if layout is None or static_shape(reshaped) is None:
        if call.name == "ravel":
            memory.reshaped.discard(reshaped)
        return VIEW
    is_view = reshaped in memory.reshaped and (call.name == "reshape" or layout.flags.c_contiguous)
    return VIEW if is_view else COPY


def _converted(low: Lowering, call: NumpyCall, result: Any) -> tuple[str, Any]:
    """Returns the argument itself where it has the dtype and order that are asked for."""
    memory, source, order = low.compilation.aliases, call.source, call.order
    if source is None or not isinstance(result, Value):
        return COPY, result
    have, want = array_type(source).dtype, array_type(result).dtype
    if has_path_dtype(memory, source) and want in memory.dtypes_of(source):
        have = None
    elif have is not None and have != want:
        return COPY, result
    layout = memory.layouts.get(source)
    if call.name == "ascontiguousarray":
        if array_type(source).ndim == 0:  # the result has an axis: a view unless of a scalar
            return (COPY if memory.is_array(source) is False else VIEW), result
        order = "C"
    in_order = order not in ("C", "F") or layout is not None and _is_in_order(layout, order)
    if have is None or not in_order and layout is None:
        result = structure.copy(result) if result is source else result
        memory.set_aliases(result, memory.of(source))
        return VIEW, result
    return (VIEW, source) if in_order else (COPY, result)


def _is_in_order(layout: Any, order: str) -> bool:
    """True if an array of this layout is contiguous in the order ``C`` or ``F``."""
    flags = layout.flags
    return bool(flags.c_contiguous if order == "C" else flags.f_contiguous)


def is_array(thing: Any) -> bool:
    """True if this is an array known only when the function runs."""
    return isinstance(thing, Value) and isinstance(thing.type, ArrayType)
