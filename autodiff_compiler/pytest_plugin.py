"""The pytest plugin: two fixtures that check gradients in a user's own tests.

``check_grads(net, [x, y])`` compares with central differences. ``gradient_file(net, x, y,
path="net_grad.py")`` checks that a committed file is still the gradient of its code. ``pytest
--write-gradients`` writes these files.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autodiff_compiler.generated_source import export_source, exported_files
from autodiff_compiler.testing import numeric

OPTION = "--write-gradients"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--write-gradients``."""
    parser.addoption(
        OPTION, action="store_true", help="write the files that the fixture gradient_file compares"
    )


@pytest.fixture
def check_grads() -> Callable[..., numeric.Report]:
    """Returns ``check_grads``, which raises AssertionError for a wrong gradient."""
    return numeric.check_grads


@pytest.fixture
def gradient_file(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Returns ``gradient_file(fn, *inputs, path=..., **flags)``.

    It fails the test unless the files hold what ``export_source(fn, path, *inputs, **flags)``
    writes. A relative ``path`` starts at the folder of the test.
    """

    def compare(fn: Any, *inputs: Any, path: str | os.PathLike[str], **flags: Any) -> None:
        file = request.path.parent / path
        if request.config.getoption(OPTION):
            export_source(fn, file, *inputs, **flags)
            return
        command = f"`pytest {OPTION} {Path(request.path).name}` writes it"
        for each, wanted in exported_files(fn, file, *inputs, **flags).items():
            name = str(path) if each == file else each.name
            _compare(each, name, wanted, command)

    return compare


def _compare(file: Path, name: str, wanted: bytes, command: str) -> None:
    """Fails the test unless a file has this content."""
    if file.suffix == ".npz":
        if not file.exists() or file.read_bytes() != wanted:
            pytest.fail(f"{name} does not match the arrays of the code; {command}", pytrace=False)
        return
    if not file.exists():
        pytest.fail(f"there is no {name}; {command}", pytrace=False)
    have, text = file.read_text(encoding="utf-8"), wanted.decode("utf-8")
    if have != text:
        lines = difflib.unified_diff(
            have.splitlines(),
            text.splitlines(),
            name,
            "gradient of the code",
            lineterm="",
        )
        message = f"{name} no longer matches the gradient of its code; {command}"
        pytest.fail("\n".join([message, *lines]), pytrace=False)
