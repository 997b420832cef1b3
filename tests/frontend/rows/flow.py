"""Branches, loops, early exits."""

import numpy as np

from autodiff_compiler import Tensor, nn, ops
from tests.frontend.rows.rows import of, row


@row("if tensor cond")
@row("if tensor cond", of(-1.5, 1.0))
def if_tensor(x):
    y = x
    if x.sum() > 0:
        y = x * x
    else:
        y = x * 3
    return y


class Flagged(nn.Cell):
    def __init__(self):
        super().__init__()
        self.flag = True
        self.n = 3


@row("if const cond")
class IfConst(Flagged):
    def construct(self, x):
        if self.flag and self.n > 2:
            return x * x * self.n
        return x.no_such_method()


@row("elif chain")
@row("elif chain", of(0.5, 0.7))
@row("elif chain", of(-0.5, 0.1))
def elif_chain(x):
    if x.sum() > 3:
        y = x * x
    elif x.sum() > 0:
        y = x * 5
    else:
        y = ops.exp(x)
    return y * x


@row("if branches different shape")
@row("if branches different shape", of(-1.5, 0.25))
def branches_of_different_shape(x):
    if x.sum() > 0:
        y = x * x
    else:
        y = ops.concat((x, x * 2, x * x))
    return y.sum() * x


@row("ternary tensor cond")
@row("ternary tensor cond", of(-1.5, 0.25))
def ternary(x):
    return x * x if x.sum() > 0 else x * 7


@row("and/or tensors")
@row("and/or tensors", of(4.0, 5.0))
@row("and/or tensors", of(-4.0, 5.0))
def and_or(x):
    if (x[0] > 0 and x[1] > 0 and x.sum() < 6) or x[0] < -3:
        return x * x
    return x * 2


@row("not tensor")
def not_tensor(x):
    if not x.sum() > 9:
        return x * x
    return x


@row("chained compare")
@row("chained compare", of(0.5, 0.25))
def chained_compare(x):
    if 1 < x.sum() <= 5 < 6:
        return x * x
    return x * 2


@row("while tensor cond")
def while_tensor(x):
    while x.sum() < 50:
        x = x * x
    return x


@row("while const")
def while_const(x):
    i = 0
    while i < 3:
        x = x * 1.5
        i += 1
    return x * i


@row("while break")
def while_break(x):
    i = 0
    while True:
        x = x * x
        i += 1
        if i >= 2:
            break
    return x


@row("while continue")
def while_continue(x):
    i, y = 0, x
    while i < 5:
        i += 1
        if i % 2 == 0:
            continue
        y = y * x
    return y


@row("while break on tensor")
def while_break_on_tensor(x):
    y = x
    while y.sum() < 1000:
        y = y * x
        if y.max() > 20:
            break
    return y


@row("for range")
def for_range(x):
    y = x
    for i in range(1, 6, 2):
        y = y * x + i
    return y


@row("for range tensor-dependent len")
def for_length(x):
    y = x * 0
    for i in range(x.shape[0]):
        y = y + x[i] * x * (i + 1)
    return y


@row("for over list")
def for_over_list(x):
    y = x
    for k in [1.5, 2.5, x]:
        y = y * k
    return y


@row("for over tuple of tensors")
def for_over_tensors(x):
    total = 0
    for part in (x, x * x, ops.sin(x)):
        total = total + part * x
    return total


@row("for over tensor", of((1.5, 2.5), (0.5, -1.0)))
def for_over_tensor(x):
    y = 1
    for line in x:
        y = y * line
    return y


@row("for enumerate")
def for_enumerate(x):
    y = x
    for i, part in enumerate([x, x * x], 1):
        y = y + part * i
    return y


@row("for zip")
def for_zip(x):
    y = x
    for k, part in zip((2, 3, 4), [x, x * x]):
        y = y + part * k
    return y


@row("for dict items")
def for_dict_items(x):
    table = {"sin": x, "other": x * x}
    y = x
    for name, part in table.items():
        y = y * ops.sin(part) if name == "sin" else y + part
    return y


