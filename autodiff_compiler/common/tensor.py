"""``Tensor``: an array at the boundary between a user's program and the compiler.

Inside generated code every value is a plain ndarray. A Tensor wraps one, prints like MindSpore's,
and computes eagerly outside of compilation. Its numeric methods (``sum``, ``reshape``, …) are
installed by ``ops/methods/table.py``.

>>> Tensor([1.0, 2.0])
Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  2.00000000e+00])
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat, starmap
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common import eager_operators, indexing
from autodiff_compiler.common.eager_kernels import TENSORS, computed
from autodiff_compiler.common.eager_operators import NUMBERS
from autodiff_compiler.common.hooks import Hook, HookHandle, register
from autodiff_compiler.common.tensor_data import blank, cast, to_array
from autodiff_compiler.common.tensor_repr import tensor_text
from autodiff_compiler.ir.nodes import Operand
from autodiff_compiler.ir.opdef import OPERATORS, OpDef

if TYPE_CHECKING:  # the arithmetic, and the methods that ``ops`` installs
    from autodiff_compiler.common.tensor_methods import TensorMethods
else:
    TensorMethods = Operand


class Tensor(TensorMethods):
    """An n-dimensional array of one dtype.

    ``input_data`` is Python data or an array, which is copied. Or it is a Tensor, whose memory is
    shared if the dtype is the same. In its place ``shape``, ``dtype`` and ``init`` may be given, an
    initializer that ``init_data()`` runs. With None for a size it has no data, and only
    ``Cell.set_inputs`` takes it. Without a ``dtype``, Python floats become float32, ints
    int64, and arrays and tensors keep theirs. ``const_arg`` and ``device`` have no effect.
    """

    # Slots keep a Tensor small beside a small array: compiled code returns one for each result.
    # ``_init`` is an initializer that has not run yet; afterwards the attribute is deleted.
    __slots__ = ("__weakref__", "_data", "_hooks", "_init")
    apply_rank = 1
    _data: np.ndarray
    #: Hooks that run on the gradient of this Tensor.
    _hooks: tuple[Hook, ...]
    _init: Callable[[np.ndarray], Any]

    def __init__(
        self,
        input_data: Any = None,
        dtype: mstype.Type | None = None,
        shape: int | Sequence[int | None] | None = None,
        init: Callable[[np.ndarray], Any] | None = None,
        const_arg: bool = False,
        device: str | None = None,
    ):
        self._hooks = ()
        if input_data is None and shape is not None:
            self._data = blank(shape, dtype)
            if init is not None:
                self._init = init
        else:
            self._data = _shared(input_data, dtype)

    def __apply_operator__(self, opdef: OpDef, operands: tuple, attrs: Mapping[str, Any]) -> Any:
        result = computed(opdef, operands, attrs, NUMBERS, eager_operators.apply)
        if type(result) is not np.ndarray:
            return wrap(result)
        tensor = next(BLANK)
        tensor._data, tensor._hooks = result, ()
        return tensor

    # ---- properties of the array

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns the size along each axis."""
        return self._data.shape

    @property
    def dtype(self) -> mstype.Type:
        """Returns the dtype object; see ``common/dtype.py``."""
        return mstype.of_dtype(self._data.dtype)

    @property
    def ndim(self) -> int:
        """Returns the number of axes."""
        return self._data.ndim

    @property
    def size(self) -> int:
        """Returns the number of elements."""
        return self._data.size

    @property
    def itemsize(self) -> int:
        """Returns the number of bytes of an element."""
        return self._data.itemsize

    @property
    def nbytes(self) -> int:
        """Returns the number of bytes of all elements."""
        return self._data.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        """Returns the bytes from an element to the next, along each axis."""
        return self._data.strides

    @property
    def device(self) -> str:
        """Returns the device of the data."""
        return "CPU"

    @property
    def data(self) -> Tensor:
        """Returns a plain Tensor on the same memory."""
        return wrap(self._data)

    def stride(self, dim: int | None = None) -> Any:
        """Returns the stride along an axis, or along each, in elements."""
        steps = [step // self.itemsize for step in self._data.strides]
        return steps if dim is None else steps[dim]

    def storage_offset(self) -> int:
        """Returns 0: the first element is at the beginning of the memory."""
        return 0

    @property
    def T(self) -> Tensor:
        """Returns the transpose: the axes in reverse order."""
        return wrap(self._data.T.copy())

    @property
    def mT(self) -> Tensor:
        """Returns the last two axes exchanged."""
        return wrap(np.swapaxes(self._data, -1, -2).copy())

    @property
    def H(self) -> Tensor:
        """Returns the conjugate of the transpose."""
        return wrap(np.conj(self._data.T).copy())

    @property
    def init(self) -> Callable[[np.ndarray], Any] | None:
        """Returns the initializer that has not run yet, or None."""
        return getattr(self, "_init", None)

    @property
    def has_init(self) -> bool:
        """True if an initializer has not run yet."""
        return self.init is not None

    def init_data(self) -> Tensor:
        """Runs the initializer, if there is one that has not run yet."""
        if self.init is not None:
            self.init(self._data)
            del self._init
        return self

    def register_hook(self, hook_fn: Callable[[Any], Any]) -> HookHandle:
        """Registers ``hook_fn``, which is called with each gradient of this Tensor.

        Its result, unless it is None, replaces the gradient. Hooks run in the order of their
        registration.
        """
        return register(self, "gradient", hook_fn, "register_hook")

    # ---- text

    def __repr__(self) -> str:
        return tensor_text(self._data, str(self.dtype))

    def __str__(self) -> str:
        return str(self._data)

    # ---- Python's protocols

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                f"The tensor should have only one element, but got {self.size}, "
                "more than one element is ambiguous."
            )
        return bool(self._data.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        if self.size != 1 or self._data.dtype.kind not in "iu":
            raise ValueError(
                "Only integer tensors of a single element can be converted to an index."
            )
        return int(self._data.item())

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("Not support len of a 0-D tensor")
        return len(self._data)

    def __iter__(self) -> Iterator[Tensor]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter([wrap(row.copy()) for row in self._data])

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Any:
        return OPERATORS["equal"](self, other) if _is_comparable(other) else False

    def __ne__(self, other: object) -> Any:
        return OPERATORS["not_equal"](self, other) if _is_comparable(other) else True

    def __contains__(self, element: Any) -> bool:
        if not _is_comparable(element):
            return False
        return bool(np.any(self._data == _array_of(element)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._data, dtype=dtype, copy=copy)

    def __getitem__(self, index: Any) -> Tensor:
        return wrap(indexing.read(self._data, index))

    def __setitem__(self, index: Any, value: Any) -> None:
        indexing.write(self._data, index, value)
        self._written()

    def _written(self) -> None:
        """Is called after a write to the array in place; a subclass overrides it."""

    # ---- conversion

    def asnumpy(self) -> np.ndarray:
        """Returns the array itself: writing to it writes to the Tensor."""
        return self._data

    def numpy(self) -> np.ndarray:
        """Returns the array itself, as ``asnumpy``."""
        return self._data

    def tolist(self) -> Any:
        """Returns nested lists of Python numbers."""
        return self._data.tolist()

    def item(self) -> Any:
        """Returns the only element as a Python number; a Tensor of another size is a ValueError."""
        if self.size != 1:
            raise ValueError("Only one element tensors can be converted to Python scalars")
        return self._data.item()

    @staticmethod
    def from_numpy(array: np.ndarray) -> Tensor:
        """Returns a Tensor on the memory of ``array``; raises TypeError if it is no ndarray."""
        if not isinstance(array, np.ndarray):
            raise TypeError(f"For 'Tensor.from_numpy', an ndarray is needed, not {type(array)}")
        mstype.of_name(array.dtype.name)
        return wrap(array)

    def copy(self) -> Tensor:
        """Returns a Tensor with the same elements in memory of its own."""
        return wrap(self._data.copy())

    def astype(self, dtype: Any, copy: bool = True) -> Tensor:
        """Returns the elements in another dtype, given as ours, NumPy's, or a name."""
        name = mstype.to_numpy_name(dtype)
        if not copy and name == self._data.dtype.name:
            return self
        return wrap(cast(self._data, name))

    def to(self, dtype: Any) -> Tensor:
        """Returns the elements in another dtype; the result shares memory if it is the same one."""
        same = mstype.to_numpy_name(dtype) == self._data.dtype.name
        return wrap(self._data) if same else self.astype(dtype)

    def half(self) -> Tensor:
        """Returns the elements as float16."""
        return self.to(mstype.float16)

    def float(self) -> Tensor:
        """Returns the elements as float32."""
        return self.to(mstype.float32)

    def double(self) -> Tensor:
        """Returns the elements as float64."""
        return self.to(mstype.float64)

    def byte(self) -> Tensor:
        """Returns the elements as uint8."""
        return self.to(mstype.uint8)

    def short(self) -> Tensor:
        """Returns the elements as int16."""
        return self.to(mstype.int16)

    def int(self) -> Tensor:
        """Returns the elements as int32."""
        return self.to(mstype.int32)

    def long(self) -> Tensor:
        """Returns the elements as int64."""
        return self.to(mstype.int64)

    def bool(self) -> Tensor:
        """Returns the elements as bool: True where they are not zero."""
        return self.to(mstype.bool_)

    def assign_value(self, value: Any) -> Tensor:
        """Replaces shape, dtype and elements by those of another Tensor."""
        self._data = to_array(value)
        return self

    def set_dtype(self, dtype: Any) -> Tensor:
        """Changes the dtype of this Tensor in place."""
        self._data = cast(self._data, mstype.to_numpy_name(dtype))
        return self


TENSORS.add(Tensor)

#: ``next(BLANK)`` is a Tensor without attributes. The iterator is endless, so threads may share it.
#: A call of ``__new__`` packs its argument each time, and takes a third longer.
BLANK: Iterator[Tensor] = starmap(Tensor.__new__, repeat((Tensor,)))


def wrap(value: Any) -> Any:
    """Wraps the arrays in ``value`` in Tensors on their memory; containers keep their structure.

    >>> wrap((np.float32(1), 2))
    (Tensor(shape=[], dtype=Float32, value= 1), 2)
    """
    if isinstance(value, (np.ndarray, np.generic)):
        tensor = next(BLANK)
        tensor._data, tensor._hooks = np.asarray(value), ()
        return tensor
    if type(value) in (tuple, list):
        return type(value)(map(wrap, value))
    if type(value) is dict:
        return {key: wrap(item) for key, item in value.items()}
    return value


def tensor(input_data: Any, dtype: mstype.Type | None = None) -> Tensor:
    """Returns a Tensor of ``input_data``; a Tensor of that dtype shares its memory."""
    return Tensor(input_data, dtype)


def _is_comparable(other: Any) -> bool:
    """True if ``==`` works element by element; otherwise it returns a bool."""
    numbers = (bool, int, float, complex, np.ndarray, np.generic)
    return isinstance(other, numbers) or hasattr(other, "__apply_operator__")


def _shared(data: Any, dtype: mstype.Type | None) -> np.ndarray:
    """Returns the array of a Tensor of this dtype itself, which is then shared; else a new one."""
    if isinstance(data, Tensor) and data._data.dtype.name == mstype.to_numpy_name(
        data.dtype if dtype is None else dtype
    ):
        return data._data
    return to_array(data, dtype)


def _array_of(element: Any) -> Any:
    return element._data if isinstance(element, Tensor) else element
