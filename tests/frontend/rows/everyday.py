"""What people write every day, where it is easy to be wrong: what is evaluated when, how often, and
which variable a name means."""

import functools
import itertools
import operator

from tests.frontend.rows.rows import of, row

RISING, FALLING = of(0.61, 1.32, -0.4), of(2.1, 0.3, 0.9)


@row("a chain of comparisons with effects", RISING)
@row("a chain of comparisons with effects", FALLING)
def chained(x):
    n = 0

    def tick(v):
        nonlocal n
        n += 1
        return v

    if 0 < tick(x[0]) < tick(x[1]) < tick(5.0):
        y = x * n
    else:
        y = x * x * (n + 1)
    if 0 > 1 < tick(3):
        y = y + x
    return y * n


@row("closures made in a loop")
def late_binding(x):
    late, early = [], []
    for k in range(3):
        late.append(lambda v: v * k)  # noqa: B023
        early.append(lambda v, k=k: v * (k + 1))
    return sum(f(x) * x for f in late) + sum(f(x) for f in early)


@row("an iterator is gone through once")
def one_by_one(x):
    left = iter([x, x * 2, x * x, x + 1, x * 3, x * x])
    y = next(left)
    for a, b in zip(left, left):
        y = y + a * b
        if len(a) == 2:
            break
    items = (x * k for k in range(4))
    y = y + sum(items) + sum(items) + next(items, x)
    return y * next(left) + sum(left)


@row("itertools and functools")
def combined(x):
    y = functools.reduce(operator.mul, [x, x, x], 2.0)
    for a, b in itertools.product([1, 2], (3, 4)):
        y = y + x * a * x * b
    for (i, a), b in zip(enumerate([x, x * x]), itertools.repeat(x, 2)):
        y = y + a * b * (i + 1)
    for a, b in itertools.pairwise([x, x * 2, x * 3]):
        y = y + a * b
    for v in itertools.accumulate([x, x * 2, x * 3], lambda p, q: p * q):
        y = y + v
    for v in itertools.chain([x], itertools.islice([x, x * 2, x * x], 1, 3)):
        y = y * 0.5 + v
    return y + sum(itertools.starmap(lambda a, b: a * b, [(x, x), (x, 2)]))


class Chain:
    def __init__(self, *items):
        self.items = list(items)

    def __iter__(self):
        return iter(self.items)


@row("an object with __iter__")
def own_iterator(x):
    links = Chain(x, x * x)
    links.items.append(x * 3)
    y = 0
    for link in links:
        y = y + link * link
    return y * sum(links)


@row("a star takes the rest of a list of a run", FALLING)
def star_of_a_run(x):
    found = []
    for i in range(int(x.sum()) + 3):
        found.append(x * i)
    first, *middle, last = found
    *head, before, _ = found
    return first + last * x + sum(middle) * before + len(head)


def extended(x, found=[1.0]):  # noqa: B006
    found = found + [x]
    return found


@row("a default list, a union of dicts, and getters")
def default_list(x):
    one, two = extended(x), extended(x * 2)
    merged = {"a": x} | {"b": one[0]}
    merged |= {"a": two[-1]}
    rows = sorted([("b", x * 2), ("a", x * x)], key=operator.itemgetter(0))
    return merged["a"] * merged["b"] * rows[0][1] + round(x.sum().item()) * x * len(one)


@row("zip, map and enumerate are gone through once", RISING)
@row("zip, map and enumerate are gone through once", FALLING)
def once_each(x):
    pairs = zip([x, x * 2], [x, x * x])
    y = sum(p * q for p, q in pairs) + sum((p * q for p, q in pairs), x)
    doubled = map(lambda v: v * 2, [x, x * x])
    y = y + sum(doubled) + len(list(doubled)) * x
    numbered = enumerate([x, x * x])
    _, first = next(numbered)
    for i, v in numbered:
        y = y + v * i * first
    backward = reversed([x, x * 2, x * x])
    return y * next(backward) * sum(backward)


@row("a test of a loop that sets a variable", FALLING)
def set_by_a_test(x):
    n = 0
    while (s := (x * x).sum()) < 20:
        x = x * 1.3 + 0.1
        n += 1
        if n > 20:
            break
    return x * s * n


def twice(function):
    @functools.wraps(function)
    def around(v):
        return function(v) * 2

    return around


@row("a decorator around itself")
def decorated(x):
    @twice
    @twice
    def square(v):
        return v * v

    return square(x) * x
