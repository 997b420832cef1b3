"""The operator classes of random draws and dropout. Two seeds of 0 mean the program's generator."""

from __future__ import annotations

__macro__ = True

from typing import Any

from autodiff_compiler.common.dtype import int32
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.ops.core.primitive_base import Primitive
from autodiff_compiler.ops.core.shape_queries import in_dtype
from autodiff_compiler.ops.functions import arrays, creation, random
from autodiff_compiler.ops.neural import dropout


class Dropout(Primitive):
    """x with each element kept with the probability keep_prob and divided by it; and the mask, in
    x's dtype."""

    def __init__(self, keep_prob: float = 0.5, Seed0: int = 0, Seed1: int = 0):
        super().__init__()
        if not 0 < keep_prob <= 1:
            raise ValueError(f"keep_prob must be in (0, 1], but got {keep_prob}")
        self.keep_prob, self.seeds = keep_prob, (Seed0, Seed1)

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        return dropout.dropped_with_mask(x, self.keep_prob, self.seeds)


class Dropout2D(Primitive):
    """x with whole channels kept with the probability keep_prob and divided by it; and the mask,
    bools."""

    def __init__(self, keep_prob: float = 0.5):
        super().__init__()
        if not 0 < keep_prob <= 1:
            raise ValueError(f"keep_prob must be in (0, 1], but got {keep_prob}")
        self.keep_prob = keep_prob

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        return dropout.channels_with_mask(x, self.keep_prob)


class Dropout3D(Dropout2D):
    """x with whole channels kept with the probability keep_prob and divided by it; and the mask,
    bools."""


class _Seeded(Primitive):
    def __init__(self, seed: int = 0, seed2: int = 0):
        super().__init__()
        self.seeds = (seed, seed2)


class StandardNormal(_Seeded):
    """Normally distributed numbers of mean 0 and deviation 1, in a shape."""

    def __call__(self, shape: Any) -> Tensor:
        return random.standard_normal(shape, self.seeds)


class StandardLaplace(_Seeded):
    """Numbers of the Laplace distribution of mean 0 and scale 1, in a shape."""

    def __call__(self, shape: Any) -> Tensor:
        return random.standard_laplace(shape, self.seeds)


class UniformReal(_Seeded):
    """Evenly distributed numbers from 0 up to and without 1, in a shape."""

    def __call__(self, shape: Any) -> Tensor:
        return random.drawn("uniform", shape, self.seeds)


class UniformInt(_Seeded):
    """Ints from minval up to and without maxval, in a shape: int32."""

    def __call__(self, shape: Any, minval: Any, maxval: Any) -> Tensor:
        return random.randint(minval, maxval, shape, self.seeds, dtype=int32)


class Bernoulli(Primitive):
    """Ones, each with the probability p, and zeros, in the shape and dtype of x."""

    def __init__(self, seed: int = -1, offset: int = 0):
        super().__init__()
        self.seeds = (0 if seed == -1 else seed, offset)

    def __call__(self, x: Any, p: Any) -> Tensor:
        return random.bernoulli(x, p, self.seeds)


class Randperm(Primitive):
    """The ints below n, a Tensor of one number, in random order; then ``pad`` up to ``max_length``
    items."""

    def __init__(self, max_length: int = 1, pad: int = -1, dtype: Any = int32):
        super().__init__()
        self.max_length, self.pad, self.dtype = max_length, pad, dtype

    def __call__(self, n: Any) -> Tensor:
        count = creation.one_number(arrays.reshape(n, ()))
        order = random.randperm(count, dtype=self.dtype)
        rest = creation.full((self.max_length - count,), self.pad, dtype=self.dtype)
        return arrays.concat((order, rest), 0)


class Multinomial(Primitive):
    """Positions drawn, with replacement, with the probabilities in the last axis."""

    def __init__(self, seed: int = 0, seed2: int = 0, dtype: Any = int32):
        super().__init__()
        self.seeds, self.dtype = (seed, seed2), dtype

    def __call__(self, x: Any, num_samples: int) -> Tensor:
        return in_dtype(random.multinomial(x, num_samples, True, self.seeds), self.dtype)


__all__ = [
    "Bernoulli",
    "Dropout",
    "Dropout2D",
    "Dropout3D",
    "Multinomial",
    "Randperm",
    "StandardLaplace",
    "StandardNormal",
    "UniformInt",
    "UniformReal",
]
