"""Values that one path does not set, in loops: their shape is never read."""

from __future__ import annotations

import numpy as np

from autodiff_compiler.cost_model import changed_costs
from tests.transforms.numeric import check, read

X = np.array([[0.3, -0.5, 0.7], [0.2, 0.9, -0.4]])
B = np.array([0.1, -0.3, 0.2])


def test_value_of_unknown_shape_that_only_one_branch_sets() -> None:
    text = """
    func @f(%x: f64[...], %b: f64[...], %n: int) -> (f64[...]) {
      %none: undefined = undefined
      %a: f64[...], %r: f64[...], %c: int = for %k, %i in (0, %n, 1)
          carry (%p: f64[...] = %x, %q: f64[...] = %none) {
        %first: bool = equal %i, 0
        %m: f64[...] = if %first {
          %s: f64[...] = sin %p
          yield %s
        } else {
          %t: f64[...] = mul %q, %b
          yield %t
        }
        %odd: bool = greater %i, 1
        %o: f64[...] = if %odd {
          %u: f64[...] = add %m, %q
          yield %u
        } else {
          yield %none
        }
        %e: f64[...] = if %odd {
          %v: f64[...] = mul %o, %b
          yield %v
        } else {
          yield %p
        }
        yield carry %e, %m
      }
      return %a
    }
    """
    for n in (0, 1, 4):
        check(read(text), [X, B, n], (0, 1))


def test_third_order_of_calls_on_one_path_through_a_loop() -> None:
    """The residuals of a call that did not run are not set, in the tapes of the second sweep."""
    text = """
    func @cell(%h: f64[2], %w: f64[2]) -> (f64[2]) {
      %m: f64[2] = mul %h, %w
      %s: f64[2] = sin %m
      %r: f64[2] = mul %s, %h
      return %r
    }
    func @f(%x: f64[2], %w: f64[2], %n: int) -> (f64[2]) {
      %a: f64[2], %c: int = for %k, %i in (0, %n, 1) carry (%p: f64[2] = %x) {
        %odd: bool = greater %i, 0
        %b: f64[2] = if %odd {
          %t: f64[2] = call @cell(%p, %w)
          yield %t
        } else {
          %u: f64[2] = call @cell(%w, %p)
          yield %u
        }
        yield carry %b
      }
      return %a
    }
    func @main(%x: f64[2], %w: f64[2], %n: int) -> (f64[2]) {
      %a: f64[2] = call @f(%x, %w, %n)
      return %a
    }
    """
    check(read(text), [B[:2], B[:2] + 1, 2], (0, 1), order=3)


@changed_costs(tape_row_bytes=1)
def test_a_long_tape_of_a_value_that_one_path_sets_is_no_array() -> None:
    text = """
    func @f(%x: f64[2]) -> (f64[2]) {
      %a: f64[2], %c: int = for %k, %i in (0, 3, 1) carry (%p: f64[2] = %x) {
        %odd: bool = greater %i, 0
        %b: f64[2] = if %odd {
          %s: f64[2] = sin %p
          %t: f64[2] = tanh %s
          yield %t
        } else {
          %u: f64[2] = mul %p, %x
          yield %u
        }
        yield carry %b
      }
      return %a
    }
    """
    check(read(text), [B[:2]], (0,), order=2)
