"""PyTorch, compiled: the same functions, each through ``torch.compile``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

# A first call is one that finds nothing compiled earlier, and compiles in the process measured.
os.environ.update(TORCHINDUCTOR_FORCE_DISABLE_CACHES="1", TORCHINDUCTOR_COMPILE_THREADS="1")

import torch  # noqa: E402

from benchmarks.peers import torch_eager as eager  # noqa: E402
from benchmarks.workloads.workload import Workload  # noqa: E402

arrays = eager.arrays


def _of(*given: Any, **flags: Any) -> Callable[[Workload], Callable[[], Any]]:
    function, *rest = given
    return lambda work: eager.of(torch.compile(function), *rest, **flags)(work)


CALLS: Mapping[str, Callable[[Workload], Callable[[], Any]]] = {
    "seed_net": _of(eager.seed_net, sens=True),
    "line": _of(eager.line),
    "mlp_small": _of(eager.mlp_small, "weights"),
    "mlp_large": _of(eager.mlp_large, "weights"),
    "chain_1e3": _of(eager.chain),
    "chain_1e5": _of(eager.chain),
    "chain_1e7": _of(eager.chain),
    "rnn": _of(eager.rnn, "weights"),
    "while": _of(eager.root),
    "lenet": _of(eager.lenet, "weights"),
    "attention": _of(eager.attend),
    "norm_gelu": _of(eager.norm_gelu),
    "batch_norm": _of(eager.batch_norm),
    "cross_entropy": _of(eager.cross_entropy, "weights"),
    "rosenbrock": _of(eager.valley),
}


def forget() -> None:
    """Drops what is compiled."""
    torch.compiler.reset()
