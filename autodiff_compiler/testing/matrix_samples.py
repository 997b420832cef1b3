"""Samples of functions of whole matrices: regular ones, far from singular; see ``samples.py``."""

from __future__ import annotations

import numpy as np

from autodiff_compiler.testing.sampling import Sample, case, real

_ONE = 2.0 * np.eye(3) + 0.5 * real(3, 3)
_MANY = 3.0 * np.eye(2) + real(2, 2, 2, seed=1)
_ROW = real(3, seed=3)
_POSITIVE = _ONE @ _ONE.T
_REGULAR = (case(_ONE), case(_MANY), case(_ONE[::-1].copy()))

MATRIX_SAMPLES: dict[str, tuple[Sample, ...]] = {
    **dict.fromkeys(("inverse", "det", "det_sign", "logabsdet", "cofactors"), _REGULAR),
    "expand_dims_where": (
        case(_ROW, (3,), axes=(-2,), rank=1),
        case(_ONE, (3, 3), axes=(-2,), rank=1),
        case(_ROW, (4, 3), axes=(0,), rank=None),
        case(real(), (), axes=(0,), rank=None),
    ),
    "cofactors_slope": (case(_ONE, real(3, 3, seed=2)), case(_MANY, real(2, 2, 2))),
    "solve": (
        case(_ONE, real(3, 2)),
        case(_MANY, real(2, 2, 1)),
        case(_ONE, real(2, 3, 1)),
        case(_MANY, real(2, 3)),
    ),
    "cholesky": (case(_POSITIVE), case(_MANY @ _MANY.swapaxes(-1, -2))),
    **dict.fromkeys(
        ("singular_values", "left_vectors", "right_vectors"),
        (case(_ONE), case(real(3, 2)), case(real(2, 2, 3))),
    ),
    **dict.fromkeys(
        ("orthogonal_factor", "triangular_factor"),
        (case(_ONE), case(real(4, 2)), case(real(2, 3, 2))),
    ),
    "pinv": (case(_ONE, rtol=None), case(real(2, 3), rtol=None), case(real(2, 3, 2), rtol=1e-4)),
}
