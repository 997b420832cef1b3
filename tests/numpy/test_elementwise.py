"""Elementwise functions of ``mindspore.numpy``: each ufunc of the same name, on Tensors."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler import Tensor
from autodiff_compiler import numpy as mnp
from autodiff_compiler.numpy import elementwise

UNIT, OTHER = np.array([0.25, 0.5, 0.75]), np.array([0.5, 0.125, 0.75])
WHOLE, OTHER_WHOLE = np.array([12, 18, 7], np.int32), np.array([2, 3, 1], np.int32)
UFUNCS = sorted(
    name for name in elementwise.__all__ if isinstance(getattr(np, name, None), np.ufunc)
)


def operands(ufunc: np.ufunc) -> list[np.ndarray]:
    """Returns operands within the domain of ``ufunc``; whole numbers if it takes no others."""
    whole = not any(kind[0] in "de" for kind in ufunc.types)
    one, other = (WHOLE, OTHER_WHOLE) if whole else (UNIT, OTHER)
    if ufunc is np.arccosh:
        one = 1 + UNIT
    return [one, other][: ufunc.nin]


def test_most_names_are_ufuncs() -> None:
    assert len(UFUNCS) > 50


@pytest.mark.every_case
@pytest.mark.parametrize("name", UFUNCS)
def test_values_are_numpys(name: str) -> None:
    ufunc = getattr(np, name)
    given = operands(ufunc)
    found, wanted = getattr(mnp, name)(*map(Tensor, given)), ufunc(*given)
    pairs = zip(found, wanted) if isinstance(found, tuple) else [(found, wanted)]
    for one, value in pairs:
        assert one.shape == value.shape
        np.testing.assert_allclose(one.asnumpy(), value, rtol=1e-6)
