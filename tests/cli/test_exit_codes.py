"""Exit codes: what the help lists is what commands return."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autodiff_compiler.cli import main
from autodiff_compiler.cli.exit_codes import ExitCode, UsageError


def test_each_kind_of_end_has_its_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "model.py"
    file.write_text("def fine(x):\n    return x * x\n\ndef bad(x):\n    return x.no_such()\n")
    assert main(["check", f"{file}:fine", "--input", "f32[2]"]) == ExitCode.OK == 0
    assert main(["dump", f"{file}:bad", "--input", "f32[2]"]) == ExitCode.REFUSED == 1
    assert main(["check", f"{file}:absent", "--input", "f32[2]"]) == ExitCode.USAGE == 2
    assert issubclass(UsageError, Exception)
    capsys.readouterr()


def test_the_help_lists_the_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    printed = capsys.readouterr().out.partition("exit codes:\n")[2].partition("\n\n")[0]
    assert [int(code) for code in re.findall(r"(?m)^  (\d)  ", printed)] == list(ExitCode)
