"""The net of the measured tables, x * y * z with a parameter u that takes no part, and numbers.

All gradients are worked out by hand.
"""

from __future__ import annotations

import numpy as np

from autodiff_compiler import Parameter, Tensor, nn, ops

GO = ops.GradOperation


def t(*numbers, dtype=np.float32):
    return Tensor(np.array(numbers, dtype))


X, Y, S = t(1, 2), t(3, 5), t(10, 100)
GX, GY, GZ, GU = [6, 10], [2, 4], [13], [0, 0]


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.z = Parameter(np.array([2], np.float32))
        self.u = Parameter(np.array([3, 4], np.float32))

    def construct(self, x, y):
        return x * y * self.z


class Square(Net):
    def construct(self, x):
        return x * x * self.z


class NoInput(Net):
    def construct(self):
        return self.z * self.z


def plain(result):
    """Tensors as lists, so that structures compare with ``==``; types must be Tensor exactly."""
    if isinstance(result, Tensor):
        assert type(result) is Tensor
        return result.asnumpy().tolist()
    if isinstance(result, (tuple, list)):
        return type(result)(map(plain, result))
    if isinstance(result, dict):
        return {key: plain(item) for key, item in result.items()}
    return result


def product(x, y):
    return x * y


def times(x, k):
    return x * k
