"""The user's lists of run-time length: operators that set, slice, join, repeat and sum their items.

Every operator gives a new list; where the old one is not needed any more,
``passes/memory/update_lists_in_place.py`` sets ``in_place``, and the old one is changed instead.
Adjoints ask for the items of the primal only where the shape of an item is not known: a loop would
have to keep a list for each iteration.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from autodiff_compiler.errors import DTypeError
from autodiff_compiler.ir.builder import current
from autodiff_compiler.ir.nodes import Loop, Value
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    UNDEFINED,
    ArrayType,
    Dim,
    ListType,
    ScalarType,
    TupleType,
    Type,
    join,
    parse_type,
)
from autodiff_compiler.operators.core.containers import (
    add_text,
    list_item,
    list_length,
    zero_of,
    zero_text,
)
from autodiff_compiler.operators.core.declare import same_type
from autodiff_compiler.operators.core.structure import full


def item_of(type_: Type) -> Type:
    """Returns the type of a list's items."""
    if not isinstance(type_, ListType):
        raise DTypeError(f"a list is needed, not a {type_}")
    return type_.item


def item_zero(x: Value, at: Any) -> Any:
    """Returns the zero cotangent of the item at ``at``, which is read only if its shape is not
    static."""
    type_ = item_of(x.type)
    if isinstance(type_, ArrayType) and type_.is_static:
        return full(shape=type_.shape, dtype=type_.dtype, value=0)
    return 0.0 if isinstance(type_, ScalarType) else zero_of(list_item(x, at))


def changing(change: str) -> Any:
    """Returns a template that changes a copy of the list, or with ``in_place`` the list itself."""

    def text(types: Sequence[Type], *, in_place: bool = False) -> str:
        return change if in_place else f"{{out}} = list({{x}})\n{change}"

    return text


def _widened(types: Sequence[Type], in_place: bool = False) -> Type:
    return ListType(join(item_of(types[0]), types[1]) or UNDEFINED)


list_append = OpDef(
    "list_append",
    "The list with one more item at its end.",
    operands=("x", "v"),
    numpy=lambda types, *, in_place=False: "{out}.append({v})" if in_place else "{x} + [{v}]",
    result=_widened,
    adjoint={"x": lambda ct: list_head(ct), "v": lambda ct: list_item(ct, -1)},
    label="{x}",
    linear_in=("x", "v"),
    batch="items",
)

list_head: OpDef = OpDef(
    "list_head",
    "The list without its last item.",
    operands=("x",),
    numpy=lambda types, *, in_place=False: "del {out}[-1]" if in_place else "{x}[:-1]",
    result=lambda types, in_place=False: types[0],
    adjoint={"x": lambda ct, x: list_append(ct, item_zero(x, -1))},
    label="{x}",
    linear_in=("x",),
    batch="items",
)

list_set: OpDef = OpDef(
    "list_set",
    "The list with v at one position.",
    operands=("x", "v", "at"),
    numpy=changing("{out}[{at}] = {v}"),
    result=_widened,
    adjoint={
        "x": lambda ct, x, at: list_set(ct, item_zero(x, at), at),
        "v": lambda ct, at: list_item(ct, at),
    },
    label="{x}",
    linear_in=("x", "v"),
    batch="items",
)


def _add_at_text(types: Sequence[Type], *, in_place: bool = False) -> str:
    total = add_text(item_of(types[0]), "{out}[{at}]", "{v}")
    text: str = changing(f"{{out}}[{{at}}] = {total}")(types, in_place=in_place)
    return text


list_add_at: OpDef = OpDef(
    "list_add_at",
    "The list with v added to the item at one position.",
    operands=("x", "v", "at"),
    numpy=_add_at_text,
    result=lambda types, in_place=False: types[0],
    adjoint={"x": lambda ct: ct, "v": lambda ct, at: list_item(ct, at)},
    label="{x}",
    linear_in=("x", "v"),
    batch="items",
)


def _bounds(types: Sequence[Type]) -> str:
    parts = [
        "" if type_ == NONE else slot for type_, slot in zip(types, ("{start}", "{stop}", "{step}"))
    ]
    return ":".join(parts if parts[2] else parts[:2])


list_slice: OpDef = OpDef(
    "list_slice",
    "A slice of a list; a bound may be None.",
    operands=("x", "start", "stop", "step"),
    numpy=lambda types: f"{{x}}[{_bounds(types[1:])}]",
    result=same_type,
    adjoint={"x": lambda ct, x, start, stop, step: list_unslice(ct, x, start, stop, step)},
    label="{x}_part",
    linear_in=("x",),
    batch="items",
)

