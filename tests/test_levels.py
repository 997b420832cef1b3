"""Levels: where they are asked for, and what each one does to a text."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.cli import main
from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.errors import CallError
from tests.text_rules import broken_rules


class Inner(nn.Cell):
    def construct(self, x):
        return ops.sin(x) * 2.0


class Outer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def construct(self, x):
        return self.inner(x * 1.0) + ops.sin(x)


@pytest.fixture
def level():
    yield lambda number: ms.set_context(opt_level=number)
    ms.set_context(opt_level=1)


def functions(source: str) -> int:
    return source.count("\ndef ")


def test_what_each_level_writes():
    plain, default, fast = (ms.gradient_source(Outer(), "f32[3]", opt_level=n) for n in (0, 1, 3))
    assert plain.count("* 1.0") > default.count("* 1.0")  # the user's own line is quoted, too
    assert functions(plain) == functions(default) == 4
    assert functions(fast) == 2


def test_the_context_decides_for_calls(level):
    x = Tensor(np.array([0.5, 1.0, 2.0], np.float32))
    for number, written in ((0, 4), (3, 2), (2, 4), (1, 4)):
        level(number)
        net = Outer()
        d_x = ops.GradOperation()(net)(x)
        np.testing.assert_allclose(d_x.asnumpy(), 3 * np.cos(x.asnumpy()), rtol=1e-6)
        assert functions(ms.compile_info().units[-1].source) == written
        assert functions(ms.gradient_source(Outer(), "f32[3]")) == written


def test_a_gradient_keeps_the_level_that_it_was_made_at(level):
    gradient = ops.GradOperation()(Outer())
    level(3)
    gradient(Tensor(np.ones(3, np.float32)))
    assert functions(ms.compile_info().units[-1].source) == 4


@pytest.mark.parametrize("number", [4, -1, True, "3"])
def test_other_levels_are_refused(number):
    with pytest.raises(ValueError, match="opt_level"):
        ms.set_context(opt_level=number)


def test_the_source_of_no_level_is_refused():
    with pytest.raises(CallError, match="there is no optimization level 4"):
        ms.gradient_source(Outer(), "f32[3]", opt_level=4)


def test_the_command_takes_a_level(capsys):
    assert main(["dump", f"{__file__}:Outer", "--input", "f32[3]", "-O3"]) == 0
    assert functions(capsys.readouterr().out) == 2


@pytest.mark.parametrize("number", (0, 1, 2, 3))
@pytest.mark.parametrize("dtype", (np.float16, np.float32, np.float64))
def test_a_large_pool_writes_into_slices_from_level_two_on(level, number, dtype):
    """The gradient goes to the first largest element of each window; ties are frequent here."""
    x = np.random.default_rng(0).integers(0, 4, (1, 2, 7, 8)).astype(dtype)
    windows = x[:, :, :6].reshape(1, 2, 3, 2, 4, 2).transpose(0, 1, 2, 4, 3, 5).reshape(-1, 4)
    first = np.eye(4, dtype=dtype)[windows.argmax(axis=1)]
    wanted = np.zeros_like(x)
    wanted[:, :, :6] = (
        first.reshape(1, 2, 3, 4, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(1, 2, 6, 8)
    )
    level(number)
    pool = nn.MaxPool2d(2, 2)
    gradient = ops.GradOperation()(pool)
    with changed_costs(large_bytes=0):
        ms.compile_info().clear()
        np.testing.assert_array_equal(gradient(Tensor(x)).asnumpy(), wanted)
        planned = [
            rule
            for rule in broken_rules(ms.compile_info().units[-1].source, level=0)
            if rule.startswith("out= into") or "workspace" in rule
        ]
    assert bool(planned) == (number > 1)
