"""Lists of run-time length: what becomes of a list of the heap that grows in a rolled loop.

Such a list is a cell of the heap like others, so that its names and holders have Python's meaning;
but its contents are one IR value, and what reads or changes it is an operation. A list whose items
are known becomes one when it meets one, or when it is asked for an item by a run-time position.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from autodiff_compiler.errors import DTypeError, UnsupportedSyntax
from autodiff_compiler.frontend.abstract.join import cast_item_to, cast_to, join_types, list_type
from autodiff_compiler.frontend.abstract.outcomes import is_caught
from autodiff_compiler.frontend.abstract.packing import make_container
from autodiff_compiler.frontend.abstract.values import HeapRef, PendingRuntimeList, leaves
from autodiff_compiler.ir.builder import Unreached
from autodiff_compiler.ir.nodes import AnyOperand, Region, Value, type_of
from autodiff_compiler.ir.types import (
    INT,
    UNDEFINED,
    ArrayType,
    ListType,
    ScalarType,
    TupleType,
    Type,
    join,
)
from autodiff_compiler.operators.core import containers, effects, scalar_conversion
from autodiff_compiler.operators.core.structure import full
from autodiff_compiler.operators.elementwise import comparisons
from autodiff_compiler.operators.lists import runtime_lists

#: The methods that change the length of a list.
RESIZING_METHODS = ("append", "extend", "insert", "pop", "remove", "clear")


def is_runtime_list(contents: Any) -> bool:
    """Whether these contents of a list are known at run time only."""
    return isinstance(contents, Value) and isinstance(contents.type, ListType)


def as_runtime_list(low: Any, contents: Any) -> Value | None:
    """The contents of a list, or a tuple, as one run-time list; None if the items differ in kind
    or are no values."""
    if is_runtime_list(contents):
        found: Value = contents
        return found
    items = tuple(contents)
    type_ = list_type(items)
    if type_ is None:
        return None
    return new_runtime_list(low, cast_to(PendingRuntimeList(items), type_), items)


def read_item(low: Any, owner: Value, at: Any, sure: bool = False) -> Any:
    """``owner[at]`` for a run-time list; ``sure`` where it is known that this is there."""
    if runtime_lists.item_of(owner.type) == UNDEFINED:  # nothing was ever put into it
        low.builder.make(effects.fail, ("list index out of range",), {"error": "IndexError"})
        raise Unreached
    at = as_index(low, at)
    with checking_index(low, owner, at, "list index out of range"):
        found = containers.list_item(owner, at)
        if not sure:
            require_item(low, found)
        return item_as_value(low, found, owner)


def require_item(low: Any, found: Any) -> None:
    """What is read or set at a place must be there, though nobody uses what this gives."""
    if not is_caught(low, IndexError):  # else that was tested
        low.builder.make(effects.demand, (found,), {})


def checking_index(low: Any, owner: Value, at: Any, text: str) -> Any:
    """Inside, an item at this place is read or set, which fails if there is none."""
    return low.may_raise(IndexError, lambda: is_out_of_range(owner, at), lambda: text)


def is_out_of_range(owner: Value, at: Any) -> Any:
    """Whether a list has no item at this place."""
    length = containers.list_length(owner)
    if not isinstance(at, Value):
        return comparisons.less_equal(length, at) if at >= 0 else comparisons.less(length, -at)
    return comparisons.logical_or(
        comparisons.less_equal(length, at), comparisons.less(at + length, 0)
    )


def item_as_value(low: Any, found: Any, owner: Value) -> Any:
    """An item as a compile-time value; its tensors may be any of the list's."""
    if isinstance(found.type, TupleType):
        found = low.unpacked(found)
    if not isinstance(owner.type, ListType) and not low.compilation.numpy:
        return found
    for leaf in leaves(found):
        low.compilation.aliases.set_aliases(leaf, low.compilation.aliases.of(owner))
        low.compilation.aliases.set_is_array(
            leaf, None if isinstance(owner.type, ListType) else False
        )
    if isinstance(found, Value) and isinstance(found.type, ListType):
        return low.allocate("list", found)
    return found


