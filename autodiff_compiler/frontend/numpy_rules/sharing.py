"""Whether what a function of NumPy gives is a copy or a view: one table for all that is compiled.

``COPY``     new memory.
``VIEW``     the memory of the first argument, or that argument itself.
``PERHAPS``  a view if it can be one: the layout, the dtype or another argument decides. Where they
             are not known while compiling, a write to either makes the other unreadable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_compiler.frontend.abstract.numpy_layouts import is_line, row_major, static_shape
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core import structure

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
    return {name: kind for kind, names in named.items() for name in names.split()}


def _found(name: str) -> Any:
    home, _, last = name.rpartition(".")
    return getattr(np.linalg if home else np, last, None)


FUNCTIONS: dict[Any, str] = {
    _found(name): kind for name, kind in _rows(_FUNCTIONS).items() if _found(name) is not None
}
METHODS, ATTRIBUTES = _rows(_METHODS), _rows(_ATTRIBUTES)
#: Functions that make arrays of numbers.
MADE = frozenset((np.arange, np.eye, np.full, np.identity))
#: Views that NumPy lets nobody write to.
READ_ONLY = frozenset(("broadcast_to", "diag", "diagonal", "imag"))
#: Functions whose result is in C order, whatever the order of their arguments.
ROW_MAJOR = frozenset(("dot", "empty", "ones", "outer", "zeros"))
#: Functions that make arrays also where these have no axes; other results without axes are scalars.
_ARRAYS = frozenset(
    (
        "array", "asanyarray", "asarray", "broadcast_to", "copy", "cross", "empty", "empty_like",
        "full", "full_like", "ones", "ones_like", "roll", "select", "tensordot", "tile", "where",
        "zeros", "zeros_like",
    )
)  # fmt: skip
#: Functions, and methods and attributes, that give a scalar of a scalar and else an array.
_LIKE_THEIR_ARGUMENT = frozenset(("imag", "moveaxis", "real", "reshape", "squeeze", "transpose"))
_LIKE_THEIR_ARRAY = _LIKE_THEIR_ARGUMENT | {"T", "astype", "conj", "conjugate", "copy", "view"}
#: What gives a scalar of one of Python's numbers.
_OF_NUMBERS = frozenset(("imag", "real"))
#: Functions that give their argument itself, if its dtype is the one asked for.
_AS_IT_IS = frozenset(("array", "asanyarray", "asarray", "ascontiguousarray", "astype"))


def kind_of(callee: Any) -> str:
    """Return the row of a function; a ufunc, a class and what takes no array make a new one."""
    new = isinstance(callee, (np.ufunc, type)) or callee in MADE
    return COPY if new else FUNCTIONS[callee]


def _is_array_without_axes(memory: Any, name: str, of_array: bool, args: Sequence[Any]) -> Any:
    """Decide whether a result without axes is an array, and no scalar; None if not known."""
    if not of_array and name in _ARRAYS:
        return True
    if name not in (_LIKE_THEIR_ARRAY if of_array else _LIKE_THEIR_ARGUMENT):
        return False
    if not args or not is_array(args[0]):
        return name not in _OF_NUMBERS
    return memory.is_array(args[0]) if args[0].type.ndim == 0 else True


def settled(
    low: Any,
    kind: str,
    name: str,
    args: Sequence[Any],
    told: Mapping[str, Any],
    result: Any,
    of_array: bool = False,
) -> Any:
    """Return the result of a NumPy function in the memory where NumPy would put it. ``told`` are
    the arguments that say something of that: ``copy``, ``order``. ``of_array``: it is a method or
    an attribute."""
    memory = low.compilation.memory
    source = args[0] if args and is_array(args[0]) else None
    if kind == PERHAPS:
        kind, result = _decided(low, name, source, told, result)
    given = memory.of_all(_leaves(args))
    layouts = [memory.layouts.get(arg) for arg in _leaves(args) if is_array(arg)]
    # How other functions than ufuncs order their results depends on how NumPy computes them.
    exact = isinstance(_found(name), np.ufunc) or all(
        layout is None or layout.flags.c_contiguous for layout in layouts
    )

    def placed(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            items = map(placed, value)
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if not is_array(value):
            return value
        shared = bool(memory.of(value) & given)
        if kind == COPY and shared and value.type.ndim != 0:
            value = structure.copy(value)
        if value.type.ndim == 0:
            if name == "reshape" and source is not None and source.type.ndim == 0:
                value = structure.transpose(source, perm=())
            stands = _is_array_without_axes(memory, name, of_array, args)
            given_itself = any(value is arg for arg in _leaves(args))
            if given_itself and (kind == COPY or stands is not memory.is_array(value)):
                value = structure.copy(value)
            memory.stands(value, stands)
        shape, order = static_shape(value), told.get("order")
        one_order = kind == COPY and (order == "C" or shape is not None and is_line(shape))
        if shape is not None and (name in ROW_MAJOR or one_order):
            memory.layouts[value] = row_major(shape)
        elif name.endswith("_like") and order in (None, "K", "A"):
            laid = memory.layouts.get(source) if source is not None else None
            if laid is not None and laid.shape == shape:
                memory.layouts[value] = np.empty_like(laid, order=order or "K")
            else:
                memory.layouts.pop(value, None)
        elif kind == COPY and (order == "F" or not exact and value.type.ndim != 1):
            memory.layouts.pop(value, None)
        if name in READ_ONLY and (shared or name == "imag"):
            memory.read_only.add(value)
        return value

    return placed(result)


def whole(low: Any, array: Value, is_array: bool) -> Value:
    """Return ``array[...]`` of a value without axes, which is an array, or ``array[()]``, which is
    a scalar."""
    memory = low.compilation.memory
    own = is_array and memory.is_array(array) is False
    made: Value = structure.copy(array) if own else structure.transpose(array, perm=())
    memory.stands(made, is_array)
    return made


def _leaves(things: Any) -> Iterator[Any]:
    for thing in things:
        if isinstance(thing, (list, tuple)):
            yield from _leaves(thing)
        else:
            yield thing


def _decided(
    low: Any, name: str, source: Any, told: Mapping[str, Any], result: Any
) -> tuple[str, Any]:
    """Return whether this call gives a copy or a view, and the result."""
    copy = told.get("copy", name in ("array", "astype", "meshgrid", "nan_to_num"))
    if copy is True:
        return COPY, result
    memory = low.compilation.memory
    if name in _AS_IT_IS:
        return _as_it_is(low, name, source, told, result)
    if name in ("reshape", "ravel") and isinstance(result, Value):
        maker = low.builder.producer(result)
        while maker is not None and maker.opdef is structure.transpose:
            maker = low.builder.producer(maker.operands[0])
        if maker is None or maker.opdef is not structure.reshape:
            return VIEW, result
        made, layout = maker.results[0], memory.layouts.get(maker.operands[0])
        if layout is None:
            if name == "ravel":
                memory.reshaped.discard(made)
            return VIEW, result
        if made in memory.reshaped and (name == "reshape" or layout.flags.c_contiguous):
            return VIEW, result
        return COPY, result
    return VIEW, result


def _as_it_is(
    low: Any, name: str, source: Any, told: Mapping[str, Any], result: Any
) -> tuple[str, Any]:
    """Return ``source`` itself where its dtype and order are those that are asked for."""
    if source is None or not isinstance(result, Value):
        return COPY, result
    have, want = source.type.dtype, result.type.dtype  # type: ignore[attr-defined]
    if have is not None and have != want:
        return COPY, result
    layout, order = low.compilation.memory.layouts.get(source), told.get("order")
    if name == "ascontiguousarray":
        if source.ndim == 0:  # the result has an axis: a view of an array, a copy of a scalar
            return (COPY if low.compilation.memory.is_array(source) is False else VIEW), result
        order = "C"
    if have is None or order in ("C", "F") and layout is None:
        result = structure.copy(result) if result is source else result
        low.compilation.memory.may_be(result, low.compilation.memory.of(source))
        return VIEW, result
    if order in ("C", "F") and not (
        layout.flags.c_contiguous if order == "C" else layout.flags.f_contiguous
    ):
        return COPY, result
    return VIEW, source


def is_array(thing: Any) -> bool:
    """Decide whether this is an array known only when the function runs."""
    return isinstance(thing, Value) and isinstance(thing.type, ArrayType)
