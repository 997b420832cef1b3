"""The tangent sweep agrees with IR written by hand; some values have no tangent."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.errors import NoDerivative
from autodiff_compiler.ir.printer import print_functions
from autodiff_compiler.passes.simplify.cse import cse
from autodiff_compiler.passes.simplify.dce import dce
from autodiff_compiler.transforms.reverse.sweep import gradient_function
from autodiff_compiler.transforms.tangent.sweep import tangent_function
from tests.interpreter import run
from tests.transforms.numeric import check, flat, read

NET = """
func @net(%x: f64[2,3], %y: f64[3,3], %z: f64[1]) -> (f64[2,3]) {
  %x_1!: f64[2,3] = mul %x, %z
  %out!: f64[2,3] = matmul %x_1, %y
  return %out
}
"""

NET_TANGENT = """
func @net_tangent(%x: f64[2,3], %y: f64[3,3], %z: f64[1],
    %dot_x: f64[2,3], %dot_y: f64[3,3], %dot_z: f64[1]) -> (f64[2,3], f64[2,3]) {
  %x_1!: f64[2,3] = mul %x, %z
  %a: f64[2,3] = mul %dot_x, %z
  %b: f64[2,3] = mul %dot_z, %x
  %dot_x_1!: f64[2,3] = add %a, %b
  %out!: f64[2,3] = matmul %x_1, %y
  %c: f64[2,3] = matmul %dot_x_1, %y
  %d: f64[2,3] = matmul %x_1, %dot_y
  %dot_out!: f64[2,3] = add %c, %d
  return %out, %dot_out
}
"""

DECAY = """
func @decay(%x: f64[2,3], %w: f64[3,3], %n: int) -> (f64[2,3]) {
  %h!: f64[2,3], %count: int = for %at, %i! in (0, %n, 1) carry (%h_in!: f64[2,3] = %x) {
    %u!: f64[2,3] = matmul %h_in, %w
    %s: f64[] = sum %u {axes=None, keepdims=False}
    %branch: bool[] = greater %s, 0.0
    %h_out!: f64[2,3] = if %branch {
      %a: f64[2,3] = tanh %u
      yield %a
    } else {
      %b: f64[2,3] = mul %u, 0.5
      yield %b
    }
    yield carry %h_out
  }
  return %h
}
"""

DECAY_TANGENT = """
func @decay_tangent(%x: f64[2,3], %w: f64[3,3], %n: int, %dot_x: f64[2,3])
    -> (f64[2,3], f64[2,3]) {
  %h!: f64[2,3], %dot_h!: f64[2,3], %count: int = for %at, %i! in (0, %n, 1)
      carry (%h_in!: f64[2,3] = %x, %dot_h_in!: f64[2,3] = %dot_x) {
    %u!: f64[2,3] = matmul %h_in, %w
    %dot_u!: f64[2,3] = matmul %dot_h_in, %w
    %s: f64[] = sum %u {axes=None, keepdims=False}
    %branch: bool[] = greater %s, 0.0
    %h_out!: f64[2,3], %dot_h_out!: f64[2,3] = if %branch {
      %a: f64[2,3] = tanh %u
      %a2: f64[2,3] = mul %a, %a
      %slope: f64[2,3] = sub 1.0, %a2
      %dot_a: f64[2,3] = mul %dot_u, %slope
      yield %a, %dot_a
    } else {
      %b: f64[2,3] = mul %u, 0.5
      %dot_b: f64[2,3] = mul %dot_u, 0.5
      yield %b, %dot_b
    }
    yield carry %h_out, %dot_h_out
  }
  return %h, %dot_h
}
"""


def plain(text: str) -> list[str]:
    """The lines of printed IR with every made-up name replaced by its number of appearance."""
    lines = [line.partition("  #")[0].split() for line in text.splitlines() if line[:1] != "#"]
    names: dict[str, str] = {}
    found = []
    for words in filter(None, lines):
        for at, word in enumerate(words):
            if word.startswith(("%", "(%")):
                bare = word.strip("(){},:!")
                words[at] = word.replace(bare, names.setdefault(bare, f"%{len(names)}"))
        found.append(" ".join(words).replace("!", ""))
    return found


@pytest.mark.parametrize(
    ("before", "after", "wrt"), [(NET, NET_TANGENT, (0, 1, 2)), (DECAY, DECAY_TANGENT, (0,))]
)
def test_the_tangent_is_as_written_by_hand(before: str, after: str, wrt: tuple) -> None:
    made = dce(cse(tangent_function(read(before), wrt)))
    expected = read(after.replace(",\n   ", ",").replace("\n    ->", " ->"))
    assert plain(print_functions(made)) == plain(print_functions(expected))
    assert (made.role, made.order) == ("tangent", 1)
    assert [op.role for op in made.body.ops[:2]] == ["primal", "tangent"] or wrt == (0,)


def test_only_what_depends_on_an_input_has_a_tangent() -> None:
    text = """
