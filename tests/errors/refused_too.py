"""More programs that the compiler refuses; see ``refused.py``."""

import collections
import random
import time

import numpy as np

from autodiff_compiler import Parameter, Tensor, grad, nn, ops
from tests.errors.cases import refused

X = np.array([0.5, 1.5, -0.5], np.float32)
M = np.ones((2, 3), np.float32)
ONE = np.array([0.5], np.float32)


# ---- what is refused of Python


@refused(X)
def runs_a_text(x):
    return eval("x * 2")


@refused(X)
def executes_a_text(x):
    exec("y = x * 2")
    return x


@refused(X)
def looks_at_all_variables(x):
    return globals()["X"] * x


@refused(X)
def opens_a_file(x):
    return x * len(open(__file__).read())


@refused(X)
def draws_with_python(x):
    return x * random.random()


@refused(X)
def draws_with_numpy(x):
    return x * np.random.default_rng(3).normal()


@refused(X)
def reads_the_clock(x):
    return x * time.time()


@refused(X)
def makes_a_parameter(x):
    w = Parameter(Tensor([1.0]), name="w")
    return x * w


@refused(X)
def inner_generator(x):
    def parts():
        yield x

    return sum(parts())


@refused(X)
async def awaits(x):
    y = await x
    async for z in y:
        y = z
    return y


@refused(X)
def deletes_a_global(x):
    del ONE
    return x


@refused(X)
def imports_what_is_not_there(x):
    import no_such_module

    return x * no_such_module.k


@refused(X)
def imports_a_name_that_is_not_there(x):
    from math import no_such_name

    return x * no_such_name


@refused(X)
def super_outside_a_class(x):
    return super().construct(x)


@refused(X)
class WithoutConstruct(nn.Cell):
    pass


@refused(X)
class CallsACellWithoutConstruct(nn.Cell):
    def __init__(self):
        super().__init__()
        self.inner = WithoutConstruct()

    def construct(self, x):
        return self.inner(x)


# ---- containers


SEEN: list = []


@refused(X)
def grows_a_list_from_outside(x):
    SEEN.append(x)
    return x * 2


@refused(X)
def sets_an_item_from_outside(x):
    SEEN[0] = x
    return x * 2


@refused(X)
def key_that_is_not_there(x):
    return {"a": x, "b": 2.0}["c"] * x


@refused(X)
def position_that_is_not_there(x):
    return [x, x * 2][2]


@refused(X)
def unpacks_too_many(x):
    a, b = x, x * 2, x * 3
    return a * b


@refused(X)
def sets_an_item_of_a_tuple(x):
    pair = (x, x)
    pair[0] = x * 2
    return pair[0]


@refused(X)
def list_times_tensor(x):
    return [x, x] * x


@refused(X)
def orders_lists(x):
    return x if [x, x] < [x, x * 2] else x * 2


@refused(X)
def tensor_as_key(x):
    table = {}
    table[x] = 1
    return x * table[x]


@refused(X)
def iterates_over_a_number(x):
    for k in 3:
        x = x * k
    return x


@refused(X)
def sorts_tensors(x):
    return sorted([x[0], x[1]])[0] * x


# ---- indices, axes, sizes


@refused(X)
def float_as_index(x):
    return x[0.5]


@refused(X)
def string_as_index(x):
    return x["a"]


@refused(X)
def number_of_several_elements(x):
    return x * int(x)


@refused(X, M)
def concat_of_two_ranks(x, m):
    return ops.concat((x, m))


@refused(X)
def axis_that_is_not_there(x):
    return ops.softmax(x, axis=5)


@refused(X)
def no_permutation(x):
    return ops.transpose(x, (0, 1))


@refused(X)
def padding_of_half_an_axis(x):
    return ops.pad(x, (1,))


@refused(X)
def convolution_of_a_row(x):
    return ops.conv2d(x, x)


@refused(X)
def two_sizes_to_infer(x):
    return x.reshape(-1, -1)


@refused(X)
class GivesAParameterAnotherShape(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0]), name="w")

    def construct(self, x):
        self.w = x
        return x * 2


# ---- operands and calls


@refused(X)
def adds_none(x):
    return x + None


@refused(X)
def bits_of_a_float(x):
    return x & 1


@refused(X)
def shifts_a_tensor(x):
    return x << 1


@refused(X)
def calls_a_shape(x):
    return x * x.shape()


@refused(X)
def keyword_that_an_operator_has_not(x):
    return ops.sum(x, axes=0)


@refused(X)
def lambda_without_an_argument(x):
    scaled = lambda v, k: v * k  # noqa: E731
    return scaled(x)


@refused(X)
def isinstance_of_a_number(x):
    return x if isinstance(x, 3) else x * 2


@refused(X)
def returns_a_function(x):
    return x, ops.sin


@refused(X)
def numpy_name_without_an_operator(x):
    return np.partition(x, 1)


@refused(X)
def position_without_an_argument(x):
    return grad(ops.sin, 2)(x)


@refused(X)
def sensitivity_of_another_shape(x):
    return ops.GradOperation(sens_param=True)(ops.sin)(x, x[:1])


@refused(X)
def sensitivity_of_another_dtype(x):
    return ops.GradOperation(sens_param=True)(ops.sin)(x, ops.cast(x, np.float64))


@refused(X)
def raises_in_the_test_of_a_loop(x):
    def strict(v):
        if v.sum() < 0:
            raise ValueError("negative")
        return v.sum()

    try:
        while strict(x) < 9:
            x = x * x
    except ValueError:
        return x
    return x


@refused(X)
def calls_itself_twice(x):
    def split(v):
        if v.sum() < 1:
            return v
        return split(v * 0.5) + split(v * 0.4)

    return split(x)


@refused(X)
def changes_a_deque(x):
    last = collections.deque(maxlen=2)
    last.append(x)
    return x


@refused(X)
def prints_in_a_recursion(x):
    def shrink(v):
        print(v)
        return v if v.sum() < 1 else shrink(v * 0.5) + v

    return shrink(x)


@refused(X)
def recursion_without_an_end(x):
    def grow(v):
        return grow(v * 2) if v.sum() < 9 else grow(v + 1)

    return grow(x)


@refused(X)
def catches_what_only_a_run_can_tell(x):
    try:
        return ops.cholesky(ops.outer(x, x)) @ x
    except ValueError:
        return x


@refused(X)
def reads_what_was_caught(x):
    try:
        if x.sum() < 0:
            raise ValueError("negative", x)
        return x * x
    except ValueError as error:
        return error.args[1]


@refused(X)
def compares_a_text_of_a_run(x):
    return x * 2 if f"{x.sum()}" == "1.5" else x
