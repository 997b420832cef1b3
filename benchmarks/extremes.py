"""Writes ``docs/extremes.md``: the bank of extreme cases, ours beside torch and jax.

    python -m benchmarks.extremes

Needs this package, torch, jax and what ``tests/operators/extremes.json`` was made with: see
``benchmarks/exact.py``. A number counts as right where it is within the bounds that
``tests/operators/test_extremes.py`` holds us to; the table shows the first one that is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
import torch.nn.functional as F

from autodiff_compiler import Tensor, ops
from tests.operators.extremes import CASES, Case
from tests.operators.test_extremes import EXACT, errors, function_of, weights_of

ROOT = Path(__file__).parents[1]
jax.config.update("jax_enable_x64", True)


def _jax_bce(x: Any, y: Any) -> Any:
    return -y * jax.nn.log_sigmoid(x) - (1 - y) * jax.nn.log_sigmoid(-x)


def _jax_huber(x: Any, y: Any) -> Any:
    size = jnp.abs(x - y)
    return jnp.where(size < 1, 0.5 * size**2, size - 0.5)


Answer = tuple[np.ndarray, list[np.ndarray]]


def ours(case: Case, dtype: str) -> Answer:
    function = function_of(case)
    inputs = [Tensor(np.array(row, dtype)) for row in case.inputs]
    value = function(*inputs).asnumpy()
    sens = Tensor(weights_of(value))
    gradient = ops.GradOperation(get_all=True, sens_param=True)(function)
    return value, [found.asnumpy() for found in gradient(*inputs, sens)]


def of_torch(case: Case, dtype: str) -> Answer:
    inputs = [torch.tensor(np.array(row, dtype), requires_grad=True) for row in case.inputs]
    out = eval(case.torch, {"torch": torch, "F": F}, dict(zip("xyz", inputs)))
    value = out.detach().numpy()
    out.backward(torch.from_numpy(np.asarray(weights_of(value))))
    return value, [np.zeros(x.shape, dtype) if x.grad is None else x.grad.numpy() for x in inputs]


def of_jax(case: Case, dtype: str) -> Answer:
    names = {"jax": jax, "jnp": jnp, "jax_bce": _jax_bce, "jax_huber": _jax_huber}
    function = eval(f"lambda {', '.join('xyz'[: len(case.inputs)])}: {case.jax}", names)
    out, pull = jax.vjp(function, *(jnp.array(np.array(row, dtype)) for row in case.inputs))
    value = np.asarray(out)
    return value, [np.asarray(found) for found in pull(jnp.asarray(weights_of(value)))]


def verdict(answer: Callable[[Case, str], Answer], case: Case, dtype: str, exact: Any) -> str:
    """``exact``, or the first number that is not, with what it should be."""
    try:
        value, gradients = answer(case, dtype)
    except (RuntimeError, NotImplementedError, TypeError) as error:
        return f"{type(error).__name__}"
    rows = [("value", value, exact["value"])]
    rows += [(f"d{name}", g, row) for name, g, row in zip("xyz", gradients, exact["gradients"])]
    for label, got, wanted in rows:
        found, right, wrong = errors(got, wanted, case, dtype)
        if wrong.any():
            place = int(np.argmax(wrong))
            where = f"{label}[{place}]" if len(found) > 1 else label
            off = abs(found[place] - right[place]) / max(abs(right[place]), case.floor, 1e-300)
            return f"{where} {found[place]:.6g} for {right[place]:.6g} ({off:.0e} off)"
    return "exact"


def main() -> None:
    totals = {"ours": 0, "torch": 0, "jax": 0}
    rows: list[Sequence[str]] = []
    asked = {"torch": 0, "jax": 0, "ours": 0}
    for case, exact in zip(CASES, EXACT, strict=True):
        for dtype in case.dtypes:
            cells = []
            for name, answer, text in (
                ("ours", ours, case.ours), ("torch", of_torch, case.torch),
                ("jax", of_jax, case.jax),
            ):  # fmt: skip
                told = verdict(answer, case, dtype, exact[dtype]) if text else "-"
                asked[name] += told != "-"
                totals[name] += told == "exact"
                cells.append(told)
            rows.append((f"`{case.ours}`", f"`{_short(case)}`", dtype, *cells))
    head = ("call", "at", "dtype", "ours", f"torch {torch.__version__.partition('+')[0]}",
            f"jax {jax.__version__}")  # fmt: skip
    lines = ["| " + " | ".join(row) + " |" for row in (head, ("---",) * len(head), *rows)]
    sums = "; ".join(f"{name} {totals[name]} of {asked[name]}" for name in totals)
    text = ABOUT.format(sums=sums) + "\n".join(lines) + "\n"
    (ROOT / "docs" / "extremes.md").write_text(text, encoding="utf-8")


def _short(case: Case) -> str:
    return ", ".join(str(row).replace("inf", "∞") for row in case.inputs)


ABOUT = """\
# Extreme cases

