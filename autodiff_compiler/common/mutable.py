"""``mutable`` and ``jit_class``: what a program says of its own values and classes.

A tuple, list, dict or number that comes straight from Python is a constant as far as gradients go:
it is left out of the result. ``mutable`` marks one as an input, and it gets a gradient of its own
structure. A mutable thing is the thing itself, in every other way.
"""

from __future__ import annotations

__macro__ = True

import functools
from collections.abc import Callable
from typing import Any, TypeVar, overload

from autodiff_compiler.common.tensor import Tensor

Class = TypeVar("Class", bound=type)
Kept = TypeVar("Kept")
Function = TypeVar("Function", bound=Callable[..., Any])


class Mutable:
    """What all mutable values have in common; ``kind`` is what they are without the mark."""

    kind: type


class MutableTuple(Mutable, tuple):
    """A tuple that gets a gradient."""

    kind = tuple


class MutableList(Mutable, list):
    """A list that gets a gradient."""

    kind = list


class MutableDict(Mutable, dict):
    """A dict that gets a gradient."""

    kind = dict


class MutableFloat(Mutable, float):
    """A float that gets a gradient."""

    kind = float


_MARKED: dict[type, Any] = {
    made.kind: made for made in (MutableTuple, MutableList, MutableDict, MutableFloat)
}


def mutable(input_data: Kept, dynamic_len: bool = False) -> Kept:
    """``input_data`` as an input with a gradient, also where it is no Tensor.

    A Tensor is that anyway, and a whole number has none; both come back as they are. Compiled code
    fits one length, so that ``dynamic_len`` changes nothing but which arguments are refused.
    Raises TypeError for what is neither a Tensor, a number, nor a container of these.
    """
    _check(input_data, input_data)
    if dynamic_len and not isinstance(input_data, (tuple, list)):
        raise TypeError(
            "For 'mutable', when the variable_len is True, the first input should be list or "
            f"tuple, but got: {type(input_data).__name__}"
        )
    marked = _MARKED.get(type(input_data))
    return input_data if marked is None else marked(input_data)


def _check(value: Any, whole: Any) -> None:
    if isinstance(value, (tuple, list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            _check(item, whole)
    elif not isinstance(value, (bool, int, float, Tensor)) and not hasattr(
        value, "__apply_operator__"
    ):
        raise TypeError(
            "For 'mutable', the 'input_data' should be one of (bool, int, float, Tensor, tuple, "
            "list, dict) or their nested structures with no self-reference, but got "
            f"{type(whole).__name__}: {whole}."
        )


def plain_kind(value: Any) -> type:
    """The class of ``value``, without the mark that ``mutable`` leaves."""
    return value.kind if isinstance(value, Mutable) else type(value)


def jit_class(cls: Class) -> Class:
    """Says that ``construct`` may make and use objects of a class. Any plain class may be used, so
    nothing changes. Raises TypeError for what is no class, and for a Cell, which needs no mark."""
    if not isinstance(cls, type):
        raise TypeError(f"Decorator jit_class can only be used for class type, but got {cls}.")
    if any(base.__name__ == "Cell" for base in cls.__mro__):
        raise TypeError(
            "Decorator jit_class is used for user-defined classes and cannot be used for nn.Cell: "
            f"{cls}."
        )
    return cls


@overload
def lazy_inline(fn: Function, attrs: Any = None, policy: str | None = None) -> Function: ...


@overload
def lazy_inline(
    fn: None = None, attrs: Any = None, policy: str | None = None
) -> Callable[[Function], Function]: ...


def lazy_inline(fn: Any = None, attrs: Any = None, policy: str | None = None) -> Any:
    """Stands before the ``__init__`` of a Cell whose graph is to be written out late. Here every
    Cell is a function of its own until the end, so nothing changes."""
    return functools.partial(lazy_inline, attrs=attrs, policy=policy) if fn is None else fn


__all__ = ["Mutable", "jit_class", "lazy_inline", "mutable", "plain_kind"]
