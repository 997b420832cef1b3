"""Initial values of parameters: ``initializer('xavier_uniform', [3, 4], mstype.float32)``.

An ``Initializer`` fills an array; its own initializers override ``_initialize``. Random ones draw
from ``common/seed.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.seed import generator, get_seed, set_seed
from autodiff_compiler.common.tensor import Tensor

_BY_NAME: dict[str, type[Initializer]] = {}


class Initializer:
    """Fills arrays. ``names`` are those that ``initializer`` knows a subclass by."""

    def __init_subclass__(cls, names: Sequence[str] = ()) -> None:
        _BY_NAME.update({name: cls for name in (cls.__name__.lower(), *names)})

    def __call__(self, array: np.ndarray) -> None:
        """Fills ``array`` in place."""
        self._initialize(array)

    def _initialize(self, array: np.ndarray) -> None:
        raise NotImplementedError("Must be overridden!")


class Constant(Initializer):
    """One value (or an array of values) everywhere."""

    def __init__(self, value: Any):
        self.value = value

    def _initialize(self, array: np.ndarray) -> None:
        array[...] = self.value


class Zero(Constant, names=("zeros",)):
    """Zeros."""

    def __init__(self) -> None:
        super().__init__(0)


class One(Constant, names=("ones",)):
    """Ones."""

    def __init__(self) -> None:
        super().__init__(1)


class Identity(Initializer):
    """The identity matrix."""

    def _initialize(self, array: np.ndarray) -> None:
        if array.ndim != 2:
            raise ValueError(f"For 'Identity', a matrix is needed, not the shape {array.shape}.")
        array[...] = np.eye(*array.shape)


class Normal(Initializer):
    """A normal distribution."""

    def __init__(self, sigma: float = 0.01, mean: float = 0.0):
        self.sigma, self.mean = sigma, mean

    def _initialize(self, array: np.ndarray) -> None:
        array[...] = generator().normal(self.mean, self.sigma, array.shape)


class TruncatedNormal(Initializer, names=("truncated_normal",)):
    """A normal distribution without what lies outside ``a`` to ``b`` (in units of ``sigma``)."""

    def __init__(self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0):
        self.sigma, self.mean, self.a, self.b = sigma, mean, a, b

    def _initialize(self, array: np.ndarray) -> None:
        drawn = generator().standard_normal(array.size)
        outside = (drawn < self.a) | (drawn > self.b)
        while outside.any():
            drawn[outside] = generator().standard_normal(outside.sum())
            outside = (drawn < self.a) | (drawn > self.b)
        array[...] = (self.mean + self.sigma * drawn).reshape(array.shape)


class Uniform(Initializer):
    """A uniform distribution from ``-scale`` to ``scale``."""

    def __init__(self, scale: float = 0.07):
        self.scale = scale

    def _initialize(self, array: np.ndarray) -> None:
        array[...] = generator().uniform(-self.scale, self.scale, array.shape)


class XavierUniform(Initializer, names=("xavier_uniform",)):
    """Glorot's uniform distribution: the variance suits both directions."""

    def __init__(self, gain: float = 1):
        self.gain = gain

    def _initialize(self, array: np.ndarray) -> None:
        bound = self.gain * math.sqrt(6.0 / sum(fans(array.shape)))
        array[...] = generator().uniform(-bound, bound, array.shape)


class XavierNormal(Initializer, names=("xavier_normal",)):
    """Glorot's normal distribution."""

    def __init__(self, gain: float = 1):
        self.gain = gain

    def _initialize(self, array: np.ndarray) -> None:
        sigma = self.gain * math.sqrt(2.0 / sum(fans(array.shape)))
        array[...] = generator().normal(0.0, sigma, array.shape)


class _He(Initializer):
    """He's rule: the variance suits one direction and the gain of the nonlinearity."""

    def __init__(
        self,
        negative_slope: float = 0,
        mode: str = "fan_in",
        nonlinearity: str = "leaky_relu",
    ):
        if mode not in ("fan_in", "fan_out"):
            raise ValueError(f"'mode' must be fan_in or fan_out, but got {mode}.")
        self.gain = gain_of(nonlinearity, negative_slope)
        self.direction = ("fan_in", "fan_out").index(mode)

    def sigma(self, shape: tuple[int, ...]) -> float:
        return self.gain / math.sqrt(fans(shape)[self.direction])


class HeUniform(_He, names=("he_uniform",)):
    """He's uniform distribution."""

    def _initialize(self, array: np.ndarray) -> None:
        bound = math.sqrt(3.0) * self.sigma(array.shape)
        array[...] = generator().uniform(-bound, bound, array.shape)


class HeNormal(_He, names=("he_normal",)):
    """He's normal distribution."""

    def _initialize(self, array: np.ndarray) -> None:
        array[...] = generator().normal(0.0, self.sigma(array.shape), array.shape)


def fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """How many inputs and outputs one unit of a weight of this shape has.

    >>> fans((8, 3, 5, 5))
    (75, 200)
    """
    if len(shape) < 2:
        raise ValueError(f"a fan needs two dimensions at least, but the shape is {shape}.")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def gain_of(nonlinearity: str, negative_slope: float) -> float:
    """How much a nonlinearity shrinks a signal, undone."""
    gains = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "sigmoid": 1.0, "linear": 1.0}
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + negative_slope**2))
    if nonlinearity not in gains:
        raise ValueError(f"the nonlinearity {nonlinearity} is not known.")
    return gains[nonlinearity]


def initializer(
    init: Any, shape: int | Sequence[int] | None = None, dtype: mstype.Type = mstype.float32
) -> Tensor:
    """A Tensor filled by ``init``: an Initializer, its name, a number, or a Tensor as it is."""
    if isinstance(init, Tensor):
        if shape is not None and tuple(init.shape) != _as_shape(shape):
            raise ValueError(
                f"The shape of the 'init' is {init.shape}, which is not 'shape' {_as_shape(shape)}."
            )
        return init
    if isinstance(init, str):
        if init.lower() not in _BY_NAME:
            raise ValueError(
                f"For 'initializer', the class corresponding to '{init}' was not found."
            )
        init = _BY_NAME[init.lower()]()
    elif isinstance(init, (int, float)):
        init = Constant(init)
    if not isinstance(init, Initializer):
        raise TypeError(
            "For 'initializer', the type of the 'init' argument should be 'Tensor', 'number', "
            f"'string' or 'initializer', but got {type(init)}."
        )
    return Tensor(shape=_as_shape(shape), dtype=dtype, init=init).init_data()


def _as_shape(shape: int | Sequence[int] | None) -> tuple[int, ...]:
    if shape is None:
        return ()
    return (shape,) if isinstance(shape, int) else tuple(shape)


__all__ = [
    "Constant", "HeNormal", "HeUniform", "Identity", "Initializer", "Normal", "One",
    "TruncatedNormal", "Uniform", "XavierNormal", "XavierUniform", "Zero", "get_seed",
    "initializer", "set_seed",
]  # fmt: skip
