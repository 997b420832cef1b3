"""No test may lead to a fault of the compiler itself, whatever else it asserts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autodiff_compiler import get_context, set_context
from autodiff_compiler.faults import COUNT


@pytest.fixture(autouse=True)
def no_faults(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that reached the handler for internal errors, unless it plants the fault."""
    before = COUNT.faults
    yield
    if request.node.get_closest_marker("planted_fault") is None:
        assert COUNT.faults == before, "the compiler itself failed; see the InternalError"


@pytest.fixture
def memory_level() -> Iterator[None]:
    """Compiles at level 2, which plans all memory."""
    before = get_context("opt_level")
    set_context(opt_level=2)
    yield
    set_context(opt_level=before)
