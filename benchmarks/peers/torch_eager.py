"""PyTorch as it is: operators run one by one and are written down on a tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from benchmarks.peers.programs import torch_eager as programs
from benchmarks.workloads.workload import Workload


def _as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def make(
    work: Workload, prepared: Callable[[Callable[..., Any]], Callable[..., Any]] = _as_it_is
) -> Callable[[], Any]:
    """The program's value and gradients, or its pullback; ``prepared`` may compile the program."""
    function = prepared(getattr(programs, work.program))
    given = [_tensor(array) for array in work.given]
    if work.asked == "nothing":
        return lambda: function(*given)
    seed = _tensor(work.inputs[-1]) if work.asked == "pullback" else None
    wanted = [given[place].requires_grad_() for place in work.places]

    def call() -> Any:
        out = function(*given)
        gradients = torch.autograd.grad(out, wanted, seed)
        return gradients if seed is not None else (out.detach(), *gradients)

    return call


def _tensor(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(array.astype(np.int64) if array.dtype.kind == "i" else array.copy())


def arrays(answer: Any) -> list[np.ndarray]:
    """The arrays of an answer, in order."""
    return [tensor.detach().numpy() for tensor in answer]


def forget() -> None:
    """Nothing is compiled."""
