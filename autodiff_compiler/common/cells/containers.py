"""Cells that hold cells: ``SequentialCell``, ``CellList``, ``CellDict``.

Children are registered by position or key, never as attributes: a key must not hide a method.
"""

from __future__ import annotations

__macro__ = True

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.tensor import Tensor

if TYPE_CHECKING:  # what a mixin stands before
    _Mixin = Cell
else:
    _Mixin = object


class _Sequence(_Mixin):
    """Mixin of the Cells that are sequences. ``cell_list`` is the tuple of the children."""

    def __init__(self, children: Iterable[tuple[str, Any]], auto_prefix: bool = True):
        super().__init__(auto_prefix)
        self.cell_list: tuple[Cell, ...] = ()
        for name, child in children:
            self._enter(name, child)

    def _enter(self, name: str, child: Any) -> None:
        if not isinstance(child, Cell):
            raise TypeError(
                f"For '{type(self).__name__}', each item must be 'Cell', but got "
                f"{type(child).__name__}."
            )
        self._register_child(name, child)
        self.cell_list = tuple(self._cells.values())

    def _reset(self, children: Iterable[Cell]) -> None:
        """Replaces the children by ``children``, numbered from 0."""
        remaining = list(children)
        self._cells.clear()
        self.cell_list = ()
        for position, child in enumerate(remaining):
            self._enter(str(position), child)

    def __len__(self) -> int:
        return len(self.cell_list)

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.cell_list)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)._of(list(self._cells.items())[index])
        return self.cell_list[self._position(index)]

    @classmethod
    def _of(cls, children: list[tuple[str, Cell]]) -> _Sequence:
        """Returns a container of these cells; their names and their parameters' names stay."""
        container = cls.__new__(cls)
        _Sequence.__init__(container, (), auto_prefix=False)
        for name, child in children:
            container._enter(name, child)
        return container

    def __setitem__(self, index: int, child: Cell) -> None:
        self._enter(list(self._cells)[self._position(index)], child)

    def __delitem__(self, index: int | slice) -> None:
        remaining = list(self.cell_list)
        del remaining[index if isinstance(index, slice) else self._position(index)]
        self._reset(remaining)

    def _position(self, index: Any) -> int:
        if isinstance(index, bool) or not isinstance(index, int):
            raise TypeError(
                f"For '{type(self).__name__}', the index must be int or slice, but got "
                f"{type(index).__name__}."
            )
        size = len(self)
        if not -size <= index < size:
            raise IndexError(
                f"For '{type(self).__name__}', the index must be in range [{-size}, {size}), "
                f"but got {index}."
            )
        return index % size

    def append(self, cell: Cell) -> Any:
        """Adds a cell at the end."""
        taken = [int(name) + 1 for name in self._cells if name.isdigit()]  # of a slice: more
        self._enter(str(max([len(self), *taken])), cell)
        return self


class SequentialCell(_Sequence, Cell):
    """Composition of cells: each gets the output of the one before.

    Takes cells, one list of them, or one OrderedDict whose keys become names.
    """

    def __init__(self, *args: Any):
        only = args[0] if len(args) == 1 else args
        if isinstance(only, Mapping):
            super().__init__(only.items())
        else:
            super().__init__(_numbered(args))

    def construct(self, x: Any) -> Tensor:
        """Returns the last cell's result."""
        for cell in self.cell_list:
            x = cell(x)
        return x


class CellList(_Sequence, Cell):
    """A list of cells, for loops in ``construct``."""

    def __init__(self, *args: Any, auto_prefix: bool = True):
        super().__init__(_numbered(args), auto_prefix)

    def construct(self, *args: Any) -> Any:
        """Raises NotImplementedError: a list cannot be called."""
        raise NotImplementedError("CellList is not callable; loop over it in construct.")

    @classmethod
    def _of(cls, children: list[tuple[str, Cell]]) -> _Sequence:
        """Returns a list of these cells, numbered from 0."""
        return super()._of([(str(k), child) for k, (_, child) in enumerate(children)])

    def insert(self, index: int, cell: Cell) -> None:
        """Adds a cell before position ``index``."""
        cells = list(self.cell_list)
        cells.insert(index, cell)
        self._reset(cells)

    def extend(self, cells: Iterable[Cell]) -> CellList:
        """Adds cells at the end."""
        for cell in cells:
            self.append(cell)
        return self

    __iadd__ = extend


class CellDict(Cell):
    """A dict of cells, with strings as keys."""

    def __init__(self, *args: Any, auto_prefix: bool = True):
        super().__init__(auto_prefix)
        for given in args:
            self.update(given)

    def construct(self, *args: Any) -> Any:
        """Raises NotImplementedError: a dict cannot be called."""
        raise NotImplementedError("CellDict is not callable; look its cells up in construct.")

    def __getitem__(self, key: str) -> Cell:
        return self._cells[key]

    def __setitem__(self, key: str, cell: Cell) -> None:
        if not isinstance(key, str) or not key or "." in key:
            raise KeyError(f"For 'CellDict', a key must be a str without '.', but got {key!r}.")
        if not isinstance(cell, Cell):
            raise TypeError(f"For 'CellDict', a value must be 'Cell', but got {type(cell)}.")
        self._register_child(key, cell)

    def __delitem__(self, key: str) -> None:
        del self._cells[key]

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __contains__(self, key: object) -> bool:
        return key in self._cells

    def update(self, cells: Any) -> None:
        """Adds the cells of a mapping or of an iterable of pairs."""
        for key, cell in OrderedDict(cells).items():
            self[key] = cell

    def keys(self) -> Any:
        """Returns the keys."""
        return self._cells.keys()

    def values(self) -> Any:
        """Returns the cells."""
        return self._cells.values()

    def items(self) -> Any:
        """Returns the pairs of key and cell."""
        return self._cells.items()

    def pop(self, key: str) -> Cell:
        """Removes a cell and returns it."""
        return self._cells.pop(key)

    def clear(self) -> None:
        """Removes all cells."""
        self._cells.clear()


def _numbered(args: tuple) -> Iterator[tuple[str, Any]]:
    """Yields cells, given one by one or as one list, with their positions as names."""
    only_a_list = len(args) == 1 and isinstance(args[0], (list, tuple))
    cells = args[0] if only_a_list else args
    return ((str(position), cell) for position, cell in enumerate(cells))
