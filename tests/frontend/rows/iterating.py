"""Views of dicts, iterators and comprehensions: what changes after they were made, they see."""

import functools
import itertools

from autodiff_compiler import ops
from tests.frontend.rows.rows import of, row


@row("views of a dict")
def views_see_what_the_dict_holds(x):
    d = {"a": x}
    keys, values, items = d.keys(), d.values(), d.items()
    d["b"] = x * x
    d["a"] = x * 3
    s = sum(values) * len(keys)
    for name, value in items:
        s = s * 0.5 + value * (2 if name == "b" else 3)
    first, second = values
    return s + first * second * (1 if "b" in keys and d else 5)


@row("views of a dict")
def view_through_branches_and_loops(x):
    d = {"a": x, "b": x * 0.5}
    values = d.values()
    if ops.sum(x) > 0:
        d["a"] = x * x
    else:
        d["a"] = x * x * x
    for _ in range(40):
        d["b"] = d["b"] * 1.01
    return sum(values) * (3 if d.keys() else 1)


def _squared(values):
    return sum(value * value for value in values)


@row("views of a dict")
def view_handed_to_a_function(x):
    d = {"a": x}
    values = d.values()
    d["b"] = x * x
    return _squared(values) + _squared(value for _, value in d.items())


@row("views of a dict")
def keys_are_a_set(x):
    d, e = {"a": x, "b": x * x}, {"b": x, "c": x}
    both, rest = d.keys() & e.keys(), d.keys() - e.keys()
    s = x
    for name in (*both, *rest):
        s = s * 2 + d[name]
    if d.keys() == {"a", "b"} and {"a"} <= d.keys() and d.keys() != e.keys():
        s = s * len(d.keys() | e.keys()) * len(d.keys() ^ {"a", "z"})
    return s * len(set(d)) * len(frozenset(d.values() and "ab"))


@row("dict changed while it is gone through")
def values_set_while_a_dict_is_gone_through(x):
    d = {"a": x, "b": x * x}
    for name, value in d.items():
        d[name] = value * 2
        d["b"] = d["b"] * 3
    for name in list(d):
        d[name + name] = d.pop(name)
    return d["aa"] * d["bb"]


@row("list changed after")
def builtins_see_what_a_list_holds(x):
    k, parts = 2.0, [x]
    numbered, paired = enumerate(parts), zip(parts, [x, x * 2])
    plain, mapped = iter(parts), map(lambda v: v * k, parts)
    kept, made = filter(lambda v: v is not None, parts), (v * v * k for v in parts)
    parts.append(x * x)
    parts[0], k = x * 3, 5.0
    s = sum(v * (i + 1) for i, v in numbered) + sum(a * b for a, b in paired)
    return s + sum(plain) * sum(mapped) + sum(kept) * sum(made)


@row("list changed after")
def reversed_begins_where_the_list_ended(x):
    parts = [x, x * x]
    backward = reversed(parts)
    parts[0] = x * 3
    parts.append(x * 5)
    s = x
    for value in backward:
        s = s * 2 + value
    return s


@row("list changed after")
def itertools_see_what_a_list_holds(x):
    parts = [x, x * 2]
    chained, rest = itertools.chain(parts, [x]), itertools.islice(parts, 1, None)
    sums, products = itertools.accumulate(parts), itertools.product(parts, parts)
    parts.append(x * x)
    s = sum(chained) * sum(rest) + sum(sums)
    return s + sum(a * b for a, b in products)


@row("list changed between two items")
def itertools_ask_item_by_item(x):
    parts, others = [x, x * 2], [x * 3]
    longest = itertools.zip_longest(parts, others, fillvalue=x * 7)
    pairs, sums = itertools.pairwise(parts), itertools.accumulate(parts)
    every, more = itertools.islice(parts, 1, None, 2), itertools.chain(parts, others)
    s = next(longest)[1] + next(pairs)[0] * 2 + next(sums) * 3 + next(every) * 5 + next(more)
    parts[1] = x * x
    others.append(x * 11)
    parts.extend([x * 13, x * x * 17])
    for a, b in longest:
        s = s * 0.5 + a * b
    for a, b in pairs:
        s = s + a * b * 3
    return s + sum(sums) * 7 + sum(every) * 19 + sum(more) * 23


