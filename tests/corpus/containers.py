"""Tuples, lists and dicts of tensors: as inputs, on the way, and as results."""

from autodiff_compiler import ops
from tests.corpus.cases import case, t


@case(t(3))
def dict_output(x):
    return {"square": x * x, "parts": (ops.sin(x), ops.sum(x))}


@case(t(3), t(3, phase=0.4))
def tuple_on_the_way(x, y):
    pair = (x, y * y)
    a, b = pair
    return a * pair[1] + b


@case(t(3), t(3, phase=0.4))
def dict_on_the_way(x, y):
    state = {"x": x, "y": y}
    state["x"] = state["x"] * state["y"]
    state["z"] = ops.sin(state["x"])
    return sum(state.values())


@case(t(3))
def list_comprehension(x):
    powers = [x * k for k in range(3)]
    return sum(powers) * powers[2]


@case(t(6))
def starred(x):
    first, *middle, last = ops.split(x, 2)
    return first * last + middle[0]


@case(t(3))
def aliased(x):
    items = [x]
    again = items
    again.append(x * x)
    return items[1] * len(items)


@case(t(3))
def item_assignment(x):
    items = [x, x * x, ops.sin(x)]
    items[0] = items[1] * items[2]
    items += [items[0] + x]
    return items[0] * items[-1]


@case(t(2, 3))
def several_from_one(x):
    a, b = ops.unstack(x)
    return a * b, (a, {"b": b})


@case(t(3), 3)
def dict_in_a_loop(x, n):
    state = {"h": x, "c": x * x}
    for i in range(n):
        state = {"h": ops.sin(state["c"]), "c": state["h"] * state["c"]}
    return state["h"] + state["c"]


@case(t(3), 3)
def list_in_a_loop(x, n):
    state = [x, x * x]
    for i in range(n):
        state[0], state[1] = state[1], ops.sin(state[0])
    return state[0] * state[1]


@case(t(3), 4)
def stacked(x, n):
    rows = []
    for i in range(n):
        x = ops.sin(x)
        rows.append(x)
    return ops.stack(rows)


@case(t(3), 3)
@case(t(3), 0)
def compared(x, n):
    same = [x, {"a": n}] == [x, {"a": 3}]
    other = (n, 1) != (3, 1) or [1] in [[2], [1]]
    return x * (2 if same else 3) + ops.sin(x) * other


@case(t(3))
def slices_of_lists_set(x):
    items = [x, x * x, ops.sin(x)]
    items[1:] = [x * 5, x * 7, x]
    items[:1] = []
    return items[0] * items[1] * len(items)


@case(t(3))
def updated(x):
    state = {"a": 1}
    state.update(b=x * x)
    state.update([("c", x)], a=3)
    return state["b"] * state["a"] + state["c"]


@case(t(3))
def truth_of_an_element(x):
    return x * x + bool(x[2])