def as_index(low: Any, at: Any) -> Any:
    """A place in a list: an int, also out of a tensor of one element."""
    is_array = isinstance(at, Value) and isinstance(at.type, ArrayType)
    if is_array and "float" not in (at.dtype_name or ""):
        return scalar_conversion.to_number(at, kind="int")
    if isinstance(at, Value) and at.type != INT or not isinstance(at, (Value, int)):
        raise low.fail(DTypeError, f"a {low.described(at)} cannot be an index into a list")
    return at


def slice_of(low: Any, owner: Value, key: slice) -> Value:
    """``owner[start:stop:step]``."""
    ends = [None if end is None else as_index(low, end)
            for end in (key.start, key.stop, key.step)]  # fmt: skip
    return new_runtime_list(low, runtime_lists.list_slice(owner, *ends), owner)


def reversed_list(low: Any, owner: Value) -> Value:
    """The items from the last to the first."""
    return slice_of(low, owner, slice(None, None, -1))


def set_item(low: Any, owner: Value, at: Any, value: Any) -> Value:
    """The list after ``owner[at] = value``."""
    owner, packed = _conform_item(low, owner, value)
    at = as_index(low, at)
    with checking_index(low, owner, at, "list assignment index out of range"):
        new = runtime_lists.list_set(owner, packed, at)
        require_item(low, new)
        return new_runtime_list(low, new, owner, value)


def concatenate(low: Any, left: Any, right: Any) -> Value | None:
    """``left + right``, one of which is a run-time list; None where the kinds differ."""
    if isinstance(right, tuple) and len(right) == 1 and list_type(right) is not None:
        return append(low, left, right[0])
    sides = [as_runtime_list(low, side) for side in (left, right)]
    if None in sides:
        return None
    a, b = sides
    if runtime_lists.item_of(a.type) == UNDEFINED:  # type: ignore[union-attr]
        return b
    if join(a.type, b.type) is None:  # type: ignore[union-attr]
        return None
    return new_runtime_list(low, runtime_lists.list_join(a, b), a, b)


def repeat(low: Any, contents: Any, count: Any) -> Value | None:
    """``contents * count``."""
    made = as_runtime_list(low, contents)
    if made is None:
        return None
    return new_runtime_list(low, runtime_lists.list_repeat(made, as_index(low, count)), made)


def new_runtime_list(low: Any, made: Any, *holders: Any) -> Value:
    """A new list, which may hold the tensors of ``holders``."""
    memory = low.compilation.aliases
    memory.set_aliases(made, memory.of(tuple(holders)))
    return made


def _item_value(low: Any, owner: Value, value: Any) -> Any:
    """``value`` as an item of ``owner``."""
    type_ = list_type((value,))
    if type_ is None:
        raise low.fail(
            DTypeError,
            f"a {low.described(value)} cannot be an item of a list whose length is known "
            "only when the function runs",
            "store tensors, numbers, or tuples of these in the list",
        )
    return low.packed(value)


def _conform_item(low: Any, owner: Value, value: Any) -> tuple[Value, Any]:
    """The list and a value that it gets, where one may have numbers for the other's arrays."""
    packed = _item_value(low, owner, value)
    have, new = runtime_lists.item_of(owner.type), type_of(packed)
    both = join_types(have, new)
    if both is None:
        raise low.fail(
            DTypeError,
            f"a {low.described(value)} cannot be an item of a list of {have} whose length "
            "is known only when the function runs",
            "store items of one type in the list",
        )
    if join(have, new) is not None:
        return owner, packed
    if have != both:
        owner = new_runtime_list(low, runtime_lists.list_as(owner, type=str(both)), owner)
    return owner, packed if new == both else cast_item_to(value, both)


def append(low: Any, owner: Value, value: Any) -> Value:
    """The list after ``owner.append(value)``."""
    owner, packed = _conform_item(low, owner, value)
    return new_runtime_list(low, runtime_lists.list_append(owner, packed), owner, value)


def call_method(low: Any, ref: HeapRef, name: str, args: Sequence[Any]) -> Any:
    """A method of a list of run-time length, which goes on under its name."""
    owner = low.state.heap[ref]
    found = _changed_by_method(low, ref, owner, name, args)
    changed = low.state.heap[ref]
    if changed is not owner and isinstance(changed, Value) and not changed.has_user_name:
        changed.name, changed.has_user_name = owner.name, owner.has_user_name
    return found


