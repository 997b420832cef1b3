"""What is asked of outside things: presence, class, length, truth, items."""

from __future__ import annotations

from tests.reaching.holders import (
    Below,
    Cases,
    Net,
    Options,
    Plain,
    Slotted,
    fresh_class,
    having,
    module_of,
    setting,
    sum_of,
    with_default,
)

CASES: Cases = {
    # what is asked
    "hasattr": lambda: (
        Plain(),
        lambda h: 5.0 if hasattr(h, "extra") else 2.0,
        setting("extra", 1.0),
    ),
    "hasattr, gone": lambda: (
        having(Plain(), extra=1.0),
        lambda h: 5.0 if hasattr(h, "extra") else 2.0,
        lambda h: delattr(h, "extra"),
    ),
    "getattr with a default": lambda: (
        Plain(),
        lambda h: getattr(h, "extra", 2.0),
        setting("extra", 5.0),
    ),
    "getattr of a cell": lambda: (Net(), lambda h: getattr(h, "extra", 2.0), setting("extra", 5.0)),
    "getattr of a module": lambda: (
        module_of(),
        lambda h: getattr(h, "extra", 2.0),
        setting("extra", 5.0),
    ),
    "getattr of a class": lambda: (
        fresh_class(),
        lambda h: getattr(h, "extra", 2.0),
        setting("extra", 5.0),
    ),
    "isinstance": lambda: (
        Options(1.0),
        lambda h: 2.0 if isinstance(h.scale, float) else 5.0,
        setting("scale", 1),
    ),
    "isinstance of an object": lambda: (
        Options(inner=Plain()),
        lambda h: 2.0 if isinstance(h.inner, Plain) else 5.0,
        setting("inner", Slotted()),
    ),
    "isinstance, another class": lambda: (
        fresh_class()(),
        lambda h: 2.0 if isinstance(h, Below) else 5.0,
        lambda h: setattr(h, "__class__", Below),
    ),
    "is None": lambda: (
        Options(inner=1.0),
        lambda h: 2.0 if h.inner is None else 5.0,
        setting("inner", None),
    ),
    "len": lambda: (
        Options(inner=[1.0]),
        lambda h: float(len(h.inner)),
        lambda h: h.inner.append(1.0),
    ),
    "len of an object": lambda: (Plain(), lambda h: float(len(h)), setting("_hidden", 5.0)),
    "truth": lambda: (
        Options(inner=[]),
        lambda h: 2.0 if h.inner else 5.0,
        lambda h: h.inner.append(1.0),
    ),
    "truth of an object": lambda: (Plain(), lambda h: 2.0 if h else 5.0, setting("_hidden", 0.0)),
    "in a dict": lambda: (
        {"a": 1.0},
        lambda h: 5.0 if "b" in h else 2.0,
        lambda h: h.update(b=1.0),
    ),
    "get of a dict": lambda: ({"a": 1.0}, lambda h: h.get("b", 2.0), lambda h: h.update(b=5.0)),
    "keys of a dict": lambda: (
        {"a": 1.0},
        lambda h: float(len([k for k in h])),
        lambda h: h.update(b=5.0),
    ),
    "items of a dict": lambda: (
        {"a": 1.0},
        lambda h: sum(v for k, v in h.items()),
        lambda h: h.update(b=5.0),
    ),
    "values, objects": lambda: (
        {"a": Plain()},
        lambda h: sum(v.scale for v in h.values()),
        lambda h: setattr(h["a"], "scale", 5.0),
    ),
    "list, objects": lambda: (
        [Plain(), Plain()],
        lambda h: sum(v.scale for v in h),
        lambda h: setattr(h[1], "scale", 5.0),
    ),
    "list, unpacked": lambda: (
        [Plain(), Plain()],
        lambda h: sum_of(*h),
        lambda h: setattr(h[1], "scale", 5.0),
    ),
    "dict, as keywords": lambda: (
        {"a": 2.0, "b": 3.0},
        lambda h: with_default(**h),
        lambda h: h.update(b=7.0),
    ),
    "dict of an object": lambda: (Options(), lambda h: h.__dict__["scale"], setting("scale", 5.0)),
    "sorted": lambda: ([3.0, 2.0], lambda h: sorted(h)[0], lambda h: h.append(1.0)),
    "max": lambda: ([3.0, 2.0], max, lambda h: h.append(7.0)),
    "zip": lambda: (
        ([1.0, 2.0], [3.0, 4.0]),
        lambda h: sum(a * b for a, b in zip(*h)),
        lambda h: h[1].append(1.0) or h[0].append(2.0),
    ),
    "enumerate": lambda: (
        [1.0, 2.0],
        lambda h: sum(n * a for n, a in enumerate(h)),
        lambda h: h.append(7.0),
    ),
    "equal lists": lambda: ([1.0], lambda h: 2.0 if h == [1.0] else 5.0, lambda h: h.append(1.0)),
    "equal dataclasses": lambda: (
        Options(),
        lambda h: 2.0 if h == Options() else 5.0,
        setting("scale", 5.0),
    ),
    "text": lambda: (
        Options(inner=[1]),
        lambda h: 2.0 if f"{h.inner}" == "[1]" else 5.0,
        lambda h: h.inner.append(1),
    ),
    "string": lambda: (
        Options("sum"),
        lambda h: 2.0 if h.scale == "sum" else 5.0,
        setting("scale", "mean"),
    ),
    "type of a name": lambda: (
        fresh_class()(),
        lambda h: 2.0 if type(h).__name__ == "Plain" else 5.0,
        lambda h: setattr(h, "__class__", Below),
    ),
}
