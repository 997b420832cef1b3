"""``assert``, ``raise`` and ``try``: what sets the flag of a handler, and what escapes."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gast
import numpy as np
from numpy.linalg import LinAlgError

from autodiff_compiler.errors import CompileError, UnsupportedSyntax
from autodiff_compiler.frontend.abstract.values import Unset, UsesPoison
from autodiff_compiler.frontend.control_flow.branches import Diverged
from autodiff_compiler.frontend.control_flow.loops import Loops
from autodiff_compiler.frontend.core.assumptions import MISSING, PLAIN
from autodiff_compiler.frontend.core.unwinding import ActiveHandler, Unwinding
from autodiff_compiler.frontend.syntax.desugar.try_statement import (
    CaughtException,
    ExceptClause,
    Reraise,
    TryBody,
)
from autodiff_compiler.frontend.syntax.desugar.with_statement import WithBoundary
from autodiff_compiler.ir.nodes import Function, Op, Value, type_of
from autodiff_compiler.ir.types import FLOAT, INT, ArrayType, ListType, ScalarType
from autodiff_compiler.operators.core import effects
from autodiff_compiler.operators.elementwise import comparisons
from autodiff_compiler.span import Span

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
_CALM = ("undefined", "is_unset", "list_append", "list_length", "list_copy", "list_own",
         "list_slice", "list_head", "list_join")  # fmt: skip
_CALM_OF_NUMBERS = ("add", "sub", "mul", "neg", "abs", "maximum", "minimum")
_DIVISIONS = {"Div": operator.truediv, "FloorDiv": operator.floordiv, "Mod": operator.mod}
_KINDS = {"int": int, "float": float, "bool": bool, "complex": complex}
#: How it is told that these will not be raised.
_TESTS: dict[type, str] = {
    LinAlgError: ": by the determinant, or the least eigenvalue, of the matrix",
}
_DIVIDING = ("floor_div", "mod", "div")


class Raising(Loops):
    """Adds ``assert``, ``raise`` and handlers to ``Loops``."""

    #: What the operations being added have been tested for.
    tested: tuple[type, ...] = ()

    def exec_Assert(self, node: Any) -> None:
        truth = self.truth(self.evaluate(node.test))
        if truth is True:
            return
        if self.is_caught(AssertionError):
            bad = comparisons.logical_not(truth) if isinstance(truth, Value) else True
            told = [] if node.msg is None else [node.msg]
            self._throw_where(bad, AssertionError, lambda: self._items(told))
            return
        message = [] if node.msg is None else [self.packed(self.evaluate(node.msg))]
        self.builder.make(effects.check, (truth, *message), {})

    def exec_Raise(self, node: Any) -> Diverged | Unwinding:
        return self._throw(*self._error(node.exc))

    def exec_TryBody(self, node: TryBody) -> Diverged | None:
        """The body of a ``try``, with its handlers at work."""
        own = []
        for way in node.ways:
            flag, thrown = self.allocate("flag", False), self.allocate("exception", MISSING)
            own.append(ActiveHandler(way, self._classes(way), flag, thrown))
        self.frame.handlers |= dict(zip(node.ways, own))
        with self.under((*own, *self.handlers)):
            outcome = self.block(node.body)
        return outcome if isinstance(outcome, Diverged) else None

    def exec_WithBoundary(self, node: WithBoundary) -> None:
        """The body of a ``with`` begins or ends."""
        if not node.begins:
            self.handlers = self.handlers[1:]
        elif self.handlers:
            nowhere = self.allocate("flag", False)
            self.handlers = (ActiveHandler(None, (), nowhere, nowhere), *self.handlers)

    def eval_CaughtException(self, node: CaughtException) -> Any:
        if node.way not in self.frame.handlers:
            raise UsesPoison  # what it catches is not known
        handler: ActiveHandler = self.frame.handlers[node.way]
        if not node.text:
            return self.state.heap[handler.flag]
        return self._thrown(handler)[1]

    def _thrown(self, handler: ActiveHandler) -> Any:
        """The number of the place, the text and the arguments of what was caught."""
        if self.state.heap[handler.thrown] is MISSING:
            raise UsesPoison  # what was to be thrown was refused
        return self.certainly(self.state.heap[handler.thrown], guarded=True)

    def exec_Reraise(self, node: Reraise) -> Diverged | Unwinding | None:
        """Raises again what was caught."""
        handler: ActiveHandler = self.frame.handlers[node.way]
        number, text, args = self._thrown(handler)
        given = (text,) if any(isinstance(arg, Unset) for arg in args) else args
        return self._again(number, handler.places, 0, given)

    def _again(
        self, number: Any, places: Sequence[tuple[type, Span]], first: int, args: Any
    ) -> Diverged | Unwinding | None:
        """Raises again what was thrown at the place with that number, as if from there."""

        def throw(place: int) -> Diverged | Unwinding:
            kind, span = places[place]
            with self.builder.at(span):
                return self._throw(kind, args)

        if not isinstance(number, Value):
            return throw(number)
        if first == len(places) - 1:
            return throw(first)
        found: Diverged | Unwinding | None = self.choose(
            comparisons.equal(number, first),
            lambda: throw(first),
            lambda: self._again(number, places, first + 1, args),
        )
        return found

    def _error(self, made: Any) -> tuple[Any, tuple[Any, ...]]:
        """The class of an exception, and what it is made of."""
        args: Sequence[Any] = ()
        if isinstance(made, gast.Call):
            made, args = made.func, self._items(made.args)
        error: Any = None if made is None else self.evaluate(made)
        return error, tuple(args)

    def is_caught(self, kind: type) -> bool:
        """Whether a handler catches exceptions of just this class."""
        return any(handler.catches(kind) for handler in self.handlers)

    def _throw(self, kind: Any, args: tuple[Any, ...]) -> Diverged | Unwinding:
        """Sets the flag of the handler that catches ``kind``, or raises it."""
        known = isinstance(kind, type) and issubclass(kind, Exception)
        if not known or not self.is_caught(kind):
            return self._raise(kind, args)
        handler = next(each for each in self.handlers if each.way is None or each.catches(kind))
        if handler.way is None:
            raise self.fail(
                UnsupportedSyntax,
                f"a {kind.__name__} raised inside this 'with' is caught by a handler outside of it",
                "move the 'try' inside the 'with'",
            )
        place = kind, self.builder.span
        if place not in handler.places:
            handler.places.append(place)
        text = self._told(kind, args) if handler.way.told else ""
        kept = tuple(map(self._lasting, args)) if handler.way.again else ()
        self.state.heap[handler.thrown] = (handler.places.index(place), self._lasting(text), kept)
        self.state.heap[handler.flag] = True
        return Unwinding()

    def _throw_where(self, bad: Any, kind: type, args: Callable[[], Sequence[Any]]) -> None:
        """Throws where ``bad`` is true."""

        def throw() -> Unwinding | Diverged:
            return self._throw(kind, tuple(args()))

        if isinstance(bad, Value):
            self.choose(bad, throw, lambda: None)
        elif bad:
            throw()

    @contextmanager
    def risking(
        self, kind: type, bad: Callable[[], Any], text: Callable[[], Any]
    ) -> Iterator[None]:
        """Inside, operations raise ``kind`` only where ``bad()`` is true. If a handler catches it,
        that is tested first, and thrown with ``text()``."""
        before = self.tested
        if self.is_caught(kind):
            self.once(kind, lambda: self._throw_where(bad(), kind, lambda: [text()]))
            self.tested = (*before, kind)
        try:
            yield
        finally:
            self.tested = before

    @contextmanager
    def dividing(self, sign: str, left: Any, right: Any) -> Iterator[None]:
        """Inside, numbers are divided; by zero that raises."""
        by_value = isinstance(right, Value) and isinstance(right.type, ScalarType)
        numpys = (
            isinstance(left, np.generic)
            or isinstance(left, Value)
            and isinstance(left.type, ArrayType)
        )  # NumPy warns, and gives infinity
        if sign not in _DIVISIONS or not by_value or numpys:
            yield
            return
        text = _told_of_zero(sign, type_of(left), type_of(right))
        with self.risking(ZeroDivisionError, lambda: comparisons.equal(right, 0), lambda: text):
            yield

    def thrown_by(self, error: CompileError) -> bool:
        """Throws what Python would raise where this was found, if a handler catches that."""
        meant = error.meant
        if meant is None or not self.is_caught(type(meant)):
            return False
        self._throw(type(meant), meant.args)
        return True

    def _raise(self, kind: Any, args: tuple[Any, ...]) -> Diverged:
        name = getattr(kind, "__name__", "")
        known = isinstance(kind, type) and issubclass(kind, Exception)
        if not known or vars(builtins).get(name) is not kind:
            raise self.fail(
                UnsupportedSyntax,
                "generated code can raise only Python's built-in exceptions",
                "raise ValueError, TypeError or another built-in exception",
            )
        operands = [self.packed(arg) for arg in args]
        self.builder.make(effects.fail, operands, {"error": name})
        return Diverged()

    def _told(self, kind: type, args: tuple[Any, ...]) -> Any:
        """The text of an exception."""
        if kind.__str__ is KeyError.__str__ and len(args) == 1 and isinstance(args[0], PLAIN):
            return repr(args[0])
        own = [each for each in kind.__mro__ if each.__module__ != "builtins"]
        plain = kind.__str__ is BaseException.__str__
        plain &= not any("__init__" in vars(each) for each in own)
        if not plain:
            raise self.fail(
                UnsupportedSyntax,
                f"the message of a {kind.__name__} is computed by its own __init__ or "
                "__str__, which is not compiled",
                "omit 'as', or raise a ValueError with that message",
            )
        return self.call(str, args if len(args) == 1 else (args,), {}) if args else ""

    def _lasting(self, text: Any) -> Any:
        """A text as a value, which may be another where another exception was raised."""
        if not isinstance(text, str):
            return text
        pattern = text.replace("{", "{{").replace("}", "}}")
        return self.builder.make(effects.text, (), {"pattern": pattern, "sign": "format"})

    def _classes(self, way: ExceptClause) -> tuple[type, ...]:
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
                "the expression after 'except' is not an exception class",
                "use an exception class, or a tuple of them: except (ValueError, TypeError)",
            )
        return tuple(found)

    def refuse_raising(self, op: Op) -> None:
        """Refuses an operation that may raise what a handler around it catches."""
        watched = [h for h in self.handlers if h.way is not None and h.way.watched]
        for error in _raised_by(op) if watched else ():
            for caught in (each for handler in watched for each in handler.classes):
                if error in self.tested:
                    continue
                if issubclass(error, caught) or issubclass(caught, error):
                    raise self.fail(
                        UnsupportedSyntax,
                        f"an 'except' around this operation catches {caught.__name__}, "
                        "and whether the operation raises it is known only when the "
                        "function runs",
                        (
                            "move the operation out of the 'try', and test beforehand with "
                            "an 'if' whether it would fail"
                        )
                        + _TESTS.get(caught, ""),
                    )


def _told_of_zero(sign: str, *types: Any) -> str:
    """What Python says of a division of such numbers by zero."""
    one, zero = (_KINDS[str(type_)](value) for type_, value in zip(types, (1, 0)))
    try:
        _DIVISIONS[sign](one, zero)
    except ZeroDivisionError as error:
        return str(error)
    raise AssertionError("a division by zero raises")


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
    if op.name == "pow":  # whole numbers have no negative powers
        risky |= not any("float" in dtype or "complex" in dtype for dtype in dtypes)
    whole = any(result.type == INT for result in op.results)
    if whole and (FLOAT in op.types or any("float" in dtype for dtype in dtypes)):
        return _MISHAPS if risky else (ValueError, OverflowError)  # of NaN there is no int
    return _MISHAPS if risky else ()


def _raised_in(function: Function) -> Iterator[type[BaseException]]:
    for each in (*function.callees(), function):
        for op in each.body.walk():
            if not op.functions:
                yield from _raised_by(op)
