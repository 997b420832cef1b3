"""Functions inside functions, arguments, star calls, gradients taken inside."""

import functools
import math

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from tests.frontend.rows.rows import of, row

SCALE = 3.0
TABLE = of(2.0, 5.0)


@row("lambda local")
def lambda_local(x):
    twice = lambda v: v * 2
    return twice(x) * x


@row("lambda default arg")
def lambda_default(x):
    scaled = lambda v, k=2.5, *, b=1.0: v * k + b
    return scaled(x) * scaled(x, 3.0, b=2.0)


@row("inner def")
def inner_def(x):
    def square(v):
        return v * v

    return square(x) + square(x * 2)


@row("inner def closure")
def inner_closure(x):
    k = x.sum()

    def scaled(v):
        return v * k

    k = k * 2
    return scaled(x)


@row("inner def recursion")
def inner_recursion(x):
    def power(v, n):
        return v if n == 1 else v * power(v, n - 1)

    return power(x, 4)


@row("inner def varargs")
def inner_varargs(x):
    def total(first, *rest, scale=1.0, **more):
        for part in rest:
            first = first + part * scale
        return first * more["last"] + len(rest)

    return total(x, x * x, ops.sin(x), scale=2.0, last=x)


@row("global var read")
def global_read(x):
    return x * SCALE


@row("global tensor read")
def global_tensor(x):
    return x * TABLE * x


@row("star call")
def star_call(x):
    pair = (x, x * x)
    return ops.mul(*pair) + ops.add(*[x, x])


def scaled_sum(x, y, k=1.0, b=0.0):
    return x * y * k + b


@row("double star call")
def double_star(x):
    options = {"k": 2.5, "b": x}
    return scaled_sum(x, y=x, **options)


class Affine(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(of(2.0, -3.0), name="w")

    def construct(self, x, *, scale=1.0, shift=None):
        y = x * self.w * scale
        return y if shift is None else y + shift


@row("kwargs call to subcell")
class CallsWithKeywords(nn.Cell):
    def __init__(self):
        super().__init__()
        self.affine = Affine()

    def construct(self, x):
        return self.affine(x, scale=2.5, shift=x * x) * self.affine(x)


@row("functools.partial")
def partial(x):
    halved = functools.partial(scaled_sum, y=x, k=0.5)
    return halved(x) + functools.partial(ops.mul, x)(x)


@row("string default kw")
def string_default(x, mode="sin"):
    return ops.sin(x) if mode == "sin" else ops.cos(x)


@row("kwonly default param")
def keyword_only(x, *, k=3.0):
    return x * x * k


@row("type annotation in signature")
def annotated(x: Tensor, k: "int" = 2) -> Tensor:
    return x * x * k


@row("docstring+ellipsis body")
class Documented(nn.Cell):
    """A Cell."""

    def helper(self):
        """Does nothing."""
        ...

    def construct(self, x):
        """Squares."""
        self.helper()
        return x * x


def cube(x):
    return x * x * x


@row("grad inside construct", gradient=lambda x: 6 * x)
def grad_inside(x):
    return ms.grad(cube)(x)


@row("GradOperation inside construct")
class GradOperationInside(nn.Cell):
    def __init__(self):
        super().__init__()
        self.net = Affine()
        self.gradient = ops.GradOperation(get_all=True)

    def construct(self, x):
        return self.gradient(self.net)(x)[0] * x


@row("value_and_grad inside construct", gradient=lambda x: 3 * x**2 + 6 * x)
def value_and_grad_inside(x):
    value, gradient = ms.value_and_grad(cube)(x)
    return value + gradient


@row("stop_gradient", gradient=lambda x: x)
def stops(x):
    return ops.stop_gradient(x) * x


@row("math.sqrt const")
def math_constant(x):
    return x * math.sqrt(2.0) * math.pi


@row("builtin callable")
def calls_callable(x):
    return x * x if callable(cube) and not callable(3) else x


@row("return tuple")
def returns_tuple(x):
    return x * x, (ops.sin(x), x)


@row("return dict")
def returns_dict(x):
    return {"a": x * x, "b": [ops.sin(x)]}


@row("return list")
def returns_list(x):
    return [x * x, ops.sin(x)]


@row("return int", gradient=lambda x: 0 * x)
def returns_int(x):
    return 3


@ms.jit
def jitted(v, k=2.0):
    return v * v * k


class WithJit(nn.Cell):
    @ms.jit
    def inner(self, v):
        return ops.sin(v)

    def construct(self, x):
        return self.inner(x) * jitted(x) * jitted(x, k=x)


row("jit function")(WithJit)


@row("Tensor of a value")
def tensor_of_a_value(x):
    return Tensor(x) * Tensor(x, ms.float32) * Tensor(float(x.shape[0]), ms.float32)


@row("decorator inner fn")
def wraps_inside(x):
    def doubled(fn):
        @functools.wraps(fn)
        def both(*args, **kwargs):
            return fn(*args, **kwargs) * 2

        return both

    @doubled
    @doubled
    def square(v, k=1.0):
        return v * v * k

    return square(x, k=x)


@row("__name__ of an inner function")
def name_of_an_inner_function(x):
    def helper(v):
        return v * v

    return helper(x) if helper.__name__ == "helper" else x
