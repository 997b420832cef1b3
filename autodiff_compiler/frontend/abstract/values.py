"""What a name can mean while a method is being lowered, and how meanings flatten and merge.

A compile-time value is an IR ``Value`` (known at run time only), a Python object (known now), a
tuple of these, or a reference to a list or dict of the heap. The heap is part of the ``State`` and
is copied at every branch, so that mutation and aliasing keep Python's meaning.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from autodiff_compiler.errors import DTypeError, Problem
from autodiff_compiler.ir.nodes import AnyOperand, Value
from autodiff_compiler.span import Caller, Span

NUMBERS = (bool, int, float, complex)
#: What the variables of the compiler hold, by their kind. No text can spell their names.
INTERNAL_VARIABLES = {
    "waiting": "a value on the right side",
    "items": "the list that a loop goes through",
    "at": "a position in that list",
    "first": "the number of its first item",
    "source": "what a comprehension goes through",
    "collected": "what a comprehension collects",
}


def internal_name(kind: str, number: int | None = None) -> str:
    """Return the name of a variable of the compiler.

    >>> internal_name("waiting", 3), internal_name("source")
    ('<waiting 3>', '<source>')
    """
    assert kind in INTERNAL_VARIABLES
    return f"<{kind}>" if number is None else f"<{kind} {number}>"


def internal_kind(name: str) -> str:
    """Return the kind of a variable of the compiler; empty for one of the user's.

    >>> [internal_kind(name) for name in ("<waiting 3>", "<source>", "x", "<lambda>")]
    ['waiting', 'source', '', '']
    """
    kind = name[1:-1].partition(" ")[0]
    return kind if name.startswith("<") and kind in INTERNAL_VARIABLES else ""


@dataclass(frozen=True, eq=False)
class HeapRef:
    """A list (``kind`` 'list') or dict ('dict') made by the user's text; contents in the heap. Each
    is made once, and like itself alone."""

    kind: str
    number: int


@dataclass(frozen=True)
class SuperProxy:
    """``super()`` in a method of ``owner``, of an object that the user's text made."""

    owner: type
    ref: HeapRef


@dataclass(frozen=True)
class DetachedContainer:
    """A list or dict with its contents, out of the heap: so one is carried by a branch or loop,
    if a single variable holds it."""

    kind: str
    contents: Any


@dataclass(frozen=True)
class PendingRuntimeList:
    """The known items of a list that is about to become one of run-time length: one leaf."""

    items: tuple[Any, ...]


@dataclass(frozen=True)
class Unset:
    """A variable that is not set on every way to this point; reading it is a problem."""

    cause: str
    cure: str


#: What a compile-time value consists of, where it differs from way to way.
LEAVES = (Value, *NUMBERS, PendingRuntimeList)


@dataclass(frozen=True)
class MaybeUnset:
    """A variable that is set on some ways to this point and has ``value`` there.

    Its leaves are undefined on the other ways; a value without leaves (a string, a function) is
    told from none by ``flag``, a truth.
    """

    value: Any
    unset: Unset
    flag: Any = None


@dataclass(frozen=True)
class MaybeNone:
    """A variable that is None, with all its leaves, on some ways to this point, else ``value``."""

    value: Any


@dataclass(frozen=True)
class Poison:
    """The outcome of something already reported; whatever touches it is not reported again."""


@dataclass(eq=False)
class Frame:
    """One text being lowered: its source, the function it is, and the frame around an inner one;
    the variables of a frame that waits for a call to end, and how many branches and loops were
    open when it began to; its tree; the variables that a loop being rolled may have set when its
    body begins; its handlers, by their ways; and whether its text has come to its end."""

    source: Any
    function: Any
    outer: Frame | None = None
    names: dict[str, Any] = field(default_factory=dict)
    tree: Any = None
    depth: int = 0
    awaited: frozenset[str] = frozenset()
    handlers: dict[Any, Any] = field(default_factory=dict)
    ended: bool = False

    @property
    def text(self) -> Any:
        """The tree of the function that this is in: a comprehension's is that around it."""
        return self.outer.text if self.tree is None and self.outer else self.tree

    @property
    def title(self) -> str:
        """What Python calls that function."""
        return str(getattr(self.text, "name", "<lambda>"))


