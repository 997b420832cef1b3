"""The path of a call, with functions written by hand in place of the compiler's."""

from __future__ import annotations

import inspect
import sys
import threading
from importlib import import_module
from pkgutil import iter_modules

import numpy as np
import pytest

from autodiff_compiler import ops
from autodiff_compiler import runtime as package
from autodiff_compiler.common import Cell, Parameter, Tensor
from autodiff_compiler.errors import DTypeError
from autodiff_compiler.interface.compiled import Compiled, Guard, Hoisted, NeedValues
from autodiff_compiler.ir.types import array
from autodiff_compiler.runtime.cache import CallSite
from autodiff_compiler.runtime.dispatch import Runtime
from tests.runtime.records import FakeCompiler, product


def t(*numbers):
    return Tensor(np.array(numbers, np.float32))


X, Y, S = t(1, 2), t(3, 5), t(10, 100)


def multiply(x, y):
    return x * y


def run(runtime, gradient, *args, **kwargs):
    return runtime.run_gradient(gradient, args, kwargs)


@pytest.fixture
def compiler():
    return FakeCompiler()


@pytest.fixture
def runtime(compiler):
    return Runtime(compiler)


def test_forward(runtime, compiler):
    out = runtime.run_cell(multiply, (X, Y), {})
    assert type(out) is Tensor and out.tolist() == [3, 10]
    assert runtime.run_cell(multiply, (X, t(1, 1)), {}).tolist() == [1, 2]
    assert len(compiler.calls) == 1
    assert compiler.calls[0][1].sens == "none"


def test_gradient(runtime, compiler):
    gradient = ops.GradOperation(get_all=True)(multiply)
    for _ in range(3):
        d_x, d_y = run(runtime, gradient, X, Y)
    assert (d_x.tolist(), d_y.tolist()) == ([3, 5], [1, 2])
    assert len(compiler.calls) == 1
    fn, request, slots, keywords, known = compiler.calls[0]
    assert fn is multiply and request.positions == (0, 1) and not request.value
    assert keywords == () and known == frozenset()


def test_sens_and_value(runtime):
    gradient = ops.GradOperation(sens_param=True)(multiply)
    assert run(runtime, gradient, X, Y, S).tolist() == [30, 500]
    value, d_y = run(runtime, ops.value_and_grad(multiply, 1), X, Y)
    assert (value.tolist(), d_y.tolist()) == ([3, 10], [1, 2])


def test_keywords_are_slots(runtime, compiler):
    run(runtime, ops.GradOperation(True)(multiply), X, y=Y)
    run(runtime, ops.GradOperation(True)(multiply), X, Y)
    assert [call[3] for call in compiler.calls] == [("y",), ()]


def test_other_types_compile_anew(runtime, compiler):
    gradient = ops.GradOperation()(multiply)
    run(runtime, gradient, X, Y)
    run(runtime, gradient, X, Tensor(np.ones(2)))
    run(runtime, gradient, X, 2.0)
    run(runtime, gradient, X, 3.0)
    assert len(compiler.calls) == 3
    assert [unit.reason for unit in runtime.cache.all()] == [
        "first call", "other argument types", "other argument types",
    ]  # fmt: skip


def test_arity_is_checked_before_compiling(runtime, compiler):
    with pytest.raises(
        TypeError, match=r"multiply\(\) missing 1 required positional argument: 'y'"
    ):
        run(runtime, ops.GradOperation()(multiply), X)
    assert compiler.calls == []


