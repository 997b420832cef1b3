"""Operators that take functions: ``HyperMap``, ``MultitypeFuncGraph``, ``WhileLoop`` and others.

They are written as plain Python, and compiled like a user's source function: a loop here is a loop
in the generated source. Functions that are passed in are inlined where they are called.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.operators.core.macros import macro

#: The names that ``MultitypeFuncGraph.register`` takes, and what they stand for.
KINDS: dict[str, Any] = {
    "Tensor": Tensor,
    "Number": (int, float, complex),
    "Int": int,
    "Float": float,
    "Bool": bool,
    "Complex": complex,
    "String": str,
    "None": type(None),
    "Tuple": tuple,
    "List": list,
    "Dictionary": dict,
}


@macro
class MultitypeFuncGraph:
    """Several functions under one name; the kinds of the arguments select one.

    >>> size = MultitypeFuncGraph("size")
    >>> @size.register("Number")
    ... def size_of_number(x):
    ...     return 1
    >>> @size.register("Tuple")
    ... def size_of_tuple(x):
    ...     return len(x)
    >>> size(2.5), size((1, 2))
    (1, 2)
    """

    def __init__(self, name: str, read_value: bool = False):
        self.name, self.read_value = name, read_value
        self.entries: list[tuple[tuple[str, ...], Callable[..., Any]]] = []

    def register(self, *kinds: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Adds the decorated function for arguments of these kinds (see ``KINDS``)."""
        for kind in kinds:
            if kind not in KINDS:
                raise RuntimeError(f"Unsupported type name: {kind}! Use one of {', '.join(KINDS)}")

        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            self.entries.append((kinds, function))
            return function

        return add

    def __call__(self, *args: Any) -> Any:
        for kinds, function in self.entries:
            if len(kinds) == len(args) and all(
                [isinstance(arg, KINDS[kind]) for arg, kind in zip(args, kinds)]
            ):
                return function(*args)
        raise TypeError(f"MultitypeFuncGraph '{self.name}' has no function for these arguments")


@macro
class HyperMap:
    """A map of a function over the items of tuples, lists and dicts, at every depth.

    The result has the structure of the arguments, which must agree in it. Without ``ops`` the first
    argument is the function. ``reverse`` changes nothing: the items do not depend on each other.

    >>> HyperMap()(lambda a, b: a + b, (1, [2, 3]), (10, [20, 30]))
    (11, [22, 33])
    """

    def __init__(self, ops: Any = None, reverse: bool = False):
        self.ops, self.reverse = ops, reverse

    def __call__(self, *args: Any) -> Any:
        if self.ops is None:
            return _mapped(args[0], args[1:], True)
        return _mapped(self.ops, args, True)


@macro
class Map:
    """A map over the items of a container, which are not opened themselves."""

    def __init__(self, ops: Any = None, reverse: bool = False):
        self.ops, self.reverse = ops, reverse

    def __call__(self, *args: Any) -> Any:
        if self.ops is None:
            return _mapped(args[0], args[1:], False)
        return _mapped(self.ops, args, False)


def _mapped(function: Any, args: Sequence[Any], deep: bool) -> Any:
    first = args[0]
    if not isinstance(first, (tuple, list, dict)):
        return function(*args)
    kind = tuple if isinstance(first, tuple) else type(first)
    for arg in args[1:]:
        if not isinstance(arg, kind) or len(arg) != len(first):
            raise ValueError("The containers given to HyperMap should have the same length.")
    keys = list(first) if isinstance(first, dict) else range(len(first))
    rows = [[arg[key] for arg in args] for key in keys]
    if deep:
        results = [_mapped(function, row, True) for row in rows]
    else:
        results = [function(*row) for row in rows]
    if isinstance(first, dict):
        return dict(zip(keys, results))
    return tuple(results) if isinstance(first, tuple) else results


@macro
class WhileLoop:
    """A loop that runs while the condition holds: ``WhileLoop()(cond_func, loop_func,
    init_val)``."""

    def __call__(self, cond_func: Any, loop_func: Any, init_val: Any) -> Any:
        while cond_func(init_val):
            init_val = loop_func(init_val)
        return init_val


@macro
class ForiLoop:
    """A loop over a range: ``ForiLoop()(lower, upper, loop_func, init_val)``."""

    def __call__(
        self, lower: Any, upper: Any, loop_func: Any, init_val: Any, unroll: bool = True
    ) -> Any:
        for i in range(lower, upper):
            init_val = loop_func(i, init_val)
        return init_val


@macro
class Scan:
    """A scan, ``Scan()(loop_func, init, xs)``: the last carry, and the list of the outputs of all
    steps.

    >>> Scan()(lambda total, x: (total + x, total * x), 1, [2, 3])
    (6, [2, 9])
    """

    def __call__(
        self, loop_func: Any, init: Any, xs: Any, length: Any = None, unroll: bool = True
    ) -> Any:
        if xs is None:
            xs = [None] * length
        elif length is not None and length != len(xs):
            raise ValueError(f"Scan is given {len(xs)} items, but the length {length}")
        outputs = []
        for x in xs:
            init, y = loop_func(init, x)
            outputs.append(y)
        return init, outputs


@macro
class Depend:
    """The identity: ``Depend()(value, expr)`` is ``value``. Statements run in the order of the
    source."""

    def __call__(self, value: Any, expr: Any) -> Any:
        return value


@macro
class Partial:
    """Partial application: ``Partial()(function, *args)`` is ``function`` with its first arguments
    given."""

    def __call__(self, function: Any, *args: Any) -> Any:
        return partial(function, *args)


def depend(value: Any, expr: Any) -> Any:
    """Returns ``value``: statements keep their order without it."""
    return value


def partial(function: Any, *args: Any) -> Any:
    """Returns ``function`` with its first arguments given."""
    return functools.partial(function, *args)


__all__ = [
    "Depend",
    "ForiLoop",
    "HyperMap",
    "Map",
    "MultitypeFuncGraph",
    "Partial",
    "Scan",
    "WhileLoop",
    "depend",
    "partial",
]
