"""Passes that rewrite arithmetic keep the values of random expressions with shared parts.

A rule is tested on the pattern that it is for; what it must not match is tested here: operations
whose results are read again, in any order, by others that are dead or returned.
"""

from __future__ import annotations

import random
from functools import partial

import pytest

from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.ir.types import array
from autodiff_compiler.operators.core.declare import broadcast_shapes
from autodiff_compiler.passes.manager import run_pass
from tests.passes.conftest import Optimised

SHAPES = {"x": (4, 3), "y": (4, 3), "g": (4, 1), "c": ()}
BINARY = ("add", "sub", "sub", "mul", "mul", "add", "div")
UNARY = ("neg", "neg", "sin", "square", "exp")
PASSES = ("simplify_algebra", "reassociate_products", "fold_constants")
SEEDS = range(300)


def text_of(seed: int, role: str) -> str:
    """Writes a function of a dozen operations whose operands are drawn from all values before."""
    draw = random.Random(seed)
    values = list(SHAPES.items())
    lines = []
    for number in range(draw.randint(5, 14)):
        name = draw.choice(BINARY if draw.random() < 0.8 else UNARY)
        # New values are read more often, so that patterns of several operations occur.
        (first, shape), (second, other) = (
            draw.choice(values[-4:] if draw.random() < 0.6 else values) for _ in range(2)
        )
        operands = f"%{first}"
        if name in BINARY:
            literal = draw.random() < 0.35
            shape = shape if literal else broadcast_shapes([shape, other]) or ()
            number_text = str(draw.choice((0.5, 2.0, -1.0, 3, 1)))
            pair = [operands, number_text if literal else f"%{second}"]
            operands = ", ".join(pair if draw.random() < 0.7 or name == "div" else pair[::-1])
        elif draw.random() < 0.2:
            name, operands = "sum", f"%{first} {{axes=None, keepdims=False}}"
            shape = ()
        values.append((f"v{number}", shape))
        lines.append(f"  %v{number}: {array('float64', *shape)} = {name} {operands}  # {role}")
    returned = [values[-1], *draw.sample(values[len(SHAPES) :], 2)]
    params = ", ".join(f"%{name}: {array('float64', *shape)}" for name, shape in SHAPES.items())
    types = ", ".join(str(array("float64", *shape)) for _, shape in returned)
    names = ", ".join(f"%{name}" for name, _ in returned)
    return "\n".join([f"func @f({params}) -> ({types}) {{", *lines, f"  return {names}", "}", ""])


@pytest.mark.every_case
@pytest.mark.parametrize("role", ["primal", "adjoint"])
@pytest.mark.parametrize("seed", SEEDS)
def test_each_pass_and_all_together_keep_the_values(
    seed: int, role: str, optimised: Optimised
) -> None:
    before = parse_function(text_of(seed, role))
    steps = [partial(run_pass, name) for name in PASSES]
    clean = [partial(run_pass, name) for name in ("cse", "dce")]
    for step in steps:
        optimised(before, step, rtol=1e-9, atol=1e-9)
    optimised(before, *[*steps, *clean] * 2, rtol=1e-9, atol=1e-9)
