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

The largest errors of values and of derivatives by each operand, in units in the last place, as measured by `python -m benchmarks.bounds` (which needs mpmath). Each differentiable elementwise record is swept, from the least numbers above 0 to the largest, where nothing else is said; `tests/operators/bounds.py` has the ranges, and the reasons of the few that are left out. The tests hold bounds somewhat above these at stored points.

| record | float64 | d_x | d_y | float32 | d_x | d_y |
| --- | --- | --- | --- | --- | --- | --- |
| add | 0.5 | 0.0 | 0.0 | 0.5 | 0.0 | 0.0 |
| sub | 0.5 | 0.0 | 0.0 | 0.5 | 0.0 | 0.0 |
| mul | 0.5 | 0.0 | 0.0 | 0.5 | 0.0 | 0.0 |
| div | 0.5 | 0.5 | 1.1 | 0.5 | 0.3 | 1.1 |
| pow, 1e-5 to 1e5 | 0.5 | 22.8 | 1.2 | 0.7 | 9.8 | 1.2 |
| hypot | 0.5 | 1.0 | 1.0 | 0.5 | 0.8 | 0.8 |
| atan2 | 0.5 | 1.5 | 1.5 | 1.4 | 1.2 | 1.2 |
| neg | 0.0 | 0.0 |  | 0.0 | 0.0 |  |
| abs | 0.0 | 0.0 |  | 0.0 | 0.0 |  |
| square | 0.5 | 0.0 |  | 0.5 | 0.0 |  |
| relu | 0.0 | 0.0 |  | 0.0 | 0.0 |  |
| exp | 0.6 | 0.6 |  | 1.5 | 1.5 |  |
| expm1 | 0.5 | 0.6 |  | 0.8 | 1.5 |  |
| log | 0.5 | 0.5 |  | 0.7 | 0.5 |  |
| log1p | 0.5 | 1.3 |  | 0.9 | 1.2 |  |
| log2 | 0.5 | 0.6 |  | 1.3 | 0.6 |  |
| log10 | 0.4 | 1.8 |  | 1.3 | 0.8 |  |
| sqrt | 0.5 | 0.9 |  | 0.5 | 1.1 |  |
| rsqrt | 0.9 | 3.6 |  | 1.1 | 3.5 |  |
| reciprocal | 0.5 | 1.6 |  | 0.5 | 1.2 |  |
| sin | 0.5 | 0.5 |  | 0.8 | 0.8 |  |
| cos | 0.5 | 0.5 |  | 0.8 | 0.8 |  |
| tan | 0.5 | 1.4 |  | 0.9 | 2.0 |  |
| asin | 0.5 | 0.8 |  | 1.0 | 0.8 |  |
| acos | 0.6 | 0.8 |  | 1.0 | 0.8 |  |
| atan | 0.5 | 1.2 |  | 0.9 | 1.2 |  |
| sinh | 0.5 | 0.7 |  | 0.7 | 1.4 |  |
| cosh | 0.7 | 0.5 |  | 1.4 | 0.7 |  |
| tanh, \\|x\\| <= 1 | 0.7 | 1.3 |  | 1.3 | 2.0 |  |
| tanh, \\|x\\| < 3.4 | 0.7 | 11.5 |  | 1.3 | 113.2 |  |
| asinh | 0.5 | 1.2 |  | 0.5 | 1.0 |  |
| acosh | 0.5 | 1.7 |  | 0.5 | 1.9 |  |
| atanh | 0.4 | 1.0 |  | 0.5 | 1.4 |  |
| sigmoid, x <= 1 | 1.2 | 1.6 |  | 1.9 | 1.7 |  |
| sigmoid, 1 to 8.3 | 1.1 | 278.7 |  | 1.2 | 786.0 |  |
| softplus | 0.9 | 1.2 |  | 2.0 | 1.9 |  |
| elu alpha=1.5 | 1.1 | 1.2 |  | 0.9 | 1.8 |  |
| leaky_relu slope=0.25 | 0.2 | 0.0 |  | 0.5 | 0.0 |  |
| hardsigmoid | 0.7 | 0.3 |  | 1.3 | 0.3 |  |
| softsign | 0.9 | 2.8 |  | 0.8 | 2.9 |  |
| huber delta=2.5 | 0.5 | 0.0 |  | 0.5 | 0.0 |  |
| logistic_loss | 1.0 | 12.8 | 0.0 | 2.0 | 10.2 | 0.0 |
| sinc, \\|x\\| < 1 | 4.4 | 3.3 |  | 2.0 | 0.7 |  |
| sinc_slope n=1, \\|x\\| < 1 | 3.3 | 38.1 |  | 0.7 | 1.6 |  |
| logaddexp | 1.3 | 23.5 | 23.5 | 1.0 | 15.0 | 15.0 |
| xlogy | 1.1 | 0.4 | 0.5 | 0.9 | 0.5 | 0.5 |
| erf | 0.7 | 176.0 |  | 1.3 | 55.6 |  |
| erfc, x < 9 | 21.6 | 176.0 |  | 3.7 | 55.6 |  |
| erfc, 9 to 26 | 150.1 | 176.0 |  | 0.0 | 0.1 |  |
| erfinv | 47.1 | 443.5 |  | 0.5 | 2.0 |  |
| bessel_i n=0 | 16.2 | 14.9 |  | 0.5 | 0.5 |  |
| bessel_i n=1 | 14.9 | 16.7 |  | 0.5 | 1.1 |  |
| polygamma n=0, x > 1.7 | 13.5 | 1.7 |  | 0.5 | 0.5 |  |
| polygamma n=1, x > 0 | 1.8 | 1.4 |  | 0.5 | 0.5 |  |
| polygamma n=1, -0.9 to 0 | 2.9 | 49.6 |  | 0.5 | 1.2 |  |
| lgamma, -0.9 to 0 | 11.9 | 130.7 |  | 0.4 | 15.0 |  |
| lgamma, 0 to 2.5 | 19.1 | 13.5 |  | 0.5 | 0.5 |  |
| lgamma, x > 2.5 | 48.6 | 1.8 |  | 0.5 | 0.5 |  |

`sigmoid'` is `out * (1 - out)` and `tanh'` is `1 - out * out`: they are off by one unit of 1, not of themselves, and 0 where `out` is 1 (`sigmoid'` from 37 on in float64 and 17 in float32, `tanh'` from 19 and 9 on). What the exact form costs, and how to write the function where the slope far out matters (`1 - sigmoid(-x)`), stands in `decisions/0019`. `exp(-x * x)`, the slope of `erf` and `erfc`, loses digits far out; `lgamma` between 2.5 and 1000, `erfc` far out and `erfinv` lose a digit or two. `digamma` near its zeros and `sinc` near its own are exact to 1e-16, not to their own last place. The slope of `pow` by x is `y * x ** (y - 1)`: the rounding of `y - 1` costs a digit.

## Cases

"""  # noqa: E501


if __name__ == "__main__":
    main()
