"""Every method of lists of run-time length and of dicts, one after the other."""

from autodiff_compiler import ops
from tests.corpus.cases import case, t


@case(t(3), 3)
@case(t(3), 0)
def methods_of_a_list_of_run_time_length(x, n):
    rows = [x]
    for i in range(n):
        rows.append(rows[-1] * x * 0.5)
    rows.extend((ops.sin(x), x * 2))
    rows.reverse()
    rows.insert(1, ops.cos(x))
    other = rows.copy()
    other[0] = x * 7
    rows.extend(other)
    last = rows.pop()
    total = sum(rows) * len(rows)
    rows.clear()
    rows.append(last if isinstance(other, list) else x)
    return total * last + rows[0] * len(other)


@case(t(3), 2)
def a_short_list_takes_a_long_one(x, n):
    grown, short = [], [x, ops.sin(x)]
    for i in range(n):
        grown.append(x * i)
    short.extend(grown)
    short.extend([x * x])
    return sum(short) * short[1] * len(short)


@case(t(3))
def methods_of_a_dict(x):
    first = {"a": x}
    second = first.copy()
    second.update([("b", x * 2)])
    second.update({"c": ops.sin(x)}, d=x * 3)
    found = second.setdefault("e", x) * second.setdefault("a", 0) * second.get("none", 5)
    first.clear()
    gone = second.pop("b") + second.pop("none", x)
    return sum(second.values()) * found * gone + len(first)


@case(t(3), 3)
@case(t(3), 4)
def places_in_lists_of_run_time_length(x, n):
    rows, none = [], []
    for i in range(n):
        rows.append(x * (i + 1))
        if i > 10:
            none.append(x)
    twice = rows * 2 + [x] * n + none
    chosen = rows[ops.argmax(x)] * (x, x * 2, x * 3)[n - 2]
    rows[n - 1] = chosen
    part = twice[1:n:2]
    return sum(part) * rows[-1] + sum((none + rows)[::-1][:2]) * len(twice)


@case(t(2, 3), 1)
def what_a_container_gives_back(x, n):
    pairs = {"a": (x, [x * 2])}
    for i in range(n):
        pairs["a"] = (ops.sin(pairs["a"][0]), [pairs["a"][1][0] * x])
    first, (second,) = pairs["a"]
    return first * second * x.shape[-1] + len(x.shape)
