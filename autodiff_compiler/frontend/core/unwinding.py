"""Leaving a text from its middle: what is thrown skips all that follows, up to its handler.

Each handler that is at work (``handlers``, the innermost first, those of callers too) has a flag
in the heap, which whatever throws sets. The rest of what is being lowered then stands in a branch,
and runs where no flag is set. For the rest of a block that is plain. The rest of an expression, of
which some operands are evaluated and some are not, is had by evaluating it once more inside that
branch; what was evaluated is not evaluated again, but looked up (``once``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from autodiff_compiler.errors import CompileError, UnsupportedSyntax
from autodiff_compiler.frontend.abstract.aliasing import refuse_spoilt
from autodiff_compiler.frontend.abstract.values import HeapRef, State
from autodiff_compiler.frontend.core.assumptions import MISSING
from autodiff_compiler.frontend.syntax.desugar.try_statement import ExceptClause
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.operators.elementwise import comparisons
from autodiff_compiler.span import Span


@dataclass(frozen=True)
class Unwinding:
    """What a block or expression gives that was left by what a handler catches."""


@dataclass(frozen=True, eq=False)
class ActiveHandler:
    """A handler at work: its way in the text, the classes that it catches, the cells of its flag
    and of what was thrown. That is a number, of its class and place in ``places``, its text, and
    what it is made of.

    One without a way is the edge of a ``with``, which nothing may be thrown across.
    """

    way: ExceptClause | None
    classes: tuple[type, ...]
    flag: HeapRef
    thrown: HeapRef
    places: list[tuple[type, Span]] = field(default_factory=list)

    def catches(self, error: type) -> bool:
        return issubclass(error, self.classes)


class MayHaveThrown(Exception):
    """Something may have been thrown: the rest of this expression runs only if it was not."""


class Stepping:
    """What a lowering does where something may be thrown."""

    world: Any
    builder: Builder
    state: State
    #: The handlers at work, the innermost first.
    handlers: tuple[ActiveHandler, ...] = ()
    #: What was evaluated of the present statement: the node (or what else it was), the value, and
    #: how many writes to memory there had been; and how many of these were met again.
    _done: list[tuple[Any, Any, int]] = []
    _met = 0

    def choose(self, test: Value, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
        """The value of ``then()`` or ``orelse()`` by a run-time test."""
        raise NotImplementedError

    def thrown_by(self, error: CompileError) -> bool:
        """Throws what Python would raise where this was found, if a handler catches that."""
        raise NotImplementedError

    def left(self) -> Any:
        """Whether something was thrown: False, True, or a run-time value."""
        found: Any = False
        for handler in self.handlers:
            flag = self.state.heap[handler.flag]
            if flag is True:
                return True
            if isinstance(flag, Value):
                found = flag if found is False else comparisons.logical_or(found, flag)
        return found

    def unless_left(self, rest: Callable[[], Any]) -> Any:
        """``rest()``, or ``Unwinding`` where something was thrown."""
        left = self.left()
        if left is False:
            return rest()
        if left is True:
            return Unwinding()

        def goes_on() -> Any:
            self.calm()
            return rest()

        return self.choose(left, Unwinding, goes_on)

    def calm(self) -> None:
        """From here on nothing was thrown, as is known."""
        for handler in self.handlers:
            self.state.heap |= {handler.flag: False, handler.thrown: MISSING}

    @contextmanager
    def under(self, handlers: tuple[ActiveHandler, ...]) -> Iterator[None]:
        """Inside, these handlers are at work."""
        before, self.handlers = self.handlers, handlers
        try:
            yield
        finally:
            self.handlers = before

    def once(self, key: Any, evaluate: Callable[[], Any]) -> Any:
        """``evaluate()``, or what it gave when this statement was begun before."""
        if not self.handlers:
            return evaluate()
        begun = self._met
        if begun < len(self._done) and self._done[begun][0] is key:
            self._met += 1
            _, value, writes = self._done[begun]
            refuse_spoilt(self, value, writes)
            return value
        try:
            value = evaluate()
        except MayHaveThrown:
            raise
        except CompileError as error:
            if not self.thrown_by(self.builder.placed(error)):
                self._forget(begun)
                raise
            raise MayHaveThrown from None
        except Exception:
            self._forget(begun)
            raise
        self._forget(begun)
        self._done.insert(begun, (key, value, len(self.world.memory.writes)))
        self._met = begun + 1
        if self.left() is not False:
            raise MayHaveThrown
        return value

    def _forget(self, begun: int) -> None:
        del self._done[begun : self._met]
        self._met = begun

    def stepwise(
        self, evaluate: Callable[[], Any], then: Callable[[Any], Any] = lambda value: value
    ) -> Any:
        """``evaluate()``; what follows something that may be thrown stands in a branch. Where there
        is such a branch, that goes on with ``then`` of the value."""
        if not self.handlers:
            return evaluate()
        before = self._done, self._met
        done: list[tuple[Any, Any, int]] = []

        def steps(first: bool) -> Any:
            self._done, self._met = done, 0
            try:
                value = evaluate()
            except MayHaveThrown:
                return self.unless_left(lambda: steps(False))
            return value if first else then(value)

        try:
            return steps(True)
        finally:
            self._done, self._met = before

    def at_once(self, evaluate: Callable[[], Any], what: str, cure: str) -> Any:
        """``evaluate()``, which must not be left from its middle."""
        try:
            return evaluate()
        except MayHaveThrown:
            raise UnsupportedSyntax(
                f"{what} may raise an exception that a handler around it catches",
                cure,
                self.builder.span,
            ) from None
