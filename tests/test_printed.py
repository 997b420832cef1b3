"""What is printed is what runs: every way to print a gradient gives, byte for byte, the text that
a call with arrays compiles."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import compile_info, differentiable, export_source, grad, gradient_source, nn
from autodiff_compiler.cli import main
from autodiff_compiler.ir.types import type_of_array


class Mixed(nn.Cell):
    def construct(self, x):
        return x / 2 + (x > 1) * 3


MIXED = Mixed()


def integers_divided(x, n):
    return np.sum(x * (n / 3))


def a_float_and_an_array(x, k):
    return k * np.sum(np.exp(-x) * k)


def created(x):
    scale = np.ones(x.shape[0]) / 2
    return np.sum(scale * x) + np.zeros(2).sum()


def compared(x, n):
    return np.where(n > 1, x * n, 0.0).mean()


def looped(x, n):
    total = 0.0
    for item in n:
        total = total + np.sin(x).sum() * item / 2
    return total


def a_cell_within(x):
    return np.sum(MIXED(x) * 2)


X, N = np.linspace(0.5, 2.0, 4).astype(np.float32), np.arange(4)
CALLS = {
    "integers divided": (integers_divided, (X, N)),
    "a float and an array": (a_float_and_an_array, (X, 1.5)),
    "created": (created, (X,)),
    "compared": (compared, (X.astype(np.float64), N)),
    "looped": (looped, (X, N)),
    "a Cell within": (a_cell_within, (X,)),
}


def as_text(value) -> str:
    return "float" if isinstance(value, float) else str(type_of_array(value))


def by_values(fn, inputs, folder):
    return gradient_source(fn, *inputs)


def by_signature(fn, inputs, folder):
    return gradient_source(fn, *map(as_text, inputs))


def by_decorator(fn, inputs, folder):
    return differentiable(fn).gradient_source(*map(as_text, inputs))


def by_export(fn, inputs, folder):
    export_source(fn, folder / "out.py", *map(as_text, inputs))
    return (folder / "out.py").read_text()


def by_dump(fn, inputs, folder):
    options = [part for value in inputs for part in ("--input", as_text(value))]
    out = str(folder / "out.py")
    assert main(["dump", f"{__file__}:{fn.__name__}", *options, "--out", out]) == 0
    return (folder / "out.py").read_text()


@pytest.fixture(autouse=True)
def nothing_cached():
    compile_info().clear()
    yield
    compile_info().clear()


@pytest.mark.parametrize("way", (by_values, by_signature, by_decorator, by_export, by_dump))
@pytest.mark.parametrize("name", CALLS)
def test_every_way_prints_the_text_that_a_call_runs(name, way, tmp_path):
    fn, inputs = CALLS[name]
    grad(fn)(*inputs)
    ran = compile_info().units[-1].source
    assert way(fn, inputs, tmp_path) == ran


@pytest.mark.parametrize("name", CALLS)
def test_a_forward_text_is_that_of_a_call(name):
    fn, inputs = CALLS[name]
    reals = [x for x in inputs if isinstance(x, float) or x.dtype.kind == "f"]
    if len(reals) < len(inputs):
        with pytest.raises(TypeError, match="holds integers"):
            ms.jvp(fn, inputs, tuple(map(np.ones_like, inputs)))
        return
    ms.jvp(fn, inputs, tuple(float(x) if np.ndim(x) == 0 else np.ones_like(x) for x in inputs))
    ran = compile_info().units[-1].source
    text = gradient_source(fn, *map(as_text, inputs), mode="forward", get_all=True)
    assert text == ran


def test_a_signature_that_has_no_shapes_promotes_as_numpy_does():
    for inputs in ((), ("f64[...]",), ("f64[b]",)):
        assert "np.float32" not in gradient_source(created, *inputs)


@pytest.mark.parametrize("signature", ("i64[4]", "bool[4]", "int", "bool"))
def test_a_signature_of_integers_is_refused_as_the_call_is(signature):
    with pytest.raises(ms.errors.CallError, match="holds integers"):
        gradient_source(created, signature)


def test_cells_stay_mindspores_in_every_way():
    text = gradient_source(MIXED, "i64[4]")
    assert text == gradient_source(MIXED, ms.Tensor(N)) and "float64" not in text
    tensors = gradient_source(created, ms.Tensor(X))
    grad(created)(ms.Tensor(X))
    assert tensors == compile_info().units[-1].source
