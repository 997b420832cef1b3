"""Operators that pass a value on unchanged, with a hook on its gradient."""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable
from typing import Any

from autodiff_compiler.ops.core.primitive_base import Primitive


class GradientHook(Primitive):
    """The identity with a hook: backward calls ``function`` with the gradient at this place.

    Its result, unless it is None, replaces the gradient.
    """

    #: True if the function is called with a tuple of gradients.
    in_tuple = False

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def __call__(self, *args: Any) -> Any:
        return args[0] if len(args) == 1 else args


class InsertGradientOf(GradientHook):
    """The identity whose gradient goes through ``f``.

    >>> from autodiff_compiler import Tensor, grad
    >>> double = InsertGradientOf(lambda d_x: d_x * 2)
    >>> print(grad(lambda x: double(x) * x)(Tensor(3.0)))
    9.0
    """

    def __init__(self, f: Callable[[Any], Any]):
        super().__init__(f)


class HookBackward(GradientHook):
    """The identity of several values; ``hook_fn`` is called with the tuple of their gradients."""

    in_tuple = True

    def __init__(self, hook_fn: Callable[[Any], Any], cell_id: str = ""):
        if not callable(hook_fn):
            raise TypeError(f"Expected a callable hook function, but got {type(hook_fn).__name__}.")
        super().__init__(hook_fn)
        self.cell_id = cell_id


class insert_grad_of:  # noqa: N801  (it is used as a statement)
    """A context whose body runs in backward: ``with insert_grad_of(x) as d_x``.

    The body may read the gradient that flows to ``x`` from here on, or change it by assigning to
    ``d_x``.
    """

    def __init__(self, value: Any):
        self.value = value

    def __enter__(self) -> Any:
        return self.value * 0

    def __exit__(self, *exc: object) -> None:
        """Does nothing: there is nothing to close."""


__all__ = ["HookBackward", "InsertGradientOf", "insert_grad_of"]
