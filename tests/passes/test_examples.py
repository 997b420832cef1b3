"""Every pass of the table on the example of its module: its input, its output, one meaning.

The example is a doctest in the docstring of the module. It calls the pass and prints the result.
"""

from __future__ import annotations

import doctest
import sys
from contextvars import copy_context
from functools import partial
from typing import Any

import pytest

from autodiff_compiler.errors import InternalError
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.verify.structure import verify
from autodiff_compiler.passes.registry import REGISTRY, Pass
from tests.passes.conftest import Optimised

#: Passes that compute in another order, and so round differently: the relative difference.
ROUNDING = {
    "stabilise": 1e-6,
    "reassociate_products": 1e-5,
    "hoist_products": 1e-5,
    "batch_accumulations": 1e-5,
    "reuse_forward_values": 1e-5,
    "fuse_products_and_sums": 1e-5,
    "tile_elementwise": 1e-4,
}


def calls_in_the_example(each: Pass) -> list[tuple[Function, Any]]:
    """Runs the example of a pass; returns each input, and the pass with the facts it is told."""
    calls: list[tuple[Function, Any]] = []

    def recorded(function: Function, *args: Any, **facts: Any) -> Any:
        with_costs = copy_context()  # an example may change thresholds
        calls.append(
            (function, lambda before: with_costs.run(each.rewrite, before, *args, **facts))
        )
        return each.rewrite(function, *args, **facts)

    module = sys.modules[each.rewrite.__module__]
    names = {**vars(module), each.name: recorded}
    example = doctest.DocTestParser().get_doctest(module.__doc__, names, each.name, None, 0)
    printed: list[str] = []
    assert doctest.DocTestRunner().run(example, out=printed.append).failed == 0, "".join(printed)
    return calls


def function_of(rewrite: Any, before: Function) -> Function:
    """Returns the function that a pass makes; ``assign_buffers`` returns it inside of a plan."""
    result = rewrite(before)
    return result if isinstance(result, Function) else result.function


def stage_of(function: Function) -> str:
    """Returns the first stage whose operations ``function`` has."""
    try:
        verify(function, "typed")
    except InternalError:
        return "lowered"
    return "typed"


@pytest.mark.every_case
@pytest.mark.parametrize("each", REGISTRY, ids=lambda each: each.name)
def test_the_example_changes_and_keeps_its_meaning(each: Pass, optimised: Optimised) -> None:
    calls = calls_in_the_example(each)
    assert calls, "the docstring of the module has no example"
    tolerance = ROUNDING.get(each.name, 0.0)
    for before, rewrite in calls:
        once = partial(function_of, rewrite)
        stage = stage_of(once(before))
        after = optimised(before, once, stage=stage, rtol=tolerance, atol=tolerance)
        assert after is not before
