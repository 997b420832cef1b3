"""Texts that call themselves until a run says that it is enough."""

from autodiff_compiler import Parameter, nn, ops
from tests.frontend.rows.rows import of, row

LARGE, SMALL = of(1.6, 2.7), of(0.31, 0.4)


@row("recursion with a run-time base case", LARGE)
@row("recursion with a run-time base case", SMALL)
def halving(x):
    if x.sum() < 1.0:
        return x * x
    return halving(x * 0.5) * 3.0


def shrinking(x, n=0):
    if x.max() < 0.5 or n > 30:
        return x * n
    y = shrinking(x / 2 - 0.1, n + 1)
    if y.sum() > 2:
        return y * x
    return y + x * x


@row("recursion that counts, in a loop", LARGE)
@row("recursion that counts, in a loop", SMALL)
def counting(x):
    y = shrinking(x) * x
    for i in range(3):
        y = y + halving(x + i)
    return y


class Damped(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(of(0.5, 0.6), name="w")
        self.limit = 0.9

    def construct(self, x):
        if x.sum() < self.limit:
            return ops.sin(x)
        y = self(x * self.w)
        return y * self.w + x


row("recursion of a Cell", LARGE)(Damped)


def even(x):
    return x * 2 if x.sum() < 1 else odd(x * 0.5) + x


def odd(x):
    return x * x if x.sum() < 1 else even(x * 0.7) * x


@row("recursion of two functions", LARGE)
@row("recursion of two functions", SMALL)
def of_two(x):
    return even(x) * odd(x * 1.1)


@row("recursion with tuples, and with what stays", LARGE)
def with_tuples(x):
    def go(p, by):
        a, b = p
        if a.sum() > 9:
            return a, b
        c, d = go((a * by + 0.1, b + a), by)
        return c * 0.9 * x, d + a

    a, b = go((x, x * 0), 1.5)
    return a * b


@row("recursion that raises", LARGE)
@row("recursion that raises", of(5.3, 7.1))
def raising(x):
    def go(v):
        if v.sum() > 20:
            raise ValueError("large")
        if v.sum() > 4:
            return v
        return go(v * 2.1) + v

    try:
        return go(x * 1.3)
    except ValueError as error:
        print(error)
        return x * x


def power(v, n):
    return v * 0 + 1 if n == 0 else v * power(v, n - 1)


@row("recursion with an end that is known", of(1.01, 0.98))
def known(x):
    return power(x, 60)
