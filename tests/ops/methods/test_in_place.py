"""Methods that change the tensor itself: at once and compiled, against the operators they are."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ops.methods.in_place import IN_PLACE

X = np.array([[0.5, -1.25], [2.0, 3.0]], np.float32)
Y = np.array([[2.0, 0.5], [-1.0, 4.0]], np.float32)
MASK = np.array([[True, False], [False, True]])
COLUMNS = np.array([[1, 0]])
SLICES = np.array([1, 0], np.int32)


def _added(index: np.ndarray, rows: np.ndarray) -> np.ndarray:
    out = X.copy()
    np.add.at(out, index, rows)
    return out


def _scattered(start: np.ndarray) -> np.ndarray:
    out = start.copy()
    out[COLUMNS, np.arange(2)] += Y[:1]
    return out


#: Of each method: its arguments, and what the tensor is afterwards.
CASES = {
    "add_": ((Y,), X + Y),
    "sub_": ((Y,), X - Y),
    "mul_": ((Y,), X * Y),
    "div_": ((Y,), X / Y),
    "exp_": ((), np.exp(X)),
    "floor_": ((), np.floor(X)),
    "sigmoid_": ((), 1 / (1 + np.exp(-X))),
    "tanh_": ((), np.tanh(X)),
    "zero_": ((), np.zeros_like(X)),
    "fill_": ((1.5,), np.full_like(X, 1.5)),
    "copy_": ((Y[:1],), np.broadcast_to(Y[:1], X.shape)),
    "clamp_": ((-1.0, 2.5), np.clip(X, -1.0, 2.5)),
    "masked_fill_": ((MASK, 7.0), np.where(MASK, np.float32(7.0), X)),
    "index_add_": ((0, SLICES, Y), _added(SLICES, Y)),
    "scatter_": ((0, COLUMNS, Y[:1]), _scattered(np.where([[0, 1], [1, 0]], 0, X))),
    "scatter_add_": ((0, COLUMNS, Y[:1]), _scattered(X)),
}
DRAWN = ("normal_", "uniform_")


def _handed(argument):
    return Tensor(argument) if isinstance(argument, np.ndarray) else argument


def test_every_method_is_tested():
    assert {*CASES, *DRAWN} == {*IN_PLACE}


@pytest.mark.parametrize("name", CASES)
def test_at_once(name):
    given, wanted = CASES[name]
    x = Tensor(X.copy())
    other = x
    assert getattr(x, name)(*map(_handed, given)) is x
    assert other.dtype == ms.float32
    np.testing.assert_allclose(other.asnumpy(), wanted, rtol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_compiled(name, tmp_path, monkeypatch):
    given, wanted = CASES[name]
    names = [f"a{n}" for n in range(len(given))]
    text = (
        f"def changed(x, {', '.join(names)}):\n"
        f"    y = x * 1\n    z = y\n    y.{name}({', '.join(names)})\n    return z\n"
    )
    file = tmp_path / "changing.py"
    file.write_text(text)
    space = {}
    exec(compile(text, str(file), "exec"), space)
    x = Tensor(X)
    found = ms.jit(space["changed"])(x, *map(_handed, given))
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-6)
    np.testing.assert_array_equal(x.asnumpy(), X)


@pytest.mark.parametrize("name", DRAWN)
def test_drawn_at_once(name):
    x = Tensor(np.zeros((200, 5), np.float32))
    assert getattr(x, name)() is x
    drawn = x.asnumpy()
    mean, deviation = {"normal_": (0.0, 1.0), "uniform_": (0.5, 12**-0.5)}[name]
    assert abs(drawn.mean() - mean) < 0.15 and abs(drawn.std() - deviation) < 0.15


def test_a_dtype_stays():
    x = Tensor(np.array([1, 2], np.int32))
    assert x.add_(Tensor(np.array([1.5, 1.5]))).dtype == ms.int32
    assert x.asnumpy().tolist() == [2, 3]


def test_a_shape_stays():
    with pytest.raises(ShapeError, match="an in-place operation"):
        Tensor(Y[:1].copy()).add_(Tensor(X))


def test_a_program_that_compiles_nothing_has_them():
    program = (
        "import autodiff_compiler as ms\n"
        "x = ms.Tensor([1.0, 2.0])\nx.add_(x).mul_(3.0)\nprint(x.asnumpy().tolist())\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout == "[6.0, 12.0]\n"
