"""NumPy's BLAS: it is found, and its products are those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.runtime.native import Compiler, blas
from autodiff_compiler.runtime.native.blas import find_blas
from autodiff_compiler.runtime.native.function import load_native
from tests.runtime.native import gradients


def test_the_blas_of_wheels_is_found() -> None:
    build = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    if build["name"] == "scipy-openblas":
        found = find_blas()
        assert found is not None and found.is_64_bit and found.sgemm and found.dgemm


def test_without_a_library_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "extension_file", lambda: "/nowhere/none.so")
    assert find_blas() is None


def test_plain_names_may_have_long_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A BLAS with plain names is not called if NumPy was built with 64-bit integers."""
    names = [("scipy_cblas_{}64_", False)]
    if find_blas() is None or not find_blas().is_64_bit:
        pytest.skip("this NumPy has another BLAS")
    monkeypatch.setattr(blas, "_NAMES", names)
    monkeypatch.setattr(blas, "_has_64_bit_integers", lambda: True)
    assert find_blas() is None
    monkeypatch.setattr(blas, "_has_64_bit_integers", lambda: False)
    assert find_blas() is not None and not find_blas().is_64_bit


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 3, 4), (65, 33, 17), (300, 200, 100)])
def test_products_are_numpys(
    c_compiler: Compiler, dtype: str, transposed: bool, sizes: tuple[int, int, int]
) -> None:
    if find_blas() is None:
        pytest.skip("this NumPy has no BLAS that can be found")
    m, k, n = sizes
    random = np.random.default_rng(k)
    a = random.normal(size=(m, k)).astype(dtype)
    b = random.normal(size=(m if transposed else k, n)).astype(dtype)
    product = load_native(*gradients.product(dtype, transposed), c_compiler)
    c = product(a, b, transposed)
    wanted = 2 * (a.T if transposed else a) @ b
    assert c.dtype == wanted.dtype and c.shape == wanted.shape
    np.testing.assert_allclose(c, wanted, rtol=1e-5, atol=1e-6 * k)
