"""Partial application and mapping, at once and in compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops

X = np.array([1.0, 2.0])


def test_partial_application_gives_the_first_arguments() -> None:
    def weighted(a: Any, b: Any, c: Any) -> Any:
        return a * 100 + b * 10 + c

    def applied(x: Any) -> Any:
        return ops.Partial()(weighted, x, 2.0)(x * x)

    for call in (applied, ms.jit(applied)):
        np.testing.assert_allclose(call(Tensor(X)).asnumpy(), 100 * X + 20 + X * X)
    slope = ms.grad(lambda x: applied(x).sum())(Tensor(X))
    np.testing.assert_allclose(slope.asnumpy(), 100 + 2 * X)


def test_a_map_goes_over_one_level_and_a_hyper_map_over_all() -> None:
    double = ops.MultitypeFuncGraph("double")

    @double.register("Tensor")
    def _of_a_tensor(x: Any) -> Any:
        return x * 2

    pair = (Tensor(X), Tensor(3 * X))
    for mapper, given in ((ops.Map(), pair), (ops.HyperMap(), (pair, Tensor(X)))):
        found = mapper(double, given)
        assert isinstance(found, tuple) and len(found) == 2
        last = found[-1].asnumpy()
        np.testing.assert_allclose(last, 2 * given[-1].asnumpy())
    np.testing.assert_allclose(ops.HyperMap()(double, (pair, Tensor(X)))[0][1].asnumpy(), 6 * X)
