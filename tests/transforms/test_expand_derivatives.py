"""``grad`` operations become calls of functions that can be differentiated."""

from __future__ import annotations

import numpy as np

from autodiff_compiler.ir.verify.structure import verify
from autodiff_compiler.transforms.expand_derivatives import expand_derivatives
from autodiff_compiler.transforms.reverse.sweep import split
from tests.interpreter import run
from tests.transforms.numeric import check, read

B = np.array([0.1, -0.3, 0.2])

CUBE = """
func @cube(%x: f64[3], %y: f64[3]) -> (f64[3]) {
  %a: f64[3] = mul %x, %x
  %b: f64[3] = mul %a, %x
  %c: f64[3] = mul %b, %y
  return %c
}
"""
ONCE = """
func @f(%x: f64[3], %y: f64[3]) -> (f64[3]) {
  %d: f64[3] = grad @cube(%x, %y) {sens=False, value=False, wrt=(0,)}
  %r: f64[3] = mul %d, %y
  return %r
}
"""


def test_gradient_in_a_program() -> None:
    function = expand_derivatives(read(CUBE + ONCE))
    verify(function, "differentiated")
    np.testing.assert_allclose(run(function, [B, B + 1])[0], 3 * B**2 * (B + 1) ** 2)
    assert [callee.name for callee in function.callees()] == ["cube_grad"]
    check(function, [B, B + 1], (0, 1))


def test_gradient_of_a_gradient_with_value_and_sens() -> None:
    text = (
        CUBE
        + ONCE
        + """
    func @g(%x: f64[3], %y: f64[3], %s: f64[3]) -> (f64[3]) {
      %v: f64[3], %d: f64[3], %e: f64[3] = grad @f(%x, %y, %s) {sens=True, value=True, wrt=(0, 1)}
      %m: f64[3] = mul %d, %e
      %r: f64[3] = add %m, %v
      return %r
    }
    """
    )
    function = expand_derivatives(read(text))
    verify(function, "differentiated")
    x, y, s = B, B + 1, B + 2
    expected = (s * 6 * x * y**2) * (s * 6 * x**2 * y) + 3 * x**2 * y**2
    np.testing.assert_allclose(run(function, [x, y, s])[0], expected)
    check(function, [x, y, s], (0, 1, 2), order=1)


def test_one_configuration_is_one_function() -> None:
    text = (
        CUBE
        + """
    func @f(%x: f64[3], %y: f64[3]) -> (f64[3]) {
      %d: f64[3] = grad @cube(%x, %y) {sens=False, value=False, wrt=(0,)}
      %e: f64[3] = grad @cube(%d, %y) {sens=False, value=False, wrt=(0,)}
      %g: f64[3] = grad @cube(%e, %y) {sens=False, value=False, wrt=(1,)}
      return %g
    }
    """
    )
    function = expand_derivatives(read(text))
    names = [callee.name for callee in function.callees()]
    assert names == ["cube_grad", "cube_grad_2"]
    check(function, [B, B + 1], (0, 1), order=1)


def test_gradient_inside_a_loop() -> None:
    text = (
        CUBE
        + """
    func @f(%x: f64[3], %y: f64[3], %n: int) -> (f64[3]) {
      %h: f64[3], %c: int = for %k, %i in (0, %n, 1) carry (%p: f64[3] = %x) {
        %d: f64[3] = grad @cube(%p, %y) {sens=False, value=False, wrt=(0,)}
        %q: f64[3] = sub %p, %d
        yield carry %q
      }
      return %h
    }
    """
    )
    function = expand_derivatives(read(text))
    assert all(op.name != "grad" for op in function.body.walk())
    check(function, [B, B + 1, 3], (0, 1))


def test_no_two_functions_share_a_name() -> None:
    text = (
        CUBE
        + """
    func @f(%x: f64[3], %y: f64[3]) -> (f64[3]) {
      %c: f64[3] = call @cube(%x, %y)
      %d: f64[3] = call @cube(%c, %c)
      return %d
    }
    func @g(%x: f64[3], %y: f64[3]) -> (f64[3]) {
      %d: f64[3] = grad @f(%x, %y) {sens=False, value=False, wrt=(0,)}
      %e: f64[3] = call @f(%d, %y)
      return %e
    }
    """
    )
    function = expand_derivatives(read(text))
    for half in split(function, (0, 1)):
        names = [callee.name for callee in half.callees()]
        assert len(names) == len(set(names)), names
    names = [callee.name for half in split(function, (0, 1)) for callee in half.callees()]
    assert len(names) == len(set(names)), names


def test_nothing_to_do_is_the_same_object() -> None:
    function = read(CUBE)
    assert expand_derivatives(function) is function
