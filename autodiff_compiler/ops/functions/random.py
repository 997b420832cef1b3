"""Random tensors under MindSpore's names.

``seed`` says where the numbers come from: nothing (or 0) the program's one generator, which
``set_seed`` restarts; an int a stream of its own; a ``Generator`` that one. Shapes are tuples of
ints. Draws that are shifted and scaled (``normal``, ``uniform``, ``gamma`` …) have the gradients
of the shift and the scale.
"""

from __future__ import annotations

__macro__ = True

from typing import Any

from autodiff_compiler.common.dtype import float32, int64, to_numpy_name
from autodiff_compiler.common.random import Generator, default_generator, stream
from autodiff_compiler.common.tensor import Tensor, wrap
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.opdef import BUILDING
from autodiff_compiler.ir.types import Shape
from autodiff_compiler.operators.core.declare import broadcast_shapes
from autodiff_compiler.operators.elementwise import arithmetic, comparisons
from autodiff_compiler.operators.indexing import indexing
from autodiff_compiler.operators.random import draws
from autodiff_compiler.ops.core.shape_queries import (
    dtype_of,
    in_dtype,
    known_rank,
    one_or_many,
    setting,
    shape_and_operands,
    shape_of,
)
from autodiff_compiler.ops.functions import arrays, reductions, sorting


def generator_of(seed: Any) -> Any:
    """Returns the operand that draws are made from: NumPy's generator, or an IR value."""
    if isinstance(seed, Value):
        return seed
    seeds = seed if isinstance(seed, tuple) else (seed or 0,)
    chosen = seed if isinstance(seed, Generator) else default_generator
    if not isinstance(seed, Generator) and any(seeds):
        chosen = stream(*map(int, seeds))
    return BUILDING.stack[-1].operand(chosen) if BUILDING.stack else chosen.numpy


def drawn(family: str, shape: Any, seed: Any = None, dtype: Any = None) -> Any:
    """Returns standard draws in a shape; see the operator ``draw``."""
    known, operands = shape_and_operands(shape)
    name = "float32" if dtype is None else to_numpy_name(dtype)
    if "float" not in name:
        raise ValueError(f"the 'dtype' of {family} draws must be a float type, but got {name}")
    source = generator_of(seed)
    return wrap(draws.draw(source, *operands, family=family, shape=known, dtype=name))


def drawn_like(family: str, x: Any, seed: Any, dtype: Any = None) -> Any:
    """Returns standard draws in the shape of x, and in its dtype unless one is given."""
    return drawn(family, arrays.shape(x), seed, dtype or dtype_of(x))


def _broadcast(shape: Any, *others: Any) -> Any:
    """Returns ``shape`` broadcast with the shapes of ``others``, where all of them are known."""
    known, operands = shape_and_operands(shape)
    shapes: list[Shape] = [known, *(shape_of(other) for other in others)]
    if operands or any(s is None or not all(isinstance(d, int) for d in s) for s in shapes):
        return shape
    return broadcast_shapes(shapes)


def uniform(shape: Any, minval: Any, maxval: Any, seed: Any = None, dtype: Any = float32) -> Tensor:
    """Returns evenly distributed numbers from minval up to and without maxval.

    In a float dtype d_minval = ct (1 - u) and d_maxval = ct u, where u is the standard draw.
    """
    shape, name = _broadcast(shape, minval, maxval), to_numpy_name(dtype)
    if "int" in name:
        known, operands = shape_and_operands(shape)
        source = generator_of(seed)
        return wrap(draws.draw_integers(source, minval, maxval, *operands, shape=known, dtype=name))
    return minval + drawn("uniform", shape, seed, name) * (maxval - minval)


def normal(shape: Any, mean: Any, stddev: Any, seed: Any = None) -> Tensor:
    """Returns normally distributed numbers: d_mean = ct, d_stddev = ct times the standard draw."""
    return mean + drawn("normal", _broadcast(shape, mean, stddev), seed) * stddev


