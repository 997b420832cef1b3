"""``match``, ``with`` on a plain context manager, and ``nonlocal``."""

from dataclasses import dataclass

from autodiff_compiler import nn, ops
from tests.corpus.cases import case, of, p, t


@dataclass
class Scale:
    by: float
    shift: float = 0.0


SETTINGS = {"kind": "scale", "by": 3.0, "more": 1}


@case(t(3), 0)
@case(t(3), 1)
@case(t(3), 3)
@case(t(3), 7)
def match_on_numbers(x, k):
    match k:
        case 0:
            y = ops.sin(x)
        case 1 | 2:
            y = x * x
        case n if n > 5:
            y = x * n
        case _:
            y = x + k
    return y * x


@case(t(3), 2)
@case(t(3), 5)
def match_that_returns(x, k):
    match k:
        case 2:
            return x * x
        case other:
            return x * other


@case(t(3))
def match_on_structure(x):
    total = x
    for thing in (
        "sin",
        ("scale", 2.0),
        ["rows", x, x * 2, 1],
        Scale(2.0, shift=0.5),
        SETTINGS,
        None,
        4,
    ):
        match thing:
            case "sin" | "cos" as name:
                total = total + ops.sin(x) * len(name)
            case ("scale", by):
                total = total * by
            case ["rows", first, *middle, last]:
                total = total + first * middle[0] * last
            case Scale(2.0, shift=s):
                total = total + s * x
            case {"kind": "scale", "by": by, **rest}:
                total = total * by + len(rest)
            case None:
                total = total + x
            case int(n):
                total = total * n
    return total


@case(of(0.3, 0.4))
@case(of(-0.3, 0.1))
def match_on_a_tensor(x):
    match ops.sum(x) > 0:
        case True:
            return x
    match x, ops.sum(x):
        case y, total if total > 0:
            return y * total
        case [y, total]:
            return ops.sin(y) - total


class Scaled:
    def __init__(self, by):
        self.by = by

    def __enter__(self):
        self.by = self.by * 2
        return self

    def __exit__(self, kind, error, trace):
        self.by = 0


@case(t(3))
class WithAContext(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = p(3)

    def construct(self, x):
        with Scaled(self.weight) as scaled, Scaled(3) as other:
            y = x * scaled.by + other.by
        with Scaled(y) as last:
            return y * y * last.by


@case(t(3), 3)
@case(t(3), 0)
def counted_by_an_inner_function(x, n):
    count, total = 0, x

    def add(y):
        nonlocal count, total
        count = count + 1
        total = total + y * count

    for i in range(n):
        add(x * i)
        if i > 1:
            add(ops.sin(total))
    return total * count


@case(t(3))
def changed_two_functions_further_in(x):
    def outer(y):
        def middle():
            def inner():
                nonlocal y
                y = y * x

            inner()
            inner()

        middle()
        return y

    return outer(x) * (lambda y: y + 1)(x)


@case(t(3))
def a_function_and_a_walrus_that_inner_functions_bind_anew(x):
    def change():
        nonlocal form, y

        def form(z):
            return ops.sin(z) * x

        return (y := y * 2) + [y := y * x for _ in range(2)][1]

    def form(z):
        return z

    if ops.sum(y := x * form(x)) > -100:
        z = change()
    return form(y) * z


@case(t(3))
def walrus_in_many_places(x):
    items = [y := x * 2, y * y]
    if (total := ops.sum(y)) > 100 or (other := total * 2) > 1000:
        return x
    return sum(items) * (z := other + 1) + z * [w for v in items if (w := v) is not None][1]
