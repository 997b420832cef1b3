"""Each rule of the table of callees serves a program, and the page is printed from the table."""

from __future__ import annotations

import functools
import math
import operator
import textwrap
import warnings
from collections import namedtuple
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.frontend import call_rules
from autodiff_compiler.frontend.call_rules import CALL_RULES, CALLABLE_VALUES
from tests.frontend import call_rules_page

ROOT = Path(__file__).parents[2]
RULES = {rule.name for rule in (*CALLABLE_VALUES.values(), *CALL_RULES)}
Pair = namedtuple("Pair", "left right")


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return x * self.factor


class OfLibrary:
    """An object as one of Python's library."""

    __module__ = "functools"

    def __call__(self, x):
        return x * 3.0


OfLibrary.__call__.__module__ = "functools"
SCALED = Scaled(2.0)
OF_LIBRARY = OfLibrary()
DOUBLED = functools.partial(np.multiply, 2.0)


def twice(x):
    return x * 2.0


def total(x):
    return np.sum(x * x)


TOTAL_SLOPE = ms.grad(total)
SCALAR = functools.lru_cache(lambda n: n * 2.0)


@ms.constexpr
def three():
    return 3.0


def with_cases(x, n):
    """A program for the rules that NumPy code meets."""
    picked = np.sin if x[0] > 0.5 else np.cos
    items = []
    items.append(picked(x))
    y = functools.partial(np.multiply, 2.0)(items[0]) + functools.partial(np.multiply, x)(x)
    y = y + (lambda z: z * z)(x).copy()
    np.add.at(y, 0, 1.0)
    np.copyto(y, y * 2.0)
    y = y + Scaled(3.0).factor * SCALED(x) + twice(Pair(x, x).left)
    y = y * three() * max(1, 2) * np.sqrt(4.0) + ms.grad(total)(x) + TOTAL_SLOPE(x)
    y = y + ms.recompute(twice, x) + operator.itemgetter(0)(x) + SCALAR(n) + math.exp(n)
    warnings.warn("a call of the run", stacklevel=1)
    y = y + DOUBLED(x) + OF_LIBRARY(x)
    return np.sum(y) * len(textwrap.dedent("ab"))


def recursive(x, n):
    def down(k, y):
        return y if k <= 0.0 else down(k - 1.0, y * 2.0)

    return np.sum(down(n, x))


class Net(nn.Cell):
    """A Cell for the rules that MindSpore code meets."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Dense(2, 2)
        self.steps = Parameter(Tensor(np.zeros(1, np.float32)), name="steps", requires_grad=False)
        self.look = ops.InsertGradientOf(lambda dx: dx * 2.0)

    def bprop_free(self, x):
        return x

    def construct(self, x):
        ops.assign_add(self.steps, 1.0)
        y = self.look(self.inner(x)) + Tensor(x.sum())
        handle = y.register_hook(lambda dy: dy * 2.0)
        handle.remove()
        y.add_(1.0)
        return ops.relu(y).sum() * len(self.trainable_params())


class Ruled(nn.Cell):
    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return (dout * 3.0,)


def followed(function: Any, *args: Any) -> set[str]:
    """Returns the names of the rules that compiling a gradient follows."""
    with mock.patch.object(call_rules, "rule_for", wraps=call_rules.rule_for) as rule_for:
        names: set[str] = set()
        rule_for.side_effect = lambda *asked: (
            names.add((found := RULE_FOR(*asked)).name) or found  # type: ignore[func-returns-value]
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ms.grad(function)(*args)
    return names


RULE_FOR = call_rules.rule_for


def test_each_rule_serves_a_program() -> None:
    x = np.array([0.7, 0.2])
    single = Tensor(np.ones((1, 2), np.float32))
    names = followed(with_cases, x, 0.5) | followed(recursive, x, 2.0)
    names |= followed(Net(), single) | followed(Ruled(), single)
    assert RULES - names == set()


def test_names_of_rules_are_different() -> None:
    assert len(RULES) == len(CALLABLE_VALUES) + len(CALL_RULES)


def test_the_page_is_printed_from_the_table() -> None:
    page = (ROOT / "docs" / "call-rules.md").read_text(encoding="utf-8")
    assert page == call_rules_page.page(), "run 'make call-rules-page'"


@pytest.mark.parametrize("rule", CALL_RULES[:-1], ids=lambda rule: rule.name)
def test_a_rule_lets_others_pass(rule: call_rules.CallRule) -> None:
    assert not rule.applies(mock.MagicMock(), 3, (), {})
