"""Arguments with several names: each reaches its parameter, and two for one are an error."""

from __future__ import annotations

import inspect

import pytest

from autodiff_compiler import Tensor, ops
from autodiff_compiler.ops.core.argument_aliases import also


@also(x="value", divisor="by")
def halved(value: float, by: float = 2.0) -> float:
    """Returns the quotient."""
    return value / by


def test_each_name_reaches_its_parameter() -> None:
    assert halved(3) == halved(value=3) == halved(x=3) == 1.5
    assert halved(3, by=4) == halved(3, divisor=4) == halved(divisor=4, x=3) == 0.75


@pytest.mark.parametrize("names", [{"x": 1, "value": 2}, {"x": 1, "by": 2, "divisor": 3}])
def test_two_names_of_one_argument_are_an_error(names: dict[str, int]) -> None:
    with pytest.raises(TypeError, match="multiple values|got"):
        halved(**names)
    with pytest.raises(TypeError):
        halved(3, x=3)


def test_a_function_keeps_its_name_doc_and_signature() -> None:
    assert halved.__name__ == "halved" and halved.__doc__ == "Returns the quotient."
    assert list(inspect.signature(halved).parameters) == ["value", "by"]


def test_functions_of_the_package_have_both_names() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert ops.reshape(input=x, shape=(4,)).shape == (4,)
