"""Times of functions of the C library beside NumPy's and SciPy's.

``python -m benchmarks.maths`` prints a table. It needs a C compiler.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.special

from autodiff_compiler.runtime.native.toolchain import find_compiler
from tests.emit.c.library.sweeps import Sweeps

#: Elements of an array, and rounds of which the fastest counts.
SIZE, ROUNDS = 8192, 200
DTYPES = {"f32": np.float32, "f64": np.float64}
FUNCTIONS: dict[str, Callable[..., np.ndarray]] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "sigmoid": scipy.special.expit,
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "atan": np.arctan,
    "cbrt": np.cbrt,
}


def fastest(*calls: Callable[[], object]) -> list[float]:
    """Returns the nanoseconds for an element of each call; the calls alternate."""
    best = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for k, call in enumerate(calls):
            begin = time.perf_counter_ns()
            call()
            best[k] = min(best[k], (time.perf_counter_ns() - begin) / SIZE)
    return best


def main() -> None:
    """Prints a Markdown table."""
    names = [f"{name}_{ending}" for name in FUNCTIONS for ending in DTYPES]
    sweeps = Sweeps(names, find_compiler())
    loop = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    print("| function | ns, C | ns, NumPy or SciPy | ratio |\n|---|--:|--:|--:|")
    for name in names:
        x = np.random.default_rng(0).normal(0, 3, SIZE).astype(DTYPES[name[-3:]])
        x = np.abs(x) if name.startswith("log") else x
        out = np.empty_like(x)
        function = loop(sweeps.address(name))
        operands = (x.ctypes.data, out.ctypes.data, SIZE)
        peer = FUNCTIONS[name[:-4]]
        ours, theirs = fastest(partial(function, *operands), partial(peer, x, out))
        print(f"| {name} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.2f} |")


if __name__ == "__main__":
    main()
