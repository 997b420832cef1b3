"""What is left from its middle: exceptions of called texts, recursion, what may be None."""

from autodiff_compiler import ops
from tests.corpus.cases import case, of


def positive(x):
    if ops.sum(x) < 0:
        raise ValueError("negative")
    return x * ops.sin(x)


@case(of(1.2, 0.7))
@case(of(-1.2, 0.3))
def thrown_by_a_function(x):
    y = x
    try:
        y = positive(x) + positive(x - 0.8) * x
    except ValueError:
        y = y * y * 0.5
    return y * x


@case(of(1.2, 0.7))
@case(of(-1.2, 0.3))
def thrown_in_a_loop(x):
    y = x
    for i in range(3):
        try:
            y = y + positive(y - 0.6 * i) * 0.3
        except ValueError:
            y = y * 0.5 + x * x
    return y


@case(of(1.2, 0.7), 2)
@case(of(1.2, 0.7), 4)
def an_index_out_of_range(x, n):
    found = []
    for i in range(n):
        found.append(x * (i + 1))
    try:
        y = found[int(ops.sum(x))] * found[3]
    except IndexError:
        y = found[0] * 0.3
    return y * x


@case(of(2.2, 1.7))
@case(of(0.2, 0.3))
def recursion(x):
    def halved(v, by):
        if ops.sum(v) < 1.0:
            return v * by
        return ops.sin(halved(v * 0.5, by + v)) + v * v

    return halved(x, x)


@case(of(1.2, 0.7))
@case(of(-1.2, 0.3))
def none_on_one_way(x):
    h = None
    for i in range(4):
        if h is None:
            h = x * x
        elif ops.sum(h) > 2.0:
            h = None
        else:
            h = h * 1.3 + x
    return x if h is None else h * x
