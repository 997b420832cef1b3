"""Calls of functions of each element by itself: all ufuncs, and their like."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_compiler.frontend.numpy_rules.names import NUMPY
from tests.numpy_arguments.draw import FLOATS, NUMBERS, OMIT, REALS, Draw
from tests.numpy_arguments.reductions import ALL, Make

#: Where the arguments of a ufunc lie, if not between -3 and 3.
RANGES = {
    "arccos": (-0.9, 0.9), "arcsin": (-0.9, 0.9), "arctanh": (-0.9, 0.9), "arccosh": (1.1, 3.0),
    "log": (0.2, 3.0), "log2": (0.2, 3.0), "log10": (0.2, 3.0), "log1p": (-0.5, 3.0),
    "sqrt": (0.2, 3.0), "float_power": (0.3, 3.0), "power": (0.3, 3.0),
}  # fmt: skip


def ufunc(theirs: np.ufunc) -> Make:
    name = theirs.__name__
    low, high = RANGES.get(name, (-3.0, 3.0))

    def make(d: Draw) -> str:
        dtypes = NUMBERS if d.maybe(0.9) else (*NUMBERS, "uint8", "int8")
        a = d.array_like(dtypes=dtypes, low=low, high=high)
        operands = [a]
        if theirs.nin == 2:
            number = d.pick("2", "0.5", "True", "3.0", "np.float32(1.5)", "np.float64(0.5)")
            other = number if d.maybe(0.25) else d.like(a, dtypes, low=low, high=high)
            operands = [a, other] if d.maybe(0.7) else [other, a]
        dtype = d.optional(lambda: d.dtype_text(("float64", "float32", "int64")), 0.08)
        text = d.call(name, *operands)
        for key, thing in (("dtype", dtype), ("casting", d.optional(lambda: "'same_kind'", 0.03))):
            text = text if thing is OMIT else f"{text[:-1]}, {key}={thing})"
        return text

    return make


def single(name: str, dtypes: Any = ALL, low: float = -3.0, **settings: Any) -> Make:
    """A function of one array, with further arguments."""

    def make(d: Draw) -> str:
        a = d.array(dtypes=dtypes, low=low) if name[0] == "." else d.array_like(dtypes=dtypes)
        named = {key: d.optional(lambda draws=draws: draws(d)) for key, draws in settings.items()}
        return d.call(name, a, **named)

    return make


def clip(name: str) -> Make:
    def make(d: Draw) -> str:
        a = d.array(dtypes=REALS) if name[0] == "." else d.array_like(dtypes=REALS)

        def bound(low: float) -> Any:
            return d.pick("None", repr(low), str(int(low)), d.like(a, REALS, low=low, high=low + 1),
                          d.array((), REALS))  # fmt: skip

        low, high = d.optional(lambda: bound(-1.5), 0.8), d.optional(lambda: bound(1.0), 0.8)
        if d.maybe(0.3) or name[0] == ".":
            return d.call(name, a, min=low, max=high)
        if OMIT in (low, high):
            return d.call(name, a, a_min="-1", a_max="0.5")
        return d.call(name, a, a_min=low, a_max=high)

    return make


def where(d: Draw) -> str:
    a = d.array_like(dtypes=ALL)
    condition = d.like(a, ("bool", "bool", "int64", "float64"))
    if condition in d.inputs and d.maybe(0.3):
        condition = f"{condition} > 0"
        d.smooth = False
    other = d.pick("0", "2.5", "True", d.like(a, ALL))
    first, second = (a, other) if d.maybe(0.5) else (other, a)
    return d.call("where", condition, first, second)


def select(d: Draw) -> str:
    a = d.array(dtypes=REALS)
    count = int(d.rng.integers(0 if d.maybe(0.1) else 1, 4))
    conditions = [d.pick(f"{a} > {k - 1}", f"{a} < 0.5") for k in range(count)]
    choices = [d.pick(a, "2", "0.5", d.like(a, REALS)) for _ in range(count + d.maybe(0.04))]
    default = d.optional(lambda: d.pick("0", "1.5", d.like(a, REALS)))
    text = d.call("select", f"[{', '.join(conditions)}]", f"[{', '.join(choices)}]")
    return text if default is OMIT else f"{text[:-1]}, {d.pick('', 'default=')}{default})"


def interp(d: Draw) -> str:
    x = d.array_like(dtypes=(*FLOATS, "int64"))
    count = int(d.rng.integers(1, 6))
    xp = d.array((count,), (*FLOATS, "int64"))
    points = np.sort(d.values((count,), "float64", -3.0, 3.0))
    kind = d.inputs[xp].dtype
    d.inputs[xp] = (points if kind.kind == "f" else np.arange(count) * 2 - 3).astype(kind)
    if d.maybe(0.2):
        points_text = repr(d.inputs.pop(xp).tolist())
        xp = points_text
    fp = d.array_like((count + d.maybe(0.03),), (*FLOATS, "int64"))
    ends = {key: d.optional(lambda: d.pick("0.0", "-1", "None", d.array((), FLOATS)), 0.3)
            for key in ("left", "right")}  # fmt: skip
    period = d.optional(lambda: d.pick("2.5", "-4", "0"), 0.15)
    return d.call("interp", x, xp, fp, **ends, period=period)


def isclose(d: Draw) -> str:
    a = d.array_like(dtypes=ALL)
    return d.call("isclose", a, d.like(a, ALL), rtol=d.optional(lambda: "0.5"),
                  atol=d.optional(lambda: "1.0"), equal_nan=d.flag(0.3))  # fmt: skip


def nan_to_num(d: Draw) -> str:
    a = d.array(dtypes=ALL)
    array = d.inputs[a]
    if array.dtype.kind == "f" and array.size:
        d.smooth = False
        changed = array.copy()
        for bad in (np.nan, np.inf, -np.inf):
            changed[d.rng.random(array.shape) < 0.2] = bad
        d.inputs[a] = changed
    ends = {key: d.optional(lambda: d.pick("2.0", "-1", "0"), 0.4)
            for key in ("nan", "posinf", "neginf")}  # fmt: skip
    return d.call("nan_to_num", a, copy=d.optional(lambda: "True", 0.1), **ends)


def decimals(d: Draw) -> str:
    return d.pick("1", "0", "2", "-1", "np.int64(1)")


UFUNCS = {theirs.__name__: ufunc(theirs) for theirs in NUMPY
          if isinstance(theirs, np.ufunc) and not theirs.signature}  # fmt: skip
CALLS: dict[str, Make] = {
    **UFUNCS,
    **{name: single(name) for name in ("real", "imag", "sinc", ".conj", ".conjugate")},
    "fix": single("fix", REALS),
    "angle": single("angle", deg=lambda d: d.pick("True", "False")),
    **{name: single(name, (*FLOATS, "int64", "complex128"), decimals=decimals)
       for name in ("round", "around", ".round")},
    "clip": clip("clip"), ".clip": clip(".clip"), "where": where, "select": select,
    "interp": interp, "isclose": isclose, "nan_to_num": nan_to_num,
}  # fmt: skip
