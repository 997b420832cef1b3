"""What is promised of ours beside the gradients written by hand, in one place.

The limits of NumPy source are those of level 2.
"""

from __future__ import annotations

#: The time of a call over that of the hand-written gradient, at most. The first two are calls
#: beside which nothing else counts.
TIME = {
    "seed_net": 1.3,
    "line": 1.3,
    "mlp_large": 1.05,
    "chain_1e3": 1.2,
    "chain_1e5": 0.45,
    "chain_1e7": 0.65,
    "while": 1.2,
    "lenet": 1.0,
}
#: The same for every other workload, and for the geometric mean of all.
USUAL, MEAN = 1.1, 1.0
#: The time of a call of C over that of the hand-written gradient, at most.
C_TIME = {
    "seed_net": 0.15,
    "line": 0.4,
    "mlp_small": 0.35,
    "mlp_large": 0.8,
    "chain_1e3": 0.12,
    "chain_1e5": 0.13,
    "chain_1e7": 0.15,
    "rnn": 0.65,
    "while": 0.01,
    "lenet": 0.25,
    "attention": 0.6,
    "causal_attention": 0.6,
    "norm_gelu": 0.1,
    "batch_norm": 0.15,
    "group_norm": 0.15,
    "cross_entropy": 0.2,
    "focal_loss": 0.2,
    "rosenbrock": 0.15,
    "embedding_bag": 0.3,
    "graph": 0.3,
    "heat": 0.2,
    "lstm": 0.6,
    "hvp": 0.4,
    "gradient_penalty": 0.4,
    "adaptive": 0.05,
}
#: The same for the geometric mean of all.
C_MEAN = 0.22
#: What is allocated over what the hand-written gradient allocates, at most.
MEMORY = 1.1
#: How many times ours JAX's first call takes at least, where the program has loops.
FIRST = 5.0


def time_of(workload: str) -> float:
    """The most that a call may take, beside the hand-written gradient."""
    return TIME.get(workload, USUAL)
