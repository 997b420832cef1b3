"""Sums of lists that may be empty: zeros where each use broadcasts, an exception where not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.passes.simplify.resolve_empty_sums import resolve_empty_sums
from tests.interpreter import run
from tests.passes.conftest import Optimised

X = np.array([1.0, -2.0, 0.5])
ITEMS = [X * 2, X + 1]


def program(*lines: str, result: str = "f64[3]", may_be_empty: bool = True) -> str:
    """Returns a function of an array, a list and a test; ``%a`` is the sum of the list."""
    body = "\n".join(f"  {line}" for line in lines)
    return f"""
func @f(%x: f64[3], %items: list[f64[3]], %p: bool) -> ({result}) {{
  %a: f64[3] = list_sum %items {{may_be_empty={may_be_empty}}}
{body}
  return %r
}}
"""


def names(function: Function) -> set[str]:
    return {op.name for op in function.body.walk()}


#: Uses in which zeros and the number 0 have one result, and that result from Python's 0.
BROADCAST: dict[str, tuple[tuple[str, ...], Callable[[Any], Any]]] = {
    "added": (("%r: f64[3] = add %a, %x",), lambda a: a + X),
    "through functions of elements": (
        ("%b: f64[3] = cos %a", "%c: f64[3] = neg %b", "%r: f64[3] = mul %x, %c"),
        lambda a: X * -np.cos(a),
    ),
    "twice": (
        ("%b: f64[3] = mul %a, %a", "%c: f64[3] = exp %a", "%d: f64[3] = add %b, %x",
         "%r: f64[3] = mul %c, %d"),
        lambda a: np.exp(a) * (a * a + X),
    ),
    "in a branch": (
        ("%r: f64[3] = if %p {", "%b: f64[3] = add %a, %x", "yield %b", "} else {", "yield %x",
         "}"),
        lambda a: a + X,
    ),
}  # fmt: skip

#: Uses that show the shape of the sum.
SHOWN: dict[str, tuple[str, ...]] = {
    "returned": ("%r: f64[3] = neg %a",),
    "added up": ("%s: f64[] = sum %a {axes=None, keepdims=False}", "%r: f64[3] = add %x, %s"),
    "with a number": ("%b: f64[3] = mul %a, 2.0", "%r: f64[3] = sin %b"),
    "yielded": ("%r: f64[3] = if %p {", "yield %a", "} else {", "yield %x", "}"),
    "with another such sum": (
        "%b: f64[3] = list_sum %items {may_be_empty=True}",
        "%r: f64[3] = add %a, %b",
    ),
    "a view": ("%b: f64[3] = flip %a {axes=(0,)}", "%r: f64[3] = add %x, %b"),
}


@pytest.mark.parametrize("use", BROADCAST)
def test_zeros_start_a_sum_that_is_always_broadcast(use: str, optimised: Optimised) -> None:
    lines, by_hand = BROADCAST[use]
    inputs = [X, list(ITEMS), True]
    after = optimised(program(*lines), resolve_empty_sums, inputs=inputs, rtol=1e-15)
    assert "list_sum_from" in names(after) and not names(after) & {"list_sum", "raise"}
    np.testing.assert_allclose(run(after, inputs)[0], by_hand(sum(ITEMS)), rtol=1e-14)
    np.testing.assert_allclose(run(after, [X, [], True])[0], by_hand(0), rtol=1e-14)


@pytest.mark.parametrize("use", SHOWN)
def test_an_empty_list_raises_where_the_shape_shows(use: str, optimised: Optimised) -> None:
    inputs = [X, list(ITEMS), True]
    after = optimised(program(*SHOWN[use]), resolve_empty_sums, inputs=inputs)
    assert {"list_sum", "raise"} <= names(after) and "list_sum_from" not in names(after)
    assert not any(op.attrs["may_be_empty"] for op in after.body.walk() if op.name == "list_sum")
    with pytest.raises(ValueError, match="the sum of an empty list of arrays has no shape"):
        run(after, [X, [], True])


def test_each_sum_is_judged_by_its_own_uses(optimised: Optimised) -> None:
    text = program(
        "%b: f64[3] = list_sum %items {may_be_empty=True}",
        "%c: f64[3] = add %a, %x",
        "%s: f64[] = sum %b {axes=None, keepdims=False}",
        "%r: f64[3] = mul %c, %s",
    )
    after = optimised(text, resolve_empty_sums, inputs=[X, list(ITEMS), True])
    assert {"list_sum", "list_sum_from", "raise"} <= names(after)


def test_a_sum_of_a_list_with_items_stays() -> None:
    function = parse_function(program("%r: f64[3] = neg %a", may_be_empty=False))
    assert names(resolve_empty_sums(function)) == names(function)
    other = parse_function("func @f(%x: f64[3]) -> (f64[3]) {\n  %r: f64[3] = neg %x\n"
                           "  return %r\n}\n")  # fmt: skip
    assert resolve_empty_sums(other) is other
