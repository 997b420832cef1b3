"""The arguments of a call: the signatures that find compiled code, the checks, and the arrays in
them.

>>> import numpy as np
>>> signature((Tensor(np.ones((2, 3))), 4, "same"))
(<class 'tuple'>, ((dtype('float64'), (2, 3)), (<class 'int'>, '4'), (<class 'str'>, 'same')))
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.mutable import Mutable, MutableFloat, plain_kind
from autodiff_compiler.common.random import Generator
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import CallError
from autodiff_compiler.interface.compiled import (
    COMPLEX,
    FLOAT,
    AttributeInput,
    Hoisted,
    PythonFunction,
    Type,
    holds_arrays,
)
from autodiff_compiler.ops.transforms.transformed import (
    Transformed,
    is_whole,
    unwrapped,
    whole_numbers,
)

_NUMBERS = (int, float, complex)
_NUMPY = (np.ndarray, np.generic)
_CONSTANTS = (bool, str, bytes, type(None))


def signature(value: Any) -> Any:
    """Returns the part of an argument that decides the code.

    The value of a number is not part of it. The value of a string, a bool, None, or a number
    inside a container is. Any other object is identified by its id.
    """
    kind = type(value)
    if kind is Tensor:
        array = value._data
        if value._hooks:
            return array.dtype, array.shape, value._hooks
        return array.dtype, array.shape
    if kind in _NUMBERS:
        return kind
    if isinstance(value, Tensor):
        hooks = (value._hooks,) if value._hooks else ()
        return value._data.dtype, value._data.shape, *hooks
    if isinstance(value, _NUMPY):
        return kind, value.dtype, value.shape
    if kind in _CONSTANTS:
        return kind, value
    if isinstance(value, Mutable):
        return kind, kind is not MutableFloat and signature(kind.kind(value))
    if kind is tuple or kind is list:
        return kind, tuple(map(_item_signature, value))
    if kind is dict:
        keys = tuple((type(key), key) for key in value)  # for 1 == True
        return kind, keys, tuple(map(_item_signature, value.values()))
    return kind, id(value)


def signatures(slots: Sequence[Any]) -> tuple[Any, ...]:
    """Returns the signatures of the arguments of a call. Refuses a container that holds itself."""
    try:
        return tuple(map(signature, slots))
    except RecursionError:
        raise CallError(
            "an argument is a container that contains itself, or that is nested too deeply",
            "pass its items as separate arguments",
        ) from None


def _item_signature(value: Any) -> Any:
    # By text, for 1 == 1.0 and 0.0 == -0.0.
    return (type(value), repr(value)) if type(value) in _NUMBERS else signature(value)


def known_by_identity(value: Any) -> Iterator[Any]:
    """Yields the objects in ``value`` whose ``id`` is part of its signature."""
    if plain_kind(value) in (tuple, list, dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from known_by_identity(item)
    elif not isinstance(value, (Tensor, np.ndarray, np.generic, *_NUMBERS, *_CONSTANTS)):
        yield value


def is_tensor(value: Any) -> bool:
    """True if the argument is differentiated by default."""
    return isinstance(value, (Tensor, Mutable))


def is_numpy_call(fn: Any, slots: Sequence[Any]) -> bool:
    """True if this is a plain function of arrays and floats, with no tensor among its arguments.

    A slot is a value, or the type of one.
    """
    return not isinstance(fn, Cell) and any(map(_is_numpy, slots)) and not holds([*slots], Tensor)


def _is_numpy(slot: Any) -> bool:
    if isinstance(slot, Type):
        return slot in (FLOAT, COMPLEX) or holds_arrays(slot)
    return type(slot) in (float, complex) or holds(slot, *_NUMPY)


def check_not_whole_numbers(fn: Any, slots: Sequence[Any], asked: Sequence[int]) -> None:
    """Refuses a derivative of a plain function in integers or bools. In MindSpore's programs
    integer tensors have one, and other arguments are left out."""
    if isinstance(fn, Cell) or holds([*slots], Tensor):
        return
    for place in asked:
        if place < len(slots) and is_whole(slots[place]):
            raise whole_numbers(place)


def check_arrays(fn: Any, slots: Sequence[Any], asked: Sequence[int]) -> None:
    """Refuses a gradient in an array where only tensors have gradients."""
    for place in asked:
        if place < len(slots) and isinstance(slots[place], _NUMPY):
            where = "in a Cell" if isinstance(fn, Cell) else "beside a Tensor argument"
            raise CallError(
                f"argument {place} is a NumPy array, and {where} only Tensors have gradients",
                "pass a Tensor: Tensor(x)",
            )


def check_bare_numbers(slots: Sequence[Any]) -> None:
    """Refuses a gradient in a list of Python numbers, which would be empty without a message."""
    for place, slot in enumerate(slots):
        if type(slot) in (tuple, list, dict) and holds(slot, float):
            raise CallError(
                f"argument {place} is a {type(slot).__name__} of Python numbers, which "
                "are compile-time constants and have no gradient",
                "pass an array, np.array(...), or each number as a separate argument",
            )


def holds(value: Any, *kinds: type) -> bool:
    """True if ``value`` is of one of these kinds, or is a container with such an item.

    >>> holds({"w": [np.ones(2)]}, Tensor), holds({"w": [np.ones(2)]}, Tensor, np.ndarray)
    (False, True)
    """
    waiting, seen = [value], set()
    while waiting:
        item = waiting.pop()
        kind = plain_kind(item)
        if kind not in (tuple, list, dict):
            if isinstance(item, kinds):
                return True
        elif id(item) not in seen:  # a container may hold itself
            seen.add(id(item))
            waiting.extend(item.values() if kind is dict else item)
    return False


def compile_reader(
    slots: Sequence[Any], wanted: Sequence[int], hoisted: Sequence[Hoisted]
) -> Callable[[Any, Sequence[Any]], tuple[Any, ...]]:
    """Returns a generated function of ``fn`` and the slots. It returns the arrays in the ``wanted``
    slots and the ``hoisted`` arrays.

    It is generated for exactly this structure, so it inspects nothing.
    """
    places = [item.path if item.read else f"h{n}" for n, item in enumerate(hoisted)]
    names = {f"h{n}": item.source for n, item in enumerate(hoisted) if not item.read}
    parts = [expression(slots[slot], f"slots[{slot}]") for slot in wanted]
    parts += [expression(item.source, str(place)) for item, place in zip(hoisted, places)]
    defaults = "".join(f", {name}={name}" for name in names)
    text = (
        f"def read(fn, slots{defaults}):\n    return ({''.join(part + ', ' for part in parts)})\n"
    )
    scope: dict[str, Any] = dict(names)
    exec(compile(text, "<autodiff slots>", "exec", dont_inherit=True), scope)
    read: Callable[[Any, Sequence[Any]], tuple[Any, ...]] = scope["read"]
    return read


def expression(value: Any, path: str) -> str:
    """Returns the text of an expression for the arrays in ``value``, in its structure. ``path`` is
    the text of ``value``."""
    if isinstance(value, (Tensor, AttributeInput, Generator, PythonFunction)):
        return f"{path}._data"
    if isinstance(value, MutableFloat):
        return f"float({path})"  # NumPy takes a subclass of float for a float64 array
    if not holds(value, Tensor):
        return path
    if isinstance(value, dict):
        items = (f"{key!r}: {expression(item, f'{path}[{key!r}]')}" for key, item in value.items())
        return "{" + ", ".join(items) + "}"
    inner = "".join(expression(item, f"{path}[{n}]") + ", " for n, item in enumerate(value))
    return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"


def check_arity(fn: Any, slots: Sequence[Any], keywords: Sequence[str], sens: bool) -> None:
    """Refuses a wrong number of arguments, in Python's words: calls an empty function with the same
    parameters."""
    while isinstance(fn, Transformed):
        if not fn.takes_its_arguments:
            return
        fn = fn.fn
    method = unwrapped(fn.construct) if isinstance(fn, Cell) else fn
    try:
        parameters = [*inspect.signature(method, follow_wrapped=False).parameters.values()]
    except (TypeError, ValueError):
        return  # written in C: it checks its arguments itself
    count = len(slots) - len(keywords)
    given = dict(zip(keywords, slots[count:]))
    bound = inspect.ismethod(method)
    kinds = tuple((p.name, p.kind, p.default is not p.empty) for p in parameters)
    name = getattr(method, "__qualname__", type(method).__name__)
    try:
        _stand_in(kinds, name, bound)(*([None] if bound else []), *slots[:count], **given)
    except TypeError as error:
        shown = ", ".join(map(str, (p.replace(annotation=p.empty) for p in parameters)))
        cure = f"its arguments are ({shown})"
        if sens:
            cure += ", and the last one given was taken as the sensitivity"
        raise CallError(str(error), cure) from None


@lru_cache(maxsize=256)
def _stand_in(parameters: tuple[Any, ...], name: str, bound: bool) -> Callable[..., None]:
    listed = [("self", inspect.Parameter.POSITIONAL_ONLY, False)] * bound + list(parameters)
    if bound:
        used = {parameter for parameter, _, _ in parameters}
        free = next(n for n in ("self", "this", "_self_") if n not in used)
        listed[0] = (free, inspect.Parameter.POSITIONAL_OR_KEYWORD, False)
        if any(kind is inspect.Parameter.POSITIONAL_ONLY for _, kind, _ in parameters):
            listed[0] = (free, inspect.Parameter.POSITIONAL_ONLY, False)
    stand_ins = [
        inspect.Parameter(n, kind, default=None if has_default else inspect.Parameter.empty)
        for n, kind, has_default in listed
    ]
    scope: dict[str, Any] = {}
    exec(f"def stand_in{inspect.Signature(stand_ins)}: pass", scope)
    stand_in: Callable[..., None] = scope["stand_in"]
    stand_in.__qualname__ = name
    return stand_in


__all__ = [
    "check_arity",
    "compile_reader",
    "expression",
    "holds",
    "is_tensor",
    "known_by_identity",
    "signature",
    "signatures",
]
