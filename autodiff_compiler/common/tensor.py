"""``Tensor``: an array at the boundary between a user's program and the compiler.

Inside generated code every value is a plain ndarray; a Tensor wraps one, prints as MindSpore's
does, and computes at once when no compiling is going on. Its numeric methods (``sum``,
``reshape``, …) are installed by ``ops/methods/table.py``, which knows the operators.

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
from autodiff_compiler.common.hooks import Hook, HookHandle, register
from autodiff_compiler.common.tensor_data import cast, to_array
from autodiff_compiler.common.tensor_repr import tensor_text
from autodiff_compiler.ir.nodes import Operand
from autodiff_compiler.ir.opdef import OPERATORS, OpDef

if TYPE_CHECKING:
    from autodiff_compiler.common.tensor_methods import TensorMethods

    class _Base(TensorMethods, Operand):
        """The arithmetic, and the methods that ``ops`` installs."""

else:
    _Base = Operand


class Tensor(_Base):
    """An n-dimensional array of one dtype.

    Made of Python data, arrays or tensors, all of which are copied; or of ``shape``, ``dtype`` and
    ``init`` (an initializer, which ``init_data()`` runs). Without a ``dtype``, Python floats become
    float32, ints int64, and arrays and tensors keep theirs. ``const_arg`` and ``device`` are
    MindSpore's, and change nothing here.
    """

    # Slots, since every result of compiled code is one more Tensor: in memory it is little beside
    # a small array. ``_init`` is an initializer that has not run yet, and not there after that.
    __slots__ = ("__weakref__", "_data", "_hooks", "_init")
    apply_rank = 1
    _data: np.ndarray
    #: What runs on the gradient of this Tensor.
    _hooks: tuple[Hook, ...]
    _init: Callable[[np.ndarray], Any]

    def __init__(
        self,
        input_data: Any = None,
        dtype: mstype.Type | None = None,
        shape: int | Sequence[int] | None = None,
        init: Callable[[np.ndarray], Any] | None = None,
        const_arg: bool = False,
        device: str | None = None,
    ):
        self._hooks = ()
        if input_data is None and shape is not None:
            self._data = to_array(np.zeros(shape, np.float32), dtype)
            if init is not None:
                self._init = init
        else:
            self._data = _shared(input_data, dtype)

    def __apply_operator__(self, opdef: OpDef, operands: tuple, attrs: Mapping[str, Any]) -> Any:
        return wrap(eager_operators.apply(opdef, operands, attrs))

    # ---- what it is

    @property
    def shape(self) -> tuple[int, ...]:
        """The size along each axis."""
        return self._data.shape

    @property
    def dtype(self) -> mstype.Type:
        """The dtype object; see ``common/dtype.py``."""
        return mstype.of_name(self._data.dtype.name)

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return self._data.ndim

    @property
    def size(self) -> int:
        """How many elements there are."""
        return self._data.size

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self._data.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes in all."""
        return self._data.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, along each axis."""
        return self._data.strides

    @property
    def device(self) -> str:
        """Where the data is."""
        return "CPU"

    @property
    def data(self) -> Tensor:
        """A plain Tensor on the same memory."""
        return wrap(self._data)

    def stride(self, dim: int | None = None) -> Any:
        """Elements from one to the next along an axis, or along each."""
        steps = [step // self.itemsize for step in self._data.strides]
        return steps if dim is None else steps[dim]

    def storage_offset(self) -> int:
        """Where in its memory the first element is: at its beginning."""
        return 0

    @property
    def T(self) -> Tensor:
        """The axes in reverse order."""
        return wrap(self._data.T.copy())

    @property
    def mT(self) -> Tensor:
        """The last two axes exchanged."""
        return wrap(np.swapaxes(self._data, -1, -2).copy())

    @property
    def H(self) -> Tensor:
        """The conjugate of the transpose."""
        return wrap(np.conj(self._data.T).copy())

    @property
    def init(self) -> Callable[[np.ndarray], Any] | None:
        """The initializer that is still to run."""
        return getattr(self, "_init", None)

    @property
    def has_init(self) -> bool:
        """Whether an initializer is still to run."""
        return self.init is not None

    def init_data(self) -> Tensor:
        """Runs the initializer that the Tensor was made with."""
        if self.init is not None:
            self.init(self._data)
            del self._init
        return self

    def register_hook(self, hook_fn: Callable[[Any], Any]) -> HookHandle:
        """``hook_fn`` gets the gradient of this Tensor whenever one is computed; what it returns,
        unless that is None, takes its place. Several run in the order of their registration."""
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
        """Take notice of a write to the array in place."""

    # ---- to and from other forms

    def asnumpy(self) -> np.ndarray:
        """The array itself: writing to it writes to the Tensor."""
        return self._data

    def numpy(self) -> np.ndarray:
        """As ``asnumpy``."""
        return self._data

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        return self._data.tolist()

    def item(self) -> Any:
        """The only element, as a Python number; a ValueError if there are several, or none."""
        if self.size != 1:
            raise ValueError("Only one element tensors can be converted to Python scalars")
        return self._data.item()

    @staticmethod
    def from_numpy(array: np.ndarray) -> Tensor:
        """A Tensor on the memory of ``array``; a TypeError for what is no ndarray."""
        if not isinstance(array, np.ndarray):
            raise TypeError(f"For 'Tensor.from_numpy', an ndarray is needed, not {type(array)}")
        mstype.of_name(array.dtype.name)
        return wrap(array)

    def copy(self) -> Tensor:
        """A Tensor with the same elements in memory of its own."""
        return wrap(self._data.copy())

    def astype(self, dtype: Any, copy: bool = True) -> Tensor:
        """The elements in another dtype: ours, NumPy's, or its name."""
        name = mstype.to_numpy_name(dtype)
        if not copy and name == self._data.dtype.name:
            return self
        return wrap(cast(self._data, name))

    def to(self, dtype: Any) -> Tensor:
        """The elements in another dtype; a Tensor of that dtype shares its memory."""
        same = mstype.to_numpy_name(dtype) == self._data.dtype.name
        return wrap(self._data) if same else self.astype(dtype)

    def half(self) -> Tensor:
        """As float16."""
        return self.to(mstype.float16)

    def float(self) -> Tensor:
        """As float32."""
        return self.to(mstype.float32)

    def double(self) -> Tensor:
        """As float64."""
        return self.to(mstype.float64)

    def byte(self) -> Tensor:
        """As uint8."""
        return self.to(mstype.uint8)

    def short(self) -> Tensor:
        """As int16."""
        return self.to(mstype.int16)

    def int(self) -> Tensor:
        """As int32."""
        return self.to(mstype.int32)

    def long(self) -> Tensor:
        """As int64."""
        return self.to(mstype.int64)

    def bool(self) -> Tensor:
        """Which elements are not zero."""
        return self.to(mstype.bool_)

    def assign_value(self, value: Any) -> Tensor:
        """Takes over the shape, dtype and elements of another Tensor."""
        self._data = to_array(value)
        return self

    def set_dtype(self, dtype: Any) -> Tensor:
        """Changes the dtype of this very Tensor."""
        self._data = cast(self._data, mstype.to_numpy_name(dtype))
        return self


