"""Lists, tuples, dicts, comprehensions, indexing."""

from autodiff_compiler import Tensor, nn, ops
from tests.frontend.rows.rows import of, row


@row("list comprehension")
def list_comprehension(x):
    return sum([x * k for k in range(1, 4)]) * x


@row("list comp with if")
def comprehension_with_if(x):
    parts = [x * k for k in range(6) if k % 2 if k > 1]
    return parts[0] * parts[1] * len(parts)


@row("dict comprehension")
def dict_comprehension(x):
    table = {name: x * k for k, name in enumerate(("a", "b"), 1)}
    return table["a"] * table["b"]


@row("generator expression sum")
def generator_sum(x):
    return sum(x * k for k in range(1, 4)) * x


@row("list append")
def list_append(x):
    parts = []
    for k in range(3):
        parts.append(x * k)
    return parts[1] * parts[2]


@row("list setitem")
def list_setitem(x):
    parts = [x, x]
    parts[1] = x * x
    parts[-2] *= 3.0
    return parts[0] * parts[1]


@row("dict literal")
def dict_literal(x):
    return {"a": x, "b": x * x, 3: 2.0}["b"] * x


@row("dict setitem")
def dict_setitem(x):
    table = {"a": x}
    table["b"] = x * x
    table["a"] = table["a"] * 2
    return table["a"] * table["b"]


@row("dict get/keys/values")
def dict_methods(x):
    table = {"a": x, "b": x * x}
    y = table.get("a")
    for key in table:
        y = y * table[key]
    return sum(table.values()) * y * len(list(table.items()))


@row("dict get missing default")
def dict_missing(x):
    return x * {"a": 1.0}.get("b", 2.5)


@row("slice object")
def slice_object(x):
    part = slice(0, 2)
    return x[part] * (x, x * x, 2.0)[slice(1, None)][0]


@row("tensor slice", of(1.0, 2.0, 3.0, 4.0, 5.0))
def tensor_slice(x):
    return x[1:4] * x[:3] + x[::2] * x[-3:]


@row("tensor setitem")
def tensor_setitem(x):
    y = x * 2
    y[0] = x.sum()
    return y * y


@row("tensor aug setitem")
def tensor_augmented_setitem(x):
    y = x * 2
    y[1] *= x[0]
    y[:1] += 3.0
    return y * y


@row("tensor bool mask index", of(1.0, -2.0, 3.0))
def mask_index(x):
    return x[x > 0] * 2


@row("tensor mask setitem", of(1.0, -2.0, 3.0))
def mask_setitem(x):
    y = x * x
    y[x < 0] = 0.5
    return y * x


@row("x.shape in control flow")
def shape_in_flow(x):
    if x.shape[0] == 2 and x.ndim == 1 and x.shape == (2,):
        return x * x
    return x.no_such_method()


@row("len(x)")
def length(x):
    return x * len(x) * len([x, x])


@row("ellipsis / None index", of((1.0, 2.0), (3.0, 4.0)))
def ellipsis_index(x):
    return x[..., 0] * x[:, None, 1] + x[None, ...]


@row("tuple concat / mul")
def tuple_arithmetic(x):
    parts = (x, x * x) + (2.0,) * 2
    return parts[0] * parts[1] * parts[3]


@row("tuple slice")
def tuple_slice(x):
    parts = (x, x * x, ops.sin(x))
    return parts[1:][0] * parts[::-1][0]


@row("nested data structures")
def nested(x):
    data = {"a": [x, (x * x, {"b": ops.sin(x)})]}
    data["a"].append(3.0)
    return data["a"][0] * data["a"][1][1]["b"] * data["a"][-1]


@row("in list")
def in_list(x):
    return x * 2 if 3 in [1, 2, 3] and "a" in {"a": 1} else x


@row("tensor in list")
def tensor_in_list(x):
    items = [x, x * x]
    return x * x if x in items else x


@row("not in tuple")
def not_in_tuple(x):
    return x * 2 if "c" not in ("a", "b") else x


class Layers(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([nn.Tanh(), nn.Sigmoid()])
        self.by_name = {"a": nn.Tanh(), "b": nn.Sigmoid()}
        self.all = nn.SequentialCell(nn.Tanh(), nn.Sigmoid())


@row("containers of Cells")
class UsesContainersOfCells(Layers):
    def construct(self, x):
        y = self.layers[-1](x) * self.all(x) * len(self.layers)
        for name in ("b", "a"):
            y = self.by_name[name](y)
        return y * self.all[0](x)


@row("tensor index list")
def index_with_list(x):
    return x[[1, 0, 1]] * Tensor([1.0, 2.0, 3.0])


@row("list comp with if", of(1.5, -2.5))
def comprehension_with_a_run_time_test(x):
    return sum([part * x for part in (x[0], x[1]) if part > 0])


@row("list methods")
def list_methods(x):
    ks = [3, 1, 3]
    copied = ks.copy()
    copied.remove(1)
    ks.clear()
    empty = not ks and not {} and bool([0])
    return x * copied.index(3) + x * copied.count(3) * x if empty else x


@row("dict methods")
def dict_copy_pop_setdefault(x):
    table = {"a": x, **{"b": x * x}}
    other = table.copy()
    first = other.pop("a")
    other.setdefault("c", first * 2)
    other.update({"d": x}, e=2.0)
    return table["a"] * other["b"] * other["c"] * other["d"] * other["e"] * len(table)


@row("comparison of containers")
def compares_containers(x):
    same = [1, (2, {"a": 3})] == [1, (2, {"a": 3})] and {"a": 1} != {"b": 1} and [1] != (1,)
    short = [x, x] == [x] or {"a": x} == {"b": x} or (1, x) == (2, x)
    return x * x if same and not short and x != None and not x == "a" else x  # noqa: E711


@row("chained compare")
def chained_compare_of_known_numbers(x):
    return x if 3 < 2 < x.sum() or x.sum() < 1 < 0 else x * x


@row("min/max default")
def extreme_of_nothing(x):
    return x * max([], default=2.5) * min((), default=x)
