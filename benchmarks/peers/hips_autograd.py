"""HIPS autograd: NumPy traced at every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from autograd import make_vjp, value_and_grad
from autograd.numpy.numpy_boxes import ArrayBox

from benchmarks.peers.programs import hips_autograd as programs
from benchmarks.workloads.workload import Workload


def make(work: Workload) -> Callable[[], Any]:
    """The program's value and gradients, or its pullback."""
    function = getattr(programs, work.program)
    if work.asked == "nothing":
        return lambda: function(*work.given)
    if work.asked == "pullback":
        return lambda: make_vjp(function, work.places)(*work.given)[0](work.inputs[-1])
    gradient = value_and_grad(function, work.places)
    return lambda: gradient(*work.given)


def arrays(answer: Any) -> list[np.ndarray]:
    """The arrays of an answer, in order."""
    if isinstance(answer, (tuple, list)):
        return [array for item in answer for array in arrays(item)]
    return [np.asarray(answer._value if isinstance(answer, ArrayBox) else answer)]


def forget() -> None:
    """Nothing is compiled."""
