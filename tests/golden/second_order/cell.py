"""The gradient of a gradient: the same compiler, run on what it made."""

import numpy as np

from autodiff_compiler import Parameter, Tensor, nn, ops


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.array([2.0], np.float32)), name="w")

    def construct(self, x):
        y = ops.sin(x) * self.w
        return y * x


class Slope(nn.Cell):
    def __init__(self):
        super().__init__()
        self.net = Net()
        self.grad_op = ops.GradOperation()

    def construct(self, x):
        slope = self.grad_op(self.net)(x)
        return slope * slope


make = Slope
inputs = (np.array([0.5, 1.5, -0.7], np.float32),)
flags = {"get_all": True, "get_by_list": True}
