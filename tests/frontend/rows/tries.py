"""``try``: the gradient is that of the way that was taken."""

import numpy as np

from autodiff_compiler import Tensor, nn, ops
from tests.frontend.rows.rows import of, row

LARGE, MIXED, SMALL = of(1.5, 2.5), of(-1.5, 0.5), of(0.4, 0.7)


@row("try/except")
def try_except(x):
    try:
        y = x * x
    except ValueError:
        y = x
    return y * x


@row("try/finally")
def try_finally(x):
    y = x
    try:
        y = y * x
    finally:
        y = y * 2
    return y


@row("try with tensor exception")
@row("try with tensor exception", MIXED)
def try_taken(x):
    try:
        if x.sum() < 0:
            raise ValueError("negative")
        y = x * x
    except ValueError:
        y = x * 3
    return y


@row("try returns")
@row("try returns", MIXED)
def returns(x):
    try:
        if x.sum() < 0:
            raise ValueError("negative")
        return x * x
    except ValueError:
        return x * x * x
    finally:
        print("returning")


@row("try in a loop in a branch")
@row("try in a loop in a branch", MIXED)
def in_a_loop(x):
    y = x
    if x[0] > -100:
        for i in range(4):
            try:
                y = y * x
                if y.sum() > 3 and i >= 2:
                    raise ValueError("large")
                y = y + x
            except ValueError:
                y = y * 0.25 + x
    return y * y


@row("try around a loop")
@row("try around a loop", MIXED)
@row("try around a loop", SMALL)
def around_a_loop(x):
    y = x
    try:
        for i in range(6):
            y = y * x
            if y.sum() > 5:
                raise OverflowError(f"at {i}")
        y = y + 1
    except (ValueError, ArithmeticError) as error:
        print(f"caught {error}")
        y = y * 3
    else:
        y = y * 5
    finally:
        print("done")
    return y * x


@row("try in try")
@row("try in try", MIXED)
@row("try in try", SMALL)
def nested(x):
    y = x
    try:
        try:
            if x.sum() < 0:
                raise KeyError(3)
            if x.sum() < 2:
                raise ValueError("small")
            y = x * x
        except KeyError:
            y = x * x * 3
            raise TypeError("from a handler") from None
        y = y * 7
    except ValueError:
        y = y * x * 11
    except:  # noqa: E722
        y = y * 13
    return y * x


@row("raise again")
@row("raise again", MIXED)
@row("raise again", SMALL)
def again(x):
    y = x
    try:
        try:
            if x.sum() < 0:
                raise ValueError("negative")
            if x.sum() < 2:
                raise TypeError("small")
            y = x * x
        except (ValueError, TypeError) as error:
            y = x * x * 3
            print("inner", error)
            raise
        finally:
            print("finally")
            y = y * 2
        y = y * 7
    except ValueError as error:
        print(str(error))
        y = y * x * 11
    except TypeError:
        y = y * 13
    return y * x


@row("assert in try")
@row("assert in try", MIXED)
def asserting(x):
    try:
        assert x.sum() > 0, "not positive"
        y = x * x
    except AssertionError as error:
        print(error)
        y = x * 5 * x
    return y * x


@row("try, break, continue and finally")
@row("try, break, continue and finally", MIXED)
@row("try, break, continue and finally", SMALL)
def all_exits(x):
    y = x
    n = 0
    while True:
        try:
            y = y * x
            n += 1
            if y.sum() > 10:
                raise StopIteration
            if n > 5:
                break
            if y.sum() < 1:
                continue
            y = y * 1.1
        except StopIteration:
            return y * 2
        finally:
            print(n)
            y = y + x
    return y


class TooLarge(Exception):
    """A user's own exception, which generated source never sees."""


@row("try with a user's exception")
@row("try with a user's exception", MIXED)
class OwnException(nn.Cell):
    def __init__(self):
        super().__init__()
        self.limit, self.strict = 2.0, True
        self.scale = Tensor(3.0)

    def construct(self, x):
        seen = []
        try:
            seen.append(x)
            if x.max() > self.limit:
                raise TooLarge
            seen.append(x * self.scale)
            if self.strict:
                raise KeyError("strict")
        except TooLarge:
            seen.append(ops.sin(x))
        except LookupError:
            seen.append(ops.exp(x))
        return seen[-1] * seen[0]


@row("try in a called function")
@row("try in a called function", MIXED)
def in_a_called_function(x):
    def safe(v, low):
        try:
            if v.sum() < low:
                raise ValueError(low)
        except ValueError:
            return v * v * 0.5
        return v * v * v

    return safe(x, 0) + safe(x * 2, 3.0)


@row("try where an int is made", gradient=lambda x: np.full_like(x, 1.0))
@row("try where an int is made", of(np.nan, 2.5), gradient=lambda x: np.full_like(x, 7.0))
@row("try where an int is made", of(-np.inf, 2.5), gradient=lambda x: np.full_like(x, 5.0))
def in_making_an_int(x):
    try:
        n = int(x[0])
    except ValueError as error:
        print(error)
        n = 7
    except OverflowError as error:
        print(error)
        n = 5
    return x * n
