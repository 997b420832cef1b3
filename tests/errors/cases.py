"""``@refused(inputs…)`` registers a program that the compiler must refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import autodiff_compiler as ms


@dataclass(frozen=True)
class Refused:
    """One program and the inputs that its gradient is asked for at."""

    name: str
    program: Any
    inputs: tuple[Any, ...]

    def gradient(self) -> Any:
        """Asks for the gradient in all inputs."""
        is_cell = isinstance(self.program, type)
        fn = self.program() if is_cell else self.program
        inputs = [ms.Tensor(x) if hasattr(x, "dtype") else x for x in self.inputs]
        return ms.ops.GradOperation(get_all=True)(fn)(*inputs)


REFUSED: list[Refused] = []


def refused(*inputs: Any) -> Callable[[Any], Any]:
    """Registers a function or a Cell class."""

    def register(program: Any) -> Any:
        REFUSED.append(Refused(program.__name__, program, inputs))
        return program

    return register
