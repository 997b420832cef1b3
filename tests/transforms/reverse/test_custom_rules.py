"""Custom rules in the IR: the sweeps of ``custom_rule`` values in both modes."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_compiler.errors import NoDerivative
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.printer import print_function
from autodiff_compiler.ir.verify.structure import verify
from autodiff_compiler.passes.manager import run_until_stable as optimise
from autodiff_compiler.transforms.reverse.sweep import gradient_function, split
from autodiff_compiler.transforms.tangent.sweep import tangent_function
from tests.interpreter import run
from tests.transforms.numeric import read

#: Half the derivative of x * x; ``%keep`` is read by the rule and has no cotangent.
HALF = """
func @half_bprop(%x!: f64[2], %keep!: f64[2], %out!: f64[2], %d_out!: f64[2]) -> (f64[2]) {
  %d_x: f64[2] = mul %d_out, %x
  return %d_x
}
func @net(%x!: f64[2], %keep!: f64[2]) -> (f64[2]) {
  %square: f64[2] = mul %x, %x
  %y!: f64[2] = custom_rule %x, %keep, %square {rule=@half_bprop, wrt=(0,)}
  %z!: f64[2] = mul %y, %keep
  return %z
}
"""

#: A rule that gives its outcome, in a loop: d_h = d_h * h after each of n squarings.
LOOP = """
func @self_bprop(%x!: f64[2], %out!: f64[2], %d_out!: f64[2]) -> (f64[2]) {
  %d_x: f64[2] = mul %d_out, %out
  return %d_x
}
func @net(%x!: f64[2], %n!: int) -> (f64[2]) {
  %h!: f64[2], %count: int = for %k, %i! in (0, %n, 1) carry (%h_in!: f64[2] = %x) {
    %square: f64[2] = mul %h_in, %h_in
    %h_out!: f64[2] = custom_rule %h_in, %square {rule=@self_bprop, wrt=(0,)}
    yield carry %h_out
  }
  return %h
}
"""

#: A clipped cotangent: not linear in it.
CLIP = """
func @clip(%x!: f64[2], %out!: f64[2], %d_out!: f64[2]) -> (f64[2]) {
  %d_x: f64[2] = minimum %d_out, 0.5
  return %d_x
}
func @net(%x!: f64[2]) -> (f64[2]) {
  %y!: f64[2] = custom_rule %x, %x {rule=@clip, wrt=(0,)}
  return %y
}
"""

X, KEEP = np.array([1.5, -2.0]), np.array([3.0, 0.5])


def checked(function: Function) -> Function:
    verify(function, "differentiated: rules")
    return function


def test_the_rule_replaces_the_derivative() -> None:
    made = optimise(checked(gradient_function(read(HALF), (0, 1))))
    assert [op.name for op in made.body.walk()] == ["mul", "mul"]  # keep * x, and x * x
    d_x, d_keep = run(checked(made), [X, KEEP])
    np.testing.assert_allclose(d_x, KEEP * X)
    np.testing.assert_allclose(d_keep, X * X)


def test_an_operand_without_a_cotangent_gets_none_from_the_rule() -> None:
    body = print_function(gradient_function(read(HALF), (1,)))
    assert "d_x" not in body


def test_the_second_derivative_is_that_of_the_rule() -> None:
    # d_x = keep * x is all that the second sweep sees.
    second = gradient_function(gradient_function(read(HALF), (0,)), (0, 1))
    d_x, d_keep = run(checked(second), [X, KEEP])
    np.testing.assert_allclose(d_x, KEEP)
    np.testing.assert_allclose(d_keep, X)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_rule_in_a_loop_reads_the_values_of_its_iteration(count: int) -> None:
    expected, h = np.ones(2), X
    for _ in range(count):
        h = h * h
        expected = expected * h
    (found,) = run(checked(gradient_function(read(LOOP), (0,))), [X, count])
    np.testing.assert_allclose(found, expected)


def test_the_tangent_is_the_transposed_rule() -> None:
    made = checked(tangent_function(read(HALF), (0, 1)))
    dot_x, dot_keep = np.array([0.3, 2.0]), np.array([-1.0, 4.0])
    _, dot = run(made, [X, KEEP, dot_x, dot_keep])
    np.testing.assert_allclose(dot, KEEP * X * dot_x + X * X * dot_keep)


def test_the_tangent_of_a_rule_in_a_loop_agrees_with_its_adjoint() -> None:
    dot_x = np.array([0.3, 2.0])
    _, dot = run(checked(tangent_function(read(LOOP), (0,))), [X, 3, dot_x])
    (adjoint,) = run(gradient_function(read(LOOP), (0,)), [X, 3])
    np.testing.assert_allclose(dot, adjoint * dot_x)


def test_a_rule_that_is_not_linear_has_no_tangent() -> None:
    with pytest.raises(NoDerivative, match="not linear in the gradient"):
        tangent_function(read(CLIP), (0,))


def test_operands_without_a_rule_have_no_tangent() -> None:
    """Here that of ``keep`` goes through z alone, not through y."""
    dot_keep = np.array([-1.0, 4.0])
    _, dot = run(checked(tangent_function(read(HALF), (1,))), [X, KEEP, dot_keep])
    np.testing.assert_allclose(dot, X * X * dot_keep)


def test_the_rule_of_a_number() -> None:
    """A value that is known while compiling, with a derivative all the same."""
    text = """
    func @steep(%x: f64[2], %out: float, %d_out: float) -> (f64[2]) {
      %d_x: f64[2] = mul %d_out, %x
      return %d_x
    }
    func @net(%x: f64[2]) -> (f64[2]) {
      %y: float = custom_rule %x, 3.0 {rule=@steep, wrt=(0,)}
      %w: f64[2] = exp %x
      %z: f64[2] = mul %y, %w
      return %z
    }
    """
    function = read(text)
    expected = 3.0 * np.exp(X) + np.exp(X).sum() * X
    np.testing.assert_allclose(run(gradient_function(function, (0,)), [X])[0], expected)
    forward, backward = split(function, (0,), simplify_each=optimise)
    np.testing.assert_allclose(run(backward, run(forward, [X]))[0], expected)
