"""The cotangents of the values of a region, as far as the sweep has come.

Cotangents are stored per leaf: a tuple or dict has none, only its items that carry one have. No
entry means zero. Scopes are nested as regions are. A branch starts from the cotangents of the
region around it. A loop turns the cotangent of a value from outside into a carry.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

from autodiff_compiler.ir.builder import Builder, current
from autodiff_compiler.ir.nodes import (
    AnyOperand,
    Function,
    Op,
    Region,
    Value,
    expect_value,
    type_of,
)
from autodiff_compiler.ir.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    SHAPE,
    STR,
    ArrayType,
    DictType,
    ListType,
    ScalarType,
    TupleType,
    Type,
    as_cotangent,
    carries_cotangent,
    is_complex,
    join,
)
from autodiff_compiler.operators.core.containers import (
    add_cotangents,
    item,
    list_zeros,
    make_dict,
    make_tuple,
)
from autodiff_compiler.operators.core.structure import cast, full, full_like, shape_argument
from autodiff_compiler.operators.elementwise.complex_parts import real
from autodiff_compiler.operators.lists.loop_tapes import list_ones, zeros_if_set
from autodiff_compiler.operators.lists.runtime_lists import list_add_at

Path = tuple[Hashable, ...]
Key = tuple[Value, Path]

#: The zeros that need no operation. ``0`` is for an int beside the floats of a tuple.
LITERAL_ZEROS: dict[Type, AnyOperand] = {
    INT: 0,
    BOOL: False,
    FLOAT: 0.0,
    COMPLEX: 0j,
    NONE: None,
    STR: "",
}


def children(type_: Type) -> Iterator[tuple[Hashable, Type]]:
    """Yields the items of a tuple or dict type with their keys; other types have none."""
    if isinstance(type_, TupleType):
        yield from enumerate(type_.items)
    elif isinstance(type_, DictType):
        yield from zip(type_.keys, type_.items)


def leaves(type_: Type, path: Path = ()) -> Iterator[tuple[Path, Type]]:
    """Yields the parts of a type that carry a cotangent of their own, with their paths.

    >>> from autodiff_compiler.ir.types import parse_type
    >>> [(path, str(leaf)) for path, leaf in leaves(parse_type("(f32[2], (int, list[f32[3]]))"))]
    [((0,), 'f32[2]'), ((1, 1), 'list[f32[3]]')]
    """
    if isinstance(type_, (TupleType, DictType)):
        for key, inner in children(type_):
            yield from leaves(inner, (*path, key))
    elif carries_cotangent(type_):
        yield path, type_


def type_at(key: Key) -> Type:
    """Returns the type of the leaf ``key``."""
    value, path = key
    return dict(leaves(value.type))[path]


def part(value: Value, path: Path) -> Any:
    """Reads the item of ``value`` at ``path``."""
    component: Any = value
    for key in path:
        component = item(component, key=key)
    return component


def zero_leaf(value: Value, path: Path, type_: Type, unset: bool = False) -> AnyOperand:
    """Builds the zero cotangent of one leaf of a value, which may be ``unset``.

    It reads no more of a value that is set than its shape.
    """
    if type_ in LITERAL_ZEROS:
        return LITERAL_ZEROS[type_]
    is_static = isinstance(type_, ArrayType) and type_.is_static
    if type_ == SHAPE or unset and not is_static:
        return zeros_if_set(value, path=path)
    if isinstance(type_, ListType):
        return list_zeros(part(value, path))
    return filled(value, path, type_, 0)


def one_leaf(value: Value, path: Path, type_: Type) -> AnyOperand:
    """Builds the default sensitivity of one leaf of an output: ones."""
    if isinstance(type_, ListType):
        return list_ones(part(value, path))
    return filled(value, path, type_, 1) if isinstance(type_, ArrayType) else 1.0


def filled(value: Value, path: Path, type_: Type, number: int) -> Any:
    """Builds an array of the leaf's shape and dtype that holds one number."""
    assert isinstance(type_, ArrayType), f"{value} has no cotangent"
    if type_.is_static:
        return full(shape=type_.shape, dtype=type_.dtype, value=number)
    if type_.dtype is None:
        return full_like(part(value, path), value=number)
    shape, rest = shape_argument(part(value, path))
    return full(*rest, shape=shape, dtype=type_.dtype, value=number)


