"""Numbers, objects and arrays under attributes and items, at any depth."""

from __future__ import annotations

import collections
import types

import numpy as np

from tests.reaching.holders import (
    Cases,
    Fixed,
    Lazy,
    Net,
    Options,
    Pair,
    Plain,
    Slotted,
    copied,
    fresh_class,
    having,
    module_of,
    setting,
    two,
    two_items,
)

CASES: Cases = {
    # a number under an attribute, by every kind of holder
    "plain.scale": lambda: (Plain(), lambda h: h.scale, setting("scale", 5.0)),
    "slotted.scale": lambda: (Slotted(), lambda h: h.scale, setting("scale", 5.0)),
    "lazy.scale": lambda: (Lazy(), lambda h: h.scale, lambda h: h.answers.update(scale=5.0)),
    "dataclass.scale": lambda: (Options(), lambda h: h.scale, setting("scale", 5.0)),
    "space.scale": lambda: (
        types.SimpleNamespace(scale=2.0),
        lambda h: h.scale,
        setting("scale", 5.0),
    ),
    "cell.scale": lambda: (Net(), lambda h: h.scale, setting("scale", 5.0)),
    "module.scale": lambda: (module_of(), lambda h: h.scale, setting("scale", 5.0)),
    "function.scale": lambda: (
        having(copied(two), scale=2.0),
        lambda h: h.scale,
        setting("scale", 5.0),
    ),
    "class.shared": lambda: (fresh_class(), lambda h: h.shared, setting("shared", 5.0)),
    "class of the object": lambda: (
        fresh_class()(),
        lambda h: h.shared,
        lambda h: setattr(type(h), "shared", 5.0),
    ),
    "base of the class": lambda: (
        fresh_class(fresh_class())(),
        lambda h: h.shared,
        lambda h: setattr(type(h).__mro__[1], "shared", 5.0),
    ),
    "the object hides its class": lambda: (
        fresh_class()(),
        lambda h: h.shared,
        setting("shared", 5.0),
    ),
    "item": lambda: ({"a": 2.0}, lambda h: h["a"], lambda h: h.update(a=5.0)),
    "item of a list": lambda: ([1.0, 2.0], lambda h: h[1], lambda h: h.__setitem__(1, 5.0)),
    "ordered": lambda: (
        collections.OrderedDict(a=2.0),
        lambda h: h["a"],
        lambda h: h.update(a=5.0),
    ),
    # deep
    "attribute of attribute": lambda: (
        Options(inner=Options()),
        lambda h: h.inner.scale,
        lambda h: setattr(h.inner, "scale", 5.0),
    ),
    "attribute replaced above": lambda: (
        Options(inner=Options()),
        lambda h: h.inner.scale,
        setting("inner", Options(5.0)),
    ),
    "below what is frozen": lambda: (
        Fixed(Options()),
        lambda h: h.inner.scale,
        lambda h: setattr(h.inner, "scale", 5.0),
    ),
    "below a named tuple": lambda: (
        Pair(1.0, Options()),
        lambda h: h.second.scale,
        lambda h: setattr(h.second, "scale", 5.0),
    ),
    "dict in list in tuple": lambda: (
        ([{"k": [2.0]}],),
        lambda h: h[0][0]["k"][0],
        lambda h: h[0][0]["k"].__setitem__(0, 5.0),
    ),
    "object in dict": lambda: (
        {"o": Plain()},
        lambda h: h["o"].scale,
        lambda h: setattr(h["o"], "scale", 5.0),
    ),
    "list in object": lambda: (
        Options(inner=[2.0, 3.0]),
        lambda h: h.inner[0] + len(h.inner),
        lambda h: h.inner.append(1.0),
    ),
    "sum of a list in an object": lambda: (
        Options(inner=[2.0, 3.0]),
        lambda h: sum(h.inner),
        lambda h: h.inner.append(1.0),
    ),
    "dict of a class": lambda: (
        having(fresh_class(), table={"k": [2.0]})(),
        lambda h: h.table["k"][0],
        lambda h: h.table["k"].__setitem__(0, 5.0),
    ),
    "class in an attribute": lambda: (
        Options(inner=fresh_class()),
        lambda h: h.inner.shared,
        lambda h: setattr(h.inner, "shared", 5.0),
    ),
    "module in an attribute": lambda: (
        Options(inner=module_of()),
        lambda h: h.inner.inner.scale,
        lambda h: setattr(h.inner.inner, "scale", 5.0),
    ),
    # arrays
    "array written to": lambda: (
        Options(two_items()),
        lambda h: h.scale,
        lambda h: h.scale.__setitem__(0, 5.0),
    ),
    "array replaced": lambda: (
        Options(two_items()),
        lambda h: h.scale,
        setting("scale", 5 + two_items()),
    ),
    "array of another shape": lambda: (
        Options(two_items()),
        lambda h: h.scale,
        setting("scale", two_items()[:1]),
    ),
    "array of another type": lambda: (
        Options(two_items()),
        lambda h: h.scale,
        setting("scale", np.array([5.0, 1.0], np.float32)),
    ),
    "array that becomes a number": lambda: (
        Options(two_items()),
        lambda h: h.scale,
        setting("scale", 5.0),
    ),
    "array in a dict": lambda: (
        {"a": two_items()},
        lambda h: h["a"],
        lambda h: h["a"].__setitem__(0, 5.0),
    ),
    "array in a dict, replaced": lambda: (
        {"a": two_items()},
        lambda h: h["a"],
        lambda h: h.update(a=5 + two_items()),
    ),
    "array in a list": lambda: (
        [two_items()],
        lambda h: h[0],
        lambda h: h.__setitem__(0, 5 + two_items()),
    ),
    "array in a list, written to": lambda: (
        [two_items()],
        lambda h: h[0],
        lambda h: h[0].__setitem__(0, 5.0),
    ),
    "array in a list in an object": lambda: (
        Options(inner=[two_items()]),
        lambda h: h.inner[0],
        lambda h: h.inner[0].__setitem__(0, 5.0),
    ),
    "array that decides": lambda: (
        Options(np.array([1, 0])),
        lambda h: 2.0 if int(h.scale[0]) == 1 else 5.0,
        lambda h: h.scale.__setitem__(0, 0),
    ),
    "mask that decides": lambda: (
        Options(np.array([True, False])),
        lambda h: 2.0 if h.scale[0] else 5.0,
        lambda h: h.scale.__setitem__(0, False),
    ),
    "array whose length counts": lambda: (
        Options(two_items()),
        lambda h: float(len(h.scale)),
        setting("scale", np.ones(5)),
    ),
    "array whose shape counts": lambda: (
        Options(two_items()),
        lambda h: float(h.scale.shape[0] * h.scale.size),
        setting("scale", np.ones(5)),
    ),
    "rows of an array": lambda: (
        Options(np.array([[2.0, 1.0]])),
        lambda h: sum(r[0] * r[1] for r in h.scale),
        setting("scale", np.ones((3, 2))),
    ),
    "array that counts turns": lambda: (
        Options(np.array([3])),
        lambda h: sum(1.0 for _ in range(int(h.scale[0]))),
        lambda h: h.scale.__setitem__(0, 5),
    ),
}
