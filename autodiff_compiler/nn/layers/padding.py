"""Padding layers. Widths begin at the last axis: (left, right, top, bottom, ...)."""

from __future__ import annotations

from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common import Cell, Tensor
from autodiff_compiler.ops.functions.rearrange import mirror, pad_by


class Pad(Cell):
    """Padding by a pair (before, after) for each axis, in order.

    ``mode`` is 'CONSTANT' (zeros), 'REFLECT' or 'SYMMETRIC'.
    """

    def __init__(self, paddings: Any, mode: str = "CONSTANT"):
        super().__init__()
        if mode not in ("CONSTANT", "REFLECT", "SYMMETRIC"):
            raise ValueError(
                "For 'Pad', the 'mode' must be in ['CONSTANT', 'REFLECT', 'SYMMETRIC'], but got "
                f"{mode!r}."
            )
        if not isinstance(paddings, tuple) or any(len(pair) != 2 for pair in paddings):
            raise ValueError(
                f"For 'Pad', the 'paddings' must be a tuple of pairs, but got {paddings}."
            )
        self.paddings, self.mode = paddings, mode

    def construct(self, x: Any) -> Tensor:
        if self.mode == "CONSTANT":
            return pad_by(x, self.paddings)
        return mirror(x, self.paddings, self.mode.lower())


class _PadNd(Cell):
    """Base of layers that pad the last ``space`` axes, by one width or one for each side."""

    space, mode = 2, "constant"

    def __init__(self, padding: Any, value: float | None = None):
        super().__init__()
        widths = (padding,) * (2 * self.space) if isinstance(padding, int) else tuple(padding)
        if len(widths) not in range(2, 2 * self.space + 1, 2):
            raise ValueError(
                f"For '{type(self).__name__}', the 'padding' must be an int, or two items for "
                f"each dimension, at most {2 * self.space}, but got {padding}."
            )
        self.padding, self.value = widths, value

    def construct(self, x: Any) -> Tensor:
        return ops.pad(x, self.padding, self.mode, self.value)


class ConstantPad1d(_PadNd):
    """Padding of the last axis with a value; a negative width removes elements."""

    space = 1

    def __init__(self, padding: Any, value: float):
        super().__init__(padding, value)


class ConstantPad2d(ConstantPad1d):
    """Padding of the last two axes with a value; a negative width removes elements."""

    space = 2


class ConstantPad3d(ConstantPad1d):
    """Padding of the last three axes with a value; a negative width removes elements."""

    space = 3


class ZeroPad2d(_PadNd):
    """Padding of the last two axes with zeros."""

    def __init__(self, padding: Any):
        super().__init__(padding, 0)


class _MirrorPad(_PadNd):
    """Base of layers that pad with copies of the input's elements."""

    def __init__(self, padding: Any):
        super().__init__(padding)


class ReflectionPad1d(_MirrorPad):
    """Reflection of the last axis at its ends, which are not repeated."""

    space, mode = 1, "reflect"


class ReflectionPad2d(_MirrorPad):
    """Reflection of the last two axes at their ends, which are not repeated."""

    space, mode = 2, "reflect"


class ReplicationPad1d(_MirrorPad):
    """Repetition of the end elements of the last axis."""

    space, mode = 1, "replicate"


class ReplicationPad2d(_MirrorPad):
    """Repetition of the end elements of the last two axes."""

    space, mode = 2, "replicate"


class ReplicationPad3d(_MirrorPad):
    """Repetition of the end elements of the last three axes."""

    space, mode = 3, "replicate"


__all__ = [
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "Pad",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad2d",
]
