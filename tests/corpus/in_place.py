"""Methods that change the tensor they are called on, under all its names."""

from autodiff_compiler import nn, ops
from tests.corpus.cases import case, of, p, t


@case(t(3))
def under_two_names(x):
    y = x * 2
    z = y
    y.add_(x, alpha=2).mul_(ops.sin(x))
    return z * x + y


@case(of(0.3, 0.4), 3)
@case(of(-0.3, 0.1), 3)
@case(of(0.3, 0.4), 0)
def in_branches_and_loops(x, n):
    y = x * 1
    held = {"y": y}
    for i in range(n):
        if ops.sum(x) > 0:
            y.mul_(x)
        else:
            y.tanh_()
        held["y"].sub_(x * i)
    return y * held["y"]


@case(t(2, 3), t(3))
def many_of_them(x, row):
    y = x.copy()
    y.exp_().div_(2.0)
    z = ops.zeros_like(x)
    z.copy_(row)
    z.clamp_(-0.5, 0.5)
    w = (x * 1).fill_(0.5)
    w.sigmoid_()
    v = x * 3
    v.zero_()
    v.add_(row)
    return y * z + w * v


def _scaled(x, by):
    return x.mul_(by)


@case(t(3))
def in_a_function(x):
    y = x * 1
    z = _scaled(y, ops.sum(x))
    return y * z + x


@case(t(3))
class Running(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = p(3)

    def construct(self, x):
        y = self.weight * x
        y.add_(self.weight)
        return y * self.weight
