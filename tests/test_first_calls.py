"""What a first call does besides compiling."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops


@pytest.mark.parametrize("wanted", [True, False])
def test_compiling_looks_for_cycles_in_what_it_made_alone(wanted: bool) -> None:
    met: list[int] = []

    def note(phase: str, info: dict[str, Any]) -> None:
        met.append(info["generation"])

    collects = gc.isenabled()
    (gc.enable if wanted else gc.disable)()
    gc.callbacks.append(note)
    try:
        ms.grad(lambda x: ops.sin(x) * x)(Tensor([1.0, 2.0]))
        assert gc.isenabled() is wanted
    finally:
        gc.callbacks.remove(note)
        (gc.enable if collects else gc.disable)()
    assert met[:2] == ([0, 0] if wanted else [])  # its start and its end
