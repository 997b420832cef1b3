"""Rows of a table that are gathered: bags of words, and the neighbours in a graph."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.workload import Workload, normal


def _added_up(rows, places, count, times=1):
    """The sums of the rows that go to the same of ``count`` places; each row goes to ``times``
    places. ``np.add.at`` is quick where its array has one axis; what it is given is made part by
    part, and stays in the cache."""
    width, part = rows.shape[1], 512 // times
    sums, columns = np.zeros((count, width), np.float32), np.arange(width)
    for k in range(0, len(rows), part):
        those = places[k * times : (k + part) * times, None]
        elements = those.astype(np.intp) * width + columns
        values = np.repeat(rows[k : k + part], times, axis=0)
        np.add.at(sums.reshape(-1), elements.reshape(-1), values.reshape(-1))
    return sums


def embedding_bag() -> Workload:
    """The means of 32 of 5000 rows, 256 times, a layer, and the mean square; gradients in the
    table and the layer's weights."""

    def hand(words, table, w, b):
        bags, size = words.shape
        m = np.take(table, words, axis=0).sum(axis=1)
        m /= size
        h = m @ w
        h += b
        np.tanh(h, out=h)
        value = np.vdot(h, h) / np.float32(h.size)
        d_u = h * h
        np.subtract(1, d_u, out=d_u)
        d_u *= h
        d_u *= np.float32(2 / h.size)
        d_m = d_u @ w.T
        d_m /= size
        d_table = _added_up(d_m, words.reshape(-1), len(table), size)
        return value, d_table, m.T @ d_u, d_u.sum(axis=0)

    words = np.random.default_rng(110).integers(0, 5000, (256, 32)).astype(np.int32)
    weights = (normal(111, 5000, 64), normal(112, 64, 64, scale=0.5), normal(113, 64, scale=0.1))
    return Workload("embedding_bag", (words,), weights, hand)


def graph() -> Workload:
    """A layer on 2000 nodes, each beside the mean of its neighbours (16000 edges), a ReLU, and the
    mean square; gradients in what is known of the nodes and in both weights."""

    def hand(sources, targets, counts, nodes, w_own, w_near):
        near = _added_up(np.take(nodes, sources, axis=0), targets, len(nodes))
        near /= counts
        h = nodes @ w_own
        h += near @ w_near
        np.maximum(h, 0, out=h)
        value = np.vdot(h, h) / np.float32(h.size)
        h *= np.float32(2 / h.size)
        d_near = h @ w_near.T
        d_near /= counts
        d_nodes = _added_up(np.take(d_near, targets, axis=0), sources, len(nodes))
        d_nodes += h @ w_own.T
        return value, d_nodes, nodes.T @ h, near.T @ h

    random = np.random.default_rng(120)
    sources, targets = (random.integers(0, 2000, 16000).astype(np.int32) for _ in range(2))
    counts = np.maximum(np.bincount(targets, minlength=2000), 1).astype(np.float32)[:, None]
    weights = (
        normal(121, 2000, 64),
        normal(122, 64, 64, scale=0.1),
        normal(123, 64, 64, scale=0.1),
    )
    return Workload("graph", (sources, targets, counts), weights, hand)
