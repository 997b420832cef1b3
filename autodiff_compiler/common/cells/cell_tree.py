"""The tree of a Cell: children, Parameters, buffers and flags, by name.

Paths are made of attribute names: ``seq.0.weight``. A Parameter's own name is the path that it had
when its Cell was stored, unless it was given one.
"""

from __future__ import annotations

__macro__ = True

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, ValuesView
from typing import Any, NamedTuple

import numpy as np

from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.common.tensor import Tensor


class IncompatibleKeys(NamedTuple):
    """The names that ``load_state_dict`` did not find, and those that the Cell does not have."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )


class Tree:
    """Base of ``Cell``: its registries, and walks over all Cells below it.

    Parameters and children are stored twice: as plain attributes, for fast reads, and in the
    registries ``_params`` and ``_cells``, in order. ``_buffers`` maps the name of each buffer to
    True if the buffer is part of the state.
    """

    _params: OrderedDict[str, Parameter]
    _cells: OrderedDict[str, Any]
    _buffers: dict[str, bool]
    _flags: dict[str, Any]

    # ---- cells

    def cells(self) -> ValuesView[Any]:
        """Returns the direct children, each once."""
        return self.name_cells().values()

    def name_cells(self) -> OrderedDict[str, Any]:
        """Returns the direct children by attribute name, each once."""
        seen: set[int] = set()
        cells: OrderedDict[str, Any] = OrderedDict()
        for name, cell in self._cells.items():
            if id(cell) not in seen:
                seen.add(id(cell))
                cells[name] = cell
        return cells

    def cells_and_names(self, cells: Any = None, name_prefix: str = "") -> Iterator[Any]:
        """Yields (path, Cell) for this Cell and all below it, except those in ``cells``.

        The order is depth first, and each Cell comes once.
        """
        return self._walk(name_prefix, {id(cell) for cell in cells or ()})

    def _walk(self, path: str, seen: set[int]) -> Iterator[Any]:
        if id(self) in seen:
            return
        seen.add(id(self))
        yield path, self
        for name, cell in self._cells.items():
            yield from cell._walk(_joined(path, name), seen)

    def get_sub_cell(self, target: str) -> Any:
        """Returns the Cell at a path such as ``"seq.0"`` or raises AttributeError."""
        cell: Any = self
        for name in target.split(".") if target else ():
            if name not in cell._cells:
                raise AttributeError(f"{type(cell).__name__} has no cell `{name}`")
            cell = cell._cells[name]
        return cell

    def apply(self, function: Callable[[Any], Any]) -> Any:
        """Calls ``function`` on every child, then on this Cell."""
        for cell in self.cells():
            cell.apply(function)
        function(self)
        return self

    # ---- parameters

    def parameters_and_names(
        self, name_prefix: str = "", expand: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yields (path, Parameter): the Cell's own first, then those of its children."""
        seen: set[int] = set()
        for path, cell in self._owners(name_prefix, expand):
            for name, parameter in cell._params.items():
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield _joined(path, name), parameter

    def _owners(self, path: str, recurse: bool) -> Iterator[Any]:
        return self._walk(path, set()) if recurse else iter([(path, self)])

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        """Returns all parameters, or the Cell's own ones only."""
        for _, parameter in self.parameters_and_names(expand=expand):
            yield parameter

    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        """Returns the parameters with ``requires_grad``."""
        return [p for p in self.get_parameters(recurse) if p.requires_grad]

    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        """Returns the parameters without ``requires_grad``."""
        return [p for p in self.get_parameters(recurse) if not p.requires_grad]

    def parameters_dict(self, recurse: bool = True) -> OrderedDict[str, Parameter]:
        """Returns the parameters by their own names."""
        return OrderedDict((p.name, p) for p in self.get_parameters(recurse))

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Renames every parameter to ``prefix`` and its path."""
        if not isinstance(prefix, str):
            raise TypeError(f"the argument 'prefix' must be str, but got {type(prefix).__name__}.")
        # Cells that join later need the prefix too.
        for path, cell in self._owners("", recurse):
            cell.__dict__["_name_prefix"] = f"{prefix}{path}." if path else prefix
        for path, parameter in self.parameters_and_names(expand=recurse):
            parameter.name = prefix + path

    def check_names(self) -> None:
        """Raises ValueError if two parameters have the same name."""
        names: set[str] = set()
        for parameter in self.get_parameters():
            if parameter.name in names:
                raise ValueError(
                    f"The value of {parameter} is {parameter.name}, which is already taken; give "
                    "each parameter a name of its own."
                )
            names.add(parameter.name)

    def init_parameters_data(self, auto_parallel_mode: bool = False) -> dict[Parameter, Parameter]:
        """Returns each parameter by itself: parameters are initialized when they are created."""
        return {parameter: parameter for parameter in self.get_parameters()}

    # ---- buffers, and the whole state

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Stores a Tensor that is no Parameter. A ``persistent`` one is part of ``state_dict``.

        Raises TypeError for anything but a Tensor or None, KeyError for a name that is taken.
        """
        if not isinstance(name, str):
            raise TypeError(f"the name of a buffer must be str, but got {type(name).__name__}")
        if "." in name or not name:
            raise KeyError("the name of a buffer must not be empty or contain a dot")
        if not isinstance(tensor, (Tensor, type(None))):
            raise TypeError(
                f"cannot assign '{type(tensor)}' object to buffer '{name}' (Tensor or None "
                "required)"
            )
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(f"attribute '{name}' already exists")
        self._buffers[name] = persistent
        object.__setattr__(self, name, tensor)

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Yields (path, buffer)."""
        for path, cell in self._owners(prefix, recurse):
            for name in cell._buffers:
                if getattr(cell, name) is not None:
                    yield _joined(path, name), getattr(cell, name)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Returns the buffers of this Cell, and of all below it."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def state_dict(self, prefix: str = "") -> OrderedDict[str, Tensor]:
        """Returns Parameters and persistent buffers by their paths, with ``prefix`` before each."""
        tensors: dict[int, tuple[str, Tensor]] = {}
        for path, cell in self._walk("", set()):
            names = [
                *cell._params,
                *(name for name, is_persistent in cell._buffers.items() if is_persistent),
            ]
            for name in names:
                tensor = getattr(cell, name)
                if tensor is not None:
                    tensors.setdefault(id(tensor), (prefix + _joined(path, name), tensor))
        return OrderedDict(tensors.values())

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True
    ) -> IncompatibleKeys:
        """Copies the values of Tensors by their paths, cast to the dtypes of this Cell.

        Raises RuntimeError if a shape differs or, if ``strict``, if a name is missing or unknown.
        Then no value has changed.
        """
        have = self.state_dict()
        keys = IncompatibleKeys(
            [name for name in have if name not in state_dict],
            [name for name in state_dict if name not in have],
        )
        problems = [
            f"size mismatch for {name}: its shape is {have[name].shape}, but the value "
            f"has the shape {tuple(np.shape(value))}."
            for name, value in state_dict.items()
            if name in have and tuple(np.shape(value)) != have[name].shape
        ]
        for what, names in zip(("Missing", "Unexpected"), keys if strict else ()):
            if names:
                problems.append(f"{what} key(s) in state_dict: {', '.join(names)}.")
        if problems:
            what = type(self).__name__
            raise RuntimeError(
                "\n\t".join([f"Error(s) in loading state_dict for {what}:", *problems])
            )
        for name, tensor in have.items():
            if name in state_dict:
                tensor.assign_value(Tensor(state_dict[name]).astype(tensor.dtype))
        return keys

    # ---- flags

    def add_flags(self, **flags: Any) -> Any:
        """Stores flags as attributes; ``get_flags`` returns them."""
        self._flags.update(flags)
        for name, flag in flags.items():
            setattr(self, name, flag)
        return self

    def add_flags_recursive(self, **flags: Any) -> Any:
        """Calls ``add_flags`` on this Cell and all below it."""
        for _, cell in self._walk("", set()):
            cell.add_flags(**flags)
        return self

    def get_flags(self) -> dict[str, Any]:
        """Returns the flags that ``add_flags`` stored."""
        return self._flags


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
