"""``Subject``: a function whose derivatives are checked, and what it is handed.

``check_grads`` holds everything as Tensors. A plain function of NumPy's is to get what it gets from
its user, for an array and a Tensor do not mix: ``np.eye(3) + x``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.parameter import Parameter, stored_instead
from autodiff_compiler.common.random import replayed
from autodiff_compiler.common.tensor import Tensor, wrap
from autodiff_compiler.ops.transforms.nested_arguments import Flat, plain
from autodiff_compiler.testing.reached import reached


@dataclass(frozen=True)
class Subject:
    """A function with what is differentiated besides its inputs, whose names are ``names``.

    bare    whether it takes arrays and numbers, no tensors; here everything is a Tensor even so.
    floats  the inputs that were given as Python's floats.
    """

    fn: Any
    weights: list[Parameter]
    names: list[str]
    bare: bool
    floats: frozenset[int]

    def handed(self, value: Any) -> Any:
        """``value`` as the function takes it."""
        return as_arrays(value) if self.bare else value

    def arguments(self, inputs: Sequence[Any]) -> list[Any]:
        """The inputs as the function takes them."""
        if not self.bare:
            return list(inputs)
        return [
            float(x._data) if place in self.floats else as_arrays(x)
            for place, x in enumerate(inputs)
        ]

    def taken(self, value: Any) -> Any:
        """What the function gave, as it is held here."""
        value = plain(value)
        return as_tensors(value) if self.bare else value

    def run(self, inputs: Sequence[Any]) -> Any:
        """The function as plain Python. State that it changes, that of generators too, is put
        back."""
        method = self.fn.construct if isinstance(self.fn, Cell) else self.fn
        if isinstance(self.fn, Flat):
            return self._run_leaves(self.fn, inputs)
        copies = [wrap(x._data.copy()) if isinstance(x, Tensor) else x for x in inputs]
        with self.kept(), replayed():
            return self.taken(method(*self.arguments(copies)))

    def stored(self, inputs: Sequence[Any]) -> list[np.ndarray]:
        """What a run stores in Parameters, in order."""
        found: list[np.ndarray] = []

        def seen(parameter: Parameter, value: np.ndarray) -> np.ndarray:
            found.append(value)
            return value

        with stored_instead(seen):
            self.run(inputs)
        return found

    def run_storing(
        self, stored: Sequence[np.ndarray], inputs: Sequence[Any],
        shift: Callable[[Parameter], Any] = lambda parameter: 0.0,
    ) -> Any:  # fmt: skip
        """A run that stores these in Parameters, each shifted, in the place of what it computes:
        for its gradient what a Parameter holds is a value of the Parameter's own."""
        values = iter(stored)

        def given(parameter: Parameter, value: np.ndarray) -> np.ndarray:
            value = next(values, value)
            return value if value.dtype.kind in "biu" else value + shift(parameter)

        with stored_instead(given):
            return self.run(inputs)

    def _run_leaves(self, flat: Flat, inputs: Sequence[Any]) -> Any:
        """As ``run``, where the inputs are the leaves of containers."""
        copies = [wrap(x._data.copy()) if isinstance(x, Tensor) else x for x in inputs]
        with self.kept(), replayed():
            return self.taken(flat.called(self.arguments(copies)))

    def runs(self, inputs: Sequence[Any]) -> bool:
        """Whether the function takes inputs of this kind."""
        try:
            self.run(inputs)
        except Exception:
            return False
        return True

    def derived(self, function: Any, inputs: Sequence[Any], *further: Any) -> Any:
        """What a derivative of the function gives, which takes ``further`` arguments."""
        with self.kept(), replayed():
            return self.taken(function(*self.arguments(inputs), *map(self.handed, further)))

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Parameters, and attributes of Cells, are afterwards what they were before."""
        kept = [(parameter, parameter._data) for parameter in state(self.fn, self.weights)]
        cells = {part for cell in reached(self.fn) for _, part in cell.cells_and_names()}
        attributes = [(vars(cell), dict(vars(cell))) for cell in cells]
        try:
            for parameter, value in kept:
                parameter._data = value.copy()  # writes in place go there
            yield
        finally:
            for parameter, value in kept:
                parameter._data = value
            for now, before in attributes:
                for name in now.keys() - before.keys():
                    del now[name]
                now.update(before)


def state(fn: Any, weights: Sequence[Parameter]) -> list[Parameter]:
    """The Parameters that running ``fn`` may read or write, and ``weights``."""
    found = [parameter for cell in reached(fn) for parameter in cell.get_parameters()]
    return list({id(p): p for p in (*found, *weights)}.values())


def as_tensors(value: Any) -> Any:
    """``value`` with a Tensor for every array and every real number of floating type.

    >>> as_tensors((np.array(2.0), 3.0, 4))[1:]
    (Tensor(shape=[], dtype=Float64, value= 3), 4)
    """
    if isinstance(value, (np.ndarray, np.generic, float)):
        return wrap(np.asarray(value))
    return _mapped(value, as_tensors)


def as_arrays(value: Any) -> Any:
    """``value`` with an array for every Tensor: the other way."""
    return value._data if isinstance(value, Tensor) else _mapped(value, as_arrays)


def _mapped(value: Any, each: Callable[[Any], Any]) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(map(each, value))
    if isinstance(value, dict):
        return {key: each(item) for key, item in value.items()}
    return value


__all__ = ["Subject", "as_arrays", "as_tensors", "state"]