func @f(%x: f64[2], %y: f64[2]) -> (f64[2], (f64[2], int), f64[2]) {
  %a: f64[2] = mul %x, %x
  %b: f64[2] = mul %y, %y
  %t: (f64[2], f64[2]) = make_tuple %a, %b
  %c: f64[2] = item %t {key=1}
  %d: f64[2] = neg %c
  %r: (f64[2], int) = make_tuple %a, 3
  return %d, %r, %y
}
"""
    made = tangent_function(read(text), (0,))
    assert sum(op.name == "neg" for op in made.body.ops) == 1
    dots = run(made, [np.ones(2), np.ones(2), np.array([1.0, 2.0])])[3:]
    np.testing.assert_array_equal(flat(dots), [0.0, 0.0, 2.0, 4.0, 0.0, 0.0])
    assert dots[1][1] == 0


def test_a_call_becomes_a_call_of_the_tangent_once_for_each_kind() -> None:
    text = """
func @g(%a: f64[2], %b: f64[2]) -> (f64[2]) {
  %c: f64[2] = mul %a, %b
  return %c
}
func @f(%x: f64[2], %y: f64[2]) -> (f64[2]) {
  %u: f64[2] = call @g(%x, %y)
  %v: f64[2] = call @g(%u, %y)
  %w: f64[2] = call @g(%y, %y)
  %s: f64[2] = add %v, %w
  return %s
}
"""
    made = tangent_function(read(text), (0,))
    assert [callee.name for callee in made.callees()] == ["g_tangent", "g"]
    check(read(text), [np.array([0.3, -1.2]), np.array([1.5, 0.4])], (0, 1), order=2)


def test_operators_without_a_derivative_are_refused() -> None:
    text = """
func @f(%x: f64[3]) -> (i64[3]) {
  %i: i64[3] = cast %x {dtype='int64'}
  %o: i64[3] = bit_and %i, 1
  return %o
}
"""
    made = tangent_function(read(text), (0,))  # bits are constant between their jumps
    assert flat(run(made, [np.ones(3), np.ones(3)])[1]).sum() == 0.0
    text = """
func @f(%x: f64[3]) -> ((f64[3], i64[3])) {
  %v: f64[3], %i: i64[3] = unknown_rule %x
  %o: (f64[3], i64[3]) = make_tuple %v, %i
  return %o
}
"""
    from autodiff_compiler.ir.opdef import OPERATORS, OpDef

    made_up = OpDef("unknown_rule", "No rule.", ("x",), "({x}, {x})", lambda types: (types[0],) * 2)
    try:
        function = read(text.replace("i64[3]", "f64[3]"))
        for differentiate in (tangent_function, gradient_function):
            with pytest.raises(NoDerivative, match="unknown_rule has no derivative"):
                differentiate(function, (0,))
    finally:
        del OPERATORS[made_up.name]


def test_mixed_orders_agree() -> None:
    """d/dx of the tangent along v is the tangent along v of d/dx."""
    function = read(DECAY)
    rng = np.random.default_rng(0)
    x, w, v, ct = (rng.normal(size=shape) for shape in ((2, 3), (3, 3), (2, 3), (2, 3)))
    over_reverse = tangent_function(gradient_function(function, (0,), sens=True), (0,))
    first = run(over_reverse, [x, w, 3, ct, v])
    reverse_over = gradient_function(tangent_function(function, (0,)), (0,), True, False, (1,))
    (second,) = run(reverse_over, [x, w, 3, v, ct])
    np.testing.assert_allclose(first[1], second, rtol=1e-12)
