"""Updates of Parameters: at once in eager code, once per call in compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops

START, CHANGE = np.array([1.0, 2.0], np.float32), np.array([0.5, -1.0], np.float32)
UPDATES = {"Assign": CHANGE, "AssignAdd": START + CHANGE, "AssignSub": START - CHANGE}


class Updating(nn.Cell):
    def __init__(self, operator: str) -> None:
        super().__init__()
        self.w = Parameter(Tensor(START), name="w")
        self.update = getattr(ops, operator)()

    def construct(self, x: Any) -> Any:
        self.update(self.w, x)
        return (self.w * x).sum()


@pytest.mark.parametrize("operator", UPDATES)
def test_the_parameter_has_the_new_value(operator: str) -> None:
    parameter = Parameter(Tensor(START), name="w")
    getattr(ops, operator)()(parameter, Tensor(CHANGE))
    np.testing.assert_array_equal(parameter.asnumpy(), UPDATES[operator])
    net = Updating(operator)
    slope = ms.grad(net)(Tensor(CHANGE))
    np.testing.assert_array_equal(net.w.asnumpy(), UPDATES[operator])
    # As in MindSpore, a Parameter that was written is no function of what was written to it.
    np.testing.assert_allclose(slope.asnumpy(), UPDATES[operator])
