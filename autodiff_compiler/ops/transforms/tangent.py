"""``TangentFunction``: the value of a function and its tangent (JVP)."""

from __future__ import annotations

__macro__ = True

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

from autodiff_compiler.common.compiler_hook import engine
from autodiff_compiler.common.context import new_request
from autodiff_compiler.interface.request import Request
from autodiff_compiler.ir.opdef import PRECISION
from autodiff_compiler.ops.transforms.transformed import (
    Transformed,
    caller,
    check_callable,
    unwrapped,
)


class TangentFunction(Transformed[..., Any]):
    """The value of ``fn`` and its tangent.

    Its arguments are the inputs of ``fn``, the tangents of those at ``positions``, and the tangents
    of ``weights`` (None: of every trainable that takes part).
    """

    suffix, phrase = "tangent", "tangent of"
    takes_its_arguments = False

    def __init__(
        self,
        fn: Any,
        inputs: int,
        positions: Sequence[int],
        weights: Sequence[Any] | None = (),
        has_aux: bool = False,
    ):
        self.fn = unwrapped(fn)
        self.inputs, self.positions = inputs, tuple(positions)
        self.weights = None if weights is None else tuple(weights)
        self.has_aux = has_aux
        self.double = PRECISION.double

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = caller()
        if call is not None:
            return call(self, args, kwargs)
        check_callable(self.fn)
        return engine().run_tangent(self, args)

    @property
    def key(self) -> Hashable:
        """Returns the settings that decide the code, besides ``fn`` and the arguments."""
        ids = self.weights and tuple(map(id, self.weights))
        return type(self), self.inputs, self.positions, ids, self.has_aux, self.double

    @property
    def entry(self) -> tuple[Any, Hashable]:
        return self.fn, self.key

    def names(self, inner: Sequence[str]) -> list[str]:
        return [*inner[: self.inputs], *(f"dot_{inner[place]}" for place in self.positions)]

    def held_objects(self) -> Sequence[Any]:
        return self.weights or ()

    def request(self) -> Request:
        """Returns the request to compile, with the current settings."""
        return replace(
            new_request(self.double, self.fn),
            positions=self.positions,
            weights=self.weights,
            tangent=True,
            aux=self.has_aux,
        )


class Push(TangentFunction):
    """The tangent of ``fn`` alone: nothing is computed for the value."""

    suffix, phrase = "push", "tangent of"
    entry = Transformed.entry

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return Transformed.__call__(self, *args, **kwargs)

    def build(self, *args: Any) -> Any:
        function = TangentFunction(self.fn, self.inputs, self.positions, self.weights, self.has_aux)
        return function(*args)[1]


__all__ = ["Push", "TangentFunction"]
