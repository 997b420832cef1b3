"""Ours at level 2: Cells with their Parameters, and functions, called as users do.

``ours_default`` is the same at level 1, the default.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_compiler import ParameterTuple, Tensor, compile_info, ops, set_context
from benchmarks.peers.programs import ours as programs
from benchmarks.workloads.workload import Workload

Call = Callable[[], Any]


def make(work: Workload, level: int = 2, target: str = "numpy") -> Call:
    """The gradient of the program: of a Cell in its Parameters, of a function by position.

    From here on the process compiles at this level, for this target.
    """
    set_context(opt_level=level, target=target)
    return _gradient(work)


def _gradient(work: Workload) -> Call:
    function = vars(programs).get(work.program)
    if function is None:
        return _of_cell(getattr(programs, class_name(work.program))(work), work)
    given = [Tensor(array) for array in work.given]
    gradient = function
    if work.asked != "nothing":
        gradient = ops.value_and_grad(function, _position(work.places))
    return lambda: gradient(*given)


def _of_cell(cell: programs.Weighted, work: Workload) -> Call:
    weights = ParameterTuple(cell.trainable_params())
    if work.asked == "pullback":
        gradient = ops.GradOperation(get_all=True, get_by_list=True, sens_param=True)(cell, weights)
    else:
        position = None if work.asked == "weights" else _position(range(len(work.inputs)))
        gradient = ops.value_and_grad(cell, position, weights)
    inputs = [Tensor(array) for array in work.inputs]
    return lambda: gradient(*inputs)


def _position(places: Any) -> int | tuple[int, ...]:
    return places[0] if len(places) == 1 else tuple(places)


def class_name(program: str) -> str:
    """What a program is called that is a Cell."""
    return "".join(map(str.capitalize, program.split("_")))


def arrays(answer: Any) -> list[np.ndarray]:
    """The arrays of an answer, in order."""
    if isinstance(answer, (tuple, list)):
        return [array for item in answer for array in arrays(item)]
    return [np.asarray(answer.asnumpy() if isinstance(answer, Tensor) else answer)]


def forget() -> None:
    """Drops what is compiled."""
    compile_info().clear()


def kept() -> int:
    """The bytes that are kept to work in, between calls."""
    return sum(unit.work_bytes for unit in compile_info().units)
