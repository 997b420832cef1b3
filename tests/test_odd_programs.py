"""Odd Python is compiled right or refused at a place; it never makes the compiler fail."""

from __future__ import annotations

from typing import Any

import pytest

import autodiff_compiler as ms
from tests.odd_programs import outcome, program

WAYS: dict[str, Any] = {"jit": ms.jit, "value": lambda f: lambda *a: ms.value_and_grad(f)(*a)[0]}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("first", range(0, 200, 25))
def test_odd_programs(first: int, way: str) -> None:
    wrong = {
        seed: found for seed in range(first, first + 25) if (found := outcome(seed, WAYS[way]))
    }
    assert not wrong, "\n".join(f"{seed}: {wrong[seed]}\n{program(seed)}" for seed in wrong)