@dataclass(frozen=True, eq=False)
class Closure:
    """A lambda or inner function, and the frame whose variables it sees."""

    tree: Any
    frame: Frame
    defaults: tuple[Any, ...] = ()
    name: str = "<lambda>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # Library code that is given one may ask whether it is callable.
        raise TypeError(f"'{self.name}' can be called in compiled code only")


@dataclass(frozen=True, eq=False)
class TensorMethod:
    """A method of a tensor: ``x.sum``; of an array of plain NumPy code with its name."""

    value: Value
    function: Callable[..., Any]
    name: str = ""


@dataclass(frozen=True, eq=False)
class CallableChoice:
    """One of two functions or Cells, by a run-time test."""

    test: Any
    left: Any
    right: Any


@dataclass(frozen=True, eq=False)
class InPlaceTensorMethod:
    """A method that changes a tensor: ``x.add_``; what it becomes is ``function(value, …)``."""

    value: Value
    function: Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Partial:
    """``functools.partial`` of compile-time values."""

    func: Any
    args: tuple[Any, ...]
    keywords: dict[str, Any]


@dataclass(frozen=True, eq=False)
class ContainerMethod:
    """A method of a list or dict of the heap: ``l.append``."""

    ref: HeapRef
    name: str


@dataclass(frozen=True, eq=False)
class CustomRule:
    """A rule on its way to a function of its own: its text, names of parameters, what lowers it."""

    text: Any
    names: tuple[str, ...]
    lower: Callable[[Any, Sequence[Any]], Any]


@dataclass(frozen=True)
class DictView:
    """A dict view: ``keys()``, ``values()`` or ``items()`` (``kind``) of a dict of the heap."""

    kind: str
    ref: HeapRef


@dataclass(frozen=True)
class ObjectDict:
    """The ``__dict__`` of an object that the text made."""

    ref: HeapRef


@dataclass(frozen=True)
class IteratorPosition:
    """How far an iterator has gone along a list of the heap or an array, and by what step; along a
    dict or view with the ``keys`` that it had then."""

    source: HeapRef | DictView | Value
    at: int = 0
    step: int = 1
    keys: tuple[Any, ...] | None = None


@dataclass(frozen=True, eq=False)
class LazyIterable:
    """``enumerate``, ``zip``, ``map``, one of ``itertools``, a generator expression and such: what
    it goes through, what it starts with (the first number of ``enumerate``, what the list of
    ``reversed`` held, a value to fill in), and what is done to each item. Nothing was taken yet,
    or ``sources`` are iterators."""

    kind: str
    sources: tuple[Any, ...]
    start: Any = 0
    function: Any = None


@dataclass(frozen=True)
class Checkpointed:
    """An iterable whose loop keeps states as ``checkpoint`` says; see ``Loop``."""

    iterable: Any
    checkpoint: tuple[str, int]


@dataclass(frozen=True)
class RuntimeRange:
    """``range`` with a bound that is known at run time only."""

    start: AnyOperand
    stop: AnyOperand
    step: AnyOperand


#: What else holds compile-time values, beside tuples and dicts.
COMPOUND_VALUES = (
    IteratorPosition, TensorMethod, Checkpointed, Closure, CallableChoice, DetachedContainer,
    InPlaceTensorMethod, LazyIterable, MaybeUnset, ObjectDict, Partial, MaybeNone, RuntimeRange,
    DictView,
)  # fmt: skip


def components(value: Any) -> list[Any]:
    """What a compile-time value consists of, one level deep."""
    found: list[Any] = []

    def look(part: Any) -> Any:
        found.append(part)
        return part

    map_components(value, look)
    return found


def map_components(value: Any, change: Callable[[Any], Any]) -> Any:
    """``value`` with each of its parts changed, one level deep; itself if none of them is."""
    if isinstance(value, tuple):
        items = tuple(map(change, value))
        if all(map(operator.is_, items, value)):
            return value
        return tuple_like(value, items)
    if isinstance(value, dict):
        entries = {key: change(item) for key, item in value.items()}
        return entries if any(entries[key] is not value[key] for key in entries) else value
    if isinstance(value, COMPOUND_VALUES):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        return (
            replace(value, **new) if (new := map_components(parts, change)) is not parts else value
        )
    return value


def tuple_like(like: Any, items: Iterable[Any]) -> tuple[Any, ...]:
    """A tuple of these items, and a named one where ``like`` is of such a class."""
    return type(like)(*items) if hasattr(like, "_fields") else tuple(items)


class UsesPoison(Exception):
    """A statement used a poisoned value and is dropped without a report."""


