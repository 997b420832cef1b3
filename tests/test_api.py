"""The front door: decorators, printed source, exported files, and what is cached."""

from __future__ import annotations

import functools
import gc
import inspect
import linecache
import os
import subprocess
import sys

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.abstract_arguments import abstract, slot_of
from autodiff_compiler.errors import CallError, DTypeError, UnsupportedSyntax
from autodiff_compiler.interface.compiled import StaticSlot
from autodiff_compiler.ir.types import parse_type


def t(*numbers, dtype=np.float32):
    return Tensor(np.array(numbers, dtype))


X, Y = t(1, 2), t(3, 5)


@ms.differentiable
class Scale(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(np.array([2, 3], np.float32))

    def construct(self, x, y):
        return x * y * self.w


def multiply(x, y):
    return x * y


def executed(source):
    space = {}
    exec(source, space)
    return space


@pytest.fixture(autouse=True)
def empty_cache():
    ms.compile_info().clear()


# ---- arguments


@pytest.mark.parametrize(
    "value, text",
    [
        (t(1, 2), "f32[2]"),
        (np.ones((2, 3)), "f64[2,3]"),
        (np.float16(1), "f16[]"),
        (3, "int"),
        (2.5, "float"),
        ((X, 1), "(f32[2], int)"),
        ({"a": [X]}, "{'a': (f32[2],)}"),
        ((X, None, "s", True), "(f32[2], none, str, bool)"),
    ],
)
def test_abstract(value, text):
    assert abstract(value) == parse_type(text)


@pytest.mark.parametrize("value", [None, True, "same", (1, 2), [], object])
def test_what_must_be_known(value):
    assert abstract(value) == StaticSlot(value)


def test_slot_of_texts():
    assert slot_of("f32[b,3]") == parse_type("f32[b,3]")
    assert slot_of("none") == StaticSlot(None)
    with pytest.raises(ValueError, match="'f99' is not a type"):
        slot_of("f99")
    with pytest.raises(ValueError, match=r"its value with functools.partial\(f, name="):
        ms.gradient_source(lambda x, mode: x if mode == "sq" else -x, X, "sq")


def test_objects_among_tensors_are_refused():
    with pytest.raises(CallError, match="a object is in the same container as tensors"):
        abstract((X, object()))
    with pytest.raises(CallError, match="a list of numbers is in the same container") as refused:
        abstract({"w": X, "b": [0.5]})
    assert refused.value.problems[0].cure == "make it an array: np.array(...)"


@pytest.mark.parametrize("value", [np.array(["a"]), np.array([None]), np.datetime64("2000-01")])
def test_arrays_of_what_is_no_number_are_refused(value):
    with pytest.raises(CallError, match="which is not supported"):
        abstract((X, value))


# ---- decorators


def test_differentiable_class():
    net = Scale()
    assert net(X, Y).tolist() == [6, 30]
    (unit,) = ms.compile_info().units
    assert unit.request == "forward" and unit.title == "Scale.construct f32[2] f32[2]"
    assert "def scale" in net.gradient_source(X, Y, get_all=True)
    assert "element [1]" in str(net.check_grads(X, Y))


def test_differentiable_function():
    @ms.differentiable
    def cube(x):
        return x * x * x

    assert cube(X).tolist() == [1, 8]
    assert cube.__name__ == "cube"
    assert len(ms.compile_info()) == 1
    assert "def cube_backward" in cube.gradient_source(X)
    assert len(cube.check_grads(X).rows) == 8
    assert ms.grad(cube)(X).tolist() == [3, 12]


def test_differentiable_refuses_at_definition():
    with pytest.raises(UnsupportedSyntax, match="'global'"):

        @ms.differentiable
        class Bad(nn.Cell):
            def construct(self, x):
                global SEEN
                SEEN = x
                return x

    with pytest.raises(UnsupportedSyntax, match="'yield'"):

        @ms.differentiable
        def bad(x):
            yield x

    for thing in (int, 3):
        with pytest.raises(TypeError, match="differentiable is for Cells and functions"):
            ms.differentiable(thing)


def test_jit_forms():
    @ms.jit
    def bare(x):
        return x * 2

    @ms.jit()
    def called(x):
        return x * 2

    @ms.jit(jit_level="O1")
    def optioned(x):
        return x * 2

    class Net(nn.Cell):
        def construct(self, x):
            return self.twice(x)

        @ms.jit
        def twice(self, x):
            return x * 2

    net = Net()
    cell = ms.jit(Net())
    for fn in (bare, called, optioned, net, cell, ms.jit(Net)()):
        assert fn(X).tolist() == [2, 4]
        assert ms.grad(fn)(X).tolist() == [2, 2]
    gradient = ms.grad(bare)
    assert ms.jit(gradient) is gradient
    with pytest.raises(TypeError, match="should be callable"):
        ms.jit(3)


def test_jit_inside_is_guarded_and_compiled_once():
    class Net(nn.Cell):
        factor = 2

        def construct(self, x):
            return self.scaled(x) + outer(x)

        @ms.jit
        def scaled(self, x):
            return ops.mul(x, self.factor)

    net = Net()
    for _ in range(3):
        assert ms.grad(net)(X).tolist() == [5, 5]
    assert len(ms.compile_info()) == 1
    net.factor = 4
    assert ms.grad(net)(X).tolist() == [7, 7]
    SLOPE[0] = 5
    try:
        assert ms.grad(net)(X).tolist() == [9, 9]
    finally:
        SLOPE[0] = 3
    assert ms.jit(ms.differentiable(ms.jit(multiply)))(X, Y).tolist() == [3, 10]


SLOPE = [3]


@ms.jit
def outer(x):
    return ops.mul(x, SLOPE[0])


def test_graph_mode_compiles_cells():
    class Plain(nn.Cell):
        def construct(self, x):
            return x * 2

    plain = Plain()  # what is compiled of it goes with it
    ms.compile_info().clear()
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        assert plain(X).tolist() == [2, 4]
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    assert [unit.request for unit in ms.compile_info().units] == ["forward"]
    ms.compile_info().clear()
    assert Plain()(X).tolist() == [2, 4]
    assert len(ms.compile_info()) == 0


# ---- source


def test_gradient_source_runs_alone():
    source = ms.gradient_source(multiply, X, "f32[2]", get_all=True, sens_param=True)
    space = executed(source)
    out, residuals = space["multiply_forward"](X.asnumpy(), Y.asnumpy())
    d_x, d_y = space["multiply_backward"](residuals, np.array([10, 100], np.float32))
    assert (out.tolist(), d_x.tolist(), d_y.tolist()) == ([3, 10], [30, 500], [10, 200])


def test_source_without_shapes():
    space = executed(ms.gradient_source(multiply, get_all=True))
    x, y = np.ones((2, 3)), np.full((3,), 2.0)
    d_x, d_y = space["multiply_backward"](space["multiply_forward"](x, y))
    assert d_x.tolist() == [[2, 2, 2], [2, 2, 2]] and d_y.tolist() == [2, 2, 2]


def test_source_with_symbols():
    space = executed(ms.gradient_source(multiply, "f64[b,3]", "f64[3]", get_all=True))
    for rows in (2, 5):
        x, y = np.ones((rows, 3)), np.full((3,), 2.0)
        _, d_y = space["multiply_backward"](space["multiply_forward"](x, y))
        assert d_y.tolist() == [rows] * 3


@pytest.mark.parametrize("rows", [2, 5])
def test_positions_along_an_axis_of_a_symbolic_size(rows):
    """The text names no symbol: it is no variable."""
    space = executed(
        ms.gradient_source(
            lambda x, i: ops.gather_elements(x, 1, i) ** 2, "f64[b,3]", "i64[b,2]", value=True
        )
    )
    forward, backward = (
        thing for name, thing in space.items() if name.endswith(("_forward", "_backward"))
    )
    x, i = np.sin(np.arange(rows * 3.0)).reshape(rows, 3), np.array([[2, 0], [1, 1]] * 3)[:rows]
    value, residuals = forward(x, i)
    expected = np.zeros_like(x)
    for row, places in enumerate(i):
        for place in places:
            expected[row, place] += 2 * x[row, place]
    np.testing.assert_allclose(value, [[x[r, p] ** 2 for p in row] for r, row in enumerate(i)])
    np.testing.assert_allclose(backward(residuals), expected)


def test_source_is_the_code_that_runs():
    net = Scale()
    gradient = ops.GradOperation(True, True)(net, net.trainable_params())
    gradient(X, Y)
    (unit,) = ms.compile_info().units
    assert unit.source == ms.gradient_source(
        net, X, Y, get_all=True, get_by_list=True, weights=net.trainable_params()
    )
    assert "".join(linecache.getlines("<autodiff Scale.construct f32[2] f32[2]>")) == unit.source


@pytest.mark.parametrize("stage", ["typed", "derivative", "scheduled", "source"])
def test_stages(stage):
    assert "multiply" in ms.gradient_source(multiply, X, Y, stage=stage)


def test_unknown_stage():
    with pytest.raises(CallError, match="there is no stage 'late'"):
        ms.gradient_source(multiply, X, Y, stage="late")


def test_export_source(tmp_path):
    path = tmp_path / "gradient.py"
    path.write_text("old")
    ms.export_source(multiply, path, "f64[2]", "f64[2]", get_all=True)
    assert path.read_text() == ms.gradient_source(multiply, "f64[2]", "f64[2]", get_all=True)
    assert os.listdir(tmp_path) == ["gradient.py"]
    code = (
        "import numpy as np, gradient as g\n"
        "r = g.multiply_forward(np.ones(2), np.full(2, 3.0))\n"
        "print(g.multiply_backward(r)[0].tolist())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
    )  # fmt: skip
    assert run.stdout == "[3.0, 3.0]\n"


def test_a_refused_export_leaves_the_file_alone(tmp_path):
    path = tmp_path / "gradient.py"
    path.write_text("old")
    with pytest.raises(UnsupportedSyntax):
        ms.export_source(lambda x: (yield x), path, X)
    assert path.read_text() == "old"
    with pytest.raises(OSError, match="gradient.py"):
        ms.export_source(multiply, tmp_path / "none" / "gradient.py", X, Y)


# ---- the cache


def test_compile_info_tells_why():
    net = Scale()
    gradient = ops.GradOperation()(net)
    gradient(X, Y)
    gradient(X, Y)
    gradient(t(1, 2, dtype=np.float64), Y)
    ops.GradOperation(True)(net)(X, Y)
    net.w.set_data(t(5))
    gradient(X, Y)
    info = ms.compile_info()
    assert [(unit.reason, unit.calls) for unit in info.units] == [
        ("first call", 2),
        ("other argument types", 1),
        ("another gradient is requested", 1),
        ("a parameter has another dtype or shape", 1),
    ]
    assert info.units[2].request == "inputs [0, 1]"
    assert "first call" in str(info) and str(info).splitlines()[0].startswith("compiled")
    info.clear()
    assert len(ms.compile_info()) == 0


def test_a_lambda_made_anew_is_compiled_once():
    for number in range(3):
        make = [lambda x: x * x]
        assert ms.grad(make[0])(X).tolist() == [2, 4], number
    assert len(ms.compile_info()) == 1


def test_closures_over_other_numbers_are_told_apart():
    def scaled(factor):
        return lambda x: x * factor

    assert [ms.grad(scaled(k))(X).tolist() for k in (2.0, 3.0, 2.0)] == [[2, 2], [3, 3], [2, 2]]


def test_dead_cells_leave_nothing_behind():
    net = Scale()
    ops.GradOperation(True, True)(net, net.trainable_params())(X, Y)
    assert len(ms.compile_info()) == 1
    del net
    gc.collect()
    assert len(ms.compile_info()) == 0
    assert not [name for name in linecache.cache if name.startswith("<autodiff Scale")]


def test_public_names():
    for name in ms.__all__:
        assert getattr(ms, name) is not None
    assert ms.ParameterTuple is ms.common.ParameterTuple
    assert ms.float32 is ms.dtype.float32
    assert ops.grad is ms.grad and ops.composite.GradOperation is ops.GradOperation


def test_the_docstring_calls_the_functions_by_their_printed_names():
    def f(x):
        scale = Tensor([2.0, 3.0])
        return x * scale * Tensor([0.5, 4.0]) + Tensor([1.0, 1.0])

    source = ms.gradient_source(f, Tensor([1.0, 2.0]), sens_param=True)
    scope: dict = {}
    exec(source, scope)
    call = next(line for line in source.splitlines() if "f_forward(" in line)
    names = call.partition("(")[2].rstrip(")").split(", ")
    assert names == list(inspect.signature(scope["f_forward"]).parameters)
    assert names == ["x", "scale", "constant", "constant_1"]


def test_an_argument_without_a_type_is_not_compared_with_a_text():
    def power(x, kind):
        return (x**2).sum() if kind == "square" else x.sum()

    with pytest.raises(DTypeError, match="compared with a string"):
        ms.gradient_source(power)
    assert "2.0 * x" in ms.gradient_source(functools.partial(power, kind="square"), np.ones(2))


def test_the_compiler_is_imported_when_it_is_needed():
    program = (
        "import sys, autodiff_compiler as ms\n"
        "assert 'gast' not in sys.modules and 'autodiff_compiler.pipeline' not in sys.modules\n"
        "assert {'check_grads', 'differentiable'} <= set(dir(ms))\n"
        "(ms.Tensor(2.0) * 3).asnumpy()\n"
        "assert 'gast' not in sys.modules\n"
        "ms.differentiable\n"
        "assert 'gast' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
