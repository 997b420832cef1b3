"""Calls of reductions, of what runs along an axis, and of differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.numpy_arguments.draw import FLOATS, OMIT, REALS, Draw

Make = Callable[[Draw], str]


def number(d: Draw) -> str:
    return d.pick("0", "2", "-1", "0.5", "2.5")


def reduced(name: str, dtypes: Any = REALS, like: bool = True, **settings: Any) -> Make:
    """A reduction over axes; ``settings`` are further arguments, each with what draws it."""

    def make(d: Draw) -> str:
        method = name[0] == "."
        a = d.array(dtypes=dtypes) if method or not like else d.array_like(dtypes=dtypes)
        named: dict[str, Any] = {"axis": d.optional(lambda: d.axes(a), 0.8)}
        for key, draws in settings.items():
            named[key] = d.optional(lambda draws=draws: draws(d), 0.25)
        named["keepdims"] = d.flag(0.4)
        return d.call(name, a, **named)

    return make


def dtype(d: Draw) -> Any:
    return d.dtype_text(("float64", "float32", "int64", "float64"))


def positive(d: Draw) -> Any:
    return d.pick("0", "1", "0.5", "1.5")


ALL = (*REALS, "complex128")


def running(name: str) -> Make:
    def make(d: Draw) -> str:
        a = d.array(dtypes=ALL) if name[0] == "." else d.array_like(dtypes=ALL)
        axis = d.optional(lambda: d.pick("None", d.axis(a), d.axis(a)), 0.7)
        return d.call(name, a, axis=axis, dtype=d.optional(lambda: dtype(d), 0.2))

    return make


def placed(name: str) -> Make:
    def make(d: Draw) -> str:
        a = d.array(dtypes=REALS) if name[0] == "." else d.array_like(dtypes=REALS)
        axis = d.optional(lambda: d.pick("None", d.axis(a), d.axis(a)), 0.8)
        return d.call(name, a, axis=axis, keepdims=d.flag(0.4))

    return make


def sorted_(name: str) -> Make:
    def make(d: Draw) -> str:
        kinds = REALS if name == "sort" else FLOATS
        a = d.array(dtypes=kinds)
        axis = d.optional(lambda: d.pick("None", d.axis(a), d.axis(a)), 0.6)
        kind = d.optional(lambda: d.pick("'stable'", "'quicksort'", "None", "'bad'"), 0.2)
        stable = OMIT if kind is not OMIT else d.optional(lambda: d.pick("True", "None"), 0.1)
        if name != "sort":
            d.smooth = True
            array = d.inputs[a]
            d.inputs[a] = d.rng.permutation(array.size).reshape(array.shape).astype(array.dtype)
        return d.call(name, a, axis=axis, kind=kind, stable=stable)

    return make


def average(d: Draw) -> str:
    a = d.array_like(dtypes=ALL)
    axis = d.optional(lambda: d.axes(a), 0.8)
    shape = d.shape_of(a)
    way = d.rng.integers(4)
    weights: Any = OMIT
    if way == 1:
        weights = d.array_like(shape, FLOATS, low=0.5)
    elif way > 1 and axis is not OMIT and axis != "None":
        axes = eval(axis, {"np": __import__("numpy")})
        axes = axes if isinstance(axes, tuple) else (axes,)
        sizes = tuple(shape[k] for k in axes if -len(shape) <= k < len(shape))
        weights = d.array_like(sizes, FLOATS, low=0.5)
    return d.call("average", a, axis=axis, weights=weights,
                  returned=d.flag(0.2), keepdims=d.flag(0.3))  # fmt: skip


def median(d: Draw) -> str:
    a = d.array_like(dtypes=REALS)
    return d.call("median", a, axis=d.optional(lambda: d.axes(a), 0.7), keepdims=d.flag(0.4))


def of_nan(name: str, **settings: Any) -> Make:
    inner = reduced(name, ALL, like=False, **settings)

    def make(d: Draw) -> str:
        text = inner(d)
        for thing in d.inputs.values():
            if getattr(thing, "dtype", None) in ("float64", "float32") and d.maybe(0.7):
                d.smooth = False
                changed = thing.copy()
                changed[d.rng.random(thing.shape) < 0.3] = float("nan")
                d.inputs[next(iter(d.inputs))] = changed
        return text

    return make


def allclose(d: Draw) -> str:
    a = d.array_like(dtypes=ALL)
    return d.call("allclose", a, d.like(a), rtol=d.optional(lambda: "0.5"),
                  atol=d.optional(lambda: "2.0"), equal_nan=d.flag(0.3))  # fmt: skip


def ptp(d: Draw) -> str:
    a = d.array_like(dtypes=(*FLOATS, "int64"))
    return d.call("ptp", a, axis=d.optional(lambda: d.axes(a)), keepdims=d.flag())


def diff(d: Draw) -> str:
    a = d.array(d.shape(1, 3), ALL)
    axis = d.optional(lambda: d.axis(a))

    def end() -> str:
        return d.pick("0.0", "1", d.like(a, ALL))

    return d.call("diff", a, n=d.optional(lambda: d.number(0, 2)), axis=axis,
                  prepend=d.optional(end, 0.2), append=d.optional(end, 0.2))  # fmt: skip


def gradient(d: Draw) -> str:
    shape = tuple(int(d.pick(2, 3, 4, 5, 5)) for _ in range(int(d.rng.integers(1, 4))))
    f = d.array(shape, (*FLOATS, "int64", "complex128"))
    axis = d.optional(lambda: d.axes(f, none=False), 0.4)
    axes = list(range(len(shape)))
    if axis is not OMIT:
        given = eval(axis, {"np": __import__("numpy")})
        axes = [k for k in (given if isinstance(given, tuple) else (given,))
                if -len(shape) <= k < len(shape)]  # fmt: skip

    def spacing(k: int) -> str:
        if d.maybe(0.5):
            return d.pick("2.0", "0.5", "3", d.array((), ("float64",), low=0.5))
        name = d.array((shape[k],), ("float64", "float64", "float32", "int64"))
        steps = abs(d.inputs[name]) + 1
        d.inputs[name] = steps.cumsum().astype(steps.dtype)
        return d.pick(name, name, repr(d.inputs[name].tolist()))

    way, spacings = d.rng.integers(4), []
    if way == 1:
        spacings = [d.pick("0.5", "2")]
    elif way > 1:
        spacings = [spacing(k) for k in axes]
    text = d.call("gradient", f, *spacings)
    for key, thing in (("axis", axis), ("edge_order", d.optional(lambda: d.number(1, 3), 0.4))):
        if thing is not OMIT:
            text = f"{text[:-1]}, {key}={thing})"
    return text


def trapezoid(d: Draw) -> str:
    y = d.array_like(d.shape(1, 3), ALL)
    axis = d.optional(lambda: d.axis(y))
    shape = d.shape_of(y)
    named: dict[str, Any] = {}
    way = d.rng.integers(4)
    if way == 1:
        named["x"] = d.array_like(shape, REALS)
    elif way == 2:
        size = shape[-1]
        if axis is not OMIT and -len(shape) <= eval(axis, {"np": __import__("numpy")}) < len(shape):
            size = shape[eval(axis, {"np": __import__("numpy")})]
        named["x"] = d.array_like((size,), REALS)
    elif way == 3:
        named["dx"] = d.pick("0.5", "2", d.array((), FLOATS))
    return d.call("trapezoid", y, **named, axis=axis)


SUMS: dict[str, Any] = {"dtype": dtype, "initial": number}
SPREADS: dict[str, Any] = {"dtype": lambda d: d.dtype_text(FLOATS), "ddof": positive}
CORRECTED = {**SPREADS, "correction": positive}
CALLS: dict[str, Make] = {
    **{name: reduced(name, ALL, **SUMS) for name in ("sum", "prod", ".sum", ".prod")},
    **{name: reduced(name) for name in ("all", "any", ".all", ".any")},
    **{name: reduced(name, initial=number)
       for name in ("max", "min", "amax", "amin", ".max", ".min")},
    **{name: reduced(name, ALL, dtype=lambda d: d.dtype_text(FLOATS))
       for name in ("mean", ".mean")},
    **{name: reduced(name, ALL, **CORRECTED) for name in ("std", "var")},
    **{name: reduced(name, ALL, **SPREADS) for name in (".std", ".var")},
    **{name: running(name) for name in ("cumsum", "cumprod", ".cumsum", ".cumprod")},
    **{name: placed(name) for name in ("argmax", "argmin", ".argmax", ".argmin")},
    **{name: sorted_(name) for name in ("sort", "argsort", ".argsort")},
    "nansum": of_nan("nansum", **SUMS), "nanmean": of_nan("nanmean", dtype=SPREADS["dtype"]),
    "count_nonzero": reduced("count_nonzero", ALL),
    "average": average, "median": median, "allclose": allclose, "ptp": ptp, "diff": diff,
    "gradient": gradient, "trapezoid": trapezoid,
}  # fmt: skip
