"""A batch times one matrix is one product where that is faster, compiled and at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ad
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.common import eager_kernels
from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import parse_type
from autodiff_compiler.operators.linalg import joined_products

#: The shape of a batch, and the sizes of the matrix: inner and columns.
SHAPES = [
    ((2, 3, 4), 4),
    ((1, 3, 64), 64),
    ((8, 1, 64), 64),
    ((64, 2, 32), 32),
    ((8, 16, 64), 32),
    ((2, 3, 16, 64), 32),
    ((8, 4, 128), 128),
    ((2, 0, 64), 64),
    ((3, 2, 2, 1, 64), 48),
    ((32, 32), 64),
]


@pytest.fixture(params=[False, True], ids=["as measured", "always"])
def _always(request: pytest.FixtureRequest) -> Any:
    """Runs a test with the thresholds, and with one product wherever there can be one."""
    eager_kernels._KERNELS.clear()
    costs = {"joined_product_terms": 0, "joined_product_rows": 10**9} if request.param else {}
    with changed_costs(**costs):
        yield
    eager_kernels._KERNELS.clear()


def _data(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def _tolerance(dtype: str) -> dict[str, float]:
    return {"rtol": 1e-4, "atol": 1e-4} if dtype == "float32" else {"rtol": 1e-12, "atol": 1e-11}


@pytest.mark.usefixtures("_always")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "columns"), SHAPES)
def test_products_are_numpys(shape: tuple[int, ...], columns: int, dtype: str):
    x, w = _data(*shape, dtype=dtype), _data(shape[-1], columns, dtype=dtype, seed=1)
    expected, ct = np.matmul(x, w), _data(*shape[:-1], columns, dtype=dtype, seed=2)
    axes = tuple(range(x.ndim - 1))
    d_x, d_w = np.matmul(ct, w.T), np.tensordot(x, ct, (axes, axes))
    near = _tolerance(dtype)
    layer = nn.Dense(shape[-1], columns, has_bias=False, weight_init=Tensor(w.T.copy()))
    at_once: list[tuple[Callable[..., Any], np.ndarray]] = [
        (ops.matmul, w),
        (lambda x, v: ops.dense(x, v), w.T.copy()),
        (lambda x, v: x @ ops.transpose(v, (1, 0)), w.T.copy()),
    ]
    for function, factor in at_once:
        first = function(Tensor(x), Tensor(factor)).asnumpy()
        np.testing.assert_allclose(first, expected, **near)
        np.testing.assert_array_equal(function(Tensor(x), Tensor(factor)).asnumpy(), first)
    if dtype == "float32":
        np.testing.assert_allclose(layer(Tensor(x)).asnumpy(), expected, **near)
    for fn, factor, back in (
        (lambda x, v: np.sum((x @ v) * ct), w, d_w),
        (lambda x, v: np.sum((x @ v.T) * ct), w.T.copy(), d_w.T),
        (lambda x, v: np.sum(np.matmul(np.swapaxes(x, 0, -2), v) ** 2), w, None),
    ):
        found = ad.grad(fn, (0, 1))(x, factor)
        if back is not None:
            np.testing.assert_allclose(found[0], d_x, **near)
            np.testing.assert_allclose(found[1], back, **near)
        else:
            np.testing.assert_allclose(found[0], 2 * np.matmul(expected, w.T), **near)


EQUATIONS = [
    ("bij,jk->bik", (8, 16, 32), (32, 32)),
    ("bij,kj->bik", (8, 16, 32), (24, 32)),
    ("bij,jk->ik", (3, 4, 5), (5, 6)),
    ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("bqhd,bkhd->bhqk", (2, 4, 3, 5), (2, 6, 3, 5)),
    ("bi,bi->b", (4, 5), (4, 5)),
    ("i,j->ij", (4,), (5,)),
    ("ij,ij->", (4, 5), (4, 5)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    ("...i,ij->...j", (2, 3, 4), (4, 5)),
    ("ii,ij->j", (3, 3), (3, 4)),
    ("aij,jk->", (2, 3, 4), (4, 5)),
]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "complex64"])
@pytest.mark.parametrize("case", EQUATIONS, ids=[case[0] for case in EQUATIONS])
def test_einstein_sums_at_once_are_numpys(case: tuple[Any, ...], dtype: str):
    equation, *shapes = case
    given = [(3 * _data(*shape, seed=k)).astype(dtype) for k, shape in enumerate(shapes)]
    expected = np.einsum(equation, *given)
    for _ in range(2):
        found = ops.einsum(equation, *map(Tensor, given)).asnumpy()
        assert found.dtype == dtype and found.shape == expected.shape
        tolerance = 0.05 if dtype == "float16" else 1e-4
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=40 * tolerance)


def _source(fn: Callable[..., Any], *args: Any) -> str:
    ad.compile_info().clear()
    ad.grad(fn, (0, 1))(*args)
    (unit,) = ad.compile_info().units
    return unit.source


def test_the_text_stays_where_it_is_as_fast():
    x, w = _data(2, 3, 4), _data(4, 5)
    assert "np.matmul(x, w)" in _source(lambda x, w: np.sum(np.sin(x @ w)), x, w)
    x, w = _data(8, 16, 64), _data(64, 32)
    assert "np.matmul(x, w)" in _source(lambda x, w: np.sum(np.sin(x @ w)), x, w)


def test_one_product_where_it_is_faster():
    x, w = _data(8, 16, 64), _data(32, 64)
    text = _source(lambda x, w: np.sum(np.sin(x @ w.T)), x, w)
    assert "np.matmul" not in text and text.count("np.dot(") == 3
    text = _source(lambda x, w: np.sum(np.sin(x @ w)), _data(64, 1, 64), _data(64, 64))
    assert "np.matmul" not in text and text.count("np.dot(") == 3


def test_a_dense_layer_of_rank_three_does_not_loop_over_its_batch():
    layer, x = nn.Dense(64, 32), Tensor(_data(8, 16, 64))
    layer(x)
    kernels = [each for each in eager_kernels._KERNELS.items() if "dense" in str(each[0][0])]
    assert all("matmul" not in kernel.__code__.co_names for _, kernel in kernels if kernel)


def test_blas_multiplies_floats_of_one_dtype_and_of_known_sizes():
    def typed(text: str) -> Value:
        return Value(parse_type(text))

    assert joined_products.of_blas([typed("f32[2,3,4]"), typed("f32[4,5]")])
    for left, right in (
        ("i64[2,3,4]", "i64[4,5]"),
        ("f16[2,3,4]", "f16[4,5]"),
        ("f32[b,3,4]", "f32[4,5]"),
        ("f32[2,3,4]", "f64[4,5]"),
        ("f32[2,0,4]", "f32[4,5]"),
    ):
        assert not joined_products.of_blas([typed(left), typed(right)])
    assert not joined_products.of_blas([typed("f32[2,3]"), 2.0])
