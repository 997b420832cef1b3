"""A branch inside a loop whose length is known at run time only."""

import numpy as np

from autodiff_compiler import Parameter, Tensor, nn, ops


class Decay(nn.Cell):
    def __init__(self):
        super().__init__()
        self.matmul = ops.MatMul()
        self.sum = ops.ReduceSum()
        self.tanh = ops.Tanh()
        weight = np.array([[0.5, -0.4, 0.3], [0.2, 0.6, -0.7], [-0.3, 0.8, 0.1]], np.float32)
        self.w = Parameter(Tensor(weight), name="w")

    def construct(self, x, n):
        h = x
        for i in range(n):
            u = self.matmul(h, self.w)
            if self.sum(u) > 0:
                h = self.tanh(u)
            else:
                h = u * 0.5
        return h


make = Decay
inputs = (np.array([[0.8, -0.6, 0.2], [0.3, 0.9, -0.5]], np.float32), 4)
flags = {"get_all": True, "get_by_list": True, "sens_param": True}
