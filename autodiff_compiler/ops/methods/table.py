"""The numeric methods of ``Tensor``: one table, which is installed on the class and read by the
compiler.

A method is a function whose first argument is the tensor, or, at compile time, the IR value. Most
are functions of ``ops`` as they are; those whose signature differs are defined here.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable, Iterable
from typing import Any

from autodiff_compiler.common.dtype import (
    bfloat16,
    float16,
    float32,
    float64,
    int16,
    int32,
    int64,
    of_name,
    uint8,
)
from autodiff_compiler.common.dtype import bool_ as bool_type
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.mindspore_names.suggestions import left_out, no_such
from autodiff_compiler.operators.core import structure
from autodiff_compiler.operators.reductions import reduce
from autodiff_compiler.ops.core.shape_queries import (
    axes_of,
    dtype_of,
    in_dtype,
    is_integral,
    known_rank,
    one_or_many,
    rank_of,
    unaliased,
)
from autodiff_compiler.ops.functions import (
    arrays,
    complex_parts,
    creation,
    elementwise,
    random,
    rearrange,
    reductions,
)
from autodiff_compiler.ops.methods.arrays import ARRAY_METHODS, named
from autodiff_compiler.ops.methods.functions import FUNCTION_METHODS
from autodiff_compiler.ops.methods.matrices import MATRIX_METHODS


def sum(
    self: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None
) -> Tensor:
    """Returns the sum over ``axis``, plus ``initial``."""
    total = reductions.sum(self, axis, keepdims, dtype=dtype)
    return total if initial is None else total + initial


def _extreme(
    self: Any, axis: Any, keepdims: bool, initial: Any, where: Any, record: Any, of_two: Any
) -> Any:
    """Returns the extreme over axes. A tie over one axis goes to the first winner, else it is
    shared."""
    if where is not True:
        if initial is None:
            raise ValueError(
                "with 'where', 'initial' is needed: it is the result where no element is selected"
            )
        self = elementwise.where(where, self, initial)
    axes = axes_of(axis, self)
    first = axes is not None and len(axes) == 1
    value = record(self, axes=axes, keepdims=bool(keepdims), first=first)
    return value if initial is None else of_two(value, initial)


def max(
    self: Any,
    axis: Any = None,
    keepdims: bool = False,
    *,
    initial: Any = None,
    where: Any = True,
    return_indices: bool = False,
    dim: Any = None,
    keepdim: bool = False,
) -> Any:
    """Returns the largest elements, and at least ``initial``, of those for which ``where`` holds;
    with ``return_indices``, or along a ``dim``, their positions too."""
    if return_indices or dim is not None:
        return reductions.max(self, axis if dim is None else dim, keepdims or keepdim)
    return _extreme(self, axis, keepdims, initial, where, reduce.max, elementwise.maximum)


def min(
    self: Any,
    axis: Any = None,
    keepdims: bool = False,
    *,
    initial: Any = None,
    where: Any = True,
    return_indices: bool = False,
    dim: Any = None,
    keepdim: bool = False,
) -> Any:
    """Returns the smallest elements, and at most ``initial``, of those for which ``where`` holds;
    with ``return_indices``, or along a ``dim``, their positions too."""
    if return_indices or dim is not None:
        return reductions.min(self, axis if dim is None else dim, keepdims or keepdim)
    return _extreme(self, axis, keepdims, initial, where, reduce.min, elementwise.minimum)


def argmax(
    self: Any, axis: Any = None, keepdims: bool = False, *, dim: Any = None, keepdim: bool = False
) -> Tensor:
    """Returns the int64 position of the first largest element along an axis (None: of all,
    flattened)."""
    return reductions.argmax(self, dim if axis is None else axis, keepdims or keepdim)


def argmin(
    self: Any, axis: Any = None, keepdims: bool = False, *, dim: Any = None, keepdim: bool = False
) -> Tensor:
    """Returns the int32 position of the first smallest element along an axis (None: of all,
    flattened)."""
    return reductions.argmin(self, dim if axis is None else axis, keepdims or keepdim)


def var(self: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Returns the variance; that of integers is divided by count - 1."""
    return reductions.var(self, axis, ddof or int(is_integral(self)), keepdims)


