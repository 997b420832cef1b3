"""Printing, asserting and raising: forward does it once and in order, backward never."""

from __future__ import annotations

import logging
import warnings

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.testing import check_grads

UP, DOWN = Tensor([1.0, 2.0], ms.float32), Tensor([-1.0, -2.0], ms.float32)


def printing(x):
    print("begins with", x, sep=": ")
    for i in range(2):
        x = x * 2
        print("step", i, x.sum())
    return x


def guarded(x):
    if x.sum() < 0:
        raise ValueError("negative", 3)
    y = x * x
    return y * x


def guarded_in_a_loop(x, n):
    total = x
    for i in range(n):
        if (total * 1.0).sum() > 50:
            raise OverflowError(f"too much for {2}")
        elif i == 1:
            total = total * x
        else:
            total = total + x
    return total


def both_ways_out(x):
    if x.sum() > 0:
        if x[0] > 5:
            raise ValueError("large")
        return x * 3
    raise TypeError("not positive")


def asserting(x):
    y = x * x
    assert y.sum() < 10, "too large"
    return y


def test_prints_once_and_in_order(capsys):
    printing(UP)
    eager = capsys.readouterr().out
    ms.grad(printing)(UP)
    assert capsys.readouterr().out == eager != ""
    ms.jit(printing)(UP)
    assert capsys.readouterr().out == eager


@pytest.mark.parametrize(
    "function, args", [(guarded, ()), (guarded_in_a_loop, (3,)), (both_ways_out, ()),
                       (asserting, ())],
)  # fmt: skip
def test_an_exception_that_is_not_raised_changes_nothing(function, args):
    np.testing.assert_allclose(
        ms.jit(function)(UP, *args).asnumpy(), function(UP, *args).asnumpy(), rtol=1e-6
    )
    check_grads(function, [UP, *args], order=2)


@pytest.mark.parametrize(
    "function, args, error",
    [
        (guarded, (DOWN,), ValueError),
        (guarded_in_a_loop, (UP, 40), OverflowError),
        (both_ways_out, (DOWN,), TypeError),
        (both_ways_out, (UP * 9.0,), ValueError),
        (asserting, (UP * 9.0,), AssertionError),
    ],
)
def test_the_user_s_exception_reaches_the_user(function, args, error):
    with pytest.raises(error) as eager:
        function(*args)
    for compiled in (ms.jit(function), ms.grad(function)):
        with pytest.raises(error) as raised:
            compiled(*args)
        if error is not AssertionError:  # the test framework writes more into that one
            assert raised.value.args == eager.value.args
        assert str(eager.value).startswith(str(raised.value))
    good = ms.grad(guarded)(UP).asnumpy()  # and the next call is as good as ever
    np.testing.assert_allclose(good, 3 * UP.asnumpy() ** 2, rtol=1e-6)


class Own(Exception):
    pass


def own_exception(x):
    if x.sum() < 0:
        raise Own("mine")
    return ops.exp(x)


def test_an_exception_that_a_standalone_file_cannot_name_is_refused():
    with pytest.raises(ms.errors.UnsupportedSyntax, match="only Python's built-in exceptions"):
        ms.grad(own_exception)(UP)


LOG = logging.getLogger("tests.effects")


def logs(x):
    y = x * x
    for i in range(2):
        LOG.info("step %d: %s", i, y)
        y = y * x
    if y.sum() < 0:
        logging.warning("never")
    warnings.warn("look", stacklevel=2)
    return y


def test_logs_are_written_once_in_order_by_forward(caplog):
    with caplog.at_level("INFO"), pytest.warns(UserWarning, match="look"):
        gradient = ms.grad(logs)(ms.Tensor([2.0]))
        ms.grad(logs)(ms.Tensor([3.0]))
    lines = [record.getMessage() for record in caplog.records]
    assert lines == ["step 0: [4.]", "step 1: [8.]", "step 0: [9.]", "step 1: [27.]"]
    assert gradient.asnumpy() == [4 * 2.0**3]


def telling(x, k=3):
    name = f"{{{x}}} of {x.shape}, {float(x.sum()):.2f} {k!r:>3}"
    print(name + "!", "%s-%d" % (x, k), "{} and {}".format(x.sum(), [k, "a"]), str(x))
    if x.sum() > 100:
        raise ValueError(f"too large: {x}")
    return x * x


def test_strings_are_built_by_forward_as_in_python(capsys):
    telling(ms.Tensor([1.0, 2.0]))
    expected = capsys.readouterr().out
    assert expected == "{[1. 2.]} of (2,), 3.00   3! [1. 2.]-3 3.0 and [3, 'a'] [1. 2.]\n"
    assert ms.grad(telling)(ms.Tensor([1.0, 2.0])).asnumpy().tolist() == [2.0, 4.0]
    assert capsys.readouterr().out == expected
    with pytest.raises(ValueError, match=r"too large: \[100\.   2\.\]"):
        ms.grad(telling)(ms.Tensor([100.0, 2.0]))


class Checked(nn.Cell):
    """Calls a method for its effect; it returns nothing."""

    def check(self, x):
        if x.shape[0] % 2 != 0:
            raise ValueError(f"{x.shape[0]} is odd")

    def guard(self, x):
        self.check(x)
        assert x.sum() < 10, "too much"
        print("seen", x.sum())

    def construct(self, x):
        self.guard(x)
        return x * 2


def test_a_helper_that_returns_nothing_is_run(capsys: pytest.CaptureFixture[str]) -> None:
    for run in (ms.jit(Checked()), ms.grad(Checked())):
        assert run(Tensor([1.0, 2.0])).shape == (2,)
        assert capsys.readouterr().out == "seen 3.0\n"
        with pytest.raises(ValueError, match="3 is odd"):
            run(Tensor([1.0, 2.0, 3.0]))
        with pytest.raises(AssertionError, match="too much"):
            run(Tensor([8.0, 2.0]))


def _pair(x):
    if x.shape[0] == 3:
        raise ValueError("three")
    return x, x.sum() > 0


def unpacked_after(x):
    part, _ = _pair(x)
    return part * 2


def asked_by_a_loop(x):
    while _pair(x)[1]:
        x = x - 1
    return x * x


def in_a_lambda(x):
    first = lambda y: _pair(y)[0]  # noqa: E731
    return sum([first(y) for y in (x, x * x)])


def on_one_way(x):
    if x.sum() > 0:
        return _pair(x)[0] * 3
    return x * x


def in_a_written_out_loop(x):
    for k, name in enumerate(("a", "b")):
        if name == "b":
            x = _pair(x)[k - 1] * x
    return x[0]


@pytest.mark.parametrize(
    "program", [unpacked_after, asked_by_a_loop, in_a_lambda, on_one_way, in_a_written_out_loop]
)
def test_code_after_a_certain_exception_is_not_compiled(program):
    """The code after a certain exception is not refused for its missing values."""
    two, three = Tensor([1.0, 2.0]), Tensor([1.0, 2.0, 3.0])
    assert ms.jit(program)(two).asnumpy().tolist() == program(two).asnumpy().tolist()
    check_grads(program, (two,))
    for run in (program, ms.jit(program), ms.grad(program)):
        with pytest.raises(ValueError, match="^three"):
            run(three)


def test_a_path_that_raises_leaves_the_others_alone():
    three = Tensor([-1.0, -2.0, -3.0])
    assert ms.jit(on_one_way)(three).asnumpy().tolist() == [1.0, 4.0, 9.0]
