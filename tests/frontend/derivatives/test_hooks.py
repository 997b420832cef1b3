"""Hooks on gradients and around Cells. Numbers and orders are measured on MindSpore 2.10."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, insert_grad_of, nn, ops, pipeline

X, Y = Tensor([1.0, 2.0]), Tensor([3.0, 5.0])
WEIGHTS = ms.GradOperation(get_by_list=True)


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "VERIFY", True)


def same(found: object, *expected: list) -> None:
    parts = found if isinstance(found, tuple) else (found,)
    assert len(parts) == len(expected)
    for part, wanted in zip(parts, expected):
        np.testing.assert_allclose(part.asnumpy(), wanted, rtol=1e-6)  # type: ignore[attr-defined]


class Square(nn.Cell):
    def construct(self, x):
        return x * x


class Weighted(nn.Cell):
    """w * x² with the square in a Cell of its own."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([3.0, 4.0]), name="w")
        self.square = Square()

    def construct(self, x):
        return self.square(x) * self.w


# ---- on a value


def test_insert_gradient_of_clips() -> None:
    clip = ops.InsertGradientOf(lambda d: ops.clamp(d, -0.5, 0.5))
    same(ms.grad(lambda x, y: clip(x) * y, (0, 1))(X, Y), [0.5, 0.5], [1, 2])
    same(clip(X), [1, 2])


def test_a_compiled_hook_is_text_of_the_backward() -> None:
    def bent(d):
        return ops.sin(d)

    def f(x):
        return ops.InsertGradientOf(bent)(x) * x

    text = ms.gradient_source(f, X, sens_param=True)
    line = bent.__code__.co_firstlineno + 1
    assert f"# {line}| return ops.sin(d)\n    sin_d_x = np.sin(d_x_1)\n" in text
    assert "return out, (x,)" in text
    same(ms.grad(f)(X), np.sin([1.0, 2.0]) + [1.0, 2.0])


def test_hook_backward_is_given_a_tuple_and_may_only_look() -> None:
    seen = []

    def f(x, y):
        return ops.HookBackward(seen.append)(x) * y

    same(ms.grad(f)(X, Y), [3, 5])
    assert len(seen) == 1 and isinstance(seen[0], tuple)
    same(seen[0], [3, 5])
    with pytest.raises(TypeError, match="Expected a callable hook function, but got int."):
        ops.HookBackward(3)


def test_hook_backward_may_be_made_where_it_stands() -> None:
    def f(x):
        return ops.HookBackward(lambda d: (d[0] * 2,))(x * x)

    same(ms.grad(f)(Tensor([3.0])), [12])


def test_register_hook_sees_the_gradient_of_every_use() -> None:
    def f(x):
        y = x * x
        z = y * 3
        y.register_hook(lambda g: g * 10)
        return z + y

    same(ms.grad(f)(X), [80, 160])


def test_hooks_of_a_tensor_run_in_order_and_can_be_removed() -> None:
    def f(x):
        y = x * x
        y.register_hook(lambda g: g + 1)
        gone = y.register_hook(lambda g: g * 100)
        y.register_hook(lambda g: g * 2)
        gone.remove()
        return y

    same(ms.grad(f)(X), [2 * 4, 4 * 4])  # (1 + 1) * 2, times 2x


def test_a_hook_in_a_function_sees_what_its_caller_adds() -> None:
    def inner(h):
        h.register_hook(lambda g: g * 10)
        return h * 1

    def f(x):
        y = x * x
        return inner(y) + y

    same(ms.grad(f)(X), [40, 80])


def test_a_hook_that_cannot_know_the_gradient_is_refused() -> None:
    def f(x, n):
        y = x * x
        for _ in range(n):
            y.register_hook(lambda g: g * 2)
        return y

    with pytest.raises(ms.errors.UnsupportedSyntax, match="another loop or branch"):
        ms.grad(f)(X, 2)


def test_a_hook_stays_on_a_tensor_and_changes_what_is_compiled() -> None:
    x, gradient = Tensor([1.0, 2.0]), ms.grad(Square())
    for _ in range(4):  # the later ones take the fast path
        same(gradient(x), [2, 4])
    handle = x.register_hook(lambda g: g * 7)
    for _ in range(4):
        same(gradient(x), [14, 28])
        same(gradient(X), [2, 4])
    handle.remove()
    same(gradient(x), [2, 4])


