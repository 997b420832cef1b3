"""Calls: of Cells within Cells, of functions, lambdas, closures and methods."""

from autodiff_compiler import nn, ops
from tests.corpus.cases import case, of, p, t


class Dense(nn.Cell):
    def __init__(self, inputs, outputs, phase=0.5, activation=None):
        super().__init__()
        self.weight = p(outputs, inputs, phase=phase)
        self.bias = p(outputs, phase=phase)
        self.activation = activation

    def construct(self, x):
        out = ops.matmul(x, self.weight.T) + self.bias
        if self.activation is not None:
            out = self.activation(out)
        return out


@case(t(2, 3))
class TwoLayers(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = Dense(3, 4, 0.5, ops.tanh)
        self.second = Dense(4, 2, 0.1)

    def construct(self, x):
        return self.second(self.first(x))


@case(t(2, 3))
class EqualLayers(nn.Cell):
    """Two equal sub-Cells with Parameters of their own share one function."""

    def __init__(self):
        super().__init__()
        self.first = Dense(3, 3, 0.5, ops.tanh)
        self.second = Dense(3, 3, 0.1, ops.tanh)

    def construct(self, x):
        return self.second(self.first(x))


@case(t(2, 3))
class SameLayerTwice(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layer = Dense(3, 3, 0.5, ops.tanh)

    def construct(self, x):
        return self.layer(self.layer(x)) + x


@case(t(2, 3))
class SharedBelow(nn.Cell):
    """One Cell reached by two ways."""

    def __init__(self):
        super().__init__()
        shared = Dense(3, 3, 0.5)
        self.left = Wrapper(shared)
        self.right = Wrapper(shared)

    def construct(self, x):
        return self.left(x) * self.right(ops.sin(x))


class Wrapper(nn.Cell):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def construct(self, x):
        return ops.tanh(self.inner(x))


@case(t(2, 3))
class Chain(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.SequentialCell([Dense(3, 4, 0.5, ops.tanh), Dense(4, 3, 0.1)])

    def construct(self, x):
        return self.layers(x) * x


@case(t(2, 3), 3)
class LayerInALoop(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layer = Dense(3, 3, 0.5, ops.tanh)

    def construct(self, x, n):
        for i in range(n):
            x = self.layer(x)
        return x


@case(t(2, 3), 2)
@case(-t(2, 3), 2)
class LayerWithControlFlow(nn.Cell):
    def __init__(self):
        super().__init__()
        self.body = Body()

    def construct(self, x, n):
        return self.body(self.body(x, n), n + 1)


class Body(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = p(3)

    def construct(self, x, n):
        for i in range(n):
            if ops.sum(x) > 0:
                x = ops.sin(x * self.w)
            else:
                x = x + self.w * self.w
        return x


@case(t(3))
class Methods(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = p(3)

    def scaled(self, x, by=2.0):
        return x * self.w * by

    @staticmethod
    def squared(x):
        return x * x

    def construct(self, x):
        return self.scaled(x) + self.scaled(x, by=3.0) * self.squared(x)


def helper(x, scale=2.0, *rest, shift=0.0):
    for extra in rest:
        x = x * extra
    return x * scale + shift


@case(t(3), t(3, phase=0.4))
def helpers(x, y):
    return helper(x) * helper(y, 3.0) + helper(x, 1.0, y, x, shift=0.5)


@case(t(3), t(3, phase=0.2), t(3, phase=0.4))
def star_arguments(first, *rest):
    total = first
    for item in rest:
        total = total * item
    return total


@case(t(3))
def lambdas(x):
    square = lambda v: v * v
    twice = lambda f, v: f(f(v))
    return twice(square, x) + square(x)


@case(t(3), t(3, phase=0.4))
def closures(x, y):
    def add(v):
        return v + y * 2.0

    def apply(f, v):
        return f(v) * v

    return apply(add, x) + add(y)


def outer(factor):
    def inner(x):
        return ops.sin(x) * factor

    return inner


made = case(t(3))(outer(3.0))


@case(t(3))
def defaults(x, scale=2.0, power=2):
    return x**power * scale


def recursive(x, depth):
    return x if depth == 0 else recursive(ops.sin(x), depth - 1)


@case(t(3))
def recursion_on_a_constant(x):
    return recursive(x, 3)


@case(t(3), 3)
def recursion_on_an_int(x, n):
    """The depth must be known: ``n`` becomes a constant."""
    return x if n <= 0 else recursion_on_an_int(ops.sin(x), n - 1)


@case(of(0.5, 0.25), 2)
class Configured(nn.Cell):
    """What is read from a configuration is known while compiling."""

    def __init__(self):
        super().__init__()
        self.settings = {"scale": 2.0, "steps": [1, 2, 3]}

    def construct(self, x, n):
        for step in self.settings["steps"]:
            x = x * step + n
        return ops.sin(x) * self.settings["scale"]


@case(of(0.3, 0.4))
@case(of(-0.3, 0.1))
class ChosenAtRunTime(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.weight = nn.Tanh(), Dense(2, 2), p(2)

    def construct(self, x):
        net = self.first if ops.sum(x) > 0 else self.second
        if ops.sum(x) > 0.5:
            change = ops.sin
        elif ops.sum(x) > -0.3:
            change = lambda v: v * v * self.weight  # noqa: E731
        else:
            change = self.second
        return net(x) * change(x) + change(x * 2)


@case(of(0.3, 0.4))
def sorted_by_what_is_known(x):
    items = [(3, x), (1, x * x), (2, ops.sin(x))]
    items.sort(key=lambda item: -item[0])
    numbers = [2, 3, 1]
    numbers.sort()
    return items[0][1] * items[2][1] * numbers[2] + items[1][1]


def _bent_and_added(a, extra):
    return ops.sin(a) + extra * 0.1


@case(t(3), t(3, phase=1.0))
def what_a_call_keeps_lies_where_a_residual_is(x, w):
    y = ops.tanh(x)
    return x + y, ops.sum(_bent_and_added(w, extra=y))
