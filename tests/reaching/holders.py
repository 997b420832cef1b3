"""What texts read: objects, classes, functions and containers that hold a number or an array."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autodiff_compiler import Parameter, Tensor, nn

#: A holder, what reads a number or an array of it, and what changes it.
Case = tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]
Cases = dict[str, Callable[[], Case]]


class Plain:
    shared = 2.0
    table = {"k": [2.0]}

    def __init__(self, scale: Any = 2.0):
        self.scale, self._hidden = scale, 2.0

    @property
    def hidden(self) -> Any:
        return self._hidden * 1.5

    def twice(self) -> Any:
        return self.scale * 2.0

    @classmethod
    def of_class(cls) -> Any:
        return cls.shared

    @staticmethod
    def of_none() -> Any:
        return 2.0

    def __len__(self) -> int:
        return int(self._hidden)

    def __call__(self) -> Any:
        return self.scale + 1.0

    def __getitem__(self, key: Any) -> Any:
        return self.scale * key


class Below(Plain):
    pass


class Slotted:
    __slots__ = ("inner", "scale")

    def __init__(self, scale: Any = 2.0):
        self.scale = scale


class Lazy:
    """Answers for attributes that it does not have."""

    def __init__(self) -> None:
        self.answers = {"scale": 2.0}

    def __getattr__(self, name: str) -> Any:
        if name == "answers":
            raise AttributeError(name)
        return self.answers[name]


@dataclasses.dataclass
class Options:
    scale: Any = 2.0
    inner: Any = None


@dataclasses.dataclass(frozen=True)
class Fixed:
    inner: Any


class Pair(NamedTuple):
    first: Any
    second: Any


class Net(nn.Cell):
    def __init__(self, scale: Any = 2.0):
        super().__init__()
        self.scale, self.inner = scale, None
        self.w = Parameter(Tensor(np.array([2.0, 3.0])), name="w")

    def construct(self, x: Any) -> Any:
        return x * self.scale * (3.0 if self.training else 1.0)

    def gain(self) -> Any:
        return self.scale


def two() -> Any:
    return 2.0


def seven() -> Any:
    return 7.0


def with_default(a: Any = 2.0, *, b: Any = 3.0) -> Any:
    return a * b


def counting(n: Any) -> Callable[[], Any]:
    def counted() -> Any:
        return n

    return counted


def setting(name: str, value: Any) -> Callable[[Any], None]:
    return lambda holder: setattr(holder, name, value)


def seven_of_self(self: Any) -> Any:
    return 7.0


def seven_times(self: Any, x: Any) -> Any:
    return x * 7.0


def fresh_class(base: type = Plain) -> Any:
    """A class of its own, so that what a case does to it does not stay."""
    return type(base.__name__, (base,), {"__module__": base.__module__})


def copied(function: Any) -> Any:
    """A function of its own with the same text."""
    made = types.FunctionType(
        function.__code__, globals(), function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__ and dict(function.__kwdefaults__)
    return made


def module_of() -> Any:
    made = types.ModuleType("of_theirs")
    made.scale, made.inner = 2.0, Plain()
    made.gain = copied(two)
    return made


def two_items() -> np.ndarray:
    return np.array([2.0, 3.0])


def having(thing: Any, **attributes: Any) -> Any:
    for name, value in attributes.items():
        setattr(thing, name, value)
    return thing


def sum_of(*things: Any) -> Any:
    return sum(thing.scale for thing in things)


def scale_of(thing: Any) -> Any:
    return thing.scale
