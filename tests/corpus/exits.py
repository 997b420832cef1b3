"""``return``, ``break`` and ``continue`` inside loops."""

from autodiff_compiler import ops
from tests.corpus.cases import case, of


@case(of(0.5, 0.7), 6)
@case(of(0.01, 0.02), 2)
def return_in_a_loop(x, n):
    for i in range(n):
        x = x * 1.6
        if ops.sum(x) > 3.0:
            return x * x
    return ops.sin(x)


@case(of(0.5, 0.7), 3, 4)
@case(of(0.01, 0.02), 2, 2)
@case(of(0.01, 0.02), 0, 2)
def return_from_nested_loops(x, n, m):
    for i in range(n):
        for j in range(m):
            x = x * 1.3
            if ops.sum(x) > 3.0:
                return x * x
        x = x + 0.1
    return ops.sin(x)


@case(of(0.5, 0.7), 6)
@case(of(0.01, 0.02), 2)
def break_(x, n):
    for i in range(n):
        x = x * 1.6
        if ops.sum(x) > 3.0:
            break
        x = x + 0.1
    return x * x


@case(of(0.5, 0.7), 6)
def continue_(x, n):
    for i in range(n):
        x = ops.cos(x) * 1.4
        if ops.sum(x) > 1.5:
            continue
        x = x * x + 0.3
    return x


@case(of(0.5, 0.7), 8)
@case(of(0.05, 0.07), 8)
@case(of(0.5, 0.7), 0)
def break_and_continue(x, n):
    for i in range(n):
        x = x * 1.4
        if i % 2 == 0:
            continue
        if ops.sum(x) > 4.0:
            break
        x = x + ops.sin(x)
    return x * x


@case(of(0.5, 0.7), 5)
def break_out_of_the_inner_loop(x, n):
    total = x
    for i in range(n):
        y = x
        for j in range(n):
            y = y * 1.5
            if ops.sum(y) > 3.0:
                break
        total = total + ops.sin(y)
    return total


@case(of(0.5, 0.7), 4)
def return_of_different_lengths(x, n):
    for i in range(n):
        x = x * 1.5
        if ops.sum(x) > 4.0:
            return x[:1]
    return x


@case(of(0.5, 0.7), 4)
@case(of(5.0, 7.0), 4)
def for_with_else(x, n):
    for i in range(n):
        if ops.sum(x) > 3.0:
            break
        x = x * 1.1
    else:
        x = ops.sin(x)
    return x * x
