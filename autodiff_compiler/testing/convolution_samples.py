"""Samples of sliding windows, and of products over blocks of axes."""

from __future__ import annotations

import numpy as np

from autodiff_compiler.testing.sampling import Sample, case, real

IMAGE = real(2, 2, 5, 4)
_PLAIN, _SPARSE = (dict(size=(2, 2), stride=(s, s), dilation=(1, 1)) for s in (1, 2))
_WIDE = dict(size=(2, 3), stride=(2, 1), dilation=(3, 1))
_ROW = dict(size=(3,), stride=(2,), dilation=(1,))
_BOX = dict(size=(2, 1, 2), stride=(1, 1, 1), dilation=(1, 2, 1))

NINE = real(2, 4, 9)
#: Windows over its last axis that cover it, leave some out, overlap, and have gaps.
_WINDOWS = [
    dict(axis=-1, size=k, stride=s, dilation=d)
    for k, s, d in ((3, 3, 1), (2, 2, 1), (3, 1, 1), (4, 2, 2), (1, 2, 1))
]
_ROWS = dict(axis=-2, size=2, stride=2, dilation=1)


def _counted(window: dict[str, int]) -> int:
    """Returns the number of windows over nine elements."""
    return (9 - (window["size"] - 1) * window["dilation"] - 1) // window["stride"] + 1


def _nearly_best(window: dict[str, int]) -> np.ndarray:
    """Returns a bound just below the maximum of each window: only the largest element exceeds it,
    even if it is moved a little."""
    reach = (window["size"] - 1) * window["dilation"] + 1
    view = np.lib.stride_tricks.sliding_window_view(NINE, reach, -1)
    bound: np.ndarray = view[..., :: window["stride"], :: window["dilation"]].max(-1) - 0.02
    return bound


CONVOLUTION_SAMPLES: dict[str, tuple[Sample, ...]] = {
    "windows": (
        case(IMAGE, **_PLAIN),
        case(IMAGE, **_SPARSE),
        case(IMAGE, **_WIDE),
        case(real(2, 7), **_ROW),
        case(real(1, 3, 3, 2), **_BOX),
    ),
    "overlap_add": (
        case(real(2, 4, 3, 2, 2), shape=(2, 5, 4), **_PLAIN),
        case(real(1, 2, 2, 2, 2), shape=(1, 5, 4), **_SPARSE),
        case(real(1, 1, 2, 2, 3), shape=(1, 5, 4), **_WIDE),
        case(real(2, 3, 3), shape=(2, 7), **_ROW),
        case(real(1, 2, 3, 1, 2, 1, 2), shape=(1, 3, 3, 2), **_BOX),
    ),
    "window_max": (*(case(NINE, **window) for window in _WINDOWS), case(NINE, **_ROWS)),
    "window_first": tuple(
        case(real(2, 4, _counted(window), seed=1), NINE, _nearly_best(window), **window)
        for window in _WINDOWS
    ),
    "window_pick": tuple(
        case(real(2, 4, 9, seed=1), NINE, _nearly_best(window), **window) for window in _WINDOWS
    ),
    "window_sum": (*(case(NINE, **window) for window in _WINDOWS), case(NINE, **_ROWS)),
    "window_spread": (
        case(real(2, 2, 9), shape=(2, 4, 9), **_ROWS),
        *(case(real(2, 4, _counted(window)), shape=(2, 4, 9), **window) for window in _WINDOWS),
    ),
    "depthwise": (
        case(IMAGE, real(2, 2, 2, seed=1), **_PLAIN),
        case(IMAGE, real(2, 2, 3, seed=1), **_WIDE),
        case(real(2, 3, 7), real(3, 3, seed=1), **_ROW),
    ),
    "depthwise_images": (
        case(real(2, 2, 4, 3), real(2, 2, 2, seed=1), shape=(2, 2, 5, 4), **_PLAIN),
        case(real(2, 2, 1, 2), real(2, 2, 3, seed=1), shape=(2, 2, 5, 4), **_WIDE),
        case(real(2, 3, 3), real(3, 3, seed=1), shape=(2, 3, 7), **_ROW),
    ),
    "depthwise_kernel": (
        case(real(2, 2, 4, 3, seed=1), IMAGE, **_PLAIN),
        case(real(2, 2, 1, 2, seed=1), IMAGE, **_WIDE),
        case(real(2, 3, 3, seed=1), real(2, 3, 7), **_ROW),
    ),
    "tensordot": (
        case(real(3, 2, 2), real(2, 4, 2, 2, seed=1), axes=((1, 2), (2, 3))),
        case(real(2, 3), real(3, 4, 2, seed=1), axes=((1, 0), (0, 2))),
        case(real(2, 3), real(2, seed=1), axes=((), ())),
        case(real(2, 3, 2), real(3, seed=1), axes=((1,), (0,))),
    ),
}
