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