class Net(Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(np.array([7, 8], np.float32))
        self.other = Parameter(np.array([[1, 1]], np.float64))

    def construct(self, x):
        return x * self.w


def with_weight(net, *guards):
    hoisted = (Hoisted("w", net.w, array("float32", 2)),)
    return FakeCompiler(lambda request: product(request, guards, hoisted, dynamic=(0,)))


def test_weights(runtime):
    net = Net()
    runtime.cache.compile_unit = with_weight(net)
    gradient = ops.GradOperation(True, True)(net, [net.other, net.w])
    (d_x,), (d_other, d_w) = run(runtime, gradient, X)
    assert (d_x.tolist(), d_w.tolist()) == ([7, 8], [1, 2])
    assert d_other.tolist() == [[0, 0]] and d_other.dtype is net.other.dtype
    assert type(d_other) is Tensor
    net.w.set_data(t(5, 6))
    assert run(runtime, gradient, X)[0][0].tolist() == [5, 6]
    assert len(runtime.cache.compile_unit.calls) == 1


def test_omitted_weights_are_all_that_take_part(runtime):
    net = Net()
    runtime.cache.compile_unit = with_weight(net)
    (d_w,) = run(runtime, ops.GradOperation(get_by_list=True)(net), X)
    assert d_w.tolist() == [1, 2]


def test_a_weight_of_another_shape_compiles_anew(runtime):
    net = Net()
    runtime.cache.compile_unit = with_weight(net)
    gradient = ops.GradOperation()(net)
    run(runtime, gradient, X)
    net.w.set_data(t(1))
    run(runtime, gradient, X)
    assert len(runtime.cache.compile_unit.calls) == 2
    assert runtime.cache.all()[-1].reason == "a parameter has another dtype or shape"


def test_a_failed_guard_compiles_anew(runtime):
    net = Net()
    hoisted = (Hoisted("w", net.w, array("float32", 2)),)

    def make(request):
        found = Guard("fn.training", "equal", net.training)
        return product(request, (found,), hoisted, dynamic=(0,))

    runtime.cache.compile_unit = FakeCompiler(make)
    gradient = ops.GradOperation()(net)
    run(runtime, gradient, X)
    run(runtime, gradient, X)
    assert len(runtime.cache.compile_unit.calls) == 1
    net.set_train()
    run(runtime, gradient, X)
    assert len(runtime.cache.compile_unit.calls) == 2
    assert runtime.cache.all()[-1].reason == "fn.training is no longer False"


def test_a_value_that_changed_during_compilation_is_read_again(runtime):
    """Another thread set the Cell to training after the compiler read it."""
    net = Net()
    hoisted = (Hoisted("w", net.w, array("float32", 2)),)

    def make(request):
        found = Guard("fn.training", "equal", net.training)
        net.set_train()
        return product(request, (found,), hoisted, dynamic=(0,))

    runtime.cache.compile_unit = FakeCompiler(make)
    run(runtime, ops.GradOperation()(net), X)
    assert len(runtime.cache.compile_unit.calls) == 2
    (unit,) = runtime.cache.all()
    assert unit.compiled.guards[0].value is True


def test_unused_inputs_get_zeros(runtime):
    runtime.cache.compile_unit = lambda *_: Compiled(
        "def f(x, y):\n    return x\n\ndef b(x):\n    return x * 2\n", "f", "b",
        array("float32", 2), dynamic_slots=(0, 1), hoisted=(), guards=(), positions=(0,),
    )  # fmt: skip
    d_y, d_x = run(runtime, ops.grad(multiply, (1, 0)), X, Y)
    assert (d_x.tolist(), d_y.tolist()) == ([2, 4], [0, 0])


def test_values_needed_by_the_compiler_become_constants(runtime):
    asked = []

    def compile_unit(fn, request, slots, keywords, known):
        asked.append(known)
        if 1 not in known:
            raise NeedValues((1,), "an axis")
        return product(request, (Guard("slots[1]", "equal", slots[1]),))

    runtime.cache.compile_unit = compile_unit
    gradient = ops.GradOperation()(multiply)
    assert run(runtime, gradient, X, 2) == 2
    assert run(runtime, gradient, X, 3) == 3
    assert run(runtime, gradient, X, 2) == 2
    assert asked == [frozenset(), {1}, {1}]


def test_numbers_become_known_where_compiling_fails(runtime):
    asked = []

    def compile_unit(fn, request, slots, keywords, known):
        asked.append(known)
        if not known:
            raise DTypeError("an axis cannot be a run-time value")
        return product(request)

    runtime.cache.compile_unit = compile_unit
    assert run(runtime, ops.GradOperation()(multiply), X, 2) == 2
    assert asked == [frozenset(), {1}]
    with pytest.raises(DTypeError):
        run(runtime, ops.GradOperation()(lambda x, y: x), X, Y)


def test_a_value_that_is_needed_twice_ends_the_retries(runtime):
    def compile_unit(*_):
        raise NeedValues((1,), "an axis")

    runtime.cache.compile_unit = compile_unit
    with pytest.raises(NeedValues):
        run(runtime, ops.GradOperation()(multiply), X, 2)


def test_arrays_in_arrays_out(runtime):
    out = runtime.run_cell(multiply, (np.ones(2), np.ones(2)), {})
    assert type(out) is np.ndarray
    assert type(runtime.run_cell(multiply, (X, np.ones(2)), {})) is Tensor


def test_containers_that_hold_an_argument_are_copied(runtime):
    runtime.cache.compile_unit = lambda *_: Compiled(
        "def f(x, y):\n    return [x, x.T, (y, 3, None)]\n", "f", None,
        array("float32", 2), dynamic_slots=(0, 1), hoisted=(), guards=(),
    )  # fmt: skip
    x, y = t(1, 2), t(3, 5)
    first, second, (third, *rest) = runtime.run_cell(multiply, (x, y), {})
    for result in (first, second, third):
        result[0] = 99.0
    assert (x.tolist(), y.tolist(), rest) == ([1, 2], [3, 5], [3, None])


def test_exceptions_carry_the_users_line(runtime):
    with pytest.raises(ValueError, match="broadcast") as caught:
        run(runtime, ops.GradOperation()(multiply), X, t(1, 2, 3))
    notes = getattr(caught.value, "__notes__", None) or [str(caught.value.__cause__)]
    assert notes == ["in compiled code for net.py:14:5: out = x * y"]


def test_threads_compile_once():
    entered = threading.Barrier(4)

    class Slow(FakeCompiler):
        def __call__(self, *args):
            threading.Event().wait(0.05)
            return super().__call__(*args)

    compiler = Slow()
    runtime = Runtime(compiler)
    gradient = ops.GradOperation()(multiply)
    results = []

    def work():
        entered.wait()
        results.append(run(runtime, gradient, X, Y).tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[3, 5]] * 4
    assert len(compiler.calls) == 1


def test_objects_in_the_signature_are_kept_alive(runtime, compiler):
    class Option:
        __array_ufunc__ = None

        def __rmul__(self, x):
            return x

    runtime.run_cell(multiply, (X, Option()), {})
    runtime.run_cell(multiply, (X, Option()), {})
    assert len(compiler.calls) == 2


def stays_of_the_record(call):
    """Returns the modules whose functions hold the ``CallSite`` while ``call`` runs, in order.

    A stay is a run of executed lines in one module. It ends when a function of another module that
    holds the record executes a line.
    """
    modules = []

    def enter(frame, event, argument):
        module = frame.f_globals.get("__name__", "")
        return step if module.startswith("autodiff_compiler.") else None

    def step(frame, event, argument):
        module = frame.f_globals["__name__"]
        holds = any(isinstance(value, CallSite) for value in frame.f_locals.values())
        if event == "line" and holds and modules[-1:] != [module]:
            modules.append(module)
        return step

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        call()
    finally:
        sys.settrace(before)
    return [module.removeprefix("autodiff_compiler.runtime.") for module in modules]


def test_the_record_of_a_call_makes_at_most_five_stays_in_three_modules(runtime, compiler):
    """``dispatch`` describes the call, ``cache`` finds its code, ``dispatch`` runs that. On a miss
    the cache asks ``dispatch`` once what to compile."""
    gradient = ops.GradOperation(get_all=True)(multiply)
    compiling = stays_of_the_record(lambda: run(runtime, gradient, X, Y))
    cached = stays_of_the_record(lambda: run(runtime, gradient, X, Y))
    assert len(compiler.calls) == 1
    assert compiling == ["dispatch", "cache", "dispatch", "cache", "dispatch"]
    assert cached == ["dispatch", "cache", "dispatch"]
    for run_other in (
        lambda: runtime.run_cell(multiply, (X, Y), {}),
        lambda: runtime.run_pullback(ops.GradOperation(sens_param=True)(multiply), (X, Y)),
    ):
        for _ in range(2):
            stays = stays_of_the_record(run_other)
            assert 3 <= len(stays) <= 5 and len({*stays}) <= 3


def test_no_function_takes_the_parts_of_a_call_one_by_one():
    """A function that needs more than three parts of a call takes the record."""
    parts = {"fn", "slots", "keywords", "request", "key"}
    for found in iter_modules(package.__path__):
        module = import_module(f"{package.__name__}.{found.name}")
        kinds = [kind for kind in vars(module).values() if inspect.isclass(kind)]
        for owner in (module, *(kind for kind in kinds if kind.__module__ == module.__name__)):
            for function in vars(owner).values():
                if inspect.isfunction(function):
                    taken = parts.intersection(inspect.signature(function).parameters)
                    assert len(taken) <= 3, f"{module.__name__}.{function.__qualname__}: {taken}"
