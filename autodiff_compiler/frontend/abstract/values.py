"""Compile-time values: the possible contents of a variable while a method is being lowered.

A compile-time value is an IR ``Value`` (known only at run time) or a Python object (known now). It
may also be a tuple of these, or a reference to a list or dict of the heap. The heap is part of the
``State`` and is copied at every branch. Mutation and aliasing therefore keep Python's meaning.
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
#: The contents of the compiler's own variables, by their kind. No source can spell their names.
INTERNAL_VARIABLES = {
    "waiting": "a value on the right side",
    "items": "the list that a loop iterates over",
    "at": "a position in that list",
    "first": "the number of its first item",
    "source": "the iterable of a comprehension",
    "collected": "the items of a comprehension",
}


def internal_name(kind: str, number: int | None = None) -> str:
    """Returns the name of a variable of the compiler's own.

    >>> internal_name("waiting", 3), internal_name("source")
    ('<waiting 3>', '<source>')
    """
    assert kind in INTERNAL_VARIABLES
    return f"<{kind}>" if number is None else f"<{kind} {number}>"


def internal_kind(name: str) -> str:
    """Returns the kind of a variable of the compiler's own; empty for a user's variable.

    >>> [internal_kind(name) for name in ("<waiting 3>", "<source>", "x", "<lambda>")]
    ['waiting', 'source', '', '']
    """
    kind = name[1:-1].partition(" ")[0]
    return kind if name.startswith("<") and kind in INTERNAL_VARIABLES else ""


@dataclass(frozen=True, eq=False)
class HeapRef:
    """A list (``kind`` 'list') or dict ('dict') made by the source function. Its contents are in
    the heap. Two references are equal only if they are one object."""

    kind: str
    number: int


@dataclass(frozen=True)
class SuperProxy:
    """``super()`` in a method of ``owner``, for an object that the source function made."""

    owner: type
    ref: HeapRef


@dataclass(frozen=True)
class DetachedContainer:
    """A list or dict with its contents, outside the heap. Branches and loops carry a container in
    this form, if a single variable holds it."""

    kind: str
    contents: Any


@dataclass(frozen=True)
class PendingRuntimeList:
    """The known items of a list that is about to become a run-time list: one leaf."""

    items: tuple[Any, ...]


@dataclass(frozen=True)
class Unset:
    """A variable that is not set on every path to this point; reading it is a problem."""

    cause: str
    cure: str


#: Classes of leaves: the components of a compile-time value that may differ from path to path.
LEAVES = (Value, *NUMBERS, PendingRuntimeList)


@dataclass(frozen=True)
class MaybeUnset:
    """A variable that is set on some paths to this point and has ``value`` there.

    Its leaves are undefined on the other paths. For a value without leaves (a string, a function)
    the run-time bool ``flag`` is true where the variable is set.
    """

    value: Any
    unset: Unset
    flag: Any = None


@dataclass(frozen=True)
class MaybeNone:
    """A variable that is None, with all its leaves, on some paths to this point, else ``value``."""

    value: Any


@dataclass(frozen=True)
class Poison:
    """The outcome of an expression with a reported problem. Its uses are not reported again."""


@dataclass(eq=False)
class Frame:
    """A call of a source function that is being lowered."""

    source: Any
    function: Any
    #: The frame around an inner function.
    outer: Frame | None = None
    #: The variables while the frame waits for a call to end.
    names: dict[str, Any] = field(default_factory=dict)
    tree: Any = None
    #: The number of branches and loops that were open when it began to wait.
    depth: int = 0
    #: The variables that a rolled loop may have set when its body begins.
    may_be_set: frozenset[str] = frozenset()
    #: The active handlers, by their clauses.
    handlers: dict[Any, Any] = field(default_factory=dict)
    #: True if the source function has been lowered to its end.
    ended: bool = False

    @property
    def function_tree(self) -> Any:
        """The tree of the function. A comprehension has that of the function around it."""
        return self.outer.function_tree if self.tree is None and self.outer else self.tree

    @property
    def title(self) -> str:
        """Python's name of the function."""
        return str(getattr(self.function_tree, "name", "<lambda>"))


@dataclass(frozen=True, eq=False)
class Closure:
    """A lambda or inner function, and the frame whose variables it sees."""

    tree: Any
    frame: Frame
    defaults: tuple[Any, ...] = ()
    name: str = "<lambda>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # Library code may ask if a closure is callable.
        raise TypeError(f"'{self.name}' can be called in compiled code only")


@dataclass(frozen=True, eq=False)
class TensorMethod:
    """A method of a tensor: ``x.sum``. In plain NumPy code it has its name, too."""

    value: Value
    function: Callable[..., Any]
    name: str = ""


@dataclass(frozen=True, eq=False)
class CallableChoice:
    """A choice of two functions or Cells by a run-time test."""

    test: Any
    left: Any
    right: Any


@dataclass(frozen=True, eq=False)
class InPlaceTensorMethod:
    """A method that changes a tensor: ``x.add_``. Its new value is ``function(value, …)``."""

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
    """A derivative rule that becomes a function of its own: its source, the names of its
    parameters, and the function that lowers it."""

    function: Any
    names: tuple[str, ...]
    lower: Callable[[Any, Sequence[Any]], Any]