def test_a_hook_on_a_parameter() -> None:
    net = Weighted()
    gradient = WEIGHTS(net, [net.w])
    same(gradient(X), [1, 4])
    handle = net.w.register_hook(lambda g: g * 100)
    same(gradient(X), [100, 400])
    handle.remove()
    same(gradient(X), [1, 4])
    with pytest.raises(TypeError, match="should be a function, but got int"):
        net.w.register_hook(3)


class Scaled(nn.Cell):
    def __init__(self):
        super().__init__()
        self.scale = Parameter(Tensor([2.0, 3.0]), name="scale")

    def construct(self, x):
        return self.scale * x


class Twice(nn.Cell):
    """scale * (x + y), by two calls of one Cell."""

    def __init__(self):
        super().__init__()
        self.inner = Scaled()

    def construct(self, x, y):
        return self.inner(x) + self.inner(y)


class Asking(nn.Cell):
    """The gradients of a Cell in x and in its weights, in a ``construct``."""

    def __init__(self, net):
        super().__init__()
        self.net, self.weights = net, net.trainable_params()

    def construct(self, x, y):
        return self.ask(x, y)

    def ask(self, x, y):
        return ms.grad(self.net, 0, self.weights)(x, y)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("ask", [lambda net: ms.grad(net, 0, net.trainable_params()), Asking])
def test_hooks_of_parameters_and_arguments_run_once_on_the_whole(ask, compiled) -> None:
    """A Cell that is called twice has one hook on its weight; the slope of scale is x + y."""
    net, x = Twice(), Tensor([1.0, 2.0])
    gradient = ask(net)
    if compiled:
        gradient = ms.jit(gradient)

    def slopes(x):
        slope, (weight,) = gradient(x, Y)
        return slope, weight

    same(slopes(x), [2, 3], [4, 7])
    net.inner.scale.register_hook(lambda g: g * g)
    same(slopes(x), [2, 3], [16, 49])
    handle = x.register_hook(lambda g: g * 10)
    same(slopes(x), [20, 30], [16, 49])
    same(slopes(X), [2, 3], [16, 49])
    handle.remove()
    same(slopes(x), [2, 3], [16, 49])


def test_a_hook_on_a_tensor_from_outside_that_is_differentiated_inside() -> None:
    outside = Tensor([1.0, 2.0])
    outside.register_hook(lambda g: g * 10)

    @ms.jit
    def f(y):
        return ms.grad(lambda x: x * x * y)(outside)

    same(f(Y), [60, 200])  # 10 * 2 * x * y


def test_with_insert_grad_of_runs_in_the_loop_of_the_backward(capsys) -> None:
    def f(x, n):
        h = x
        for i in range(n):
            h = h * x
            with insert_grad_of(h) as d_h:
                print(i, d_h)
                if ops.sum(d_h) > 4.0:
                    d_h = d_h * 0.5
        return h

    # d_h is (1, 1), (1, 2), (1, 4): the last is halved. d_x = sum of d_h * h, and d_h * x.
    same(ms.grad(f)(X, 3), [1 + 1 + 0.5 + 0.5, 8 + 2 * 4 + 2 * 2 + 2 * 2])
    assert capsys.readouterr().out == "2 [1. 1.]\n1 [1. 2.]\n0 [1. 4.]\n"


# ---- around a Cell


def recorder(log: list, name: str, answer: object = None):
    def hook(cell, *rest):
        log.append((name, type(cell).__name__, *rest))
        return answer(*rest) if callable(answer) else answer

    return hook


def test_the_hooks_of_a_cell_run_in_order_with_tuples() -> None:
    log: list = []
    net = Square()
    net.register_backward_hook(recorder(log, "backward"))
    net.register_backward_pre_hook(recorder(log, "backward_pre", lambda go: (go[0] * 2,)))
    net.register_forward_hook(recorder(log, "forward"))
    net.register_forward_pre_hook(recorder(log, "forward_pre"))
    same(ms.grad(net)(X), [4, 8])
    assert [row[:2] for row in log] == [
        (kind, "Square") for kind in ("forward_pre", "forward", "backward_pre", "backward")
    ]
    same(log[0][2], [1, 2])
    same((*log[1][2], log[1][3]), [1, 2], [1, 4])
    same(log[2][2], [1, 1])
    same((*log[3][2], *log[3][3]), [4, 8], [2, 2])


