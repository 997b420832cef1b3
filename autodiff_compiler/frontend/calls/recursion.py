"""Recursion: calls of a function by itself are inlined, or become two loops.

A recursion whose end is known at compile time is inlined, call in call. Another one becomes two
loops (``in_loops``). The first descends: it saves the arguments of each call until one returns
without a recursive call. The second returns: it gives each call the result of the next one. The
source function is therefore lowered twice. In the first loop the recursive call leaves it, as an
exception would (``core/unwinding``). In the second loop the recursive call has a result. The code
before that call is computed in both loops.
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
from autodiff_compiler.frontend.core.guards import MISSING
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.core.unwinding import handling, has_thrown
from autodiff_compiler.frontend.syntax.desugar.steps import desugared
from autodiff_compiler.frontend.syntax.desugar.try_statement import ExceptClause
from autodiff_compiler.frontend.syntax.source import RelocatedSource, read_source
from autodiff_compiler.ir.effects import Effects
from autodiff_compiler.ir.nodes import Value, type_of


def in_loops(go_down: Callable[..., Any], come_up: Callable[..., Any], given: Any) -> Any:
    """Computes a recursion in two loops. It is compiled, as a user's function is.

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
    """The exception by which a recursive call leaves the descent."""


@dataclass(eq=False)
class Call:
    """A call being lowered: its callee, its arguments, and the number of open branches."""

    key: Any
    given: Any
    depth: int


class RecursionFound(Exception):
    """A function was called again with the known arguments of an earlier ``call``."""

    def __init__(self, call: Call, given: Any):
        super().__init__("a recursion")
        self.call, self.given = call, given


@dataclass(eq=False)
class Recursion:
    """A recursive function. ``run`` lowers it once. ``varying`` has the positions of the leaves of
    its arguments that differ from call to call."""

    key: Any
    given: Any
    varying: tuple[int, ...]
    run: Callable[[Any], Any]
    #: In the descent, the handler of the recursive call. In the return, the flag that it was made,
    #: and its result.
    handler: ActiveHandler | None = None
    used: HeapRef | None = None
    answer: Any = None

    def parts(self, given: Any) -> tuple[Any, ...]:
        """Returns the varying leaves of arguments."""
        all_leaves = list(leaves(given))
        return tuple(all_leaves[place] for place in self.varying)

    def arguments(self, parts: Sequence[Any]) -> Any:
        """Returns the arguments with these varying leaves."""
        all_leaves = list(leaves(self.given))
        for place, part in zip(self.varying, parts, strict=True):
            all_leaves[place] = part
        return rebuild(self.given, iter(all_leaves))


@dataclass(eq=False)
class RecursionStep:
    """The parameter ``go_down`` or ``come_up`` of ``in_loops``."""

    take: Callable[..., Any]


def call_function(
    low: Lowering,
    callee: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    recompute: bool = False,
) -> Any:
    """Calls a source function or a Cell, which may be recursive."""
    key = (getattr(callee, "__func__", callee), id(getattr(callee, "__self__", None)))

    def run(given: Any) -> Any:
        return low.enter(callee, *given)

    def first() -> Any:
        if low.recursions:  # their recursive calls must be lowered here
            return run((args, kwargs))
        return call_outlined(low, callee, args, kwargs, recompute)

    return _call_or_loop(low, key, (tuple(args), dict(kwargs)), run, first)


