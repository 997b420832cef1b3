"""What a table of accepted Python is made of: ``@row(title, inputs…)`` registers a program.

A title may stand with several programs. ``test_rows.py`` finds the registered programs, and holds
the value of each against plain Python's and its gradients against central differences of that.
Where Python's own derivative is not what is meant (a barrier such as ``.item()`` makes a constant),
``gradient`` gives the right one in closed form: a function of the inputs as arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from autodiff_compiler import Tensor, nn

Program = TypeVar("Program", bound=Callable[..., Any])


@dataclass(frozen=True)
class Row:
    """One program: the title of its row, its inputs, its gradients where they are given."""

    title: str
    program: Any
    inputs: tuple[Any, ...]
    gradient: Callable[..., Any] | None

    def make(self) -> Any:
        """The function, or a new Cell."""
        is_cell = isinstance(self.program, type) and issubclass(self.program, nn.Cell)
        return self.program() if is_cell else self.program


ROWS: list[Row] = []


def row(
    title: str, *inputs: Any, gradient: Callable[..., Any] | None = None
) -> Callable[[Program], Program]:
    """Registers a Cell class or function; without inputs it is run on ``of(1.5, 2.5)``."""

    def register(program: Program) -> Program:
        ROWS.append(Row(title, program, inputs or (of(1.5, 2.5),), gradient))
        return program

    return register


def of(*numbers: Any) -> Tensor:
    """A Tensor of these numbers."""
    return Tensor(np.array(numbers, np.float32))
