"""Values and gradients at kinks, poles and ties: the measured table, row by row.

A row with a star differs from MindSpore, which ``docs/differences.md`` tells; what stands here is
then the derivative, or torch's subgradient. Sensitivity is ones.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, grad, nn, ops

inf, nan = np.inf, np.nan

#: An expression over x and y, its inputs, its value and its gradients, flat.
ROWS: list[tuple[str, list[Any], list[float], list[list[float]]]] = [
    ("ops.relu(x)", [[-1, 0, 1]], [0, 0, 1], [[0, 0, 1]]),
    ("ops.relu6(x)", [[0, 6, 3]], [0, 6, 3], [[0, 1, 1]]),
    ("ops.leaky_relu(x,0.1)", [[-1, 0, 1]], [-0.1, 0, 1], [[0.1, 0.55, 1]]),
    ("ops.elu(x)", [[-1, 0, 1]], [-0.63212, 0, 1], [[0.36788, 1, 1]]),
    ("ops.selu(x)", [[-1, 0, 1]], [-1.1113, 0, 1.0507], [[0.646769, 1.7581, 1.0507]]),  # *
    ("ops.hardtanh(x)", [[-1, 0, 1]], [-1, 0, 1], [[0.5, 1, 0.5]]),
    ("ops.hardsigmoid(x)", [[-3, 0, 3]], [0, 0.5, 1], [[0, 0.16667, 0]]),
    ("ops.hardswish(x)", [[-3, 0, 3]], [0, 0, 3], [[-0.5, 0.5, 1.5]]),
    ("ops.hardshrink(x,0.5)", [[-0.5, 0, 0.5, 1]], [0, 0, 0, 1], [[0, 0, 0, 1]]),
    ("ops.softshrink(x,0.5)", [[-0.5, 0, 0.5, 1]], [0, 0, 0, 0.5], [[0, 0, 0, 1]]),
    ("ops.prelu(x.reshape(3,1),y).reshape(-1)",
     [[-1, 0, 1], [0.2]], [-0.2, 0, 1], [[0.2, 0.2, 1], [-1]]),
    ("ops.softplus(x)", [[-100, 0, 100]], [0, 0.69315, 100], [[0, 0.5, 1]]),
    ("ops.softsign(x)", [[-1, 0, 1]], [-0.5, 0, 0.5], [[0.25, 1, 0.25]]),
    ("ops.logsigmoid(x)",
     [[-100, 0, 100]], [-100, -0.693147, -3.78351e-44], [[1, 0.5, 3.78351e-44]]),  # *
    ("ops.sigmoid(x)", [[-200, 0, 200]], [0, 0.5, 1], [[0, 0.25, 0]]),
    ("ops.abs(x)", [[-1, 0, 1]], [1, 0, 1], [[-1, 0, 1]]),
    ("ops.abs(x)", [[nan, 1]], [nan, 1], [[nan, 1]]),  # *
    ("ops.sign(x)", [[-1, 0, 1]], [-1, 0, 1], [[0, 0, 0]]),
    ("ops.floor(x)", [[-1.5, 0, 1]], [-2, 0, 1], [[0, 0, 0]]),
    ("ops.ceil(x)", [[-1.5, 0, 1]], [-1, 0, 1], [[0, 0, 0]]),
    ("ops.round(x)", [[-1.5, 0.5, 2.5]], [-2, 0, 2], [[0, 0, 0]]),
    ("ops.trunc(x)", [[-1.5, 0.5]], [-1, 0], [[0, 0]]),
    ("ops.sqrt(x)", [[-1, 0, 4]], [nan, 0, 2], [[nan, inf, 0.25]]),
    ("ops.rsqrt(x)", [[0, 4]], [inf, 0.5], [[-inf, -0.0625]]),
    ("ops.log(x)", [[-1, 0, 2]], [nan, -inf, 0.69315], [[-1, inf, 0.5]]),
    ("ops.log1p(x)", [[-1, 0]], [-inf, 0], [[inf, 1]]),
    ("ops.log2(x)", [[0, 2]], [-inf, 1], [[inf, 0.72135]]),
    ("ops.reciprocal(x)", [[0, 2]], [inf, 0.5], [[-inf, -0.25]]),
    ("x/y", [[1, 0, 2], [0, 0, 4]], [inf, nan, 0.5], [[inf, inf, 0.25], [-inf, nan, -0.125]]),  # *
    ("ops.DivNoNan()(x,y)", [[1, 0, 2], [0, 0, 4]], [0, 0, 0.5], [[0, 0, 0.25], [0, 0, -0.125]]),
    ("ops.xlogy(x,y)",
     [[0, 0, 1], [0, 2, 0]], [0, 0, -inf], [[0, 0.69315, -inf], [nan, 0, inf]]),  # *
    ("ops.xdivy(x,y)", [[0, 1], [0, 2]], [0, 0.5], [[0, 0.5], [0, -0.25]]),
    ("ops.pow(x,y)",
     [[0, 0, 0, 0], [0, 1, 2, 0.5]], [1, 0, 0, 0], [[0, 1, 0, inf], [0, 0, 0, 0]]),  # *
    ("ops.pow(x,y)", [[-2, -2, -2], [2, 3, 0.5]], [4, -8, nan], [[-4, 12, nan], [nan, nan, nan]]),
    ("x**2", [[0, -2]], [0, 4], [[0, -4]]),
    ("x**2.0", [[0, -2]], [0, 4], [[0, -4]]),
    ("x**0", [[0, 2]], [1, 1], [[0, 0]]),  # *
    ("x**1", [[0, 2]], [0, 2], [[1, 1]]),
    ("x**-1", [[0, 2]], [inf, 0.5], [[-inf, -0.25]]),
    ("x**0.5", [[0, 4]], [0, 2], [[inf, 0.25]]),
    ("2**x", [[0, 3]], [1, 8], [[0.69315, 5.5452]]),
    ("0**x", [[0, 1]], [1, 0], [[0, 0]]),
    ("ops.maximum(x,y)", [[1, 2, 3], [2, 2, 2]], [2, 2, 3], [[0, 0.5, 1], [1, 0.5, 0]]),
    ("ops.minimum(x,y)", [[1, 2, 3], [2, 2, 2]], [1, 2, 2], [[1, 0.5, 0], [0, 0.5, 1]]),
    ("ops.maximum(x,2.0)", [[1, 2, 3]], [2, 2, 3], [[0, 0.5, 1]]),
    ("ops.maximum(x,y)", [[nan, 1], [1, nan]], [nan, nan], [[1, 1], [1, 1]]),  # *
    ("ops.fmax(x,y)", [[1, 2], [2, 2]], [2, 2], [[0, 1], [1, 0]]),
    ("x.max()", [[3, 1, 3, 3]], [3], [[0.33333, 0, 0.33333, 0.33333]]),
    ("x.min()", [[1, 3, 1]], [1], [[0.5, 0, 0.5]]),
    ("x.max(axis=0)", [[[3, 1], [3, 2]]], [3, 2], [[1, 0, 0, 1]]),
    ("ops.ReduceMax()(x,0)", [[[3, 1], [3, 2]]], [3, 2], [[0.5, 0, 0.5, 1]]),
    ("ops.amax(x,0)", [[[3, 1], [3, 2]]], [3, 2], [[0.5, 0, 0.5, 1]]),
    ("ops.max(x,0)[0]", [[[3, 1], [3, 2]]], [3, 2], [[1, 0, 0, 1]]),
    ("ops.min(x,0)[0]", [[[3, 1], [3, 2]]], [3, 1], [[1, 1, 0, 0]]),
    ("ops.ArgMaxWithValue(axis=0)(x)[1]", [[[3, 1], [3, 2]]], [3, 2], [[1, 0, 0, 1]]),
    ("ops.median(x,0)[0]", [[1, 2, 2, 3]], [2], [[0, 1, 0, 0]]),
    ("ops.cummax(x,0)[0]", [[1, 3, 3, 2]], [1, 3, 3, 3], [[1, 1, 2, 0]]),  # *
    ("ops.clamp(x,0.,1.)", [[-1, 0, 0.5, 1, 2]], [0, 0, 0.5, 1, 1], [[0, 1, 1, 1, 0]]),
    ("ops.clip_by_value(x,0.,1.)", [[-1, 0, 0.5, 1, 2]], [0, 0, 0.5, 1, 1], [[0, 0.5, 1, 0.5, 0]]),
    ("x.clip(0.,1.)", [[-1, 0, 0.5, 1, 2]], [0, 0, 0.5, 1, 1], [[0, 1, 1, 1, 0]]),
    ("ops.clamp(x,y,None)", [[-1, 0, 2], [0, 0, 0]], [0, 0, 2], [[0, 1, 1], [1, 0, 0]]),
    ("ops.where(x>0,ops.sqrt(x),x)", [[-1, 4]], [-1, 2], [[1, 0.25]]),  # *
    ("ops.where(x>0,1/x,x*0)", [[0, 2]], [0, 0.5], [[0, -0.25]]),  # *
    ("ops.select(x>1.5,x,y)", [[1, 2], [3, 4]], [3, 2], [[0, 1], [1, 0]]),
    ("ops.norm(x)", [[0, 0]], [0], [[0, 0]]),  # *
    ("ops.LpNorm(axis=0,p=2)(x)", [[0, 0]], [1e-12], [[0, 0]]),
    ("ops.sqrt((x*x).sum())", [[0, 0]], [0], [[0, 0]]),  # *
    ("ops.norm(x,1)", [[0, 2]], [2], [[0, 1]]),
    ("ops.norm(x,float('inf'))", [[2, -2, 1]], [2], [[1, 0, 0]]),
    ("x.std()", [[2, 2, 2]], [0], [[0, 0, 0]]),  # *
    ("x.var()", [[2]], [0], [[0]]),
    ("x.prod()", [[2, 0, 3]], [0], [[0, 6, 0]]),
    ("x.prod()", [[0, 0, 3]], [0], [[0, 0, 0]]),
    ("ops.ReduceProd()(x)", [[2, 0, 3]], [0], [[0, 6, 0]]),  # *
    ("ops.cumprod(x,0)", [[2, 0, 3]], [2, 0, 0], [[1, 8, 0]]),  # *
    ("ops.sort(x)[0]*Tensor([1.,2.,3.],ms.float32)", [[2, 1, 2]], [1, 4, 6], [[2, 1, 3]]),
    ("ops.topk(x,2)[0]*Tensor([1.,2.],ms.float32)", [[2, 1, 2, 2]], [2, 4], [[1, 0, 2, 0]]),  # *
    ("ops.max_pool2d(x,2)", [[[[[1, 1], [1, 1]]]]], [1], [[1, 0, 0, 0]]),
    ("nn.MaxPool2d(2,2)(x)", [[[[[1, 1], [1, 1]]]]], [1], [[1, 0, 0, 0]]),
    ("ops.adaptive_max_pool2d(x,(1,1))", [[[[[1, 1], [1, 1]]]]], [1], [[1, 0, 0, 0]]),
    ("x%y", [[5, -5], [3, 3]], [2, 1], [[1, 1], [-1, 2]]),
    ("x//y", [[5, -5], [3, 3]], [1, -2], [[0, 0], [0, 0]]),
    ("ops.fmod(x,y)", [[5, -5], [3, 3]], [2, -2], [[1, 1], [-1, 1]]),
    ("ops.atan2(x,y)", [[0, 1], [0, 2]], [0, 0.46365], [[0, 0.4], [0, -0.2]]),  # *
    ("ops.asin(x)", [[1, 0]], [1.5708, 0], [[inf, 1]]),
    ("ops.acos(x)", [[1, 0]], [0, 1.5708], [[-inf, -1]]),
    ("ops.acosh(x)", [[1, 2]], [0, 1.317], [[inf, 0.57735]]),
    ("ops.atanh(x)", [[1, 0]], [inf, 0], [[inf, 1]]),
    ("ops.hypot(x,y)", [[0, 3], [0, 4]], [0, 5], [[0, 0.6], [0, 0.8]]),  # *
    ("ops.tan(x)", [[1.5707964]], [-2.2877e+07], [[5.2337e+14]]),
    ("ops.erfinv(x)", [[1, 0]], [inf, 0], [[inf, 0.88623]]),
    ("ops.exp(x)", [[100]], [inf], [[inf]]),
    ("ops.softmax(x)[1]", [[-inf, 0, 1]], [0.26894], [[0, 0.19661, -0.19661]]),
    ("ops.log_softmax(x)[0]", [[1, 1]], [-0.69315], [[0.5, -0.5]]),
    ("ops.logsumexp(x,0)", [[-inf, -inf]], [-inf], [[nan, nan]]),  # *
    ("ops.smooth_l1_loss(x,y,beta=1,reduction='none')",
     [[0, 1, 2], [0, 0, 0]], [0, 0.5, 1.5], [[0, 1, 1], [0, -1, -1]]),
    ("ops.l1_loss(x,y,reduction='none')", [[0, 1], [0, 0]], [0, 1], [[0, 1], [0, -1]]),
    ("ops.huber_loss(x,y,reduction='none')",
     [[0, 1, 2], [0, 0, 0]], [0, 0.5, 1.5], [[0, 1, 1], [0, -1, -1]]),
    ("ops.binary_cross_entropy(x,y)",
     [[0, 1, 0.5], [0, 1, 1]], [0.23105],
     [[0.333333, -0.333333, -0.666667], [9.21034, -9.21034, 0]]),  # *
    ("ops.relu(1-x*y)", [[1, 2], [1, -1]], [0, 3], [[0, 1], [0, -2]]),
    ("ops.cosine_similarity(x,y,dim=1)", [[[0, 0]], [[1, 0]]], [0], [[1e+08, 0], [0, 0]]),
    ("ops.L2Normalize(axis=1)(x)", [[[0, 0]]], [0, 0], [[10000, 10000]]),
    ("ops.cdist(x,y)", [[[1, 1]], [[1, 1]]], [0], [[0, 0], [0, 0]]),
    ("ops.det(x)", [[[1, 2], [2, 4]]], [0], [[4, -2, -2, 1]]),  # *
    ("x*y", [[[1], [2]], [1, 2, 3]], [1, 2, 3, 2, 4, 6], [[6, 6], [3, 3, 3]]),
    ("x*y", [2, [1, 2, 3]], [2, 4, 6], [[6], [2, 2, 2]]),
    ("ops.broadcast_to(x,(3,2))", [[1, 2]], [1, 2, 1, 2, 1, 2], [[3, 3]]),
    ("x*2", [[]], [], [[]]),
    ("x.sum()", [[]], [0], [[]]),  # *
    ("x.mean()", [[]], [nan], [[]]),  # *
    ("ops.gather(x,Tensor([0,0,2]),0)", [[1, 2, 3]], [1, 1, 3], [[2, 0, 1]]),
    ("ops.gather(x,Tensor([-1]),0)", [[[1, 2], [3, 4]]], [3, 4], [[0, 0, 1, 1]]),  # *
    ("ops.relu(x)", [[nan, 1]], [nan, 1], [[0, 1]]),  # *
    ("ops.exp(x-x.max())", [[1, 3, 3]], [0.13534, 1, 1], [[0.13534, -0.067668, -0.067668]]),
    ("ops.nan_to_num(x,0.0)", [[nan, inf, 1]], [0, 3.4028e+38, 1], [[0, 0, 1]]),
    ("ops.inverse(x)", [[[2, 0], [0, 4]]], [0.5, 0, 0, 0.25], [[-0.25, -0.125, -0.125, -0.0625]]),
    ("ops.lerp(x,y,0.25)", [[1, 2], [3, 4]], [1.5, 2.5], [[0.75, 0.75], [0.25, 0.25]]),
    ("ops.masked_fill(x,Tensor([True,False]),5.0)", [[1, 2]], [5, 2], [[0, 1]]),
    ("ops.sinc(x)", [[0, 0.5]], [1, 0.63662], [[0, -1.2732]]),
    ("ops.lgamma(x)", [[1, 2.5]], [0, 0.28468], [[-0.57722, 0.70316]]),
    ("ops.gelu(x,approximate='none')",
     [[-1, 0, 1]], [-0.15866, 0, 0.84134], [[-0.083315, 0.5, 1.0833]]),
    ("ops.gelu(x)", [[-1, 0, 1]], [-0.15866, 0, 0.84134], [[-0.083315, 0.5, 1.0833]]),
    ("ops.mish(x)", [[-1, 0, 1]], [-0.3034, 0, 0.8651], [[0.059216, 0.6, 1.049]]),
    ("ops.silu(x)", [[-1, 0, 1]], [-0.26894, 0, 0.73106], [[0.07233, 0.5, 0.92767]]),
    ("ops.sqrt(x*x)", [[0, -2]], [0, 2], [[0, -1]]),  # *
    ("x.prod()", [[]], [1], [[]]),
    ("ops.norm(x)", [[]], [0], [[]]),
    ("ops.MulNoNan()(x, y)", [[inf, 3, 2], [0, 0, 4]], [0, 0, 8], [[0, 0, 4], [0, 3, 2]]),
    ("ops.fmax(x, y)", [[nan, 1], [1, nan]], [1, 1], [[0, 1], [1, 0]]),
    ("ops.fmin(x, y)", [[1, 2, 1], [2, 2, nan]], [1, 2, 1], [[1, 1, 1], [0, 0, 0]]),
    ("ops.minimum(x, y)", [[nan, 1], [1, nan]], [nan, nan], [[1, 1], [1, 1]]),
    ("ops.cumprod(x, 0)", [[2, 0, 3, 0]], [2, 0, 0, 0], [[1, 8, 0, 0]]),
    ("ops.norm(x, 1.5)", [[0, 4]], [4], [[0, 1]]),
    ("ops.norm(x, 0.5)", [[0, 4]], [4], [[0, 1]]),
    ("ops.dist(x, y)", [[1, 2], [1, 2]], [0], [[0, 0], [0, 0]]),
]  # fmt: skip


def function_of(text: str, count: int) -> Callable[..., Any]:
    """A function that can be compiled: its source is where Python's own tools look for it."""
    file = f"<{text}>"
    source = f"def f({', '.join('xyz'[:count])}):\n    return {text}\n"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"ops": ops, "nn": nn, "ms": ms, "Tensor": Tensor}
    exec(compile(source, file, "exec"), scope)
    return scope["f"]


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
@pytest.mark.parametrize(("text", "inputs", "value", "gradients"), ROWS)
def test_value_and_gradients(text: str, inputs: list, value: list, gradients: list) -> None:
    function = function_of(text, len(inputs))
    tensors = [Tensor(np.array(numbers, np.float32)) for numbers in inputs]
    got = function(*tensors).asnumpy()
    np.testing.assert_allclose(got.ravel(), np.array(value), rtol=1e-4, atol=1e-6)
    assert got.dtype == np.float32
    with np.errstate(all="ignore"):
        found = ops.GradOperation(get_all=True)(function)(*tensors)
    for slope, tensor, expected in zip(found, tensors, gradients, strict=True):
        assert slope.shape == tensor.shape and slope.asnumpy().dtype == np.float32
        np.testing.assert_allclose(slope.asnumpy().ravel(), expected, rtol=1e-4, atol=1e-6)


