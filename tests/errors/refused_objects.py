"""Programs that are refused for what they do with objects, lists and methods."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff_compiler import Parameter, Tensor, nn, ops
from tests.errors.cases import refused

X = np.array([0.5, 1.5, -0.5], np.float32)
ONE = np.array([0.5], np.float32)


# ---- objects


@dataclass(frozen=True)
class Frozen:
    left: Any
    right: Any = 2.0


class Counter:
    def __init__(self, start):
        self.count = start

    @property
    def doubled(self):
        return self.count * 2


@refused(X)
def sets_a_frozen_attribute(x):
    pair = Frozen(x)
    pair.left = x * 2
    return pair.left


@refused(X)
def sets_a_property(x):
    counter = Counter(x)
    counter.doubled = x
    return counter.count


@refused(X)
def attribute_that_an_object_has_not(x):
    return Counter(x).cuont * x


@refused(X)
def object_with_too_few_arguments(x):
    return Frozen(right=x).right * Counter().count


@refused(X)
def returns_an_object(x):
    return Counter(x)


@refused(X)
def unpacks_an_object(x):
    a, b = Counter(x)
    return a * b


@refused(X)
def orders_objects(x):
    return x if Counter(x) < Counter(x) else x * 2


@refused(X)
def object_by_two_ways(x):
    made = Counter(x) if ops.sum(x) > 0 else Frozen(x)
    return made.count


@refused(X)
class ReadsAnAttributeBeforeItIsSet(nn.Cell):
    def construct(self, x):
        y = self.kept * x
        self.kept = y
        return y


# ---- rows, ranges and methods


@refused(ONE)
def length_of_a_number(x):
    return x * len(x[0])


@refused(ONE)
def iterates_over_a_0d_tensor(x):
    for part in x[0]:
        x = x * part
    return x


@refused(X)
def keyword_of_a_list_method(x):
    items = [x]
    items.append(item=x)
    return items[0]


@refused(X)
def deletes_an_item_that_is_not_there(x):
    table = {"a": x}
    del table["b"]
    return table["a"]


@refused(X)
def sets_an_item_that_is_not_there(x):
    items = [x]
    items[3] = x
    return items[0]


@refused(X)
def deletes_an_item_of_a_tensor(x):
    y = x * 2
    del y[0]
    return y


@refused(X)
def method_that_a_list_has_not(x):
    items = [x]
    items.push(x)
    return items[0]


@refused(X)
def object_without_arguments(x):
    return Plain(x).k


@refused(X)
def python_function_on_a_tensor(x):
    return x * oct(x)


class Plain:
    k = 2.0


@refused(X)
def object_with_a_second_name(x):
    one = Counter(x)
    other = one if ops.sum(x) > 0 else Counter(x * 2)
    other.count = x * 3
    return one.count * other.count


@refused(X)
class GivesAParameterASecondName(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor(X), name="weight")
        self.kept = Tensor(X)

    def construct(self, x):
        self.kept = self.weight
        return x * self.kept


@refused(X, 3)
def leaves_a_loop_where_a_function_inside_returns(x, n):
    while n > 0:
        n = n - 1
        if missing:
            break

        def inner(y):
            return y * 2

        x = inner(x)
    return x


@refused(X)
def negates_what_a_refused_function_returns(x):
    y = x

    def inner(z):
        return z * missing

    def change():
        nonlocal y
        y = x

    y = inner(y)
    change()
    return -y


@refused(X, 3)
def sets_a_tensor_of_a_loop_to_what_is_not_there(x, n):
    y, z = x, ops.sin(x)
    for i in range(n):
        z = z + y
        if i > 1:
            y = missing * i
    return y * z


@refused(X)
def looks_for_a_tensor_in_a_list(x):
    return x * [x * 2, x].index(x)


@refused(X, 3)
def sorts_a_list_of_run_time_length(x, n):
    rows = []
    for i in range(n):
        rows.append(x * i)
    rows.sort()
    return rows[0]


@refused(X)
def rounds_to_places(x):
    return x * round(ops.sum(x), 2)


@refused(X)
def asks_for_the_length_of_a_number(x):
    return x * len(ops.sum(x))


@refused(X)
def batches_with_axes_for_another_number(x):
    def inner(pair):
        return pair[0] * pair[1]

    return ops.vmap(inner, ((0, 0, 0),))((x, x))


@refused(X)
def batches_what_has_no_result(x):
    def inner(row):
        return 2

    return x * ops.vmap(inner)(x)


@refused(X)
def gives_a_tangent_of_another_shape(x):
    return ops.jvp(ops.sin, x, x[:2])[1]


@refused(X)
def gives_a_sensitivity_of_another_structure(x):
    def inner(y):
        return y, y * 2

    return ops.GradOperation(sens_param=True)(inner)(x, (x, x, x))


@refused(X)
class SetsAParameterToAText(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor(X), name="weight")

    def construct(self, x):
        self.weight = "text"
        return x * self.weight


@refused(X)
class SetsAParameterToANumber(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor(X), name="weight")

    def construct(self, x):
        self.weight = 3.0
        return x * self.weight


@refused(X)
class AssignsANumberToManyElements(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor(X), name="weight")

    def construct(self, x):
        ops.assign(self.weight, 3.0)
        return x * self.weight


@refused(X)
class AssignsHalf(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor(X), name="weight")

    def construct(self, x):
        ops.assign(self.weight)
        return x * self.weight


@refused(X)
def reads_what_a_module_does_not_have(x):
    return x * np.nothing


@refused(X)
def reads_what_a_class_does_not_have(x):
    return x * Tensor.nothing


@refused(X)
def takes_half_an_item_of_a_list(x):
    return [x, x * 2][ops.sum(x) * 0.5]


# ---- what only a run, or Python alone, can tell


@refused(X)
def tensor_that_may_be_another(x):
    y = x
    for _ in range(3):
        if y is x:
            y = y * x
        y = y * 2
    return y


@refused(X)
def number_that_is_another(x):
    return x * 2 if int(x[0]) is int(x[1]) else x


@refused(X)
def kind_of_a_set(x):
    return x * 2 if isinstance({1, 2}, set) else x


@refused(X)
def negative_list(x):
    return x * -[1.0]


@refused(X)
def length_of_a_run_time_range(x):
    n = range(int(x[0]) + 3)
    return x * len(n) * n[0]
