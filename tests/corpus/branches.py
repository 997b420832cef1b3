"""``if``, conditional expressions, and what conditions are made of."""

from autodiff_compiler import nn, ops
from tests.corpus.cases import case, of, p, t


@case(of(1.0, 2.0, 3.0), of(0.5))
@case(of(1.0, 2.0, 3.0), of(-0.5))
def changes_shape(x, s):
    if s > 0:
        y = x[:2]
    else:
        y = x
    return ops.sin(y) * s


@case(of(2.0, 1.0))
@case(of(0.2, 0.3))
@case(of(-0.2, -0.3))
@case(of(-2.0, -1.0))
def elif_chain(x):
    s = ops.sum(x)
    if s > 1:
        y = x * x
    elif s > 0:
        y = ops.sin(x)
    elif s > -1:
        y = ops.exp(x)
    else:
        y = x
    return y * x


@case(of(2.0, 1.0))
@case(of(-2.0, 1.0))
def ternary(x):
    return x * x if ops.sum(x) > 0 else ops.sin(x)


@case(of(2.0, 1.0), of(3.0))
@case(of(-2.0, 1.0), of(3.0))
@case(of(2.0, 1.0), of(-3.0))
def logic(x, y):
    s = ops.sum(x)
    r = ops.sum(y)
    if s > 0 and r > 0:
        x = x * y
    if s > 0 or r > 0:
        x = ops.sin(x)
    if not s > 0:
        x = x + y
    return x


@case(of(0.5))
@case(of(1.5))
@case(of(-1.5))
def chained_compare(x):
    if 0.0 < x < 1.0:
        return x * x
    return x * 3.0


@case(of(2.0, 1.0))
@case(of(-2.0, 1.0))
def early_return(x):
    if ops.sum(x) < 0:
        return ops.exp(x)
    x = x * x
    return ops.sin(x)


@case(of(2.0, 1.0))
@case(of(-2.0, 1.0))
def only_one_side(x):
    y = x * x
    if ops.sum(x) > 0:
        y = y * x
    return y


@case(of(2.0, 1.0), of(1.0))
@case(of(2.0, 1.0), of(-1.0))
@case(of(-2.0, 1.0), of(1.0))
def nested_branches(x, s):
    if ops.sum(x) > 0:
        if s > 0:
            x = x * s
        else:
            x = ops.sin(x)
        y = x * x
    else:
        y = x + s
    return y, x


@case(of(2.0, 1.0))
@case(of(-2.0, 1.0))
def different_names(x):
    if ops.sum(x) > 0:
        a = x * 2.0
        b = a * a
        out = b
    else:
        c = ops.sin(x)
        out = c
    return out


@case(of(2.0, 1.0))
@case(of(-2.0, 1.0))
class ParametersBySide(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a = p(2)
        self.b = p(2, phase=0.2)

    def construct(self, x):
        if ops.sum(x) > 0:
            return x * self.a
        return ops.sin(x * self.b)


@case(of(2.0, 1.0))
class StaticFlags(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = p(2)
        self.square, self.kind = True, "sin"

    def construct(self, x):
        if self.square:
            x = x * x
        if self.kind == "sin":
            x = ops.sin(x)
        elif self.kind == "cos":
            x = ops.nonexistent(x)
        return x * self.w if self.w is not None else x


@case(of(2.0, 1.0), 1)
@case(of(2.0, 1.0), -1)
def branch_on_an_int(x, k):
    if k > 0:
        return x * k
    return ops.sin(x)


@case(of(2.0, 1.0), True)
@case(of(2.0, 1.0), False)
def branch_on_a_flag(x, flag):
    return ops.sin(x) if flag else x * x


@case(of(2.0, 1.0))
@case(of(0.5, 0.1))
def pair_or_pair(x):
    if ops.sum(x) > 1:
        a, b = x, x * x
    else:
        a, b = ops.sin(x), x
    return a * b


@case(of(2.0, -1.0, 0.5))
def elementwise_choice(x):
    return ops.where(x > 0, x * x, ops.exp(x))


@case(of(2.0, 1.0))
@case(of(-2.0, 1.0))
def list_in_a_branch(x):
    kept = [x]
    if ops.sum(x) > 0:
        kept.append(x * x)
    else:
        kept.append(ops.sin(x))
    return kept[0] * kept[1]


@case(of(2.0, 1.0))
def is_none_or_given(x, bias=None):
    if bias is None:
        return x * x
    return x + bias


@case(t(3))
def asserted(x):
    assert x.ndim == 1, "one axis"
    return ops.sin(x)


@case(of(0.3, 0.4), 0)
@case(of(0.3, 0.4), 2)
@case(of(0.3, 0.4), 5)
def membership_of_run_time_values(x, n):
    y = x
    for i in range(n):
        if i in (1, 2, 4):
            y = y * x
        if i not in [0, n - 1]:
            y = y + x
        if (i, 1) in [(2, 1), (3, i)] or n in ():
            y = ops.sin(y)
    return y if x in (x, y) else y * 2
