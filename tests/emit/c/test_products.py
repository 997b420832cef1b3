"""Products in C are those of NumPy, for all steps of rows and columns and all remainders of tiles.

The elements are small integers, so that every order of the sums has the same result.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff_compiler.emit.c.expressions import C_TYPES
from autodiff_compiler.emit.c.products import NAMES, product_lines
from autodiff_compiler.emit.c.source import SERVICES
from autodiff_compiler.ir.types import SHORT
from autodiff_compiler.runtime.native import Compiler
from autodiff_compiler.runtime.native.build import build

DTYPES = ("float32", "float64")
LAYOUTS = ("rows", "columns", "gaps")
#: An exported function for each dtype: a static one is not visible.
SHOWN = """
void shown_{short}(
    const Services *services, int64_t m, int64_t n, int64_t k, {type} *c, int64_t c0, int64_t c1,
    {type} *a, int64_t a0, int64_t a1, {type} *b, int64_t b0, int64_t b1, _Bool adds) {{
  if (services)
    large_product_{short}(services, m, n, k, c, c0, c1, a, a0, a1, b, b0, b1, adds);
  else
    product_{short}(m, n, k, c, c0, c1, a, a0, a1, b, b0, b1, adds);
}}
"""
Multiply = Callable[..., None]


class Services(ctypes.Structure):
    """The services of a compiled function, of which only the products are used."""

    _fields_ = tuple(
        (name, ctypes.c_void_p)
        for name in ("reallocate", "poll", "product_f32", "product_f64", "details")
    )


@pytest.fixture(scope="module")
def multiply(c_compiler: Compiler) -> Multiply:
    """The products: ``multiply(c, a, b, adds, services)`` writes to ``c``."""
    lines = ["#include <stdint.h>", SERVICES, *product_lines(dict.fromkeys(DTYPES, True))]
    shown = [SHOWN.format(short=SHORT[dtype], type=C_TYPES[dtype]) for dtype in DTYPES]
    library = build("\n".join([*lines, *shown]), c_compiler)

    def run(c: Any, a: Any, b: Any, adds: bool, services: Services | None = None) -> None:
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *_types())(
            library.address(f"shown_{SHORT[str(c.dtype)]}")
        )
        sizes = a.shape[0], b.shape[1], a.shape[1]
        ends = [part for x in (c, a, b) for part in (x.ctypes.data, *_steps(x))]
        function(ctypes.addressof(services) if services else None, *sizes, *ends, adds)

    return run


def _types() -> list[Any]:
    size, end = ctypes.c_int64, [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
    return [size, size, size, *end, *end, *end, ctypes.c_bool]


def _steps(x: np.ndarray) -> list[int]:
    return [step // x.itemsize for step in x.strides]


def matrix(rows: int, columns: int, dtype: str, layout: str, seed: int) -> np.ndarray:
    """Small integers in memory of this layout."""
    values = np.random.default_rng(seed).integers(-3, 4, (rows, columns)).astype(dtype)
    if layout == "columns":
        return np.asfortranarray(values)
    if layout == "gaps":
        spread = np.full((2 * rows, 3 * columns), np.nan, dtype)
        spread[::2, ::3] = values
        return spread[::2, ::3]
    return values


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layouts", [*itertools.product(LAYOUTS, repeat=3)], ids="-".join)
def test_all_layouts_and_remainders(multiply: Multiply, dtype: str, layouts: Any) -> None:
    rows, columns, inner = (1, 2, 3, 4, 6, 8, 9, 11, 33), (1, 2, 7, 8, 16, 31, 33, 70), (1, 3, 130)
    for m, n, k in itertools.product(rows, columns, inner):
        c, a, b = (
            matrix(*size, dtype, layout, seed)
            for seed, (size, layout) in enumerate(zip(((m, n), (m, k), (k, n)), layouts))
        )
        for adds in (False, True):
            expected = a @ b + (c if adds else 0)
            multiply(c, a, b, adds)
            np.testing.assert_array_equal(c, expected, err_msg=f"{m} x {n} x {k}, {adds}")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layouts", [*itertools.product(LAYOUTS, repeat=3)], ids="-".join)
def test_blocks_of_rows_are_copied(multiply: Multiply, dtype: str, layouts: Any) -> None:
    """Many columns: rows are copied in blocks. Few of many rows: the transposed product.
    Few rows or columns with many terms: dot products."""
    for m, n, k in (
        (81, 275, 131),
        (5, 300, 2),
        (300, 5, 7),
        (16, 150, 260),
        (3, 8, 1100),
        (9, 2, 261),
    ):
        c, a, b = (
            matrix(*size, dtype, layout, seed)
            for seed, (size, layout) in enumerate(zip(((m, n), (m, k), (k, n)), layouts))
        )
        expected = a @ b + c
        multiply(c, a, b, True)
        np.testing.assert_array_equal(c, expected, err_msg=f"{m} x {n} x {k}")


@pytest.mark.parametrize("adds", [False, True])
def test_an_empty_sum_is_zero(multiply: Multiply, adds: bool) -> None:
    for m, n in ((1, 1), (2, 1), (1, 40), (7, 40)):
        c = np.full((m, n), 3.0)
        multiply(c, np.zeros((m, 0)), np.zeros((0, n)), adds)
        np.testing.assert_array_equal(c, 3.0 * adds)


def test_neighbours_stay(multiply: Multiply) -> None:
    around = np.full((12, 40), 7.0)
    a, b = matrix(10, 5, "float64", "rows", 1), matrix(5, 37, "float64", "rows", 2)
    multiply(around[1:11, 2:39], a, b, False)
    np.testing.assert_array_equal(around[1:11, 2:39], a @ b)
    around[1:11, 2:39] = 7.0
    assert np.all(around == 7.0)


def test_not_a_number_stays_in_its_row(multiply: Multiply) -> None:
    a, b = matrix(7, 4, "float64", "rows", 1), matrix(4, 35, "float64", "columns", 2)
    a[3, 2], b[0, 34] = np.nan, np.inf
    c = np.zeros((7, 35))
    multiply(c, a, b, False)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize("layouts", [*itertools.product(LAYOUTS, repeat=3)], ids="-".join)
def test_a_blas_gets_what_it_can_take(multiply: Multiply, layouts: Any) -> None:
    calls = []

    def gemm(_: Any, ta: int, tb: int, m: int, n: int, k: int, alpha: float, *rest: Any) -> None:
        a, lda, b, ldb, beta, c, ldc = rest
        calls.append((ta, tb))
        left, right = (
            _view(start, (inner, outer) if turned else (outer, inner), step)
            for start, outer, inner, step, turned in ((a, m, k, lda, ta), (b, k, n, ldb, tb))
        )
        result = _view(c, (m, n), ldc)
        result[:] = beta * result + alpha * (left.T if ta else left) @ (right.T if tb else right)

    pointer, size = ctypes.c_void_p, ctypes.c_int64
    flag, number = ctypes.c_int32, ctypes.c_double
    matrices = pointer, size, pointer, size, number, pointer, size
    callback = ctypes.CFUNCTYPE(None, pointer, flag, flag, size, size, size, number, *matrices)(
        gemm
    )
    services = Services(product_f64=ctypes.cast(callback, pointer).value)
    c, a, b = (
        matrix(*size, "float64", layout, seed)
        for seed, (size, layout) in enumerate(zip(((9, 35), (9, 12), (12, 35)), layouts))
    )
    for adds in (False, True):
        expected = a @ b + (c if adds else 0)
        multiply(c, a, b, adds, services)
        np.testing.assert_array_equal(c, expected)
    takes = layouts[0] == "rows" and "gaps" not in layouts
    turned = tuple(int(layout == "columns") for layout in layouts[1:])
    assert calls == ([turned] * 2 if takes else [])


def _view(start: int, shape: tuple[int, int], step: int) -> np.ndarray:
    """The matrix at an address, with rows ``step`` elements apart."""
    assert step >= shape[1]
    size = (shape[0] - 1) * step + shape[1]
    memory = np.frombuffer((ctypes.c_double * size).from_address(start))
    return np.lib.stride_tricks.as_strided(memory, shape, (8 * step, 8))


def test_without_a_blas(multiply: Multiply) -> None:
    a, b = matrix(9, 12, "float32", "rows", 1), matrix(12, 35, "float32", "rows", 2)
    c = np.zeros((9, 35), "float32")
    multiply(c, a, b, False, Services())
    np.testing.assert_array_equal(c, a @ b)


def test_the_names_are_reserved() -> None:
    text = "\n".join(product_lines(dict.fromkeys(DTYPES, True)))
    assert all(name in text for name in NAMES)
