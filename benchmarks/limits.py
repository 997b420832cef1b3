"""What is promised of ours beside the gradients written by hand, in one place."""

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
#: What is allocated over what the hand-written gradient allocates, at most.
MEMORY = 1.1
#: How many times ours JAX's first call takes at least, where the program has loops.
FIRST = 5.0


def time_of(workload: str) -> float:
    """The most that a call may take, beside the hand-written gradient."""
    return TIME.get(workload, USUAL)
