"""Straight lines, containers and calls: first and second derivatives against differences."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.errors import NoDerivative
from autodiff_compiler.ir.opdef import OPERATORS, OpDef
from autodiff_compiler.ir.printer import print_function, print_functions
from autodiff_compiler.transforms.reverse.sweep import gradient_function, split
from tests.interpreter import run
from tests.transforms.numeric import check, read

X = np.array([[0.3, -0.5, 0.7], [0.2, 0.9, -0.4]])
W = np.array([[0.5, -0.2, 0.1], [0.3, 0.8, -0.6], [-0.7, 0.4, 0.2]])
B = np.array([0.1, -0.3, 0.2])

NET = """
func @net(%x!: f64[2,3], %y!: f64[3,3], %z!: f64[1]) -> (f64[2,3]) {
  %x_1!: f64[2,3] = mul %x, %z
  %out!: f64[2,3] = matmul %x_1, %y
  return %out
}
"""


def test_seed_net() -> None:
    check(read(NET), [X, W, np.array([0.7])], (0, 1, 2), order=3)


def test_names_and_residuals_of_the_seed_net() -> None:
    forward, backward = split(read(NET), (0, 1, 2), sens=True, value=True)
    assert [v.name for v in forward.returns] == ["out", "residuals"]
    assert backward.params[1].name == "d_out"
    assert [v.name for v in backward.returns] == ["d_x", "d_y", "d_z"]
    kept = [op.result.name for op in backward.body.ops if op.name == "item"]
    assert kept == ["x", "y", "z", "x_1"]
    assert "d_x_1" in {op.result.name for op in backward.body.ops}
    assert {op.role for op in backward.body.ops} == {"adjoint"}
    assert (forward.role, backward.role, backward.order) == ("forward", "backward", 1)


def test_only_values_that_backward_reads_are_residuals() -> None:
    _, backward = split(read(NET), (0,), sens=True)
    kept = [op.result.name for op in backward.body.ops if op.name == "item"]
    assert kept == ["y", "z"]


def test_second_sweep_is_named_so() -> None:
    once = gradient_function(read(NET), (0, 1, 2))
    twice = gradient_function(once, (1,))
    assert twice.returns[0].name == "d2_y"
    assert twice.order == 2


def test_broadcast() -> None:
    text = """
    func @f(%x: f64[2,3], %b: f64[3], %s: f64[]) -> (f64[2,3]) {
      %u: f64[2,3] = add %x, %b
      %v: f64[2,3] = div %u, %s
      %t: f64[2,3] = tanh %v
      %r: f64[2,3] = mul %t, %v
      return %r
    }
    """
    check(read(text), [X, B, np.float64(1.7)], (0, 1, 2), order=3)


def test_unknown_shapes_keep_shapes_not_arrays() -> None:
    text = """
    func @f(%x: f64[...], %b: f64[...]) -> (f64[...]) {
      %u: f64[...] = add %x, %b
      %t: f64[...] = tanh %u
      return %t
    }
    """
    function = read(text)
    check(function, [X, B], (0, 1))
    forward, backward = split(function, (0, 1), sens=True)
    assert "x: f64" not in print_function(backward).splitlines()[1]
    kept = [str(op.result.type) for op in backward.body.ops if op.name == "item"]
    assert sorted(kept) == ["f64[...]", "shape", "shape"]


def test_symbolic_shapes() -> None:
    text = """
    func @f(%x: f64[b,3], %w: f64[3,3]) -> (f64[]) {
      %u: f64[b,3] = matmul %x, %w
      %t: f64[b,3] = tanh %u
      %s: f64[] = sum %t {axes=None, keepdims=False}
      return %s
    }
    """
    check(read(text), [X, W], (0, 1))


def test_value_used_often_and_unused_operand() -> None:
    text = """
    func @f(%x: f64[3], %y: f64[3]) -> (f64[3]) {
      %a: f64[3] = mul %x, %x
      %b: f64[3] = add %a, %x
      %c: f64[3] = mul %b, %a
      %dead: f64[3] = tanh %y
      return %c
    }
    """
    check(read(text), [B, B], (0, 1), order=3)


def test_tuples_in_and_out() -> None:
    text = """
    func @f(%p: (f64[3], (f64[3], int)), %y: f64[3]) -> ((f64[3], {'a': f64[3], 'n': none})) {
      %a: f64[3] = item %p {key=0}
      %q: (f64[3], int) = item %p {key=1}
      %b: f64[3] = item %q {key=0}
      %c: f64[3] = mul %a, %b
      %d: f64[3] = mul %c, %y
      %e: {'a': f64[3], 'n': none} = make_dict %c, None {keys=('a', 'n')}
      %r: (f64[3], {'a': f64[3], 'n': none}) = make_tuple %d, %e
      return %r
    }
    """
    check(read(text), [(B, (B + 1, 4)), B * 2], (0, 1))


def test_tuple_input_reached_in_part() -> None:
    text = """
    func @f(%p: (f64[3], f64[2], int)) -> (f64[3]) {
      %a: f64[3] = item %p {key=0}
      %c: f64[3] = mul %a, %a
      return %c
    }
    """
    check(read(text), [(B, np.ones(2), 3)], (0,))


def test_lists() -> None:
    text = """
    func @f(%x: f64[3], %y: f64[3], %n: int) -> (f64[3]) {
      %m: f64[3] = mul %x, %y
      %l: list[f64[3]] = make_list %x, %m
      %k: list[f64[3]] = list_append %l, %y
      %a: f64[3] = list_item %k, %n
      %b: f64[3] = list_item %k, 0
      %c: f64[3] = mul %a, %b
      return %c
    }
    """
    for n in (0, 1, 2):
        check(read(text), [B, B + 1, n], (0, 1), order=3)


def test_list_output() -> None:
    text = """
    func @f(%x: f64[3]) -> (list[f64[3]]) {
      %m: f64[3] = mul %x, %x
      %l: list[f64[3]] = make_list %x, %m
      return %l
    }
    """
    check(read(text), [B], (0,))


def test_zero_gradient_and_unreached_inputs() -> None:
    text = """
    func @f(%x: f64[3], %y: f64[3], %n: int) -> (f64[3]) {
      %a: f64[3] = floor %x
      %b: f64[3] = mul %a, 2.0
      return %b
    }
    """
    function = read(text)
    found = run(gradient_function(function, (0, 1, 2)), [B, B, 3])
    np.testing.assert_array_equal(found[0], np.zeros(3))
    np.testing.assert_array_equal(found[1], np.zeros(3))
    assert found[2] == 0


def test_several_returns() -> None:
    text = """
    func @f(%x: f64[3], %y: f64[3]) -> (f64[3], f64[3]) {
      %a: f64[3] = mul %x, %y
      %b: f64[3] = tanh %a
      return %a, %b
    }
    """
    check(read(text), [B, B + 1], (0, 1))
    only = gradient_function(read(text), (0,), outputs=(0,))
    np.testing.assert_allclose(run(only, [B, B + 1])[0], B + 1)


def test_literals_and_the_input_itself_returned() -> None:
    text = """
    func @f(%x: f64[3], %y: f64[3]) -> ((f64[3], int, none)) {
      %r: (f64[3], int, none) = make_tuple %x, 3, None
      return %r
    }
    """
    check(read(text), [B, B], (0, 1))


def test_python_floats() -> None:
    text = """
    func @f(%x: f64[3], %s: float, %c: bool) -> (f64[3]) {
      %t: float = mul %s, %s
      %u: float = if %c { %v: float = mul %t, 3.0
        yield %v
      } else {
        yield %s
      }
      %r: f64[3] = mul %x, %u
      return %r
    }
    """
    for c in (True, False):
        check(read(text), [B, 0.7, c], (0, 1))


CALLS = """
func @layer(%x: f64[2,3], %w: f64[3,3], %b: f64[3]) -> (f64[2,3]) {
  %u: f64[2,3] = matmul %x, %w
  %v: f64[2,3] = add %u, %b
  %t: f64[2,3] = tanh %v
  return %t
}
func @f(%x: f64[2,3], %w: f64[3,3], %b: f64[3]) -> (f64[2,3]) {
  %h: f64[2,3] = call @layer(%x, %w, %b)
  %g: f64[2,3] = mul %h, %x
  %k: f64[2,3] = call @layer(%g, %w, %b)
  %l: f64[2,3] = call @layer(%k, %w, %b)
  return %l
}
"""


def test_calls() -> None:
    check(read(CALLS), [X, W, B], (0, 1, 2), order=3)


def test_calls_share_one_pair() -> None:
    gradient = gradient_function(read(CALLS), (0, 1))
    names = [callee.name for callee in gradient.callees()]
    assert sorted(names) == ["layer_backward", "layer_forward"]
    assert gradient.name == "f_grad"


@pytest.mark.parametrize(("last", "pairs"), [("call @layer(%k, %w, %b)", 1), ("tanh %k", 2)])
def test_the_first_of_three_calls_shares_the_pair_of_the_others(last: str, pairs: int) -> None:
    """It is asked for no cotangent of x. Where only one other call is, it has a pair of its own."""
    text = CALLS.replace("call @layer(%k, %w, %b)", last)
    check(read(text), [X, W, B], (1, 2), order=2)
    names = [callee.name for callee in gradient_function(read(text), (1, 2)).callees()]
    assert sum("layer_backward" in name for name in names) == pairs


def test_calls_without_cotangents() -> None:
    gradient = gradient_function(read(CALLS), (2,), value=True)
    check(read(CALLS), [X, W, B], (2,))
    assert "layer_backward" in print_functions(gradient)


def test_call_with_several_results_of_which_one_counts() -> None:
    text = """
    func @two(%x: f64[3], %y: f64[3]) -> (f64[3], (f64[3], f64[3])) {
      %a: f64[3] = mul %x, %y
      %b: f64[3] = tanh %x
      %c: (f64[3], f64[3]) = make_tuple %a, %b
      return %a, %c
    }
    func @f(%x: f64[3], %y: f64[3]) -> (f64[3]) {
      %a: f64[3], %c: (f64[3], f64[3]) = call @two(%x, %y)
      %d: f64[3] = item %c {key=1}
      %e: f64[3] = mul %d, %x
      return %e
    }
    """
    check(read(text), [B, B + 1], (0, 1))


def test_missing_derivatives_are_reported_with_every_place() -> None:
    text = """
    func @f(%x: f64[3], %xs: list[f64[3]]) -> (f64[3]) {
      %a: f64[3] = no_rule %x
      %b: f64[3] = mul %a, %x
      %c: f64[3] = no_rule %b
      return %c
    }
    """
    OpDef("no_rule", "For this test.", ("x",), "{x}", lambda types: types[0])
    try:
        with pytest.raises(NoDerivative, match="no_rule has no derivative with respect to x"):
            gradient_function(read(text), (0,))
    finally:
        del OPERATORS["no_rule"]


def test_cotangents_have_the_dtypes_of_their_primals() -> None:
    text = """
    func @f(%x: f32[3], %n: i64[3], %h: f16[1], %c: bool) -> ((f32[3], i64[3])) {
      %a: f32[3] = mul %x, %n
      %h32: f32[1] = cast %h {dtype='float32'}
      %b: f32[3] = mul %a, %h32
      %r: f32[3] = if %c {
        yield %b
      } else {
        yield %x
      }
      %i: i64[3] = mul %n, 2
      %t: (f32[3], i64[3]) = make_tuple %r, %i
      return %t
    }
    """
    args = [np.float32(B), np.array([1, 2, 3]), np.float16([0.5]), True]
    gradient = gradient_function(read(text), (0, 1, 2))
    found = run(gradient, args)
    assert [str(value.type) for value in gradient.returns] == ["f32[3]", "i64[3]", "f16[1]"]
    assert [ct.dtype.name for ct in found] == ["float32", "int64", "float16"]
    np.testing.assert_allclose(found[0], [0.5, 1.0, 1.5])
    np.testing.assert_array_equal(found[1], [2, 2, 2])
    np.testing.assert_allclose(found[2], [0.1 - 0.6 + 0.6], rtol=1e-2)


def test_tuple_of_floats_that_nothing_reaches() -> None:
    text = """
    func @f(%p: (float, int), %x: f64[3]) -> (f64[3]) {
      %a: f64[3] = tanh %x
      return %a
    }
    """
    assert run(gradient_function(read(text), (0,)), [(1.0, 2), B]) == [(0.0, 0)]
