"""NumPy functions that fill arrays in loops, item by item. Each takes time linear in its argument:
``x`` is a vector, ``m`` a matrix of four columns, and ``idx`` and ``idx2`` are places.
"""

from __future__ import annotations

import numpy as np

from tests.loops_in_turn import IN_TURN


def recurrence(x):
    out = np.zeros(len(x))
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = np.tanh(out[i - 1]) + x[i]
    return (out * out).sum()


def first_item(x):
    out = x.copy()
    for i in range(1, len(x)):
        out[i] = out[i - 1] * out[0] + np.sin(out[i])
        out[i] = out[i] * 0.5
    return out[-1]


def two_arrays(x):
    n = len(x)
    a = np.zeros(n)
    b = np.zeros(n)
    for i in range(1, n):
        a[i] = np.sin(b[i - 1]) + x[i]
        b[i] = a[i] * a[i - 1] * 0.5
    return (a * b).sum()


def rows_view(m):
    n = m.shape[0]
    out = np.zeros((n, 4))
    s = 0.0
    for i in range(1, n):
        row = out[i - 1] * 1.0
        out[i] = np.tanh(row) + m[i]
        s = s + (row * row).sum()
    return s


def rows_beside_a_view(m):
    out = np.zeros((len(m), 4))
    s = 0.0
    for i in range(1, len(m)):
        row = out[i - 1]
        out[i] = np.tanh(row) + m[i]
        s = s + (row * row).sum()
    return s


def written_through_a_view(m):
    out = m * 1.0
    for i in range(1, len(m)):
        row, new = out[i - 1], out[i]
        new[1:] = np.tanh(row[1:]) + m[i, 1:]
        out[i] *= 0.5
    return (out * out).sum()


def columns_of_a_row(m):
    out = np.zeros((len(m), 4))
    for i in range(1, len(m)):
        before = out[i - 1]
        out[i, 0] = before[0] + m[i, 0]
        for j in range(1, 4):
            out[i, j] = np.tanh(out[i, j - 1]) * before[j] + m[i, j]
    return (out * out).sum()


def rows_part(m):
    out = np.zeros((m.shape[0], 4))
    out[:, 0] = 1.0
    for i in range(1, m.shape[0]):
        out[i, 1:] = out[i - 1, 1:] * m[i, 1:] + out[i - 1, :-1]
    return (out * out).sum()


def aug(x):
    out = np.zeros(len(x))
    for i in range(1, len(x)):
        out[i] += x[i] * x[i]
        out[i] += out[i - 1] * 0.5
        out[i] *= np.cos(x[i - 1])
    return out.sum()


def aug_rows(m):
    out = m * 1.0
    for i in range(1, m.shape[0]):
        out[i] += out[i - 1] * 0.5
        out[i] *= 0.9
    return (out * out).sum()


def scatter_idx(x, idx):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[idx[i]] += x[i] * x[i]
        out[idx[i]] = out[idx[i]] * 0.9
    return (out * out).sum()


def branch(x):
    out = np.zeros(len(x))
    for i in range(1, len(x)):
        if x[i] > 0:
            out[i] = out[i - 1] * x[i]
        elif x[i] > -0.5:
            out[i] = np.sin(out[i - 1]) + x[i]
    return out.sum()


def arg_written(x):
    y = x * 1.0
    for i in range(1, len(y)):
        y[i] = y[i] * y[i - 1]
    return y.sum()


def arg_itself(x):
    for i in range(1, len(x)):
        x[i] = x[i] + np.sin(x[i - 1])
    return (x * x).sum()


def table(x):
    n = len(x)
    k = 5
    R = np.zeros((n, k))
    for i in range(1, n):
        for j in range(1, k):
            R[i, j] = np.maximum(R[i - 1, j], R[i, j - 1]) + x[i] * x[j]
    return R[n - 1, k - 1]


def viterbi(m):
    n = m.shape[0]
    v = np.zeros((n, 4))
    v[0] = m[0]
    for t in range(1, n):
        for j in range(4):
            v[t, j] = np.max(v[t - 1] + 0.1 * j) + m[t, j]
    return np.max(v[n - 1])


def forward_alg(m):
    n = m.shape[0]
    a = np.zeros((n, 4))
    a[0] = m[0]
    for t in range(1, n):
        for j in range(4):
            s = 0.0
            for k in range(4):
                s = s + np.exp(-(a[t - 1, k] ** 2))
            a[t, j] = s * m[t, j]
    return a[n - 1].sum()


def whiled(x):
    out = np.zeros(len(x))
    i = 1
    while i < len(x):
        out[i] = np.sin(out[i - 1]) + x[i]
        i += 1
    return (out * out).sum()


def whiled_test(x):
    out = x * 1.0
    i = 1
    while i < len(x) and out[i - 1] < 1e6:
        out[i] = np.sin(out[i - 1]) + out[i]
        i += 1
    return (out * out).sum()


def cellular(x):
    y = x * 1.0
    for i in range(1, len(x) - 1):
        y[i] = 0.25 * y[i - 1] + 0.5 * y[i] + 0.25 * y[i + 1]
    return (y * y).sum()


