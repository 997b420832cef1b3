"""What is measured: for each workload its data and the gradient that a person would write.

Data are float32 from a fixed seed. ``hand`` returns the arrays of the answer in order, value first
where one is asked for; it works in place inside the call and keeps nothing between calls. NumPy
only, so that every runner can read these files in its own environment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchmarks.workloads import (
    adaptive,
    attention,
    chain,
    heat,
    lenet,
    losses,
    mlp,
    newton,
    norm,
    recurrent,
    rosenbrock,
    rows,
    second,
    tiny,
)
from benchmarks.workloads.workload import Workload

#: A maker for each workload, by name: what is not asked for is never allocated.
WORKLOADS: Mapping[str, Callable[[], Workload]] = {
    "seed_net": tiny.seed_net,
    "line": tiny.line,
    "mlp_small": mlp.small,
    "mlp_large": mlp.large,
    "chain_1e3": lambda: chain.chain(10**3),
    "chain_1e5": lambda: chain.chain(10**5),
    "chain_1e7": lambda: chain.chain(10**7),
    "rnn": recurrent.rnn,
    "while": newton.newton,
    "lenet": lenet.lenet,
    "attention": attention.attention,
    "norm_gelu": norm.norm_gelu,
    "batch_norm": norm.batch_norm,
    "cross_entropy": losses.cross_entropy,
    "rosenbrock": rosenbrock.rosenbrock,
    "causal_attention": attention.causal,
    "embedding_bag": rows.embedding_bag,
    "graph": rows.graph,
    "heat": heat.heat,
    "lstm": recurrent.lstm,
    "group_norm": norm.group_norm,
    "focal_loss": losses.focal,
    "hvp": second.hvp,
    "gradient_penalty": second.gradient_penalty,
    "adaptive": adaptive.adaptive,
}
#: Those whose text has loops.
LOOPS = ("rnn", "while", "heat", "lstm", "adaptive")