class NeedsKnownValue(Exception):
    """A number is needed while compiling but is known at run time only."""

    def __init__(self, value: Value, span: Span, purpose: str):
        super().__init__(purpose)
        self.value, self.span, self.purpose = value, span, purpose
        self.callers: tuple[Caller, ...] = ()

    def refusal(self, cause: str, cure: str) -> DTypeError:
        """This as an error, where nothing makes the number known."""
        return DTypeError(problems=[Problem(DTypeError, cause, cure, self.span, self.callers)])


class LoopNotRollable(Exception):
    """A loop's body changes a variable in a way that no carried variable can follow: why and what
    to do, or what was wrong with its statements (``problems``)."""

    cure = "assign each variable the same type and structure before the loop and in every iteration"

    def __init__(self, cause: str = "", problems: Sequence[Problem] = (), cure: str = ""):
        super().__init__(cause)
        self.problems, self.cure = tuple(problems), cure or self.cure


class LoopSourceChanges(LoopNotRollable):
    """A loop's body changes the list that the loop goes through."""


class Heap(dict[HeapRef, Any]):
    """The contents of lists and dicts. Reading those that differ from way to way is a problem."""

    def __getitem__(self, ref: HeapRef) -> Any:
        contents = super().__getitem__(ref)
        if isinstance(contents, Unset):
            raise DTypeError(contents.cause, contents.cure)
        if isinstance(contents, Poison):
            raise UsesPoison
        return contents


@dataclass
class State:
    """The variables and the heap at one point of the text."""

    names: dict[str, Any] = field(default_factory=dict)
    heap: Heap = field(default_factory=Heap)

    def fork(self) -> State:
        return State(dict(self.names), Heap(self.heap))

    def become(self, other: State) -> None:
        self.names, self.heap = other.names, other.heap


def is_same(left: Any, right: Any) -> bool:
    """Whether two compile-time values are certainly one and the same."""
    if left is right:
        return True
    if isinstance(left, tuple) and isinstance(right, tuple) and type(left) is type(right):
        return len(left) == len(right) and all(map(is_same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(is_same(left[k], right[k]) for k in left)
    if isinstance(left, DetachedContainer) and isinstance(right, DetachedContainer):
        return left.kind == right.kind and is_same(left.contents, right.contents)
    comparable = isinstance(left, (*NUMBERS, str, HeapRef, ObjectDict, DictView, IteratorPosition))
    return comparable and type(left) is type(right) and bool(left == right)


def leaves(value: Any) -> Iterator[AnyOperand]:
    """The values and numbers in a compile-time value, left to right."""
    if isinstance(value, LEAVES):
        yield value  # type: ignore[misc]
    elif isinstance(value, DetachedContainer):
        yield from leaves(value.contents)
    elif isinstance(value, MaybeNone):
        yield from leaves(value.value)
    elif isinstance(value, (tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from leaves(item)


def holds_values(value: Any) -> bool:
    """Whether a part of a compile-time value is known at run time only."""
    return any(isinstance(leaf, Value) for leaf in leaves(value))


def rebuild(value: Any, new: Iterator[Any]) -> Any:
    """``value`` with its leaves replaced in order."""
    if isinstance(value, LEAVES):
        return next(new)
    if isinstance(value, DetachedContainer):
        return DetachedContainer(value.kind, rebuild(value.contents, new))
    if isinstance(value, MaybeNone):
        return MaybeNone(rebuild(value.value, new))
    if isinstance(value, tuple):
        return tuple_like(value, [rebuild(item, new) for item in value])
    if isinstance(value, dict):
        return {key: rebuild(item, new) for key, item in value.items()}
    return value


def has_same_structure(left: Any, right: Any) -> bool:
    """Whether two compile-time values differ in their leaves only."""
    if isinstance(left, LEAVES):
        return isinstance(right, LEAVES)
    if isinstance(left, DetachedContainer) and isinstance(right, DetachedContainer):
        return left.kind == right.kind and has_same_structure(left.contents, right.contents)
    if isinstance(left, MaybeNone) and isinstance(right, MaybeNone):
        return has_same_structure(left.value, right.value)
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(has_same_structure, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(
            has_same_structure(left[k], right[k]) for k in left
        )
    return is_same(left, right)


#: The kind of the heap's cells that are objects of the user's classes.
OBJECT = "object"
#: What the heap calls the ``ctx`` of a Function.
CONTEXT = "context"
