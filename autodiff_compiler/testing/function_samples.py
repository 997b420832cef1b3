"""Samples of special functions, activations, running reductions and bits; see ``samples.py``."""

from __future__ import annotations

import numpy as np

from autodiff_compiler.testing.sampling import Sample, case, real

_X, _ROW, _CUBE = real(2, 3), real(3, seed=2), real(2, 3, 4)
_POSITIVE = real(2, 3, low=0.3, high=3.0)
_ONE = (case(_X), case(real()))
_PAIRS = (case(_X, real(2, 3, seed=1)), case(_X, _ROW), case(_X, 0.7), case(0.7, _X))
_QUOTIENTS = (case(_X, real(2, 3, low=0.4, seed=1)), case(_X, 1.5), case(0.7, _POSITIVE))
_ALONG = (case(_CUBE, axis=1), case(_CUBE, axis=-1), case(real(5), axis=0))
_SHIFTS = (case(np.array([1, 6, 3]), np.array([2, 0, 1])), case(np.array([[8], [5]]), 2))
_WHOLE = (case(np.array([12, 18, 7]), np.array([18, 27, 21])), case(np.array([[4], [6]]), 10))

FUNCTION_SAMPLES: dict[str, tuple[Sample, ...]] = {
    # special functions
    "log2": (case(_POSITIVE), case(real() + 1.0)),
    "log10": (case(_POSITIVE), case(real() + 1.0)),
    **dict.fromkeys(("conj", "real", "imag"), (case(_X + 1j * _ROW), case(real() + 1j))),
    "sinc": (case(real(2, 3, low=0.2)), case(real() + 1.0)),
    "sinc_slope": (case(2.0 * _X, n=1), case(_X, n=2), case(real(), n=3)),
    "hypot": _PAIRS,
    "logaddexp": _PAIRS,
    "xlogy": (case(_X, _POSITIVE), case(_ROW, _POSITIVE), case(0.7, _POSITIVE)),
    "fmod": _QUOTIENTS,
    "copysign": (case(_X, real(2, 3, seed=1)), case(_X, _ROW), case(0.7, _X)),
    "erf": (case(_X), case(real()), case(np.array([-30.0, -5.5, -4.0, 3.0, 4.5, 30.0]))),
    "erfc": (case(_X), case(real()), case(np.array([-30.0, -5.5, -4.0, 3.0, 4.5, 30.0]))),
    "erfinv": (case(real(2, 3, low=-0.9, high=0.99)), case(real(low=-0.5, high=0.8))),
    "bessel_i": (case(_X, n=0), case(_X, n=1), case(real(), n=2)),
    "polygamma": (case(_POSITIVE, n=0), case(_POSITIVE, n=1), case(real() + 4.0, n=2)),
    "gamma_p": (case(2.5, _POSITIVE, 0.2846828704729192), case(1, real() + 1.0, 0.0)),
    "gamma_p_slope": (case(2.5, _POSITIVE, 0.2846828704729192), case(1, real() + 1.0, 0.0)),
    "lgamma": (case(_POSITIVE), case(real() + 1.0)),
    # activations
    "elu": (case(_X, alpha=1.0), case(_X, alpha=0.5), case(real(), alpha=2.0)),
    "leaky_relu": (case(_X, slope=0.2), case(real(), slope=0.01)),
    "huber": (case(_X, delta=1.1), case(2.0 * _X, delta=0.3), case(real(), delta=1.0)),
    "logistic_loss": (case(_X, _POSITIVE), case(_X, _ROW), case(real(), 0.3), case(0.7, _X)),
    "hardsigmoid": (case(3.0 * _X), case(real())),
    "softsign": _ONE,
    # along an axis
    "cumprod": _ALONG,
    "logcumsumexp": _ALONG,
    "running_argmax": _ALONG,
    "running_argmin": _ALONG,
    "argmedian": _ALONG,
    # bits and whole numbers
    "shift_left": _SHIFTS,
    "shift_right": _SHIFTS,
    "gcd": _WHOLE,
    "lcm": _WHOLE,
    "isclose": tuple(
        case(*pair.operands, rtol=1e-5, atol=0.5, equal_nan=nan)
        for pair, nan in zip(_PAIRS, (False, True, False, True))
    ),
}
