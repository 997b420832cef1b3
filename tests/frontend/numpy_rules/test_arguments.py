"""NumPy's arguments ``out``, ``where``, ``copy`` and ``order``, and in-place functions. Each write
is done with its derivative, or refused."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from tests.frontend.written_programs import X, problem, problems, program, refused

#: Statements on a row ``y`` of four elements, with ``z`` a view of its last three.
ROW = """
np.clip(x, -0.5, 1.0, out=y)
np.clip(x, -0.5, 1.0, y)
x.clip(-0.5, 1.0, out=y)
y.clip(-0.5, 1.0, out=y)
np.add(x, 2.0, y)
np.add(x, y, out=(y,))
np.multiply(x[:3], z, out=z[::-1])
np.sin(x[1:], out=y[1:])
np.power(x, 2, out=y[::-1])
np.add(x, 1.0, out=y, where=x > 0)
np.add(x[:1], 1.0, out=y)
np.sqrt(x, out=y, where=x > 0)
np.log(x * x, out=y, where=[True, False, True, True])
np.divide(1.0, np.maximum(x, 0.0), out=y, where=x > 0)
np.nan_to_num(y, copy=False)
np.nan_to_num(z, False, 2.0)
np.cumsum(x, out=y)
x.cumsum(0, out=y)
np.cumprod(x, out=y)
np.dot(np.outer(x, x), x, y)
np.outer(x, x).dot(x, out=y)
np.matmul(np.outer(x, x), x, out=y)
np.sum(np.outer(x, x), axis=0, out=y)
np.outer(x, x).sum(0, None, y)
np.mean(np.outer(x, x), axis=1, out=y)
np.max(np.outer(x, x), 1, y)
np.take(x, [1, 0, 3, 2], out=y)
np.concatenate([x[:2], x[2:]], 0, y)
np.copyto(y, x)
np.copyto(y, x[0])
np.copyto(z, x[:3] * 2)
np.copyto(y, x, where=x > 0)
np.copyto(y, [1.0, 2.0, x[0], 4.0])
np.put(y, [0, 2], [5.0, x[1]])
np.put(y, [0, 2, 3], x[:2])
np.put(y, 1, 7.0)
y.put([0, 1], x[2:])
np.place(y, x > 0, x[:2] * 3)
np.place(y, y > 0, 5.0)
np.putmask(y, x > 0, x * 2)
np.putmask(y, y > 0, x[:2])
np.put_along_axis(y, np.array([2]), x[:1], 0)
np.fill_diagonal(y.reshape(2, 2), x[:2])
y.fill(x[2])
z.fill(3.0)
y.sort()
y[::-1].sort()
y.reshape(2, 2).sort(axis=0)
np.add.at(y, [0, 0], x[:2])
y.astype(np.float64, copy=False).fill(1.0)
y.astype(np.float64, copy=True).fill(1.0)
np.array(y, copy=False).fill(1.0)
np.array(y, order="F").fill(3.0)
y.copy(order="C").fill(3.0)
np.reshape(y, (2, 2), order="F").T[0].fill(1.0)
y.reshape(2, 2, order="F")[:, 0].fill(x[0])
y.ravel("F").fill(2.0)
y.flatten("F").fill(2.0)
y[0], y[1] = y[1], y[0]
""".strip().splitlines()
#: Statements on a matrix ``m`` of three rows, with ``z`` a view of its last two.
MATRIX = """
np.fill_diagonal(m, x[:3])
np.fill_diagonal(m[:, :2], x[0])
np.fill_diagonal(m[:, :2], x[0], wrap=True)
m.sort(0)
m.T.sort()
np.copyto(m[:, 0], x[:3])
np.place(m, m > 0, x)
np.putmask(m, m > 0, x[:2])
np.cumsum(x[:3, None] * x[:3], axis=0, out=m.T)
np.matmul(m.copy(), m.copy(), out=m)
np.einsum('ii->i', m)[...] = x[:3]
np.einsum('ij->ji', m)[0] = x[:3]
m.ravel()[:2] = 0
m.T.ravel()[:2] = 0
m.flatten()[:] = 0
m[0], m[1] = m[1], m[0]
m[[0, 1]] = m[[1, 0]]
m[0], m[1] = m[1].copy(), m[0].copy()
m[0] = a = m[1]; a[0] = 9 * x[0]
a, b, c = m; a[0] = x[1]; b *= c
(a, b), c = m[:2], m[2]; a += b; c -= a
m[0], a = x[:3], m[0]; a[1] = 4.0
m[0], m[1], m[2] = m[2], m[0], m[1]
[m[0], *rest] = [m[1], m[0], m[2]]; rest[0][0] = 5 * x[2]
l = [m[0], m.T[1]]; m[0] = x[:3]; l[1] += l[0]
d = {'a': m[0]}; m[0] = x[:3]; m[1] = d['a'] * 3
v = m[1:]; w = v[1:]; w[0] = x[:3]; v[0] += w[0]
inner = lambda r: r[1:]; w = inner(m); w[0] = x[:3]
v = tail(m); v[0] = x[:3]; m[2] *= v[0]
for r in m: r *= x[0]
for i, r in enumerate(m): r[i] = x[i]
for p in np.array_split(m, 2): p *= x[1]
v = np.squeeze(m[:1, :1]); m[0, 0] = 7 * x[0]; m[1, 1] += v
v = m[0, 0]; m[0, 0] = 7 * x[0]; m[1, 1] += v
v = m[0, 0, ...]; m[0, 0] = 7 * x[0]; m[1, 1] += v
v = m[0, :1].reshape(()); v *= x[0]
np.rot90(m)[0] = x[:3]
np.flip(m, 1)[0] = x[:3]
m[2] = np.sum(m, axis=0, where=m > 0)
m[2] = np.mean(m, axis=0, where=m > -9)
m[2] = m.std(0, where=m < 9, ddof=1)
m[2] = np.max(m, axis=0, where=m > 0, initial=0.1)
m[2] = np.prod(m, axis=0, where=m > 0)
m[2] = np.add(m[0], m[1], casting='same_kind', subok=False, order='F')
""".strip().splitlines()
LOOPS = {
    "rows of a view": ("v = m[0]", "for i in range(3): v[i] = x[i] * m[0, 2]"),
    "a view in a branch": ("v = m.T", "if x[0] > 0: v[0] = x[1] * v[1]", "else: v[1] = x[1]"),
    "a sum in its place": ("s = m[:, 1]", "for i in range(2): np.add(s, x[:3] * s, out=s)"),
    "a function that writes": ("def put(r, s): np.copyto(r, s)", "for r in m: put(r, r * x[:3])"),
    "out in a loop": ("t = np.zeros(3)", "for r in m: np.multiply(r, x[:3], out=t); r += t"),
}  # fmt: skip


def tail(q):
    return q[1:]


def _row(line):
    return program("y = x * 1.5", "z = y[1:]", line, "return (y * y).sum() + (z * z * z).sum()")


def _matrix(*lines):
    found = program("m = np.outer(x[:3], x[1:])", "z = m[1:]", *lines,
                    "return (m * m).sum() + (z * z * z).sum()")  # fmt: skip
    found.__globals__["tail"] = tail
    return found


@pytest.fixture(params=[0, 1, 3])
def level(request):
    ms.set_context(opt_level=request.param)
    yield
    ms.set_context(opt_level=1)


def test_rows():
    assert problems({line: _row(line) for line in ROW}) == []


@pytest.mark.thorough
def test_matrices():
    assert problems({line: _matrix(line) for line in MATRIX}) == []


@pytest.mark.parametrize("lines", LOOPS.values(), ids=LOOPS)
def test_in_loops_and_branches(lines, level):
    assert problem(_matrix(*lines)) == ""


def test_an_array_without_axes_is_written_to_under_all_its_names():
    for lines in (["s.T[...] = x[0] * 3"], ["t = s[...]", "t[...] = x[1] * 2", "s[()] = s * t"],
                  ["t = s.T", "np.multiply(t, x[0], out=t)"]):  # fmt: skip
        assert problem(program("s = np.array(x[2])", *lines, "return s * x.sum()")) == ""


def test_out_keeps_the_layout_of_its_array():
    assert problem(_matrix("v = m[:, ::-1]", "np.clip(v, -9, 9, out=v)", "np.ravel(v)[1] = x[0]",
                           "v.reshape(-1)[2] = x[1]")) == ""  # fmt: skip


def test_a_write_has_a_second_derivative():
    function = program("y = x * x", "np.multiply(y, x, out=y[::-1])", "z = y[1:]",
                       "np.sin(z, out=z)", "return (y * y * x).sum()")  # fmt: skip
    hessian = ms.hessian(function)(X)
    steps = 1e-6 * np.eye(4)
    slopes = [(ms.grad(function)(X + s) - ms.grad(function)(X - s)) / 2e-6 for s in steps]
    np.testing.assert_allclose(hessian, slopes, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("z = np.add(x, 1.0, where=x > 0)", "leaves the elements where 'where' is False"),
        ("np.add(x, 1.0, out=np.zeros((1, 3)))", "do not broadcast"),
        ("y += np.add(x, x, out=y)", "reads a tensor and also changes it"),
        ("np.sum(x, out=y)", "has shape"),
        ("np.add(x, 1.0, out=np.zeros(4, dtype=int))", "does not cast float64 to int64"),
        ("np.sort(x, out=y)", "the argument 'out' of"),
        ("np.max(x, where=x > 0)", "'initial'"),
        ("y.partition(2)", "partition"),
        ("y.resize(2)", "resize"),
        ("np.put(y, [0], [1.0], mode='clip')", "mode"),
        ("y.reshape(2, 2).ravel('K').fill(1.0); np.outer(x, x).T.ravel('A')", "order='A'"),
        ("np.sum(np.outer(x, x), axis=0, out=3.0)", "'out' of np"),
        ("np.array(y, order='X')", "with order='X'"),
        ("np.copyto([1.0], y)", "writes in place to a"),
    ],
)  # fmt: skip
def test_arguments_that_cannot_be_honoured_are_refused(line, said):
    refused(_row(line), said)
