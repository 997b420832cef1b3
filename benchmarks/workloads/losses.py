"""Losses of many rows."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.workload import Workload, normal

#: How much a positive example counts in the focal loss.
POSITIVE = 0.25


def cross_entropy() -> Workload:
    """A softmax cross entropy of 512 classes that count differently, for 2048 rows; the value,
    and the gradient in the logits."""

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


def focal() -> Workload:
    """The mean focal loss of 1024 x 512 answers, each yes or no; the value, and the gradient in the
    logits."""

    def hand(labels, logits):
        sign = labels * 2
        sign -= 1
        z = logits * sign
        e = np.abs(z)
        np.negative(e, out=e)
        np.exp(e, out=e)
        loss = np.log1p(e)
        q = e + 1
        np.maximum(e, z < 0, out=e)  # 1 where z < 0: quicker than a choice
        np.divide(e, q, out=q)  # how wrong it is: sigmoid(-z)
        np.minimum(z, 0, out=z)
        loss -= z
        share = sign * np.float32(POSITIVE - 0.5)
        share += np.float32(0.5)
        share *= q
        share *= q
        value = np.vdot(share, loss) / np.float32(z.size)
        np.subtract(1, q, out=e)
        e *= 2
        e *= loss
        e += q
        e *= share
        e *= sign
        e *= np.float32(-1 / z.size)
        return value, e

    labels = (np.random.default_rng(98).uniform(size=(1024, 512)) < 0.1).astype(np.float32)
    return Workload("focal_loss", (labels,), (normal(99, 1024, 512, scale=3.0),), hand)