list_unslice: OpDef = OpDef(
    "list_unslice",
    "Zeros like the list x, with v in one slice.",
    operands=("v", "x", "start", "stop", "step"),
    numpy=lambda types: (
        f"{{out}} = {zero_text(types[1], '{x}')}\n{{out}}[{_bounds(types[2:])}] = {{v}}"
    ),
    result=lambda types: types[1],
    adjoint={
        "v": lambda ct, start, stop, step: list_slice(ct, start, stop, step),
        "x": lambda: None,
    },
    linear_in=("v",),
)

list_join: OpDef = OpDef(
    "list_join",
    "The concatenation of two lists.",
    operands=("a", "b"),
    numpy="{a} + {b}",
    result=lambda types: ListType(join(item_of(types[0]), item_of(types[1])) or UNDEFINED),
    adjoint={
        "a": lambda ct, a: list_slice(ct, None, list_length(a), None),
        "b": lambda ct, a: list_slice(ct, list_length(a), None, None),
    },
    linear_in=("a", "b"),
    batch="items",
)

list_repeat: OpDef = OpDef(
    "list_repeat",
    "The list n times over.",
    operands=("x", "n"),
    numpy="{x} * {n}",
    result=same_type,
    adjoint={"x": lambda ct, x: list_unrepeat(ct, x)},
    label="{x}_repeated",
    linear_in=("x",),
    batch="items",
)

