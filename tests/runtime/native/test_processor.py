"""The description of the processor: all that decides the machine code, and nothing that varies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from autodiff_compiler.runtime.native import processor as module
from autodiff_compiler.runtime.native.processor import processor

X86 = """\
processor\t: 0
vendor_id\t: GenuineIntel
model name\t: A processor
cpu MHz\t\t: 2100.1
flags\t\t: fpu avx2 avx512f
bogomips\t: 4200

processor\t: 1
vendor_id\t: GenuineIntel
flags\t\t: fpu
"""
ARM = """\
processor\t: 0
BogoMIPS\t: 50.00
Features\t: fp asimd sve
CPU implementer\t: 0x41
CPU part\t: 0xd0c

processor\t: 1
Features\t: fp
"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (X86, ["GenuineIntel", "A processor", "fpu avx2 avx512f"]),
        (ARM, ["fp asimd sve", "0x41", "0xd0c"]),
        ("", []),
    ],
)
def test_the_first_processor_counts(tmp_path: Path, text: str, lines: list[str]) -> None:
    (tmp_path / "cpuinfo").write_text(text)
    parts = [line.partition(": ")[2] for line in module._from_linux(tmp_path / "cpuinfo")]
    assert parts == lines


def test_without_a_file_there_are_no_lines(tmp_path: Path) -> None:
    assert module._from_linux(tmp_path / "none") == []


@pytest.mark.skipif(sys.platform == "win32", reason="looks into the C library")
def test_a_setting_that_is_not_there_is_empty() -> None:
    assert module._from_macos(b"there.is.no.such.setting") == ""


def test_processes_agree() -> None:
    code = f"from {module.__name__} import processor; print(processor())"
    command = [sys.executable, "-W", "ignore", "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout == processor() + "\n"
    assert len(processor().splitlines()) >= 3