@dataclass(frozen=True)
class DictView:
    """A dict view: ``keys()``, ``values()`` or ``items()`` (``kind``) of a dict of the heap."""

    kind: str
    ref: HeapRef


@dataclass(frozen=True)
class ObjectDict:
    """The ``__dict__`` of an object that the source function made."""

    ref: HeapRef


@dataclass(frozen=True)
class IteratorPosition:
    """The position of an iterator in a list of the heap or an array, and its step. In a dict or
    view it comes with the ``keys`` at the start."""

    source: HeapRef | DictView | Value
    at: int = 0
    step: int = 1
    keys: tuple[Any, ...] | None = None


@dataclass(frozen=True, eq=False)
class LazyIterable:
    """An iterable that computes its items: ``enumerate``, ``map``, a generator expression …

    ``sources`` are the iterables that it reads. They are iterators as soon as it is started.
    ``start`` is the first number of ``enumerate``, the contents of a list in ``reversed``, or a
    fill value. ``function`` is applied to each item.
    """

    kind: str
    sources: tuple[Any, ...]
    start: Any = 0
    function: Any = None


@dataclass(frozen=True)
class Checkpointed:
    """An iterable whose loop saves states as ``checkpoint`` says; see ``Loop``."""

    iterable: Any
    checkpoint: tuple[str, int]


@dataclass(frozen=True)
class RuntimeRange:
    """``range`` with a bound that is known only at run time."""

    start: AnyOperand
    stop: AnyOperand
    step: AnyOperand


#: Classes of compile-time values whose fields are compile-time values.
COMPOUND_VALUES = (
    IteratorPosition,
    TensorMethod,
    Checkpointed,
    Closure,
    CallableChoice,
    DetachedContainer,
    InPlaceTensorMethod,
    LazyIterable,
    MaybeUnset,
    ObjectDict,
    Partial,
    MaybeNone,
    RuntimeRange,
    DictView,
)


def components(value: Any) -> list[Any]:
    """Returns the components of a compile-time value, one level deep."""
    parts: list[Any] = []

    def look(part: Any) -> Any:
        parts.append(part)
        return part

    map_components(value, look)
    return parts


def map_components(value: Any, change: Callable[[Any], Any]) -> Any:
    """Returns ``value`` with each component changed, one level deep; itself if none of them is."""
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
    """Returns a tuple of these items; a named tuple if ``like`` is one."""
    return type(like)(*items) if hasattr(like, "_fields") else tuple(items)


class UsesPoison(Exception):
    """A statement used a poisoned value and is dropped without a report."""


class NeedsKnownValue(Exception):
    """A number is needed at compile time but is known only at run time."""

    def __init__(self, value: Value, span: Span, purpose: str):
        super().__init__(purpose)
        self.value, self.span, self.purpose = value, span, purpose
        self.callers: tuple[Caller, ...] = ()

    def refusal(self, cause: str, cure: str) -> DTypeError:
        """Returns the error for a number that nothing makes known."""
        return DTypeError(problems=[Problem(DTypeError, cause, cure, self.span, self.callers)])


class LoopNotRollable(Exception):
    """A loop's body changes a variable so that it cannot be carried.

    The error has a cause and a cure, or the ``problems`` of the statements in the body.
    """

    cure = "assign each variable the same type and structure before the loop and in every iteration"

    def __init__(self, cause: str = "", problems: Sequence[Problem] = (), cure: str = ""):
        super().__init__(cause)
        self.problems, self.cure = tuple(problems), cure or self.cure


class LoopSourceChanges(LoopNotRollable):
    """A loop's body changes the list that the loop iterates over."""


class Heap(dict[HeapRef, Any]):
    """The contents of lists and dicts. Reading a lost or poisoned one is a problem."""

    def __getitem__(self, ref: HeapRef) -> Any:
        contents = super().__getitem__(ref)
        if isinstance(contents, Unset):
            raise DTypeError(contents.cause, contents.cure)
        if isinstance(contents, Poison):
            raise UsesPoison
        return contents


@dataclass
class State:
    """The variables and the heap at one point of the source function."""

    names: dict[str, Any] = field(default_factory=dict)
    heap: Heap = field(default_factory=Heap)

    def fork(self) -> State:
        return State(dict(self.names), Heap(self.heap))

    def become(self, other: State) -> None:
        self.names, self.heap = other.names, other.heap


def is_same(left: Any, right: Any) -> bool:
    """True if two compile-time values are certainly one and the same."""
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
    """Yields the values and numbers in a compile-time value, left to right."""
    if isinstance(value, LEAVES):
        leaf: Any = value  # a PendingRuntimeList is an operand as soon as it is cast
        yield leaf
    elif isinstance(value, DetachedContainer):
        yield from leaves(value.contents)
    elif isinstance(value, MaybeNone):
        yield from leaves(value.value)
    elif isinstance(value, (tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from leaves(item)


def holds_values(value: Any) -> bool:
    """True if a leaf of a compile-time value is known only at run time."""
    return any(isinstance(leaf, Value) for leaf in leaves(value))


def rebuild(value: Any, new: Iterator[Any]) -> Any:
    """Returns ``value`` with its leaves replaced in order."""
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
    """True if two compile-time values differ only in their leaves."""
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


#: The kind of heap objects that are objects of the user's classes.
OBJECT = "object"
#: The kind of the heap object that is the ``ctx`` of a Function.
CONTEXT = "context"
