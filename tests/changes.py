"""Asks for a gradient before and after something changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor

X = np.array([0.5, 1.5, -2.0], np.float32)


def slope(fn: Any, *inputs: Any) -> np.ndarray:
    """The gradient in the first input."""
    return ms.grad(fn)(*[Tensor(x) if isinstance(x, np.ndarray) else x for x in inputs]).asnumpy()


def assert_follows(
    fn: Any, change: Callable[[], Any], back: Callable[[], Any], before: Any, after: Any
) -> None:
    """The gradient at X is ``before``, after the change ``after``, and back again; and only the
    two states are ever compiled."""
    for _ in range(2):
        np.testing.assert_allclose(slope(fn, X), before, rtol=1e-6)
    assert len(ms.compile_info()) == 1
    change()
    for _ in range(2):
        np.testing.assert_allclose(slope(fn, X), after, rtol=1e-6)
    compiled = len(ms.compile_info())
    assert compiled <= 2
    back()
    np.testing.assert_allclose(slope(fn, X), before, rtol=1e-6)
    change()
    np.testing.assert_allclose(slope(fn, X), after, rtol=1e-6)
    assert len(ms.compile_info()) == compiled
    assert sum(unit.calls for unit in ms.compile_info().units) == 6
