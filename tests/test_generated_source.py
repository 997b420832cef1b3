"""Exported files hold all that they need: each runs in an empty folder, with NumPy alone."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops

SMALL = np.array([[2.0, -1.0, 0.5], [0.0, 1.0, 3.0], [1.0, 1.0, 1.0]])
LARGE = np.linspace(-2.0, 2.0, 300).reshape(3, 100)
SINGLE = np.array([1.0, 0.1, -2.0], np.float32)
WHOLE = np.array([2, 0, 1])
WEIRD = np.array([np.inf, -0.0, 1e-300])


def grid(x):
    t = np.linspace(-1.0, 1.0, x.shape[0])
    return np.sum(np.sin(t * x))


def scaled_eye(x):
    return np.sum(np.tanh((np.eye(3) * 2) @ x))


def laplacian(x):
    matrix = 2 * np.eye(3) - np.eye(3, k=1) - np.eye(3, k=-1)
    return x @ matrix @ x


def quadrature(x):
    nodes, weights = np.polynomial.legendre.leggauss(5)
    total = 0.0
    for k in range(5):
        total = total + weights[k] * np.sum(np.cos(nodes[k] * x))
    return total


def window(x):
    return np.sum(np.hanning(3) * x * np.arange(1, 4, dtype=np.int32) * np.array([1, 2.5, -3]))


def picked(x):
    return np.sum(x[np.array([0, 2])] ** 3) + np.sum(x[np.arange(2)])


def many_items(x):
    table = np.cumsum(np.cos(np.arange(200.0)))
    return np.sum(np.outer(table, x) ** 2)


def nowhere_written(x):
    """An array whose making no text can tell: its items were taken from a list."""
    table = np.array([k * 0.5 for k in range(90)])
    return np.sum(np.outer(table, x) ** 2)


def from_globals(x):
    return np.sum(np.exp(0.1 * (SMALL @ x))) + x[WHOLE] @ SINGLE


def from_a_large_global(x):
    return np.sum(np.sin(x @ LARGE))


def from_both(x):
    return np.sum(np.tanh(x @ LARGE) @ np.ones(100)) + np.sum(SMALL @ x) + np.sum(np.eye(3) @ x)


def odd_numbers(x):
    return np.sum(np.minimum(x, WEIRD[0]) ** 2) + np.sum(np.exp(x + WEIRD[1]) + WEIRD[2])


def in_a_loop(x):
    steps = np.geomspace(0.1, 1.0, 4)
    for step in steps:
        x = x - step * np.sin(x)
    return np.sum(x * x)


def in_a_branch(x):
    if np.sum(x) > 0:
        return np.sum(np.tri(3) @ x)
    return np.sum(np.vander([1.0, 2.0, 3.0]) @ (x * x))


def inner(x):
    return np.sum(np.diag([1.0, 2.0, 3.0]) @ x * x)


def in_a_called_function(x):
    return inner(x) * inner(x + np.full(3, 0.5))


FUNCTIONS = [
    grid, scaled_eye, laplacian, quadrature, window, picked, many_items, nowhere_written,
    from_globals, from_a_large_global, from_both, odd_numbers, in_a_loop, in_a_branch,
    in_a_called_function,
]  # fmt: skip
X = np.array([0.3, -0.7, 1.1])

#: What stands in the empty folder beside the exported file, and prints the gradient.
PROGRAM = """\
import sys, json, importlib.util
import numpy as np
spec = importlib.util.spec_from_file_location("exported", sys.argv[1])
exported = importlib.util.module_from_spec(spec)
spec.loader.exec_module(exported)
x = np.array(json.loads(sys.argv[3]))
out, residuals = getattr(exported, sys.argv[2] + "_forward")(x)
d_x = getattr(exported, sys.argv[2] + "_backward")(residuals)
assert not [name for name in sys.modules if name.startswith("autodiff")]
print(json.dumps([float(out), np.asarray(d_x).tolist()]))
"""


def run_alone(folder, name, x):
    run = subprocess.run(
        [sys.executable, "-I", "-c", PROGRAM, str(folder / "exported.py"), name, str(x.tolist())],
        capture_output=True, text=True, cwd=folder, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return eval(run.stdout)


def differences(fn, x, step=1e-6):
    rows = np.eye(x.size) * step
    return [(float(fn(x + row)) - float(fn(x - row))) / (2 * step) for row in rows]


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("level", [0, 1, 3])
def test_every_export_runs_alone(fn, level, tmp_path):
    ms.export_source(fn, tmp_path / "exported.py", X, value=True, opt_level=level)
    value, d_x = run_alone(tmp_path, fn.__name__, X)
    np.testing.assert_allclose(value, fn(X), rtol=1e-12)
    np.testing.assert_allclose(d_x, differences(fn, X), rtol=1e-6, atol=1e-7)


def test_what_is_made_is_a_line_of_text():
    text = ms.gradient_source(grid, X)
    assert "\nt = np.linspace(-1.0, 1.0, 3)\n" in text
    assert "residuals = grid_forward(x)\n" in text and "t: f64" not in text
    assert "= np.eye(3)\n" in ms.gradient_source(scaled_eye, "f64[3]")


def test_what_is_printed_is_what_runs():
    ms.compile_info().clear()
    ms.grad(quadrature)(X)
    (unit,) = ms.compile_info().units
    assert unit.source == ms.gradient_source(quadrature, X)


def test_only_large_arrays_are_stored_beside(tmp_path):
    ms.export_source(from_globals, tmp_path / "small.py", X)
    ms.export_source(many_items, tmp_path / "made.py", X)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["made.py", "small.py"]
    ms.export_source(from_a_large_global, tmp_path / "large.py", X)
    assert (tmp_path / "large.npz").is_file()
    before = (tmp_path / "large.npz").read_bytes()
    ms.export_source(from_a_large_global, tmp_path / "large.py", X)
    assert (tmp_path / "large.npz").read_bytes() == before


def test_globals_are_inputs_when_it_runs():
    assert "LARGE: f64[3,100]" in ms.gradient_source(from_a_large_global, X)
    kept = LARGE.copy()
    gradient = ms.grad(from_a_large_global)
    try:
        first = gradient(X)
        LARGE[...] = 0.5 * kept
        second = gradient(X)
        np.testing.assert_allclose(second, differences(from_a_large_global, X), rtol=1e-6)
        assert not np.allclose(first, second)
    finally:
        LARGE[...] = kept


class Masked(nn.Cell):
    def __init__(self):
        super().__init__()
        self.mask = Tensor(np.array([1.0, 0.0, 2.0], np.float32))
        self.dense = nn.Dense(3, 2)

    def construct(self, x):
        return ops.tanh(self.dense(x * self.mask))


def test_parameters_stay_arguments_and_other_tensors_do_not(tmp_path):
    net = Masked()
    path = tmp_path / "exported.py"
    ms.export_source(net, path, "f32[4,3]", weights="trainable", value=True)
    text = path.read_text()
    assert "mask = np.array([1.0, 0.0, 2.0], np.float32)\n" in text
    space = {"__file__": str(path)}
    exec(text, space)
    x = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    known = {"x": x, "mask": space["mask"], **{
        each.name.replace(".", "_"): each.asnumpy() for each in net.get_parameters()}}  # fmt: skip
    forward = space["masked_forward"]
    code = forward.__code__
    needed = code.co_varnames[: code.co_argcount - len(forward.__defaults__ or ())]
    out, residuals = forward(**{name: known[name] for name in needed})
    np.testing.assert_allclose(out, net(Tensor(x)).asnumpy(), rtol=1e-6)
    found = space["masked_backward"](residuals)
    wanted = ms.grad(net, None, net.trainable_params())(Tensor(x))
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one, other.asnumpy(), rtol=1e-6)


def test_forward_mode(tmp_path):
    path = tmp_path / "exported.py"
    ms.export_source(grid, path, X, mode="forward")
    space = {}
    exec(path.read_text(), space)
    usage = textwrap.dedent(space["__doc__"].split("\n\n")[-1])
    dot = np.array([1.0, -2.0, 0.5])
    exec(usage, space, given := {"x": X, "dot_x": dot})
    np.testing.assert_allclose(given["dot_out"], np.dot(differences(grid, X), dot), rtol=1e-6)
