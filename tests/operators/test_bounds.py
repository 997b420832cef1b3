"""Every differentiable elementwise record against exact numbers, over its whole range."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import autodiff_compiler.operators  # noqa: F401  fills OPERATORS
from autodiff_compiler.ir.opdef import OPERATORS
from tests.operators.bounds import REASONS, ROWS, Row, found

EXACT = json.loads((Path(__file__).parent / "bounds.json").read_text())


def errors(ours: np.ndarray, right: Sequence[str]) -> list[float]:
    """Return how far each number is off, in units in the last place of the exact one; what is too
    large for the dtype is to be infinite."""
    info = np.finfo(ours.dtype)
    least = Fraction(float(info.smallest_subnormal))
    off = []
    for mine, number in zip(ours.tolist(), right):
        if abs(float(number)) > float(info.max):
            large = abs(mine) >= float(info.max) and (mine > 0) == (float(number) > 0)
            off.append(0.0 if large else np.inf)
            continue
        exact = Fraction(number)
        if not np.isfinite(mine):
            off.append(np.inf)
            continue
        size = min(abs(ours.dtype.type(float(exact))), info.max)
        unit = max(abs(Fraction(float(np.spacing(-size)))), least)
        off.append(float(abs(Fraction(mine) - exact) / unit))
    return off


def test_every_differentiable_record_has_a_row_or_a_reason() -> None:
    swept = {row.record for row in ROWS}
    records = {
        name for name, record in OPERATORS.items()
        if record.kind == "elementwise" and record.batch == "elements"
    }  # fmt: skip
    assert swept | REASONS.keys() == records
    assert not swept & REASONS.keys()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_values_and_derivatives_are_within_their_bounds(row: Row, dtype: str) -> None:
    stored = EXACT[f"{row.name} {dtype}"]
    columns = [np.array(column, dtype) for column in stored["at"]]
    bounds = row.ulps[dtype == "float32"]
    for ours, right, bound in zip(found(row, columns), stored["exact"], bounds, strict=False):
        assert max(errors(ours, right)) <= bound
