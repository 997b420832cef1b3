"""Merges functions that differ in nothing but sizes: sizes of arrays stand for the literals.

``x.reshape((2, 5)) / 5`` and ``x.reshape((2, 7)) / 7`` are both ``x.reshape(y.shape) /
y.shape[1]``, if ``y`` has these shapes. An expression is taken only where a person would write one:
in a shape, as a divisor, as the length of a range or of a slice. In every function that shares the
code, its value is that of the literal. Shapes are known at compile time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

from autodiff_compiler.emit.function_text import FunctionText
from autodiff_compiler.emit.literal_sites import (
    Columns,
    Shape,
    Shapes,
    Site,
    find_sites,
    literals_in,
)
from autodiff_compiler.emit.text.line_breaking import STEP
from autodiff_compiler.ir.nodes import Op, Value, type_of
from autodiff_compiler.ir.types import ArrayType, ScalarType

#: Operators of these kinds compute with arrays: none of them is None.
COMPUTING = frozenset({"elementwise", "linear", "bilinear", "general"})
#: Operators of planned memory: an array may have another shape than its type, or be None.
PLANNED = frozenset({"work_buffer", "slice_view", "tile_view", "copy_if_set"})


#: The kind of the divisor in ``n / (n - 1)``.
LESS_ONE = "count less one"


class Size(NamedTuple):
    """A size of an array, plus a constant. The form is a key of ``FORMS``."""

    array: str
    form: str
    axis: int = 0
    more: int = 0

    def __str__(self) -> str:
        text = FORMS[self.form].text.format(self.array, self.axis)
        return f"{text} {'+' if self.more > 0 else '-'} {abs(self.more)}" if self.more else text

    def value(self, shapes: Shapes) -> int | None:
        """Returns the size among arrays of these shapes, or None if it cannot be asked for."""
        shape = shapes.get(self.array)
        size = None if shape is None else FORMS[self.form].value(shape, self.axis)
        return None if size is None else size + self.more


class _Form(NamedTuple):
    text: str
    value: Callable[[Shape, int], int | None]


def _item_size(shape: Shape, axes: Sequence[int]) -> int | None:
    """Returns the size of the first item along these axes; None if it is no array, or missing."""
    if len(axes) >= len(shape) or not all(shape[axis] for axis in axes):
        return None
    return prod(shape) // prod(shape[axis] for axis in axes)


FORMS = {
    "axis": _Form("{}.shape[{}]", lambda shape, axis: shape[axis] if axis < len(shape) else None),
    "all": _Form("{}.size", lambda shape, _: prod(shape)),
    "row": _Form("{}[0].size", lambda shape, _: _item_size(shape, [0])),
    "channel": _Form("{}[:, 0].size", lambda shape, _: _item_size(shape, [1])),
    "plane": _Form("{}[0, 0].size", lambda shape, _: _item_size(shape, [0, 1])),
}


def sizes_at(site: Site, number: int, value: int, shapes: Shapes) -> tuple[Size, ...]:
    """Returns the sizes of a value that may stand for a literal of a site, the likeliest first."""
    position = site.first + number
    ranked: list[tuple[tuple[bool, ...], Size]] = []
    for rank, array in enumerate(site.arrays):
        shape = shapes[array]
        wanted = [Size(array, "axis", axis) for axis in range(len(shape))]
        if site.kind in ("reshape", "count", LESS_ONE):
            wanted += [Size(array, form) for form in FORMS if form != "axis"]
        if site.kind == LESS_ONE:
            wanted = [size._replace(more=-1) for size in wanted]
        if site.kind == "new" and len(shape) == site.rank:
            wanted.append(Size(array, "axis", position, value - shape[position]))
        for size in wanted:
            if size.value(shapes) == value:
                elsewhere = size.axis != position or size.form != "axis"
                order = bool(size.more), size.form != "axis", rank >= site.near, elsewhere
                ranked.append((order, size))
    ranked.sort(key=lambda pair: pair[0])
    return tuple(dict.fromkeys(size for _, size in ranked))


def _array_of(size: object) -> str | None:
    return size.array if isinstance(size, Size) else None


class Item(NamedTuple):
    """A literal of a row: its value in the first function, and the sizes that it may be. The flag
    is True if it is the same in every function.
    """

    literal: int
    sizes: tuple[Size, ...]
    is_same: bool = True

    def narrowed(self, literal: int, shapes: Shapes) -> Item:
        """Returns what is left if it is ``literal`` in another function."""
        sizes = tuple([size for size in self.sizes if size.value(shapes) == literal])
        return Item(self.literal, sizes, self.is_same and literal == self.literal)

    def size(self, taken: Collection[object]) -> Size | None:
        """Returns the likeliest size, or the likeliest that is not taken."""
        free = (size for size in self.sizes if size not in taken)
        return next(free, self.sizes[0] if self.sizes else None)

    def is_doubtful(self, size: object) -> bool:
        """True if ``size`` is of another array than the likeliest size, which was taken."""
        return isinstance(size, Size) and size.array != self.sizes[0].array


@dataclass(frozen=True)
class Row:
    """Literals in a row, in all functions that share the code.

    site      their place.
    arrays    the arrays that have this shape in every function.
    items     the single literals; None if not even their number is the same.
    positive  True if all literals of all functions are above zero, but for one -1.
    """

    site: Site
    arrays: tuple[str, ...]
    items: tuple[Item, ...] | None
    positive: bool

    def narrowed(self, literals: Shape, shapes: Shapes) -> Row:
        """Returns what is left if another function has these literals and shapes."""
        arrays = tuple([array for array in self.arrays if shapes.get(array) == literals])
        items = None
        if self.items is not None and len(literals) == len(self.items):
            pairs = zip(self.items, literals)
            items = tuple([item.narrowed(literal, shapes) for item, literal in pairs])
        return Row(self.site, arrays, items, self.positive and is_positive(literals))

    def replaced(self, taken: Collection[object] = ()) -> tuple[Columns, str] | None:
        """Returns an expression that is right in every function, and the literal that it replaces;
        None if there is none. Sizes that are ``taken`` are avoided.
        """
        site = self.site
        if site.shape_columns and self.arrays and (self.items is None or len(self.items) > 1):
            return site.shape_columns, f"{self.arrays[0]}.shape"
        if self.items is None:
            return None
        sizes = self.chosen(taken)
        texts = [str(size) for size in sizes]
        if site.kind == LESS_ONE:
            texts = [f"({text})" if text else "" for text in texts]
        if site.kind == "reshape" and site.shape_columns and self.positive and "-1" not in texts:
            changed = [place for place, item in enumerate(self.items) if not item.is_same]
            unknown = [place for place in changed if not texts[place]]
            doubtful = [place for place in changed if self.items[place].is_doubtful(sizes[place])]
            foreign = [
                place for place in changed if _array_of(sizes[place]) != _array_of(sizes[-1])
            ]
            for places in (unknown, changed, doubtful, foreign):
                if len(places) == 1 and "-1" not in texts:
                    texts[places[0]] = "-1"
        return (site.columns, ", ".join(texts)) if all(texts) else None

    def chosen(self, taken: Collection[object] = ()) -> list[Size | int | str]:
        """Returns for each item its literal, a size, or the empty text if there is none.

        The items of a shape are different sizes, if possible. A literal that is the same everywhere
        becomes a size of an array that other items refer to.
        """
        sizes: list[Size | int | str] = []
        for item in self.items or ():
            size = item.size([*taken, *sizes])
            sizes.append(item.literal if item.is_same else size or "")
        places = range(self.site.first, self.site.first + len(sizes))
        arrays = {
            size.array
            for size, place in zip(sizes, places)
            if isinstance(size, Size) and size.axis == place and size.form == "axis"
        }
        for number, (item, place) in enumerate(zip(self.items or (), places)):
            also = [s for s in item.sizes if s.array in arrays and s[1:] == ("axis", place, 0)]
            if item.is_same and also:
                sizes[number] = also[0]
        return sizes


def is_positive(literals: Shape) -> bool:
    """True if NumPy can compute one number of a shape from the others, as none is zero."""
    return all(literal > 0 or literal == -1 for literal in literals)


class SizeAgnosticText:
    """The code that several functions share, with sizes of arrays where literals differ."""

    def __init__(self, first: FunctionText):
        self._first = first
        self._members = [_Member(first)]
        self._rows: dict[int, Row] = {}

    def admits(self, text: FunctionText) -> bool:
        """Adds a function, if the code can be made right for it, too."""
        member = _Member(text)
        if text.code != self._first.code:
            if text.skeleton != self._first.skeleton:
                return False
        elif not self._rows:
            self._members.append(member)
            return True
        rows = self._narrowed(member)
        if rows is None:
            return False
        self._rows = rows
        self._members.append(member)
        return True

    def _narrowed(self, member: _Member) -> dict[int, Row] | None:
        """Returns the rows that differ if ``member`` is added, or None if one has no text."""
        rows = dict(self._rows)
        others = literals_in(member.text.code)
        for place, (mine, other) in enumerate(zip(self._literals, others)):
            if place in rows or mine != other:
                row = rows.get(place) or self._row(place)
                row = row and row.narrowed(other, member.shapes)
                if row is None or row.replaced() is None:
                    return None
                rows[place] = row
        return rows

    def codes(self) -> list[str]:
        """Returns the code of each line."""
        if not self._rows:
            return [line.code for line in self._first.lines]
        code = self._first.code
        for (start, stop), text in reversed(list(self._replaced())):
            code = code[:start] + text + code[stop:]
        lines = code.split("\n")[1:]
        return [line[STEP * each.indent :] for each, line in zip(self._first.lines, lines)]

    def _replaced(self) -> Iterator[tuple[Columns, str]]:
        """Yields what replaces literals. Slices in one line have different lengths, if possible."""
        line, taken = 0, list[Size | int | str]()
        for place in sorted(self._rows):
            row = self._rows[place]
            if row.site.line != line or row.site.kind != "length":
                line, taken = row.site.line, []
            replaced = row.replaced(taken)
            assert replaced is not None
            taken += row.chosen(taken)
            yield replaced

    @cached_property
    def _literals(self) -> list[Shape]:
        return literals_in(self._first.code)

    @cached_property
    def _sites(self) -> dict[int, Site]:
        return find_sites(self._first.code, self._members[0].shapes)

    def _row(self, place: int) -> Row | None:
        """Returns what may stand for literals that are the same in all functions until now."""
        site = self._sites.get(place)
        if site is None:
            return None
        first, shapes = self._literals[place], self._members[0].shapes
        arrays = tuple([array for array in site.arrays if shapes[array] == first])
        items = [Item(n, sizes_at(site, number, n, shapes)) for number, n in enumerate(first)]
        row = Row(site, arrays, tuple(items), is_positive(first))
        for member in self._members[1:]:
            row = row.narrowed(first, member.shapes)
        return row


@dataclass(frozen=True)
class _Member:
    """A function that shares its code."""

    text: FunctionText

    @cached_property
    def shapes(self) -> Shapes:
        """The shapes of its arrays, by name. There is none for a name that may be None, or that
        arrays of several shapes share."""
        function = self.text.function
        if PLANNED & function.op_names:
            return {}
        computed: set[Value] = set()
        for op in function.body.ops:
            if is_computing(op):
                computed.update(op.results)
                computed.update(each for each in op.operands if isinstance(each, Value))
            elif op.name == "compute_into":
                computed.update(op.results)
        shapes: dict[str, Shape] = {}
        for value, name in self.text.names.items():
            type_ = value.type
            shape: Shape = ()
            if value in computed and isinstance(type_, ArrayType) and type_.has_static_shape:
                shape = type_.static_shape
            shapes[name] = shape if shapes.get(name, shape) == shape else ()
        return {name: shape for name, shape in shapes.items() if shape}


def is_computing(op: Op) -> bool:
    """True if an operation computes with arrays and numbers, and so with nothing that is None."""
    plain = all(isinstance(type_of(each), (ArrayType, ScalarType)) for each in op.operands)
    return plain and op.opdef.kind in COMPUTING


__all__ = ["SizeAgnosticText"]
