"""Code without control flow: rebinding, slices, several outputs, broadcasting."""

import numpy as np

from autodiff_compiler import Parameter, Tensor, nn, ops
from tests.corpus.cases import case, of, p, t


@case(t(2, 3), t(3, 3))
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.matmul = ops.MatMul()
        self.z = Parameter(Tensor(np.array([1.0], np.float32)), name="z")

    def construct(self, x, y):
        x = x * self.z
        out = self.matmul(x, y)
        return out


@case(t(3))
def identity(x):
    return x


@case(t(3), t(3, phase=0.4))
def unused_input(x, y):
    return ops.sin(x)


@case(t(3))
def used_many_times(x):
    y = x * x
    return y * y + y * x - y / (x * x + 1.0)


@case(t(2, 3), t(3), t(1, 3), t(2, 1))
def stretched(x, a, b, c):
    return (x + a) * b - c / (a * a + 1.0)


@case(t(4, 5))
def slices(x):
    return x[1:3, ::2] * x[-2:, :3] + x[0, 1] - x[..., 2:5][:2]


@case(t(2, 3))
def several_outputs(x):
    return x * x, ops.sum(x), ops.sin(x)


@case(t(2, 3), t(3))
class Unused(nn.Cell):
    def __init__(self):
        super().__init__()
        self.used = p(3)
        self.spare = p(2, 2)

    def construct(self, x, y):
        spare = ops.exp(y)
        return x * self.used


@case(t(2, 3))
def methods_of_tensors(x):
    return (x.reshape(3, 2).T * x.sum(axis=0)).mean()


@case(t(2, 3))
def shapes_are_known(x):
    rows, columns = x.shape
    return x / rows + ops.sum(x) * columns - len(x) * x.ndim


@case(t(2, 3))
def set_item_on_a_local(x):
    y = x * 1.0
    y[0] = x[1] * 2.0
    y[1, 2] = x[0, 0] * x[0, 1]
    return y * x


@case(t(2, 3))
def augmented(x):
    y = x * x
    y += x
    y *= 2.0
    y -= ops.sin(y)
    y /= 3.0
    return y


@case(of(0.3, 0.4))
def constants(x):
    scale = np.float32(2.5)
    shift = Tensor([1.0, 2.0])
    return x * scale + shift * x


@case(t(2, 4))
def softmax_by_hand(x):
    shifted = x - ops.stop_gradient(x.max(axis=-1, keepdims=True))
    e = ops.exp(shifted)
    return e / e.sum(axis=-1, keepdims=True)


@case(t(2, 3), 2.5)
def python_float(x, k):
    return x * k + k


@case(t(2, 3), 3)
def python_int(x, k):
    return x * k + k


@case(t(3))
def shared_expression(x):
    return ops.exp(x) * ops.exp(x) + ops.exp(x)


@case(t(3))
def walrus(x):
    return (y := ops.sin(x)) * y
