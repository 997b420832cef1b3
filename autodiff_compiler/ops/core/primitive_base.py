"""The base of operator classes: ``ops.Elu(alpha=1.0)(x)``. Settings first, operands later."""

from __future__ import annotations

__macro__ = True

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from autodiff_compiler.ops.core.marks import mark

Function = TypeVar("Function", bound=Callable[..., Any])
R = TypeVar("R")


class Primitive:
    """An operator with its settings. Calling it applies it, to tensors or to IR values."""

    name = ""
    _recompute = False

    def __init__(self, name: str = ""):
        self.name = name or type(self).__name__

    def __call__(self, *args: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define __call__ or construct")

    def recompute(self, mode: bool = True) -> Primitive:
        """True if the backward function rematerialises the result."""
        if not isinstance(mode, bool):
            raise TypeError(f"For 'recompute', the 'mode' should be bool, but got {mode!r}")
        self._recompute = mode
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


@overload
def constexpr(
    fn: Function,
    get_instance: bool = True,
    name: str | None = None,
    reuse_result: bool = True,
    check: bool = True,
) -> Function: ...


@overload
def constexpr(
    fn: None = None,
    get_instance: bool = True,
    name: str | None = None,
    reuse_result: bool = True,
    check: bool = True,
) -> Callable[[Function], Function]: ...


def constexpr(
    fn: Any = None,
    get_instance: bool = True,
    name: str | None = None,
    reuse_result: bool = True,
    check: bool = True,
) -> Any:
    """Marks a function that ``construct`` calls at compile time, on known arguments.

    Stands before a ``def`` with or without parentheses. The function may be any Python: it is run,
    not compiled. The settings are MindSpore's and change nothing.
    """
    if fn is None:
        return constexpr

    @functools.wraps(fn)
    def computed(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return mark(computed, runs_while_compiling=True)


if TYPE_CHECKING:

    class FunctionPrimitive(Primitive, Generic[R]):
        """The operator class of a function: any settings, and the result of the function."""

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...

        def __call__(self, *args: Any) -> R: ...


def primitive(name: str, function: Callable[..., R], **settings: Any) -> type[FunctionPrimitive[R]]:
    """Returns an operator class for a function; ``settings`` maps constructor arguments to
    defaults.

    >>> Round = primitive("Round", lambda x, digits: round(x, digits), digits=0)
    >>> Round(1)(2.55), Round().digits
    (2.5, 0)
    """
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature(
        [inspect.Parameter(key, kind, default=value) for key, value in settings.items()]
    )

    def __init__(self: Primitive, *args: Any, **kwargs: Any) -> None:
        Primitive.__init__(self)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        vars(self).update(bound.arguments)

    def __call__(self: Primitive, *args: Any) -> Any:
        return function(*args, **{key: getattr(self, key) for key in settings})

    space = {
        "__init__": __init__,
        "__call__": __call__,
        "__doc__": function.__doc__,
        "__module__": __name__,
        "function": staticmethod(function),
    }
    return cast("type[FunctionPrimitive[R]]", type(name, (Primitive,), space))
