"""A Cell whose ``construct`` is marked with ``jit``, as public networks mark it."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops

FACTOR = 2.0


class JittedCell(nn.Cell):
    """Both methods are marked, as public networks mark them."""

    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(np.array([1.0, -2.0], np.float32), name="w")

    @ms.jit
    def construct(self, x: Tensor) -> Tensor:
        return self.inner(x) * FACTOR

    @ms.jit
    def inner(self, x: Tensor) -> Tensor:
        return ops.sin(x * self.w)


def test_a_construct_that_is_jitted_compiles_as_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    net = JittedCell()
    outer = nn.SequentialCell([net])
    x, w = np.array([0.5, 0.25], np.float32), net.w.asnumpy()
    for factor in (2.0, 3.0):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        for cell in (net, outer):
            np.testing.assert_allclose(cell(Tensor(x)).asnumpy(), factor * np.sin(x * w), rtol=1e-6)
            found = ms.grad(cell)(Tensor(x)).asnumpy()
            np.testing.assert_allclose(found, factor * w * np.cos(x * w), rtol=1e-6)
    with pytest.raises(ms.errors.CallError):
        ms.grad(net)(Tensor(x), Tensor(x))
    assert "x: f32[2]" in ms.gradient_source(net, Tensor(x))
