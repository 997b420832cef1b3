"""The values that vary, and those that may be unset."""

from __future__ import annotations

from autodiff_compiler.analysis.activity import Activity, varied_values
from tests.transforms.numeric import read


def names(values: frozenset) -> set[str]:
    return {value.name for value in values}


LINES = """
func @f(%x: f32[3], %y: f32[3], %n: int) -> (f32[3]) {
  %a: f32[3] = mul %x, %n
  %b: f32[3] = floor %a
  %c: f32[3] = mul %b, %y
  %t: (f32[3], f32[3]) = make_tuple %a, %y
  %u: f32[3] = item %t {key=0}
  %v: f32[3] = item %t {key=1}
  return %c
}
"""


def test_straight_line() -> None:
    assert names(varied_values(read(LINES), (0,))) == {"x", "a", "t", "u"}
    assert names(varied_values(read(LINES), (1, 2))) == {"y", "c", "t", "v"}


def test_loop_reaches_a_fixed_point() -> None:
    function = read("""
    func @f(%x: f32[3], %y: f32[3], %n: int) -> (f32[3]) {
      %a: f32[3], %b: f32[3], %c: f32[3], %k: int = for %i, %j in (0, %n, 1)
          carry (%p: f32[3] = %y, %q: f32[3] = %y, %r: f32[3] = %x) {
        %s: f32[3] = tanh %y
        yield carry %q, %r, %s
      }
      return %a
    }
    """)
    assert names(varied_values(function, (0,))) == {"x", "a", "b", "c", "p", "q", "r"}


def test_branches_and_calls() -> None:
    function = read("""
    func @g(%x: f32[3], %y: f32[3]) -> (f32[3], f32[3]) {
      %a: f32[3] = tanh %x
      %b: f32[3] = tanh %y
      return %a, %b
    }
    func @f(%x: f32[3], %y: f32[3], %c: bool) -> (f32[3]) {
      %p: f32[3], %q: f32[3] = call @g(%x, %y)
      %r: f32[3], %s: f32[3] = if %c {
        yield %p, %q
      } else {
        yield %q, %q
      }
      return %r
    }
    """)
    assert names(varied_values(function, (0,))) == {"x", "p", "r"}


def test_unset() -> None:
    function = read("""
    func @f(%x: f32[3], %n: int, %c: bool) -> (f32[3]) {
      %none: undefined = undefined
      %a: f32[3], %b: f32[3], %k: int = for %i, %j in (0, %n, 1)
          carry (%p: f32[3] = %none, %q: f32[3] = %x) {
        %s: f32[3] = tanh %p
        yield carry %s, %s
      }
      %r: f32[3] = if %c {
        yield %b
      } else {
        yield %none
      }
      return %r
    }
    """)
    assert names(Activity().unset(function)) == {"none", "p", "a", "r"}