def inline_closure(
    low: Lowering, closure: Closure, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Inlines an inner function, which may be recursive."""

    def run(given: Any) -> Any:
        return inline_closure_once(low, closure, *given)

    given = tuple(args), dict(kwargs)
    key = id(closure.tree), id(closure.frame)
    return _call_or_loop(low, key, given, run, lambda: run(given))


def _call_or_loop(
    low: Lowering, key: Any, given: Any, run: Callable[[Any], Any], first: Callable[[], Any]
) -> Any:
    """Returns the outcome of a call, as two loops for a recursion whose end is not known."""
    met = next((each for each in low.recursions if each.key == key), None)
    if met is not None:
        return _call_itself(low, met, given)
    enclosing = [call for call in low.compilation.calls if call.key == key]
    call = Call(key, given, _open_branches(low))
    for earlier in enclosing:
        if _repeats(earlier, call, len(enclosing) >= costs().recursive_calls):
            raise RecursionFound(earlier, given)
    base, problems, writes = (
        low.state.fork(),
        len(low.compilation.problems),
        len(low.compilation.aliases.writes),
    )
    low.compilation.calls.append(call)
    try:
        with low.builder.block() as ops:
            outcome = first()
    except RecursionFound as recursion:
        if recursion.call is not call:
            raise
        repeated = recursion.given
    else:
        low.builder.ops.extend(ops)
        return outcome
    finally:
        low.compilation.calls.pop()
    del low.compilation.problems[problems:], low.compilation.aliases.writes[writes:]
    low.state = base
    return _in_loops(low, Recursion(key, given, _varying_leaves(given, repeated), run))


def _open_branches(low: Lowering) -> int:
    """Returns the number of open branches and loops, here and around this function."""
    return low.depth + (_open_branches(low.parent) if low.parent else 0)


def _in_loops(low: Lowering, recursion: Recursion) -> Any:
    if holds_refs(recursion.given):
        raise low.fail(
            UnsupportedSyntax,
            "a list or dict is an argument of a recursion whose end is known only when the "
            "function runs",
            "pass tensors, numbers, or tuples of these",
        )

    def go_down(parts: Any) -> Any:
        return _lower_descent(low, recursion, parts)

    def come_up(parts: Any, value: Any) -> Any:
        return _lower_return(low, recursion, parts, value)

    given = recursion.parts(recursion.given)
    names = {
        "go_down": RecursionStep(go_down),
        "come_up": RecursionStep(come_up),
        "given": given,
    }
    loops = read_source(in_loops)
    source = RelocatedSource(
        loops.tree, loops.file, loops.first_line, loops.lines, low.builder.span
    )
    problems = len(low.compilation.problems)
    try:
        return inline(low, Frame(source, in_loops, tree=desugared(loops)), names)
    finally:
        if len(low.compilation.problems) > problems:
            del low.compilation.problems[problems + 1 :]  # the others follow from the first
            raise UsesPoison


def _lower_descent(low: Lowering, recursion: Recursion, parts: Any) -> Any:
    """Lowers the function for the descent. Returns whether it calls itself, the arguments of that
    call, and its result otherwise."""
    flag, thrown = low.allocate("flag", False), low.allocate("call", MISSING)
    handler = ActiveHandler(ExceptClause(None, must_run=False), (Descend,), flag, thrown)
    with handling(low, (handler, *low.catching)), _recursing(low, recursion, handler=handler):
        value = recursion.run(recursion.arguments(parts))
    is_called = low.state.heap[flag]
    if is_called is True:
        raise low.fail(
            UnsupportedSyntax,
            "this recursion never ends",
            "return before the recursive call in some case: if n == 0: return x",
        )
    following = parts if is_called is False else low.certainly(low.state.heap[thrown], True)
    return is_called, following, value


def _lower_return(low: Lowering, recursion: Recursion, parts: Any, answer: Any) -> Any:
    """Lowers the function for the return: its recursive call has the result ``answer``."""
    used = low.allocate("flag", False)
    flags = {ref for each in low.catching for ref in (each.flag, each.thrown)} | {used}
    before = {ref: contents for ref, contents in low.state.heap.items() if ref not in flags}
    with low.builder.block() as ops, _recursing(low, recursion, used=used, answer=answer):
        value = recursion.run(recursion.arguments(parts))
    low.builder.ops.extend(ops)
    has_written = not all(
        is_same(low.state.heap.get(ref), contents) for ref, contents in before.items()
    )
    if has_written or any(map(Effects(again=True).has, ops)):
        raise low.fail(
            UnsupportedSyntax,
            "this recursive function prints, draws random numbers or changes something outside; "
            "its end is known only when the function runs",
            "do so outside of the recursion, or write it as a 'while' loop",
        )
    return value


@contextmanager
def _recursing(low: Lowering, recursion: Recursion, **how: Any) -> Iterator[None]:
    """Enters a block in which recursive calls are treated as the fields ``how`` say."""
    before = low.recursions
    met = Recursion(recursion.key, recursion.given, recursion.varying, recursion.run, **how)
    low.recursions = (met, *before)
    try:
        yield
    finally:
        low.recursions = before


def _call_itself(low: Lowering, met: Recursion, given: Any) -> Any:
    """Returns the result of a recursive call, or leaves the descent by it."""
    heap = low.state.heap
    if met.handler is not None:
        fixed = set(range(len(list(leaves(given))))) - set(met.varying)
        pairs = list(zip(leaves(met.given), leaves(given)))
        if not has_same_structure(met.given, given) or any(not _is_same(*pairs[k]) for k in fixed):
            raise low.fail(
                UnsupportedSyntax,
                "the arguments of this recursive call have other types than those of "
                "the call around it",
                "pass arguments of the same types in every recursive call",
            )
        _refuse_second_call(low, has_thrown(low) is False)
        heap[met.handler.thrown] = met.parts(given)
        heap[met.handler.flag] = True
        return None
    assert met.used is not None
    _refuse_second_call(low, heap[met.used] is False)
    heap[met.used] = True
    return met.answer


def _refuse_second_call(low: Lowering, first: bool) -> None:
    if not first:
        raise low.fail(
            UnsupportedSyntax,
            "this function calls itself more than once in one branch; the end of the "
            "recursion is known only when the function runs",
            "write it as a loop over a list of pending work",
        )


def _repeats(call: Call, now: Call, deep: bool) -> bool:
    """True if two calls do the same, as far as is known at compile time."""
    if not has_same_structure(call.given, now.given):
        return False
    is_same = True
    for one, other in zip(leaves(call.given), leaves(now.given)):
        known = not isinstance(one, Value) and not isinstance(other, Value)
        is_same &= one == other if known else deep or type_of(one) == type_of(other)
    return is_same or deep and now.depth > call.depth


def _is_same(one: Any, other: Any) -> bool:
    return one is other or not isinstance(one, Value) and bool(one == other)


def _varying_leaves(given: Any, repeated: Any) -> tuple[int, ...]:
    """Returns the positions of the leaves that differ between two calls."""
    pairs = zip(leaves(given), leaves(repeated))
    return tuple(place for place, pair in enumerate(pairs) if not _is_same(*pair))
