"""``mutable`` and ``jit_class``: a program's declarations about its values and classes.

For gradients, a tuple, list, dict or number of Python is a constant, and is left out of the result.
``mutable`` marks one as an input, which gets a gradient of its own structure. A marked value
behaves like the unmarked one in every other way.
"""

from __future__ import annotations

__macro__ = True

import functools
from collections.abc import Callable
from typing import Any, TypeVar, overload

from autodiff_compiler.common.tensor import Tensor

Class = TypeVar("Class", bound=type)
Input = TypeVar("Input")
Function = TypeVar("Function", bound=Callable[..., Any])


class Mutable:
    """Base of mutable values; ``kind`` is the class of the unmarked value."""

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
    class_.kind: class_ for class_ in (MutableTuple, MutableList, MutableDict, MutableFloat)
}


def mutable(input_data: Input, dynamic_len: bool = False) -> Input:
    """Marks ``input_data`` as an input with a gradient, also if it is no Tensor.

    A Tensor always has a gradient and an int never has one; both are returned unchanged. Compiled
    code fits one length, therefore ``dynamic_len`` only refuses arguments that have no length.
    Raises TypeError for anything but Tensors, numbers, and containers of them.
    """
    _check(input_data, input_data)
    if dynamic_len and not isinstance(input_data, (tuple, list)):
        raise TypeError(
            "For 'mutable', when the variable_len is True, the first input should be list or "
            f"tuple, but got: {type(input_data).__name__}"
        )
    marked = _MARKED.get(type(input_data))
    return input_data if marked is None else marked(input_data)


def _check(value: Any, root: Any) -> None:
    if isinstance(value, (tuple, list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            _check(item, root)
    elif not isinstance(value, (bool, int, float, Tensor)) and not hasattr(
        value, "__apply_operator__"
    ):
        raise TypeError(
            "For 'mutable', the 'input_data' should be one of (bool, int, float, Tensor, tuple, "
            "list, dict), nested or not; it must not contain itself; but got "
            f"{type(root).__name__}: {root}."
        )


def plain_kind(value: Any) -> type:
    """Returns the class of ``value``, without the mark that ``mutable`` leaves."""
    return value.kind if isinstance(value, Mutable) else type(value)


def jit_class(cls: Class) -> Class:
    """Returns the class unchanged: ``construct`` may create and use objects of any plain class.

    Raises TypeError for anything but a class, and for a Cell, which needs no mark.
    """
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
    """Returns the ``__init__`` unchanged: every Cell is inlined late here, or not at all."""
    return functools.partial(lazy_inline, attrs=attrs, policy=policy) if fn is None else fn


__all__ = ["Mutable", "jit_class", "lazy_inline", "mutable", "plain_kind"]
