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

from autodiff_compiler.generated_source import beside_of, export_source, standalone_source, stored
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

    It fails the test unless the file holds what ``export_source(fn, path, *inputs, **flags)``
    writes. A relative ``path`` starts at the folder of the test.
    """

    def compare(fn: Any, *inputs: Any, path: str | os.PathLike[str], **flags: Any) -> None:
        file = request.path.parent / path
        if request.config.getoption(OPTION):
            export_source(fn, file, *inputs, **flags)
            return
        wanted, arrays = standalone_source(fn, *inputs, **flags)
        command = f"`pytest {OPTION} {Path(request.path).name}` writes it"
        if not file.exists():
            pytest.fail(f"there is no {path}; {command}", pytrace=False)
        have = file.read_text(encoding="utf-8")
        beside = beside_of(file)
        if arrays and (not beside.exists() or beside.read_bytes() != stored(arrays)):
            pytest.fail(f"{beside.name} does not match the arrays of the code; {command}", False)
        if have != wanted:
            lines = difflib.unified_diff(
                have.splitlines(),
                wanted.splitlines(),
                str(path),
                "gradient of the code",
                lineterm="",
            )
            pytest.fail(
                "\n".join(
                    [f"{path} no longer matches the gradient of its code; {command}", *lines]
                ),
                pytrace=False,
            )

    return compare
