"""Nets written for MindSpore have its losses and gradients here: their imports are changed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.models.measured import ANSWERS, NETS, answers

MEASURED = json.loads(ANSWERS.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "file, name", [(file, name) for file, names in NETS.items() for name in names]
)
def test_net(file: str, name: str, tmp_path: Path) -> None:
    got, want = answers("autodiff_compiler", file, name, tmp_path), MEASURED[name]
    assert got["loss"] == pytest.approx(want["loss"], rel=1e-4)
    assert [row[:2] for row in got["gradients"]] == [row[:2] for row in want["gradients"]]
    # what a norm after it takes out has no slope but rounding
    scale = np.sqrt(np.mean([row[2] ** 2 for row in want["gradients"]]))
    for (what, _, *mine), (_, _, *theirs) in zip(got["gradients"], want["gradients"]):
        close = 1e-3 * theirs[0] + 1e-5 * scale
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=close, err_msg=what)
    for (_, *mine), (_, *theirs) in zip(got["kept"], want["kept"], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)
