"""PyTorch, compiled: the same functions, each through ``torch.compile``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

# A first call is one that finds nothing compiled earlier, and compiles in the process measured.
os.environ.update(TORCHINDUCTOR_FORCE_DISABLE_CACHES="1", TORCHINDUCTOR_COMPILE_THREADS="1")

import torch  # noqa: E402

from benchmarks.peers import torch_eager as eager  # noqa: E402
from benchmarks.workloads.workload import Workload  # noqa: E402

arrays = eager.arrays


def make(work: Workload) -> Callable[[], Any]:
    """The program's value and gradients, or its pullback."""
    return eager.make(work, torch.compile)


def forget() -> None:
    """Drops what is compiled."""
    torch.compiler.reset()
