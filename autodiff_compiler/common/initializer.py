"""Initial values of parameters: ``initializer('xavier_uniform', [3, 4], mstype.float32)``.

An ``Initializer`` fills an array; subclasses override ``_initialize``. Random ones draw from
``common/random.py``.
"""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.random import generator, get_seed, set_seed
from autodiff_compiler.common.tensor import Tensor

_BY_NAME: dict[str, type[Initializer]] = {}
#: The names that need settings, so that a string cannot stand for them.
_WITH_SETTINGS = ("constant", "sparse")


class Initializer:
    """Base of initializers. ``names`` are further names of a subclass in ``initializer``."""

    def __init__(self, **settings: Any):
        """Stores the settings of a subclass as attributes."""
        self.__dict__.update(settings)

    def __init_subclass__(cls, names: Sequence[str] = ()) -> None:
        _BY_NAME.update({name: cls for name in (cls.__name__.lower(), *names)})

    def __call__(self, array: np.ndarray) -> None:
        """Fills ``array`` in place."""
        self._initialize(array)

    def _initialize(self, array: np.ndarray) -> None:
        raise NotImplementedError("Must be overridden!")


class Constant(Initializer):
    """A constant: a number, or an array of values."""

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
        array[...] = np.eye(array.shape[0], array.shape[1])


class Normal(Initializer):
    """A normal distribution."""

    def __init__(self, sigma: float = 0.01, mean: float = 0.0):
        self.sigma, self.mean = sigma, mean

    def _initialize(self, array: np.ndarray) -> None:
        array[...] = generator().normal(self.mean, self.sigma, array.shape)


class TruncatedNormal(Initializer, names=("truncated_normal",)):
    """A normal distribution truncated to the interval from ``a`` to ``b``."""

    def __init__(self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0):
        self.sigma, self.mean, self.a, self.b = sigma, mean, a, b
        self.low, self.high = (a - mean) / sigma, (b - mean) / sigma
        if self.low >= self.high or self.low > 5 or self.high < -5:
            raise ValueError(
                f"For 'TruncatedNormal', the interval from {a} to {b} has almost no "
                f"probability under mean {mean} and sigma {sigma}."
            )

    def _initialize(self, array: np.ndarray) -> None:
        drawn = truncated(array.size, self.low, self.high)
        array[...] = (self.mean + self.sigma * drawn).reshape(array.shape)


def truncated(count: int, low: float, high: float) -> np.ndarray:
    """Draws f64[count] of the standard normal distribution that lie between two bounds."""
    drawn = generator().standard_normal(count)
    outside = (drawn < low) | (drawn > high)
    while outside.any():
        drawn[outside] = generator().standard_normal(outside.sum())
        outside = (drawn < low) | (drawn > high)
    return drawn


class Uniform(Initializer):
    """A uniform distribution from ``-scale`` to ``scale``."""

    def __init__(self, scale: float = 0.07):
        self.scale = scale

    def _initialize(self, array: np.ndarray) -> None:
        array[...] = generator().uniform(-self.scale, self.scale, array.shape)


class XavierUniform(Initializer, names=("xavier_uniform",)):
    """Xavier (Glorot) uniform distribution, with variance gain ** 2 * 2 / (fan in + fan out)."""

    def __init__(self, gain: float = 1):
        self.gain = gain

    def _initialize(self, array: np.ndarray) -> None:
        bound = self.gain * math.sqrt(6.0 / sum(fans(array.shape)))
        array[...] = generator().uniform(-bound, bound, array.shape)


class XavierNormal(Initializer, names=("xavier_normal",)):
    """Xavier (Glorot) normal distribution, with variance gain ** 2 * 2 / (fan in + fan out)."""

    def __init__(self, gain: float = 1):
        self.gain = gain

    def _initialize(self, array: np.ndarray) -> None:
        sigma = self.gain * math.sqrt(2.0 / sum(fans(array.shape)))
        array[...] = generator().normal(0.0, sigma, array.shape)


class _He(Initializer):
    """Base of He (Kaiming) initializers: variance gain ** 2 / fan, of the fan that ``mode`` names.

    The gain is that of the nonlinearity.
    """

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
    """He (Kaiming) uniform distribution."""

    def _initialize(self, array: np.ndarray) -> None:
        bound = math.sqrt(3.0) * self.sigma(array.shape)
        array[...] = generator().uniform(-bound, bound, array.shape)


class HeNormal(_He, names=("he_normal",)):
    """He (Kaiming) normal distribution."""

    def _initialize(self, array: np.ndarray) -> None:
        array[...] = generator().normal(0.0, self.sigma(array.shape), array.shape)


