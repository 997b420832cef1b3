"""The workloads as users of this package write them: models as Cells, the rest as functions."""

from __future__ import annotations

from autodiff_compiler import Parameter, Tensor, nn, ops
from benchmarks.workloads.attention import HEADS, SCALE, WIDTH
from benchmarks.workloads.newton import START, TOLERANCE
from benchmarks.workloads.norm import CUBE, SLOPE, TINY
from benchmarks.workloads.workload import Workload


class Weighted(nn.Cell):
    """A Cell with a workload's weights as Parameters."""

    def __init__(self, work: Workload):
        super().__init__()
        for name, weight in zip(work.names, work.weights, strict=True):
            setattr(self, name, Parameter(Tensor(weight), name=name))


class SeedNet(Weighted):
    """The net of the seed documents."""

    def construct(self, x, y):
        x = x * self.z
        out = ops.matmul(x, y)
        return out


class Line(Weighted):
    """The line of the tutorial."""

    def construct(self, x):
        return self.w * x + self.b


class MlpSmall(Weighted):
    """One hidden layer."""

    def construct(self, x, labels):
        h = ops.relu(ops.matmul(x, self.w1) + self.b1)
        logits = ops.matmul(h, self.w2) + self.b2
        return ops.cross_entropy(logits, labels)


class MlpLarge(Weighted):
    """Four wide layers."""

    def construct(self, x):
        h = ops.tanh(ops.matmul(x, self.w1) + self.b1)
        h = ops.tanh(ops.matmul(h, self.w2) + self.b2)
        h = ops.tanh(ops.matmul(h, self.w3) + self.b3)
        h = ops.tanh(ops.matmul(h, self.w4) + self.b4)
        return ops.mean(h * h)


class Rnn(Weighted):
    """A loop over the steps of a sequence."""

    def construct(self, x):
        h = ops.zeros_like(x[0])
        for k in range(x.shape[0]):
            h = ops.tanh(ops.matmul(x[k], self.w_in) + ops.matmul(h, self.w) + self.b)
        return ops.mean(h * h)


class CrossEntropy(Weighted):
    """The loss alone; what it is taken of is the weight."""

    def construct(self, labels, shares):
        return ops.cross_entropy(self.logits, labels, shares)


class Lenet(Weighted):
    """Convolutions, poolings, dense layers."""

    def construct(self, x, labels):
        x = ops.relu(ops.conv2d(x, self.k1, self.c1, pad_mode="pad", padding=2))
        x = ops.max_pool2d(x, 2, 2)
        x = ops.relu(ops.conv2d(x, self.k2, self.c2))
        x = ops.max_pool2d(x, 2, 2)
        x = ops.reshape(x, (x.shape[0], -1))
        x = ops.relu(ops.matmul(x, self.w1) + self.b1)
        x = ops.relu(ops.matmul(x, self.w2) + self.b2)
        return ops.cross_entropy(ops.matmul(x, self.w3) + self.b3, labels)


def chain(x):
    """Twelve operators, and the sum."""
    v = ops.sin(x * 1.5)
    t = ops.tanh(ops.exp((v + x) * 0.1))
    q = ops.sigmoid(t) * x
    return ops.sum((ops.log1p(q**2) + v) * t)


def newton(a):
    """Newton's method, until the error is small."""
    x = ops.full_like(a, START)
    while ops.sum(ops.abs(x * x - a)) > TOLERANCE:
        x = 0.5 * (x + a / x)
    return ops.sum(x)


def attention(x, w, w_out):
    """Four heads of attention."""
    batch, steps, wide = x.shape
    split = (batch, steps, 3, HEADS, WIDTH)
    q, k, v = ops.matmul(x, w).reshape(split).transpose(2, 0, 3, 1, 4)
    p = ops.softmax(ops.matmul(q, k.swapaxes(-1, -2)) * SCALE, -1)
    y = ops.matmul(p, v).transpose(0, 2, 1, 3).reshape((batch, steps, wide))
    out = ops.matmul(y, w_out)
    return ops.mean(out * out)


def norm_gelu(x, scale, shift):
    """A layer norm and a GELU."""
    c = x - ops.mean(x, -1, True)
    y = c * ops.rsqrt(ops.mean(c * c, -1, True) + TINY) * scale + shift
    return ops.sum(0.5 * y * (1 + ops.tanh(SLOPE * (y + CUBE * y**3))))


def batch_norm(x, scale, shift):
    """A batch norm in training."""
    y = ops.batch_norm(x, None, None, scale, shift, True, eps=TINY)
    y = ops.relu(y)
    return ops.mean(y * y)


def rosenbrock(x):
    """Rosenbrock's valley."""
    a, b = x[1:] - x[:-1] ** 2, 1 - x[:-1]
    return ops.sum(100 * a**2 + b**2)
