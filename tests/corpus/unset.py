"""Variables that are set on some ways only, and read where the way that was taken set them."""

from functools import partial

from autodiff_compiler import ops
from tests.corpus.cases import case, of, t


@case(of(0.3, 0.4))
@case(of(-0.3, 0.1))
def set_on_one_way_and_not_read(x):
    if ops.sum(x) > 0:
        y = x * x
        x = y + 1
    return ops.sin(x)


@case(of(0.6, 0.7))
@case(of(0.3, 0.4))
@case(of(-0.3, 0.1))
def read_where_it_is_set(x):
    if ops.sum(x) > 0:
        y = x * x
    z = ops.sin(x)
    if ops.sum(x) > 1:
        z = z * y
    return z


@case(t(3), 3)
@case(t(3), 1)
def set_by_a_loop_that_may_not_run(x, n):
    for i in range(n):
        last = x * (i + 1)
        x = ops.sin(x) + last
    return last * x


@case(of(0.3, 0.4), 3)
@case(of(-0.3, 0.4), 3)
@case(of(-0.3, 0.4), 0)
def set_before_or_in_the_loop(x, n):
    if ops.sum(x) > 0.5:
        y = ops.sin(x)
    for i in range(n):
        if i > 0 or ops.sum(x) > 0.5:
            x = x * y
        y = x * 2
    return x


@case(of(0.3, 0.4), 2)
@case(of(-0.3, 0.4), 2)
@case(of(0.3, 0.4), 0)
def names_and_functions_set_on_one_way(x, n):
    for _ in range(n):
        mode = "square"
    if ops.sum(x) > 0:
        mode, change = "square", ops.sin
        rest = []
    if ops.sum(x) > 0:
        x = change(x) * (2 if mode == "square" else 1) + len(rest)
    return x * x


@case(of(0.3, 0.4))
@case(of(-0.3, 0.1))
def pair_set_on_one_way(x):
    if ops.sum(x) > 0:
        pair = x, {"twice": x * 2}
    if ops.sum(x) > 0:
        x = pair[0] * pair[1]["twice"]
    return x * x


@case(of(0.3, 0.4))
@case(of(-0.3, 0.1))
def number_or_tensor(x):
    if ops.sum(x) > 0:
        y = x * x
    else:
        y = 3
    return y * x


@case(of(0.3, 0.4))
@case(of(-0.3, 0.1))
def whole_numbers_or_not(x):
    if ops.sum(x) > 0:
        y = x * x
    else:
        y = ops.ones_like(x).astype("int32") * 3
    return y * x


def _times_twice(x):
    twice = x * 2

    def times(z, count):
        return z * twice if count == 0 else times(z * twice, count - 1)

    return times


@case(of(0.3, 0.4), 2)
@case(of(0.3, 0.4), 1)
@case(of(0.3, 0.4), 0)
def what_remembers_values_of_one_way(x, n):
    if n > 0:
        y = x * 2
        total, product, pairs = y.sum, partial(ops.mul, y), zip([y, x], [x, y])
        times = _times_twice(y)
    if n > 1:
        z = product(x) * total() + times(x, 1)
        for a, b in pairs:
            z = z + a * b * b
        return z
    return ops.sin(x)


@case(of(0.3, 0.4))
@case(of(-0.3, 0.1))
def functions_made_on_both_ways(x):
    if ops.sum(x) > 0:
        kept = [_times_twice(x)]
    else:
        kept = [_times_twice(x * x)]
    return kept[0](x, 1)


@case(of(0.3, 0.4), 2)
def the_other_way_raises(x, n):
    if n > 0:
        y = x * x
        total, scaled = y.sum, lambda z, y=y: z * y
        changes = (ops.sin if ops.sum(x) > 0 else ops.cos), _times_twice(y)
    else:
        raise ValueError("nothing to do")
    return scaled(changes[0](x)) * total() + changes[1](x, 0)


@case(of(0.3, 0.4, 0.5), 2)
@case(of(0.3, 0.4, 0.5), 0)
def set_by_a_way_out_that_waits_for_finally(x, n):
    for i in range(3):
        try:
            if n > 1:
                return x[i] * x
        finally:
            from math import tau

        def scaled(z):
            return z * tau

        x = scaled(x) * x
    return x
