"""Custom derivatives: ``Function`` with its own backward, and ``custom_gradient``.

Called outside a compilation they compute forward alone. The compiler reads both functions. (A Cell
states its derivative by a method ``bprop``.)

>>> from autodiff_compiler import Tensor, grad
>>> @custom_gradient
... def half(x):
...     return x * x, lambda d_out: d_out * x
>>> print(half(Tensor(3.0)))
9.0
"""

from __future__ import annotations

__macro__ = True

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from autodiff_compiler.ops.core.marks import mark

P = ParamSpec("P")
R = TypeVar("R")


class Context:
    """The values that ``forward`` saves for ``backward``: tensors, and attributes.

    ``needs_input_grad`` is true for every tensor; a cotangent that is not requested is not
    computed.
    """

    saved_tensors: tuple[Any, ...] = ()
    needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps ``tensors`` as ``saved_tensors``."""
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Stops gradients through these outputs."""

    def mark_dirty(self, *tensors: Any) -> None:
        """Says that inputs were changed in place, which they never are here."""

    def set_materialize_grads(self, value: bool) -> None:
        """Returns True: the cotangent of an unused output is zeros."""


class Function:
    """A function with a custom derivative; a subclass defines two static methods.

    ``forward(ctx, *inputs)`` computes; ``backward(ctx, *cotangents)`` takes one cotangent per
    output and returns one per input, None for zero. With a third, ``setup_context(ctx, inputs,
    output)``, forward takes no ``ctx``. It is called as ``Name.apply(*inputs)``. Cotangents have
    the shapes and dtypes of what they belong to.
    """

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the outputs; a subclass defines it."""
        raise NotImplementedError("forward function should be customized.")

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        """Computes the cotangents of the inputs; a subclass defines it."""
        raise NotImplementedError("backward function should be customized.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Computes forward."""
        if hasattr(cls, "setup_context"):
            return cls.forward(*args, **kwargs)
        return cls.forward(Context(), *args, **kwargs)


def is_apply(callee: Any) -> bool:
    """True if ``callee`` is ``Name.apply`` of a ``Function``."""
    owner = getattr(callee, "__self__", None)
    is_function = isinstance(owner, type) and issubclass(owner, Function)
    return is_function and getattr(callee, "__name__", "") == "apply"


def custom_gradient(function: Callable[P, tuple[R, Callable[..., Any]]]) -> Callable[P, R]:
    """Gives a function the derivative that it returns.

    ``function`` returns its value and a rule, a function of the value's cotangent. If the value is
    a tuple, the rule takes one cotangent for each item. It returns the cotangent of each input,
    None for zero, and may read any variable around it. Calls of the decorated function return the
    value alone. Each cotangent has the shape and dtype of its input. Another kind or number of
    cotangents is refused at compile time.
    """

    @functools.wraps(function)
    def value(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)[0]

    return mark(value, __signature__=inspect.signature(function), with_gradient=function)


__all__ = ["Context", "Function", "custom_gradient"]
