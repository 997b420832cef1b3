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
from tests.operators.bounds import REASONS, ROWS, Row, found, points

EXACT = json.loads((Path(__file__).parent / "bounds.json").read_text())


def errors(ours: np.ndarray, right: Sequence[str], faint: bool = False) -> list[float]:
    """Return how far each number is off, in units in the last place of the exact one; what is too
    large for the dtype is to be infinite. With ``faint`` numbers of no more than the least normal
    one over the dtype's epsilon are as good as 0."""
    info = np.finfo(ours.dtype)
    least = Fraction(float(info.smallest_subnormal))
    floor = float(info.tiny) / float(info.eps) if faint else 0.0
    off = []
    for mine, number in zip(ours.tolist(), right):
        if number == "nan":
            off.append(0.0 if np.isnan(mine) else np.inf)
            continue
        if abs(mine) <= floor and abs(float(number)) <= floor:
            off.append(0.0)
            continue
        if abs(float(number)) > float(info.max):
            large = abs(mine) >= float(info.max) and (mine > 0) == (float(number) > 0)
            off.append(0.0 if large else np.inf)
            continue
        exact = Fraction(number)
        if not np.isfinite(mine):
            off.append(np.inf)
            continue
        size = min(abs(ours.dtype.type(float(exact))), np.nextafter(info.max, info.dtype.type(0)))
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
        assert max(errors(ours, right, row.faint)) <= bound


def test_the_page_states_what_was_measured_for_every_row() -> None:
    """Each row stands there, with errors of no more than the tests allow."""
    page = (Path(__file__).parents[2] / "docs" / "extremes.md").read_text(encoding="utf-8")
    table = page.partition("| record |")[2].partition("\n\n")[0].replace("\\|", "¦").split("\n")[2:]
    stated = [[cell.strip().replace("¦", "|") for cell in line.split("|")[1:-1]] for line in table]
    assert [name for name, *_ in stated] == [row.name for row in ROWS]
    for row, (_, *cells) in zip(ROWS, stated):
        for bounds, columns in zip(row.ulps, (cells[:3], cells[3:])):
            measured = [float(cell) for cell in columns if cell]
            assert len(measured) == len(row.within) + 1
            assert all(one <= bound for one, bound in zip(measured, bounds)), row.name


def test_the_sweep_meets_operands_that_are_far_and_near_at_every_size() -> None:
    """Errors are larger between fixed points: the slopes of logaddexp where exp(x - y) is small."""
    (row,) = (row for row in ROWS if row.record == "logaddexp")
    x, y = points(row, "float64")
    with np.errstate(over="ignore"):
        apart = np.abs(x - y)
    for low, high in ((1e-300, 1e-20), (1e-3, 1), (1, 40), (40, 150), (300, 745), (1e3, 1e300)):
        assert np.sum((low < apart) & (apart < high)) > 20, (low, high)
    assert np.sum((apart > 0) & (apart < 1e-9 * np.abs(x))) > 100