def common_type(primal: Type, *types: Type) -> Type:
    """Returns the type that joins cotangents of these types, for one leaf of type ``primal``.

    The cotangent of a Python number is a Python number or, after array arithmetic, a 0-d array;
    the two join to an array. Its shape is unknown if the variable holds an array of another shape
    on another path.
    """
    if isinstance(primal, ScalarType):
        arrays = [type_ for type_ in types if isinstance(type_, ArrayType)]
        number = as_cotangent(primal) if arrays else primal
        if isinstance(number, ArrayType) and any(type_.shape != () for type_ in arrays):
            return ArrayType(number.dtype, None)
        return number
    joined: Type = primal
    for type_ in types:
        joined = join(joined, type_) or joined
    return joined


def conform(ct: AnyOperand, type_: Type) -> AnyOperand:
    """Casts ``ct`` to the dtype of ``type_``, item by item in tuples and dicts."""
    have = type_of(ct)
    if isinstance(type_, (TupleType, DictType)) and have != type_:
        parts = [conform(item(ct, key=key), inner) for key, inner in children(type_)]
        return packed(current(), type_, parts)
    if not isinstance(type_, ArrayType) or type_.dtype is None:
        return ct
    shape = type_.shape or ()
    if not isinstance(ct, Value) and isinstance(have, ScalarType) and None not in shape:
        return full(shape=shape, dtype=type_.dtype, value=ct)
    if isinstance(have, ArrayType) and have.dtype in (type_.dtype, None):
        return ct
    return cast(ct, dtype=type_.dtype)


def packed(builder: Builder, type_: Type, parts: list[Any]) -> Value:
    """Builds a tuple or dict of ``parts``, with the keys of ``type_``; also if all are literals."""
    attrs = {"keys": type_.keys} if isinstance(type_, DictType) else {}
    opdef = make_dict if attrs else make_tuple
    container = Value(opdef.result([type_of(part) for part in parts], **attrs))
    builder.add(Op(opdef, tuple(parts), attrs, (container,), builder.span, builder.role))
    return container


class Names:
    """The names of derivatives, made of those of their primals.

    ``x`` has the derivative ``d_x``, in the second sweep ``d2_x``; ``word`` replaces ``d``. A
    function that already contains derivatives gets ``d2_d_x`` for the derivative of ``d_x``.
    """

    def __init__(self, builder: Builder, function: Function, word: str = "d"):
        self.builder, self.order, self.word = builder, function.order, word
        self.named: set[Value] = set()
        self.derived = {
            result.name
            for op in function.body.walk()
            if op.role != "primal"
            for result in op.results
        }

    def wish(self, value: Value, path: Path = ()) -> str:
        """Returns the name of the cotangent of a leaf, empty if the primal has no name."""
        name, sweep = "_".join([value.name, *map(str, path)]), self.order + 1
        if self.order == 0 and value.name in self.derived:
            match = re.match(r"d(?:ot)?(\d*)_", name)
            sweep = int(match[1] or 1) + 1 if match else sweep
        while (wish := f"{self.word}{sweep if sweep > 1 else ''}_{name}") in self.derived:
            sweep += 1
        return wish if value.name else ""

    def fresh(self, type_: Type, value: Value, path: Path = ()) -> Value:
        """Returns a new value for the cotangent of a leaf: a parameter of a region or function."""
        cotangent = Value(type_, self.wish(value, path), value.has_user_name)
        self.named.add(cotangent)
        return cotangent

    def give(self, ct: AnyOperand, value: Value, path: Path = ()) -> AnyOperand:
        """Names ``ct`` after ``value``, unless it is already the cotangent of another value."""
        if isinstance(ct, Value) and ct not in self.named and self.builder.producer(ct):
            self.named.add(ct)
            if value.name:
                ct.name, ct.has_user_name = self.wish(value, path), value.has_user_name
        return ct


