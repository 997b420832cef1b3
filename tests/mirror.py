"""Which test runs a module that has no test file of its own name, and the proof that it does.

A module ``autodiff_compiler/a/b.py`` has the test file ``tests/a/test_b.py``. If another test
covers it, ``tests/covering.py`` has a row for it. ``tests/conftest.py`` records the modules that a
test of ``RUN_BY`` runs, and fails the test if it misses one of its modules.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import autodiff_compiler
from tests.covering import RUN_BY

PACKAGE = Path(autodiff_compiler.__file__).parent
TESTS = Path(__file__).parent
#: ``co_flags`` of functions. The bodies of modules and classes, which imports run, lack it.
IS_FUNCTION = 1


def modules() -> list[str]:
    """Returns all modules of the package but ``__init__`` and ``__main__``: ``ir.types``."""
    paths = (path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
    return sorted(
        ".".join(path.with_suffix("").parts) for path in paths if path.stem.strip("_") == path.stem
    )


def own_test_file(module: str) -> Path:
    """Returns the path of the test file of a module's own name."""
    *packages, name = module.split(".")
    return TESTS.joinpath(*packages, f"test_{name}.py")


def modules_by_test() -> dict[str, frozenset[str]]:
    """Returns the modules that each test of the table has to run, by the test's node id."""
    found: dict[str, set[str]] = {}
    for module, test in RUN_BY.items():
        found.setdefault(f"tests/{test}", set()).add(module)
    return {test: frozenset(each) for test, each in found.items()}


def module_of(code: CodeType) -> str | None:
    """Returns the module of the package that defines a function; None for other code."""
    path = Path(code.co_filename)
    if not code.co_flags & IS_FUNCTION or PACKAGE not in path.parents:
        return None
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


@contextmanager
def recorded_modules() -> Iterator[set[str]]:
    """Fills a set with the modules of which functions are called in this block."""
    seen: set[CodeType] = set()
    entered: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            seen.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield entered
    finally:
        sys.setprofile(before)
        entered.update(filter(None, map(module_of, seen)))
