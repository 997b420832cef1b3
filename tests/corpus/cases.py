"""What a family of programs is made of: ``@case(inputs…)`` registers a Cell or a function.

A decorator may stand several times, once for each row of inputs (one for each way through the
program, for example). ``test_corpus.py`` finds the registered programs and crosses them with all
that must hold for every program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from autodiff_compiler import Parameter, Tensor, nn

Program = TypeVar("Program", bound=Callable[..., Any])


@dataclass(frozen=True)
class Case:
    """One program with one row of inputs."""

    name: str
    program: Any
    inputs: tuple[Any, ...]

    def make(self) -> Any:
        """The function, or a new Cell."""
        is_cell = isinstance(self.program, type) and issubclass(self.program, nn.Cell)
        return self.program() if is_cell else self.program


CASES: list[Case] = []


def case(*inputs: Any) -> Callable[[Program], Program]:
    """Registers a Cell class or a function with the inputs that it is run on."""

    def register(program: Program) -> Program:
        name = f"{program.__module__.rpartition('.')[2]}.{program.__qualname__}"
        number = sum(known.program is program for known in CASES)
        CASES.append(Case(f"{name}-{number}" if number else name, program, inputs))
        return program

    return register


def sample(*shape: int, phase: float = 0.0) -> np.ndarray:
    """Numbers between -1 and 1, no two alike, none near zero."""
    steps = np.arange(1, int(np.prod(shape)) + 1) + phase
    wave = np.sin(2.4 * steps)
    return (np.sign(wave) * (0.1 + 0.9 * np.abs(wave))).reshape(shape).astype(np.float32)


def t(*shape: int, phase: float = 0.0) -> Tensor:
    """A Tensor of ``sample`` numbers."""
    return Tensor(sample(*shape, phase=phase))


def of(*numbers: Any) -> Tensor:
    """A Tensor of these numbers."""
    return Tensor(np.array(numbers, np.float32))


def p(*shape: int, phase: float = 0.5) -> Parameter:
    """A Parameter of ``sample`` numbers; it takes its name from its attribute."""
    return Parameter(t(*shape, phase=phase))
