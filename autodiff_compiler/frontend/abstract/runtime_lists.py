"""Run-time lists: lists whose length is known only when the function runs.

A list that grows in a rolled loop is one. It is a heap object like other lists, so that aliases see
its changes. Its contents are one IR value, and reads and changes are operations. A list of known
items becomes a run-time list when it meets one at a join. Indexing it by a run-time position does
the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from autodiff_compiler.errors import DTypeError, ShapeError, UnsupportedSyntax
from autodiff_compiler.frontend.abstract.evaluator import Evaluator
from autodiff_compiler.frontend.abstract.join import cast_item_to, cast_to, join_types, list_type
from autodiff_compiler.frontend.abstract.outcomes import is_caught
from autodiff_compiler.frontend.abstract.packing import make_container
from autodiff_compiler.frontend.abstract.values import HeapRef, PendingRuntimeList, leaves
from autodiff_compiler.ir.builder import Unreached
from autodiff_compiler.ir.nodes import AnyOperand, Region, Value, expect_value, type_of
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
from autodiff_compiler.operators.core.declare import broadcast_shapes
from autodiff_compiler.operators.core.structure import full
from autodiff_compiler.operators.elementwise import comparisons
from autodiff_compiler.operators.lists import runtime_lists

#: The methods that change the length of a list.
RESIZING_METHODS = ("append", "extend", "insert", "pop", "remove", "clear")


def is_runtime_list(contents: Any) -> bool:
    """True if these contents of a list are known only at run time."""
    return isinstance(contents, Value) and isinstance(contents.type, ListType)


def as_runtime_list(low: Evaluator, contents: Any) -> Value | None:
    """Returns the contents of a list, or a tuple, as one run-time list.

    Returns None if the items differ in kind or are no values.
    """
    if is_runtime_list(contents):
        packed: Value = contents
        return packed
    items = tuple(contents)
    type_ = list_type(items)
    if type_ is None:
        return None
    return new_runtime_list(low, expect_value(cast_to(PendingRuntimeList(items), type_)), items)


def read_item(low: Evaluator, owner: Value, at: Any, sure: bool = False) -> Any:
    """Returns ``owner[at]`` for a run-time list. ``sure``: the item is known to exist."""
    if runtime_lists.item_of(owner.type) == UNDEFINED:  # it never got an item
        low.builder.make(effects.raise_error, ("list index out of range",), {"error": "IndexError"})
        raise Unreached
    at = as_index(low, at)
    with checking_index(low, owner, at, "list index out of range"):
        item = containers.list_item(owner, at)
        if not sure:
            require_item(low, item)
        return item_as_value(low, item, owner)


def require_item(low: Evaluator, item: Any) -> None:
    """Makes the function raise where this item does not exist, even if its value is unused."""
    if not is_caught(low.catching, IndexError):  # else it was tested
        low.builder.make(effects.require, (item,), {})


def checking_index(
    low: Evaluator, owner: Value, at: Any, text: str
) -> AbstractContextManager[None]:
    """Enters a block that reads or sets the item at this position, and fails if there is none."""
    return low.may_raise(IndexError, lambda: is_out_of_range(owner, at), lambda: text)


def is_out_of_range(owner: Value, at: Any) -> Any:
    """Returns the run-time test that is true if a list has no item at this position."""
    length = containers.list_length(owner)
    if not isinstance(at, Value):
        return comparisons.less_equal(length, at) if at >= 0 else comparisons.less(length, -at)
    return comparisons.logical_or(
        comparisons.less_equal(length, at), comparisons.less(at + length, 0)
    )


def item_as_value(low: Evaluator, item: Any, owner: Value) -> Any:
    """Returns an item as a compile-time value. Its tensors may be any of the list's.

    ``owner`` is the array before the loop. A row may be read by its position: it lies in the array
    of the iteration.
    """
    if isinstance(item.type, TupleType):
        item = low.unpacked(item)
    if not isinstance(owner.type, ListType) and not low.compilation.numpy:
        return item
    aliases = low.compilation.aliases
    for leaf in leaves(item):
        aliases.set_aliases(leaf, aliases.of(owner) | aliases.of(leaf))
        aliases.set_is_array(leaf, None if isinstance(owner.type, ListType) else False)
    if isinstance(item, Value) and isinstance(item.type, ListType):
        return low.allocate("list", item)
    return item


def as_index(low: Evaluator, at: Any) -> Any:
    """Returns a position in a list as an int, also from a tensor of one element."""
    is_array = isinstance(at, Value) and isinstance(at.type, ArrayType)
    if is_array and "float" not in (at.dtype_name or ""):
        return scalar_conversion.to_number(at, kind="int")
    if isinstance(at, Value) and at.type != INT or not isinstance(at, (Value, int)):
        raise low.fail(DTypeError, f"a {low.described(at)} cannot be an index into a list")
    return at


def slice_of(low: Evaluator, owner: Value, key: slice) -> Value:
    """Returns ``owner[start:stop:step]``."""
    ends = [None if end is None else as_index(low, end) for end in (key.start, key.stop, key.step)]
    return new_runtime_list(low, runtime_lists.list_slice(owner, *ends), owner)


def reversed_list(low: Evaluator, owner: Value) -> Value:
    """Returns the list of the items from the last to the first."""
    return slice_of(low, owner, slice(None, None, -1))


def set_item(low: Evaluator, owner: Value, at: Any, value: Any) -> Value:
    """Returns the list after ``owner[at] = value``."""
    owner, packed = _conform_item(low, owner, value)
    at = as_index(low, at)
    with checking_index(low, owner, at, "list assignment index out of range"):
        new = runtime_lists.list_set(owner, packed, at)
        require_item(low, new)
        return new_runtime_list(low, new, owner, value)


def concatenate(low: Evaluator, left: Any, right: Any) -> Value | None:
    """Returns ``left + right``, one of which is a run-time list; None if the kinds differ."""
    if isinstance(right, tuple) and len(right) == 1 and list_type(right) is not None:
        return append(low, left, right[0])
    a, b = (as_runtime_list(low, side) for side in (left, right))
    if a is None or b is None:
        return None
    if runtime_lists.item_of(a.type) == UNDEFINED:
        return b
    if join(a.type, b.type) is None:
        return None
    return new_runtime_list(low, runtime_lists.list_join(a, b), a, b)


def repeat(low: Evaluator, contents: Any, count: Any) -> Value | None:
    """Returns ``contents * count``, or None if the items differ in kind."""
    items = as_runtime_list(low, contents)
    if items is None:
        return None
    return new_runtime_list(low, runtime_lists.list_repeat(items, as_index(low, count)), items)


def new_runtime_list(low: Evaluator, new: Value, *holders: Any) -> Value:
    """Records that a new list may hold the tensors of ``holders``, and returns it."""
    memory = low.compilation.aliases
    memory.set_aliases(new, memory.of(tuple(holders)))
    return new


def _item_value(low: Evaluator, owner: Value, value: Any) -> Any:
    """Returns ``value`` as an item of ``owner``."""
    if list_type((value,)) is None:
        raise low.fail(
            DTypeError,
            f"a {low.described(value)} cannot be an item of a list whose length is known "
            "only when the function runs",
            "store tensors, numbers, or tuples of these in the list",
        )
    return low.packed(value)


def _conform_item(low: Evaluator, owner: Value, value: Any) -> tuple[Value, Any]:
    """Returns the list and a value for it in one type. Numbers become arrays where the other has
    arrays."""
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


def append(low: Evaluator, owner: Value, value: Any) -> Value:
    """Returns the list after ``owner.append(value)``."""
    owner, packed = _conform_item(low, owner, value)
    return new_runtime_list(low, runtime_lists.list_append(owner, packed), owner, value)


def call_method(low: Evaluator, ref: HeapRef, name: str, args: Sequence[Any]) -> Any:
    """Calls a method of a run-time list. The changed list keeps the name of its variable."""
    owner = low.state.heap[ref]
    outcome = _method(low, name, args)(low, ref, owner, *args)
    changed = low.state.heap[ref]
    if changed is not owner and isinstance(changed, Value) and not changed.has_user_name:
        changed.name, changed.has_user_name = owner.name, owner.has_user_name
    return outcome


def _method(low: Evaluator, name: str, args: Sequence[Any]) -> Callable[..., Any]:
    """Returns the implementation of a method for so many arguments."""
    counts, method = METHODS.get(name, ((), None))
    if method is None or len(args) not in counts:
        raise low.fail(
            UnsupportedSyntax,
            f"the list method '{name}' is not supported for a list whose length is known only "
            "when the function runs",
            "use indexing and append instead",
        )
    return method


def _append(low: Evaluator, ref: HeapRef, owner: Value, item: Any) -> None:
    low.state.heap[ref] = append(low, owner, item)


def _extend(low: Evaluator, ref: HeapRef, owner: Value, source: Any) -> None:
    contents = low.state.heap[source] if isinstance(source, HeapRef) else source
    if not is_runtime_list(contents):
        contents = tuple(low.sequence(source))
    low.state.heap[ref] = require_one_type(low, concatenate(low, owner, contents))


def _insert(low: Evaluator, ref: HeapRef, owner: Value, at: Any, item: Any) -> None:
    head, tail = (slice_of(low, owner, cut) for cut in (slice(at), slice(at, None)))
    low.state.heap[ref] = concatenate(low, append(low, head, item), tail)


def _reverse(low: Evaluator, ref: HeapRef, owner: Value) -> None:
    low.state.heap[ref] = reversed_list(low, owner)


def _clear(low: Evaluator, ref: HeapRef, owner: Value) -> None:
    low.state.heap[ref] = ()


def _copy(low: Evaluator, ref: HeapRef, owner: Value) -> HeapRef:
    return low.allocate("list", owner)


def _pop(low: Evaluator, ref: HeapRef, owner: Value, at: Any = -1) -> Any:
    at = as_index(low, at)
    with ExitStack() as checks:
        for position, text in _pop_conditions(at):
            checks.enter_context(checking_index(low, owner, position, text))
        item = item_as_value(low, containers.list_item(owner, at), owner)
    if isinstance(at, int) and at == -1:
        rest = new_runtime_list(low, runtime_lists.list_head(owner), owner)
    else:
        rest = without_item(low, owner, at)
    low.state.heap[ref] = rest
    return item


#: The methods of a run-time list: the numbers of arguments that each takes, and what it does.
METHODS: Mapping[str, tuple[tuple[int, ...], Callable[..., Any]]] = {
    "append": ((1,), _append),
    "extend": ((1,), _extend),
    "insert": ((2,), _insert),
    "pop": ((0, 1), _pop),
    "reverse": ((0,), _reverse),
    "clear": ((0,), _clear),
    "copy": ((0,), _copy),
}


def _pop_conditions(at: Any) -> tuple[tuple[Any, str], ...]:
    """Returns the positions that must exist for a ``pop``, each with the message if it does not."""
    some = (-1, "pop from empty list")
    return (some,) if isinstance(at, int) and at == -1 else (some, (at, "pop index out of range"))


def delete_item(low: Evaluator, owner: Value, at: Any) -> Value:
    """Returns the list after ``del owner[at]``. The function raises if there is no such item."""
    at = as_index(low, at)
    text = "list assignment index out of range"
    with checking_index(low, owner, at, text):
        _raise_if_out_of_range(low, owner, at, text)
    return without_item(low, owner, at)


def require_popped_item(low: Evaluator, item: Any) -> None:
    """Makes the function raise if a popped item does not exist, though nothing uses the item."""
    if is_caught(low.catching, IndexError):
        return  # ``pop`` tested it
    maker = next((low.builder.producer(leaf) for leaf in leaves(item)), None)
    while maker is not None and maker.opdef is containers.item:
        maker = low.builder.producer(maker.operands[0])
    if maker is not None and maker.opdef is containers.list_item:
        owner, at = maker.value_operand(0), maker.operands[1]
        for position, text in _pop_conditions(at):
            _raise_if_out_of_range(low, owner, position, text)


def _raise_if_out_of_range(low: Evaluator, owner: Value, at: Any, text: str) -> None:
    """Makes the function raise if a list has no item at this position."""
    with low.builder.block() as ops:
        low.builder.make(effects.raise_error, (text,), {"error": "IndexError"})
    low.builder.branch(is_out_of_range(owner, at), Region((), tuple(ops), ()), Region((), (), ()))


def without_item(low: Evaluator, owner: Value, at: Any) -> Value:
    """Returns the list without the item at this position, which exists."""
    if isinstance(at, Value) or at < 0:
        at = at % containers.list_length(owner)
    tail = slice_of(low, owner, slice(at + 1, None))
    return require_one_type(low, concatenate(low, slice_of(low, owner, slice(at)), tail))


def require_one_type(low: Evaluator, joined: Value | None) -> Value:
    """Returns the outcome of ``concatenate``. Refuses lists whose items differ in type."""
    if joined is None:
        raise low.fail(
            DTypeError,
            "the items of these lists have different types",
            "store items of one type in a list whose length is known only when the function runs",
        )
    return joined


def unpack_exactly(low: Evaluator, owner: Value, count: int) -> list[Any]:
    """Returns the items of a list that has ``count`` of them. Another number raises at run time."""
    wrong = comparisons.not_equal(containers.list_length(owner), count)
    raise_value_error_if(low, wrong, f"{count} names are assigned from a list of another length")
    return [read_item(low, owner, at, sure=True) for at in range(count)]


def raise_value_error_if(low: Evaluator, test: Any, message: str) -> None:
    """Makes the function raise a ValueError where the run-time test is true."""
    with low.builder.block() as ops:
        low.builder.make(effects.raise_error, (message,), {"error": "ValueError"})
    low.builder.branch(test, Region((), tuple(ops), ()), Region((), (), ()))


def unpack_starred(low: Evaluator, owner: Value, head: int, tail: int) -> list[Any]:
    """Returns the first and the last items of a list, and between them the list of the others."""
    short = comparisons.less(containers.list_length(owner), head + tail)
    message = f"at least {head + tail} names are assigned from a shorter list"
    raise_value_error_if(low, short, message)
    middle = low.allocate("list", slice_of(low, owner, slice(head, -tail or None)))
    ends = [read_item(low, owner, at, sure=True) for at in (*range(head), *range(-tail, 0))]
    return [*ends[:head], middle, *ends[head:]]


def sum_of_items(low: Evaluator, owner: Value, start: Any) -> Any:
    """Returns ``sum(owner, start)``, or None if items may differ in shape.

    A start of the shape of the items is the sum of an empty list. Without one, the pass
    ``resolve_empty_sums`` decides.
    """
    type_ = runtime_lists.item_of(owner.type)
    if isinstance(type_, TupleType) or isinstance(type_, ArrayType) and not type_.is_static:
        return None
    wanted = runtime_lists.sum_type(type_)
    if not isinstance(wanted, ArrayType) or runtime_lists.is_nonempty(owner):
        total = runtime_lists.list_sum(owner, may_be_empty=False)
    elif type_of(start) == wanted:
        return runtime_lists.list_sum_from(owner, start)
    elif not wanted.shape or _broadcasts_to(wanted, type_of(start)):
        zeros = full(shape=wanted.shape, dtype=wanted.dtype, value=0)
        total = runtime_lists.list_sum_from(owner, zeros)
    else:
        total = runtime_lists.list_sum(owner, may_be_empty=True)
    return total if isinstance(start, int) and start == 0 else low.binary("Add", total, start)


def _broadcasts_to(type_: ArrayType, start: Type) -> bool:
    """True if an array of the one type, added to one of the other, keeps the other's shape."""
    if not isinstance(start, ArrayType) or not start.is_static or not type_.is_static:
        return False
    try:
        return broadcast_shapes((type_.shape, start.shape)) == start.shape
    except ShapeError:
        return False


