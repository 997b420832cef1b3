"""The library, compiled once for all tests of this folder."""

from __future__ import annotations

import re

import pytest

from autodiff_compiler.emit.c.library import FUNCTIONS
from autodiff_compiler.runtime.native import Compiler
from tests.emit.c.library.sweeps import Sweeps

#: Scripts that need mpmath; no test is in them.
collect_ignore = ["fit_coefficients.py", "minimax.py", "write_references.py"]

#: Parts of other functions, which take or return pairs or are valid for some numbers only.
INNER = re.compile(
    "bits_|from_|choose_|pair_|product_error|multiply_|add_(exactly|in_order)|modulo_|scale_|split_"
    "|.*_(near|rest|sum|joined|short|part|exactly|large|positive)_|half_exp|log_to_base|log_of_float"
    "|angle_|first_angle|reduce_|signed_power|sin_pi|two_over_pi"
)


@pytest.fixture(scope="session")
def floats(c_compiler: Compiler) -> Sweeps:
    """The functions of floating-point numbers."""
    names = (n for n in FUNCTIONS if n.endswith(("f32", "f64")) and not INNER.match(n))
    return Sweeps(names, c_compiler)


@pytest.fixture(scope="session")
def integers(c_compiler: Compiler) -> Sweeps:
    """The functions of integers."""
    return Sweeps((n for n in FUNCTIONS if not n.endswith(("f32", "f64"))), c_compiler)
