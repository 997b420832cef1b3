"""Functions, methods and properties that texts call, and what may be done to them."""

from __future__ import annotations

import functools
import types

from tests.reaching.holders import (
    Cases,
    Net,
    Options,
    Plain,
    copied,
    counting,
    fresh_class,
    having,
    module_of,
    scale_of,
    setting,
    seven,
    seven_of_self,
    two,
    with_default,
)

CASES: Cases = {
    # texts
    "method": lambda: (Plain(), lambda h: h.twice(), setting("scale", 5.0)),
    "method, set on the object": lambda: (Plain(), lambda h: h.twice(), setting("twice", seven)),
    "method, set on the class": lambda: (
        fresh_class()(),
        lambda h: h.twice(),
        lambda h: setattr(type(h), "twice", seven_of_self),
    ),
    "method, set on a base": lambda: (
        fresh_class(fresh_class())(),
        lambda h: h.twice(),
        lambda h: setattr(type(h).__mro__[1], "twice", seven_of_self),
    ),
    "method, its code": lambda: (
        having(fresh_class(), twice=copied(Plain.twice))(),
        lambda h: h.twice(),
        lambda h: setattr(type(h).twice, "__code__", seven_of_self.__code__),
    ),
    "class method": lambda: (
        fresh_class()(),
        lambda h: h.of_class(),
        lambda h: setattr(type(h), "shared", 5.0),
    ),
    "class method, replaced": lambda: (
        fresh_class()(),
        lambda h: h.of_class(),
        lambda h: setattr(type(h), "of_class", classmethod(seven_of_self)),
    ),
    "static method, replaced": lambda: (
        fresh_class()(),
        lambda h: h.of_none(),
        lambda h: setattr(type(h), "of_none", staticmethod(seven)),
    ),
    "property": lambda: (Plain(), lambda h: h.hidden, setting("_hidden", 5.0)),
    "property, replaced": lambda: (
        fresh_class()(),
        lambda h: h.hidden,
        lambda h: setattr(type(h), "hidden", property(seven_of_self)),
    ),
    "property, its code": lambda: (
        having(fresh_class(), hidden=property(copied(Plain.hidden.fget)))(),
        lambda h: h.hidden,
        lambda h: setattr(type(h).hidden.fget, "__code__", seven_of_self.__code__),
    ),
    "call of an object": lambda: (Plain(), lambda h: h(), setting("scale", 5.0)),
    "call of an object, replaced": lambda: (
        fresh_class()(),
        lambda h: h(),
        lambda h: setattr(type(h), "__call__", seven_of_self),
    ),
    "item of an object": lambda: (Plain(), lambda h: h[1.0], setting("scale", 5.0)),
    "function, its code": lambda: (copied(two), lambda h: h(), setting("__code__", seven.__code__)),
    "function, its default": lambda: (
        copied(with_default),
        lambda h: h(),
        setting("__defaults__", (5.0,)),
    ),
    "function, its keyword's default": lambda: (
        copied(with_default),
        lambda h: h(),
        lambda h: h.__kwdefaults__.update(b=5.0),
    ),
    "function, its keyword's defaults": lambda: (
        copied(with_default),
        lambda h: h(),
        setting("__kwdefaults__", {"b": 5.0}),
    ),
    "function, its cell": lambda: (
        counting(2.0),
        lambda h: h(),
        lambda h: setattr(h.__closure__[0], "cell_contents", 5.0),
    ),
    "function, below its cell": lambda: (
        counting(Plain()),
        lambda h: h().scale,
        lambda h: setattr(h.__closure__[0].cell_contents, "scale", 5.0),
    ),
    "function in a module": lambda: (module_of(), lambda h: h.gain(), setting("gain", seven)),
    "function in a module, its code": lambda: (
        module_of(),
        lambda h: h.gain(),
        lambda h: setattr(h.gain, "__code__", seven.__code__),
    ),
    "function in a dict": lambda: ({"f": two}, lambda h: h["f"](), lambda h: h.update(f=seven)),
    "partial, its argument": lambda: (
        functools.partial(scale_of, Options()),
        lambda h: h(),
        lambda h: setattr(h.args[0], "scale", 5.0),
    ),
    "partial, its keyword": lambda: (
        functools.partial(with_default, b=2.0),
        lambda h: h(),
        lambda h: h.keywords.update(b=5.0),
    ),
    "partial, its function's code": lambda: (
        functools.partial(copied(two)),
        lambda h: h(),
        lambda h: setattr(h.func, "__code__", seven.__code__),
    ),
    "bound method": lambda: (
        Plain().twice,
        lambda h: h(),
        lambda h: setattr(h.__self__, "scale", 5.0),
    ),
    "bound method, its code": lambda: (
        types.MethodType(copied(Plain.twice), Plain()),
        lambda h: h(),
        lambda h: setattr(h.__func__, "__code__", seven_of_self.__code__),
    ),
    "method of a cell": lambda: (Net(), lambda h: h.gain(), setting("scale", 5.0)),
    "method of a cell, set on it": lambda: (Net(), lambda h: h.gain(), setting("gain", seven)),
}