def _changed_by_method(low: Any, ref: HeapRef, owner: Value, name: str, args: Sequence[Any]) -> Any:
    heap = low.state.heap
    if name == "append" and len(args) == 1:
        heap[ref] = append(low, owner, args[0])
        return None
    if name == "extend" and len(args) == 1:
        source = args[0]
        contents = heap[source] if isinstance(source, HeapRef) else source
        if not is_runtime_list(contents):
            contents = tuple(low.sequence(source))
        heap[ref] = require_one_type(low, concatenate(low, owner, contents))
        return None
    if name == "pop" and len(args) <= 1:
        return _pop(low, ref, owner, args[0] if args else -1)
    if name == "insert" and len(args) == 2:
        head, tail = (slice_of(low, owner, cut) for cut in (slice(args[0]), slice(args[0], None)))
        heap[ref] = concatenate(low, append(low, head, args[1]), tail)
        return None
    if name == "reverse" and not args:
        heap[ref] = reversed_list(low, owner)
        return None
    if name == "clear" and not args:
        heap[ref] = ()
        return None
    if name == "copy" and not args:
        return low.allocate("list", owner)
    raise low.fail(
        UnsupportedSyntax,
        f"the list method '{name}' is not supported for a list whose length is known only "
        "when the function runs",
        "use indexing and append instead",
    )


def _pop(low: Any, ref: HeapRef, owner: Value, at: Any) -> Any:
    at = as_index(low, at)
    with ExitStack() as tested:
        for place, text in _pop_conditions(at):
            tested.enter_context(checking_index(low, owner, place, text))
        found = item_as_value(low, containers.list_item(owner, at), owner)
    if isinstance(at, int) and at == -1:
        rest = new_runtime_list(low, runtime_lists.list_head(owner), owner)
    else:
        rest = without_item(low, owner, at)
    low.state.heap[ref] = rest
    return found


def _pop_conditions(at: Any) -> tuple[tuple[Any, str], ...]:
    """The places that must be there for an item to be popped, and what is said if they are not."""
    some = (-1, "pop from empty list")
    return (some,) if isinstance(at, int) and at == -1 else (some, (at, "pop index out of range"))


def delete_item(low: Any, owner: Value, at: Any) -> Value:
    """The list after ``del owner[at]``; forward raises where there is no such item."""
    at = as_index(low, at)
    text = "list assignment index out of range"
    with checking_index(low, owner, at, text):
        _raise_if_out_of_range(low, owner, at, text)
    return without_item(low, owner, at)


def require_popped_item(low: Any, found: Any) -> None:
    """Of an item that a statement pops, and nothing uses: forward raises all the same where there
    is no such item."""
    if is_caught(low, IndexError):
        return  # tested where it was popped
    maker = next((low.builder.producer(leaf) for leaf in leaves(found)), None)
    while maker is not None and maker.opdef is containers.item:
        maker = low.builder.producer(maker.operands[0])
    if maker is not None and maker.opdef is containers.list_item:
        owner, at = maker.operands
        for place, text in _pop_conditions(at):
            _raise_if_out_of_range(low, owner, place, text)


def _raise_if_out_of_range(low: Any, owner: Value, at: Any, text: str) -> None:
    """Forward raises where a list has no item at this place."""
    with low.builder.block() as ops:
        low.builder.make(effects.fail, (text,), {"error": "IndexError"})
    low.builder.branch(is_out_of_range(owner, at), Region((), tuple(ops), ()), Region((), (), ()))


def without_item(low: Any, owner: Value, at: Any) -> Value:
    """The list without the item at this place, which is there."""
    if isinstance(at, Value) or at < 0:
        at = at % containers.list_length(owner)
    tail = slice_of(low, owner, slice(at + 1, None))
    return require_one_type(low, concatenate(low, slice_of(low, owner, slice(at)), tail))


def require_one_type(low: Any, made: Value | None) -> Value:
    if made is None:
        raise low.fail(
            DTypeError,
            "the items of these lists have different types",
            "store items of one type in a list whose length is known only when the function runs",
        )
    return made