def swap(x):
    y = x * 1.0
    for i in range(len(x) - 1):
        if y[i] > y[i + 1]:
            y[i], y[i + 1] = y[i + 1], y[i]
    return (y * x).sum()


def inner_helper(x):
    out = np.zeros(len(x))

    def step(o, i):
        return np.tanh(o[i - 1]) * x[i]

    for i in range(1, len(x)):
        out[i] = step(out, i)
    return out.sum()


def _step(o, x, i):
    return np.tanh(o[i - 1]) * x[i] + np.sin(o[i - 1])


def helper(x):
    out = np.ones(len(x))
    for i in range(1, len(x)):
        out[i] = _step(out, x, i)
    return out.sum()


def _put(o, x, i):
    o[i] = np.tanh(o[i - 1]) * x[i]


def putter(x):
    out = np.ones(len(x))
    for i in range(1, len(x)):
        _put(out, x, i)
    return out.sum()


def two_helpers(x):
    out = np.ones(len(x))
    b = np.ones(len(x))
    for i in range(1, len(x)):
        out[i] = _step(out, x, i)
        b[i] = _step(b, x, i) + _step(out, x, i)
    return out.sum() + b.sum()


def slice_window(x):
    out = x * 1.0
    for i in range(3, len(x)):
        out[i] = (out[i - 3 : i] * x[i - 3 : i]).sum() + np.sin(out[i])
    return (out * out).sum()


def slice_written(x):
    out = np.zeros(len(x))
    for i in range(3, len(x)):
        out[i - 3 : i] += x[i - 3 : i] * x[i]
    return (out * out).sum()


def slice_set(x):
    out = x * 1.0
    for i in range(3, len(x)):
        out[i - 2 : i] = np.tanh(out[i - 3 : i - 1]) + x[i]
    return (out * out).sum()


def heat(x):
    u = np.zeros((5, len(x)))
    u[0] = x
    for t in range(1, 5):
        for i in range(1, len(x) - 1):
            u[t, i] = u[t - 1, i] + 0.1 * (u[t - 1, i - 1] - 2 * u[t - 1, i] + u[t - 1, i + 1])
    return (u * u).sum()


def rare_whole(x):
    out = np.zeros(len(x))
    s = 0.0
    for i in range(1, len(x)):
        out[i] = np.sin(out[i - 1]) + x[i]
        if i == 5:
            s = s + (out * out).sum()
    return s + out.sum()


def returned_both(x):
    out = np.zeros(len(x))
    last = 0.0
    for i in range(1, len(x)):
        last = last * 0.5 + x[i]
        out[i] = last
    return (out**2).sum()


def backwards(x):
    out = np.zeros(len(x) + 1)
    for i in range(len(x) - 1, -1, -1):
        out[i] = x[i] + 0.9 * out[i + 1] * x[i]
    return out[0]


def broken(x):
    out = np.zeros(len(x))
    for i in range(1, len(x)):
        if x[i] > 50.0:
            break
        if x[i] < -50:
            continue
        out[i] = out[i - 1] * 0.5 + x[i] * x[i]
    return out.sum()


def listed(x):
    items = [0.0]
    for i in range(len(x)):
        items.append(np.tanh(items[-1]) + x[i])
    return items[-1] * items[-1]


def list_table(x):
    items = [0.0] * len(x)
    for i in range(1, len(x)):
        items[i] = np.tanh(items[i - 1]) + x[i]
    return items[-1] * items[-1]


def list_sum(x):
    items = [x[0]]
    for i in range(1, len(x)):
        items.append(np.tanh(items[i - 1]) + x[i])
    s = 0.0
    for v in items:
        s = s + v * v
    return s


def gauss_seidel(x):
    u = np.zeros(len(x))
    for _ in range(3):
        for i in range(1, len(x) - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1] + x[i])
    return (u * u).sum()


def matrix_col(m):
    out = np.zeros((4, m.shape[0]))
    for j in range(1, m.shape[0]):
        out[:, j] = np.tanh(out[:, j - 1]) + m[j]
    return (out * out).sum()


def lstm(m):
    n = m.shape[0]
    h = np.zeros((n + 1, 4))
    c = np.zeros((n + 1, 4))
    for t in range(n):
        f = 1 / (1 + np.exp(-(m[t] + h[t])))
        c[t + 1] = f * c[t] + (1 - f) * np.tanh(m[t])
        h[t + 1] = f * np.tanh(c[t + 1])
    return (h * h).sum()


def max_prefix(x):
    out = np.zeros(len(x))
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = max(out[i - 1], x[i])
    return out.sum()


def several_places(x, idx2):
    out = x * 1.0
    for i in range(len(x)):
        out[idx2[i]] += x[i] * x[i]
        out[idx2[i]] = out[idx2[i]] * 0.5
    return (out * out).sum()


WRITTEN = {
    name: each
    for name, each in list(globals().items())
    if getattr(each, "__module__", "") == __name__ and not name.startswith("_")
} | IN_TURN
