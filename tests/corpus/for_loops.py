"""``for``: over ranges, rows, tuples and Cells; what is carried, and what is read afterwards."""

from autodiff_compiler import Tensor, nn, ops
from tests.corpus.cases import case, of, p, t


@case(t(2, 3), 4)
@case(t(2, 3), 0)
class Decay(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = p(3, 3)

    def construct(self, x, n):
        h = x
        for i in range(n):
            u = ops.matmul(h, self.w)
            if ops.sum(u) > 0:
                h = ops.tanh(u)
            else:
                h = u * 0.5
        return h


@case(t(3), 2, 3)
@case(t(3), 0, 3)
@case(t(3), 2, 0)
def nested(x, n, m):
    total = x * 0.0
    for i in range(n):
        for j in range(m):
            total = total * x + ops.sin(x)
        total = total + x
    return total


@case(t(3), 3)
def nested_bound_by_outer(x, n):
    total = x
    for i in range(n):
        for j in range(i):
            total = total * 0.7 + ops.tanh(total * x)
    return total


@case(t(4, 2, 3), t(2, 3), t(2, 3, phase=0.3), 3)
class Recurrent(nn.Cell):
    """A loop-carried pair, and a loop over the rows of an array."""

    def __init__(self):
        super().__init__()
        self.w = p(3, 3)
        self.u = p(3, 3, phase=0.1)

    def step(self, x, state):
        h, c = state
        gate = ops.sigmoid(ops.matmul(h, self.w) + x)
        c = gate * c + (1.0 - gate) * ops.tanh(ops.matmul(x, self.u))
        return gate * ops.tanh(c), c

    def construct(self, xs, h, c, n):
        state = (h, c)
        for i in range(n):
            state = self.step(xs[i], state)
        return state


@case(t(4, 3), t(3))
def rows(xs, h):
    for x in xs:
        h = ops.tanh(h * x) + x
    return h


@case(t(3), t(3, phase=0.2), t(3, phase=0.4))
def over_a_tuple(x, y, z):
    total = x
    for item in (x, y, z):
        total = total * item
    return total


@case(t(4, 3))
def enumerated(xs):
    total = 0.0
    for i, x in enumerate(xs):
        total = total + ops.sin(x) * (i + 1)
    return total


@case(t(4, 3), t(4, 3, phase=0.3))
def zipped(xs, ys):
    total = 0.0
    for x, y in zip(xs, ys):
        total = total + x * ops.exp(y)
    return total


@case(t(3), 4)
@case(t(3), 0)
def starts_at_zero(x, n):
    total = 0.0
    for i in range(n):
        total = total + ops.sin(x * i)
    return total + x


@case(t(3), t(3, phase=0.4), 5)
@case(t(3), t(3, phase=0.4), 0)
def swap(a, b, n):
    for i in range(n):
        a, b = b, a * 0.5 + b
    return a * b


@case(t(3), 3)
def overwritten_after_use(x, n):
    for i in range(n):
        y = x * x
        x = ops.sin(y) + x
        y = ops.cos(x)
        x = y * 0.5 + x * 0.2
    return x


@case(t(3), 3)
def read_after_the_loop(x, n):
    last, i = x, 0
    for i in range(n):
        last = x * (i + 1.0)
        x = ops.tanh(last) * x
    return last + x + i


@case(t(5), 5)
def indexed(x, n):
    total = 0.0
    for i in range(n):
        total = total + x[i] * x[i]
    return total


@case(t(5), 4)
def neighbours(x, n):
    total = 0.0
    for i in range(n):
        total = total + x[i] * x[i + 1]
    return total


@case(t(5), 1, 5, 2)
@case(t(5), 4, -1, -2)
def steps(x, first, last, step):
    total = x * 1.0
    for i in range(first, last, step):
        total = total + x * x[i]
    return total


@case(t(2, 3), 3)
class Layers(nn.Cell):
    """A list of Cells unrolls; the loop over ``n`` stays."""

    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([Scale(0.1), Scale(0.2), Scale(0.3)])

    def construct(self, x, n):
        for i in range(n):
            for layer in self.layers:
                x = layer(x)
        return x


class Scale(nn.Cell):
    def __init__(self, phase):
        super().__init__()
        self.w = p(3, phase=phase)

    def construct(self, x):
        return ops.tanh(x * self.w)


@case(t(3), 3)
@case(t(3), 0)
def carried_list(x, n):
    kept = []
    for i in range(n):
        x = ops.sin(x) + 0.5
        kept.append(x)
    total = x
    for item in kept:
        total = total * item
    return total


@case(t(3), 3)
def carried_list_of_pairs(x, n):
    kept = [(x, x * x)]
    for i in range(n):
        a, b = kept[-1]
        kept.append((b * 0.5, a + b))
    return kept[-1]


@case(t(3), 4)
class ParameterInLoopAndBranch(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = p(3)
        self.unused = p(2)

    def construct(self, x, n):
        for i in range(n):
            if i % 2 == 0:
                x = x * self.w
            else:
                x = ops.sin(x) + self.w
        return x * self.w


@case(t(3), 3)
@case(-t(3), 3)
def branch_loop_branch(x, n):
    for i in range(n):
        if ops.sum(x) > 0.2:
            for j in range(i + 1):
                if j > 0:
                    x = x * x - 0.3
                else:
                    x = ops.cos(x)
        else:
            x = x + 0.4
    return x


@case(of(0.5, 0.25), 3)
@case(of(-0.5, 0.25), 3)
def loop_inside_branch(x, n):
    if ops.sum(x) > 0:
        for i in range(n):
            x = x * x + 0.1
        y = x
    else:
        y = ops.exp(x)
    return y * x


@case(t(3), 3)
def set_item_in_a_loop(x, n):
    out = ops.zeros_like(x)
    for i in range(n):
        out[i] = x[i] * x[i]
    return out * x


@case(t(2), 3)
def grows(x, n):
    for i in range(n):
        x = ops.concat((x, ops.sin(x[:1])))
    return ops.sum(x * x)


@case(t(3))
def constant_trip_count(x):
    for i in range(3):
        x = ops.sin(x) + i
    return x


@case(t(3), 3)
def loop_with_else(x, n):
    for i in range(n):
        x = x * 0.5
    else:
        x = ops.sin(x)
    return x


@case(t(3), Tensor(3))
def bounded_by_a_tensor(x, n):
    for i in range(n):
        x = ops.sin(x)
    return x
