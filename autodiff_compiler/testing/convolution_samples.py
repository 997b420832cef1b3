"""Samples for sliding windows and products over blocks of axes."""

from __future__ import annotations

from autodiff_compiler.testing.sampling import Sample, case, real

IMAGE = real(2, 2, 5, 4)
_PLAIN, _SPARSE = (dict(size=(2, 2), stride=(s, s), dilation=(1, 1)) for s in (1, 2))
_WIDE = dict(size=(2, 3), stride=(2, 1), dilation=(3, 1))
_ROW = dict(size=(3,), stride=(2,), dilation=(1,))
_BOX = dict(size=(2, 1, 2), stride=(1, 1, 1), dilation=(1, 2, 1))

CONVOLUTION_SAMPLES: dict[str, tuple[Sample, ...]] = {
    "windows": (case(IMAGE, **_PLAIN), case(IMAGE, **_SPARSE), case(IMAGE, **_WIDE),
                case(real(2, 7), **_ROW), case(real(1, 3, 3, 2), **_BOX)),
    "overlap_add": (case(real(2, 4, 3, 2, 2), shape=(2, 5, 4), **_PLAIN),
                    case(real(1, 2, 2, 2, 2), shape=(1, 5, 4), **_SPARSE),
                    case(real(1, 1, 2, 2, 3), shape=(1, 5, 4), **_WIDE),
                    case(real(2, 3, 3), shape=(2, 7), **_ROW),
                    case(real(1, 2, 3, 1, 2, 1, 2), shape=(1, 3, 3, 2), **_BOX)),
    "tensordot": (case(real(3, 2, 2), real(2, 4, 2, 2, seed=1), axes=((1, 2), (2, 3))),
                  case(real(2, 3), real(3, 4, 2, seed=1), axes=((1, 0), (0, 2))),
                  case(real(2, 3), real(2, seed=1), axes=((), ())),
                  case(real(2, 3, 2), real(3, seed=1), axes=((1,), (0,)))),
}  # fmt: skip
