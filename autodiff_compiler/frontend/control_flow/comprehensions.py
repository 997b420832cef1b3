"""Comprehensions and generator expressions: unrolled, or the list that a loop makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import gast

from autodiff_compiler.errors import UnsupportedSyntax
from autodiff_compiler.fast_ast import nodes_in
from autodiff_compiler.frontend.abstract.iterators import items_of, iterator_over
from autodiff_compiler.frontend.abstract.values import (
    Closure,
    Frame,
    HeapRef,
    LazyIterable,
    NeedsKnownValue,
    internal_name,
)
from autodiff_compiler.frontend.calls.inlining import in_frame
from autodiff_compiler.frontend.control_flow.loops import becomes_loop
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.syntax import builders

#: The variables of a comprehension: for the iterable, and for the collected items.
SOURCE, ITEMS = internal_name("source"), internal_name("collected")
#: The loop that a comprehension becomes. A loop keeps its node over several attempts to compile a
#: function.
_LOOPS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def evaluate_list_comp(low: Lowering, node: Any) -> Any:
    items = _evaluate_comprehension(low, node, [node.elt])
    return items if isinstance(items, HeapRef) else low.new_list(items)


def evaluate_generator_exp(low: Lowering, node: Any) -> Any:
    """Returns an iterator that makes its items; the items where it is used up at once."""
    if node not in low.used_at_once:
        source = low.evaluate(node.generators[0].iter)
        generator = Closure(node, low.frame, (), "<genexpr>")
        iterable = LazyIterable("generator", (source, ()), function=generator)
        later = becomes_loop(low, source)
        return low.allocate("iterator", iterable) if later else iterator_over(low, iterable)
    items = _evaluate_comprehension(low, node, [node.elt])
    return items if isinstance(items, HeapRef) else tuple(items)


def evaluate_generator(low: Lowering, generator: Closure, source: Any) -> Any:
    """Returns all items of a generator expression that iterates over ``source``."""
    items = _evaluate_comprehension(
        low, generator.tree, [generator.tree.elt], source, generator.frame
    )
    return items if isinstance(items, HeapRef) else tuple(items)


def generate_items(low: Lowering, generator: Closure, item: Any) -> list[Any]:
    """Returns the items of a generator expression for one item of its first source."""
    items: list[Any] = []
    first, *rest = generator.tree.generators
    with _in_comprehension(low, generator.tree, generator.frame):
        _generate_from(low, first, item, rest, [generator.tree.elt], items)
    return items


def evaluate_set_comp(low: Lowering, node: Any) -> Any:
    items = low.sequence(_evaluate_comprehension(low, node, [node.elt]))
    return frozenset(low.static(item, "an item of a set") for item in items)


def evaluate_dict_comp(low: Lowering, node: Any) -> Any:
    pairs = low.sequence(_evaluate_comprehension(low, node, [node.key, node.value]))
    contents = {low.static(key, "a dict key"): value for key, value in pairs}
    return low.allocate("dict", contents)


def _evaluate_comprehension(
    low: Lowering, node: Any, wanted: Sequence[Any], source: Any = None, around: Frame | None = None
) -> list[Any] | HeapRef:
    """Returns the items of a comprehension, whose variables are its own. If they are many, or their
    number is not known, returns the list that a loop makes."""
    source = low.evaluate(node.generators[0].iter) if source is None else source
    items: list[Any] = []
    with _in_comprehension(low, node, around or low.frame):
        before = low.state.fork()
        try:
            if len(wanted) == 1 and becomes_loop(low, source):
                return _as_loop(low, node, source)
            _generate(low, list(node.generators), wanted, items, source)
        except NeedsKnownValue:
            if len(wanted) > 1 or not any(part.ifs for part in node.generators):
                raise
            low.state.become(before)
            return _as_loop(low, node, source)
    return items


@contextmanager
def _in_comprehension(low: Lowering, node: Any, around: Frame) -> Iterator[None]:
    """Enters a comprehension of the frame ``around``. A variable that ``:=`` assigns belongs to
    that frame."""
    targets = [part.target for part in nodes_in(node) if isinstance(part, gast.NamedExpr)]
    bound = [target.id for target in targets if isinstance(target, gast.Name)]
    if bound and around is not low.frame:
        raise low.fail(
            UnsupportedSyntax,
            "a generator expression that assigns a variable with ':=' is consumed in "
            "another function",
            "make it a list first: [... for ... in ...]",
        )
    visible = {name: low.state.names[name] for name in bound if name in low.state.names}
    with in_frame(low, Frame(around.source, around.function, around), visible):
        yield
        visible = {name: low.state.names[name] for name in bound if name in low.state.names}
    low.state.names |= visible


def _as_loop(low: Lowering, node: Any, source: Any) -> HeapRef:
    """Returns the list that a comprehension makes as a loop."""
    if node not in _LOOPS:
        _LOOPS[node] = builders.collecting_loop(node, SOURCE, ITEMS)
    low.state.names |= {SOURCE: source, ITEMS: low.new_list(())}
    low.execute(_LOOPS[node])
    items: HeapRef = low.certainly(low.state.names[ITEMS])
    return items


def _generate(
    low: Lowering,
    generators: list[Any],
    wanted: Sequence[Any],
    items: list[Any],
    source: Any = None,
) -> None:
    if not generators:
        values = [low.evaluate(node) for node in wanted]
        items.append(values[0] if len(values) == 1 else tuple(values))
        return
    first, *rest = generators
    source = low.evaluate(first.iter) if source is None else source
    for item in items_of(low, source):
        _generate_from(low, first, item, rest, wanted, items)


def _generate_from(
    low: Lowering, first: Any, item: Any, rest: list[Any], wanted: Sequence[Any], items: list[Any]
) -> None:
    low.assign(first.target, item)
    tests = (low.truth(low.evaluate(test)) for test in first.ifs)
    if all(low.static(test, "the condition of a comprehension") for test in tests):
        _generate(low, rest, wanted, items)
