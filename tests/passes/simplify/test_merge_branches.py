"""Jump threading: branches that are merged, branches that stay, and exceptions."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler import Tensor, gradient_source, ops
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.passes.simplify.merge_branches import merge_branches
from tests.passes.conftest import Optimised

TWO = """
func @f(%x: float) -> (float) {{
  %test: bool = greater %x, 0.0
  %y: float, %flag: bool = if %test {{
    %a: float = neg %x
    yield %a, {first}
  }} else {{
    yield %x, {second}
  }}
  {between}
  %z: float = if %flag {{
    %b: float = mul {read}, 2.0
    yield %b
  }} else {{
    yield %y
  }}
  {after}
  %out: float = add %z, %y
  return %out
}}
"""


def count(function) -> int:
    return sum(op.name == "if" for op in function.body.walk())


@pytest.mark.parametrize(
    ("between", "read", "after", "joined"),
    [
        ("", "%y", "", True),
        ("%c: float = neg %x", "%c", "", True),  # the first waits
        ("%c: float = neg %y", "%y", "", True),  # the second goes ahead
        ("%c: float = neg %y", "%c", "", False),
        ("print %x", "%y", "", True),
        ("%c: float = neg %y", "%y", "%d: float = neg %c", True),
    ],
)
@pytest.mark.parametrize("said", [("True", "False"), ("False", "True"), ("%test", "False")])
def test_two_branches(between, read, after, joined, said, optimised: Optimised):
    text = TWO.format(between=between, read=read, after=after, first=said[0], second=said[1])
    if "print" in text:
        text = text.replace("print %x", "%p: float = add %x, 0.0")
    assert count(optimised(text, merge_branches)) == (1 if joined else 2)


@pytest.mark.parametrize("said", [("True", "True"), ("%x_is", "False"), ("1", "0")])
def test_a_flag_that_does_not_tell_the_path_stays(said):
    text = TWO.format(between="", read="%y", after="", first=said[0], second=said[1])
    text = text.replace("  %test:", "  %x_is: bool = less %x, 1.0\n  %test:")
    text = text if "1" not in said else text.replace("%flag: bool", "%flag: int")
    function = parse_function(text)
    assert count(merge_branches(function)) == 2


def thrown(x):
    try:
        if x.sum() > 1:
            raise ValueError("large")
        y = x * x
    except ValueError:
        y = ops.sin(x)
    return y.sum()


def checked(x):
    if x.sum() > 1:
        raise ValueError("large")
    return x * x


def thrown_by_a_callee(x):
    try:
        y = checked(x)
    except ValueError:
        y = ops.sin(x)
    return y.sum()


def sometimes_unset(x):
    try:
        if x.sum() > 1:
            raise ValueError("large")
        y = x * x
    except ValueError:
        if x.sum() > 2:
            y = ops.sin(x)
    return y.sum()


@pytest.mark.parametrize("function", [thrown, thrown_by_a_callee])
def test_a_handler_is_a_branch(function):
    small, large = (np.array([k, 0.25], np.float32) for k in (0.5, 1.5))
    np.testing.assert_allclose(ms.grad(function)(Tensor(small)).asnumpy(), 2 * small)
    np.testing.assert_allclose(ms.grad(function)(Tensor(large)).asnumpy(), np.cos(large))
    text = gradient_source(function, "f32[2]")
    assert "UnboundLocalError" not in text
    assert function is thrown_by_a_callee or "flag" not in text


def test_variables_that_may_be_unset_are_checked():
    with pytest.raises(UnboundLocalError, match="'y' may be unassigned here"):
        ms.grad(sometimes_unset)(Tensor(np.array([1.5, 0.25], np.float32)))
    large = np.array([2.5, 0.25], np.float32)
    np.testing.assert_allclose(ms.grad(sometimes_unset)(Tensor(large)).asnumpy(), np.cos(large))