#: ``next(BLANK)`` is a Tensor with nothing in it yet. All threads may ask: there is nothing to come
#: to an end. A call of ``__new__`` packs its argument each time, and takes a third longer.
BLANK: Iterator[Tensor] = starmap(Tensor.__new__, repeat((Tensor,)))


def wrap(value: Any) -> Any:
    """Tensors for the arrays in ``value``, on their memory; containers keep their structure.

    >>> wrap((np.float32(1), 2))
    (Tensor(shape=[], dtype=Float32, value= 1), 2)
    """
    if isinstance(value, (np.ndarray, np.generic)):
        made = next(BLANK)
        made._data, made._hooks = np.asarray(value), ()
        return made
    if type(value) in (tuple, list):
        return type(value)(map(wrap, value))
    if type(value) is dict:
        return {key: wrap(item) for key, item in value.items()}
    return value


def tensor(input_data: Any, dtype: mstype.Type | None = None) -> Tensor:
    """A Tensor of ``input_data``, which is copied unless it is a Tensor of that dtype."""
    return Tensor(input_data, dtype)


def _is_comparable(other: Any) -> bool:
    """Whether ``==`` works element by element; with anything else it gives a plain bool."""
    numbers = (bool, int, float, complex, np.ndarray, np.generic)
    return isinstance(other, numbers) or hasattr(other, "__apply_operator__")


def _shared(data: Any, dtype: mstype.Type | None) -> np.ndarray:
    """The array of a Tensor that has this dtype, which a second Tensor shares; else a new one."""
    if isinstance(data, Tensor) and data._data.dtype.name == mstype.to_numpy_name(
        data.dtype if dtype is None else dtype
    ):
        return data._data
    return to_array(data, dtype)


def _array_of(element: Any) -> Any:
    return element._data if isinstance(element, Tensor) else element
