"""Cells within a Cell: each kind of layer is printed once."""

import numpy as np

from autodiff_compiler import Parameter, Tensor, nn, ops


class Dense(nn.Cell):
    def __init__(self, weight, bias):
        super().__init__()
        self.weight = Parameter(Tensor(np.array(weight, np.float32)))
        self.bias = Parameter(Tensor(np.array(bias, np.float32)))

    def construct(self, x):
        return ops.matmul(x, self.weight.T) + self.bias


class TwoLayers(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc1 = Dense([[0.5, -0.4, 0.3], [0.2, 0.6, -0.7], [-0.3, 0.8, 0.1]], [0.1, 0.2, -0.3])
        self.fc2 = Dense([[0.3, 0.7, -0.2], [-0.9, 0.4, 0.6], [0.2, 0.1, 0.5]], [-0.2, 0.3, 0.1])

    def construct(self, x):
        hidden = ops.tanh(self.fc1(x))
        logits = self.fc2(hidden)
        return logits


make = TwoLayers
inputs = (np.array([[0.8, -0.6, 0.2], [0.3, 0.9, -0.5]], np.float32),)
flags = {"get_by_list": True, "sens_param": True}
