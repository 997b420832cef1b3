"""Samples of random draws; see ``samples.py``. The values that are drawn are tested in
tests/ops/functions/test_random.py."""

from __future__ import annotations

import numpy as np

from autodiff_compiler.testing.sampling import Sample, case, real

_RNG = np.random.default_rng(3)
_RATES = real(2, 3, low=0.5, high=4.0)

DRAW_SAMPLES: dict[str, tuple[Sample, ...]] = {
    "draw": tuple(
        case(_RNG, family=family, shape=shape, dtype=dtype)
        for family, shape, dtype in (
            ("uniform", (2, 3), "float32"),
            ("uniform", (), "float64"),
            ("normal", (3,), "float16"),
            ("normal", (0, 2), "float64"),
            ("laplace", (2, 3), "float32"),
            ("gumbel", (4,), "float64"),
        )
    ),
    "draw_mask": (case(_RNG, shape=(2, 3), keep=0.7), case(_RNG, shape=(), keep=0.5)),
    "draw_integers": (
        case(_RNG, 2, 9, shape=(2, 3), dtype="int64"),
        case(_RNG, 0, 5, shape=(4,), dtype="int32"),
    ),
    "draw_order": (case(_RNG, 5, dtype="int64"), case(_RNG, 3, dtype="int32")),
    "draw_gamma": (
        case(_RNG, 2.5, shape=(2, 3), dtype="float32"),
        case(_RNG, np.array([1, 2]), shape=(3, 2), dtype="float64"),
    ),
    "draw_poisson": (
        case(_RNG, 2.5, shape=(4,), dtype="float32"),
        case(_RNG, _RATES, shape=(2, 3), dtype="float64"),
    ),
}
