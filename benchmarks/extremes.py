"""Writes the cases of ``docs/extremes.md``: the bank of them, ours beside torch and jax.

    python -m benchmarks.extremes

Needs this package, torch, jax and what ``tests/operators/extremes.json`` was made with: see
``benchmarks/exact.py``. A number counts as right where it is within the bounds that
``tests/operators/test_extremes.py`` holds us to; the table shows the first one that is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
import torch.nn.functional as F

from autodiff_compiler import Tensor, ops
from benchmarks.pages import EXTREMES, with_table
from tests.operators.extremes import CASES, Case
from tests.operators.test_extremes import EXACT, errors, function_of, weights_of

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
    text = re.sub("(?m)^Exact: .*$", f"Exact: {sums}.", EXTREMES.read_text(encoding="utf-8"))
    EXTREMES.write_text(with_table(text, lines), encoding="utf-8")


def _short(case: Case) -> str:
    return ", ".join(str(row).replace("inf", "∞") for row in case.inputs)


if __name__ == "__main__":
    main()