def laplace(shape: Any, mean: Any, lambda_param: Any, seed: Any = None) -> Tensor:
    """Returns numbers of the Laplace distribution: d_mean = ct, d_lambda = ct times the standard
    draw."""
    noise = drawn("laplace", _broadcast(shape, mean, lambda_param), seed)
    return mean + noise * lambda_param


def standard_normal(shape: Any, seed: Any = None) -> Tensor:
    """Returns normally distributed numbers of mean 0 and deviation 1, in float32."""
    return drawn("normal", shape, seed)


def standard_laplace(shape: Any, seed: Any = None) -> Tensor:
    """Returns numbers of the Laplace distribution of mean 0 and scale 1, in float32."""
    return drawn("laplace", shape, seed)


def rand(*size: Any, dtype: Any = None, seed: Any = None) -> Tensor:
    """Returns evenly distributed numbers from 0 up to and without 1."""
    return drawn("uniform", one_or_many(size), seed, dtype)


def rand_like(input: Any, seed: Any = None, *, dtype: Any = None) -> Tensor:
    """Returns evenly distributed numbers from 0 up to and without 1, in the shape of input."""
    return drawn_like("uniform", input, seed, dtype)


def randn(*size: Any, dtype: Any = None, seed: Any = None) -> Tensor:
    """Returns normally distributed numbers of mean 0 and deviation 1."""
    return drawn("normal", one_or_many(size), seed, dtype)


def randn_like(input: Any, seed: Any = None, *, dtype: Any = None) -> Tensor:
    """Returns normally distributed numbers of mean 0 and deviation 1, in the shape of input."""
    return drawn_like("normal", input, seed, dtype)


def randint(low: Any, high: Any, size: Any, seed: Any = None, *, dtype: Any = None) -> Tensor:
    """Returns whole numbers from low up to and without high, in int64 unless a dtype is given."""
    name = "int64" if dtype is None else to_numpy_name(dtype)
    if "int" not in name:
        raise ValueError(f"For 'randint', the 'dtype' must be an int type, but got {name}.")
    known, operands = shape_and_operands(size)
    return wrap(
        draws.draw_integers(generator_of(seed), low, high, *operands, shape=known, dtype=name)
    )


def randint_like(input: Any, low: Any, high: Any, seed: Any = None, *, dtype: Any = None) -> Tensor:
    """Returns ints as ``randint`` does, in the shape of input, and in its dtype unless one is
    given."""
    return randint(low, high, arrays.shape(input), seed, dtype=dtype or dtype_of(input))


def randperm(n: Any, seed: Any = 0, offset: int = 0, dtype: Any = int64) -> Tensor:
    """Returns the whole numbers below n in random order."""
    return wrap(draws.draw_order(generator_of(seed), n, dtype=to_numpy_name(dtype)))


def shuffle(x: Any, seed: Any = None) -> Tensor:
    """Returns the rows of x in random order; the gradient goes back to where each row came from."""
    return arrays.gather(x, randperm(arrays.shape(x)[0], seed), 0)


def bernoulli(input: Any, p: Any = 0.5, seed: Any = None) -> Tensor:
    """Returns ones, each with the probability p, and zeros, in the shape and dtype of input."""
    if not hasattr(p, "__apply_operator__") and not 0 <= p <= 1:
        raise ValueError(f"For bernoulli, p should be in [0, 1], but got {p}.")
    hit = comparisons.less(drawn("uniform", arrays.shape(input), seed), p)
    return in_dtype(hit, dtype_of(input) or "float32")


