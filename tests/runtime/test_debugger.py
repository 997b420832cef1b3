"""Uncaught tracebacks show generated lines; pdb stops in them, also at the user's own lines."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from autodiff_compiler.runtime import debugger

PROGRAM = """\
import threading
import numpy as np
import autodiff_compiler as ad


def loss(x, k):
    y = np.sin(x) * k
    z = y * y
    return np.sum(z[k:])


gradient = ad.grad(loss)
first = gradient(np.ones(3), 2)
second = gradient(np.ones(3), 1)
"""
UNCAUGHT = """\
def taken(x, n):
    y = x * x
    return y[n]


def call():
    ad.value_and_grad(taken)(np.ones(3), 7)


"""


def run(path: Path, text: str, *more: str, said: str = "") -> str:
    """Returns the output of a program in a file."""
    path.write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, *more, str(path)], input=said, capture_output=True, text=True,
        env=environment, timeout=120,
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    "how, first",
    [
        ("call()", ""),
        (
            "thread = threading.Thread(target=call, name='other'); thread.start(); thread.join()",
            "Exception in thread other:\n",
        ),
    ],
)
def test_an_uncaught_traceback_shows_the_generated_line(
    how: str, first: str, tmp_path: Path
) -> None:
    head = PROGRAM.partition("gradient =")[0]
    shown = run(tmp_path / "program.py", head + UNCAUGHT + how)
    assert shown.startswith(first) and "Traceback (most recent call last):\n" in shown
    frame = re.search(r'File "<autodiff taken .*>", line \d+, in taken_\w+\n    (.*)', shown)
    assert frame is not None and "[n]" in frame[1]
    assert "IndexError: index 7 is out of bounds" in shown


def pdb(tmp_path: Path, *commands: str) -> str:
    said = "".join(f"{command}\n" for command in (*commands, "q"))
    return run(tmp_path / "program.py", PROGRAM, "-m", "pdb", said=said)


def test_a_breakpoint_in_the_users_line(tmp_path: Path) -> None:
    """The debugger stops in forward and in backward, at the first generated line, in every call."""
    shown = pdb(tmp_path, "b 8", "c", "p y.shape, k", "c", "c", "c", "c")
    stops = re.findall(r"> <autodiff loss [^>]*>\(\d+\)(\w+)\(\)", shown)
    assert stops == ["loss_forward", "loss_backward"] * 2
    assert "-> z = y * y" in shown and "((3,), 2)" in shown


def test_a_breakpoint_by_the_name_of_a_generated_function(tmp_path: Path) -> None:
    """A generated function can be named while it runs."""
    shown = pdb(tmp_path, "b 8", "c", "b loss_backward", "cl 1", "ll", "c", "w")
    assert "loss_backward()" in shown.partition("Breakpoint")[2].partition("Breakpoint")[2]
    assert "def loss_forward(" in shown


def test_a_breakpoint_by_the_gradient_function(tmp_path: Path) -> None:
    shown = pdb(tmp_path, "b 14", "c", "b gradient.backward", "c", "p k", "w")
    assert re.search(r"> <autodiff loss [^>]*>\(\d+\)loss_backward\(\)", shown)


def test_a_conditional_breakpoint(tmp_path: Path) -> None:
    shown = pdb(tmp_path, "b 8, k == 1", "c", "p 'k is', k")
    assert "('k is', 1)" in shown and "('k is', 2)" not in shown


def test_no_debugger_no_breakpoints() -> None:
    debugger.set_breakpoints("<autodiff nothing>", "def f():\n    pass\n", {2: None})


def test_a_hook_of_the_programs_own_stays(monkeypatch: Any) -> None:
    def own(*_: Any) -> None:
        """Does nothing."""

    monkeypatch.setattr(sys, "excepthook", own)
    monkeypatch.setattr(threading, "excepthook", own)
    debugger.show_lines()
    assert sys.excepthook is own and threading.excepthook is own
