"""Programs that the compiler refuses. What it says of each stands in ``messages.txt``."""

import math
import threading

import numpy as np

from autodiff_compiler import Parameter, Tensor, grad, nn, ops
from tests.errors.cases import refused

X = np.array([0.5, 1.5, -0.5], np.float32)
M = np.ones((2, 3), np.float32)
LOCK = threading.Lock()
ONE = np.array([0.5], np.float32)


# ---- syntax


@refused(X)
def generator(x):
    y = x * 2
    yield y


@refused(X)
def guarded(x):
    try:
        x = x * x
    finally:
        return x  # noqa: B012


@refused(X)
def context(x):
    with LOCK:
        return x * x


@refused(X)
def defines_a_class(x):
    class Local:
        pass

    return x


@refused(X)
def changes_a_global(x):
    global ONE
    ONE = x
    return x


@refused(X)
def deleting(x):
    y = x * x
    del y
    return y


@refused(X)
def context_left_from_the_middle(x):
    with np.errstate(all="ignore"):
        if ops.sum(x) > 0:
            return x
        x = x * x
    return x


def _counter():
    count = 0

    def changes_a_variable_outside(x):
        nonlocal count
        count = count + 1
        return x

    return changes_a_variable_outside


refused(X)(_counter())


@refused(X)
async def waiting(x):
    return x


@refused(X)
class TwoKinds(nn.Cell):
    """Everything that the fence refuses is told at once."""

    def construct(self, x):
        with np.errstate(all="ignore"):
            x = x * 2
        try:
            x = x * 3
        finally:
            yield x
            return  # noqa: B012
        return self.nothing


# ---- names


@refused(X)
def unknown_name(x):
    return x * scael


@refused(X)
class UnknownAttribute(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor(X))

    def construct(self, x):
        return x * self.wieght


@refused(X)
def unknown_method(x):
    return x.reshap(3, 1)


@refused(X)
def unknown_operator(x):
    return ops.matmull(x, x)


# ---- shapes, dtypes and kinds


@refused(M, M)
def matmul_shapes(x, y):
    return ops.matmul(x, y)


@refused(M, np.ones(2, np.float32))
def broadcast_shapes(x, y):
    return x + y


@refused(M)
def reshape_sizes(x):
    return x.reshape(4, 2)


@refused(M)
def too_many_indices(x):
    return x[0, 1, 2]


@refused(X, X.astype(np.float64))
def matmul_dtypes(x, y):
    return ops.matmul(x, y)


@refused(X)
def adds_a_string(x):
    return x + "one"


@refused(X)
def calls_a_number(x):
    scale = 2.0
    return scale(x)


@refused(X)
def several_elements(x):
    if x > 0:
        return x
    return -x


@refused(X)
def unrollable_while(x):
    pair = (x,)
    while ops.sum(x) > 0.1:
        x = x * 0.5
        pair = (*pair, x)
    return pair


# ---- calls and derivatives


def helper(a, b):
    return a * b


@refused(X)
def too_few_arguments(x):
    return helper(x)


@refused(X)
def unknown_keyword(x):
    return helper(x, c=x)


@refused(X)
def math_on_a_tensor(x):
    return math.sin(x)


@refused(X)
def endless(x):
    if ops.sum(x) > 0:
        return endless(x - 0.5) + endless(x - 0.6)
    return x


@refused(X)
def gradient_of_nothing(x):
    def inner(v):
        return None

    return grad(inner)(x)


@refused(X)
class TwoProblems(nn.Cell):
    """A name and a shape, in one report."""

    def construct(self, x):
        a = x * scael
        b = x + np.ones(2, np.float32)
        return a + b


# ---- lists that differ from way to way


@refused(X)
def list_with_a_second_name(x):
    items = [x, x]
    others = items
    if ops.sum(x) > 0:
        items = [x * 2, x * 3]
    items[0] = x * 5
    return others[0] * items[0]


@refused(X)
def key_on_one_way_in_a_loop(x):
    state = {"a": x}
    for i in range(3):
        if ops.sum(x) > i:
            state["b"] = x * i
    return state["b"]


@refused(X)
def none_or_a_list(x):
    kept = None
    for i in range(3):
        if ops.sum(x) > i:
            kept = [x * i]
    return x if kept is None else kept[0]


# ---- tensors that may be one


@refused(X)
def written_where_a_second_name_may_be(x):
    y = x * 1
    z = x * 2
    if ops.sum(x) > 0:
        z = y
    z[0] = 3.0
    return y + z


class KeepsATensor(nn.Cell):
    def __init__(self):
        super().__init__()
        self.start = Tensor(X)


@refused(X)
class WritesToWhatMayBeFromOutside(KeepsATensor):
    def construct(self, x):
        y = self.start if ops.sum(x) > 0 else x * 1
        y[0] = 3.0
        return y


@refused(X)
def gradient_of_what_writes_to_its_argument(x):
    def write(a):
        a[0] = 2.0
        return a * a

    return grad(write)(x) * x


# ---- methods of lists


@refused(X)
def pop_of_nothing(x):
    return [].pop() * x


@refused(X)
def remove_compares(x):
    items = [x, x * 2]
    items.remove(x)
    return items[0]


def halving_the_first(q):
    q[0] = q[0] * 0.5
    return q * 2


@refused(X)
def used_and_changed_at_once(x):
    y = x * 1
    y = y + halving_the_first(y)
    y.mul_(halving_the_first(y))
    return y
