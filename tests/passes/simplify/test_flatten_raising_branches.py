"""One path follows a branch whose other path raises; no statement follows a raise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, pipeline


@pytest.fixture(autouse=True)
def _verified(monkeypatch):
    monkeypatch.setattr(pipeline, "VERIFY", True)


def handled(x, low):
    try:
        if x.sum() < low:
            raise ValueError("low")
        y = x * 3
    except ValueError:
        raise RuntimeError("too low") from None
    return y * x


def _checked(x, low):
    if x.sum() > low:
        return x * 3
    print("low")
    raise RuntimeError("too low")


def called(x, low):
    return _checked(x, low) * x


def in_a_loop(x, low):
    y = x
    for _ in range(3):
        if y.sum() > low:
            if y.sum() > 1000:
                raise RuntimeError("too high")
            else:
                y = y * x
        else:
            raise RuntimeError("too low")
    return y


def chained(x, low):
    if x.sum() < low:
        raise RuntimeError("too low")
    elif x.sum() > 100:
        y = x * x * x
    elif x.sum() > 50:
        raise RuntimeError("too high")
    else:
        y = x * x
    return y * x


def _refusing(x, low):
    if low > 2:
        raise RuntimeError("too low")
    raise RuntimeError("or too high")


def refused(x, low):
    y = x * 3
    if x.sum() < low:
        _refusing(x, low)
    else:
        y = y * x
    return y


@pytest.mark.parametrize(
    ("program", "row"),
    [
        (handled, (1.5, 2.5)), (refused, (1.5, 2.5)), (called, (1.5, 2.5)), (in_a_loop, (1.5, 2.5)),
        (chained, (1.5, 2.5)), (chained, (40.0, 70.0)),
    ],
)  # fmt: skip
def test_value_and_gradient(program: Callable, row: tuple[float, ...]) -> None:
    x, step = Tensor(row), 1e-2
    found = ms.jit(program)(x, 1.0).asnumpy()
    np.testing.assert_allclose(found, program(x, 1.0).asnumpy(), rtol=1e-6)
    up, down = (program(Tensor(np.array(row) + d), 1.0).asnumpy() for d in (step, -step))
    slope = (up - down) / (2 * step)
    np.testing.assert_allclose(ms.grad(program)(x, 1.0).asnumpy(), slope, rtol=2e-3)


@pytest.mark.parametrize("program", [handled, called, in_a_loop, chained, refused])
def test_programs_that_raise_still_raise(program: Callable) -> None:
    for run in (program, ms.jit(program), ms.grad(program)):
        with pytest.raises(RuntimeError, match="too low"):
            run(Tensor([1.5, 2.5]), 9.0)


@pytest.mark.parametrize("program", [handled, called, in_a_loop, chained, refused])
def test_nothing_stands_after_a_raise(program: Callable) -> None:
    source = ms.gradient_source(program, "f32[2]", "float")
    lines = source.splitlines()
    assert "UnboundLocalError" not in source and "raise" in source
    for line, following in zip(lines, lines[1:]):
        if line.lstrip().startswith("raise"):
            assert len(following) - len(following.lstrip()) < len(line) - len(line.lstrip())


def test_nothing_is_returned_after_a_raise() -> None:
    """The raise stands alone, or in a branch that raises on both paths."""
    for level in (0, 1, 3):
        source = ms.gradient_source(_refusing, "f32[2]", "float", opt_level=level)
        forward = source[source.index("def ") : source.rindex("def ")]
        assert "raise" in forward and "return" not in forward
