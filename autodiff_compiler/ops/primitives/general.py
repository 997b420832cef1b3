"""The operator classes: ``ops.MatMul(transpose_b=True)(x, y)``. Settings first, operands later.

Most are made from their function by ``primitive``.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.common.dtype import int32
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.operators.core import effects, structure
from autodiff_compiler.ops.core.primitive_base import Primitive, primitive
from autodiff_compiler.ops.core.shape_queries import in_dtype, rank_of, unaliased
from autodiff_compiler.ops.functions import arrays, creation, elementwise, reductions

Reshape, Transpose = primitive("Reshape", arrays.reshape), primitive("Transpose", arrays.transpose)
ExpandDims, Gather = primitive("ExpandDims", arrays.expand_dims), primitive("Gather", arrays.gather)
GatherD = primitive("GatherD", arrays.gather_elements)
Shape, Rank, Size = (primitive(n, getattr(arrays, n.lower())) for n in ("Shape", "Rank", "Size"))
ZerosLike, OnesLike = (
    primitive("ZerosLike", creation.zeros_like),
    primitive("OnesLike", creation.ones_like),
)
Zeros, Ones, Eye = (primitive(n, getattr(creation, n.lower())) for n in ("Zeros", "Ones", "Eye"))


class MatMul(Primitive):
    """The matrix product, optionally with either factor transposed."""

    def __init__(self, transpose_a: bool = False, transpose_b: bool = False):
        super().__init__()
        self.transpose_a, self.transpose_b = transpose_a, transpose_b

    def __call__(self, input: Any, mat2: Any) -> Tensor:
        a = structure.swap_last_axes(input) if self.transpose_a else input
        b = structure.swap_last_axes(mat2) if self.transpose_b else mat2
        return arrays.matmul(a, b)


class BatchMatMul(MatMul):
    """The matrix product of two stacks of matrices."""


class _Reduction(Primitive):
    function: Callable[..., Any]

    def __init__(self, keep_dims: bool = False):
        super().__init__()
        self.keep_dims = keep_dims

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        return type(self).function(x, axis, self.keep_dims)


class ReduceMean(_Reduction):
    """The mean over ``axis`` (``()``: all)."""

    function = staticmethod(reductions.reduce_mean)


class ReduceMax(_Reduction):
    """The largest element over ``axis``; a tie shares the gradient."""

    function = staticmethod(reductions.reduce_max)


class ReduceMin(_Reduction):
    """The smallest element over ``axis``; a tie shares the gradient."""

    function = staticmethod(reductions.reduce_min)


class ReduceProd(_Reduction):
    """The product over ``axis``."""

    function = staticmethod(reductions.reduce_prod)


class ReduceAll(_Reduction):
    """A bool: True if every element over ``axis`` is nonzero."""

    function = staticmethod(reductions.reduce_all)


class ReduceAny(_Reduction):
    """A bool: True if some element over ``axis`` is nonzero."""

    function = staticmethod(reductions.reduce_any)


class ReduceSum(_Reduction):
    """The sum over ``axis``. With ``skip_mode`` an empty axis means no reduction at all."""

    def __init__(self, keep_dims: bool = False, skip_mode: bool = False):
        super().__init__(keep_dims)
        self.skip_mode = skip_mode

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        if self.skip_mode and axis in ((), None):
            return unaliased(arrays.identity)(x)
        return reductions.reduce_sum(x, axis, self.keep_dims)


class Argmax(Primitive):
    """The position of the largest element along an axis."""

    def __init__(self, axis: int = -1, output_type: Any = int32):
        super().__init__()
        self.axis, self.output_type = axis, output_type

    def __call__(self, x: Any) -> Tensor:
        return in_dtype(reductions.argmax(x, self.axis), self.output_type)


class Argmin(Argmax):
    """The position of the smallest element along an axis."""

    def __call__(self, x: Any) -> Tensor:
        return in_dtype(reductions.argmin(x, self.axis), self.output_type)


class ArgMaxWithValue(Primitive):
    """Positions and values of the largest elements along an axis; a tie goes to the first."""

    extreme = staticmethod(reductions.max)

    def __init__(self, axis: int = 0, keep_dims: bool = False):
        super().__init__()
        self.axis, self.keep_dims = axis, keep_dims

    def __call__(self, x: Any) -> Any:
        value, place = type(self).extreme(x, self.axis, self.keep_dims)
        return place, value


class ArgMinWithValue(ArgMaxWithValue):
    """Positions and values of the smallest elements along an axis; a tie goes to the first."""

    extreme = staticmethod(reductions.min)


class Softmax(Primitive):
    """exp(x) / sum(exp(x)) along an axis."""

    def __init__(self, axis: Any = -1):
        super().__init__()
        self.axis = axis

    def __call__(self, logits: Any) -> Tensor:
        axis = self.axis if isinstance(self.axis, int) else self.axis[0]
        return reductions.softmax(logits, axis)


class LogSoftmax(Softmax):
    """log(softmax(x)) along an axis."""

    def __call__(self, logits: Any) -> Tensor:
        return reductions.log_softmax(logits, self.axis)


class CumSum(Primitive):
    """Running sums along an axis; optionally exclusive, or from the end."""

    def __init__(self, exclusive: bool = False, reverse: bool = False):
        super().__init__()
        self.exclusive, self.reverse = exclusive, reverse

    def __call__(self, input: Any, axis: int) -> Tensor:
        x = reductions.flip(input, axis) if self.reverse else input
        total = reductions.cumsum(x, axis)
        total = total - x if self.exclusive else total
        return reductions.flip(total, axis) if self.reverse else total


class Concat(Primitive):
    """Tensors joined one after another along an axis."""

    def __init__(self, axis: int = 0):
        super().__init__()
        self.axis = axis

    def __call__(self, *tensors: Any) -> Tensor:
        return arrays.concat(_sequence(tensors), self.axis)


class Stack(Concat):
    """Tensors of one shape joined along a new axis."""

    def __call__(self, *tensors: Any) -> Tensor:
        return arrays.stack(_sequence(tensors), self.axis)


def _sequence(given: Sequence[Any]) -> Sequence[Any]:
    return given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given


class Unstack(Primitive):
    """The items along an axis."""

    def __init__(self, axis: int = 0, num: int | None = None):
        super().__init__()
        self.axis, self.num = axis, num

    def __call__(self, input_x: Any) -> Any:
        return arrays.unbind(input_x, self.axis)


class Split(Primitive):
    """``output_num`` equal pieces along an axis."""

    def __init__(self, axis: int = 0, output_num: int = 1):
        super().__init__()
        self.axis, self.output_num = axis, output_num

    def __call__(self, input_x: Any) -> Any:
        return arrays.chunk(input_x, self.output_num, self.axis)


class Squeeze(Primitive):
    """x without axes of length one (``()``: all of them)."""

    def __init__(self, axis: Any = ()):
        super().__init__()
        self.axis = axis

    def __call__(self, input: Any) -> Tensor:
        return arrays.squeeze(input, self.axis)


class Print(Primitive):
    """An effect: prints its operands as ``print`` does, in compiled code once, in the forward
    function."""

    def __call__(self, *input_x: Any) -> None:
        effects.print_values(*input_x, settings="")


class Flatten(Primitive):
    """x with all axes but the first joined into one."""

    def __call__(self, input_x: Any) -> Tensor:
        return arrays.flatten(input_x)


class BroadcastTo(Primitive):
    """x broadcast to a shape."""

    def __init__(self, shape: Any):
        super().__init__()
        self.shape = shape

    def __call__(self, input_x: Any) -> Tensor:
        return arrays.broadcast_to(input_x, self.shape)


class BiasAdd(Primitive):
    """x plus a bias for each channel, axis 1."""

    def __init__(self, data_format: str = "NCHW"):
        super().__init__()
        self.data_format = data_format

    def __call__(self, input_x: Any, bias: Any) -> Tensor:
        rank = rank_of(input_x) or 2
        if self.data_format == "NHWC" or rank == 2:
            return elementwise.add(input_x, bias)
        return elementwise.add(input_x, arrays.reshape(bias, (-1, *(1,) * (rank - 2))))


__all__ = [
    "ArgMaxWithValue",
    "ArgMinWithValue",
    "Argmax",
    "Argmin",
    "BatchMatMul",
    "BiasAdd",
    "BroadcastTo",
    "Concat",
    "CumSum",
    "ExpandDims",
    "Eye",
    "Flatten",
    "Gather",
    "GatherD",
    "LogSoftmax",
    "MatMul",
    "Ones",
    "OnesLike",
    "Primitive",
    "Print",
    "Rank",
    "ReduceAll",
    "ReduceAny",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "Reshape",
    "Shape",
    "Size",
    "Softmax",
    "Split",
    "Squeeze",
    "Stack",
    "Transpose",
    "Unstack",
    "Zeros",
    "ZerosLike",
]
