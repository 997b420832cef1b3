"""Batches of loops: what they read, where they end, and what all examples share."""

from __future__ import annotations

import numpy as np
import pytest

from tests.transforms.batching.test_sweep import compare, count_loops

X = np.array([[0.3, -0.8], [1.1, 0.4], [-0.6, 0.2]])
ROWS = np.stack([X, X + 0.5, X - 0.25, X * 2.0])

READS = """
func @f(%xs: f64[3,2], %w: f64[2]) -> (f64[2], f64[2]) {
  %h: f64[2], %tape: list[f64[2]], %c: int = for %k, %i in (0, 3, 1)
      carry (%p: f64[2] = %w) read (%x: f64[2] = %xs) {
    %m: f64[2] = mul %p, %x
    %s: f64[2] = sin %m
    yield carry %s stack %m
  }
  %n: int = list_length %tape
  %r: f64[2], %d: int = for %l, %j in (0, %n, 1)
      carry (%q: f64[2] = %w) read (%y: f64[2] = %tape) {
    %u: f64[2] = add %q, %y
    yield carry %u
  }
  return %h, %r
}
"""


@pytest.mark.parametrize(
    ("args", "mapped"),
    [([ROWS, X[0]], (1, 0)), ([ROWS[0], X], (0, 1)), ([ROWS[:3], X], (1, 1))],
)
def test_rows_are_read_for_all_examples_at_once(args: list, mapped: tuple) -> None:
    assert count_loops(compare(READS, args, mapped)) == 2


def test_rows_of_unknown_rank_are_read_for_one_example_after_the_other() -> None:
    text = READS.replace("f64[3,2]", "f64[...]").replace("%x: f64[2]", "%x: f64[...]")
    for name in ("m", "s", "p", "h", "y", "u", "q", "r"):
        text = text.replace(f"%{name}: f64[2]", f"%{name}: f64[...]")
    text = text.replace("list[f64[2]]", "list[f64[...]]").replace(
        "(f64[2], f64[2])", "(f64[...], f64[...])"
    )
    assert count_loops(compare(text, [ROWS, X[0]], (1, 0))) == 3


UNTIL = """
func @f(%x: f64[2], %limit: f64[], %n: int) -> (f64[2], f64[2]) {
  %h: f64[2], %g: f64[2], %c: int = for %k, %i in (0, %n, 1)
      carry (%p: f64[2] = %x, %q: f64[2] = %x) {
    %m: f64[2] = mul %p, 1.5
    %a: f64[2] = abs %m
    %s: f64[] = sum %BY {axes=None, keepdims=False}
    %stop: bool[] = greater %s, %limit
    yield carry %m, %q until %stop
  }
  return %h, %g
}
"""


def test_a_loop_whose_end_differs_between_examples() -> None:
    made = compare(UNTIL.replace("%BY", "%a"), [X, 3.0, 9], (1, 0, 0))
    assert count_loops(made) == 2
    same_end = UNTIL.replace("%BY", "%limit")
    assert count_loops(compare(same_end, [X, np.float64(3.0), 9], (1, 0, 0))) == 1


WHILE = """
func @f(%x: f64[2], %w: f64[2], %n: int) -> ((f64[2], f64[2]), (f64[2], f64[2])) {
  %t: (f64[2], f64[2]) = make_tuple %w, %w
  %r: (f64[2], f64[2]), %j: int, %c: int = while %k
      carry (%p: (f64[2], f64[2]) = %t, %i: int = 0) test (%same: (f64[2], f64[2]), %at: int) {
    %go: bool = less %at, %n
    yield %go
  } do {
    %a: f64[2] = item %p {key=0}
    %b: f64[2] = item %p {key=1}
    %m: f64[2] = mul %b, %x
    %q: (f64[2], f64[2]) = make_tuple %m, %a
    %next: int = add %i, 1
    yield carry %q, %next
  }
  return %r, %t
}
"""


def test_a_tuple_that_all_examples_share_at_first() -> None:
    for n in (0, 3):
        made = compare(WHILE, [X, X[1], n], (1, 0, 0))
        assert count_loops(made) == 1


def test_two_calls_of_one_function_share_its_batch() -> None:
    text = """
    func @g(%a: f64[2], %b: f64[2]) -> (f64[2]) {
      %c: f64[2] = mul %a, %b
      return %c
    }
    func @f(%x: f64[2], %y: f64[2]) -> (f64[2]) {
      %u: f64[2] = call @g(%x, %y)
      %v: f64[2] = call @g(%u, %y)
      return %v
    }
    """
    made = compare(text, [X, X[2]], (1, 0))
    assert [callee.name for callee in made.callees()] == ["g_batched"]


BRANCH = """
func @f(%x: f64[2]) -> (f64[2], (f64[2], f64[])) {
  %s: f64[] = sum %x {axes=None, keepdims=False}
  %p: bool[] = greater %s, 0.0
  %t: (f64[2], f64[]) = if %p {
    %a: (f64[2], f64[]) = make_tuple %x, %s
    yield %a
  } else {
    %m: f64[2] = mul %x, 2.0
    %b: (f64[2], f64[]) = make_tuple %m, %s
    yield %b
  }
  %o: f64[2] = if %p {
    %c: f64[2] = item %t {key=0}
    yield %c
  } else {
    yield %x
  }
  return %o, %t
}
"""


@pytest.mark.parametrize("size", [0, 1, 3])
def test_tuples_on_paths_that_differ_and_no_examples(size: int) -> None:
    assert count_loops(compare(BRANCH, [X[:size]], (1,))) == 2


def test_a_rule_of_several_results() -> None:
    text = """
    func @rule(%x: f64[2], %u: f64[2], %v: f64[2], %d_u: f64[2], %d_v: f64[2]) -> (f64[2]) {
      %d_x: f64[2] = add %d_u, %d_v
      return %d_x
    }
    func @f(%x: f64[2]) -> (f64[2]) {
      %s: f64[2] = sin %x
      %c: f64[2] = cos %x
      %u: f64[2], %v: f64[2] = custom_rule %x, %s, %c {rule=@rule, wrt=(0,)}
      %p: f64[2] = mul %u, %v
      return %p
    }
    """
    compare(text, [X], (1,))


def test_a_loop_whose_length_differs() -> None:
    text = """
    func @f(%x: f64[2], %n: i64[]) -> (f64[2]) {
      %h: f64[2], %c: int = for %k, %i in (0, %n, 1) carry (%p: f64[2] = %x) {
        %m: f64[2] = mul %p, 1.5
        yield carry %m
      }
      return %h
    }
    """
    compare(text, [X, np.array([0, 2, 3])], (1, 1))


def test_values_that_are_no_arrays_stay_in_their_places() -> None:
    """An int in a batched tuple, on paths that differ; with a list the whole function is looped."""
    text = """
    func @f(%x: f64[2], %n: int) -> (f64[2], f64[]) {
      %s: f64[] = sum %x {axes=None, keepdims=False}
      %p: bool[] = greater %s, 0.0
      %t: (f64[2], int) = make_tuple %x, %n
      %l: list[f64[2]] = make_list %x, %x
      %o: f64[2] = if %p {
        %a: f64[2] = item %t {key=0}
        %m: int = item %t {key=1}
        %c: f64[2] = mul %a, %m
        yield %c
      } else {
        %b: f64[2] = list_item %l, 0
        yield %b
      }
      return %o, %s
    }
    """
    compare(text, [X, 3], (1, 0))
    compare(text.replace("list_item %l, 0", "neg %x"), [X, 3], (1, 0))
