"""Writes ``extremes.json``: the values and gradients of the bank, computed to 50 digits.

    python -m benchmarks.exact

It needs mpmath. Derivatives are central differences in 1000 digits. The outputs are weighted 1,
1.5, 2 … before they are summed, so that what cancels in a plain sum is seen. An infinite input is a
limit.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

from tests.operators.extremes import CASES, Case

FILE = Path(__file__).parents[1] / "tests" / "operators" / "extremes.json"
mpmath.mp.dps = 1000
STEP = mpmath.mpf(10) ** -300
#: Stands for infinity in derivatives, and what counts as nothing.
FAR, NOTHING = mpmath.mpf(10) ** 9, mpmath.mpf(10) ** -400


def _each(function: Any) -> Any:
    lifted = np.frompyfunc(function, 1, 1)
    return lambda x: lifted(x)


def _max(x: Any) -> Any:
    return x.max()


def _softmax(x: Any) -> Any:
    exps = NAMES["exp"](x - _max(x))
    return exps / exps.sum()


def _logsumexp(x: Any) -> Any:
    if _max(x) == -mpmath.inf:
        return _max(x)
    return _max(x) + mpmath.log(NAMES["exp"](x - _max(x)).sum())


NAMES: dict[str, Any] = {
    name: _each(getattr(mpmath, name))
    for name in ("exp", "log", "expm1", "log1p", "tanh", "erf", "erfc", "asin", "acos", "atanh",
                 "acosh", "asinh", "sqrt", "digamma")
}  # fmt: skip
NAMES |= {
    "pi": mpmath.pi, "num": mpmath.mpf, "abs": np.abs, "sum": np.sum, "where": np.where,
    "lgamma": _each(mpmath.loggamma), "sinc": _each(mpmath.sincpi),
    "atan2": np.frompyfunc(mpmath.atan2, 2, 1),
    "xlogy": np.frompyfunc(lambda x, y: x * mpmath.log(y) if x else mpmath.mpf(0), 2, 1),
    "mean": lambda x: x.sum() / len(x),
    "var": lambda x: ((x - x.sum() / len(x)) ** 2).sum() / len(x),
    "softmax": _softmax, "logsumexp": _logsumexp,
    "log_softmax": lambda x: x - _logsumexp(x),
    "logcumsumexp": lambda x: np.array([_logsumexp(x[: n + 1]) for n in range(len(x))]),
}  # fmt: skip


def numbers(case: Case, dtype: str) -> list[Any]:
    """The inputs as exact numbers, after rounding to the dtype."""
    rounded = [np.array(row, dtype).astype(float) for row in case.inputs]
    return [np.array([mpmath.mpf(float(n)) for n in row], object) for row in rounded]


def value(case: Case, inputs: list[Any]) -> Any:
    found = eval(case.exact, NAMES, dict(zip("xyz", inputs)))
    return np.atleast_1d(np.array(found, object))


def gradients(case: Case, inputs: list[Any]) -> list[list[Any]]:
    """The slopes of the weighted sum of outputs."""
    finite = [np.clip(row, -FAR, FAR) if mpmath.inf in abs(row) else row for row in inputs]
    size = len(value(case, finite))
    weights = np.array([1 + mpmath.mpf(n % 8) / 2 for n in range(size)], object)

    def moved(position: int, place: int, step: Any) -> Any:
        row = finite[position].copy()
        row[place] += step
        rows = [*finite[:position], row, *finite[position + 1 :]]
        return (weights * value(case, rows)).sum()

    def slope(position: int, place: int) -> Any:
        step = STEP * (abs(finite[position][place]) or 1)
        ends = [moved(position, place, sign * step) for sign in (1, -1)]
        return (ends[0] - ends[1]) / (2 * step)

    return [[slope(n, k) for k in range(len(row))] for n, row in enumerate(finite)]


def text(number: Any) -> str:
    number = mpmath.mpf(number)
    return "0" if abs(number) < NOTHING else mpmath.nstr(number, 50)


def main() -> None:
    rows = []
    for case in CASES:
        found: dict[str, Any] = {}
        for dtype in case.dtypes:
            inputs = numbers(case, dtype)
            slopes = gradients(case, inputs) if case.gradients is None else case.gradients
            found[dtype] = {
                "value": [text(number) for number in value(case, inputs)],
                "gradients": [[text(number) for number in row] for row in slopes],
            }
        rows.append({"case": case.name, **found})
    lines = ",\n".join(json.dumps(row) for row in rows)
    FILE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
