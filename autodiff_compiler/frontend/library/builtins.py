"""Python's built-in functions on compile-time values.

``BUILTINS`` maps each function to a handler, which takes the lowering and the arguments.
"""

from __future__ import annotations

import copy
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from autodiff_compiler.common.mutable import mutable
from autodiff_compiler.errors import CompileError, DTypeError, UnsupportedSyntax
from autodiff_compiler.frontend.abstract import runtime_lists
from autodiff_compiler.frontend.abstract.iterators import (
    ITERATOR_FUNCTIONS,
    drain_at_once,
    is_iterator,
)
from autodiff_compiler.frontend.abstract.values import (
    NUMBERS,
    CallableChoice,
    DictView,
    HeapRef,
    LazyIterable,
    Partial,
    RuntimeRange,
    leaves,
    tuple_like,
)
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.expressions.arithmetic import (
    BINARY,
    as_set,
    converting_to_int,
    unary,
)
from autodiff_compiler.frontend.expressions.attributes import printable
from autodiff_compiler.frontend.expressions.comparisons import STATIC_COMPARE, compare
from autodiff_compiler.frontend.expressions.evaluation import require_one_element
from autodiff_compiler.frontend.library.any_all import any_or_all
from autodiff_compiler.frontend.library.classes import (
    PYTHON_CLASSES,
    class_of,
    is_instance,
    is_scalar,
)
from autodiff_compiler.frontend.library.copying import COPYING
from autodiff_compiler.frontend.library.warning_filters import SILENCING
from autodiff_compiler.frontend.numpy_rules.names import as_number
from autodiff_compiler.frontend.objects.attribute_protocol import finds_missing, store_attribute
from autodiff_compiler.ir.nodes import Value, type_of
from autodiff_compiler.ir.types import (
    BOOL,
    FLOAT,
    ArrayType,
    DictType,
    ListType,
    TupleType,
    is_floating,
)
from autodiff_compiler.operators.core import containers, effects, scalar_conversion
from autodiff_compiler.operators.elementwise import arithmetic

#: The user-defined methods that take precedence over a function's handler.
SPECIAL_METHODS = {
    abs: "__abs__",
    divmod: "__divmod__",
    float: "__float__",
    hash: "__hash__",
    int: "__int__",
    round: "__round__",
}


def _range(low: Lowering, *ends: Any) -> Any:
    methods = [(low.special(end, "__index__"), end) for end in ends]
    bounds: Sequence[Any] = [low.call(m, (), {}) if m else end for m, end in methods]
    if not any(isinstance(bound, Value) for bound in bounds):
        return range(*bounds)
    if any(isinstance(b, Value) and isinstance(b.type, ArrayType) for b in bounds):
        bounds = tuple(_int(low, bound) for bound in bounds)
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    return RuntimeRange(start, stop, step)


def _len(low: Lowering, value: Any) -> Any:
    method = low.special(value, "__len__")
    if method is not None:
        return low.call(method, (), {})
    if is_iterator(value) or isinstance(value, LazyIterable):
        raise TypeError("an iterator has no len()")
    if isinstance(value, DictView):
        return len(low.contents(value))
    if isinstance(value, HeapRef):
        value = low.state.heap[value]
    elif isinstance(value, RuntimeRange):
        value = low.sequence(value)
    elif not isinstance(value, Value):
        low.compilation.guard_length(value)
    if isinstance(value, Value):
        if isinstance(value.type, ListType):
            return containers.list_length(value)
        if isinstance(value.type, (TupleType, DictType)):
            return len(value.type.items)
        shape = low.shape(value)
        if isinstance(shape, Value):
            return scalar_conversion.shape_item(shape, at=0)
        if not shape:
            raise low.fail(
                DTypeError, "Not support len of a 0-D tensor", "give it an axis first: x.reshape(1)"
            )
        return shape[0]
    return len(value)