def check_zip_lengths(low: Evaluator, sources: Sequence[Any], known: bool) -> None:
    """Refuses ``zip(strict=True)`` of sources that differ in length.

    Refuses it also if the lengths are not ``known`` at compile time.
    """
    with low.builder.block():  # these operations are dropped
        spaces = [low.handlers.iteration_space(low, source) for source in sources] if known else []
    sizes = [len(space) if isinstance(space, list) else space.size for space in spaces]
    if not known or None in sizes and not _have_equal_bounds(spaces):
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


def _have_equal_bounds(spaces: Sequence[Any]) -> bool:
    """True if iteration spaces have equal bounds, or the first of them has none."""
    bounds = [getattr(space, "bounds", None) for space in spaces]
    return not hasattr(spaces[0], "bounds") or all(each == bounds[0] for each in bounds)


def conform_sensitivity(low: Evaluator, sens: Any, type_: Type) -> Any:
    """Returns a sensitivity as an operand of the output's type: a run-time list where the output
    is one, an array where the output is an array without axes."""
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


def length_of(low: Evaluator, value: Value) -> AnyOperand:
    """Returns the number of items of a run-time value."""
    shape = None if isinstance(value.type, ListType) else low.shape(value)
    length: AnyOperand
    if shape is None:
        length = containers.list_length(value)
    elif isinstance(shape, Value):
        length = scalar_conversion.shape_item(shape, at=0)
    elif shape:
        length = shape[0]
    else:
        raise low.fail(DTypeError, "iteration over a 0-d tensor", "use x.reshape(1)")
    return length