class VarianceScaling(Initializer):
    """A distribution with variance ``scale`` / fan; 'fan_avg' is the mean of the two fans."""

    def __init__(
        self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal"
    ):
        if scale <= 0:
            raise ValueError(
                "For VarianceScaling initializer, the argument 'scale' must be greater than 0, but "
                f"got {scale}."
            )
        for name, given, known in (
            ("mode", mode, ("fan_in", "fan_out", "fan_avg")),
            ("distribution", distribution, ("uniform", "truncated_normal", "untruncated_normal")),
        ):
            if given not in known:
                raise ValueError(
                    f"For VarianceScaling initializer, the argument '{name}' must be "
                    f"{', '.join(known[:-1])} or {known[-1]}, but got {given}."
                )
        self.scale, self.mode, self.distribution = scale, mode, distribution

    def _initialize(self, array: np.ndarray) -> None:
        inwards, outwards = fans(array.shape)
        fan = {"fan_in": inwards, "fan_out": outwards, "fan_avg": (inwards + outwards) / 2}
        sigma = math.sqrt(self.scale / fan[self.mode])
        if self.distribution == "uniform":
            drawn = generator().uniform(-math.sqrt(3), math.sqrt(3), array.size)
        elif self.distribution == "untruncated_normal":
            drawn = generator().standard_normal(array.size)
        else:  # the standard deviation of a normal distribution truncated to two sigma
            drawn = truncated(array.size, -2.0, 2.0) / 0.87962566103423978
        array[...] = (sigma * drawn).reshape(array.shape)


class Orthogonal(Initializer):
    """Orthogonal rows, or columns if those are fewer, of length ``gain``.

    All axes after the first count as one (Saxe et al., arXiv:1312.6120).
    """

    def __init__(self, gain: float = 1.0):
        self.gain = gain

    def _initialize(self, array: np.ndarray) -> None:
        if array.ndim < 2:
            raise ValueError(f"For 'Orthogonal', two axes are needed, not the shape {array.shape}.")
        rows, columns = array.shape[0], math.prod(array.shape[1:])
        q, r = np.linalg.qr(generator().standard_normal((max(rows, columns), min(rows, columns))))
        q = q * np.sign(np.diag(r))  # makes q uniformly distributed
        array[...] = self.gain * (q if rows >= columns else q.T).reshape(array.shape)


class Dirac(Initializer):
    """Identity kernels of a convolution: each channel passes unchanged, within ``groups``."""

    def __init__(self, groups: int = 1):
        self.groups = groups

    def _initialize(self, array: np.ndarray) -> None:
        if array.ndim not in (3, 4, 5):
            raise ValueError(
                "For Dirac initializer, only support to initialize tensor with dimension of 3, 4 "
                f"or 5, but got {array.ndim}."
            )
        if not isinstance(self.groups, int) or self.groups < 1 or len(array) % self.groups:
            raise ValueError(
                f"For Dirac initializer, the 'groups' must divide the {len(array)} channels, but "
                f"got {self.groups!r}."
            )
        per_group = len(array) // self.groups
        middle = tuple(size // 2 for size in array.shape[2:])
        array[...] = 0
        for group in range(self.groups):
            for channel in range(min(per_group, array.shape[1])):
                place = (group * per_group + channel, channel, *middle)
                array[place] = 1


class Sparse(Initializer):
    """A normal distribution in which the fraction ``sparsity`` of each column is 0."""

    def __init__(self, sparsity: float, sigma: float = 0.01):
        self.sparsity, self.sigma = sparsity, sigma

    def _initialize(self, array: np.ndarray) -> None:
        if array.ndim != 2:
            raise ValueError(f"For 'Sparse', a matrix is needed, not the shape {array.shape}.")
        array[...] = generator().normal(0.0, self.sigma, array.shape)
        zeros = math.ceil(self.sparsity * len(array))
        for column in range(array.shape[1]):
            array[generator().permutation(len(array))[:zeros], column] = 0


def fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """Returns the fan in and the fan out of a weight of this shape.

    >>> fans((8, 3, 5, 5))
    (75, 200)
    """
    if len(shape) < 2:
        raise ValueError(f"a fan needs two dimensions at least, but the shape is {shape}.")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


#: Under MindSpore's name, which public networks import for the bounds of their biases.
_calculate_fan_in_and_fan_out = fans


def gain_of(nonlinearity: str, negative_slope: float) -> float:
    """Returns the factor by which initial weights offset the shrinking of a nonlinearity."""
    gains = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "sigmoid": 1.0, "linear": 1.0}
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + negative_slope**2))
    if nonlinearity not in gains:
        raise ValueError(f"the nonlinearity {nonlinearity} is not known.")
    return gains[nonlinearity]


def initializer(
    init: Any, shape: int | Sequence[int] | None = None, dtype: mstype.Type = mstype.float32
) -> Tensor:
    """Returns a Tensor filled by ``init``: an Initializer, its name, or a number.

    A Tensor is returned unchanged.
    """
    if isinstance(init, Tensor):
        if shape is not None and tuple(init.shape) != _as_shape(shape):
            raise ValueError(
                f"The shape of the 'init' is {init.shape}, which is not 'shape' {_as_shape(shape)}."
            )
        return init
    if isinstance(init, str):
        if init.lower() not in _BY_NAME or init.lower() in _WITH_SETTINGS:
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
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if not all(isinstance(size, (int, np.integer)) and size >= 0 for size in sizes):
        raise ValueError(
            "For 'initializer', the argument 'shape' is invalid, the value of 'shape' must be "
            f"positive integer, but got {shape}"
        )
    return sizes


__all__ = [
    "Constant",
    "Dirac",
    "HeNormal",
    "HeUniform",
    "Identity",
    "Initializer",
    "Normal",
    "One",
    "Orthogonal",
    "Sparse",
    "TruncatedNormal",
    "Uniform",
    "VarianceScaling",
    "XavierNormal",
    "XavierUniform",
    "Zero",
    "get_seed",
    "initializer",
    "set_seed",
]
