"""Cells that return derivatives of a Cell or function: ``Jvp`` and ``Vjp``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.ops.transforms.derivatives import jvp, vjp


class Jvp(Cell):
    """The value of ``fn`` and its tangent, as a function of inputs and a direction.

    ``Jvp(fn)(x, v)`` returns ``(out, dot_out)``. With several inputs, ``v`` is a tuple of as many
    Tensors. Raises TypeError for another number of them.

    >>> Jvp(lambda x, y: x * y)(Tensor(2.0), Tensor(3.0), (Tensor(1.0), Tensor(10.0)))[1].item()
    23.0
    """

    def __init__(self, fn: Callable[..., Any]):
        super().__init__()
        self.fn = fn

    def construct(self, *args: Any) -> tuple[Any, Any]:
        inputs, v = args[:-1], args[-1]
        if len(inputs) == 1 and not isinstance(v, Tensor):
            raise TypeError("For 'Jvp', v must be a Tensor, as the input is.")
        if len(inputs) > 1 and (not isinstance(v, tuple) or len(v) != len(inputs)):
            raise TypeError(f"For 'Jvp', v must be a tuple of {len(inputs)} Tensors.")
        return jvp(self.fn, inputs, v)


class Vjp(Cell):
    """The value of ``fn`` and the gradients of its inputs, as a function of inputs and a
    sensitivity.

    ``Vjp(fn)(x, v)`` returns ``(out, d_x)``; with several inputs the gradients are a tuple. With
    several outputs, ``v`` is a tuple of as many Tensors. Raises TypeError for another number.

    >>> Vjp(lambda x: x * x)(Tensor(2.0), Tensor(10.0))[1].item()
    40.0
    """

    def __init__(self, fn: Callable[..., Any]):
        super().__init__()
        self.fn = fn

    def construct(self, *args: Any) -> tuple[Any, Any]:
        inputs, v = args[:-1], args[-1]
        out, pull = vjp(self.fn, *inputs)
        several = isinstance(out, tuple)
        if isinstance(v, tuple) != several or (several and len(v) != len(out)):
            raise TypeError("For 'Vjp', v must have a Tensor for each output.")
        gradients = pull(v)
        return out, gradients[0] if len(inputs) == 1 else gradients


__all__ = ["Jvp", "Vjp"]
