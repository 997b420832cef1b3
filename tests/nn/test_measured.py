"""Layers answer as MindSpore's do: values, gradients, moving statistics, names and shapes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.nn.measured import ANSWERS, Run, cases

MEASURED = json.loads(ANSWERS.read_text(encoding="utf-8"))


def assert_alike(got: list[list[Any]], want: list[list[Any]], what: str) -> None:
    assert [one[0] for one in got] == [one[0] for one in want], f"shapes of {what}"
    for number, ((_, norm, wave), (shape, norm_there, wave_there)) in enumerate(zip(got, want)):
        close = 3e-4 * norm_there + 2e-6
        where = f"{what} {number} of shape {shape}"
        assert norm == pytest.approx(norm_there, abs=close), where
        assert wave == pytest.approx(wave_there, abs=close), where


@pytest.mark.parametrize("case", cases())
def test_layer(case: str) -> None:
    got, want = Run("autodiff_compiler", case).answers(), MEASURED[case]
    assert got["parameters"] == want["parameters"]
    for what in ("value", "gradients", "kept"):
        assert_alike(got[what], want[what], what)
