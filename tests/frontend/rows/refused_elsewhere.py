"""What MindSpore's graph mode refuses, and this compiler accepts."""

import functools

from autodiff_compiler import Tensor, nn, ops
from tests.frontend.rows.rows import row


@row("if branches different dtype")
def branches_of_different_dtype(x):
    if x.sum() > 0:
        y = x * x
    else:
        y = Tensor([1, 2])
    return y * x


@row("while else")
def while_else(x):
    i = 0
    while i < 2:
        x = x * x
        i += 1
    else:
        x = x * 3
    return x


@row("for else")
def for_else(x):
    y = x
    for i in range(3):
        if y.sum() > 100:
            break
        y = y * x
    else:
        y = y * 5
    return y


@row("list comp nested two iterators")
def two_generators(x):
    return sum([x * i * j for i in (1, 2) for j in (3, 4)]) * x


@row("set comprehension")
def set_comprehension(x):
    s = {i % 3 for i in (1, 2, 4)}
    return x * len(s) * sum(s)


@row("walrus")
def walrus(x):
    if (s := x.sum()) > 0:
        return x * s
    return s


class Ctx:
    def __enter__(self):
        return 2.0

    def __exit__(self, *exc):
        return False


@row("del statement")
def del_statement(x):
    y = x * 2
    z = y * x
    del y
    return z


@row("del item")
def del_item(x):
    items = [x, x * x, 2.0]
    del items[0]
    return items[0] * items[1]


@row("import inside")
def import_inside(x):
    import math

    return x * math.sqrt(2.0) * x


@row("from import inside")
def from_import_inside(x):
    from math import pi

    return x * pi * x


@row("set literal")
def set_literal(x):
    s = {1, 2}
    return x * len(s) if 2 in s else x


@row("while with and")
def while_and(x):
    i = 0
    while i < 3 and x.sum() < 30:
        x = x * x
        i = i + 1
    return x


@row("for range with tensor bound")
def range_of_tensor(x):
    n = Tensor(3)
    y = x
    for i in range(n):
        y = y * x + i
    return y


@row("shape change in tensor-cond while")
def shape_change_in_while(x):
    y = x
    while y.sum() < 30:
        y = ops.concat((y, y * 1.5))
    return y.sum() * x


@row("lambdas on one line")
def lambdas_on_a_line(x):
    return (lambda v: v * v)(x) + (lambda v: ops.sin(v))(x)


class Recursive(nn.Cell):
    pass


@row("partial of a lambda")
def partial_of_lambda(x):
    return functools.partial(lambda a, b: a * b, b=x)(x)


@row("generator consumed on the spot")
def generator_on_the_spot(x):
    first, second = (x * k for k in (2.0, 3.0))
    return first * second + max(v for v in (1.0, 2.0))


@row("complex literal")
def complex_literal(x):
    return x * (1 + 2j).imag


@row("if one branch defines var")
def defined_on_one_way(x):
    if x.sum() > 0:
        y = x * x
    return y * x


@row("inner def nonlocal")
def inner_nonlocal(x):
    k = x

    def grow():
        nonlocal k
        k = k * x

    grow()
    grow()
    return k


@row("with statement custom")
def with_custom(x):
    with Ctx() as k:
        y = x * x * k
    return y


@row("match statement")
def match_statement(x, n=2):
    match n:
        case 1:
            y = x
        case 2 | 3:
            y = x * x
        case _:
            y = x * 3
    return y
