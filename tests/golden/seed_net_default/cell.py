"""The first Cell, nothing asked for but the gradient in its first input."""

import numpy as np

from autodiff_compiler import Parameter, Tensor, nn, ops


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.matmul = ops.MatMul()
        self.z = Parameter(Tensor(np.array([1.0], np.float32)), name="z")

    def construct(self, x, y):
        x = x * self.z
        out = self.matmul(x, y)
        return out


make = Net
inputs = (
    np.array([[0.8, 0.6, 0.2], [1.8, 1.3, 1.1]], np.float32),
    np.array([[0.11, 3.3, 1.1], [1.1, 0.2, 1.4], [1.1, 2.2, 0.3]], np.float32),
)
flags: dict[str, bool] = {}
