"""Calls of functions of shapes, of joining and splitting, and of making arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.numpy_arguments.draw import FLOATS, NUMBERS, OMIT, REALS, Draw
from tests.numpy_arguments.reductions import ALL, Make


def taking(name: str, make: Callable[[Draw, str], dict[str, Any]], low: int = 0,
           dtypes: Any = ALL) -> Make:  # fmt: skip
    """A function of one array whose further arguments depend on its shape."""

    def call(d: Draw) -> str:
        shape = d.shape(low if d.maybe(0.93) else 0, 3)
        a = d.array(shape, dtypes) if name[0] == "." else d.array_like(shape, dtypes)
        return d.call(name, a, **make(d, a))

    return call


def new_shape(d: Draw, a: str) -> list[int]:
    size = int(np.prod(d.shape_of(a)))
    found: list[int] = []
    for factor in (2, 3):
        if size and size % factor == 0 and d.maybe(0.6):
            found.append(factor)
            size //= factor
    found.insert(int(d.rng.integers(len(found) + 1)), size)
    if d.maybe(0.3):
        found[int(d.rng.integers(len(found)))] = -1
    if d.maybe(0.3):
        found.append(1)
    if d.maybe(0.04):
        found.append(2)
    return found


def reshape(d: Draw, a: str) -> dict[str, Any]:
    shape = new_shape(d, a)
    if len(shape) == 1 and d.maybe(0.5):
        return {"shape": d.pick(str(shape[0]), f"np.int64({shape[0]})")}
    return {"shape": d.pick(repr(tuple(shape)), repr(shape))}


def method_reshape(d: Draw) -> str:
    a = d.array(dtypes=ALL)
    shape = ", ".join(map(str, new_shape(d, a)))
    return d.pick(f"{a}.reshape({shape})", f"{a}.reshape(({shape},))", f"{a}.reshape([{shape}])")


def order(d: Draw, a: str) -> list[int]:
    rank = d.rank(a)
    axes = [int(axis) for axis in d.rng.permutation(rank)]
    axes = [axis - rank if d.maybe(0.3) else axis for axis in axes]
    return axes if d.maybe(0.95) else [*axes, 0]


def method_transpose(d: Draw) -> str:
    a = d.array(dtypes=ALL)
    axes = ", ".join(map(str, order(d, a)))
    return d.pick(f"{a}.transpose()", f"{a}.transpose(None)", f"{a}.transpose({axes})",
                  f"{a}.transpose([{axes}])")  # fmt: skip


def moves(d: Draw, a: str) -> dict[str, Any]:
    rank = d.rank(a)
    if d.maybe(0.5) or not rank:
        return {"source": d.axis(a), "destination": d.axis(a)}
    count = int(d.rng.integers(1, rank + 1))
    pairs = [repr([int(k) for k in d.rng.permutation(rank)[:count]]) for _ in range(2)]
    return {"source": pairs[0], "destination": pairs[1]}


def new_axes(d: Draw, a: str) -> dict[str, Any]:
    rank = d.rank(a)
    return {"axis": d.pick(d.number(-rank - 1, rank), "()", "(0, 1)", "[0, -1]", str(rank + 2))}


def squeezed(d: Draw, a: str) -> dict[str, Any]:
    ones = tuple(k for k, size in enumerate(d.shape_of(a)) if size == 1)
    return {"axis": d.optional(lambda: d.pick(repr(ones), "None", d.axis(a), repr(ones)), 0.7)}


def two_axes(first: str, second: str) -> Callable[[Draw, str], dict[str, Any]]:
    return lambda d, a: {first: d.axis(a), second: d.axis(a)}


def plane(d: Draw, a: str) -> dict[str, Any]:
    named: dict[str, Any] = {"offset": d.optional(lambda: d.number(-2, 2))}
    if d.maybe(0.5):
        named |= {"axis1": d.axis(a), "axis2": d.axis(a)}
    return named


def traced(d: Draw, a: str) -> dict[str, Any]:
    return {**plane(d, a), "dtype": d.optional(lambda: d.dtype_text(("float64", "int64")), 0.2)}


def rolled(d: Draw, a: str) -> dict[str, Any]:
    return {"shift": d.pick(d.number(-4, 4), "(1, 2)", "[-1]"),
            "axis": d.optional(lambda: d.axes(a))}  # fmt: skip


def turned(d: Draw, a: str) -> dict[str, Any]:
    return {"k": d.optional(lambda: d.number(-3, 5)),
            "axes": d.optional(
                lambda: d.pick("(0, 1)", "(1, 0)", "[-1, 0]", "(0, 0)"))}  # fmt: skip


def tiled(d: Draw, a: str) -> dict[str, Any]:
    return {"reps": d.pick(d.number(0, 3), "(2, 1)", "[1, 2, 2]", "(1,)", "()", "np.array([2, 1])")}


def repeated(d: Draw, a: str) -> dict[str, Any]:
    axis = d.optional(lambda: d.pick("None", d.axis(a), d.axis(a)))
    shape = d.shape_of(a)
    size = int(np.prod(shape))
    if axis not in (OMIT, "None") and shape:
        place = eval(axis, {"np": np})
        size = shape[place] if -len(shape) <= place < len(shape) else size
    counts = d.rng.integers(0, 3, size)
    return {"repeats": d.pick(d.number(0, 3), repr(counts.tolist()), d.given(counts), "[2]"),
            "axis": axis}  # fmt: skip


def stretched(d: Draw, a: str) -> dict[str, Any]:
    shape = tuple(int(d.pick(2, 3)) if size == 1 else size for size in d.shape_of(a))
    shape = (*d.shape(0, 1), *shape)
    return {"shape": repr(shape) if d.maybe(0.95) else "(2, -1)"}


def several(name: str, low: int = 0, **settings: Callable[[Draw, str], Any]) -> Make:
    """A function of a sequence of arrays."""

    def call(d: Draw) -> str:
        shape = d.shape(low, 3)
        names = [
            d.array_like(shape, ALL if d.maybe(0.5) else FLOATS) for _ in range(d.pick(1, 2, 3))
        ]
        if d.maybe(0.05):
            names.append(d.array(dtypes=ALL))
        text = d.pick(f"[{', '.join(names)}]", f"({', '.join(names)},)")
        if d.maybe(0.08):
            text = d.array(dtypes=ALL)
        named: dict[str, Any] = {
            key: d.optional(lambda make=make: make(d, names[0])) for key, make in settings.items()
        }
        named["dtype"] = d.optional(lambda: d.dtype_text(("float64", "float32", "int64")), 0.1)
        named["casting"] = d.optional(lambda: d.pick("'unsafe'", "'safe'"), 0.08)
        return d.call(name, text, **named)

    return call


def appended(d: Draw) -> str:
    a = d.array_like(dtypes=ALL)
    other = d.array_like(d.shape_of(a) if d.maybe(0.8) else None, ALL)
    return d.call("append", a, other, axis=d.optional(lambda: d.axis(a)))


def at_least(name: str) -> Make:
    def call(d: Draw) -> str:
        return d.call(name, *(d.array_like(dtypes=ALL) for _ in range(d.pick(1, 1, 2))))

    return call


def pieces(name: str) -> Make:
    def call(d: Draw) -> str:
        low = {"vsplit": 2, "dsplit": 3, "hsplit": 1}.get(name, 1)
        shape = tuple(int(d.pick(2, 4, 4, 6)) for _ in range(int(d.rng.integers(low, 4))))
        a = d.array(shape if d.maybe(0.95) else None, ALL)
        places = d.pick(d.number(1, 3), "[1, 2]", "(1,)", "[]", "[2, 1]", "[-1]", "[1, 9]", "0",
                        "np.array([1, 3])")  # fmt: skip
        named = {"axis": d.optional(lambda: d.axis(a))} if low == 1 and name != "hsplit" else {}
        return d.call(name, a, places, **named)

    return call


def padded(d: Draw) -> str:
    a = d.array_like(d.shape(1, 2), ALL)
    widths = d.pick("1", "(1, 2)", "[(0, 2)]", "((1,),)", "0", "2", "-1", "np.int64(1)",
                    repr(((1, 0),) * d.rank(a)), repr([[1, 2]] * d.rank(a)))  # fmt: skip
    mode = d.optional(lambda: d.pick("'constant'", "'edge'", "'reflect'", "'symmetric'", "'wrap'",
                                     "'mean'", "'linear_ramp'", "'odd'"), 0.7)  # fmt: skip
    extra: dict[str, Any] = {}
    if mode in (OMIT, "'constant'") and d.maybe(0.5):
        extra["constant_values"] = d.pick("2", "0.5", "(1, 2)", "((3, 4),)")
    elif d.maybe(0.1):
        extra = d.pick({"reflect_type": "'odd'"}, {"stat_length": "1"}, {"constant_values": "1"})
    return d.call("pad", a, widths, mode=mode, **extra)


def picked(d: Draw, a: str) -> dict[str, Any]:
    shape = d.shape_of(a)
    axis = d.optional(lambda: d.pick("None", d.axis(a), d.axis(a)), 0.7)
    size = int(np.prod(shape))
    if axis not in (OMIT, "None") and shape:
        place = eval(axis, {"np": np})
        size = shape[place] if -len(shape) <= place < len(shape) else size
    mode = d.optional(lambda: d.pick("'raise'", "'wrap'", "'clip'"), 0.3)
    far = 3 if mode in ("'wrap'", "'clip'") else 1 if d.maybe(0.05) else 0
    places = d.rng.integers(-size - far, max(size, 1) + far, d.shape(0, 2))
    indices = d.pick(d.given(places), d.given(places), repr(places.tolist()),
                     f"np.int64({int(places.flat[0]) if places.size else 0})")  # fmt: skip
    return {"indices": indices, "axis": axis, "mode": mode}


def along(d: Draw) -> str:
    a = d.array(d.shape(1, 3), ALL)
    shape = list(d.shape_of(a))
    way = d.optional(lambda: d.pick("None", d.axis(a), d.axis(a)), 0.8)
    place = -1 if way is OMIT else eval(way, {"np": np})
    if place is None:
        shape, place = [int(np.prod(shape))], 0
    if not -len(shape) <= place < len(shape):
        return d.call("take_along_axis", a, d.given(np.zeros(shape, int)), axis=way)
    size, shape[place] = shape[place], int(d.pick(1, 2, 3))
    places = d.rng.integers(-size, max(size, 1), shape)
    return d.call("take_along_axis", a, d.given(places), axis=way)


def grid(d: Draw) -> str:
    rows = [d.array_like((int(d.pick(1, 2, 3)),), ALL) for _ in range(d.pick(1, 2, 2, 3))]
    text = d.call("meshgrid", *rows)
    for key, thing in (("sparse", d.flag(0.2)), ("copy", d.optional(lambda: "True", 0.1)),
                       ("indexing", d.optional(
                           lambda: d.pick("'ij'", "'xy'", "'no'")))):  # fmt: skip
        text = text if thing is OMIT else f"{text[:-1]}, {key}={thing})"
    return text


def alike(name: str, *more: str) -> Make:
    def call(d: Draw) -> str:
        a = d.array_like(dtypes=ALL)
        d.smooth &= name != "empty_like"  # what it holds is told by nobody
        given = [d.pick("2", "0.5", "True", d.like(a, REALS))] if more else []
        return d.call(name, a, *given, dtype=d.optional(lambda: d.dtype_text(), 0.4),
                      shape=d.optional(lambda: d.pick("(2, 3)", "4", "()"), 0.15))  # fmt: skip

    return call


def made(name: str) -> Make:
    def call(d: Draw) -> str:
        a = d.array_like(dtypes=ALL)
        if d.maybe(0.3):
            b = d.array((), FLOATS)
            a = d.pick(f"[{b}, 1.0]", f"[[1, {b}], [{b}, True]]", f"[{b}, {b}]", f"({b}, 2j)")
        ndmin = d.optional(lambda: d.number(0, 3), 0.3) if name == "array" else OMIT
        return d.call(name, a, dtype=d.optional(lambda: d.dtype_text(NUMBERS), 0.3), ndmin=ndmin)

    return call


def linspace(d: Draw) -> str:
    shape = d.shape(0, 1) if d.maybe(0.6) else d.shape(0, 2)
    start, stop = d.array_like(shape, ALL), d.array_like(shape, ALL)
    if d.maybe(0.4):
        stop = d.pick("2.0", "5", "[1.0, 2.0]")
    axis = d.optional(lambda: d.pick("0", "-1"), 0.15)
    low = -1 if d.maybe(0.1) else 0
    return d.call("linspace", start, stop, num=d.optional(lambda: d.number(low, 5), 0.7),
                  endpoint=d.flag(0.3), retstep=d.flag(0.2),
                  dtype=d.optional(lambda: d.dtype_text(("float64", "float32", "int64")), 0.15),
                  axis=axis)  # fmt: skip


def vander(d: Draw) -> str:
    x = d.array_like((int(d.pick(1, 2, 3)),), ALL)
    return d.call("vander", x, N=d.optional(lambda: d.number(0, 4)), increasing=d.flag())


def filled(name: str) -> Make:
    """An array of a size that the run tells."""

    def call(d: Draw) -> str:
        a = d.array(d.shape(1, 2), FLOATS)
        size = d.pick(f"{a}.shape", f"len({a})", f"({a}.shape[0], 2)", f"[{a}.shape[-1]]")
        d.smooth = False
        named = {"dtype": d.optional(lambda: d.dtype_text(), 0.5)}
        text = d.call(name, size, **named)
        return f"{text} * 0" if name == "empty" else text

    return call


def cast(d: Draw) -> str:
    a = d.array(dtypes=ALL)
    return d.call(
        ".astype", a, d.dtype_text(), casting=d.optional(lambda: d.pick("'safe'", "'unsafe'"), 0.2)
    )


def item(d: Draw) -> str:
    shape = tuple(int(d.pick(1, 2, 3)) for _ in range(int(d.rng.integers(0, 3))))
    a = d.array(shape, ("float64", "int64", "bool", "complex128"))
    size = int(np.prod(shape))
    if size == 1 and d.maybe(0.5):
        return d.call(".item", a)
    places = [int(d.rng.integers(-n, n)) for n in shape]
    return d.call(".item", a, *d.pick([int(d.rng.integers(-size, size + d.maybe(0.1)))], places))


def last_axis(d: Draw, a: str) -> dict[str, Any]:
    return {"k": d.optional(lambda: d.number(-2, 2))}


CALLS: dict[str, Make] = {
    "reshape": taking("reshape", reshape), ".reshape": method_reshape,
    "transpose": taking("transpose", lambda d, a: {
        "axes": d.optional(lambda: d.pick("None", repr(order(d, a)), repr(tuple(order(d, a)))))}),
    ".transpose": method_transpose, "moveaxis": taking("moveaxis", moves, 1),
    "expand_dims": taking("expand_dims", new_axes),
    **{name: taking(name, squeezed) for name in ("squeeze", ".squeeze")},
    "swapaxes": taking("swapaxes", two_axes("axis1", "axis2"), 1),
    ".swapaxes": lambda d: (lambda a: d.call(".swapaxes", a, d.axis(a), d.axis(a)))(d.array()),
    "rollaxis": taking("rollaxis", lambda d, a: {
        "axis": d.axis(a), "start": d.optional(lambda: d.number(-3, 3))}, 1),
    **{name: taking(name, lambda d, a: {}) for name in
       ("ravel", ".ravel", ".flatten", "copy", ".copy", ".view", "shape", "ndim", "fliplr",
        "flipud")},
    "size": taking("size", lambda d, a: {"axis": d.optional(lambda: d.axis(a))}, dtypes=REALS),
    "flip": taking("flip", lambda d, a: {"axis": d.optional(lambda: d.axes(a))}),
    "roll": taking("roll", rolled), "rot90": taking("rot90", turned, 2),
    "tile": taking("tile", tiled),
    **{name: taking(name, repeated) for name in ("repeat", ".repeat")},
    "broadcast_to": taking("broadcast_to", stretched),
    "concatenate": several("concatenate", 1, axis=lambda d, a: d.pick("None", d.axis(a))),
    "stack": several("stack", axis=lambda d, a: d.number(-d.rank(a) - 1, d.rank(a))),
    **{name: several(name) for name in ("hstack", "vstack", "dstack")},
    "column_stack": lambda d: d.call("column_stack", "[" + ", ".join(
        d.array_like(d.pick((3,), (3, 2), (3, 1)), ALL) for _ in range(d.pick(1, 2))) + "]"),
    "append": appended, **{f"atleast_{k}d": at_least(f"atleast_{k}d") for k in (1, 2, 3)},
    **{name: pieces(name) for name in ("split", "array_split", "hsplit", "vsplit", "dsplit")},
    **{name: taking(name, last_axis, 1) for name in ("tril", "triu", "diag")},
    **{name: taking(name, plane, 2) for name in ("diagonal", ".diagonal")},
    **{name: taking(name, traced, 2) for name in ("trace", ".trace")},
    "pad": padded, **{name: taking(name, picked) for name in ("take", ".take")},
    "take_along_axis": along, "meshgrid": grid,
    **{name: alike(name) for name in ("zeros_like", "ones_like", "empty_like")},
    "full_like": alike("full_like", "fill_value"),
    **{name: made(name) for name in ("array", "asarray", "asanyarray", "ascontiguousarray")},
    "linspace": linspace, "vander": vander,
    **{name: filled(name) for name in ("zeros", "ones", "empty")},
    ".astype": cast, ".item": item,
}  # fmt: skip
