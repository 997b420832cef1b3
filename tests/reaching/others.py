"""What is reached by imports and ``super()``, in objects that the text makes, in containers of
other kinds, and in Cells."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_compiler import Tensor, nn
from tests.reaching.holders import (
    Below,
    Case,
    Cases,
    Net,
    Options,
    Plain,
    copied,
    fresh_class,
    having,
    module_of,
    setting,
    seven,
    seven_of_self,
)


class Numbers(list):
    pass


class Table(dict):
    pass


class Missing(dict):
    def __missing__(self, key: Any) -> Any:
        return 2.0


class Made:
    shared = 2.0

    def __init__(self, a: Any = 2.0):
        self.a = a

    @property
    def shown(self) -> Any:
        return self.a * 1.0

    @classmethod
    def made(cls) -> Any:
        return cls()

    def gain(self) -> Any:
        return self.a

    def __add__(self, other: Any) -> Any:
        return self.a + other


@dataclasses.dataclass
class Row:
    a: Any = 2.0


class Lower(Plain):
    def twice(self) -> Any:
        return super().twice() * 1.0


class InnerNet(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.below = Net()
        self.several = nn.CellList([Net()])
        self.table = Tensor(np.ones(3))

    def gain(self) -> Any:
        return self.below.gain()


def _imported(_: Any) -> Any:
    import tests_of_theirs

    return tests_of_theirs.scale


def _imported_function(_: Any) -> Any:
    import tests_of_theirs

    return tests_of_theirs.gain()


def _from_import(_: Any) -> Any:
    from tests_of_theirs import scale as number

    return number


def _module_to_import() -> types.ModuleType:
    sys.modules["tests_of_theirs"] = module_of()
    return sys.modules["tests_of_theirs"]


def _tried_key(held: Any) -> Any:
    try:
        return held["b"]
    except KeyError:
        return 2.0


def _tried_place(held: Any) -> Any:
    try:
        return held[1]
    except IndexError:
        return 2.0


def _tried_attribute(held: Any) -> Any:
    try:
        return held.extra
    except AttributeError:
        return 2.0


def _matched_kind(held: Any) -> Any:
    match held:
        case Below():
            return 2.0
        case _:
            return 5.0


def _matched_key(held: Any) -> Any:
    match held:
        case {"b": found}:
            return found
        case _:
            return 2.0


def _chosen(held: Any) -> Any:
    one, other = held[1:]
    chosen = one if held[0] else other
    return chosen[0]


def _rest(held: Any) -> Any:
    _, *rest = held
    return sum(rest)


def _decided_in(held: Any) -> Any:
    return 2.0 if "b" in held else 5.0


def _row_of(held: Any) -> Any:
    return held().a


def _class_of(base: type, **parts: Any) -> Any:
    return having(fresh_class(base), **parts)


def _shared_dict(make: Callable[[dict], Any], read: Any) -> Case:
    """A container that shows a dict, which is changed."""
    table = {"a": 2.0}
    return make(table), read, lambda _: table.update(a=5.0, b=7.0)


def _init(self: Any, a: Any = 7.0) -> None:
    self.a = a


def _shadow_builtin(held: Any) -> Any:
    held.__globals__["abs"] = seven_of_self


CASES: Cases = {
    "import": lambda: (_module_to_import(), _imported, setting("scale", 5.0)),
    "import, function": lambda: (_module_to_import(), _imported_function, setting("gain", seven)),
    "from … import": lambda: (_module_to_import(), _from_import, setting("scale", 5.0)),
    "super": lambda: (Lower(), lambda h: h.twice(), setting("scale", 5.0)),
    "super, replaced": lambda: (
        _below_its_own(),
        lambda h: h.twice(),
        lambda h: setattr(type(h).__mro__[1], "twice", seven_of_self),
    ),
    "super, its code": lambda: (
        _below_its_own(),
        lambda h: h.twice(),
        lambda h: setattr(type(h).__mro__[1].twice, "__code__", seven_of_self.__code__),
    ),
    "a builtin's name": lambda: (
        types.FunctionType((lambda: abs(-2.0)).__code__, {"__name__": __name__}),
        lambda h: h(),
        _shadow_builtin,
    ),
    "another's method": lambda: (
        Plain(), lambda h: h.twice(), lambda h: setattr(h, "twice", Plain(7.0).twice)
    ),
    "made: its method": lambda: (
        fresh_class(Made), lambda h: h().gain(), setting("gain", seven_of_self)
    ),
    "made: its __init__": lambda: (fresh_class(Made), _row_of, setting("__init__", _init)),
    "made: a base's __init__": lambda: (
        fresh_class(fresh_class(Made)), _row_of, lambda h: setattr(h.__mro__[1], "__init__", _init)
    ),
    "made: its property": lambda: (
        fresh_class(Made), lambda h: h().shown, setting("shown", property(seven_of_self))
    ),
    "made: its property's code": lambda: (
        _class_of(Made, shown=property(copied(Made.shown.fget))),
        lambda h: h().shown,
        lambda h: setattr(h.shown.fget, "__code__", seven_of_self.__code__),
    ),
    "made: of its class": lambda: (
        fresh_class(Made), lambda h: h().shared, setting("shared", 5.0)
    ),
    "made: class method": lambda: (
        fresh_class(Made),
        lambda h: h.made().a,
        setting("made", classmethod(lambda kind: kind(7.0))),
    ),
    "made: operator": lambda: (
        fresh_class(Made), lambda h: h() + 0.0, setting("__add__", lambda self, other: 7.0)
    ),
    "made: a method that appears": lambda: (
        fresh_class(Made),
        lambda h: 2.0 if h() else 5.0,
        setting("__bool__", lambda self: False),
    ),
    "made: a property that appears": lambda: (
        fresh_class(Made), lambda h: _set_and_read(h()), setting("a", _always_seven())
    ),
    "made: a field's default": lambda: (
        _row_class(), _row_of, lambda h: setattr(h.__init__, "__defaults__", (7.0,))
    ),
    "made: what runs after": lambda: (
        _row_class(), _row_of, setting("__post_init__", _init)
    ),
    "list of theirs": lambda: (Numbers([1.0]), lambda h: sum(h), lambda h: h.append(3.0)),
    "in a list of theirs": lambda: (
        Numbers([1.0]), lambda h: 2.0 if 3.0 in h else 5.0, lambda h: h.append(3.0)
    ),
    "dict of theirs": lambda: (Table(a=1.0), _decided_in, lambda h: h.update(b=5.0)),
    "values of a dict of theirs": lambda: (
        Table(a=1.0), lambda h: sum(h.values()), lambda h: h.update(b=5.0)
    ),
    "missing": lambda: (Missing(), lambda h: h["b"], lambda h: h.update(b=5.0)),
    "default of a dict": lambda: (
        collections.defaultdict(float), lambda h: h.get("b", 2.0), lambda h: h.update(b=5.0)
    ),
    "proxy": lambda: _shared_dict(types.MappingProxyType, lambda h: h["a"]),
    "in a proxy": lambda: _shared_dict(types.MappingProxyType, _decided_in),
    "chain": lambda: _shared_dict(lambda d: collections.ChainMap({}, d), lambda h: h["a"]),
    "in a chain": lambda: _shared_dict(lambda d: collections.ChainMap({}, d), _decided_in),
    "keys": lambda: _shared_dict(dict.keys, _decided_in),
    "values": lambda: _shared_dict(dict.values, lambda h: sum(h)),
    "counter": lambda: (
        collections.Counter("aab"), lambda h: float(h["a"]), lambda h: h.update("a")
    ),
    "counter, nothing": lambda: (
        collections.Counter("aab"), lambda h: 2.0 + h["c"], lambda h: h.update("c")
    ),
    "deque": lambda: (collections.deque([2.0, 3.0]), lambda h: h[0], lambda h: h.rotate(1)),
    "set": lambda: ({(1, 2)}, lambda h: 2.0 if (3, 4) in h else 5.0, lambda h: h.add((3, 4))),
    "frozen set of objects": lambda: (
        frozenset([Plain()]),
        lambda h: sum(each.scale for each in h),
        lambda h: setattr(next(iter(h)), "scale", 5.0),
    ),
    "a library's object as text": lambda: (
        argparse.Namespace(a=1),
        lambda h: 2.0 if str(h) == "Namespace(a=1)" else 5.0,
        setting("a", 2),
    ),
    "a key that is tried": lambda: ({"a": 1.0}, _tried_key, lambda h: h.update(b=5.0)),
    "a place that is tried": lambda: ([1.0], _tried_place, lambda h: h.append(5.0)),
    "an attribute that is tried": lambda: (Plain(), _tried_attribute, setting("extra", 5.0)),
    "a class that is matched": lambda: (
        fresh_class()(), _matched_kind, lambda h: setattr(h, "__class__", Below)
    ),
    "a key that is matched": lambda: ({"a": 1.0}, _matched_key, lambda h: h.update(b=5.0)),
    "one of two lists": lambda: (
        (False, [1.0], [2.0]), _chosen, lambda h: h[2].__setitem__(0, 5.0)
    ),
    "the rest of a list": lambda: ([1.0, 2.0], _rest, lambda h: h.append(3.0)),
    "the size of an array": lambda: (
        Options(np.ones(3)),
        lambda h: 1.0 * len(h.scale),
        lambda h: h.scale.resize(5, refcheck=False),
    ),
    "the rank of an array": lambda: (
        Options(np.ones(6)),
        lambda h: 1.0 * h.scale.ndim,
        lambda h: setattr(h.scale, "shape", (2, 3)),
    ),
    "the shape of a Tensor": lambda: (
        InnerNet(),
        lambda h: 1.0 * h.table.shape[0],
        lambda h: setattr(h.table, "_data", np.ones(5)),
    ),
    "arrays that were one": lambda: (
        _alike(np.ones(2)), lambda h: h.scale + h.inner, setting("inner", np.full(2, 5.0))
    ),
    "arrays that become one": lambda: (
        Options(np.ones(2), np.ones(2)),
        lambda h: 2.0 if h.scale is h.inner else 5.0,
        lambda h: setattr(h, "inner", h.scale),
    ),
    "a Cell's mode": lambda: (Net(), lambda h: 2.0 if h.training else 5.0, Net.set_train),
    "a Cell below": lambda: (InnerNet(), lambda h: h.gain(), setting("below", Net(5.0))),
    "a number of a Cell below": lambda: (
        InnerNet(), lambda h: h.gain(), lambda h: setattr(h.below, "scale", 5.0)
    ),
    "a list of Cells": lambda: (
        InnerNet(),
        lambda h: sum(each.gain() for each in h.several),
        lambda h: h.several.append(Net(5.0)),
    ),
    "a Cell in a list": lambda: (
        InnerNet(),
        lambda h: sum(each.gain() for each in h.several),
        lambda h: setattr(h.several[0], "scale", 5.0),
    ),
}  # fmt: skip


def _below_its_own() -> Any:
    """An object of a class whose method asks ``super()``; its base is its own."""
    base = having(fresh_class(), twice=copied(Plain.twice))

    class Over(base):  # type: ignore[misc, valid-type]
        def twice(self) -> Any:
            return super().twice() * 1.0

    return Over()


def _row_class() -> Any:
    made = dataclasses.make_dataclass(
        "Row", [("a", Any, 2.0)], namespace={"__post_init__": lambda self: None}
    )
    made.__module__ = __name__
    return made


def _set_and_read(made: Any) -> Any:
    made.a = 3.0
    return made.a


def _always_seven() -> property:
    return property(seven_of_self, lambda self, value: None)


def _alike(array: np.ndarray) -> Options:
    return Options(array, array)
