"""``while``: on counters and on tensors."""

from autodiff_compiler import nn, ops
from tests.corpus.cases import case, of, p, t


@case(t(3), 4)
@case(t(3), 0)
def counter(x, n):
    i = 0
    while i < n:
        x = ops.sin(x) * 1.5
        i += 1
    return x


@case(of(2.0))
def newton(a):
    """The square root; the condition is a tensor."""
    x = a
    while ops.sum(ops.abs(x * x - a)) > 1e-3:
        x = 0.5 * (x + a / x)
    return x


@case(of(1.5, 0.5))
def halving(x):
    while ops.sum(x * x) > 0.1:
        x = x * 0.5 * ops.cos(x)
    return x


@case(of(0.1, 0.2))
def zero_trips(x):
    while ops.sum(x) > 10.0:
        x = x * x
    return x * x


@case(of(0.5, 0.7), 10)
def with_break(x, n):
    i = 0
    while i < n:
        x = x * 1.5
        if ops.sum(x) > 4.0:
            break
        x = x + 0.1
        i += 1
    return x * x


@case(of(0.5, 0.7))
def forever(x):
    while True:
        x = x * x + 0.5
        if ops.sum(x) > 3.0:
            return x
        x = x + 0.25


@case(of(1.5, 0.5), 3)
def two_conditions(x, n):
    i = 0
    while i < n and ops.sum(x) > 0.3:
        x = x * 0.7
        i = i + 1
    return x * x


@case(of(0.5, 1.5), 3)
def inside_for(x, n):
    for i in range(n):
        while x.max() > 1.0:
            x = x * x * 0.4
        x = x + 0.5
    return x


@case(t(3))
class WithParameter(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = p(3, 3)
        self.limit = 0.05

    def construct(self, x):
        x = x + 2.0
        count = 0
        while ops.sum(x * x) > self.limit:
            x = ops.matmul(x, self.w * 0.3)
            count = count + 1
        return x * count


@case(t(3), t(2, 3), t(3, 3), 3)
def rows_that_every_turn_goes_through_anew(x, m, u, turns):
    done = 0
    while done < turns:
        done += 1
        for row, mixed in zip(m, ops.matmul(m, u)):
            near = ops.sum(row * x) > 0.1
            if near:
                bent = ops.sin(row + mixed)
            y = bent * row if near else row
            x = x * x
    return y + x
