"""Where there is no derivative: what depends on an input, but by an operation that hands nothing
back, ways that hand back nothing, and problems that are met more than once."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.errors import NoDerivative
from autodiff_compiler.ir.opdef import OPERATORS, OpDef
from autodiff_compiler.transforms.reverse.sweep import gradient_function
from autodiff_compiler.transforms.tangent.sweep import tangent_function
from tests.interpreter import run
from tests.transforms.numeric import check, read

B = np.array([0.1, -0.3, 0.2])

BRANCH = """
func @f(%x: f64[3], %c: bool) -> (f64[3]) {
  %r: f64[3] = if %c {
    %a: f64[3] = pow %x, 0
    yield %a
  } else {
    %b: f64[3] = pow %x, 0.0
    yield %b
  }
  return %r
}
"""

LOOP = """
func @f(%x: f64[3], %n: int) -> (f64[3]) {
  %tape: list[f64[3]], %c: int = for %k, %i in (0, %n, 1) {
    %a: f64[3] = pow %x, 0
    yield stack %a
  }
  %z: f64[3] = list_item %tape, -1
  return %z
}
"""

NUMBERS = """
func @f(%x: f64[3], %s: float, %c: bool) -> (f64[3], float) {
  %r: float, %t: f64[3] = if %c {
    %m: float = mul %s, %s
    yield %m, %x
  } else {
    %y: f64[3] = sin %x
    yield 2.0, %y
  }
  %z: f64[3] = mul %t, %r
  return %z, 5.0
}
"""


def test_a_branch_and_a_loop_without_cotangents() -> None:
    check(read(BRANCH), [B, True], (0,))
    check(read(LOOP), [B, 2], (0,))
    assert [op.name for op in gradient_function(read(BRANCH), (0,)).body.walk()] == ["full"]


@pytest.mark.parametrize("way", [True, False])
def test_literals_have_zero_tangents_and_no_cotangent(way: bool) -> None:
    check(read(NUMBERS), [B, 0.7, way], (0, 1))
    found = run(tangent_function(read(NUMBERS), (1,)), [B, 0.7, way, 2.0])
    np.testing.assert_allclose(found[2], 2.0 * 0.7 * 2.0 * B if way else 0.0 * B)
    assert found[3] == 0.0


REFUSED = """
func @f(%x: f64[3], %n: int) -> (f64[3]) {
  %a: f64[3], %b: f64[3], %c: int = for %k, %i in (0, %n, 1)
      carry (%p: f64[3] = %x, %q: f64[3] = %x) {
    %g: f64[3] = no_rule %p
    %h: f64[3] = mul %g, %q
    yield carry %h, %h
  }
  return %a
}
"""


def test_a_problem_in_every_sweep_of_a_loop_is_reported_once() -> None:
    OpDef("no_rule", "For this test.", ("x",), "{x}", lambda types: types[0])
    try:
        with pytest.raises(NoDerivative) as caught:
            gradient_function(read(REFUSED), (0,))
    finally:
        del OPERATORS["no_rule"]
    assert str(caught.value).count("no_rule has no derivative") == 1