def test_what_hooks_return_takes_its_place() -> None:
    net = Weighted()
    inner = net.square
    gradient = ms.GradOperation(get_all=True)(net)
    same(gradient(X), [6, 16])
    handles = [inner.register_forward_pre_hook(lambda cell, inputs: (inputs[0] * 2,))]
    same(gradient(X), [24, 64])  # (2x)² * w
    handles.append(inner.register_forward_hook(lambda cell, inputs, output: output * 10))
    same(gradient(X), [240, 640])
    same(net(X), [4 * 10 * 3, 16 * 10 * 4])
    handles.append(inner.register_backward_pre_hook(lambda cell, go: (go[0] * 0 + 1,)))
    same(gradient(X), [80, 160])
    handles.append(inner.register_backward_hook(lambda cell, gi, go: (gi[0] + go[0] * 100,)))
    same(gradient(X), [280, 360])  # twice (40x + 100)
    for handle in handles:
        handle.remove()
    same(gradient(X), [6, 16])
    assert inner._hooks == ()


def test_backward_hook_of_a_cell_with_several_inputs_and_outputs() -> None:
    class Pair(nn.Cell):
        def construct(self, x, y):
            return x * y, x + y

    net = Pair()
    net.register_backward_hook(lambda cell, gi, go: (gi[0] * go[0], gi[1] + go[1]))

    def f(x, y):
        a, b = net(x, y)
        return a * 2 + b * 3

    # gi = (2y + 3, 2x + 3), go = (2, 3)
    same(ms.grad(f, (0, 1))(X, Y), [18, 26], [8, 10])


def test_a_python_hook_that_changes_a_shape_is_told() -> None:
    kept = []

    def wrong(g):
        kept.append(g)
        return g[:1]

    with pytest.raises(ValueError, match=r"gradient of shape \(2,\) and returned one of shape"):
        ms.grad(lambda x: ops.InsertGradientOf(wrong)(x) * x)(X)


def test_a_compiled_hook_of_a_wrong_shape_is_refused_with_a_caret() -> None:
    def wrong(g):
        return ops.concat((g, g))

    with pytest.raises(ms.errors.ShapeError, match="the cotangent of 'x' has the type"):
        ms.grad(lambda x: ops.InsertGradientOf(wrong)(x) * x)(X)


def test_a_forward_hook_that_cannot_be_compiled_may_only_look() -> None:
    log: list = []
    net = Square()
    net.register_forward_hook(recorder(log, "forward", lambda inputs, output: output * 2))
    with pytest.raises(TypeError, match="may read the gradient but must return None"):
        ms.grad(net)(X)


def test_what_a_python_hook_keeps_is_its_own() -> None:
    seen = []

    def f(x, y):
        return ops.InsertGradientOf(seen.append)(x) * y

    y = Tensor([3.0, 5.0])
    ms.grad(f)(X, y)
    seen[0].asnumpy()[:] = 0
    same(y, [3, 5])


def test_a_hook_with_a_memory_of_its_own_runs_once_a_call() -> None:
    count, notes = 0, {}

    class Keeper:
        seen = 0

        def look(self, g):
            self.seen += 1
            notes["last"] = g

    def counting(g):
        nonlocal count
        count += 1
        return g * 2

    keeper = Keeper()

    def f(x, y):
        return ops.InsertGradientOf(keeper.look)(ops.InsertGradientOf(counting)(x)) * y

    for calls in (1, 2, 3):
        same(ms.grad(f)(X, Y), [6, 10])
        assert count == keeper.seen == calls
        same(notes["last"], [3, 5])


def test_no_derivative_goes_through_a_python_hook() -> None:
    seen = []

    def f(x):
        return ops.InsertGradientOf(seen.append)(x) * x * x

    with pytest.raises(ms.errors.NoDerivative, match="python_hook has no derivative"):
        ms.grad(ms.grad(f))(X)


def test_printed_source_with_a_python_hook_stands_alone(tmp_path: Path) -> None:
    seen = []

    def watch(g):
        seen.append(g)

    def f(x, y):
        return ops.InsertGradientOf(watch)(x) * y

    text = ms.gradient_source(f, X, Y)
    assert "watch: function" in text
    (tmp_path / "made.py").write_text(text)
    program = (
        "import numpy as np, made\n"
        "x, y = np.float32([1, 2]), np.float32([3, 5])\n"
        "print(made.f_backward(made.f_forward(x, y, lambda d: d * 3)))\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert found.stdout == "[ 9. 15.]\n"


def test_an_outside_list_is_not_changed_while_compiling() -> None:
    seen: list = []

    class Logs(nn.Cell):
        def construct(self, x):
            seen.append(1)
            return x * x

    with pytest.raises(
        ms.errors.UnsupportedSyntax, match="'append' changes a list that was made outside"
    ):
        ms.grad(Logs())(X)
    assert seen == []
