"""Exports a gradient as C, compiles its self-test, and runs it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler.runtime.native import Compiler

PLAIN = ("-O1",)
#: Every warning is an error. That a loop does not become vectors (clang says so) is none.
STRICT = tuple("-std=c11 -O1 -Wall -Wextra -Werror -Wno-pass-failed -fopenmp-simd".split())
#: Besides, an access beyond an array, a leak and undefined behaviour end the program.
SANITIZED = (*STRICT, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def can_sanitize(compiler: Compiler, folder: Path) -> bool:
    """True if the compiler has the sanitizers."""
    (folder / "empty.c").write_text("int main(void) { return 0; }\n")
    command = [*compiler.command, *SANITIZED, "-o", "empty", "empty.c"]
    return subprocess.run(command, cwd=folder, capture_output=True).returncode == 0


def export(folder: Path, fn: Any, *inputs: Any, **flags: Any) -> Path:
    """Writes ``net.c`` and the files beside it. Returns its path."""
    path = folder / "net.c"
    ms.export_source(fn, path, *inputs, target="c", **flags)
    assert sorted(each.name for each in folder.glob("net*")) == ["net.c", "net.h", "net_main.c"]
    return path


def compiled(compiler: Compiler, folder: Path, *sources: str, flags: Sequence[str] = PLAIN) -> Path:
    """Returns the program of these sources."""
    program = folder / "program"
    command = [*compiler.command, *flags, "-o", program.name, *sources, "-lm"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return program


def run(program: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *options], capture_output=True, text=True, check=False)


def assert_passes(compiler: Compiler, path: Path, flags: Sequence[str] = PLAIN) -> str:
    """Compiles the self-test and runs it. Returns its text."""
    program = compiled(compiler, path.parent, "net.c", "net_main.c", flags=flags)
    outcome = run(program, "--self-test")
    assert (outcome.returncode, outcome.stderr) == (0, ""), outcome.stdout + outcome.stderr
    assert re.fullmatch(r"all [1-9]\d* numbers agree\n", outcome.stdout)
    return path.with_name("net_main.c").read_text(encoding="utf-8")


def numbers(text: str, name: str) -> np.ndarray:
    """Returns the elements of an array or number in C text."""
    found = re.search(rf"\b{name}(?:\[\d+\])? = \{{?([^;}}]*)\}}?;", text)
    assert found is not None, name
    texts = [each.strip() for each in found[1].split(",")]
    return np.array([float(each.rstrip("f")) for each in texts])


__all__ = [
    "can_sanitize",
    "PLAIN",
    "SANITIZED",
    "STRICT",
    "assert_passes",
    "compiled",
    "export",
    "numbers",
    "run",
]
