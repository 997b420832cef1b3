"""Initializers: their range, their spread, and repeatability."""

import math

import numpy as np
import pytest

from autodiff_compiler.common import Tensor, get_seed, set_seed
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.initializer import (
    Constant,
    HeNormal,
    HeUniform,
    Identity,
    Initializer,
    Normal,
    TruncatedNormal,
    Uniform,
    XavierNormal,
    XavierUniform,
    initializer,
)

SHAPE = (200, 300)


def drawn(init):
    set_seed(7)
    return initializer(init, SHAPE, mstype.float64).asnumpy()


@pytest.mark.parametrize(
    ("init", "value"), [("zeros", 0), ("One", 1), (3.5, 3.5), (Constant(-2), -2)]
)
def test_constants(init, value):
    made = initializer(init, [2, 3], mstype.float16)
    assert made.dtype is mstype.float16
    assert made.tolist() == [[value] * 3] * 2


def test_identity():
    assert initializer(Identity(), (2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize(
    ("init", "bound"),
    [
        (Uniform(0.5), 0.5),
        (XavierUniform(2), 2 * math.sqrt(6 / 500)),
        (HeUniform(), math.sqrt(6 / 300)),
        (HeUniform(math.sqrt(5)), math.sqrt(1 / 300)),
        (HeUniform(mode="fan_out"), math.sqrt(6 / 200)),
    ],
)
def test_uniform(init, bound):
    array = drawn(init)
    assert 0.999 * bound < np.abs(array).max() <= bound
    assert array.std() == pytest.approx(bound / math.sqrt(3), rel=0.02)


@pytest.mark.parametrize(
    ("init", "mean", "sigma"),
    [
        (Normal(0.5, 2.0), 2.0, 0.5),
        (XavierNormal(), 0, math.sqrt(2 / 500)),
        (HeNormal(), 0, math.sqrt(2 / 300)),
    ],
)
def test_normal(init, mean, sigma):
    array = drawn(init)
    assert array.mean() == pytest.approx(mean, abs=0.02 * sigma)
    assert array.std() == pytest.approx(sigma, rel=0.02)


def test_truncated_normal():
    array = drawn(TruncatedNormal(0.1))
    assert 0.19 < np.abs(array).max() <= 0.2
    # The spread of a normal distribution cut at two sigma is 0.8796 sigma.
    assert array.std() == pytest.approx(0.08796, rel=0.02)


def test_seed_repeats():
    set_seed(3)
    first = initializer("normal", [4]), np.random.rand()
    set_seed(3)
    second = initializer("normal", [4]), np.random.rand()
    assert get_seed() == 3
    assert first[0].tolist() == second[0].tolist()
    assert first[1] == second[1]


def test_own_initializer():
    class Ramp(Initializer):
        def _initialize(self, array):
            array[...] = np.arange(array.size).reshape(array.shape)

    assert initializer(Ramp(), 3).tolist() == [0, 1, 2]


def test_refuses():
    with pytest.raises(ValueError, match="the class corresponding to 'zzz' was not found"):
        initializer("zzz", [2])
    with pytest.raises(TypeError, match="For 'initializer', the type of the 'init' argument"):
        initializer([1], [2])
    with pytest.raises(ValueError, match="which is not 'shape'"):
        initializer(Tensor([1]), [2])
    with pytest.raises(ValueError, match="a fan needs two dimensions"):
        initializer("he_uniform", [2])
