"""Initializers: their range, their spread, and repeatability."""

import math

import numpy as np
import pytest

from autodiff_compiler.common import Tensor, get_seed, set_seed
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.initializer import (
    Constant,
    Dirac,
    HeNormal,
    HeUniform,
    Identity,
    Initializer,
    Normal,
    Orthogonal,
    Sparse,
    TruncatedNormal,
    Uniform,
    VarianceScaling,
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
    """The bounds are values. Of N(1, 0.5) up to its mean, the half-normal distribution is left."""
    array = drawn(TruncatedNormal(0.5, 1.0, -1.0, 1.0))
    assert array.min() >= -1 and 0.999 < array.max() <= 1
    assert array.mean() == pytest.approx(1 - 0.5 * math.sqrt(2 / math.pi), rel=0.01)
    assert array.std() == pytest.approx(0.5 * math.sqrt(1 - 2 / math.pi), rel=0.02)
    assert drawn(TruncatedNormal()).std() == pytest.approx(0.01, rel=0.02)
    with pytest.raises(ValueError, match="almost no probability"):
        TruncatedNormal(0.1, 0.0, 1.0, 2.0)


@pytest.mark.parametrize(
    ("init", "fan", "most"),
    [
        (VarianceScaling(), 300, 2 / 0.8796),
        (VarianceScaling(1.0, "fan_out", "uniform"), 200, math.sqrt(3)),
        (VarianceScaling(1.0, "fan_avg", "untruncated_normal"), 250, 5.5),
    ],
)
def test_variance_scaling(init, fan, most):
    array = drawn(init) * math.sqrt(fan)
    assert array.std() == pytest.approx(1, rel=0.01)
    assert 0.8 * most < np.abs(array).max() <= 1.0001 * most


@pytest.mark.parametrize("shape", [(3, 5), (6, 2), (4, 2, 3)])
def test_orthogonal(shape):
    matrix = initializer(Orthogonal(2.0), shape, mstype.float64).asnumpy().reshape(shape[0], -1)
    if len(matrix) > matrix.shape[1]:
        matrix = matrix.T
    np.testing.assert_allclose(matrix @ matrix.T, 4 * np.eye(len(matrix)), atol=1e-12)


def test_dirac_hands_channels_on():
    weight = initializer(Dirac(2), (4, 2, 3, 3)).asnumpy()
    want = np.zeros((4, 2, 3, 3))
    want[[0, 1, 2, 3], [0, 1, 0, 1], 1, 1] = 1
    np.testing.assert_array_equal(weight, want)
    assert initializer(Dirac(), (3, 1, 3)).asnumpy()[:, 0].tolist() == [[0, 1, 0], [0] * 3, [0] * 3]


def test_sparse_columns():
    array = drawn(Sparse(0.25, 0.1))
    assert ((array == 0).sum(0) == 50).all()
    assert array[array != 0].std() == pytest.approx(0.1, rel=0.02)


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

    class Level(Initializer):
        def __init__(self, level):
            super().__init__(level=level)

        def _initialize(self, array):
            array[...] = self.level

    assert initializer(Level(4), 2).tolist() == [4, 4]


def test_refuses():
    with pytest.raises(ValueError, match="the class corresponding to 'zzz' was not found"):
        initializer("zzz", [2])
    with pytest.raises(ValueError, match="the class corresponding to 'constant' was not found"):
        initializer("constant", [2])
    with pytest.raises(ValueError, match="must be positive integer, but got"):
        initializer("ones", [2, -1])
    with pytest.raises(TypeError, match="For 'initializer', the type of the 'init' argument"):
        initializer([1], [2])
    with pytest.raises(ValueError, match="which is not 'shape'"):
        initializer(Tensor([1]), [2])
    with pytest.raises(ValueError, match="a fan needs two dimensions"):
        initializer("he_uniform", [2])
    for wrong in (Dirac(3), Dirac()):
        with pytest.raises(ValueError, match="For Dirac initializer"):
            initializer(wrong, (4, 2, 3) if wrong.groups == 3 else (4, 2))
    with pytest.raises(ValueError, match="must be uniform, truncated_normal or untruncated_normal"):
        VarianceScaling(1.0, "fan_in", "normal")
