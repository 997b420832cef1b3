"""Einstein sums as products of matrices: the values of ``np.einsum``, and no call of it."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.passes.simplify.algebra.simplify_algebra import simplify_algebra
from autodiff_compiler.passes.simplify.dce import dce
from tests.interpreter import run
from tests.passes.conftest import Optimised

SIZES = dict(zip("abcdhijklmn", (2, 3, 4, 5, 3, 4, 6, 2, 5, 3, 4)))

EQUATIONS = (
    "ij->ji", "ij->j", "ij->",
    "ij,jk->ik", "ji,jk->ki", "ij,j->i", "j,ij->i", "i,i->", "ij,ij->", "ij,ij->j",
    "i,j->ij", "i,j->", "n,jn->jn", "b,bij->bji", "bnd,->bdn",
    "bij,bkj->bki", "bij,bj->bi", "bj,bij->bi", "bnd,hde->bhne".replace("e", "k"), "dnb,bmd->nm",
    "bnhd,bmhd->bhnm", "bhnm,bmhd->bnhd", "nb,mb->mn", "abc,bd->adc", "ijk,jk->i",
    "ij,jk,kl->il", "ni,ij,nj->n", "ni,nj,ij->n", "a,a,a->a", "abc,abd,ac->d", "ij,kj,lj->ikl",
    "b,ib,jb,k->ijk",
)  # fmt: skip


def program(equation: str, dtype: str = "f64") -> Function:
    terms, out = equation.split("->")[0].split(","), equation.split("->")[1]
    types = [f"{dtype}[{','.join(str(SIZES[c]) for c in term)}]" for term in (*terms, out)]
    params = ", ".join(f"%x{k}: {type_}" for k, type_ in enumerate(types[:-1]))
    given = ", ".join(f"%x{k}" for k in range(len(terms)))
    return parse_function(
        f"""
        func @f({params}) -> ({types[-1]}) {{
          %y: {types[-1]} = einsum {given} {{equation='{equation}'}}
          return %y
        }}
        """
    )


def arrays(function: Function) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [random.standard_normal(param.type.shape) for param in function.params]


@pytest.mark.parametrize("equation", EQUATIONS)
def test_products_have_the_values_of_the_sum(equation: str, optimised: Optimised) -> None:
    before = program(equation)
    after = optimised(before, simplify_algebra, dce, rtol=1e-12, atol=1e-12)
    assert "einsum" not in {op.name for op in after.body.ops}
    given = arrays(before)
    (found,) = run(after, given)
    np.testing.assert_allclose(found, np.einsum(equation, *given), rtol=1e-12, atol=1e-12)


def test_the_cheapest_product_comes_first() -> None:
    """A matrix times a vector, twice: never two matrices with each other."""
    after = dce(simplify_algebra(program("ij,jk,k->i")))
    ranks = [op.result.type.ndim for op in after.body.ops if op.name == "matmul"]
    assert ranks == [1, 1]


def test_no_product_is_larger_than_its_factors_where_another_costs_the_same() -> None:
    after = dce(simplify_algebra(program("ni,nj,ij->n")))
    assert max(op.result.type.ndim for op in after.body.ops) == 2


@pytest.mark.parametrize("dtype", ("f16", "i64"))
def test_dtypes_that_blas_does_not_multiply_stay(dtype: str) -> None:
    before = program("ij,jk->ik", dtype)
    assert simplify_algebra(before) is before
