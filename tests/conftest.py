"""No test may lead to a fault of the compiler itself, whatever else it asserts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autodiff_compiler.faults import COUNT


@pytest.fixture(autouse=True)
def no_faults(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that reached the handler for internal errors, unless it plants the fault."""
    before = COUNT.faults
    yield
    if request.node.get_closest_marker("planted_fault") is None:
        assert COUNT.faults == before, "the compiler itself failed; see the InternalError"
