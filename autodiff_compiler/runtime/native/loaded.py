"""The compiled functions of a C text as the run time calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from autodiff_compiler.interface import Compiled
from autodiff_compiler.runtime.native.description import NativeFunction, Number
from autodiff_compiler.runtime.native.function import load_native


class LoadedNative:
    """The functions of a C text.

    ``forward`` returns gradients in place of residuals if there is one function for both. Then
    ``backward`` returns what it is given.
    """

    __slots__ = ("__weakref__", "backward", "compiled", "file", "forward")

    def __init__(self, compiled: Compiled) -> None:
        forward, *backward = map(_callable, compiled.native)
        self.compiled, self.file = compiled, f"{compiled.forward}.c"
        self.forward: Callable[..., Any] = forward
        self.backward: Callable[..., Any] | None = backward[0] if backward else _unchanged

    def explain(self, error: BaseException) -> None:
        """Adds nothing: the errors of compiled C name what was wrong."""


def _unchanged(residuals: Any) -> Any:
    return residuals


def _callable(function: NativeFunction) -> Callable[..., Any]:
    """Returns the Python function that runs a compiled one."""
    run = load_native(function.text, function.description)
    inputs = function.description.inputs

    def call(*arguments: Any) -> Any:
        outcome = run(*arguments)
        if outcome is NotImplemented:  # a tuple, or a NumPy number
            outcome = run(*map(_as_number, inputs, _leaves(arguments)))
        if outcome is NotImplemented:
            raise OverflowError("an integer argument of a compiled function is beyond 64 bits")
        return outcome

    call.__name__ = call.__qualname__ = function.description.name
    return call


def _leaves(arguments: Sequence[Any]) -> Iterator[Any]:
    """Yields the arrays and numbers in nested tuples and lists."""
    for argument in arguments:
        if isinstance(argument, (tuple, list)):
            yield from _leaves(argument)
        else:
            yield argument


def _as_number(wanted: Any, argument: Any) -> Any:
    """Returns a NumPy number as the Python number that is wanted."""
    return argument.item() if isinstance(wanted, Number) and hasattr(argument, "item") else argument


__all__ = ["LoadedNative"]
