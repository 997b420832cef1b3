"""Lists whose length is known at run time only: grown, read, changed and walked in loops."""

from autodiff_compiler import nn, ops
from tests.corpus.cases import case, of, p, t


@case(t(3), 3)
@case(t(3), 1)
class AllStates(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = p(3, 3)

    def construct(self, x, n):
        states, h = [], x
        for _ in range(n):
            h = ops.tanh(ops.matmul(h, self.weight) + x)
            states.append(h)
        return ops.stack(states).sum(0) * states[-1] + len(states)


@case(t(3), 4)
@case(t(3), 0)
def earlier_items_make_later_ones(x, n):
    items = [x]
    for i in range(n):
        if i > 1:
            y = items[i - 1] * items[-1]
        else:
            y = ops.sin(items[-1])
        items.append(y * x)
    total = x
    for item in items:
        total = total + item * item
    return total + sum(items)


@case(of(0.5, 0.7), 3)
@case(of(-0.5, 0.3), 3)
@case(of(0.5, 0.7), 0)
def grown_on_one_way(x, n):
    kept = []
    for i in range(n):
        if ops.sum(x) > i * 0.4:
            kept.append(x * (i + 1))
        x = x * 1.1
    if len(kept) > 1:
        return kept[0] + kept[-1] * kept[1]
    return ops.sin(x)


@case(of(0.5, 0.7))
@case(of(-0.5, 0.3))
def grown_on_one_way_of_a_branch(x):
    items = [x]
    if ops.sum(x) > 0:
        items.append(x * x)
    return sum(items) * items[-1]


@case(t(2), 3)
@case(t(2), 0)
def a_stack_of_values(x, n):
    stack = [x]
    for i in range(n):
        stack.append(x * i)
        stack.append(stack[-1] * x)
        y = stack.pop()
        stack[-1] = stack[-1] + y
    stack.insert(1, x * 5)
    stack.reverse()
    z = stack.pop(0)
    del stack[-1]
    stack.extend([z, x])
    return z * stack[0] + sum(stack) * stack[-2]


@case(t(2), 5)
@case(t(2), 0)
def a_ring_of_values(x, n):
    ring = [x, x * 2, ops.sin(x)]
    for i in range(n):
        ring[i % 3] = ring[(i + 1) % 3] * x
    return ring[0] * ring[1] + ring[2]


@case(t(2), 3)
def filled_by_position(x, n):
    buffer = [x] * n
    for i in range(n):
        buffer[i] = buffer[i] * (i + 1)
    return buffer[-1] * buffer[0]


@case(t(2), 0)
@case(t(2), 2)
@case(t(2), -1)
def picked_at_run_time(x, k):
    parts, pair = [x, x * x, ops.sin(x)], (x, ops.exp(x))
    return parts[k] * pair[k % 2]


@case(t(2), of(2).astype("int32"))
def picked_by_a_tensor(x, k):
    parts = [x, x * x, ops.sin(x)]
    return parts[k[0]] * x


@case(of(0.5, 0.7))
@case(of(9.0, 9.0))
def until_it_is_large(x):
    states = []
    while ops.sum(x) < 10.0 and len(states) < 5:
        states.append(x)
        x = x * 1.5 + 0.2
    out = ops.sin(x)
    for i, state in enumerate(states):
        out = out + state * i
    for state in reversed(states):
        out = out * 0.5 + state * state
    return out


@case(t(2), 3)
def comprehensions_of_unknown_length(x, n):
    rows = [x * (i + 1) for i in range(n)]
    squares = [row * row for row in rows if ops.sum(row) > -9.0]
    return sum(squares) * len(rows) + sum(a * b for a, b in zip(rows, squares))


@case(t(2))
def long_comprehensions(x):
    rows = [x * i * j for i in range(10) for j in range(2)]
    return sum(rows) + ops.concat([row * row for row in rows]).sum()


@case(t(2), 3)
def pairs_in_a_list(x, n):
    pairs = []
    for i in range(n):
        pairs.append((x * i, ops.sin(x)))
    first, second = pairs[-1]
    return first * second + pairs[0][1]


@case(t(2), 3)
@case(t(2), 4)
def lists_that_change_places(x, n):
    a, b = [x], [ops.sin(x)]
    for _ in range(n):
        a.append(b[-1] * x)
        a, b = b, a
    return a[-1] * b[-1] + sum(a)


@case(t(2), 3)
def two_names_and_a_dict(x, n):
    items, state = [], {"count": 0}
    state["items"] = items
    for i in range(n):
        items.append(x * i)
        state["items"].append(x)
        state["count"] = state["count"] + 1
    return items[2] * state["items"][-1] * state["count"]


@case(t(2), 3)
def kept_while_it_grows(x, n):
    items = [x]
    for i in range(n):
        before = items
        items = items + [items[-1] * x]
        x = x + before[-1] * len(before)
    return items[-1] * x


def _total(items):
    total = items[0]
    for item in items:
        total = total + item * item
    return total


def _grow(items, x):
    items.append(items[-1] * x)
    return len(items)


@case(t(2), 3)
def handed_to_functions(x, n):
    items = [x]
    for _ in range(n):
        x = x * 0.5 + _grow(items, x) * 0.1
    return _total(items) + (lambda them: them[0] * them[-1])(items)


@case(t(2), 2)
def a_row_in_every_iteration(x, n):
    total = x
    for i in range(n):
        row = []
        for j in range(n):
            row.append(total * j + x)
        total = total + sum(row) * 0.1 + row[0]
    return total


@case(t(2))
def unpacked_after_a_loop(x):
    items = []
    for i in range(3):
        items.append(x * i)
    a, b, c = items
    return a * b + c


@case(t(2))
def items_needed_while_compiling(x):
    items = []
    for i in range(3):
        items.append(x * (i + 1))
    return ops.addn(items) * max(item.shape[0] for item in items)


@case(t(2), 3)
def numbers_in_a_list(x, n):
    steps = []
    for i in range(n):
        steps.append(i * 0.5)
    return x * sum(steps) + steps[-1] * x


@case(t(2), 2)
def an_item_is_written_to(x, n):
    items = []
    for i in range(n):
        y = x * i
        y[0] = ops.sum(x)
        items.append(y)
    return items[0] * items[-1]


@case(of(0.3, 0.4), 0.2)
@case(of(0.3, 0.4), 0.5)
def a_sum_that_may_be_of_nothing(x, low):
    return ops.sin(x + sum(x * y for y in x if ops.sum(y) > low))[1:]


@case(of(0.3, 0.4), 0)
@case(of(0.3, 0.4), 2)
def a_list_of_nothing_is_summed(x, n):
    rows = []
    for i in range(n):
        rows.append(ops.sin(x) * i)
    return ops.cos(x * x + sum(rows))[:1]
