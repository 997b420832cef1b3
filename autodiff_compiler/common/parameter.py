"""``Parameter``, a Tensor that a Cell owns and that training changes, and ``ParameterTuple``.

A Parameter without a name gets the name of the attribute that it is stored in.
"""

from __future__ import annotations

__macro__ = True

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.eager_kernels import TENSORS
from autodiff_compiler.common.initializer import initializer
from autodiff_compiler.common.tensor import Tensor, wrap
from autodiff_compiler.common.tensor_data import cast, to_array

_numbers = itertools.count()
_GENERATED = "Parameter#"


class _Storing(threading.local):
    """The rule of this thread for values that are stored in Parameters; None for no rule."""

    instead: Callable[[Any, np.ndarray], np.ndarray] | None = None


_storing = _Storing()


@contextmanager
def replacing_stored_values(rule: Callable[[Any, np.ndarray], np.ndarray]) -> Iterator[None]:
    """Makes ``set_data`` and writes in place store ``rule(parameter, value)`` within the block."""
    before, _storing.instead = _storing.instead, rule
    try:
        yield
    finally:
        _storing.instead = before


def _is_parameter_generated(name: str) -> bool:
    """True if this is the name of a Parameter that has none yet; the name is MindSpore's."""
    return isinstance(name, str) and name.startswith(_GENERATED)


class Parameter(Tensor):
    """A named Tensor with a gradient.

    ``default_input`` is copied, with its shape. A Python int becomes int32, any other value has the
    dtype that a Tensor of it has. The arguments after ``requires_grad`` are MindSpore's, and have
    no effect. Raises ValueError for a bool and for a name that is no string. Raises TypeError for a
    ``requires_grad`` that is no bool.

    >>> Parameter([1.0, 2.0], name="w")
    Parameter (name=w, shape=(2,), dtype=Float32, requires_grad=True)
    """

    #: True if the name was given; else it is provisional until a Cell gives one.
    is_named: bool
    _name: str
    _requires_grad: bool

    def __init__(
        self,
        default_input: Any,
        name: str | None = None,
        requires_grad: bool = True,
        layerwise_parallel: bool = False,
        parallel_optimizer: bool = True,
        storage_format: str = "",
        device: str | None = None,
    ):
        if isinstance(default_input, (bool, np.bool_)):
            raise ValueError("Parameter data can not be `bool`")
        if isinstance(default_input, Tensor):
            default_input.init_data()
        narrow = mstype.int32 if type(default_input) is int else None
        super().__init__(default_input, narrow)
        if isinstance(default_input, Tensor):
            self._data = self._data.copy()  # a Parameter never shares its memory
        self.name = name
        self.requires_grad = requires_grad
        self.layerwise_parallel = layerwise_parallel
        self.parallel_optimizer = parallel_optimizer

    @property
    def name(self) -> str:
        """Returns the name in checkpoints and optimizers."""
        return self._name

    @name.setter
    def name(self, name: str | None) -> None:
        if not isinstance(name, (str, type(None))):
            raise ValueError(
                "The type of the Parameter's name should be 'string' or 'None', "
                f"but got {type(name)}."
            )
        self.is_named = bool(name)
        self._name = name or f"{_GENERATED}{next(_numbers)}"

    @property
    def requires_grad(self) -> bool:
        """True if training changes it."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise TypeError("The argument `requires_grad` must be bool type")
        self._requires_grad = value

    @property
    def data(self) -> Tensor:
        """Returns the value as a plain Tensor on the same memory."""
        return wrap(self._data)

    def value(self) -> Tensor:
        """Returns the value as a plain Tensor on the same memory, as ``data``."""
        return wrap(self._data)

    def set_data(self, data: Any, slice_shape: bool = False) -> Parameter:
        """Replaces the value, cast to this dtype; the shape may change.

        Raises TypeError for anything but a Tensor or a number.
        """
        if not isinstance(data, (Tensor, int, float)):
            raise TypeError(
                "Parameter data must be [`Tensor`, `int`, `float`] or a kind of `Tensor` "
                f"(like `Tensor`). But with type {type(data)}."
            )
        # A new array: values that were read from this Parameter before must not change.
        value = cast(to_array(data), self._data.dtype.name)
        self._data = value if _storing.instead is None else _storing.instead(self, value)
        return self

    def _written(self) -> None:
        """Applies the rule of ``replacing_stored_values`` to a value that was written in place."""
        if _storing.instead is not None:
            self._data[...] = _storing.instead(self, self._data.copy())

    def clone(self, init: Any = "same") -> Parameter:
        """Returns a Parameter of the same name, with a copy of the data or new data by ``init``."""
        value = self.data if init == "same" else initializer(init, self.shape, self.dtype)
        clone = Parameter(value, self.name, self.requires_grad)
        clone.is_named = self.is_named
        return clone

    def __repr__(self) -> str:
        return (
            f"Parameter (name={self.name}, shape={self.shape}, dtype={self.dtype}, "
            f"requires_grad={self.requires_grad})"
        )

    __str__ = __repr__


TENSORS.add(Parameter)


class ParameterTuple(tuple):
    """Parameters in order.

    Raises TypeError for any other item, ValueError if two Parameters have the same name.
    """

    def __new__(cls, iterable: Iterable[Parameter]) -> ParameterTuple:
        items = list(iterable) if isinstance(iterable, Iterable) else [iterable]
        if isinstance(iterable, Parameter) or not all(isinstance(p, Parameter) for p in items):
            raise TypeError(
                "For ParameterTuple initialization, ParameterTuple input should be 'Parameter' "
                f"collection, but got a {type(iterable)}."
            )
        by_name: dict[str, Parameter] = {}
        for item in items:
            if by_name.setdefault(item.name, item) is not item:
                raise ValueError(
                    f"The value {item} , its name '{item.name}' already exists. "
                    "Please set a unique name for the parameter."
                )
        return super().__new__(cls, items)

    def clone(self, prefix: str, init: Any = "same") -> ParameterTuple:
        """Returns clones of the parameters, named ``prefix.name``."""
        clones = []
        for parameter in self:
            clone = parameter.clone(init)
            clone.name = f"{prefix}.{parameter.name}"
            clones.append(clone)
        return ParameterTuple(clones)