@row("iterators are used up")
def itertools_share_what_they_go_through(x):
    source = iter([x * k for k in range(1, 15)])
    head = list(itertools.islice(source, 1, 4, 3))
    longest = list(itertools.zip_longest(itertools.islice(source, 2), [x]))
    begun = itertools.accumulate(itertools.islice(source, 2), initial=x * x)
    s = next(begun) * 2 + next(source) * 3
    s = s + sum(begun) * 5 + head[0] * (7 if longest[1][1] is None else 0)
    first, second = itertools.chain.from_iterable(v for v in ([x], [x * 5]))
    none = len(list(itertools.islice(source, 2, 1)))
    empty = [*itertools.pairwise([x]), *itertools.accumulate([]), *itertools.zip_longest()]
    return s + first * second * (len(empty) + none + 1) + next(source) * 11


@row("iterators are used up")
def what_accumulate_calls_may_change_the_list(x):
    parts = [x, x * 2]

    def add(a, b):
        if len(parts) < 5:
            parts.append(b * x)
        return a + b

    s = sum(itertools.accumulate(parts, add)) + len(parts)
    more = [x, x * 3]
    return s + functools.reduce(lambda a, b: (len(more) < 4 and more.append(b * x)) or a + b, more)


@row("iterators are used up")
def generators_are_used_up(x):
    made = (v * v for v in [x, x * 2])
    nested = (a * b for a in [x, x * 2] for b in [1.0, x])
    first = next(nested)
    return sum(made) + sum(made) * 5 + sum(nested) * first + next(v * v for v in [x])


def _twice_through(values):
    first = sum(values)
    return first + 100 * sum(values)


@row("iterators are used up")
def generator_handed_to_a_function(x):
    return _twice_through(v * v for v in [x, x * 2]) * next(iter((x, 2.0)))


@row("iterators are used up")
def what_map_calls_is_called_when_it_is_asked(x):
    parts = []
    added = map(parts.append, [x, x * 2])
    before = len(parts)
    list(added)
    return x * before + parts[1] * len(parts)


@row("walrus in a comprehension")
def walrus_binds_in_the_function(x):
    total = x * 0
    sums = [total := total + v for v in [x, x * 3]]
    running = x * 0.5
    many = [running := running + i * x for i in range(20)]
    [[last := v * w for v in [x, x * 2]] for w in [x, x * 5]]
    found = any((seen := v) is not None for v in [x, x * 3])
    return total * sums[0] + running * many[2] + last * seen * found


@row("list changed while a loop goes through it", of(1.5, 2.5), 3)
def items_set_in_a_loop_over_them(x, n):
    parts = [x]
    for _ in range(n):
        parts.append(parts[-1] * 0.9)
    s = x
    for i, value in enumerate(parts, 1):
        if i < len(parts):
            parts[i] = parts[i] + value * x
        s = s + value
    return s


@row("list changed while a loop goes through it", of(1.5, 0.5), 3)
def list_that_grows_under_a_loop(x, n):
    parts = [x]
    for _ in range(n):
        parts.append(parts[-1] * 0.9)
    for value in parts:
        if len(parts) > 8:
            break
        parts.append(value * value)
        x = x + value
    return parts[8] + x


@row("list changed while a loop goes through it", of(1.5, 2.5), 3)
def list_that_shrinks_under_a_loop(x, n):
    parts = [x]
    for _ in range(n):
        parts.append(parts[-1] * x)
    backward, s = reversed(parts), x
    for value in backward:
        s = s * 0.5 + value
    for value in parts:
        parts.pop(0)
        s = s + value
    return s * len(parts)


@row("writes in place")
def what_holds_a_tensor_sees_it_change(x):
    y = x * 1
    total, parts = y.sum, zip([y], [x])
    y.add_(x * x)
    return total() * x + sum(a * b for a, b in parts)
