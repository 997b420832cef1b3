"""Values of safe magnitude: proofs that hold for random numbers, and values without a proof."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler.analysis.magnitude import LEAST, safe_magnitude_values
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.parser import parse_function
from tests.interpreter import run


def program(*lines: str) -> Function:
    body = "\n".join(f"  {line}" for line in lines)
    return parse_function(f"func @f(%x: f64[4]) -> (f64[4]) {{\n{body}\n  return %r\n}}\n")


def is_safe(function: Function, most: float = np.inf) -> bool:
    return function.returns[0] in safe_magnitude_values(function.body, most=most)


ROOT = ("%q: f64[4] = square %x", "%v: f64[4] = add %q, 1e-5")


@pytest.mark.parametrize(
    "lines",
    [
        (*ROOT, "%r: f64[4] = sqrt %v"),
        (*ROOT, "%r: f64[4] = rsqrt %v"),
        (*ROOT, "%r: f64[4] = pow %v, -0.5"),
        (*ROOT, "%s: f64[4] = sqrt %v", "%r: f64[4] = div 1.0, %s"),
        (*ROOT, "%s: f64[4] = sqrt %v", "%t: f64[4] = neg %s", "%r: f64[4] = reciprocal %t"),
        ("%r: f64[4] = full {dtype='float64', shape=(4,), value=0.125}",),
        ("%a: f64[4] = full {dtype='float64', shape=(4,), value=3}", "%b: f64[4] = mul %a, -2.0",
         "%r: f64[4] = div 1.0, %b"),
    ],
)  # fmt: skip
def test_what_is_proven_is_neither_tiny_nor_huge(lines: tuple[str, ...]) -> None:
    function = program(*lines)
    assert is_safe(function)
    for scale in (0.0, 1e-200, 1.0, 1e3):
        (found,) = run(function, [scale * np.random.default_rng(1).normal(size=4)])
        assert (np.abs(found) >= LEAST).all() and (np.abs(found) <= 1 / LEAST).all()


@pytest.mark.parametrize(
    "lines",
    [
        ("%r: f64[4] = sqrt %x",),
        ("%v: f64[4] = add %x, 1e-30", "%r: f64[4] = sqrt %v"),
        (*ROOT, "%r: f64[4] = square %v"),
        (*ROOT, "%s: f64[4] = sqrt %v", "%r: f64[4] = div %x, %s"),
        (*ROOT, "%s: f64[4] = sqrt %v", "%r: f64[4] = mul %s, %s"),
        ("%r: f64[4] = full {dtype='float64', shape=(4,), value=0}",),
        ("%a: f64[4] = full {dtype='float64', shape=(4,), value=1e-8}", "%r: f64[4] = mul %a, %a"),
        ("%a: f64[4] = full {dtype='float64', shape=(4,), value=2}", "%r: f64[4] = div %a, 0.0"),
    ],
)
def test_values_without_a_proof(lines: tuple[str, ...]) -> None:
    assert not is_safe(program(*lines))


def test_the_number_under_the_root_may_be_bounded() -> None:
    function = program("%v: f64[4] = add %x, 10.0", "%r: f64[4] = sqrt %v")
    assert is_safe(function) and not is_safe(function, most=1.0)


def test_values_from_outside_count() -> None:
    function = program("%r: f64[4] = neg %x")
    assert function.returns[0] in safe_magnitude_values(function.body, frozenset(function.params))
