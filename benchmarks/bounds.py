"""Prints how far the elementwise records are from the exact value, in units in the last place.

    python -m benchmarks.bounds            # the table of docs/extremes.md
    python -m benchmarks.bounds --write    # the exact numbers that the tests use

It needs mpmath. What is swept, and where, stands in ``tests/operators/bounds.py``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

from tests.operators.bounds import ROWS, Row, few, found, points
from tests.operators.test_bounds import errors

FILE = Path(__file__).parents[1] / "tests" / "operators" / "bounds.json"
DIGITS, DIFFERENCES = 50, 700
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


def _written() -> Iterator[tuple[str, Any]]:
    for row in ROWS:
        for dtype in ("float64", "float32"):
            columns = few(points(row, dtype))
            at = [column.tolist() for column in columns]
            yield f"{row.name} {dtype}", {"at": at, "exact": exact(row, columns)}


def main(arguments: Sequence[str]) -> None:
    """Prints the table, or writes the file."""
    if list(arguments) == ["--write"]:
        lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in _written())
        FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        return
    print("| record | float64 | d_x | d_y | float32 | d_x | d_y |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for row in ROWS:
        cells = []
        for dtype in ("float64", "float32"):
            columns = points(row, dtype)
            worst = [max(errors(ours, right)) for ours, right in
                     zip(found(row, columns), exact(row, columns))]  # fmt: skip
            cells += [f"{each:.1f}" for each in worst] + [""] * (3 - len(worst))
        print(f"| {row.name.replace('|', chr(92) + '|')} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
