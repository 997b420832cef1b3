"""Emitted functions of random derivatives compute the same values as the interpreter."""

import numpy as np
import pytest

from autodiff_compiler.emit.module import emit_module
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.transforms.reverse.sweep import gradient_function, split
from tests.interpreter import run
from tests.transforms.test_random_programs import LOOSE, VECTOR, Writer

X = np.array([0.3, -0.2, 0.5])


def module(*functions: Function):
    """Returns the functions of an emitted module by name."""
    listed = {id(f): f for function in functions for f in (*function.callees(), function)}
    taken: dict[str, int] = {}
    for function in listed.values():  # a function's name is unique where the pipeline emits it
        number = taken[function.name] = taken.get(function.name, -1) + 1
        object.__setattr__(
            function, "name", f"{function.name}_{number}" if number else function.name
        )
    source = emit_module(list(listed.values())).source
    assert all(len(line) <= 100 for line in source.splitlines()), source
    scope: dict = {}
    exec(compile(source, "<emitted>", "exec"), scope)
    return [scope[function.name] for function in functions], source


def as_list(result, count):
    return list(result) if count > 1 else [result]


@pytest.mark.parametrize("type_", [VECTOR, LOOSE], ids=["vector", "loose"])
@pytest.mark.parametrize("seed", range(12))
def test_halves_and_second_order(seed, type_):
    function = Writer(seed, type_).function()
    once = gradient_function(function, (0, 2), value=True)
    second = gradient_function(once, (0, 1))
    halves = split(function, (0, 2), value=True)
    (first, twice, forward, backward), source = module(once, second, *halves)
    for n, flag in ((0, True), (2, False), (3, True)):
        args = [X, X + 0.4, X - 0.6, n, flag]
        expected = run(once, args)
        *outs, residuals = as_list(forward(*args), 2)
        found = [*outs, *as_list(backward(residuals), 2)]
        for wanted, one, other in zip(expected, found, first(*args), strict=True):
            np.testing.assert_allclose(one, wanted, rtol=1e-12, err_msg=source)
            np.testing.assert_allclose(other, wanted, rtol=1e-12, err_msg=source)
        for wanted, one in zip(run(second, args), twice(*args), strict=True):
            np.testing.assert_allclose(one, wanted, rtol=1e-12, err_msg=source)
