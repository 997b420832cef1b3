"""Gradients taken inside the program that is differentiated."""

from autodiff_compiler import grad, nn, ops, value_and_grad
from tests.corpus.cases import case, of, p, t


class Cube(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = p(1)

    def construct(self, x, y):
        return x * x * x * self.w + y * x


@case(t(3), t(3, phase=0.4))
class GradNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.net = Cube()
        self.grad_op = ops.GradOperation()

    def construct(self, x, y):
        return self.grad_op(self.net)(x, y)


@case(t(3), t(3, phase=0.4))
class GradAll(nn.Cell):
    def __init__(self):
        super().__init__()
        self.net = Cube()
        self.grad_op = ops.GradOperation(get_all=True, sens_param=True)

    def construct(self, x, y):
        d_x, d_y = self.grad_op(self.net)(x, y, ops.sin(x))
        return d_x * d_y


@case(t(3), t(3, phase=0.4))
class GradOfWeights(nn.Cell):
    def __init__(self):
        super().__init__()
        self.net = Cube()
        self.weights = self.net.trainable_params()

    def construct(self, x, y):
        return grad(self.net, None, self.weights)(x, y)


@case(t(3))
def inner_function(x):
    def inner(v):
        return ops.sin(v) * x

    return grad(inner)(x * x)


def cube(x):
    return x * x * x


@case(of(1.0, 2.0))
def slope(x):
    return grad(cube)(x) * x


@case(of(1.0, 2.0))
def second(x):
    return grad(grad(cube))(x)


@case(of(1.0, 2.0))
def with_value(x):
    value, slope = value_and_grad(cube)(x)
    return value * slope


@case(of(0.5, 0.25), 3)
def gradient_in_a_loop(x, n):
    for i in range(n):
        x = x - 0.1 * grad(cube)(x)
    return x


def loops(x, n):
    for i in range(n):
        if ops.sum(x) > 0.2:
            x = ops.sin(x) * x
        else:
            x = x + 0.3
    return ops.sum(x)


@case(of(0.5, 0.25), 3)
def gradient_of_a_loop(x, n):
    return grad(loops)(x, n) * x


@case(of(0.5, 0.25))
@case(of(-0.5, -0.25))
def gradient_in_a_branch(x):
    if ops.sum(x) > 0:
        return grad(cube)(x)
    return grad(ops.sin)(x)
