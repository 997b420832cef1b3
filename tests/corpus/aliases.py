"""One tensor under several names, written to item by item; names in functions inside functions."""

from typing import Any, NamedTuple

from autodiff_compiler import grad, ops
from tests.corpus.cases import case, of, t


@case(t(3))
def written_by_an_inner_function(x):
    y = x * 1

    def write():
        y[0] = ops.sum(y)

    write()
    return y * x


def filled(buffer, value):
    buffer[0] = value
    return buffer


@case(t(3))
def written_by_a_helper(x):
    y = x * 1
    z = filled(y, ops.sum(x * x))
    return y * z + x


@case(t(3), 3)
@case(t(3), 0)
def two_names_in_a_loop(x, n):
    y = x * 1
    z = y
    for i in range(n):
        y[0] = y[0] * 2 + i
    return y * x + z


@case(of(0.3, 0.4))
@case(of(-0.3, 0.1))
def two_names_after_a_branch(x):
    y = x * 1
    z = y
    if ops.sum(x) > 0:
        y[0] = x[1] * x[1]
    y[1] = x[0] * 7
    return y * x + z


@case(t(3), 3)
@case(t(3), 0)
def written_in_a_carried_tuple(x, n):
    y = x * 1
    pair = (y, x)
    for i in range(n):
        pair[0][i] = x[i] * x[i]
    return y * pair[0]


@case(t(3), 2)
@case(t(3), 0)
def second_name_from_before_a_loop(x, n):
    x = ops.sin(x)
    y = x
    for i in range(n):
        y = y * x
        x = ops.tanh(x)
    x = x * 1
    x[0] = ops.sum(y)
    return x * y


@case(t(3))
def comprehension_has_variables_of_its_own(x):
    i = 7
    scaled = [(lambda a: a * a * i)(x) for i in range(3)]
    return scaled[0] * i + scaled[2]


@case(t(3))
def comprehension_inside_a_function_inside(x):
    def powers(a):
        return [a * b for b in (x, a)]

    return sum(powers(ops.sin(x)))


@case(t(3))
def gradient_of_a_writer(x):
    def write(a):
        a[0] = 2.0
        return a * a * a

    return grad(write)(x * 1)


@case(t(3))
def written_while_a_tuple_that_holds_it_is_walked(x):
    y = x * 1
    total = x
    for v in (x * 2, y, ops.sin(y)):
        y[0] = ops.sum(total)
        total = total * v
    return total * y


@case(t(3), 2)
def picked_from_a_list_and_written(x, n):
    items = [x * 1, x * 2]
    for i in range(n):
        items[i][0] = ops.sum(x)
    return items[0] * items[1]


class Both(NamedTuple):
    first: Any
    second: Any


@case(t(3), 2)
def a_field_of_a_named_tuple_is_written_under_another_name(x, n):
    y, z = x * 2, ops.sin(x)
    both = Both(y, Both(x, z))
    for i in range(n):
        z[i] = ops.sum(y * z)
    y[0] = z[1]
    return both.first * both.second.second
