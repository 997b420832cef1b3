"""Constant folding: operations on constants are computed where the types allow."""

from __future__ import annotations

import pytest

from autodiff_compiler.ir.printer import print_function
from autodiff_compiler.passes.simplify.fold_constants import fold_constants
from tests.passes.conftest import Optimised

CASES = {
    "numbers, in a chain and in a loop": (
        """
func @f(%x: float, %n: int) -> (float) {
  %a: int = add 2, 3
  %b: float = mul %a, 0.5
  %h: float, %m: int = for %k, %i in (0, %n, 1) carry (%p: float = %x) {
    %c: float = neg %b
    %q: float = mul %p, %c
    yield carry %q
  }
  return %h
}
""",
        """
func @f(%x: float, %n: int) -> (float) {
  %h: float, %m: int = for %k, %i in (0, %n, 1) carry (%p: float = %x) {
    %q: float = mul %p, -2.5
    yield carry %q
  }
  return %h
}
""",
    ),
    "what would raise is left to run": (
        """
func @f() -> (float) {
  %a: float = div 1.0, 0.0
  return %a
}
""",
        None,
    ),
    "branches within branches": (
        """
func @f(%x: float, %p: bool) -> (float, float) {
  %t: bool = greater 2.0, 1.0
  %a: float, %b: float = if %t {
    %u: float = neg %x
    %v: float = if False {
      yield 3.0
    } else {
      yield %u
    }
    yield %v, 4.0
  } else {
    yield %x, %x
  }
  return %a, %b
}
""",
        """
func @f(%x: float, %p: bool) -> (float, float) {
  %u: float = neg %x
  return %u, 4.0
}
""",
    ),
    "a branch that is typed more narrowly than the whole": (
        """
func @f(%x: f32[2], %y: f32[3]) -> (f32[?]) {
  %a: f32[?] = if True {
    yield %x
  } else {
    yield %y
  }
  return %a
}
""",
        None,
    ),
    "loops that never run": (
        """
func @f(%x: float) -> (float, int, float, float) {
  %a: float, %n: int = for %k, %i in (3, 3, 1) carry (%p: float = %x) {
    %q: float = neg %p
    yield carry %q
  }
  %b: float, %m: int = while %k.1 carry (%r: float = %a) test (%t: float) {
    yield False
  } do {
    yield carry 2.0
  }
  %c: float, %l: int = for %k.2, %i.1 in (0, 1, -1) carry (%s: float = %b) {
    yield carry 2.0
  }
  return %a, %n, %b, %c
}
""",
        """
func @f(%x: float) -> (float, int, float, float) {
  return %x, 0, %x, %x
}
""",
    ),
    "loops that may run, or stack": (
        """
func @f(%x: float, %n: int) -> (float, float, list[float]) {
  %a: float, %c: int = for %k, %i in (0, 1, 1) carry (%p: float = %x) {
    %q: float = neg %p
    yield carry %q
  }
  %b: float, %c.1: int = for %k.1, %i.1 in (0, %n, 1) carry (%r: float = %x) {
    %s: float = neg %r
    yield carry %s
  }
  %t: list[float], %c.2: int = for %k.2, %i.2 in (0, 0, 1) {
    yield stack %x
  }
  return %a, %b, %t
}
""",
        None,
    ),
    "items of containers made here": (
        """
func @f(%x: float, %y: int, %n: int) -> (float, int, int, float) {
  %t: (float, int) = make_tuple %x, %y
  %d: {'a': int, 'b': (float, int)} = make_dict %y, %t {keys=('a', 'b')}
  %u: (float, int) = item %d {key='b'}
  %a: float = item %u {key=0}
  %b: int = item %u {key=-1}
  %l: list[int] = make_list %y, 3
  %c: int = list_item %l, 1
  %m: list[float] = make_list %x, %y
  %e: float = list_item %m, 1
  return %a, %b, %c, %e
}
""",
        """
func @f(%x: float, %y: int, %n: int) -> (float, int, int, float) {
  %t: (float, int) = make_tuple %x, %y
  %d: {'a': int, 'b': (float, int)} = make_dict %y, %t {keys=('a', 'b')}
  %l: list[int] = make_list %y, 3
  %m: list[float] = make_list %x, %y
  %e: float = list_item %m, 1
  return %x, %y, 3, %e
}
""",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_before_and_after(case: str, optimised: Optimised) -> None:
    before, after = CASES[case]
    result = optimised(before, fold_constants)
    assert print_function(result) == (after or before).lstrip("\n")
    assert fold_constants(result) is result