@row("for CellList")
class ForCellList(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([nn.Tanh(), nn.Sigmoid(), nn.Tanh()])

    def construct(self, x):
        for layer in self.layers:
            x = layer(x) * 2
        return x


@row("for break/continue")
def for_break_continue(x):
    y = x
    for i in range(10):
        if i == 1:
            continue
        if i == 4:
            break
        y = y * x + i
    return y


@row("for break/continue")
def for_break_continue_on_tensors(x):
    y = x
    for i in range(10):
        if y.sum() > 30:
            break
        if y[0] > 3:
            y = y * 1.25
            continue
        y = y * x
    return y


@row("for return inside")
def for_return(x):
    y = x
    for i in range(5):
        y = y * x
        if i == 2:
            return y * i
    return x


@row("for return inside")
def for_return_on_tensor(x):
    y = x
    for i in range(9):
        y = y * x
        if y.sum() > 20:
            return y * x
    return x


@row("nested for")
def nested_for(x):
    y = x
    for i in range(3):
        for j in range(i):
            y = y + x * x * (i + j)
    return y


@row("early return tensor cond nested")
@row("early return tensor cond nested", of(0.5, 0.75))
@row("early return tensor cond nested", of(-0.5, 0.75))
def early_return(x):
    if x[0] > 0:
        if x.sum() > 3:
            return x * x
        if x.sum() > 1:
            return ops.sin(x)
    return ops.cos(x) * x


@row("tensor as while counter")
def tensor_counter(x):
    i = Tensor(0)
    while i < 3:
        x = x * 1.5 + i
        i += 1
    return x * x


@row("tensor python scalar loop acc")
def scalar_accumulator(x):
    total = 0.0
    for i in range(3):
        total = total + x.sum() * i
    return total * x


@row("shape change in while tensor cond")
def shape_changes_in_while(x):
    y = x
    while y.shape[0] < 8:
        y = ops.concat((y, y * 1.5))
    return y


@row("raise const cond false")
class RaiseConst(Flagged):
    def construct(self, x):
        if self.n < 0:
            raise ValueError("n is negative")
        return x * self.n


@row("assert const")
class AssertConst(Flagged):
    def construct(self, x):
        assert self.n == 3, "n is three"
        return x * self.n


@row("assert tensor")
def assert_tensor(x):
    assert x.sum() > 0, "the sum is positive"
    return x * x


@row("assert isinstance + fstring")
def assert_isinstance(x):
    assert isinstance(x, Tensor), f"x is a {type(x).__name__} of {x.shape}"
    return x * x


@row("pass")
def passing(x):
    if x.sum() > 0:
        pass
    else:
        x = x * 2
    for _ in range(3):
        pass
    return x * x


@row("conditional expr with None")
class MaybeNone(nn.Cell):
    def __init__(self):
        super().__init__()
        self.scale = None

    def construct(self, x):
        scale = self.scale if self.scale is not None else 4.0
        return x * x * scale


@row("boolean short circuit value")
def short_circuit(x):
    kind = "sin" and "cos"
    k = 0 or 3
    return x * k if kind == "cos" else x.no_such_method()


@row("or default value")
def or_default(x, scale=None):
    scale = scale or 2.5
    return x * x * scale


@row("multiple returns types differ (const)")
class ReturnsDiffer(Flagged):
    def construct(self, x):
        if self.n == 3:
            return x * x, x
        return None


@row("print tensor")
def printing(x):
    y = x * x
    print("y is", y, sep=": ", end="\n")
    return y * x


@row("numpy scalar attr")
class NumpyScalar(nn.Cell):
    def __init__(self):
        super().__init__()
        self.k = np.float32(2.5)

    def construct(self, x):
        return x * x * self.k


@row("raise on tensor cond not taken")
def raise_not_taken(x):
    if x.sum() < 0:
        raise ValueError(f"the sum is negative: {x}")
    return x * x