def multinomial(input: Any, num_samples: int, replacement: bool = True, seed: Any = None) -> Tensor:
    """Returns positions drawn with the probabilities in the last axis, which need not add up to 1:
    int32.

    With replacement by the place of a uniform draw among the running sums; without it by the
    largest of log(u) / p, as Efraimidis and Spirakis do.
    """
    rank = known_rank(input, "multinomial")
    p = in_dtype(input, "float64")
    lead = arrays.shape(input)[:-1]
    if replacement:
        sums = reductions.cumsum(p, -1)
        total = indexing.index(sums, index=("...", ("slice", -1, None, None)))
        points = drawn("uniform", (*lead, num_samples), seed, "float64") * total
        passed = arrays.expand_dims(points, -1) >= arrays.expand_dims(sums, rank - 1)
        places = reductions.sum(in_dtype(passed, "int32"), -1)
        return in_dtype(arithmetic.minimum(places, arrays.shape(input)[-1] - 1), "int32")
    count = shape_of(input)
    if count is not None and isinstance(count[-1], int) and num_samples > count[-1]:
        raise ValueError(
            "For 'multinomial', the 'num_samples' must be less than the last dimension of input "
            f"without 'replacement', but got 'num_samples': {num_samples}"
        )
    noise = arithmetic.log(1.0 - drawn("uniform", arrays.shape(input), seed, "float64"))
    _, places = sorting.topk(noise / arithmetic.maximum(p, 1e-300), num_samples)
    return in_dtype(places, "int32")


def random_categorical(logits: Any, num_sample: int, seed: Any = 0, dtype: Any = int64) -> Tensor:
    """Returns positions drawn from each row of a matrix of unscaled log probabilities: the place of
    the largest sum of a logit and a standard Gumbel draw."""
    rows, columns = arrays.shape(logits)
    noise = drawn("gumbel", (rows, num_sample, columns), seed, "float64")
    scores = noise + arrays.expand_dims(in_dtype(logits, "float64"), 1)
    return in_dtype(reductions.argmax(scores, -1), dtype)


def gamma(shape: Any, alpha: Any, beta: Any, seed: Any = None) -> Tensor:
    """Returns gamma variates of the shape alpha and the rate beta: those of rate 1, divided by
    beta."""
    return _gamma(_broadcast(shape, alpha, beta), alpha, seed) / beta


def random_gamma(shape: Any, alpha: Any, seed: Any = None) -> Tensor:
    """Returns gamma variates of rate 1, a block of the shape for each alpha: ``shape +
    alpha.shape``."""
    return _gamma((*_sizes(shape), *arrays.shape(alpha)), alpha, seed)


def _gamma(shape: Any, alpha: Any, seed: Any) -> Any:
    known, operands = shape_and_operands(shape)
    source, name = generator_of(seed), dtype_of(alpha) or "float32"
    return wrap(draws.draw_gamma(source, alpha, *operands, shape=known, dtype=name))


def poisson(shape: Any, mean: Any, seed: Any = None) -> Tensor:
    """Counts of the rates ``mean``, in float32."""
    return _poisson(_broadcast(shape, mean), mean, seed, "float32")


def random_poisson(shape: Any, rate: Any, seed: Any = None, dtype: Any = float32) -> Tensor:
    """Counts, a block of the shape for each rate: ``shape + rate.shape``."""
    return _poisson((*_sizes(shape), *arrays.shape(rate)), rate, seed, to_numpy_name(dtype))


def _poisson(shape: Any, rate: Any, seed: Any, name: str) -> Any:
    known, operands = shape_and_operands(shape)
    return wrap(draws.draw_poisson(generator_of(seed), rate, *operands, shape=known, dtype=name))


def _sizes(shape: Any) -> tuple[Any, ...]:
    shape = setting(shape)
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)


def normal_like(self: Any, mean: Any = 0.0, std: Any = 1.0, *, generator: Any = None) -> Any:
    """Returns normally distributed numbers in this shape and dtype."""
    return drawn_like("normal", self, generator) * std + mean


def uniform_like(self: Any, from_: Any = 0.0, to: Any = 1.0, *, generator: Any = None) -> Any:
    """Returns evenly distributed numbers from ``from_`` up to and without ``to``, in this shape."""
    return drawn_like("uniform", self, generator) * (to - from_) + from_


__all__ = [
    "bernoulli",
    "gamma",
    "laplace",
    "multinomial",
    "normal",
    "poisson",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "random_categorical",
    "random_gamma",
    "random_poisson",
    "randperm",
    "shuffle",
    "standard_laplace",
    "standard_normal",
    "uniform",
]
