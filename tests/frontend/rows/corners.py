"""Corners of the language: each program takes a way through the front end that few others take."""

import functools
import itertools
import operator
import re

import autodiff_compiler as ms
from autodiff_compiler import nn, ops
from tests.frontend.rows.rows import of, row


class Box:
    def __init__(self, a):
        self.a = a

    def times(self, x):
        return self.a * x


GLOBAL_HALF = functools.partial(operator.mul, 0.5)


GLOBAL_KW = functools.partial(lambda x, k: x * k, k=3.0)


GLOBAL_METHOD = Box(4.0).times


@row("int times list")
def int_times_list(x):
    return sum(2 * [x, x * x])


@row("maybe beside raise")
def maybe_beside_raise(x):
    if x.sum() > 0:
        if x[0] > 1:
            y = x * 2
    else:
        raise ValueError("negative")
    return y * x


@row("unknown rank")
def unknown_rank(x):
    y = x * x
    k = 0
    while k < x[0]:
        y = y.expand_dims(0)
        k += 1
    t = 0
    for r in y:
        t = t + r.sum()
    return y.sum() * t * len(y) * y.shape[0] * x


@row("dict kw")
def dict_kw(x):
    d = dict(a=x, b=2.0)
    return d["a"] * d["b"] * x


@row("attrgetters")
def attrgetters(x):
    b = Box(Box(x))
    return (
        operator.attrgetter("a.a")(b)
        * operator.attrgetter("a")(b.a)
        * operator.itemgetter(0, 1)([x, 2.0])[1]
    )


@row("objects in lists")
def objects_in_lists(x):
    a, b = Box(x), Box(x)
    return x * (2.0 if [a] == [b] else 3.0) * (x if [a] == [a] else 1.0) * (x if a != b else 1.0)


@row("closure perhaps")
@row("closure perhaps", of(-1.5, -2.5))
def closure_perhaps(x):
    h = None
    if x.sum() > 0:
        h = x * 2

    def inner():
        return h * x

    return inner() if h is not None else x * 3


@row("closure perhaps2")
def closure_perhaps2(x):
    h = None
    if x.sum() > 0:
        h = x * 2

    def inner():
        return h * x

    return inner()


@row("truth long")
@row("truth long", of(-1.5, -2.5))
def truth_long(x):
    found = []
    k = 0
    while k < x[0]:
        found.append(x * k)
        k += 1
    if found:
        return found[-1] * x
    return x * 7


@row("method over branch")
@row("method over branch", of(-1.5, 2.5))
def method_over_branch(x):
    parts = []
    add = parts.append
    if x[0] > 0:
        add(x)
    else:
        add(x * 2)
    add(x * 3)
    return parts[0] * parts[1]


@row("partial over branch")
@row("partial over branch", of(-1.5, 2.5))
def partial_over_branch(x):
    parts = [x]
    f = functools.partial(lambda held, y: held[0] * y, parts)
    if x[0] > 0:
        parts[0] = x * 2
    return f(x)


@row("bound over branch")
@row("bound over branch", of(-1.5, 2.5))
def bound_over_branch(x):
    b = Box(x)
    t = b.times
    if x[0] > 0:
        b.a = x * 2
    return t(x)


@row("zip var")
def zip_var(x):
    it = zip((1.0, 2.0), (x, x * x))
    y = 0
    for a, b in it:
        y = y + a * b
    return y * (len(list(it)) + 1)


@row("accum")
def accum(x):
    a = list(itertools.accumulate([x, x * 2, x]))
    b = list(itertools.accumulate([1, 2, 3], operator.mul))
    return a[2] * a[1] * b[2]


@row("names grow")
def names_grow(x):
    names = ["a"]
    y = x
    for k in range(12):
        names.append("b")
        y = y + x
    return y * len(names)


@row("static in loop", of(1.5, 2.5), 2)
def static_in_loop(x, n):
    y = x
    for k in range(20):
        y = y * 0.9 + x.reshape((n, 1)).sum()
    return y * x


@row("enum range")
def enum_range(x):
    y = x
    for i, k in enumerate(range(2, 14)):
        y = y * 0.5 + i * k * x
    return y


@row("zip uneven")
def zip_uneven(x):
    y = x
    for a, b in zip(range(1, 5), x):
        y = y * a * b
    return y


@row("unrolled break")
@row("unrolled break", of(-1.5, 2.5))
def unrolled_break(x):
    y = x
    for f in (ops.sin, ops.cos, ops.tanh):
        y = f(y) * x
        if y.sum() > 1.5:
            break
    else:
        y = y * 3
    return y


@row("tuple state")
@row("tuple state", of(-1.5, 0.5))
def tuple_state(x):
    state = (x, None)
    k = 0
    while k < x[1]:
        if state[1] is None:
            y = x
        else:
            y = state[1] * 2
        state = (y * x, y)
        k += 1
    return state[0] * x


@row("dict state")
def dict_state(x):
    state = {"h": None, "c": x}
    for k in range(12):
        y = x if state["h"] is None else state["h"] * 0.5
        state = {"h": y, "c": state["c"] + y}
    return state["c"] * x


@row("write beside perhaps")
@row("write beside perhaps", of(-1.5, 2.5))
def write_beside_perhaps(x):
    h = None
    if x[0] > 0:
        h = x * 2
    y = x * 1
    y[0] = 5.0
    if h is not None:
        y = y * h
    return y * x


@row("construct called")
def construct_called(x):
    return INNER.construct(x)


class Inner(nn.Cell):
    def construct(self, x):
        return x * x * 2


INNER = Inner()


@row("finditer")
def finditer(x):
    return x * len(list(re.finditer("a", "abab")))


@row("outside parts")
def outside_parts(x):
    return GLOBAL_HALF(x) * GLOBAL_KW(x) + GLOBAL_METHOD(x)


@row("text before loop")
@row("text before loop", of(-1.5, 2.5))
def text_before_loop(x):
    if x[0] > 0:
        m = "a"
    k = 0
    while k < x[1]:
        m = "a"
        k += 1
    return x * len(m)


@row("summed and read")
def summed_and_read(x):
    total = 0
    y = x
    for r in x:
        total = total + r
        y = y * total
    return y


@row("a sum that is read before it is added to")
def summed_before_it_is_added(x):
    total = 0
    y = x
    for r in x:
        y = y + total * x
        total = total + r
    return y * total


@row("a number as the sensitivity of a number", gradient=lambda x: 2 * 2 * 2 * x)
def sensitivity_as_a_number(x):
    return ops.GradOperation(sens_param=True)(lambda v: (v * v).sum())(x, 2.0) * x


@row("a number as the sensitivity of an array without axes", gradient=lambda x: 2 * 2 * 2 * x)
def sensitivity_as_a_number_of_an_array(x):
    def total(v):
        return (v * v).sum(keepdims=True).reshape(())

    return ops.GradOperation(sens_param=True)(total)(x, 2.0) * x


class Product(nn.Cell):
    def construct(self, parts):
        return parts[0] * parts[1]


HALF = Product().to_float(ms.float16)


@row("a list of what is narrowed", gradient=lambda x: 4 * x)
def narrowed_list(x):
    return HALF([x, x * 2]) * 1.0
