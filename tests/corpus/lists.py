"""Lists and dicts in branches and loops: made anew there, grown, walked while they change."""

from autodiff_compiler import ops
from tests.corpus.cases import case, of, t


@case(of(0.3, 0.4))
@case(of(-0.3, 0.1))
def one_list_or_another(x):
    if ops.sum(x) > 0:
        pair = [x, x * x]
    else:
        pair = [ops.sin(x), x * 3]
    pair[0] = pair[0] * 2
    return pair[0] * pair[1]


@case(of(0.3, 0.4))
@case(of(-0.3, 0.1))
def returned_early(x):
    if ops.sum(x) > 0:
        return [x * x, {"a": x}]
    return [ops.sin(x), {"a": x * 3}]


@case(of(0.3, 0.4), 3)
@case(of(-0.3, 0.1), 3)
@case(of(-0.3, 0.1), 0)
def returned_from_a_loop(x, n):
    for i in range(n):
        if ops.sum(x) > i:
            return [x * x, x]
        x = x + 0.4
    return [x, ops.sin(x)]


@case(of(0.3, 0.4), 3)
@case(of(-0.3, 0.1), 0)
def replaced_on_one_way_in_a_loop(x, n):
    pair = [x, x * 3]
    for i in range(n):
        if ops.sum(x) > i * 0.3:
            pair = [pair[1], x * pair[0]]
    return pair[0] + pair[1]


@case(t(3), 3)
@case(t(3), 0)
def lists_change_places(x, n):
    a, b = [x, x * x], [x * 2, ops.sin(x)]
    for i in range(n):
        a, b = b, [a[0] + 1, b[1] * a[1]]
    return a[0] * b[1]


@case(t(3), 3)
def nested_lists(x, n):
    tree = [x, [x * x, ops.sin(x)]]
    for i in range(n):
        tree = [tree[1][0], [tree[0] * 2, tree[1][1] * x]]
        tree[1][1] = tree[1][1] + i
    return tree[0] * tree[1][1]


@case(t(3))
def made_in_a_loop_and_read_after(x):
    for i in range(3):
        kind = "pair"
        pair = [x * i, x * x]
    return pair[0] * pair[1] if kind == "pair" else x


@case(t(3))
def function_made_in_a_loop(x):
    for _ in range(3):

        def scaled(a):
            return a * a * x

    return scaled(x)


@case(t(3))
def walked_while_it_changes(x):
    items = [x, x * 2, ops.sin(x)]
    for place, item in enumerate(items):
        if place < 2:
            items[place + 1] = items[place + 1] * item
    return items[2]


@case(t(3))
def walked_while_it_shrinks(x):
    items, total = [x, x * 2, ops.sin(x)], x
    for item in items:
        items.pop()
        total = total * item
    return total


@case(t(3))
def walked_backwards_while_it_changes(x):
    items, total = [x, x * 2, ops.sin(x)], x
    for item in reversed(items):
        items[0] = items[0] * 2 + 1
        total = total * item
    return total


@case(t(3))
def function_that_makes_a_function(x):
    def scaled_by(a):
        twice = a * 2
        return lambda b: b * twice

    return scaled_by(x)(x)


@case(t(3), 0)
@case(t(3), 2)
def made_on_one_way_under_two_names(x, n):
    y = x
    if n > 0:
        items = [x * 2]
        same = items
    for i in range(n):
        if i >= 0:
            pair = [ops.sin(y)]
            both = (pair, pair)
        if n > 0:
            both[0][0] = both[1][0] * x
            same[0] = same[0] * pair[0]
            y = y + items[0]
    return y


@case(t(3), 0, 1)
@case(t(3), 1, 1)
@case(t(3), 2, 1)
def made_and_forgotten_where_something_is_raised(x, n, k):
    y = x
    try:
        if n > 1:
            raise ValueError
        if k > n:
            y = list(x)[1] * x
    except ValueError:
        y = y * x
    return y
