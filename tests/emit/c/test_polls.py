"""Polls: Ctrl-C ends every loop that may take long, and other threads run meanwhile."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.emit.c.polls import poll_period
from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Buffer,
    Literal,
    Loop,
    Scalar,
    Statement,
    Store,
    While,
)


def loop(extent: int | Scalar, *body: Statement) -> Loop:
    return Loop(Scalar("i", "int64"), extent, body)


STORE = Store(Buffer("a", "float64", 1, "temporary"), Affine(), Literal(0.0, "float64"))
UNKNOWN = Scalar("n", "int64")


def test_the_period_follows_from_the_work_of_an_iteration() -> None:
    assert poll_period(loop(UNKNOWN, STORE)) == 4096
    assert poll_period(loop(UNKNOWN, loop(64, STORE))) == 1024
    assert poll_period(loop(UNKNOWN, loop(1000, loop(1000, STORE)))) == 1
    assert poll_period(loop(UNKNOWN, loop(UNKNOWN, STORE))) == 4096  # the inner one polls as well
    always = Literal(True, "bool")
    assert poll_period(While((loop(2**16, STORE),), always, (STORE,))) == 1
    assert poll_period(loop(2**28 - 1, STORE)) == 0
    assert poll_period(loop(2**28, STORE)) == 4096
    assert poll_period(loop(2**10, loop(2**18, STORE))) == 1
    assert poll_period(loop(2**10, loop(2**17, STORE))) == 0


@pytest.fixture
def in_c(c_compiler: Any) -> Iterator[None]:
    """Functions run as C, and SIGINT raises KeyboardInterrupt."""
    target, handler = ms.get_context("target"), signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ms.set_context(target="c")
    yield
    ms.set_context(target=target)
    signal.signal(signal.SIGINT, handler)


def endless(x: Any) -> Any:
    while np.sum(x) > 0:
        x = x * 0.5 + 1.0
    return np.sum(x)


def endless_number(x: Any) -> Any:
    while x > 0:
        x = x * 0.5 + 1.0
    return x


def counted(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = np.sin(x) + 1.0
    return np.sum(x)


def nested(x: Any, n: Any) -> Any:
    for _ in range(n):
        for _ in range(n):
            x = x * 0.5 + 1.0
    return np.sum(x)


def heavy(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = x + np.sum(np.sin(x[:, None] * x), axis=1) * 1e-9
    return np.sum(x)


ONES = np.ones(3)
#: Functions, with arguments for which they end at once and arguments for which they do not.
ENDLESS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]] = {
    "while": (endless, (-ONES,), (ONES,)),
    "while of a number": (endless_number, (-1.0,), (2.0,)),
    "for": (counted, (ONES, 1), (ONES, 10**12)),
    "for in a for": (nested, (ONES, 1), (ONES, 10**7)),
    "for of much work": (heavy, (np.ones(500), 0), (np.ones(500), 10**9)),
}


@pytest.mark.every_case
@pytest.mark.parametrize("name", ENDLESS)
def test_an_interrupt_ends_a_loop(name: str, in_c: None) -> None:
    """The thread that sends the signal runs only if the loop gives up the global lock."""
    fn, short, long = ENDLESS[name]
    run = ms.jit(fn)
    np.testing.assert_allclose(run(*short), fn(*short), rtol=1e-12)
    assert ms.compile_info().units[-1].target == "c"
    threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(*long)
    assert time.monotonic() - begin < 60
    np.testing.assert_allclose(run(*short), fn(*short), rtol=1e-12)


def test_a_gradient_is_interrupted_too(in_c: None) -> None:
    def fn(x: Any, n: Any) -> Any:
        y = x
        for _ in range(n):
            y = y * 0.5 + x
        return np.sum(y)

    gradient = ms.grad(fn)
    np.testing.assert_allclose(gradient(ONES, 2), 1.75 * ONES, rtol=1e-14)
    assert ms.compile_info().units[-1].target == "c"
    threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,)).start()
    with pytest.raises(KeyboardInterrupt):
        gradient(ONES, 10**12)


def test_loops_over_arrays_do_not_poll() -> None:
    text = ms.gradient_source(lambda x: np.sum(np.exp(x) @ x), "f64[30,30]", target="c", value=True)
    assert "++polls" not in text


def test_each_loop_of_unknown_length_polls() -> None:
    text = ms.gradient_source(nested, "f64[3]", "int", target="c", mode="value")
    assert len(re.findall(r"if \(\+\+polls % \d+ == 0 && services->poll ", text)) == 2
