"""What is thrown in a called text, or where only a run can tell, and caught around it."""

from autodiff_compiler import Parameter, nn, ops
from tests.frontend.rows.rows import of, row

LARGE, MIXED, SMALL = of(1.55, 2.6), of(-1.5, 0.5), of(0.4, 0.7)


def positive(v):
    if v.sum() < 0:
        raise ValueError("negative")
    return v * v


def check(v):
    assert v.sum() > 0, "not positive"


def deeper(v):
    check(v)
    return positive(v - 0.3) * 2


@row("raise in a called function", LARGE)
@row("raise in a called function", MIXED)
def in_a_sum(x):
    y = x
    try:
        y = ops.sin(x) + positive(x) * deeper(x - 0.2) + x
    except ValueError as error:
        print("caught", error)
        y = y * x
    except AssertionError:
        y = y * x * 3
    return y


@row("raise in a called function, in a loop", LARGE)
@row("raise in a called function, in a loop", SMALL)
def in_a_loop(x):
    y, n = x, 0
    for _ in range(5):
        try:
            y = y + positive(y - 1.0) * 0.1
            n += 1
        except ValueError:
            y = y * 0.5 + x
    return y * n


@row("raise in a called function, out of a loop", MIXED)
@row("raise in a called function, out of a loop", LARGE)
def out_of_a_loop(x):
    y = x
    try:
        for i in range(4):
            y = y * 0.3 + positive(y - 0.5 * i)
    except ValueError:
        y = y * 2
    else:
        y = y * 3
    return y


@row("raise in a comprehension", LARGE)
@row("raise in a comprehension", SMALL)
def in_a_comprehension(x):
    try:
        ys = [positive(x - k) for k in range(3)]
    except ValueError:
        ys = [x, x * x]
    return sum(ys)


@row("raise in one operand of and, or, if", LARGE)
@row("raise in one operand of and, or, if", MIXED)
@row("raise in one operand of and, or, if", SMALL)
def in_a_condition(x):
    try:
        y = positive(x - 1.5) if x[0] > 0 else x * 2
        if x[0] > 0 and positive(x - 2.0).sum() > 0.1:
            y = y * 7
        else:
            y = y * 11 * x
    except ValueError:
        y = x * 13 * x
    return y


@row("raise in an inner function and a lambda", LARGE)
@row("raise in an inner function and a lambda", MIXED)
@row("raise in an inner function and a lambda", SMALL)
def in_inner_functions(x):
    def inner(v):
        for i in range(3):
            v = positive(v - i * 0.4) + v
            if v.sum() > 20:
                return v * 2
        return v

    twice = lambda v: inner(v) + positive(v - 1)  # noqa: E731
    try:
        return twice(x) * 2
    except ValueError:
        return x * x * 0.1
    finally:
        print("finally")


class Strict(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(of(1.0, 2.0), name="w")

    def construct(self, x):
        y = x * self.w
        if y.sum() < 0.0:
            raise KeyError("negative")
        return self.small(y)

    def small(self, y):
        if y.sum() > 5:
            raise TypeError("large")
        return y * self.w


@row("raise in a Cell and a method", LARGE)
@row("raise in a Cell and a method", MIXED)
@row("raise in a Cell and a method", SMALL)
class Guarded(nn.Cell):
    def __init__(self):
        super().__init__()
        self.strict = Strict()

    def construct(self, x):
        try:
            y = self.strict(x) * self.strict(x * 0.9)
        except LookupError as error:
            print("lookup", error)
            y = x * 2
        except TypeError:
            y = x * x * 3
        return y


@row("raise again what a called function raised", LARGE)
@row("raise again what a called function raised", MIXED)
def again(x):
    try:
        try:
            y = positive(x) + deeper(x)
        except (ValueError, AssertionError):
            y = x * 3
            raise
        finally:
            print("finally")
    except ValueError as error:
        print(error)
        y = x * 7
    return y * x


@row("an index that only a run knows", LARGE)
@row("an index that only a run knows", MIXED)
def out_of_range(x):
    n = int(x.sum() * 0.76)
    found, y = [x, x * x], x
    try:
        y = x[n - 1] * y
        y = found[n] * y
    except IndexError as error:
        print(error)
        y = y * 5
    return y


@row("a division that only a run knows", LARGE)
@row("a division that only a run knows", SMALL)
def by_zero(x):
    n = int(x.sum() * 0.76)
    try:
        y = x * (7 // n) + x * x
    except ZeroDivisionError as error:
        print(error)
        y = x * 2
    return y


@row("pop from a list that only a run knows", LARGE)
@row("pop from a list that only a run knows", SMALL)
def popped(x):
    found = [x]
    for i in range(int(x.sum() * 0.5)):
        found.append(x * i)
    try:
        y = found.pop() * found.pop() * found.pop()
    except IndexError as error:
        print(error)
        y = x * 3 * x
    return y


@row("what fails for certain")
class Failing(nn.Cell):
    def __init__(self):
        super().__init__()
        self.k = 3.0

    def construct(self, x):
        known = {"a": x}
        try:
            y = known["b"] * x
        except KeyError as error:
            print(error)
            y = known["a"] * x
        try:
            scale = self.scale
        except AttributeError:
            scale = self.k
        try:
            a, b = (1, 2, 3)
        except ValueError as error:
            print(error)
            a, b = [scale, 5][int("1")], int("7")
        try:
            y = y * [a, b][2]
        except IndexError:
            y = y * (a / (b - 7) if b > 7 else a)
        try:
            return y / (1 / (b - 7))
        except ZeroDivisionError:
            return y * x * int("2")