class Cotangents:
    """The cotangents that one region knows.

    varied   the values that have a cotangent.
    unset    values that may be unset: their shape cannot be read.
    local    the values defined in this region.

    The tangent sweep keeps its tangents in the same way.
    """

    def __init__(
        self,
        varied: frozenset[Value],
        unset: AbstractSet[Value],
        names: Names,
        parent: Cotangents | None = None,
        region: Region | None = None,
    ):
        self.varied, self.unset, self.names, self.parent = varied, unset, names, parent
        self.local = defined_in(region) if region is not None else set()
        self.entries: dict[Key, AnyOperand] = {}

    def inside(self, region: Region) -> Cotangents:
        """Opens the scope of a branch, which adds to the outer cotangents as they are now."""
        return Cotangents(self.varied, self.unset, self.names, self, region)

    def partial_sum(self, key: Key) -> AnyOperand:
        """Returns the cotangent of a leaf as far as it is summed up; None for zero."""
        if key in self.entries:
            return self.entries[key]
        if self.parent is None or key[0] in self.local:
            return None
        return self.from_outside(key)

    def from_outside(self, key: Key) -> AnyOperand:
        """Returns the cotangent of a leaf that an outer region defines; None for zero."""
        assert self.parent is not None
        return self.parent.partial_sum(key)

    def accumulated(self) -> list[Key]:
        """Lists the outer leaves to which this region added, in that order."""
        return [key for key in self.entries if key[0] not in self.local]

    def has_cotangent(self, operand: AnyOperand) -> bool:
        """True if any part of a value has a cotangent."""
        return isinstance(operand, Value) and any(
            self.partial_sum((operand, path)) is not None for path, _ in leaves(operand.type)
        )

    def full_cotangent(self, value: Value) -> Any:
        """Builds the cotangent of a value, with zeros for the parts that have none."""
        return self._assemble(value, (), value.type)

    def _assemble(self, value: Value, path: Path, type_: Type) -> Any:
        if isinstance(type_, (TupleType, DictType)):
            parts = [self._assemble(value, (*path, k), inner) for k, inner in children(type_)]
            return self.names.give(packed(self.names.builder, type_, parts), value, path)
        cotangent = self.partial_sum((value, path)) if carries_cotangent(type_) else None
        return (
            zero_leaf(value, path, type_, value in self.unset) if cotangent is None else cotangent
        )

    def leaf(self, key: Key) -> AnyOperand:
        """Returns the cotangent of one leaf, zeros if it has none."""
        cotangent = self.partial_sum(key)
        if cotangent is None:
            cotangent = self.names.give(zero_leaf(*key, type_at(key), key[0] in self.unset), *key)
        return cotangent

    def set(self, key: Key, ct: AnyOperand) -> None:
        """Replaces the cotangent of a leaf."""
        self.entries[key] = ct

    def add(self, target: AnyOperand, ct: AnyOperand, path: Path = ()) -> None:
        """Adds ``ct`` to the cotangent of ``target``, or of the part at ``path``; None is zero."""
        if ct is None or not isinstance(target, Value) or target not in self.varied:
            return
        type_ = part_type(target.type, path)
        if isinstance(type_, (TupleType, DictType)):
            for key, inner in children(type_):
                if carries_cotangent(inner):
                    self.add(target, item(ct, key=key), (*path, key))
            return
        if type_ == FLOAT and is_complex(type_of(ct)):
            ct = real(ct)
        known = self.partial_sum((target, path))
        total = ct if known is None else add_cotangents(known, ct)
        self.entries[target, path] = self.names.give(total, target, path)

    def add_at(self, target: AnyOperand, ct: AnyOperand, at: AnyOperand) -> None:
        """Adds ``ct`` to the cotangent of the item ``at`` of the list ``target``."""
        value = expect_value(target)  # it varies, as its item does
        total = list_add_at(self.leaf((value, ())), ct, at)
        self.entries[value, ()] = self.names.give(total, value)


class LoopCotangents(Cotangents):
    """The scope of a loop's body: it carries the cotangents of values from outside.

    ``types`` are the types of the carries that an earlier hypothesis found necessary.
    """

    def __init__(self, parent: Cotangents, region: Region, types: dict[Key, Type]):
        super().__init__(parent.varied, parent.unset, parent.names, parent, region)
        self.types = types
        self.captured: dict[Key, Value] = {}

    def from_outside(self, key: Key) -> AnyOperand:
        assert self.parent is not None
        primal, before = type_at(key), self.parent.partial_sum(key)
        type_ = common_type(primal, primal if before is None else type_of(before))
        type_ = self.types.setdefault(key, type_)
        self.captured[key] = self.names.fresh(type_, *key)
        self.entries[key] = self.captured[key]
        return self.captured[key]


def part_type(type_: Type, path: Path) -> Type:
    """Returns the type of the item at ``path``."""
    for key in path:
        type_ = dict(children(type_))[key]
    return type_


def defined_in(region: Region) -> set[Value]:
    """Returns the parameters of a region and the results of its own, not nested, operations."""
    return {*region.params, *(result for op in region.ops for result in op.results)}