def test_derivatives_of_sinc_at_0() -> None:
    """Of sin(pi x) / (pi x) = 1 - (pi x)² / 6 + (pi x)⁴ / 120 - …, where terms cancel."""
    x = Tensor(np.array([0.0, 1e-9, -1e-4, 1e-3]))
    first = grad(ops.sinc)
    second = grad(lambda x: first(x))
    third = grad(lambda x: second(x))
    p, a = math.pi, x.asnumpy()
    np.testing.assert_allclose(first(x).asnumpy(), -(p**2) * a / 3 + p**4 * a**3 / 30, rtol=1e-9)
    np.testing.assert_allclose(
        second(x).asnumpy(), -(p**2) / 3 + p**4 * a**2 / 10 - p**6 * a**4 / 168, rtol=1e-12
    )
    np.testing.assert_allclose(third(x).asnumpy(), p**4 * a / 5 - p**6 * a**3 / 42, rtol=1e-7)


@pytest.mark.parametrize(
    "matrix",
    [[[1.0, 2.0], [2.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]],
     [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]], [[1.0, 2.0], [2.0, 4.0 + 1e-12]]],
)  # fmt: skip
def test_second_derivative_of_det_of_a_singular_matrix(matrix: list[list[float]]) -> None:
    """det is a polynomial: its gradient's differences are exact up to rounding."""
    x = np.array(matrix)
    weight = np.cos(np.arange(x.size)).reshape(x.shape)
    slope = grad(ops.det)

    def along(x: Any) -> Any:
        return (slope(x) * Tensor(weight)).sum()

    expected = np.empty_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 0.5
        difference = slope(Tensor(x + step)).asnumpy() - slope(Tensor(x - step)).asnumpy()
        expected[place] = (difference * weight).sum()
    np.testing.assert_allclose(grad(along)(Tensor(x)).asnumpy(), expected, atol=1e-11)
