"""Every command on every kind of target: plain functions, methods, Cells, in files of all kinds."""

from __future__ import annotations

import math
import re
import sys

import numpy as np
import pytest

from autodiff_compiler.cli import ExitCode, main

PLAIN = """\
import numpy as np


def bell(x):
    return np.sum(np.exp(-0.5 * x * x))


def product(x, y):
    return (x * y).sum()


def scalar(x, s):
    return s * np.sin(x) + x ** 2


def powers(x, n):
    total = x
    for _ in range(n):
        total = total * x
    return total.sum()


def default(x, c=3.0, n=2):
    return np.sum(x ** n * c)


def keyword(x, *, scale=2.0, shift):
    return np.sum((x * scale - shift) ** 2)


def kind(x, how):
    return x.sum() if how == "sum" else (x * x).sum()


def nested(p):
    return np.sum(np.tanh(p["w"] @ p["x"]) * p["b"][0])


def both(x):
    return np.sum(x * x), x.max()


def several(*xs):
    return (xs[0] * xs[1]).sum()


class Model:
    rate = 0.5

    def __init__(self, power=2):
        self.power = power

    def loss(self, x):
        return self.rate * np.sum(x ** self.power)

    @staticmethod
    def still(x):
        return np.sum(x ** 3)

    @classmethod
    def classy(cls, x):
        return cls.rate * np.sum(np.cos(x))

    class Inner:
        @staticmethod
        def deep(x):
            return np.sum(np.log(x))


def make(power, *, scale=1.0):
    def made(x):
        return scale * np.sum(x ** power)

    return made


model = Model(3)
"""
CELLS = """\
import numpy as np

from autodiff_compiler import Parameter, Tensor, nn, ops


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(np.ones(3, np.float32), name="w")
        self.b = Parameter(np.ones(3, np.float32), name="b", requires_grad=False)

    def construct(self, x):
        return x * self.w + self.b

    def helper(self, x):
        return ops.tanh(x * self.w)


class Block(nn.Cell):
    def __init__(self, dim, rates=(1.0, 2.0)):
        super().__init__()
        self.dense = nn.Dense(dim, 2, weight_init="ones")
        self.rates = rates

    def construct(self, x, y=None):
        out = self.dense(x) * self.rates[0]
        return out if y is None else out * y


def use_tensors(x):
    return ops.reduce_sum(ops.exp(x) * x)


def step():
    net = Block(3)
    loss = nn.WithLossCell(net, nn.MSELoss())
    return nn.TrainOneStepCell(loss, nn.SGD(net.trainable_params(), 0.1))


net = Net()
"""
#: Each target with its inputs: of a plain function, of a method, of a Cell.
TARGETS = {
    "plain.py:bell": ("x=f64[3]",),
    "plain.py:product": ("y=f64[2]", "x=f64[2]"),
    "plain.py:scalar": ("x=float", "float"),
    "plain.py:powers": ("f64[b]", "n=3"),
    "plain.py:default": ("f64[3]", "c=float"),
    "plain.py:keyword": ("x=f64[3]", "shift=f64[3]", "scale=float"),
    "plain.py:kind": ("x=f64[2]", "how='sum'"),
    "plain.py:Model.loss": ("x=f64[3]",),
    "plain.py:Model.still": ("f64[3]",),
    "plain.py:Model.classy": ("f64[3]",),
    "plain.py:Model.Inner.deep": ("f64[3]",),
    "plain.py:Model(power=3).loss": ("x=f64[3]",),
    "plain.py:model.loss": ("x=f64[3]",),
    "plain.py:make(3, scale=-1.5)": ("x=f64[3]",),
    "plain.py:several": ("f64[3]", "f64[3]"),
    "cells.py:Net": ("x=f32[3]",),
    "cells.py:net": ("x=f64[3]",),
    "cells.py:Net.helper": ("x=f32[3]",),
    "cells.py:Block(dim=3)": ("x=f32[2,3]",),
    "cells.py:Block(3, rates=[0.5])": ("x=f32[2,3]", "y=f32[2,2]"),
    "cells.py:use_tensors": ("x=f32[3]",),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain.py").write_text(PLAIN)
    (tmp_path / "cells.py").write_text(CELLS)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in (getattr(sys.modules[name], "__file__", None) or ""):
            del sys.modules[name]


def inputs_of(target):
    return [word for text in TARGETS[target] for word in ("--input", text)]


def run(capsys, *words):
    code = main(list(words))
    captured = capsys.readouterr()
    assert code == ExitCode.OK, captured.err
    assert captured.err == ""
    return captured.out


def last_function(text, space):
    return space[re.findall(r"^def (\w+)\(", text, re.MULTILINE)[-1]]


@pytest.mark.parametrize("target", TARGETS)
def test_check(folder, capsys, target):
    table = run(capsys, "check", target, *inputs_of(target), "--order", "1", "--mode", "both")
    rows = [line.split() for line in table.splitlines()[1:]]
    assert {"gradient", "tangent"} <= {row[1] for row in rows}


@pytest.mark.parametrize("target", TARGETS)
def test_dump(folder, capsys, target):
    text = run(capsys, "dump", target, *inputs_of(target))
    space = {}
    exec(text, space)
    assert any(name.endswith("_backward") for name in space)
    forward = run(capsys, "dump", target, *inputs_of(target), "--mode", "forward")
    assert "Tangent of" in forward
    assert "Forward of" in run(capsys, "dump", target, *inputs_of(target), "--mode", "value")


@pytest.mark.parametrize("target", TARGETS)
def test_explain_memory(folder, capsys, target):
    told = run(capsys, "explain-memory", target, *inputs_of(target))
    assert told.startswith("Saved for backward by")


@pytest.mark.thorough
def test_what_takes_no_target(capsys):
    assert "matmul" in run(capsys, "ops")
    names = run(capsys, "ops", "--numpy").split()
    assert {"np.sort", "np.linalg.solve", "math.sin", "array.sum"} <= {*names}
    assert "np.partition" not in names
    for name in names:
        space, _, function = name.rpartition(".")
        assert hasattr(
            {"np": np, "math": math, "array": np.ndarray}.get(space, np.linalg), function
        )
    assert "AD201" in run(capsys, "explain") and "ShapeError" in run(capsys, "explain", "AD201")


@pytest.mark.parametrize("wrt", ["y,x", "1,0"])
def test_value_and_positions_by_name(folder, capsys, wrt):
    inputs = inputs_of("plain.py:product")
    text = run(capsys, "dump", "plain.py:product", *inputs, "--wrt", wrt, "--value")
    space = {}
    exec(text, space)
    x, y = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    out, residuals = space["product_forward"](x, y)
    d_y, d_x = space["product_backward"](residuals)
    assert out == 13.0 and d_y.tolist() == [1, 2] and d_x.tolist() == [3, 5]


def test_a_keyword_by_name(folder, capsys):
    inputs = inputs_of("plain.py:keyword")
    text = run(capsys, "dump", "plain.py:keyword", *inputs, "--wrt", "scale,shift")
    space = {}
    exec(text, space)
    x, shift, scale = np.array([1.0, 2.0, -1.0]), np.array([0.5, 0.0, 1.0]), 1.5
    order = space["keyword_forward"].__code__.co_varnames[:3]
    given = {"x": x, "shift": shift, "scale": scale}
    residuals = space["keyword_forward"](*(given[name] for name in order))
    d_scale, d_shift = space["keyword_backward"](residuals)
    np.testing.assert_allclose(d_scale, np.sum(2 * (x * scale - shift) * x))
    np.testing.assert_allclose(d_shift, -2 * (x * scale - shift))


def test_aux(folder, capsys):
    text = run(capsys, "dump", "plain.py:both", "--input", "f64[3]", "--has-aux")
    space = {}
    exec(text, space)
    out, residuals = space["both_forward"](np.array([1.0, 3.0, 2.0]))
    assert out[0] == 14 and out[1] == 3
    assert space["both_backward"](residuals).tolist() == [2, 6, 4]


@pytest.mark.parametrize(
    "weights, wanted",
    [("w", "wrt: w "), ("w,b", "wrt: w, b "), ("all", "wrt: w, b "), ("trainable", "wrt: w ")],
)
def test_weights_by_name(folder, capsys, weights, wanted):
    text = run(capsys, "dump", "cells.py:Net", "--input", "f32[3]", "--weights", weights)
    assert wanted in text
    text = run(
        capsys, "dump", "cells.py:Net", "--input", "f32[3]", "--weights", weights, "--wrt", "x"
    )
    assert wanted.replace("wrt: ", "wrt: x, ") in text


def test_a_training_step(folder, capsys):
    inputs = ("--input", "f32[4,3]", "--input", "f32[4,2]")
    text = run(capsys, "dump", "cells.py:step()", *inputs, "--mode", "value")
    space = {}
    exec(text, space)
    step = last_function(text, space)
    names = step.__code__.co_varnames[: step.__code__.co_argcount]
    rng = np.random.default_rng(0)
    data, label = rng.normal(size=(4, 3)), rng.normal(size=(4, 2))
    data, label = data.astype(np.float32), label.astype(np.float32)
    weight, bias = np.ones((2, 3), np.float32), np.zeros(2, np.float32)
    known = {
        "global_step": np.zeros(1, np.int32), "dense_weight": weight, "dense_bias": bias,
        "optimizer_learning_rate": np.float32(0.1),
    }  # fmt: skip
    loss, now, new_weight, new_bias = step(data, label, *(known[name] for name in names[2:]))
    error = data @ weight.T + bias - label
    np.testing.assert_allclose(loss, np.mean(error**2), rtol=1e-5)
    d_weight, d_bias = 2 * error.T @ data / error.size, 2 * error.sum(axis=0) / error.size
    np.testing.assert_allclose(new_weight, weight - 0.1 * d_weight, rtol=1e-5)
    np.testing.assert_allclose(new_bias, bias - 0.1 * d_bias, rtol=1e-5)
    assert now.tolist() == [1]


@pytest.mark.parametrize("transform", ["hessian", "jacobian", "jacfwd", "jacrev"])
def test_transforms(folder, capsys, transform):
    text = run(capsys, "dump", "plain.py:bell", "--input", "f64[3]", "--transform", transform)
    space = {}
    exec(text, space)
    function = last_function(text, space)
    x = np.array([0.3, -0.4, 1.1])
    bell = np.exp(-0.5 * x * x)
    wanted = np.diag((x * x - 1) * bell) if transform == "hessian" else -x * bell
    np.testing.assert_allclose(function(x), wanted, atol=1e-12)


def test_batches(folder, capsys):
    text = run(capsys, "dump", "plain.py:bell", "--input", "f64[5,3]", "--transform", "vmap")
    space = {}
    exec(text, space)
    function = last_function(text, space)
    x = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(function(x), np.exp(-0.5 * x * x).sum(axis=1))


@pytest.mark.parametrize(
    "words, message",
    [
        (("plain.py:make(__import__('os'))",), "must be a literal"),
        (("plain.py:make(**{'power': 2})",), "must be a literal"),
        (("plain.py:bell if 1 else 2",), "is neither a name nor a call"),
        (("plain.py:[bell][0]",), "is neither a name nor a call"),
        (("plain.py:make()",), "make() in plain.py fails: TypeError"),
        (("plain.py:model(3)",), "'model' in plain.py cannot be called"),
        (("plain.py:bel",), "has no 'bel'; it has bell, product"),
        (("plain.py:Model",), "is a class, but not a Cell"),
        (("cells.py:Block",), "give them: cells.py:Block(dim=...)"),
        (("plain.py:product", "--input", "x=f64[2]", "--wrt", "z"), "there is no argument 'z'"),
        (("cells.py:Net", "--input", "f32[3]", "--weights", "v"), "there is no weight 'v'"),
        (("plain.py:bell", "--input", "f64[3]", "--weights", "w"), "a plain function has none"),
        (("plain.py:bell", "--input", "f64[3]", "--wrt", "x", "--mode", "value"), "compiles "
         "the function itself"),
    ],
)  # fmt: skip
def test_what_makes_no_sense(folder, capsys, words, message):
    assert main(["dump", *words]) in (ExitCode.USAGE, ExitCode.REFUSED)
    captured = capsys.readouterr()
    assert message in captured.err and "Traceback" not in captured.err and captured.out == ""


def test_files_of_a_package(folder, capsys):
    package = folder / "things" / "inner"
    package.mkdir(parents=True)
    (folder / "things" / "__init__.py").write_text("RATE = 2.0\n")
    (package / "__init__.py").write_text("")
    (package / "shared.py").write_text("def square(x):\n    return x * x\n")
    (package / "model.py").write_text(
        "from .. import RATE\nfrom .shared import square\n\n\n"
        "def loss(x):\n    return RATE * square(x).sum()\n"
    )
    text = run(capsys, "dump", "things/inner/model.py:loss", "--input", "f64[3]")
    assert "loss_backward" in text
    run(capsys, "check", "things/inner/model.py:loss", "--input", "f64[3]")


def test_files_that_import_their_siblings(folder, capsys):
    (folder / "sub").mkdir()
    (folder / "sub" / "sibling.py").write_text("def cube(x):\n    return x ** 3\n")
    (folder / "sub" / "user.py").write_text(
        "from sibling import cube\n\n\ndef loss(x):\n    return cube(x).sum()\n"
    )
    run(capsys, "check", "sub/user.py:loss", "--input", "f64[3]")


def test_relative_imports_without_init(folder, capsys):
    (folder / "bare").mkdir()
    (folder / "bare" / "near.py").write_text("def cube(x):\n    return x ** 3\n")
    (folder / "bare" / "far.py").write_text(
        "from .near import cube\n\n\ndef loss(x):\n    return cube(x).sum()\n"
    )
    run(capsys, "check", "bare/far.py:loss", "--input", "f64[3]")


def test_a_file_named_like_a_library(folder, capsys):
    (folder / "typing.py").write_text("def loss(x):\n    return (x * x).sum()\n")
    import typing

    run(capsys, "check", "typing.py:loss", "--input", "f64[3]")
    assert sys.modules["typing"] is typing


def test_what_a_module_prints_is_not_part_of_the_answer(folder, capsys):
    (folder / "loud.py").write_text("print('loud')\ndef f(x):\n    return (x * x).sum()\n")
    assert main(["dump", "loud.py:f", "--input", "f64[3]"]) == 0
    captured = capsys.readouterr()
    assert "loud" in captured.err and captured.out.startswith('"""Gradient of f')


@pytest.mark.parametrize("command", ["dump", "check", "explain-memory"])
def test_a_negative_size_is_no_type(folder, capsys, command):
    (folder / "one.py").write_text("def f(x):\n    return (x * x).sum()\n")
    assert main([command, "one.py:f", "--input", "x=f64[-1]"]) == 2
    assert "is not a type" in capsys.readouterr().err
