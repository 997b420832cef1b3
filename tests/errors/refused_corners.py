"""Programs that are refused for what few programs do."""

import functools
import itertools

import numpy as np

from autodiff_compiler import _Function, grad, nn, ops
from tests.errors.cases import refused

X = np.array([0.5, 1.5, -0.5], np.float32)


# ---- variables that differ from way to way


@refused(X)
def text_or_tensor(x):
    s = str(x[0]) if x.sum() > 0 else x
    return s


@refused(X)
def none_on_a_way_of_a_way(x):
    if x.sum() > 0:
        h = None
        if x[0] > 1:
            h = x * 2
    return h * x


@refused(X)
def one_of_two_texts(x):
    if x.sum() > 0:
        mode = "sin"
    if x[0] > 0:
        mode = "cos"
    return ops.sin(x) if mode == "sin" else x


@refused(X)
def tensor_then_text(x):
    k = 0
    while k < x[1]:
        x = str(x[0])
        k += 1
    return x


@refused(X)
def written_beside_none(x):
    h = None
    y = x * 1
    if x[0] > 0:
        h = x * 2
    if x[1] > 0:
        h = y
    y[0] = 5.0
    return y if h is None else h * x


@refused(X)
def none_that_is_a_tensor(x):
    h = None
    if x[0] > 0:
        h = x
    return x * 2 if h is x else x


@refused(X)
def set_in_some_iterations(x):
    if x[0] > 0:
        mode = "a"
    k = 0
    while k < x[1]:
        if k > 0:
            mode = "a"
        k += 1
    return x * len(mode)


def with_an_unset_variable():
    def unset_around(x):
        return x * later

    if not X.size:
        later = 2.0
    return unset_around


refused(X)(with_an_unset_variable())


# ---- lists of run-time length


@refused(X)
def lists_of_two_kinds(x):
    found = []
    k = 0
    while k < x[1]:
        found.append(x * k)
        k += 1
    return (found + ["a"])[0]


@refused(X)
def extended_by_another_kind(x):
    found = []
    k = 0
    while k < x[1]:
        found.append(x * k)
        k += 1
    found.extend(["a", "b"])
    return found[0]


@refused(X)
def sorts_a_long_list(x):
    found = []
    k = 0
    while k < x[1]:
        found.append(x[k])
        k += 1
    found.sort()
    return found[0] * x


@refused(X)
def texts_at_a_run_time_place(x):
    return x * len(["a", "b"][int(x[1])])


@refused(X)
def many_texts(x):
    return x * len(["a"] * int(x[1]))


@refused(X)
def finds_run_time_values(x):
    return x * [x[0], x[1]].index(x[1])


@refused(X)
def unknown_list_method(x):
    return x * [x].__len__()


@refused(X)
def second_name_of_a_new_list(x):
    a = [x]
    b = a
    k = 0
    while k < x[1]:
        a = [x, x * 2]
        k += 1
    return a[0] * b[0]


@refused(X)
def problem_where_a_list_grows(x):
    found = []
    k = 0
    while k < x[1]:
        found.append(x * undefined_name)
        k += 1
    return found[0]


@refused(X)
def sizes_below_a_handler(x):
    try:
        y = (x[x > 0] * x[x < 9]).sum()
    except ValueError:
        y = x.sum()
    return y


# ---- loops and comprehensions


@refused(X)
def never_ends(x):
    while True:
        x = x * 2
    return x


@refused(X)
def counts_for_ever(x):
    for k in itertools.count():
        if k > 3:
            break
        x = x * k
    return x


@refused(X)
def writes_to_what_it_goes_through(x):
    y = x * 1
    for row in y:
        y[0] = row * 2
    return y


@refused(X)
def dict_of_run_time_keys(x):
    return {k: x for k in range(int(x[1]))}[0]


@refused(X)
def reduces_nothing(x):
    return x * functools.reduce(lambda a, b: a * b, [])


# ---- items and attributes


@refused(X)
def item_by_a_text(x):
    pair = 1.0, 2.0
    return x * pair["a"]


@refused(X)
def sets_an_item_by_a_text(x):
    parts = [x]
    parts["a"] = x
    return parts[0]


@refused(X)
def tensor_at_a_text(x):
    return x[str(x[0])]


@refused(X)
def attribute_of_a_tensor(x):
    x.label = 3
    return x


@refused(X)
def view_and_tensor(x):
    y = x * 1
    v = y[0:2]
    y[0] = 1.0
    return y.sum() * v


@refused(X)
def divides_at(x):
    y = x * 1
    np.divide.at(y, [0], 2.0)
    return y


# ---- handlers


@refused(X)
def asserts_below_a_wide_handler(x):
    def checked(v):
        return ops.sqrt(v) * v.reshape((-1, int(v[1]))).sum()

    try:
        y = checked(x)
    except (LookupError, ValueError):
        y = x
    return y.reshape((-1, int(x[1])))


@refused(np.eye(3))
def inverts_below_a_handler(a):
    try:
        y = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        y = a
    return (y * a).sum()


@refused(X)
def returns_none(x):
    x * x


@refused(X)
def returns_a_string(x):
    return "three"


@refused(X)
def removes_a_hook_on_one_way(x):
    y = x * 2
    handle = y.register_hook(lambda ct: ct * 2)
    if x[0] > 0:
        handle.remove()
    return y * x


# ---- rules


class TooManyCotangents(nn.Cell):
    def construct(self, x):
        return x * 2

    def bprop(self, x, out, d_out):
        return d_out, d_out


@refused(X)
def rule_with_too_many(x):
    return TOO_MANY(x)


TOO_MANY = TooManyCotangents()


class WrongStructure(nn.Cell):
    def construct(self, parts):
        return parts["a"] * parts["b"]

    def bprop(self, parts, out, d_out):
        return ((d_out,),)


@refused(X)
def rule_of_another_structure(x):
    return WRONG({"a": x, "b": x})


WRONG = WrongStructure()


class NeverNone(_Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * x

    @staticmethod
    def backward(ctx, ct):
        return ct


@refused(X)
def asks_for_no_zeros(x):
    return NeverNone.apply(x)


# ---- recursion and gradients inside


def scaled_until(x, parts):
    if x.sum() > 9:
        return x * parts[0]
    return scaled_until(x * 2, parts)


@refused(X)
def list_in_a_recursion(x):
    return scaled_until(x, [1.0])


def named_until(x, name):
    if x.sum() > 9:
        return x
    return named_until(x * 2, "a" if name == "b" else "b")


@refused(X)
def texts_in_a_recursion(x):
    return named_until(x, "a")


@refused(X)
def one_output_with_aux(x):
    return grad(lambda v: v.sum(), has_aux=True)(x)


@refused(X)
def sensitivity_of_no_shape(x):
    return ops.GradOperation(sens_param=True)(lambda v: v * v)(x, 2.0) * x


@refused(X)
def sensitivity_of_another_shape(x):
    return ops.GradOperation(sens_param=True)(lambda v: v * v)(x, x[0]) * x


@refused(X)
def none_in_a_tuple(x):
    state = (x, None)
    k = 0
    while k < x[1]:
        state = (state[0] * x, x * 2)
        k += 1
    return state
