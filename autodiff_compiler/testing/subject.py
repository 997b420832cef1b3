"""``Subject``: the function whose derivatives are checked, and the form of its arguments.

``check_grads`` holds all values as Tensors. A plain NumPy function gets arrays, as from its user:
an array and a Tensor do not mix in ``np.eye(3) + x``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.parameter import Parameter, replacing_stored_values
from autodiff_compiler.common.random import restoring_generators
from autodiff_compiler.common.tensor import Tensor, wrap
from autodiff_compiler.ops.transforms.nested_arguments import Flat, plain
from autodiff_compiler.testing.reached import reached


@dataclass(frozen=True)
class Subject:
    """A function, the Parameters to differentiate and the names of its inputs.

    bare    True if it takes arrays and numbers in place of tensors.
    floats  the inputs that were given as Python floats.
    """

    fn: Any
    weights: list[Parameter]
    names: list[str]
    bare: bool
    floats: frozenset[int]

    def as_argument(self, value: Any) -> Any:
        """Returns ``value`` in the form that the function takes."""
        return as_arrays(value) if self.bare else value

    def arguments(self, inputs: Sequence[Any]) -> list[Any]:
        """Returns the inputs in the form that the function takes."""
        if not self.bare:
            return list(inputs)
        return [
            float(x._data) if place in self.floats else as_arrays(x)
            for place, x in enumerate(inputs)
        ]

    def as_result(self, value: Any) -> Any:
        """Returns a result of the function, with Tensors."""
        value = plain(value)
        return as_tensors(value) if self.bare else value

    def run(self, inputs: Sequence[Any]) -> Any:
        """Runs the function as plain Python, and restores the state that it changes, generators
        included."""
        method = self.fn.construct if isinstance(self.fn, Cell) else self.fn
        if isinstance(self.fn, Flat):
            return self._run_leaves(self.fn, inputs)
        copies = [wrap(x._data.copy()) if isinstance(x, Tensor) else x for x in inputs]
        with self.restored(), restoring_generators():
            return self.as_result(method(*self.arguments(copies)))

    def stored(self, inputs: Sequence[Any]) -> list[np.ndarray]:
        """Returns the values that a run stores in Parameters, in order."""
        values: list[np.ndarray] = []

        def seen(parameter: Parameter, value: np.ndarray) -> np.ndarray:
            values.append(value)
            return value

        with replacing_stored_values(seen):
            self.run(inputs)
        return values

    def run_storing(
        self,
        stored: Sequence[np.ndarray],
        inputs: Sequence[Any],
        shift: Callable[[Parameter], Any] = lambda parameter: 0.0,
    ) -> Any:
        """Runs the function, and stores these values, each shifted, in place of the computed ones.

        The value of a Parameter then depends on the Parameter alone, as its gradient assumes.
        """
        values = iter(stored)

        def given(parameter: Parameter, value: np.ndarray) -> np.ndarray:
            value = next(values, value)
            return value if value.dtype.kind in "biu" else value + shift(parameter)

        with replacing_stored_values(given):
            return self.run(inputs)

    def _run_leaves(self, flat: Flat, inputs: Sequence[Any]) -> Any:
        """Runs like ``run``, for inputs that are the leaves of containers."""
        copies = [wrap(x._data.copy()) if isinstance(x, Tensor) else x for x in inputs]
        with self.restored(), restoring_generators():
            return self.as_result(flat.called(self.arguments(copies)))

    def runs(self, inputs: Sequence[Any]) -> bool:
        """True if the function takes inputs of this kind."""
        try:
            self.run(inputs)
        except Exception:
            return False
        return True

    def run_derivative(self, function: Any, inputs: Sequence[Any], *further: Any) -> Any:
        """Returns the result of a derivative of the function, which takes ``further`` arguments."""
        with self.restored(), restoring_generators():
            return self.as_result(
                function(*self.arguments(inputs), *map(self.as_argument, further))
            )

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Restores Parameters, and attributes of Cells, at the end of the block."""
        values = [(parameter, parameter._data) for parameter in state(self.fn, self.weights)]
        cells = {part for cell in reached(self.fn) for _, part in cell.cells_and_names()}
        attributes = [(vars(cell), dict(vars(cell))) for cell in cells]
        try:
            for parameter, value in values:
                parameter._data = value.copy()  # for writes in place
            yield
        finally:
            for parameter, value in values:
                parameter._data = value
            for now, before in attributes:
                for name in now.keys() - before.keys():
                    del now[name]
                now.update(before)


def state(fn: Any, weights: Sequence[Parameter]) -> list[Parameter]:
    """Returns the Parameters that a run of ``fn`` may read or write, and ``weights``."""
    parameters = [parameter for cell in reached(fn) for parameter in cell.get_parameters()]
    return list({id(p): p for p in (*parameters, *weights)}.values())


def as_tensors(value: Any) -> Any:
    """Returns ``value`` with a Tensor for every array and every float.

    >>> as_tensors((np.array(2.0), 3.0, 4))[1:]
    (Tensor(shape=[], dtype=Float64, value= 3), 4)
    """
    if isinstance(value, (np.ndarray, np.generic, float)):
        return wrap(np.asarray(value))
    return _mapped(value, as_tensors)


def as_arrays(value: Any) -> Any:
    """Returns ``value`` with an array for every Tensor."""
    return value._data if isinstance(value, Tensor) else _mapped(value, as_arrays)


def _mapped(value: Any, each: Callable[[Any], Any]) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(map(each, value))
    if isinstance(value, dict):
        return {key: each(item) for key, item in value.items()}
    return value


__all__ = ["Subject", "as_arrays", "as_tensors", "state"]
