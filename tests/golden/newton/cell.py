"""A loop that runs until its result is good: the square root by Newton's method."""

import numpy as np

from autodiff_compiler import nn, ops


class Root(nn.Cell):
    def __init__(self):
        super().__init__()
        self.tolerance = 1e-3

    def construct(self, a):
        x = a
        while ops.sum(ops.abs(x * x - a)) > self.tolerance:
            x = 0.5 * (x + a / x)
        return x


make = Root
inputs = (np.array([2.0, 3.0], np.float32),)
flags = {"sens_param": True}
