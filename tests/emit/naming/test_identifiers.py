"""Generated text hides no name of Python's, whatever the user calls things."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.emit.naming.identifiers import BUILTINS, as_identifier
from tests.text_rules import broken_rules


def test_every_name_of_python_is_known() -> None:
    own = {name for name in dir(builtins) if not name.startswith("_")}
    assert {name for name in own if type(getattr(builtins, name)).__module__ != "_sitebuiltins"} - {
        "False", "None", "True",
    } <= BUILTINS  # fmt: skip


@pytest.mark.parametrize("name", ["sum", "max", "input", "type", "ValueError", "lambda"])
def test_a_name_of_python_gets_an_underscore(name: str) -> None:
    assert as_identifier(name) == f"{name}_"


def shadows(input: Any, sum: Any, np: Any) -> Any:
    list = input * sum
    max = list + np
    return max * max


def max(x: Any, abs: Any) -> Any:
    range = x * 2.0
    for id in (1.0, 2.0):
        range = range + abs * id
    return range * range


@pytest.mark.parametrize(("function", "count"), [(shadows, 3), (max, 2)])
@pytest.mark.parametrize("level", [0, 1, 3])
def test_nothing_is_hidden(function: Any, count: int, level: int) -> None:
    arguments = [np.linspace(1.0, 2.0, 3)] * count
    text = ms.gradient_source(function, *arguments, get_all=True, opt_level=level)
    assert not broken_rules(text)
    ms.check_grads(function, arguments)


def test_the_function_itself_is_renamed() -> None:
    text = ms.gradient_source(max, *[np.ones(3)] * 2)
    assert "def max_forward(x, abs_):" in text