list_unrepeat: OpDef = OpDef(
    "list_unrepeat",
    "The elementwise sum of the pieces of v, each as long as x.",
    operands=("v", "x"),
    numpy=lambda types: (
        f"[sum({{v}}[k::len({{x}})], {zero_text(item_of(types[1]), 'a', 1)})"
        " for k, a in enumerate({x})]"
    ),
    result=lambda types: types[1],
    adjoint={
        "v": lambda ct, v, x: list_repeat(ct, list_length(v) // list_length(x)),
        "x": lambda: None,
    },
    linear_in=("v",),
)


def sum_type(type_: Type) -> Type:
    """Returns the type of a sum that begins with the int 0."""
    if isinstance(type_, ArrayType) and type_.dtype == "bool":
        return replace(type_, dtype="int64")
    return INT if type_ == BOOL else type_


list_sum: OpDef = OpDef(
    "list_sum",
    "The sum of items of one shape; for bools, the number of true items. ``may_be_empty`` marks "
    "a sum of arrays with axes that the pass ``resolve_empty_sums`` has to replace.",
    operands=("x",),
    numpy="sum({x})",
    result=lambda types, *, may_be_empty: sum_type(item_of(types[0])),
    adjoint={"x": lambda ct, x: list_broadcast(ct, x)},
    label="{x}_sum total",
    linear_in=("x",),
)

list_sum_from: OpDef = OpDef(
    "list_sum_from",
    "The sum of items of one type and of a start of that type; the list may be empty.",
    operands=("x", "start"),
    numpy="sum({x}, {start})",
    result=lambda types: types[1],
    adjoint={"x": lambda ct, x: list_broadcast(ct, x), "start": lambda ct: ct},
    label="{x}_sum total",
    linear_in=("x", "start"),
)

list_broadcast: OpDef = OpDef(
    "list_broadcast",
    "v for every item of x.",
    operands=("v", "x"),
    numpy="[{v} for _ in {x}]",
    result=lambda types: types[1],
    adjoint={"v": lambda ct, v: list_sum_items(ct, v), "x": lambda: None},
    linear_in=("v",),
)

list_sum_items: OpDef = OpDef(
    "list_sum_items",
    "The sum of items of the type of v; the list may be empty.",
    operands=("x", "v"),
    numpy=lambda types: f"sum({{x}}, {zero_text(types[1], '{v}')})",
    result=lambda types: types[1],
    adjoint={"x": lambda ct, x: list_broadcast(ct, x), "v": lambda: None},
    linear_in=("x",),
)


def _concat_type(types: Sequence[Type], *, axis: int) -> Type:
    row = item_of(types[0])
    if not isinstance(row, ArrayType):
        raise DTypeError(f"a list of {row} cannot be joined to an array")
    if row.shape is None:
        return row
    dims: list[Dim] = list(row.shape)
    dims[axis] = None
    return ArrayType(row.dtype, tuple(dims))


list_concat: OpDef = OpDef(
    "list_concat",
    "The arrays of a list one after another along an axis.",
    operands=("x",),
    numpy="np.concatenate({x}, axis={axis})",
    result=_concat_type,
    adjoint={"x": lambda ct, x, axis: list_split(ct, x, axis=axis)},
    label="{x}_joined",
    linear_in=("x",),
)

list_split: OpDef = OpDef(
    "list_split",
    "The parts of an array, along an axis, that are as long as the items of x.",
    operands=("v", "x"),
    numpy="np.split({v}, np.cumsum([a.shape[{axis}] for a in {x}])[:-1], axis={axis})",
    result=lambda types, *, axis: types[1],
    adjoint={"v": lambda ct, axis: list_concat(ct, axis=axis), "x": lambda: None},
    linear_in=("v",),
)


def is_nonempty(items: Any) -> bool:
    """True if a list that this function builds is known to have items."""
    maker = current().producer(items)
    if maker is None:
        return False
    if maker.name == "list_append":
        return True
    if maker.name == "for":
        loop, place = Loop(maker), maker.results.index(items)
        if (
            place < loop.carries
            and is_nonempty(loop.inits[place])
            and _appended(loop.carry_yields[place], loop.carry_params[place]) is not None
        ):
            return True
    return bool(length_of(items))


def length_of(items: Any) -> int | None:
    """Returns the number of items of a list that this function builds, if it is known at compile
    time.

    It is known if the list began with a known number, and the trip count of the loop is known.
    Every iteration must append the same number of items.
    """
    maker = current().producer(items)
    if maker is None:
        return None
    if maker.name == "make_list":
        return len(maker.operands)
    if maker.name == "list_append":
        return _more(maker.operands[0], 1)
    if maker.name != "for":
        return None
    loop, place = Loop(maker), maker.results.index(items)
    bounds = [bound for bound in loop.bounds if type(bound) is int]
    if place >= loop.carries or loop.has_until or len(bounds) < 3:
        return None
    each = _appended(loop.carry_yields[place], loop.carry_params[place])
    return None if each is None else _more(loop.inits[place], each * len(range(*bounds)))


def _more(items: Any, count: int) -> int | None:
    known = length_of(items) if isinstance(items, Value) else None
    return None if known is None else known + count


def _appended(after: Any, before: Value) -> int | None:
    """Returns the number of items appended to ``before`` to make ``after``; None after other
    changes."""
    count = 0
    while after is not before:
        maker = current().producer(after)
        if maker is None or maker.name != "list_append":
            return None
        after, count = maker.operands[0], count + 1
    return count


def _copied(type_: Type, text: str, depth: int = 0) -> str:
    if isinstance(type_, ListType):
        name = "abcdefgh"[depth]
        return f"[{_copied(type_.item, name, depth + 1)} for {name} in {text}]"
    return f"{text}.copy()" if isinstance(type_, ArrayType) else text


def _item_as(have: Type, want: Type, text: str) -> str:
    """Returns the text of an item as one of the type ``want``."""
    if isinstance(have, TupleType) and isinstance(want, TupleType):
        pairs = enumerate(zip(have.items, want.items))
        parts = [_item_as(a, b, f"{text}[{place}]") for place, (a, b) in pairs]
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    if isinstance(have, ScalarType) and isinstance(want, ArrayType):
        return f"np.{want.dtype}({text})"
    if isinstance(have, ArrayType) and want in (FLOAT, COMPLEX):
        return f"{want}({text})"
    return text


list_as: OpDef = OpDef(
    "list_as",
    "The list with its numbers converted to arrays of one element, or the reverse, as ``type`` "
    "demands.",
    operands=("x",),
    numpy=lambda types, *, type: (
        f"[{_item_as(item_of(types[0]), parse_type(type), 'a')} for a in {{x}}]"
    ),
    result=lambda types, *, type: ListType(parse_type(type)),
    adjoint={"x": lambda ct, x: list_as(ct, type=str(item_of(x.type)))},
    linear_in=("x",),
    label="{x}",
    batch="items",
)

list_copy = OpDef(
    "list_copy",
    "A new list of the same items.",
    operands=("x",),
    numpy="list({x})",
    result=same_type,
    adjoint={"x": lambda ct: ct},
    linear_in=("x",),
    label="{x}",
    batch="items",
)

list_own = OpDef(
    "list_own",
    "A new list with copies of the items.",
    operands=("x",),
    numpy=lambda types: _copied(types[0], "{x}"),
    result=same_type,
    adjoint={"x": lambda ct: ct},
    label="{x}",
    linear_in=("x",),
    batch="items",
)
