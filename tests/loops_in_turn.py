"""NumPy functions whose loops fill arrays that change places, gather products and extremes,
or go through rows that they write to: each takes time linear in its argument."""

from __future__ import annotations

import numpy as np


def rows_in_turn(x):
    n = len(x)
    before = np.zeros(n)
    now = np.zeros(n)
    for i in range(3):
        now[0] = i + 1.0
        for j in range(1, n):
            now[j] = (x[i] - x[j]) ** 2 + min(before[j - 1], before[j], now[j - 1])
        before, now = now, before
    return before[-1]


def both_written_in_turn(x):
    a = np.zeros(len(x))
    b = np.ones(len(x))
    for t in range(len(x)):
        a[t] = np.sin(b[t - 1] * a[t - 1]) * x[t]
        b[t] = a[t] * b[t - 2]
        a, b = b, a
    return (a * b).sum()


def three_in_turn(x):
    a, b, c = np.zeros(len(x)), np.ones(len(x)), x.copy()
    for t in range(len(x)):
        a[t] = np.sin(b[t - 1] * c[t - 1]) + x[t] * a[t - 1]
        a, b, c = b, c, a
    return (a * b * c).sum()


def argument_in_turn(x):
    n = len(x)
    y = np.ones(n)
    for t in range(n):
        x[t] = np.sin(y[t - 1] * x[t - 1]) + x[t]
        x, y = y, x
    return (x * y).sum()


def pair_in_turn(x):
    pair = np.zeros(len(x)), np.ones(len(x))
    t = 0
    while t < len(x):
        a, b = pair
        a[t] = np.sin(b[t - 1] * a[t - 1]) + x[t]
        pair = b, a
        t += 1
    return (pair[0] * pair[1]).sum()


def stencil_in_turn(x):
    old = x.copy()
    new = np.zeros(len(x))
    for _ in range(4):
        for i in range(1, len(x) - 1):
            new[i] = np.sin(old[i - 1]) + old[i] * old[i + 1]
        old, new = new, old
    return (old * old).sum()


def product_at(x, idx):
    out = np.ones(len(x))
    for t in range(len(x)):
        np.multiply.at(out, idx[t], 1.0 + 0.1 * x[t] * x[t])
    return (out * out).sum()


def largest_at(x, idx):
    out = np.zeros(len(x))
    for t in range(len(x)):
        np.maximum.at(out, idx[t], np.sin(x[t]) * x[t - 1])
    return (out * out).sum()


def rows_written(m):
    for i, row in enumerate(m):
        row *= 0.9
        m[i] += m[i - 1] * row[0]
    return (m * m).sum()


def rows_item_by_item(m):
    for row in m:
        for j in range(1, 4):
            row[j] = np.sin(row[j - 1]) + row[j]
    return (m * m).sum()


IN_TURN = {
    name: each
    for name, each in list(globals().items())
    if getattr(each, "__module__", "") == __name__ and not name.startswith("_")
}