def unpack_exactly(low: Any, owner: Value, count: int) -> list[Any]:
    """The items of a list that must be ``count``; forward raises where they are not."""
    test = comparisons.not_equal(containers.list_length(owner), count)
    with low.builder.block() as ops:
        message = f"{count} names are assigned from a list of another length"
        low.builder.make(effects.fail, (message,), {"error": "ValueError"})
    low.builder.branch(test, Region((), tuple(ops), ()), Region((), (), ()))
    return [read_item(low, owner, at, sure=True) for at in range(count)]


def unpack_starred(low: Any, owner: Value, head: int, tail: int) -> list[Any]:
    """The first and the last items of a list, and between them the list of the others."""
    test = comparisons.less(containers.list_length(owner), head + tail)
    with low.builder.block() as ops:
        message = f"at least {head + tail} names are assigned from a shorter list"
        low.builder.make(effects.fail, (message,), {"error": "ValueError"})
    low.builder.branch(test, Region((), tuple(ops), ()), Region((), (), ()))
    middle = low.allocate("list", slice_of(low, owner, slice(head, -tail or None)))
    ends = [read_item(low, owner, at, sure=True) for at in (*range(head), *range(-tail, 0))]
    return [*ends[:head], middle, *ends[head:]]


def sum_of_items(low: Any, owner: Value, start: Any) -> Any:
    """``sum(owner, start)``, None where items may differ in shape."""
    type_ = runtime_lists.item_of(owner.type)
    if isinstance(type_, TupleType) or isinstance(type_, ArrayType) and not type_.is_static:
        return None
    found = runtime_lists.list_sum(owner)
    return found if isinstance(start, int) and start == 0 else low.binary("Add", found, start)


def check_zip_lengths(low: Any, sources: Sequence[Any], known: bool) -> None:
    """Refuse ``zip(strict=True)`` of what is of different lengths, or of lengths that are not
    ``known`` at compile time."""
    with low.builder.block():  # what it computes is thrown away
        walks = [low.handlers.iteration_space(low, source) for source in sources] if known else []
    sizes = [len(walk) if isinstance(walk, list) else walk.size for walk in walks]
    alike = all(getattr(walk, "bounds", None) == walks[0].bounds for walk in walks
                if hasattr(walks[0], "bounds"))  # fmt: skip
    if not known or None in sizes and not alike:
        raise low.fail(
            DTypeError,
            "zip(strict=True) needs lengths that are known at compile time",
            "omit strict=True, and compare the lengths before the zip",
        )
    for place, size in enumerate(sizes):
        if size != sizes[0]:
            word = "shorter" if size < sizes[0] else "longer"
            cause = f"zip() argument {place + 1} is {word} than argument 1"
            cure = "give iterables of the same length, or omit strict=True"
            raise low.fail(DTypeError, cause, cure).meaning(ValueError(cause))


def conform_sensitivity(low: Any, sens: Any, type_: Type) -> Any:
    """A sensitivity as an operand: a list where the output is one of run-time length, an array
    where it is one without axes."""
    if isinstance(type_, ListType):
        long = as_runtime_list(low, low.state.heap[sens] if isinstance(sens, HeapRef) else sens)
        return low.packed(sens) if long is None else long
    if isinstance(type_, TupleType) and isinstance(sens, tuple) and len(sens) == len(type_.items):
        return make_container([conform_sensitivity(low, *pair) for pair in zip(sens, type_.items)])
    given = low.packed(sens)
    if (
        isinstance(type_, ArrayType)
        and type_.shape == ()
        and isinstance(type_of(given), ScalarType)
    ):
        return full(shape=(), dtype=type_.dtype, value=1) * given
    return given


def length_of(low: Any, value: Value) -> AnyOperand:
    """How many items a run-time value has."""
    if isinstance(value.type, ListType):
        return containers.list_length(value)
    shape = low.shape(value)
    if isinstance(shape, Value):
        return scalar_conversion.shape_item(shape, at=0)
    if not shape:
        raise low.fail(DTypeError, "iteration over a 0-d tensor", "use x.reshape(1)")
    return shape[0]
