"""Prints how far the elementwise records are from the exact value, in units in the last place.

    python -m benchmarks.bounds
    python -m benchmarks.bounds --write    # into docs/extremes.md, with what the tests use

It needs mpmath. What is swept, and where, stands in ``tests/operators/bounds.py``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

from benchmarks.pages import EXTREMES, with_table
from tests.operators.bounds import ROWS, Row, few, found, points
from tests.operators.test_bounds import errors

FILE = Path(__file__).parents[1] / "tests" / "operators" / "bounds.json"
DIGITS, DIFFERENCES = 50, 800
#: Sums with the least numbers lose nothing in so many digits.
WIDE = 1300


def _sigmoid(x: Any) -> Any:
    e = mpmath.exp(-abs(x))
    return 1 / (1 + e) if x > 0 else e / (1 + e)


NAMES = {name: getattr(mpmath, name) for name in dir(mpmath) if not name.startswith("_")} | {
    "sigmoid": _sigmoid, "max": max, "min": min, "abs": abs,
}  # fmt: skip


def _value(text: str, at: Sequence[Any]) -> Any:
    return eval(text, NAMES, dict(zip("xy", at)))


def _difference(text: str, at: Sequence[Any], place: int) -> Any:
    step = min(abs(at[place]), mpmath.mpf(1)) * mpmath.mpf(10) ** -60
    ends = [_value(text, [x + sign * step * (k == place) for k, x in enumerate(at)])
            for sign in (1, -1)]  # fmt: skip
    return (ends[0] - ends[1]) / (2 * step)


def _text(number: Any) -> str:
    """Return 30 digits of a number; what no dtype can tell from infinity or from 0 is that."""
    number = mpmath.re(number)
    if abs(number) > mpmath.mpf(10) ** 400:
        return "inf" if number > 0 else "-inf"
    if abs(number) < mpmath.mpf(10) ** -400:
        return "0"
    return str(mpmath.nstr(mpmath.mpf(number), 30, min_fixed=0, max_fixed=0))


def exact(row: Row, columns: Sequence[np.ndarray]) -> list[list[str]]:
    """Return the value and the derivatives at these points, as texts."""
    rows: list[list[str]] = [[] for _ in range(len(columns) + 1)]
    simple = not any(name in row.exact for name in ("bessel", "psi", "gamma", "erf"))
    digits = DIFFERENCES if not row.slopes else WIDE if simple else DIGITS + 20
    with mpmath.workdps(digits):
        for at in zip(*([mpmath.mpf(float(x)) for x in column] for column in columns)):
            rows[0].append(_text(_value(row.exact, at)))
            for place in range(len(at)):
                given = bool(row.slopes)
                slope = (
                    _value(row.slopes[place], at) if given else _difference(row.exact, at, place)
                )
                rows[place + 1].append(_text(slope))
    return rows


def _swept(row: Row, dtype: str) -> tuple[list[np.ndarray], list[list[str]], list[list[float]]]:
    """Return the points of a row, the exact numbers there, and how far ours are off."""
    columns = points(row, dtype)
    right = exact(row, columns)
    off = [errors(*pair, row.faint) for pair in zip(found(row, columns), right)]
    return columns, right, off


def _stored(columns: list[np.ndarray], right: list[list[str]], off: list[list[float]]) -> Any:
    """Return some of the points, and the worst of each number, with the exact numbers."""
    places = sorted({*few(len(columns[0])), *(int(np.argmax(each)) for each in off)})
    at = [column[places].tolist() for column in columns]
    return {"at": at, "exact": [[numbers[place] for place in places] for numbers in right]}


def main(arguments: Sequence[str]) -> None:
    """Prints the table; writes it, and the file of exact numbers."""
    kept, table = (
        [],
        [
            "| record | float64 | d_x | d_y | float32 | d_x | d_y |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ],
    )
    for row in ROWS:
        cells = []
        for dtype in ("float64", "float32"):
            columns, right, off = _swept(row, dtype)
            cells += [f"{max(each):.1f}" for each in off] + [""] * (3 - len(off))
            stored = json.dumps(_stored(columns, right, off))
            kept.append(f"{json.dumps(f'{row.name} {dtype}')}: {stored}")
        table.append(f"| {row.name.replace('|', chr(92) + '|')} | {' | '.join(cells)} |")
        print(table[-1], flush=True)
    if list(arguments) == ["--write"]:
        FILE.write_text("{\n" + ",\n".join(kept) + "\n}\n")
        EXTREMES.write_text(with_table(EXTREMES.read_text(encoding="utf-8"), table))


if __name__ == "__main__":
    main(sys.argv[1:])
