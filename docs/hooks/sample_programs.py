"""A function for each operator that works on regions, functions, containers or effects.

``operator_pages`` prints its gradient; a test asserts that the function applies the operator.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import autodiff_compiler as ad

LOG = logging.getLogger("sample")


@dataclass(frozen=True)
class SampleProgram:
    """A function, the types of its arguments, and the functions that it calls."""

    function: Callable[..., Any]
    types: tuple[str, ...] = ("f64[3]",)
    callees: tuple[Callable[..., Any], ...] = ()

    def text(self) -> tuple[str, dict[int, int]]:
        """Returns the source of the functions, and the new number of each line of this file."""
        lines: list[str] = []
        numbers: dict[int, int] = {}
        for function in (*self.callees, self.function):
            found, first = inspect.getsourcelines(function)
            lines += ["\n", "\n"] if lines else []
            numbers |= {first + k: len(lines) + 1 + k for k in range(len(found))}
            lines += found
        return "".join(lines), numbers


def choose(x):
    if x.sum() > 0.0:
        y = x * x
    else:
        y = -x
    return y


def repeat(x):
    y = x
    for _ in range(10):
        y = np.sin(y) * x
    return y


def halve(x):
    while x.sum() > 1.0:
        x = x * 0.5
    return x


def norm(x):
    return np.sqrt((x * x).sum() + 1.0)


def twice(x, y):
    return norm(x) * norm(y) + norm(x * y)


def cube(x):
    return (x * x * x).sum()


def of_a_gradient(x):
    return ad.grad(cube)(x) * x


def along(x, v):
    value, tangent = ad.jvp(cube, (x,), (v,))
    return value * tangent


def each(xs):
    return ad.vmap(cube)(xs)


@ad.custom_gradient
def clipped(x):
    def backward(ct):
        return np.clip(ct, -1.0, 1.0)

    return x * x, backward


def with_a_rule(x):
    return clipped(x) * 2.0


def printed(x):
    y = x * x
    print("y =", y)
    return y


def asserted(x):
    assert x.sum() > 0.0, f"sum is {x.sum()}"
    return x * x


def raised(x):
    if x.sum() < 0.0:
        raise ValueError("a negative sum")
    return x * x


def listed(x):
    ys = []
    y = x
    while y.sum() > 1.0:
        y = y * 0.5
        ys.append(y)
    return ys[0]


def logged(x):
    LOG.info("x is %s", x)
    return x * x


def of_dict(parameters):
    return parameters["w"] * parameters["b"]


def of_tuple(pair):
    return pair[0] * pair[1]


_TWO = ("f64[3]", "f64[3]")
_LISTED = SampleProgram(listed)

PROGRAMS: dict[str, SampleProgram] = {
    "make_tuple": SampleProgram(of_tuple, ("(f64[3], f64[])",)),
    "make_dict": SampleProgram(of_dict, ("{'w': f64[3], 'b': f64[]}",)),
    "item": SampleProgram(of_dict, ("{'w': f64[3], 'b': f64[]}",)),
    "make_list": _LISTED,
    "require": _LISTED,
    "if": SampleProgram(choose),
    "for": SampleProgram(repeat),
    "while": SampleProgram(halve),
    "call": SampleProgram(twice, _TWO, (norm,)),
    "grad": SampleProgram(of_a_gradient, callees=(cube,)),
    "jvp": SampleProgram(along, _TWO, (cube,)),
    "vmap": SampleProgram(each, ("f64[4,3]",), (cube,)),
    "custom_rule": SampleProgram(with_a_rule, callees=(clipped,)),
    "print": SampleProgram(printed),
    "assert": SampleProgram(asserted),
    "text": SampleProgram(asserted),
    "raise": SampleProgram(raised),
    "python_hook": SampleProgram(logged),
}
