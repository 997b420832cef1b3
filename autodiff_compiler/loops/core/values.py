"""Representations of the values of typed IR in the loop-nest IR.

An array is a strided view of a buffer. A number, or an array without axes, is an expression that
may be read any number of times: a literal, a scalar, or the position that integers stand for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from autodiff_compiler.interface.compiled import NoNativeText
from autodiff_compiler.loop_ir.nodes import Affine, Buffer, Expression, Load, Part, Scalar


@dataclass(frozen=True)
class Array:
    """A strided view: the element (i, j, …) is at ``at + i * strides[0] + j * strides[1] + …``."""

    buffer: Buffer
    at: Affine
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def dtype(self) -> str:
        return self.buffer.dtype

    @property
    def is_contiguous(self) -> bool:
        """True if the elements lie in C order without gaps."""
        return all(
            size == 1 or have == want
            for size, have, want in zip(self.shape, self.strides, row_major(self.shape))
        )

    def position(self, indices: Sequence[Affine]) -> Affine:
        """Returns the position of an element. Indices count from the last axis; an axis of length
        one takes any."""
        at, first = self.at, len(indices) - len(self.shape)
        for size, stride, index in zip(self.shape, self.strides, indices[first:]):
            if size != 1:
                at += index * stride
        return at

    def load(self, indices: Sequence[Affine]) -> Load:
        """Returns the element at these indices, as NumPy broadcasts."""
        return Load(self.buffer, self.position(indices))

    def part(self, indices: Sequence[Affine], rank: int) -> Part:
        """Returns the last ``rank`` axes of an array in C order, at indices of those before."""
        axes = len(self.shape) - rank
        lead = self.with_axes(self.shape[:axes], self.strides[:axes])
        return Part(self.buffer, lead.position(indices), math.prod(self.shape[axes:]))

    def item(self, index: Affine) -> Array:
        """Returns the part at an index of the first axis."""
        at = self.at + index * self.strides[0]
        return Array(self.buffer, at, self.shape[1:], self.strides[1:])

    def with_axes(self, shape: Sequence[int], strides: Sequence[int]) -> Array:
        return replace(self, shape=tuple(shape), strides=tuple(strides))


@dataclass(frozen=True)
class Jagged:
    """Lists of any lengths, as the items of a list: their rows stand one behind the other.

    rows     the rows of all lists.
    first    the place of the first row of each list.
    lengths  the number of rows of each list.
    end      the number of all rows.
    """

    rows: Columns
    first: Array
    lengths: Array
    end: Scalar


#: The items of a list: an array with the axis of the items first; for tuples, one for each part.
Columns: TypeAlias = "Array | Jagged | tuple[Columns, ...]"


@dataclass(frozen=True)
class Rows:
    """A list whose items have one type: the rows of buffers.

    rows    the rows.
    length  the number of items: known, or an integer expression.
    """

    rows: Columns
    length: int | Expression


@dataclass(frozen=True)
class Items:
    """A tuple, or a list of known length."""

    items: tuple[Representation, ...]


@dataclass(frozen=True)
class Joined:
    """A list that consists of two lists, one behind the other."""

    first: Representation
    second: Representation


@dataclass(frozen=True)
class Unset:
    """A variable that is not set on this path. Nothing reads it."""


@dataclass(frozen=True)
class Text:
    """The message of an exception, with numbers in its places.

    sign   the sign of the places: ``format`` or ``%``.
    kinds  the types of the numbers: ``int``, ``float``, ``bool`` or a dtype.
    """

    pattern: str
    numbers: tuple[Expression, ...]
    kinds: tuple[str, ...]
    sign: str = "format"


Representation: TypeAlias = "Array | Rows | Items | Joined | Unset | Text | Expression"


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the strides of an array in C order.

    >>> row_major((2, 3, 4))
    (12, 4, 1)
    """
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def reshaped_strides(array: Array, shape: Sequence[int]) -> tuple[int, ...] | None:
    """Returns the strides of a reshaped view, or None if the elements do not lie so.

    >>> from autodiff_compiler.loop_ir.nodes import Buffer
    >>> rows = Array(Buffer("x", "float32", 6), Affine(), (2, 3), (3, 1))
    >>> reshaped_strides(rows, (6,)), reshaped_strides(rows, (2, 1, 3))
    ((1,), (3, 1, 1))
    >>> print(reshaped_strides(rows.with_axes((3, 2), (1, 3)), (6,)))
    None
    """
    groups = [(size, step) for size, step in zip(array.shape, array.strides) if size != 1]
    merged: list[tuple[int, int]] = []
    for size, step in groups:
        if merged and merged[-1][1] == size * step:
            merged[-1] = (merged[-1][0] * size, step)
        else:
            merged.append((size, step))
    strides: list[int] = []
    for size in reversed(shape):
        if size == 1:
            strides.append(strides[-1] if strides else 1)
            continue
        if not merged or merged[-1][0] % size:
            return None
        size_left, step = merged.pop()
        strides.append(step)
        if size_left != size:
            merged.append((size_left // size, step * size))
    return None if merged else tuple(reversed(strides))


__all__ = [
    "Array",
    "Columns",
    "Items",
    "Jagged",
    "Joined",
    "NoNativeText",
    "Representation",
    "Rows",
    "Text",
    "Unset",
    "reshaped_strides",
    "row_major",
]
