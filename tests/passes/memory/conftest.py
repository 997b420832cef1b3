"""The passes of this package are tested at level 2: most of them do not run at level 1."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def at_memory_level(memory_level: None) -> None:
    """Compiles at level 2."""
