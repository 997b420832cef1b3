"""Texts that call themselves.

A recursion whose end is known while compiling is written out, call in call. One whose end only a
run knows becomes two loops (``in_loops``). The first goes down: it keeps what each call was given,
until one returns without calling itself. The second comes up, and gives each call what the next one
returned. So the text is lowered twice: first the call of itself leaves it, as an exception would
(``stepping``), then it is answered. What stands before that call is computed in both loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from autodiff_compiler.cost_model import costs
from autodiff_compiler.errors import UnsupportedSyntax
from autodiff_compiler.frontend.abstract.heap import holds_refs
from autodiff_compiler.frontend.abstract.outcomes import ActiveHandler
from autodiff_compiler.frontend.abstract.values import (
    Closure,
    Frame,
    HeapRef,
    UsesPoison,
    has_same_structure,
    is_same,
    leaves,
    rebuild,
)
from autodiff_compiler.frontend.calls.inlining import inline, inline_closure_once
from autodiff_compiler.frontend.calls.outlined_calls import call_outlined
from autodiff_compiler.frontend.core.assumptions import MISSING
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.core.unwinding import handling, has_thrown
from autodiff_compiler.frontend.syntax.desugar.early_exits import desugared
from autodiff_compiler.frontend.syntax.desugar.try_statement import ExceptClause
from autodiff_compiler.frontend.syntax.source import RelocatedSource, read_source
from autodiff_compiler.ir.effects import Effects
from autodiff_compiler.ir.nodes import Value, type_of


def in_loops(go_down: Callable[..., Any], come_up: Callable[..., Any], given: Any) -> Any:
    """A recursion as two loops; compiled as a user's text is.

    >>> down = lambda n: (n > 0, n - 1, 1)
    >>> in_loops(down, lambda n, rest: n * rest, 5)
    120
    """
    waiting = []
    while True:
        again, following, value = go_down(given)
        if not again:
            break
        waiting.append(given)
        given = following
    for given in reversed(waiting):
        value = come_up(given, value)
    return value


class Descend(Exception):
    """What the call of itself throws on the way down."""


@dataclass(eq=False)
class Call:
    """A call being lowered: whose, what it was given, and how many branches were open."""

    key: Any
    given: Any
    depth: int


class RecursionFound(Exception):
    """A text was called again with what it was given before (``call``), as far as is known."""

    def __init__(self, call: Call, given: Any):
        super().__init__("a recursion")
        self.call, self.given = call, given


@dataclass(eq=False)
class Recursion:
    """A text whose calls of itself are met: ``run`` lowers it once. ``varying`` are the leaves of
    its arguments, by number, that differ from call to call."""

    key: Any
    given: Any
    varying: tuple[int, ...]
    run: Callable[[Any], Any]
    #: The handler that leaves the text, or the cell that tells that it was answered, and how.
    handler: ActiveHandler | None = None
    used: HeapRef | None = None
    answer: Any = None

    def parts(self, given: Any) -> tuple[Any, ...]:
        found = list(leaves(given))
        return tuple(found[place] for place in self.varying)

    def whole(self, parts: Sequence[Any]) -> Any:
        found = list(leaves(self.given))
        for place, part in zip(self.varying, parts, strict=True):
            found[place] = part
        return rebuild(self.given, iter(found))


@dataclass(eq=False)
class RecursionStep:
    """``go_down`` or ``come_up``."""

    take: Callable[..., Any]


def call_function(
    low: Lowering, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any], again: bool = False
) -> Any:
    key = (getattr(callee, "__func__", callee), id(getattr(callee, "__self__", None)))

    def run(given: Any) -> Any:
        return low.enter(callee, *given)

    def first() -> Any:
        if low.recursions:  # of which each call must be seen here
            return run((args, kwargs))
        return call_outlined(low, callee, args, kwargs, again)

    return _entered(low, key, (tuple(args), dict(kwargs)), run, first)


def inline_closure(
    low: Lowering, closure: Closure, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    def run(given: Any) -> Any:
        return inline_closure_once(low, closure, *given)

    given = tuple(args), dict(kwargs)
    key = id(closure.tree), id(closure.frame)
    return _entered(low, key, given, run, lambda: run(given))


def _entered(
    low: Lowering, key: Any, given: Any, run: Callable[[Any], Any], first: Callable[[], Any]
) -> Any:
    """The outcome of a call, in loops if it calls itself without an end that is known."""
    met = next((each for each in low.recursions if each.key == key), None)
    if met is not None:
        return _meet(low, met, given)
    around = [call for call in low.compilation.calls if call.key == key]
    call = Call(key, given, _branches(low))
    for earlier in around:
        if _repeats(earlier, call, len(around) >= costs().recursive_calls):
            raise RecursionFound(earlier, given)
    base, told, writes = (
        low.state.fork(), len(low.compilation.problems), len(low.compilation.aliases.writes)
    )  # fmt: skip
    low.compilation.calls.append(call)
    try:
        with low.builder.block() as ops:
            outcome = first()
    except RecursionFound as found:
        if found.call is not call:
            raise
        repeated = found.given
    else:
        low.builder.ops.extend(ops)
        return outcome
    finally:
        low.compilation.calls.pop()
    del low.compilation.problems[told:], low.compilation.aliases.writes[writes:]
    low.state = base
    return _in_loops(low, Recursion(key, given, _varying(given, repeated), run))


def _branches(low: Lowering) -> int:
    """How many branches and loops are open, here and around this function."""
    return low.depth + (_branches(low.parent) if low.parent else 0)


def _in_loops(low: Lowering, recursion: Recursion) -> Any:
    if holds_refs(recursion.given):
        raise low.fail(
            UnsupportedSyntax,
            "a list or dict is an argument of a recursive call, and the condition "
            "that ends the recursion is known only when the function runs",
            "pass tensors, numbers, or tuples of these",
        )

    def go_down(parts: Any) -> Any:
        return _gone_down(low, recursion, parts)

    def come_up(parts: Any, value: Any) -> Any:
        return _come_up(low, recursion, parts, value)

    given = recursion.parts(recursion.given)
    names = {
        "go_down": RecursionStep(go_down),
        "come_up": RecursionStep(come_up),
        "given": given,
    }
    text = read_source(in_loops)
    here = RelocatedSource(text.tree, text.file, text.first_line, text.lines, low.builder.span)
    told = len(low.compilation.problems)
    try:
        return inline(low, Frame(here, in_loops, tree=desugared(text)), names)
    finally:
        if len(low.compilation.problems) > told:
            del low.compilation.problems[told + 1 :]  # the others come of the first
            raise UsesPoison


def _gone_down(low: Lowering, recursion: Recursion, parts: Any) -> Any:
    """Whether the text calls itself, with what, and what it returns where it does not."""
    flag, thrown = low.allocate("flag", False), low.allocate("call", MISSING)
    handler = ActiveHandler(ExceptClause(None, watched=False), (Descend,), flag, thrown)
    with handling(low, (handler, *low.catching)), _recursing(low, recursion, handler=handler):
        value = recursion.run(recursion.whole(parts))
    again = low.state.heap[flag]
    if again is True:
        raise low.fail(
            UnsupportedSyntax,
            "this recursion never ends",
            "return before the recursive call in some case: if n == 0: return x",
        )
    following = parts if again is False else low.certainly(low.state.heap[thrown], True)
    return again, following, value


def _come_up(low: Lowering, recursion: Recursion, parts: Any, answer: Any) -> Any:
    """What the text returns where the call of itself returned ``answer``."""
    used = low.allocate("flag", False)
    flags = {cell for each in low.catching for cell in (each.flag, each.thrown)} | {used}
    around = {cell: held for cell, held in low.state.heap.items() if cell not in flags}
    with low.builder.block() as ops, _recursing(low, recursion, used=used, answer=answer):
        value = recursion.run(recursion.whole(parts))
    low.builder.ops.extend(ops)
    written = not all(is_same(low.state.heap.get(cell), held) for cell, held in around.items())
    if written or any(map(Effects(again=True).has, ops)):
        raise low.fail(
            UnsupportedSyntax,
            "this recursive function prints, draws random numbers or changes "
            "something outside of itself, and the condition that ends it is known "
            "only when the function runs",
            "do so outside of the recursion, or write it as a 'while' loop",
        )
    return value


@contextmanager
def _recursing(low: Lowering, recursion: Recursion, **how: Any) -> Iterator[None]:
    """Inside, calls of itself are met as ``how`` says."""
    before = low.recursions
    met = Recursion(recursion.key, recursion.given, recursion.varying, recursion.run, **how)
    low.recursions = (met, *before)
    try:
        yield
    finally:
        low.recursions = before


def _meet(low: Lowering, met: Recursion, given: Any) -> Any:
    """A text calls itself."""
    heap = low.state.heap
    if met.handler is not None:
        fixed = set(range(len(list(leaves(given))))) - set(met.varying)
        pairs = list(zip(leaves(met.given), leaves(given)))
        if not has_same_structure(met.given, given) or any(not _alike(*pairs[k]) for k in fixed):
            raise low.fail(
                UnsupportedSyntax,
                "the arguments of this recursive call have other types than those of "
                "the call around it",
                "pass arguments of the same types in every recursive call",
            )
        _only_once(low, has_thrown(low) is False)
        heap[met.handler.thrown] = met.parts(given)
        heap[met.handler.flag] = True
        return None
    assert met.used is not None
    _only_once(low, heap[met.used] is False)
    heap[met.used] = True
    return met.answer


def _only_once(low: Lowering, first: bool) -> None:
    if not first:
        raise low.fail(
            UnsupportedSyntax,
            "this function calls itself more than once in one branch, and the "
            "condition that ends the recursion is known only when the function runs",
            "write it as a loop over a list of pending work",
        )


def _repeats(call: Call, now: Call, deep: bool) -> bool:
    """Decides whether two calls do the same, as far as is known while compiling."""
    if not has_same_structure(call.given, now.given):
        return False
    alike = True
    for one, other in zip(leaves(call.given), leaves(now.given)):
        known = not isinstance(one, Value) and not isinstance(other, Value)
        alike &= one == other if known else deep or type_of(one) == type_of(other)
    return alike or deep and now.depth > call.depth


def _alike(one: Any, other: Any) -> bool:
    return one is other or not isinstance(one, Value) and bool(one == other)


def _varying(given: Any, repeated: Any) -> tuple[int, ...]:
    """The leaves that are not one and the same in two calls."""
    pairs = zip(leaves(given), leaves(repeated))
    return tuple(place for place, pair in enumerate(pairs) if not _alike(*pair))