def std(self: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Returns the standard deviation; that of integers is taken with count - 1."""
    return reductions.std(self, axis, ddof or int(is_integral(self)), keepdims)


def cumsum(self: Any, axis: Any = None, dtype: Any = None) -> Tensor:
    """Returns running sums along an axis (None: of all elements in one row)."""
    if axis is None:
        self, axis = arrays.ravel(self), 0
    if dtype is None and is_integral(self) and dtype_of(self) != "int64":
        dtype = "int32"
    return reductions.cumsum(self, axis, dtype)


def reshape(self: Any, *shape: Any) -> Tensor:
    """Reshapes to a shape that is given as a tuple or as arguments."""
    return arrays.reshape(self, one_or_many(shape))


def transpose(self: Any, *axes: Any) -> Tensor:
    """Returns the axes in the order given, or reversed."""
    order = one_or_many(axes) if axes else ()
    rank = known_rank(self, "transpose")
    return arrays.transpose(self, order or tuple(reversed(range(rank))))


def permute(self: Any, *axis: Any) -> Tensor:
    """Returns the axes in the order given."""
    return arrays.transpose(self, one_or_many(axis))


def flatten(self: Any, order: str = "C", *, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Returns the axes from ``start_dim`` to ``end_dim``, here all, joined into one."""
    return arrays.flatten(self, order, start_dim=start_dim, end_dim=end_dim)


def flip(self: Any, *dims: Any) -> Tensor:
    """Reverses the elements along axes."""
    return reductions.flip(self, one_or_many(dims))


def expand_as(self: Any, other: Any) -> Tensor:
    """Broadcasts to the shape of another tensor."""
    return arrays.broadcast_to(self, arrays.shape(other))


def view_as(self: Any, other: Any) -> Tensor:
    """Reshapes to the shape of another tensor."""
    return arrays.reshape(self, arrays.shape(other))


def broadcast_to(self: Any, *shape: Any) -> Tensor:
    """Broadcasts x to a shape."""
    return arrays.broadcast_to(self, one_or_many(shape))


def astype(self: Any, dtype: Any, copy: bool = True) -> Tensor:
    """Casts to another dtype; copies unless ``copy`` is False."""
    return unaliased(in_dtype)(self, dtype) if copy else in_dtype(self, dtype)


def type_as(self: Any, other: Any) -> Tensor:
    """Casts to the dtype of another tensor."""
    return in_dtype(self, dtype_of(other))


def where(self: Any, condition: Any, y: Any) -> Tensor:
    """Returns the tensor where the condition holds, else y."""
    return elementwise.where(condition, self, y)


def bernoulli(self: Any, *, generator: Any = None) -> Tensor:
    """Returns ones, each with the probability in self, and zeros."""
    return random.bernoulli(self, self, generator)


def swap_last_axes(self: Any) -> Any:
    """Returns the last two axes exchanged."""
    return structure.swap_last_axes(self)


def _to(dtype: Any) -> Callable[[Any], Any]:
    def convert(self: Any) -> Any:
        return in_dtype(self, dtype)

    return convert


METHODS: dict[str, Callable[..., Any]] = {
    **named(
        elementwise,
        "abs absolute acos acosh add arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin "
        "asinh atan atan2 atanh bitwise_and bitwise_or bitwise_xor ceil clamp clip cos cosh div "
        "divide eq equal exp expm1 floor floor_divide ge greater greater_equal gt isfinite isinf "
        "isnan le less less_equal log log1p logical_and logical_not logical_or logical_xor lt "
        "masked_fill maximum minimum mul multiply ne neg negative not_equal pow reciprocal relu "
        "remainder round rsqrt sigmoid sign sin sinh sqrt square sub subtract tan tanh "
        "true_divide trunc",
    ),
    **named(
        arrays,
        "bmm chunk dot expand_dims gather gather_elements matmul mm outer ravel split "
        "squeeze swapaxes t unbind unsqueeze",
    ),
    **ARRAY_METHODS,
    **FUNCTION_METHODS,
    **MATRIX_METHODS,
    **named(reductions, "all amax amin any log_softmax logsumexp mean prod softmax"),
    **dict(
        argmax=argmax,
        argmin=argmin,
        astype=astype,
        bernoulli=bernoulli,
        broadcast_to=broadcast_to,
        copy=elementwise.deepcopy,
        cumsum=cumsum,
        multinomial=random.multinomial,
        expand=broadcast_to,
        expand_as=expand_as,
        flatten=flatten,
        flip=flip,
        max=max,
        min=min,
        permute=permute,
        reshape=reshape,
        std=std,
        sum=sum,
        swapdims=rearrange.swapdims,
        to=in_dtype,
        transpose=transpose,
        type=in_dtype,
        type_as=type_as,
        value=lambda self: self,
        var=var,
        view=reshape,
        view_as=view_as,
        where=where,
        dim=rank_of,
        numel=arrays.size,
        new_zeros=lambda self, size, dtype=None: creation.zeros(size, dtype or dtype_of(self)),
        new_ones=lambda self, size, dtype=None: creation.ones(size, dtype or dtype_of(self)),
        float=_to(float32),
        half=_to(float16),
        double=_to(float64),
        int=_to(int32),
        long=_to(int64),
        short=_to(int16),
        byte=_to(uint8),
        bool=_to(bool_type),
        bfloat16=_to(bfloat16),
    ),
}


def _transposed(self: Any) -> Any:
    return transpose(self)


def _dtype(self: Any) -> Any:
    name = dtype_of(self)
    return None if name is None else of_name(name)


#: The meaning of ``x.name`` for an IR value; the front end defines ``x.shape`` itself.
PROPERTIES: dict[str, Callable[[Any], Any]] = {
    "H": lambda x: _transposed(complex_parts.conj(x)),
    "T": _transposed,
    "mT": swap_last_axes,
    "dtype": _dtype,
    "ndim": rank_of,
    "size": arrays.size,
}


for _name, _method in METHODS.items():
    if not hasattr(Tensor, _name):
        setattr(Tensor, _name, _method)


class _LeftOut:
    """A descriptor for a method of MindSpore's that is not supported: reading it raises an error.

    (A ``__getattr__`` would slow down every attribute of a Tensor, and would replace Python's
    suggestions for misspelt names.)
    """

    def __init__(self, name: str):
        self.name = name

    def __get__(self, tensor: Tensor | None, owner: type) -> Any:
        raise no_such("Tensor", self.name, _names(dir(owner)))


def _names(known: Iterable[str]) -> list[str]:
    """Returns the names in ``known`` that are supported."""
    return [name for name in known if not isinstance(vars(Tensor).get(name), _LeftOut)]


for _name in left_out("Tensor"):
    if not hasattr(Tensor, _name):
        setattr(Tensor, _name, _LeftOut(_name))

# The class is completed here: its own module knows no names of methods.
Tensor.__dir__ = lambda self: _names(object.__dir__(self))  # type: ignore[method-assign]
