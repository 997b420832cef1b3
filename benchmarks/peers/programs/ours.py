"""The workloads as users of this package write them: models as Cells, the rest as functions."""

from __future__ import annotations

from autodiff_compiler import Parameter, Tensor, nn, ops
from benchmarks.workloads.adaptive import END, MOST, STEP
from benchmarks.workloads.attention import HEADS, HIDDEN, SCALE, WIDTH
from benchmarks.workloads.heat import STEPS
from benchmarks.workloads.losses import POSITIVE
from benchmarks.workloads.newton import START, TOLERANCE
from benchmarks.workloads.norm import CUBE, GROUPS, SLOPE, TINY
from benchmarks.workloads.second import PENALTY
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


class CausalAttention(Weighted):
    """Four heads of attention, in which no step sees a later one."""

    def construct(self, x, mask):
        batch, steps, wide = x.shape
        split = (batch, steps, HEADS, WIDTH)
        q = ops.matmul(x, self.w_q).reshape(split).transpose(0, 2, 1, 3)
        k = ops.matmul(x, self.w_k).reshape(split).transpose(0, 2, 3, 1)
        v = ops.matmul(x, self.w_v).reshape(split).transpose(0, 2, 1, 3)
        scores = ops.masked_fill(ops.matmul(q, k) * SCALE, mask, HIDDEN)
        y = ops.matmul(ops.softmax(scores, -1), v).transpose(0, 2, 1, 3)
        out = ops.matmul(y.reshape((batch, steps, wide)), self.w_out)
        return ops.mean(out * out)


class EmbeddingBag(Weighted):
    """The means of rows of a table, and a layer."""

    def construct(self, words):
        m = ops.mean(ops.gather(self.table, words, 0), 1)
        h = ops.tanh(ops.matmul(m, self.w) + self.b)
        return ops.mean(h * h)


def graph(sources, targets, counts, nodes, w_own, w_near):
    """Nodes beside the mean of their neighbours."""
    near = ops.unsorted_segment_sum(nodes[sources], targets, nodes.shape[0]) / counts
    h = ops.relu(ops.matmul(nodes, w_own) + ops.matmul(near, w_near))
    return ops.mean(h * h)


def heat(u, k):
    """Heat on a plate whose border is held."""
    for _ in range(STEPS):
        bend = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        u = u + ops.pad(k * bend, (1, 1, 1, 1))
    return ops.mean(u * u)


class Lstm(Weighted):
    """A loop over the steps of a sequence, with gates."""

    def construct(self, x):
        h = ops.zeros_like(x[0])
        c = ops.zeros_like(x[0])
        for k in range(x.shape[0]):
            gates = ops.matmul(x[k], self.w_in) + ops.matmul(h, self.w) + self.b
            i, f, o, g = ops.chunk(gates, 4, 1)
            c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
            h = ops.sigmoid(o) * ops.tanh(c)
        return ops.mean(h * h)


def group_norm(x, scale, shift):
    """A group norm and a SiLU."""
    return ops.mean(ops.silu(ops.group_norm(x, GROUPS, scale, shift, TINY)))


class FocalLoss(Weighted):
    """The loss alone; what it is taken of is the weight."""

    def construct(self, labels):
        p = ops.sigmoid(self.logits)
        loss = ops.binary_cross_entropy_with_logits(self.logits, labels, reduction="none")
        right = p * labels + (1 - p) * (1 - labels)
        share = POSITIVE * labels + (1 - POSITIVE) * (1 - labels)
        return ops.mean(share * (1 - right) ** 2 * loss)


def hvp(x, y, v1, c1, v2, c2, w1, b1, w2, b2):
    """The Hessian of a net's loss times a direction."""

    def loss(w1, b1, w2, b2):
        error = ops.matmul(ops.tanh(ops.matmul(x, w1) + b1), w2) + b2 - y
        return ops.mean(error * error)

    return ops.hvp(loss, (w1, b1, w2, b2), (v1, c1, v2, c2))


def gradient_penalty(x, w1, b1, w2):
    """A critic, and a penalty on the length of its gradient."""

    def critic(x):
        return ops.matmul(ops.tanh(ops.matmul(x, w1) + b1), w2)

    d_x = ops.grad(critic)(x)
    long = ops.sqrt(ops.sum(d_x * d_x, 1))
    return ops.mean(critic(x)) + PENALTY * ops.mean((long - 1) ** 2)


def adaptive(y, w, b):
    """Steps through time as long as the error allows."""
    t = 0.0
    step = STEP
    while t < END:
        first = ops.tanh(ops.matmul(y, w) + b)
        second = ops.tanh(ops.matmul(y + step * first, w) + b)
        error = 0.5 * step * ops.max(ops.abs(second - first))[0]
        if error > MOST:
            step = step * 0.5
        else:
            y = y + 0.5 * step * (first + second)
            t = t + step
            if error < MOST / 4:
                step = step * 2
    return ops.mean(y * y)
