"""Arrays of objects, containers and globals that a training loop replaces between calls: each call
reads what stands there, and nothing is compiled anew unless its kind, dtype or shape changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import compile_info, nn
from autodiff_compiler.errors import CompileError

X = np.array([1.0, 2.0, 3.0])
W = np.ones(3)
ROWS = [np.ones(3), np.ones(3)]
NAMED = {"w": np.ones(3), "b": [np.ones(3)]}


class Layer:
    def __init__(self):
        self.w = np.ones(3)


class Model:
    def __init__(self):
        self.w = np.ones(3)
        self.layer = Layer()
        self.rows = [np.ones(3), np.ones(3)]
        self.named = {"w": np.ones(3), "b": (np.ones(3),)}

    def loss(self, x):
        return (self.w * self.w * x).sum()


MODEL = Model()


def of_an_object(x):
    return (MODEL.w * MODEL.w * x).sum()


def of_a_method(x):
    return MODEL.loss(x)


def of_a_nested_object(x):
    return (MODEL.layer.w * x * x).sum()


def of_a_list(x):
    return sum((row * x * x).sum() for row in MODEL.rows)


def of_a_dict(x):
    return (MODEL.named["w"] * x * x + MODEL.named["b"][0]).sum()


def of_the_module(x):
    return (W * x * x).sum()


def of_a_list_of_the_module(x):
    return (ROWS[0] * x * x + ROWS[1]).sum()


def of_a_dict_of_the_module(x):
    return sum((NAMED[key] * x).sum() for key in ("w",)) + NAMED["b"][0].sum()


def replace(turn: int) -> None:
    """What a training loop does between two calls."""
    global W, ROWS
    new = np.full(3, 1.0 + turn)
    MODEL.w = new * 2
    MODEL.layer.w = new * 3
    MODEL.rows = [new * 4, new * 5] if turn % 2 else [row * 2 for row in MODEL.rows]
    MODEL.rows[0] = new * 6
    MODEL.named["w"] = new * 7
    MODEL.named = {"w": new * 7, "b": (new * 8,)}
    W = new * 9
    ROWS = [new * 10, *ROWS[1:]]
    NAMED["w"] = new * 11
    NAMED["b"][0] = new * 12


PROGRAMS = [of_an_object, of_a_method, of_a_nested_object, of_a_list, of_a_dict, of_the_module,
            of_a_list_of_the_module, of_a_dict_of_the_module]  # fmt: skip


def first_of(ask: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: ask(x)[0]


ASKED = {
    "value": ms.jit,
    "gradient": lambda program: first_of(ms.value_and_grad(program)),
    "pullback": lambda program: lambda x: ms.vjp(program, x)[0],
    "tangent": lambda program: lambda x: ms.jvp(program, (x,), (x,))[0],
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("program", PROGRAMS)
def test_five_replaced_arrays_are_compiled_once(program: Callable[..., Any], asked: str) -> None:
    compile_info().clear()
    ask = ASKED[asked](program)
    for turn in range(5):
        replace(turn)
        np.testing.assert_allclose(ask(X), program(X))
    assert len(compile_info()) == 1


@pytest.mark.parametrize("program", PROGRAMS)
def test_another_dtype_or_shape_is_compiled_anew(program: Callable[..., Any]) -> None:
    gradient = ms.value_and_grad(program)
    for make in (
        lambda: np.ones(3),
        lambda: np.ones(3, np.float32),
        lambda: np.ones(1),
        lambda: np.ones((2, 3)),
        lambda: np.ones(3),
    ):
        replace(0)
        global W, ROWS
        W = MODEL.w = MODEL.layer.w = make() * 2
        ROWS = MODEL.rows = [make(), make() * 3]
        MODEL.named = {"w": make(), "b": (make(),)}
        NAMED["w"], NAMED["b"] = make(), [make() * 2]
        value, _ = gradient(X)
        np.testing.assert_allclose(value, program(X))
        assert value.dtype == program(X).dtype


def test_one_array_under_two_names_and_then_two() -> None:
    def program(x):
        return (MODEL.w * x + MODEL.layer.w * x * x).sum()

    gradient = ms.value_and_grad(program)
    for one, other in ((X, X), (X * 2, X * 3), (X * 4, X * 4), (X, X * 5)):
        MODEL.w, MODEL.layer.w = one, other
        np.testing.assert_allclose(gradient(X)[0], program(X))
    MODEL.w = MODEL.layer.w = X * 7
    np.testing.assert_allclose(gradient(X)[0], program(X))


def test_identity_that_was_asked_for_is_kept() -> None:
    def program(x):
        return (x * 2).sum() if MODEL.w is MODEL.layer.w else (x * 3).sum()

    compiled = ms.jit(program)
    replace(1)
    assert compiled(X) == program(X) == 18.0
    MODEL.w = MODEL.layer.w
    assert compiled(X) == program(X) == 12.0
    replace(1)
    assert compiled(X) == program(X) == 18.0


def test_identity_of_lists_of_arrays_is_refused() -> None:
    def program(x):
        return (x * 2).sum() if MODEL.rows is ROWS else (x * 3).sum()

    with pytest.raises(CompileError, match="the same object"):
        ms.jit(program)(X)


def test_another_kind_in_its_place() -> None:
    def program(x):
        if MODEL.w is None:
            return (x * 2).sum()
        if isinstance(MODEL.w, list):
            return sum((row * x).sum() for row in MODEL.w)
        return (MODEL.w * x).sum()

    compiled = ms.jit(program)
    for held in (np.ones(3), None, [X, X], [X], np.ones(3), (X,), 2.0, [X, X, X]):
        MODEL.w = held
        if isinstance(held, tuple):
            continue
        np.testing.assert_allclose(compiled(X), program(X))
    MODEL.w = np.ones(3)


def test_a_length_that_changes() -> None:
    compiled = ms.jit(of_a_list)
    for count in (2, 3, 1, 3):
        MODEL.rows = [X * n for n in range(count)]
        np.testing.assert_allclose(compiled(X), of_a_list(X))


def test_what_is_folded_while_compiling_is_looked_at_again() -> None:
    def program(x):
        return x[MODEL.w > 1.5].sum() + (x * W).sum()

    gradient = ms.value_and_grad(program)
    global W
    for turn in range(4):
        MODEL.w, W = np.array([1.0, 2.0, turn]), np.full(3, float(turn))
        np.testing.assert_allclose(gradient(X)[0], program(X))


def test_tensors_of_a_cell() -> None:
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.scale = ms.Tensor(np.ones(3, np.float32))

        def construct(self, x):
            return (self.scale * x * x).sum()

    net, x = Net(), ms.Tensor(X.astype(np.float32))
    compile_info().clear()
    gradient = ms.grad(net)
    for turn in range(5):
        net.scale = ms.Tensor(np.full(3, 1.0 + turn, np.float32))
        np.testing.assert_allclose(gradient(x).asnumpy(), 2 * (1 + turn) * X)
    assert len(compile_info()) == 1
    net.scale = ms.Parameter(ms.Tensor(np.full(3, 9.0, np.float32)), name="scale")
    np.testing.assert_allclose(gradient(x).asnumpy(), 18 * X)


def test_a_model_that_is_an_argument() -> None:
    def loss(model, x):
        return (model.w * model.w * x).sum() + (model.rows[0] * x).sum()

    model = Model()
    compile_info().clear()
    gradient = ms.value_and_grad(loss, 1)
    for turn in range(5):
        model.w, model.rows = X * turn, [X + turn, X]
        np.testing.assert_allclose(gradient(model, X)[0], loss(model, X))
    assert len(compile_info()) == 1
