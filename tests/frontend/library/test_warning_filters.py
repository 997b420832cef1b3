"""``with np.errstate(...)`` and ``warnings.catch_warnings()`` in compiled code."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.errors import UnsupportedSyntax

X = np.array([1.0, 2.0, 3.5])
#: What all of the programs below compute, and its gradient: X is at a pole, which is not taken.
VALUE, SLOPE = np.log(1.0) + np.log(2.5), np.array([0.0, 1.0, 0.4])


def of_errstate(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.log(x - 1)
    return np.where(x > 1, y, 0.0).sum()


def of_everything(x):
    with np.errstate(all="ignore") as nothing, np.errstate(over="warn"):
        y = np.where(x > 1, np.log(x - 1), 0.0)
        return y.sum() if nothing is None else x.sum()


def of_filter(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.where(x > 1, np.log(x - 1), 0.0).sum()


def of_chosen_filter(x):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "divide by zero", RuntimeWarning)
        y = np.where(x > 1, np.log(x - 1), 0.0)
    return y.sum()


def of_loop(x):
    total = 0.0
    for v in x:
        with np.errstate(divide="ignore", invalid="ignore"):
            total = total + np.where(v > 1, np.log(v - 1), 0.0)
    return total


def of_called(x):
    return of_errstate(x) + 0.0


PROGRAMS = [of_errstate, of_everything, of_filter, of_chosen_filter, of_loop, of_called]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_block_runs_and_nothing_warns(program):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value, gradient = ms.value_and_grad(program)(X)
    np.testing.assert_allclose(value, VALUE, rtol=1e-12)
    np.testing.assert_allclose(gradient, SLOPE, rtol=1e-12)


def of_nothing(x):
    with np.errstate(under="ignore"):
        return np.where(x > 1, np.log(x - 1), 0.0).sum()


def of_other_warnings(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return np.where(x > 1, np.log(x - 1), 0.0).sum()


@pytest.mark.parametrize("program", [of_nothing, of_other_warnings], ids=lambda p: p.__name__)
def test_warnings_that_were_not_silenced_are_shown(program):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        value, _ = ms.value_and_grad(program)(X)
    assert any("divide by zero" in str(each.message) for each in told)
    np.testing.assert_allclose(value, VALUE, rtol=1e-12)


def test_the_settings_outside_stay_as_they_are():
    before, filters = np.geterr(), list(warnings.filters)
    ms.value_and_grad(of_filter)(X)
    assert np.geterr() == before and warnings.filters == filters


class Quiet(nn.Cell):
    def construct(self, x):
        with np.errstate(all="ignore"):
            y = ops.log(x)
        return y.sum()


def test_a_cell_too():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gradient = ops.grad(Quiet())(Tensor(np.array([0.0, 4.0], np.float32)))
    np.testing.assert_array_equal(gradient.asnumpy(), [np.inf, 0.25])


def raising(x):
    with np.errstate(all="raise"):
        return np.log(x).sum()


def recording(x):
    with warnings.catch_warnings(record=True):
        return np.log(x).sum()


def made_an_error(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return np.log(x).sum()


def printed(x):
    with np.printoptions(precision=3):
        return np.log(x).sum()


@pytest.mark.parametrize(
    "program, cause",
    [
        (raising, "np.errstate.all='raise'. is not supported inside"),
        (recording, "can silence warnings, but not record"),
        (made_an_error, "does not support the action 'error'"),
        (printed, "np.printoptions is not supported inside"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_settings_beyond_silence_are_refused(program, cause):
    with pytest.raises(UnsupportedSyntax, match=cause):
        ms.grad(program)(X)
