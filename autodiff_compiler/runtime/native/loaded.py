"""The compiled functions of a C text as the run time calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.interface.compiled import Compiled
from autodiff_compiler.runtime.native.description import (
    Array,
    Description,
    Number,
    Output,
    Packing,
    Scalar,
)
from autodiff_compiler.runtime.native.function import load_native


class LoadedNative:
    """The functions of a C text.

    ``forward`` returns gradients in place of residuals if there is one function for both. Then
    there is no ``backward``.
    """

    __slots__ = ("__weakref__", "backward", "compiled", "file", "forward")

    def __init__(self, compiled: Compiled) -> None:
        forward, *backward = (_callable(compiled.source, each) for each in compiled.native)
        self.compiled, self.file = compiled, f"{compiled.forward}.c"
        self.forward: Callable[..., Any] = forward
        self.backward: Callable[..., Any] | None = backward[0] if backward else None

    @property
    def packing(self) -> Packing:
        """The numbers of the outputs of a joint function, in the form that forward returns."""
        packing: Packing = self.compiled.native[0].packing_or_default
        return packing

    def direct(
        self, packing: Packing, holders: Sequence[type[Any] | None], returns_tensors: bool
    ) -> Callable[..., Any]:
        """Returns a built-in function that runs the joint function and packs its results.

        It takes arrays, and tensors and Parameters whose classes are the ``holders``. It returns
        NotImplemented for other arguments.
        """
        (about,) = self.compiled.native
        inputs = tuple(
            each._replace(holder=holder) if isinstance(each, Array) else each
            for each, holder in zip(about.inputs, holders, strict=True)
        )
        outputs = about.outputs
        if returns_tensors:
            outputs = tuple(map(_as_tensor, outputs))
        changed = replace(about, inputs=inputs, outputs=outputs, packing=packing)
        return load_native(self.compiled.source, changed)

    def explain(self, error: BaseException) -> None:
        """Adds nothing: the errors of compiled C name what was wrong."""


def _as_tensor(output: Output) -> Output:
    if isinstance(output, Array):
        return output._replace(holder=Tensor)
    return Array(output.dtype, (), Tensor) if isinstance(output, Scalar) else output


def _callable(text: str, description: Description) -> Callable[..., Any]:
    """Returns the Python function that runs a compiled one."""
    run = load_native(text, description)
    inputs = description.inputs

    def call(*arguments: Any) -> Any:
        outcome = run(*arguments)
        if outcome is NotImplemented:  # a tuple, or another number
            outcome = run(*map(_as_number, inputs, _leaves(arguments)))
        if outcome is NotImplemented:
            raise OverflowError("an integer argument of a compiled function is beyond 64 bits")
        return outcome

    call.__name__ = call.__qualname__ = description.name
    return call


def _leaves(arguments: Sequence[Any]) -> Iterator[Any]:
    """Yields the arrays and numbers in nested tuples and lists."""
    for argument in arguments:
        if isinstance(argument, (tuple, list)):
            yield from _leaves(argument)
        else:
            yield argument


def _as_number(wanted: Any, argument: Any) -> Any:
    """Returns a number as the Python number that is wanted: a sensitivity may be of another
    type."""
    if not isinstance(wanted, Number):
        return argument
    number = argument.item() if hasattr(argument, "item") else argument
    return float(number) if wanted.kind == "float" and isinstance(number, int) else number


__all__ = ["LoadedNative"]