def _conversion(kind: str) -> Callable[..., Any]:
    """Returns the handler of ``int``, ``float`` or ``bool``."""
    plain = {"int": int, "float": float, "bool": bool}[kind]

    def convert(low: Lowering, value: Any = 0, *base: Any) -> Any:
        if not isinstance(value, Value):
            return plain(low.static(value, f"the argument of {kind}()"), *base)
        require_one_element(low, value, f"{kind}()")
        if kind == "float" and low.compilation.numpy and value.type == FLOAT:
            return value
        if kind == "float" and low.compilation.numpy and isinstance(value.type, ArrayType):
            return (
                as_number(value)
                if is_floating(value.type)
                else scalar_conversion.to_number(value, kind=kind)
            )
        with converting_to_int(low, value) if kind == "int" else nullcontext():
            return scalar_conversion.to_number(value, kind=kind)

    return convert


_int = _conversion("int")


def _bool(low: Lowering, value: Any = False) -> Any:
    truth = low.truth(value)
    return scalar_conversion.to_number(truth, kind="bool") if isinstance(truth, Value) else truth


def _extreme(operator_: Any, static: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the handler of ``min`` or ``max``."""

    def choose(low: Lowering, *args: Any, key: Any = None, **default: Any) -> Any:
        items = low.sequence(args[0]) if len(args) == 1 else list(args)
        if not items and default:
            return default["default"]
        if key is not None:
            return items[static(range(len(items)), key=_sort_keys(low, items, key).__getitem__)]
        if not any(isinstance(item, Value) for item in items):
            return static(low.static(item, "an item that is compared") for item in items)
        plain = not any(isinstance(type_of(item), ArrayType) for item in items)
        extreme = functools.reduce(operator_, items)
        return as_number(extreme) if plain and low.compilation.numpy else extreme

    return choose


def _sort_keys(low: Lowering, items: Sequence[Any], key: Any) -> list[Any]:
    """Returns the sort key of each item, which must be known."""
    keys = items if key is None else [low.call(key, (item,), {}) for item in items]
    return [low.static(each, "the sort key") for each in keys]


def _sorted(low: Lowering, items: Any, *, key: Any = None, reverse: Any = False) -> HeapRef:
    items = low.sequence(items)
    keys = _sort_keys(low, items, key)
    order = sorted(range(len(items)), key=keys.__getitem__, reverse=low.static(reverse, "an order"))
    return low.new_list([items[place] for place in order])


def _sum(low: Lowering, items: Any, start: Any = 0) -> Any:
    items = drain_at_once(low, items)
    long = low.state.heap[items] if isinstance(items, HeapRef) else items
    if runtime_lists.is_runtime_list(long):
        sum_of_list = runtime_lists.sum_of_items(low, long, start)
        if sum_of_list is not None:
            return sum_of_list
    total, only = start, None
    for position, item in enumerate(low.sequence(items)):
        # 0 + x is x, except for a bool, which becomes a number, and an array, which is copied.
        is_first = position == 0 and total == 0 and isinstance(total, int)
        if is_first and isinstance(item, (Value, *NUMBERS)) and not _is_bool(item):
            total = only = item
        else:
            total, only = low.binary("Add", total, item), None
    return total if only is None or not low.compilation.numpy else low.binary("Add", start, only)


def _is_bool(item: Any) -> bool:
    if isinstance(item, Value):
        return item.type == BOOL or item.dtype_name == "bool"
    return isinstance(item, bool)


def _pow(low: Lowering, base: Any, exponent: Any) -> Any:
    return low.binary("Pow", base, exponent)


def _str(low: Lowering, value: Any = "") -> Any:
    if isinstance(value, Value):
        return effects.text(value, pattern="{}", sign="format")
    return str(printable(low, value))


def found_or(owner: Any, name: str, default: Any) -> Any:
    """Returns ``getattr(owner, name, default)``. Compiled, where user-defined methods are
    inlined."""
    try:
        return getattr(owner, name)
    except AttributeError:
        return default


def is_found(owner: Any, name: str) -> bool:
    """True if ``hasattr(owner, name)``. Compiled, where user-defined methods are inlined."""
    try:
        getattr(owner, name)
    except AttributeError:
        return False
    return True


def _getattr(low: Lowering, owner: Any, name: str, *default: Any) -> Any:
    is_container = isinstance(owner, HeapRef) and owner.kind != "object"
    is_plain = is_container or isinstance(owner, Value)
    if default and not is_plain and finds_missing(low, owner, name):
        return low.call(found_or, (owner, name, *default), {})
    if default and not _hasattr(low, owner, name):
        return default[0]
    return low.attribute(owner, name)


def _hasattr(low: Lowering, owner: Any, name: str) -> bool:
    if isinstance(owner, Value) or isinstance(owner, HeapRef) and owner.kind != "object":
        return hasattr(class_of(low, owner), name)
    if finds_missing(low, owner, name):
        return low.call(is_found, (owner, name), {})
    try:
        low.attribute(owner, name)
    except AttributeError:
        return False
    return True


def _vars(low: Lowering, *things: Any) -> Any:
    if len(things) != 1:
        raise low.fail(
            UnsupportedSyntax,
            "'vars' needs all variables, and compiled code keeps only those that the function "
            "names",
            "use the variable by its name",
        )
    return low.attribute(things[0], "__dict__")


def _dict(low: Lowering, *args: Any, **items: Any) -> HeapRef:
    contents: dict[Any, Any] = {}
    if args:
        contents.update(_pairs(low, args[0]))
    return low.allocate("dict", {**contents, **items})


def _pairs(low: Lowering, source: Any) -> Any:
    """Returns the items of a new dict: a dict, or the pairs in a sequence."""
    pairs = source if isinstance(source, (LazyIterable, Value)) else low.contents(source)
    return pairs if isinstance(pairs, dict) else map(low.sequence, low.sequence(source))


def _list(low: Lowering, items: Any = ()) -> HeapRef:
    items = drain_at_once(low, items)
    long = low.state.heap[items] if isinstance(items, HeapRef) else items
    return low.allocate(
        "list", long if runtime_lists.is_runtime_list(long) else tuple(low.sequence(items))
    )


def _print(
    low: Lowering, *args: Any, sep: Any = None, end: Any = None, flush: bool = False
) -> None:
    given = {"sep": sep, "end": end, "flush": flush or None}
    settings = ", ".join(f"{key}={value!r}" for key, value in given.items() if value is not None)
    shown = [
        low.packed(arg if _holds_value(low, arg) else str(printable(low, arg))) for arg in args
    ]
    literal = settings.replace("{", "{{").replace("}", "}}")  # it becomes part of a template
    low.builder.make(effects.print_values, shown, {"settings": literal})


def _holds_value(low: Lowering, arg: Any) -> bool:
    return any(isinstance(leaf, Value) for leaf in leaves(low.contents(arg)))


def _binary(sign: str) -> Callable[..., Any]:
    return lambda low, left, right: low.binary(sign, left, right)


def _comparison(sign: str) -> Callable[..., Any]:
    return lambda low, left, right: compare(low, sign, left, right)


def _round(low: Lowering, value: Any, digits: Any = None) -> Any:
    if not isinstance(value, Value):
        return round(value, digits)
    if digits is not None:
        raise low.fail(
            UnsupportedSyntax,
            "round(x, digits) is not supported for a value known only when the function runs",
            "scale x: round(x * 10) / 10 rounds to one decimal place",
        )
    require_one_element(low, value, "round()")
    return scalar_conversion.to_number(arithmetic.round(value), kind="int")


def _reversed(low: Lowering, items: Any) -> Any:
    """Returns ``reversed(items)``. Refuses an object without a method ``__reversed__``."""
    method = low.special(items, "__reversed__")
    if method is not None:
        return low.call(method, (), {})
    is_object = isinstance(items, HeapRef) and items.kind == "object"
    if is_object or low.special(items, "__iter__") is not None:
        raise low.fail(
            UnsupportedSyntax,
            "reversed() of an object needs a method __reversed__ in its class",
            "write that method, or reverse a list of its items: reversed(list(obj))",
        )
    return ITERATOR_FUNCTIONS[reversed](low, items)


def _unchanged(function: Any) -> Any:
    """Returns a function that ``functools.wraps`` decorates: only its name and docstring differ."""
    return function


def _mutable(low: Lowering, input_data: Any, dynamic_len: bool = False) -> Any:
    """Returns a container that has a gradient as an argument, as ``mutable`` does."""
    like = low.original(input_data)
    mutable(like, dynamic_len)
    if isinstance(input_data, HeapRef):
        contents = low.state.heap[input_data]
        marked: Any = low.allocate(input_data.kind, copy.copy(contents))
    elif isinstance(input_data, tuple):
        marked = tuple_like(input_data, [*input_data])
    else:
        return input_data
    low.compilation.mutables.mark(marked, like)
    return marked


BUILTINS: dict[Any, Callable[..., Any]] = {
    range: _range,
    len: _len,
    isinstance: is_instance,
    np.isscalar: is_scalar,
    int: _int,
    float: _conversion("float"),
    bool: _bool,
    abs: lambda low, value: abs(value),
    min: _extreme(arithmetic.minimum, min),
    max: _extreme(arithmetic.maximum, max),
    sum: _sum,
    pow: _pow,
    str: _str,
    divmod: lambda low, a, b: (low.binary("FloorDiv", a, b), low.binary("Mod", a, b)),
    all: any_or_all(True),
    any: any_or_all(False),
    getattr: _getattr,
    hasattr: _hasattr,
    tuple: lambda low, items=(): tuple(low.sequence(items)),
    list: _list,
    dict: _dict,
    set: lambda low, items=(): set(as_set(low, items)),
    frozenset: lambda low, items=(): frozenset(as_set(low, items)),
    type: class_of,
    vars: _vars,
    callable: lambda low, thing: (
        low.special(thing, "__call__") is not None
        or callable(thing)
        or (
            isinstance(thing, (CallableChoice, *PYTHON_CLASSES))
            and not isinstance(thing, (LazyIterable, RuntimeRange))
        )
    ),
    sorted: _sorted,
    setattr: lambda low, owner, name, value: store_attribute(low, owner, name, value),
    id: lambda low, thing: thing.number if isinstance(thing, HeapRef) else id(thing),
    hash: lambda low, thing: hash(low.static(low.original(thing), "the argument of hash()")),
    functools.wraps: lambda low, function, **parts: _unchanged,
    _unchanged: lambda low, function: function,
    functools.partial: lambda low, function, *args, **kwargs: Partial(function, args, kwargs),
    print: _print,
    round: _round,
    **{function: _binary(sign) for sign, function in BINARY.items()},
    **{function: _comparison(sign) for sign, function in STATIC_COMPARE.items()},
    operator.neg: lambda low, value: unary(low, "USub", value),
    operator.invert: lambda low, value: unary(low, "Invert", value),
    operator.not_: lambda low, value: unary(low, "Not", value),
    **ITERATOR_FUNCTIONS,
    reversed: _reversed,
    mutable: _mutable,
    **SILENCING,
    **COPYING,
}


def call_builtin(low: Lowering, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Calls one of ``BUILTINS``."""
    method = (
        low.special(args[0], SPECIAL_METHODS[callee])
        if args and callee in SPECIAL_METHODS
        else None
    )
    if method is not None:
        return low.call(method, args[1:], kwargs)
    try:
        return BUILTINS[callee](low, *args, **kwargs)
    except CompileError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        failure = low.translate(error, f"{callee.__name__}() fails", callee)
        known = not any(isinstance(arg, Value) for arg in (*args, *kwargs.values()))
        raise (failure.meaning(error) if known else failure) from None
