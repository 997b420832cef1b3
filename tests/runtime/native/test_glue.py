"""Services for compiled functions: memory, errors, interrupts, other threads."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autodiff_compiler.errors import InternalError
from autodiff_compiler.runtime.native import Compiler, Description
from autodiff_compiler.runtime.native.function import load_native
from tests.runtime.native import gradients


@pytest.fixture(scope="module")
def tape(c_compiler: Compiler) -> Any:
    return load_native(gradients.TAPE, gradients.CALL_TAPE, c_compiler)


@pytest.fixture(scope="module")
def item(c_compiler: Compiler) -> Any:
    return load_native(gradients.ITEM, gradients.CALL_ITEM, c_compiler)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 1000, 999, 100_000, 3_000_001])
def test_memory_grows(tape: Any, count: int) -> None:
    assert tape(count) == count * (count - 1) // 2


def test_missing_memory_is_an_exception(tape: Any) -> None:
    for _ in range(3):
        with pytest.raises(MemoryError):
            tape(-1)
    assert tape(4) == 6


def test_memory_that_a_function_forgets_is_released(tape: Any) -> None:
    resource = pytest.importorskip("resource")

    def peak() -> int:
        for _ in range(20):
            tape(1_000_000)  # 8 MB
        kilobytes: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return kilobytes

    before = peak()
    assert peak() - before < 100_000


def test_errors_are_rows_of_a_table(item: Any) -> None:
    x = np.array([5, 6, 7, 8])
    assert item(x, 2) == 7
    for k in (-1, 4, 2**62):
        message = f"^index {k} is out of bounds for axis 0 with size 4$"
        with pytest.raises(IndexError, match=message):
            item(x, k)
    with pytest.raises(ZeroDivisionError, match="^{a brace}$"):
        item(x, 99)
    with pytest.raises(InternalError, match="unknown error 40"):
        item(x, 98)
    assert item(x, 3) == 8


@pytest.fixture(params=[False, True], ids=["short", "long"])
def wait(c_compiler: Compiler, request: pytest.FixtureRequest) -> Any:
    about = gradients.CALL_WAIT_LONG if request.param else gradients.CALL_WAIT
    return load_native(gradients.WAIT, about, c_compiler)


@pytest.fixture
def interrupts() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt, also if this process was started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_a_loop(wait: Any, interrupts: None) -> None:
    begin = time.monotonic()
    threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,)).start()
    with pytest.raises(KeyboardInterrupt):
        wait(np.zeros(1, np.int32))
    assert time.monotonic() - begin < 5
    assert wait(np.ones(1, np.int32)) is True


def test_the_exception_of_a_signal_handler_passes(wait: Any) -> None:
    class Alarm(Exception):
        pass

    def ring(*arguments: Any) -> None:
        calls.append(wait(np.ones(1, np.int32)))  # a call during a call
        if len(calls) == 2:
            raise Alarm

    calls: list[bool] = []
    before = signal.signal(signal.SIGTERM, ring)
    try:
        for delay in (0.1, 0.4):
            threading.Timer(delay, signal.raise_signal, (signal.SIGTERM,)).start()
        with pytest.raises(Alarm):
            wait(np.zeros(1, np.int32))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert calls == [True, True]


def test_other_threads_run_during_a_loop(wait: Any) -> None:
    """Python code of another thread sets the flag: the loop must give up the global lock."""
    flag = np.zeros(1, np.int32)
    threading.Timer(0.2, flag.fill, (1,)).start()
    assert wait(flag) is True


def test_threads_share_a_function(c_compiler: Compiler) -> None:
    """Each call has a workspace of its own: the sums of other calls never get in."""
    pause = "for (volatile int k = 0; k < 3000; k++);"
    source = gradients.ROWS.replace("*value = 0;", f"{pause} *value = 0;")
    function = load_native(source, replace(gradients.CALL_ROWS, is_long=True), c_compiler)
    arrays = [np.full((size, 3), float(size)) for size in range(14, 46)]

    def work(x: np.ndarray) -> bool:
        return all(function(x)[0] == 3.0 * len(x) ** 3 for _ in range(200))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, arrays))


def test_many_arguments(c_compiler: Compiler) -> None:
    """A frame that is too large for the stack."""
    count = 300
    scalar = gradients.Array("float64", ())
    copies = " ".join(f"*(double *)p[{count + k}] = *(double *)p[{k}] + {k};" for k in range(count))
    text = f"{gradients.HEAD}int32_t f(void **p) {{ {copies} return 0; }}"
    function = load_native(
        text, Description("f", "f", (scalar,) * count, (scalar,) * count), c_compiler
    )
    arguments = [np.array(float(k)) for k in range(count)]
    assert [*map(float, function(*arguments))] == [2.0 * k for k in range(count)]
    assert function(*arguments[1:]) is NotImplemented
    assert function(*arguments[1:], None) is NotImplemented