Values and gradients where plain formulas overflow, underflow, cancel or divide 0 by 0, against 50-digit arithmetic. The outputs are weighted 1, 1.5, 2 … in the gradients. `exact` means: every number is as near to the exact one as the dtype and the condition of the case allow (the bounds are those of `tests/operators/test_extremes.py`, the same for all three); otherwise the first number that is not is shown. All on CPU. `-`: there is no such function.

Exact: {sums}.

`python -m benchmarks.exact` makes the exact numbers (with mpmath), `python -m benchmarks.extremes` this page (with torch and jax).

## Zeros of choices

What a choice did not take adds nothing to a gradient, though its slope be infinite there: `where(x > 0, sqrt(x), 0)`, `maximum(sqrt(x * x + y * y), eps)`, `relu(log(x))`, `mask * f(x)`, items that are written over. 0 times infinity is 0 there, in both modes and at every order. How, and where it ends (linear algebra, masks that are arguments, overflows of products), stands in `decisions/0017`; there the cure is to choose the operand as well, `f(where(mask, x, 1))`.

The slope of a norm (`norm`, `np.linalg.norm`, `sqrt(sum(x * x))`, `sqrt(x @ x)`, `hypot`, `sqrt(x * x + y * y)`) is the direction of the vector, at every size down to the least number above 0 and up to the largest, though the value itself vanishes or overflows where squares do. Roots of three or more squares written out, and norms of other orders, are as they are written.

## Bounds

The largest errors in units in the last place, at the points of `python -m benchmarks.bounds` (which needs mpmath):

| function | float64 | float32 |
| --- | --- | --- |
| sigmoid | 0.8 | 0.9 |
| sigmoid', x < 0 | 2.0 | 1.8 |
| sigmoid', 0 < x < 8 | 994.6 | 809.3 |
| tanh | 0.7 | 0.8 |
| tanh', -2 to 2 | 5.8 | 13.4 |
| softplus | 0.7 | 0.9 |
| lgamma, 0.5 to 2.5 | 4.2 | 0.5 |
| lgamma, 2.5 to 1000 | 39.6 | 0.5 |
| digamma, beyond 1.6 | 2.9 | 0.5 |
| polygamma(1) | 2.1 | 0.5 |
| polygamma(2), x > 0 | 1.8 | 0.5 |
| erf | 0.8 | 1.3 |
| erfc, x < 9 | 53.5 | 1.9 |
| erfc, 9 to 26 | 340.4 | 0.1 |
| erfinv | 46.3 | 0.5 |
| i0 | 12.6 | 0.5 |

`sigmoid'` is `out * (1 - out)` and `tanh'` is `1 - out * out`: they are off by one unit of 1, not of themselves, and 0 where `out` is 1 (`sigmoid'` from 37 on in float64, `tanh'` from 19 on). Another exponential for each gradient would be the price. `lgamma` between 2.5 and 1000, `erfc` far out and `erfinv` lose a digit or two; `digamma` near its zero at 1.4616 is exact to 1e-16, not to its own last place.

## Cases

"""  # noqa: E501


if __name__ == "__main__":
    main()
