"""``assert`` and ``raise``, and what handlers catch of it (see ``trying``)."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gast

from autodiff_compiler.errors import UnsupportedSyntax
from autodiff_compiler.frontend.branches import Raised
from autodiff_compiler.frontend.loops import Loops
from autodiff_compiler.frontend.trying import Throw, Way
from autodiff_compiler.ir.nodes import Function, Op, Value
from autodiff_compiler.ir.types import FLOAT, INT, ArrayType, ListType
from autodiff_compiler.operators import compare, effects

#: What Python and NumPy raise where an operation cannot be done.
_MISHAPS = (ValueError, ArithmeticError, LookupError, TypeError, RuntimeError)
#: Operators that fail for some of the values which their types allow.
_RISKY = [
    "multiply_at",
    "maximum_at",
    "minimum_at",
    "take_along",
    "put_along",
    "scatter",
    "arange",
    "repeat",
    "unique",
    "inverse",
    "cofactors",
    "cofactors_slope",
    "det",
    "logabsdet",
    "solve",
    "cholesky",
    "pinv",
    "singular_values",
    "left_vectors",
    "right_vectors",
    "orthogonal_factor",
    "triangular_factor",
    "erfinv",
    "polygamma",
    "bessel_i",
    "gamma_p",
    "gamma_p_slope",
]
#: Operators that fail for some positions, and where these begin among their operands.
_PLACED = {"index": 1, "set_item": 2, "add_at": 2}
#: Operators that never fail, and arithmetic of Python's numbers that does not.
_CALM = ("undefined", "is_unset", "list_append", "list_length", "list_copy", "list_own")
_CALM_OF_NUMBERS = ("add", "sub", "mul", "neg", "abs", "maximum", "minimum")
_DIVIDING = ("floor_div", "mod", "div")


class Raising(Loops):
    """Adds ``assert``, ``raise`` and handlers to ``Loops``."""

    #: What the handlers around this statement catch, with their classes.
    watched: tuple[tuple[type, ...], ...] = ()

    def exec_Assert(self, node: Any) -> None:
        truth = self.truth(self.evaluate(node.test))
        if truth is not True:
            message = [] if node.msg is None else [self.packed(self.evaluate(node.msg))]
            self.builder.make(effects.check, (truth, *message), {})

    def exec_Raise(self, node: Any) -> Raised:
        return self._raise(*self._error(node.exc))

    def exec_Throw(self, node: Throw) -> Raised | None:
        """Sets the flag of the handler that catches it, or raises it."""
        if node.of is None:
            return self._throw(node.ways, *self._error(node.exc))
        number, args = self._kept(node.of)
        kinds = self.frame.caught[node.of.flag]
        return self._again(node.ways, number, kinds, 0, args)

    def _kept(self, way: Way) -> Any:
        return self.certainly(self.state.names[way.again], guarded=True)

    def _again(
        self, ways: Sequence[Way], number: Any, kinds: Sequence[type], first: int, args: Any
    ) -> Raised | None:
        """Raises again what was caught: of the class with that number."""
        if not isinstance(number, Value):
            return self._throw(ways, kinds[number], args)
        if first == len(kinds) - 1:
            return self._throw(ways, kinds[first], args)
        found: Raised | None = self.choose(
            compare.equal(number, first),
            lambda: self._throw(ways, kinds[first], args),
            lambda: self._again(ways, number, kinds, first + 1, args),
        )
        return found

    def _error(self, made: Any) -> tuple[Any, tuple[Any, ...]]:
        """The class of an exception, and what it is made of."""
        args: Sequence[Any] = ()
        if isinstance(made, gast.Call):
            made, args = made.func, self._items(made.args)
        error: Any = None if made is None else self.evaluate(made)
        return error, tuple(args)

    def _throw(self, ways: Sequence[Way], kind: Any, args: tuple[Any, ...]) -> Raised | None:
        if not isinstance(kind, type) or not issubclass(kind, Exception):
            return self._raise(kind, args)
        for way in ways:
            if not issubclass(kind, self._classes(way)):
                continue
            kinds = self.frame.caught.setdefault(way.flag, [])
            if kind not in kinds:
                kinds.append(kind)
            if way.variable:
                self.bind(way.variable, self._told(kind, args))
            if way.again:
                kept = tuple(self._lasting(arg) for arg in args)
                self.bind(way.again, (kinds.index(kind), kept))
            self.bind(way.flag, True)
            return None
        return self._raise(kind, args)

    def _raise(self, kind: Any, args: tuple[Any, ...]) -> Raised:
        name = getattr(kind, "__name__", "")
        known = isinstance(kind, type) and issubclass(kind, Exception)
        if not known or vars(builtins).get(name) is not kind:
            raise self.fail(
                UnsupportedSyntax,
                "only an exception that Python has built in can be raised by generated source",
                "raise ValueError, TypeError or another of Python's own",
            )
        operands = [self.packed(arg) for arg in args]
        self.builder.make(effects.fail, operands, {"error": name})
        return Raised()

    def _told(self, kind: type, args: tuple[Any, ...]) -> Any:
        """The text of an exception."""
        own = [each for each in kind.__mro__ if each.__module__ != "builtins"]
        plain = kind.__str__ is BaseException.__str__
        plain &= not any("__init__" in vars(each) for each in own)
        if not plain:
            raise self.fail(
                UnsupportedSyntax,
                f"the text of a {kind.__name__} is not just what it is made of",
                "leave out 'as', or raise a ValueError with that text",
            )
        if not args:
            return self._lasting("")
        return self._lasting(self.call(str, args if len(args) == 1 else (args,), {}))

    def _lasting(self, text: Any) -> Any:
        """A text as a value, which may be another where another exception was raised."""
        if not isinstance(text, str):
            return text
        pattern = text.replace("{", "{{").replace("}", "}}")
        return self.builder.make(effects.text, (), {"pattern": pattern, "sign": "format"})

    def _classes(self, way: Way) -> tuple[type, ...]:
        """What a handler catches."""
        if way.classes is None:
            return (BaseException,)
        found: list[Any] = [self.evaluate(way.classes)]
        while any(isinstance(each, tuple) for each in found):
            found = [one for each in found
                     for one in (each if isinstance(each, tuple) else (each,))]  # fmt: skip
        if not all(isinstance(each, type) and issubclass(each, BaseException) for each in found):
            raise self.fail(
                UnsupportedSyntax,
                "'except' is followed by something that is no class of exceptions",
                "name a class, or several in a tuple: except (ValueError, TypeError)",
            )
        return tuple(found)

    @contextmanager
    def watching(self, node: Any) -> Iterator[None]:
        """Inside, what may raise an exception that a handler around ``node`` catches is refused."""
        before, tried = self.watched, getattr(node, "tried", None)
        if tried is not None:
            self.watched = (*map(self._classes, tried), *self.frame.watched)
        try:
            yield
        finally:
            self.watched = before

    def refuse_raising(self, op: Op) -> None:
        """Refuses an operation that may raise what a handler around it catches."""
        for error in _raised_by(op) if self.watched else ():
            for caught in (each for classes in self.watched for each in classes):
                if issubclass(error, caught) or issubclass(caught, error):
                    raise self.fail(
                        UnsupportedSyntax,
                        f"a handler around this catches {caught.__name__}, which this may raise "
                        "where only a run can tell",
                        "test for it with 'if' in the body of 'try', and raise there",
                    )


def _raised_by(op: Op) -> tuple[type[BaseException], ...]:
    """What an operation may raise when it runs. A variable that is not set is not counted: that
    is told, and never caught."""
    if op.opdef is effects.fail:
        error: type[BaseException] = getattr(builtins, op.attrs["error"])
        return () if error is UnboundLocalError else (error,)
    if op.opdef is effects.check:
        return (AssertionError,)
    if op.opdef is effects.python_hook:
        return (BaseException,)
    if op.functions:
        return tuple(error for each in op.functions for error in _raised_in(each))
    if op.opdef is effects.text:
        plain = op.attrs["sign"] == "format" and "{:" not in op.attrs["pattern"]
        return () if plain else _MISHAPS
    if op.opdef.kind in ("control", "container", "effect") or op.name in _CALM:
        return ()
    types = [*op.types, *(result.type for result in op.results)]
    arrays = [each for each in types if isinstance(each, ArrayType)]
    dtypes = [each.dtype or "" for each in arrays]
    if any(each.shape is None or None in each.shape for each in arrays):
        return _MISHAPS  # whether these fit is seen where they meet
    if op.name in _PLACED:
        placed = any(isinstance(place, Value) for place in op.operands[_PLACED[op.name] :])
        return () if not placed else (IndexError,) if op.name == "index" else _MISHAPS
    if op.name in ("list_item", "list_set"):
        return (IndexError,)
    if op.name in _DIVIDING and not arrays:
        safe = not isinstance(op.operands[1], Value) and op.operands[1]
        return () if safe else (ZeroDivisionError,)
    risky = op.name in _RISKY or op.name.startswith(("list_", "draw"))
    risky |= any(isinstance(each, ListType) for each in types)
    if not arrays and op.opdef.kind == "elementwise":
        risky |= op.name not in _CALM_OF_NUMBERS
    if any(result.type == INT for result in op.results):  # of NaN there is no int
        risky |= FLOAT in op.types or any("float" in dtype for dtype in dtypes)
    if op.name == "pow":  # whole numbers have no negative powers
        risky |= not any("float" in dtype or "complex" in dtype for dtype in dtypes)
    return _MISHAPS if risky else ()


def _raised_in(function: Function) -> Iterator[type[BaseException]]:
    for each in (*function.callees(), function):
        for op in each.body.walk():
            if not op.functions:
                yield from _raised_by(op)
