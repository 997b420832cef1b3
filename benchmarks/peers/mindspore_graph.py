"""MindSpore in graph mode, on the CPU: value and gradient in one compiled graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Tensor, ops

from benchmarks.peers.programs import mindspore_graph as programs
from benchmarks.workloads.workload import Workload

ms.set_context(mode=ms.GRAPH_MODE)
ms.set_device("CPU")


def make(work: Workload) -> Callable[[], Any]:
    """The program's value and gradients, or its pullback."""
    gradient = getattr(programs, work.program)
    given = [Tensor(array) for array in work.given]
    if work.asked == "pullback":
        given.append(Tensor(work.inputs[-1]))
        gradient = ops.GradOperation(get_all=True, sens_param=True)(gradient)
    elif work.asked != "nothing":
        gradient = ms.value_and_grad(gradient, work.places)
    compiled = ms.jit(gradient)

    def call() -> Any:
        answer = compiled(*given)
        arrays(answer)  # waits
        return answer

    return call


def arrays(answer: Any) -> list[np.ndarray]:
    """The arrays of an answer, in order."""
    if isinstance(answer, (tuple, list)):
        return [array for item in answer for array in arrays(item)]
    return [answer.asnumpy()]


def forget() -> None:
    """A maker's function is a new one, which MindSpore compiles again."""
