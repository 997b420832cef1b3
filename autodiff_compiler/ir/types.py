"""The types of IR values, their short text (``f32[2,b]``) and the lattice that joins them.

A dimension is an ``int``, a symbol, or ``None``. A symbol such as ``"b"`` is one size >= 2, the
same wherever the name occurs. ``None`` is unknown, and perhaps different in every iteration. A
whole shape may be unknown, and so may a dtype: source without a signature is compiled with such
types.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np

Dim: TypeAlias = int | str | None
Shape: TypeAlias = tuple[Dim, ...] | None

SHORT = {
    "bool": "bool",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "c64",
    "complex128": "c128",
}
LONG = {short: long for long, short in SHORT.items()}


class _Promotion(threading.local):
    """The promotion rules of this thread: MindSpore's, or NumPy's for plain functions."""

    numpy = False


PROMOTION = _Promotion()


@dataclass(frozen=True)
class Type:
    """The base class of types."""


@dataclass(frozen=True)
class ArrayType(Type):
    """An ndarray, or a NumPy scalar of shape ``()``. ``dtype`` is NumPy's name or None."""

    dtype: str | None = None
    shape: Shape = None

    @property
    def ndim(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The shape of an array whose rank is known."""
        assert self.shape is not None, self
        return self.shape

    @property
    def static_shape(self) -> tuple[int, ...]:
        """The shape of an array whose dimensions are all known numbers."""
        static = tuple([dim for dim in self.dims if isinstance(dim, int)])
        assert len(static) == len(self.dims), self
        return static

    @property
    def element_count(self) -> int:
        """The number of elements of an array whose dimensions are all known numbers."""
        return math.prod(self.static_shape)

    @property
    def known_dtype(self) -> str:
        """The dtype of an array whose dtype is known."""
        assert self.dtype is not None, self
        return self.dtype

    @cached_property
    def is_static(self) -> bool:
        """True if the dtype is known and every dimension is a known number."""
        return self.dtype is not None and self.has_static_shape

    @cached_property
    def has_static_shape(self) -> bool:
        return self.shape is not None and all(isinstance(dim, int) for dim in self.shape)

    def __str__(self) -> str:
        dtype = "any" if self.dtype is None else SHORT[self.dtype]
        if self.shape is None:
            return f"{dtype}[...]"
        return f"{dtype}[{','.join('?' if d is None else str(d) for d in self.shape)}]"


@dataclass(frozen=True)
class ScalarType(Type):
    """A Python number: ``int``, ``float``, ``bool`` or ``complex``. Weak in promotion."""

    kind: str

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True)
class ConstantType(Type):
    """None, a string or a random generator: carried along, never computed with."""

    kind: str

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True)
class ShapeTupleType(Type):
    """A run-time shape, as ``x.shape`` gives it: a tuple of ints of any length."""

    def __str__(self) -> str:
        return "shape"


@dataclass(frozen=True)
class TupleType(Type):
    """A tuple whose length is known."""

    items: tuple[Type, ...]

    def __str__(self) -> str:
        inner = ", ".join(str(item) for item in self.items)
        return f"({inner},)" if len(self.items) == 1 else f"({inner})"


@dataclass(frozen=True)
class DictType(Type):
    """A dict whose keys are known, in insertion order."""

    keys: tuple[Hashable, ...]
    items: tuple[Type, ...]

    def __str__(self) -> str:
        return "{" + ", ".join(f"{k!r}: {v}" for k, v in zip(self.keys, self.items)) + "}"


@dataclass(frozen=True)
class ListType(Type):
    """A list of run-time length whose items share one type: a loop's tape, or the user's list."""

    item: Type

    def __str__(self) -> str:
        return f"list[{self.item}]"


@dataclass(frozen=True)
class UndefinedType(Type):
    """The type of a value that is not set yet; joins with any type to that type."""

    def __str__(self) -> str:
        return "undefined"


INT, FLOAT, BOOL, COMPLEX = (ScalarType(kind) for kind in ("int", "float", "bool", "complex"))
#: A Python number of each kind, by which NumPy shows how weak scalars promote.
SAMPLE: dict[Type, Any] = {INT: 1, FLOAT: 1.0, BOOL: True, COMPLEX: 1j}
_promoted = lru_cache(None, typed=True)(lambda *kinds: np.result_type(*kinds).name)
NONE, STR, GENERATOR, FUNCTION = map(ConstantType, ("none", "str", "generator", "function"))
SHAPE = ShapeTupleType()
UNDEFINED = UndefinedType()


def array(dtype: str | None, *shape: Dim) -> ArrayType:
    """Makes an array type: ``array("float32", 2, 3)`` is ``f32[2,3]``."""
    return ArrayType(dtype, tuple(shape))


def type_of_literal(value: Any) -> Type:
    """Returns the type of a literal operand: a Python number, None or a string."""
    if value is None:
        return NONE
    if isinstance(value, str):
        return STR
    for kind, scalar in ((bool, BOOL), (int, INT), (float, FLOAT), (complex, COMPLEX)):
        if isinstance(value, kind):
            return scalar
    raise TypeError(f"{value!r} is not a literal of the IR")


def type_of_array(value: Any) -> ArrayType:
    """Returns the type of an ndarray or NumPy scalar."""
    return ArrayType(_name_of(np.dtype(value.dtype)), tuple(value.shape))


@cache
def _name_of(dtype: np.dtype) -> str:
    # NumPy builds the name at every access.
    return dtype.name


def in_double(type_: Type) -> Type:
    """Replaces float32 by float64 in a type.

    >>> print(in_double(parse_type("(f32[2], list[i64[]])")))
    (f64[2], list[i64[]])
    """
    if isinstance(type_, ArrayType) and type_.dtype == "float32":
        return ArrayType("float64", type_.shape)
    if isinstance(type_, TupleType):
        return TupleType(tuple(map(in_double, type_.items)))
    if isinstance(type_, DictType):
        return DictType(type_.keys, tuple(map(in_double, type_.items)))
    return ListType(in_double(type_.item)) if isinstance(type_, ListType) else type_


def is_floating(type_: Type) -> bool:
    """True if values of this type are floats or complex; an unknown dtype counts as float."""
    if isinstance(type_, ArrayType):
        return type_.dtype is None or "float" in type_.dtype or "complex" in type_.dtype
    return type_ in (FLOAT, COMPLEX)


def common_dtype(types: Iterable[Type]) -> str:
    """Returns the dtype in which NumPy computes with these array and number types.

    The dtypes of arrays are known.

    >>> common_dtype([array("float32"), FLOAT]), common_dtype([array("float32"), array("float64")])
    ('float32', 'float64')
    """
    known = [np.dtype(t.dtype) if isinstance(t, ArrayType) else SAMPLE.get(t) for t in types]
    return _promoted(*(each for each in known if each is not None))


def is_complex(type_: Any) -> bool:
    """True if values of this type are certainly complex."""
    return type_ == COMPLEX or isinstance(type_, ArrayType) and "complex" in (type_.dtype or "")


def item_size(dtype: str) -> int:
    """Returns the bytes of an element; NumPy need not know bfloat16."""
    return 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize


def size_of(type_: Type) -> int:
    """Returns the bytes of an array; 0 if they are unknown.

    A 0-d array counts as a number, which takes none.
    """
    if not isinstance(type_, ArrayType) or not type_.is_static or not type_.shape:
        return 0
    return type_.element_count * item_size(type_.known_dtype)


def rounds_to_bfloat16(types: Iterable[Type]) -> bool:
    """True if a float32 result of these operands is rounded to bfloat16: no float is wider.

    >>> rounds_to_bfloat16([array("bfloat16"), array("int32"), FLOAT])
    True
    """
    dtypes = {type_.dtype for type_ in types if isinstance(type_, ArrayType)}
    return not any(dtype != "bfloat16" and is_floating(ArrayType(dtype)) for dtype in dtypes)


def carries_cotangent(type_: Type) -> bool:
    """True if a value of this type gets a cotangent.

    In MindSpore's programs arrays of every dtype do: the gradient of an integer input is the
    truncated float gradient. In plain functions integers and bools do not: they are piecewise
    constant. Nor do Python ints and bools, shapes, strings and None.
    """
    return _carries(type_, integers=not PROMOTION.numpy)


def takes_sensitivity(type_: Type) -> bool:
    """True if a result of this type has a sensitivity, even one without effect."""
    return _carries(type_, integers=True)


#: Cause and cure where a sensitivity is given for a result that takes none.
NO_SENSITIVITY = (
    "sens_param=True needs an output with a tensor, and this output holds none",
    "omit sens_param, or return a tensor",
)


def _carries(type_: Type, integers: bool) -> bool:
    if isinstance(type_, (TupleType, DictType)):
        return any(_carries(item, integers) for item in type_.items)
    if isinstance(type_, ListType):
        return _carries(type_.item, integers)
    if isinstance(type_, ArrayType):
        return integers or is_floating(type_)
    return type_ in (FLOAT, COMPLEX)


def holds_number(type_: Type) -> bool:
    """True if a value of this type is or holds a number or an array; also true of all lists."""
    if isinstance(type_, (TupleType, DictType)):
        return any(map(holds_number, type_.items))
    return isinstance(type_, (ArrayType, ListType, ShapeTupleType, ScalarType))


def as_cotangent(type_: Type) -> Type:
    """Returns the type of the full cotangent of a value of this type.

    A Python number has one of a 0-d array type: it may be a result of array arithmetic.

    >>> print(as_cotangent(parse_type("(f32[2], float, int)")))
    (f32[2], f64[], int)
    """
    if isinstance(type_, TupleType):
        return TupleType(tuple(map(as_cotangent, type_.items)))
    if isinstance(type_, DictType):
        return DictType(type_.keys, tuple(map(as_cotangent, type_.items)))
    if type_ == FLOAT:
        return array("float64")
    return array("complex128") if type_ == COMPLEX else type_


def holds_arrays(type_: Type) -> bool:
    """True if a value of this type is or holds an array: then it may differ between examples."""
    if isinstance(type_, (TupleType, DictType)):
        return any(map(holds_arrays, type_.items))
    return holds_arrays(type_.item) if isinstance(type_, ListType) else isinstance(type_, ArrayType)


def batch_type(type_: Type, size: Dim) -> Type:
    """Returns the type of a batch of values: every array has one more axis, the first.

    Other values are shared by all examples.

    >>> print(batch_type(parse_type("(f32[2], int)"), 5))
    (f32[5,2], int)
    """
    if isinstance(type_, ArrayType):
        return ArrayType(type_.dtype, None if type_.shape is None else (size, *type_.shape))
    if isinstance(type_, ListType):
        return ListType(batch_type(type_.item, size))
    if isinstance(type_, TupleType):
        return TupleType(tuple(batch_type(item, size) for item in type_.items))
    if isinstance(type_, DictType):
        return DictType(type_.keys, tuple(batch_type(item, size) for item in type_.items))
    return type_


def join(left: Type, right: Type) -> Type | None:
    """Returns the least type that holds both, or None if there is none.

    >>> print(join(array("float32", 2, 3), array("float32", 4, 3)))
    f32[?,3]
    """
    if left == right or right == UNDEFINED:
        return left
    if left == UNDEFINED:
        return right
    rule = _JOINS.get(type(left)) if type(left) is type(right) else None
    return None if rule is None else rule(left, right)


def _join_arrays(left: ArrayType, right: ArrayType) -> ArrayType:
    dtype = left.dtype if left.dtype == right.dtype else None
    if left.shape is None or right.shape is None or len(left.shape) != len(right.shape):
        return ArrayType(dtype, None)
    return ArrayType(dtype, tuple(a if a == b else None for a, b in zip(left.shape, right.shape)))


def _join_scalars(left: ScalarType, right: ScalarType) -> ScalarType:
    order = (BOOL, INT, FLOAT, COMPLEX)
    return order[max(order.index(left), order.index(right))]


def _join_tuples(left: TupleType, right: TupleType) -> TupleType | None:
    items = _join_items(left.items, right.items)
    return None if items is None else TupleType(items)


def _join_dicts(left: DictType, right: DictType) -> DictType | None:
    items = _join_items(left.items, right.items) if left.keys == right.keys else None
    return None if items is None else DictType(left.keys, items)


def _join_lists(left: ListType, right: ListType) -> ListType | None:
    item = join(left.item, right.item)
    return None if item is None else ListType(item)


def _join_items(left: tuple[Type, ...], right: tuple[Type, ...]) -> tuple[Type, ...] | None:
    joined = [item for a, b in zip(left, right) if (item := join(a, b)) is not None]
    return tuple(joined) if len(joined) == len(left) == len(right) else None


_JOINS: dict[type[Type], Callable[[Any, Any], Type | None]] = {
    ArrayType: _join_arrays,
    ScalarType: _join_scalars,
    TupleType: _join_tuples,
    DictType: _join_dicts,
    ListType: _join_lists,
}
#: The types that are written as one word.
_WORDS: dict[str, Type] = {
    str(type_): type_
    for type_ in (INT, FLOAT, BOOL, COMPLEX, NONE, STR, SHAPE, UNDEFINED, GENERATOR, FUNCTION)
}


def parse_type(text: str) -> Type:
    """Reads a type back from its text; the inverse of ``str``.

    >>> parse_type("(f32[2,b], int)")
    TupleType(items=(ArrayType(dtype='float32', shape=(2, 'b')), ScalarType(kind='int')))
    """
    text = text.strip()
    if text in _WORDS:
        return _WORDS[text]
    if text.startswith("(") and text.endswith(")"):
        return TupleType(tuple(parse_type(part) for part in split_outside(text[1:-1])))
    if text.startswith("{") and text.endswith("}"):
        pairs = [split_outside(part, ":") for part in split_outside(text[1:-1])]
        keys = tuple(_read_key(key) for key, _ in pairs)
        return DictType(keys, tuple(parse_type(item) for _, item in pairs))
    if text.startswith("list[") and text.endswith("]"):
        return ListType(parse_type(text[5:-1]))
    return _parse_array(text)


def _parse_array(text: str) -> ArrayType:
    head, bracket, rest = text.partition("[")
    if head != "any" and head not in LONG or not bracket or rest[-1:] != "]" or "-" in rest:
        raise ValueError(
            f"{text!r} is not a type; write f32[2,3], i64[], any[...] or (f32[2], int)"
        )
    dtype = None if head == "any" else LONG[head]
    if rest == "...]":
        return ArrayType(dtype, None)
    dims = [part.strip() for part in rest[:-1].split(",") if part.strip()]
    return ArrayType(dtype, tuple(_read_dim(dim) for dim in dims))


def split_outside(text: str, separator: str = ",") -> list[str]:
    """Splits at each ``separator`` outside brackets; drops an empty last part."""
    parts, depth, start = [], 0, 0
    for position, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char == separator and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    last = text[start:].strip()
    return parts + [last] if last else parts


def _read_dim(text: str) -> Dim:
    if text == "?":
        return None
    if text.lstrip("-").isdigit():
        return int(text)
    if text.isidentifier():
        return text
    raise ValueError(f"{text!r} is not a dimension; use a number, a name such as b, or ?")


def _read_key(text: str) -> Hashable:
    return text[1:-1] if text[:1] in "'\"" else int(text)
