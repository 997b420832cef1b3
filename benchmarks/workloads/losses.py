"""A softmax cross entropy of 512 classes that count differently, for 2048 rows."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.workload import Workload, normal


def cross_entropy() -> Workload:
    """The value, and the gradient in the logits."""

    def hand(labels, shares, logits):
        rows = np.arange(len(labels))
        share = shares[labels]
        share /= share.sum()
        p = logits - logits.max(axis=1, keepdims=True)
        picked = p[rows, labels]
        np.exp(p, out=p)
        total = p.sum(axis=1)
        value = np.dot(np.log(total) - picked, share)
        p *= (share / total)[:, None]
        p[rows, labels] -= share
        return value, p

    random = np.random.default_rng(93)
    labels = random.integers(0, 512, 2048).astype(np.int32)
    shares = random.uniform(0.5, 1.5, 512).astype(np.float32)
    return Workload("cross_entropy", (labels, shares), (normal(94, 2048, 512),), hand)
