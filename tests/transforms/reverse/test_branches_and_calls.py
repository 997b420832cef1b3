"""Branches: first, second and some third derivatives against differences."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.transforms.reverse.sweep import gradient_function, split
from tests.interpreter import run
from tests.transforms.numeric import check, numeric, read

X = np.array([[0.3, -0.5, 0.7], [0.2, 0.9, -0.4]])
W = np.array([[0.5, -0.2, 0.1], [0.3, 0.8, -0.6], [-0.7, 0.4, 0.2]])
B = np.array([0.1, -0.3, 0.2])

BRANCH = """
func @f(%x: f64[3], %w: f64[3], %v: f64[3], %c: bool) -> (f64[3]) {
  %u: f64[3] = mul %x, %w
  %r: f64[3], %s: f64[3] = if %c {
    %a: f64[3] = tanh %u
    %b: f64[3] = mul %a, %w
    yield %b, %x
  } else {
    %d: f64[3] = mul %u, %v
    %e: f64[3] = exp %d
    yield %e, %e
  }
  %t: f64[3] = mul %r, %s
  return %t
}
"""


@pytest.mark.parametrize("taken", [True, False])
def test_branch_with_captured_values(taken: bool) -> None:
    check(read(BRANCH), [B, B + 1, B + 2, taken], (0, 1, 2), order=3)


def test_branch_result_serves_as_its_own_residual() -> None:
    forward, _ = split(read(BRANCH), (0,), sens=True)
    (branch,) = (op for op in forward.body.ops if op.name == "if")
    assert [r.name for r in branch.results] == ["r", "s", "a"]


def test_branch_of_which_one_side_does_nothing() -> None:
    text = """
    func @f(%x: f64[3], %w: f64[3], %c: bool) -> (f64[3]) {
      %r: f64[3] = if %c {
        %a: f64[3] = mul %x, %w
        yield %a
      } else {
        yield %x
      }
      return %r
    }
    """
    for taken in (True, False):
        check(read(text), [B, B + 1, taken], (0, 1))


def test_nested_branches_with_values_of_different_shapes() -> None:
    text = """
    func @f(%x: f64[3], %w: f64[2,3], %c: bool, %d: bool) -> (f64[...]) {
      %r: f64[...] = if %c {
        %q: f64[3] = if %d {
          %a: f64[3] = mul %x, %x
          %b: f64[3] = tanh %a
          yield %b
        } else {
          %e: f64[3] = sin %x
          yield %e
        }
        %g: f64[3] = mul %q, %x
        yield %g
      } else {
        %h: f64[2,3] = mul %x, %w
        %i: f64[2,3] = exp %h
        yield %i
      }
      %t: f64[...] = sin %r
      return %t
    }
    """
    for taken in ((True, True), (True, False), (False, False)):
        check(read(text), [B, X, *taken], (0, 1))


def test_numeric_oracle_can_fail() -> None:
    function = read(BRANCH)
    wrong = run(gradient_function(function, (0,)), [B, B + 1, B + 2, True])[0] * 1.01
    right = numeric(function, [B, B + 1, B + 2, True], (0,))
    assert not np.allclose(wrong, right, rtol=1e-5)
