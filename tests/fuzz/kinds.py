"""The kinds of random programs: who writes them, and who judges them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.fuzz.array_checks import array_outcome
from tests.fuzz.arrays import ARRAY_HEAD, ArrayWriter
from tests.fuzz.checks import outcome
from tests.fuzz.programs import HEAD, Writer


@dataclass(frozen=True)
class Kind:
    """One kind of program; ``prefix`` and the seed are the name of each."""

    prefix: str
    head: str
    writer: Callable[[int], Any]
    outcome: Callable[..., str]
    #: One program in so many has its second derivatives judged: they cost more than all the rest.
    second_every: int

    def text(self, seed: int) -> str:
        """The text of the program of this seed."""
        return self.writer(seed).text()

    def module(self, seeds: range) -> str:
        """A module with the programs of these seeds."""
        return self.head + "".join(f"\n\n{self.text(seed)}" for seed in seeds)

    def program(self, module: Any, seed: int) -> Any:
        return getattr(module, f"{self.prefix}{seed}")


#: Cells over tensors, with nested control flow, lists, dicts, and what Python has besides.
CELLS = Kind("Program", HEAD, Writer, outcome, 6)
#: Plain functions on NumPy arrays: views, copies and writes, sizes, dtypes, layouts, objects.
ARRAYS = Kind("program", ARRAY_HEAD, ArrayWriter, array_outcome, 24)
KINDS = {"cells": CELLS, "arrays": ARRAYS}
