"""Sign proofs: they hold for random numbers, and those that the rules need exist."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler.analysis.signs import Signs
from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import Function, Region, Value
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.ir.rewrite import producers
from autodiff_compiler.ir.types import array
from autodiff_compiler.span import NOWHERE
from tests.interpreter import run

UNARY = ("abs", "square", "exp", "sqrt", "relu", "sigmoid", "softplus", "neg", "copy", "sin")
BINARY = ("add", "sub", "mul", "div", "maximum", "minimum")
NUMBERS = (-2.0, -0.5, 0.0, 0.5, 3.0)


def random_function(random: np.random.Generator) -> Function:
    """Returns a function whose results are all values that it computes."""
    x, y = (Value(array("float64", 6), name) for name in "xy")
    values: list[Value] = [x, y]
    with Builder() as builder:
        for _ in range(8):
            if random.random() < 0.5:
                values.append(OPERATORS[random.choice(UNARY)](values[random.integers(len(values))]))
                continue
            operands = [values[random.integers(len(values))] for _ in range(2)]
            if random.random() < 0.4:
                operands[random.integers(2)] = random.choice(NUMBERS).item()
            if random.random() < 0.2:
                operands[1] = operands[0]
            if any(isinstance(operand, Value) for operand in operands):
                values.append(OPERATORS[random.choice(BINARY)](*operands))
    return Function("f", Region((x, y), tuple(builder.ops), tuple(values)), NOWHERE)


def test_what_is_proven_holds() -> None:
    random = np.random.default_rng(4)
    proofs = {"is_positive": 0, "never_negative": 0, "never_positive": 0}
    holds = {
        "is_positive": lambda found: found > 0,
        "never_negative": lambda found: found >= 0,
        "never_positive": lambda found: found <= 0,
    }
    for _ in range(150):
        function = random_function(random)
        signs = Signs(producers(function.body), frozenset())
        with np.errstate(all="ignore"):
            results = run(function, [random.normal(size=6), random.normal(size=6)])
        for value, found in zip(function.returns, results):
            for name, test in holds.items():
                if getattr(signs, name)(value):
                    proofs[name] += 1
                    numbers = found[np.isfinite(found)]  # x / 0 has the sign of the zero
                    assert test(numbers).all(), (name, value, function)
    assert min(proofs.values()) > 15, proofs


def judged(line: str, name: str, safe: str = "") -> bool:
    """Returns the answer about ``%r``, which ``line`` makes; ``safe`` names a safe value."""
    function = parse_function(
        f"""
func @f(%x: f64[6], %y: f64[6]) -> (f64[6]) {{
  %s: f64[6] = square %y
  %n: f64[6] = neg %s
  %m: f64[6] = max %x {{axes=(0,), keepdims=True}}
  %w: f64[6] = broadcast_to %m {{shape=(6,)}}
  %g: f64[6] = maximum %x, %y
  %h: f64[6] = maximum 1.0, %g
  %o: f64[6] = neg %x
  {line}
  return %r
}}
""".replace("%m: f64[6] =", "%m: f64[1] =")
    )
    (made,) = function.returns
    marked = {value for op in function.body.ops for value in op.results if value.name == safe}
    return bool(getattr(Signs(producers(function.body), marked), name)(made))


@pytest.mark.parametrize(
    ("line", "name", "proven"),
    [
        ("%r: f64[6] = add %s, 1e-8", "is_positive", True),
        ("%r: f64[6] = add 1e-8, %s", "is_positive", True),
        ("%r: f64[6] = add %s, 1e-20", "is_positive", False),  # lost in a sum
        ("%r: f64[6] = add %x, 1.0", "is_positive", False),
        ("%r: f64[6] = sqrt %h", "is_positive", True),
        ("%r: f64[6] = full {dtype='float64', shape=(6,), value=2}", "is_positive", True),
        ("%r: f64[6] = full {dtype='float64', shape=(6,), value=0}", "is_positive", False),
        ("%r: f64[6] = mul %x, %x", "never_negative", True),
        ("%r: f64[6] = mul %x, %y", "never_negative", False),
        ("%r: f64[6] = pow %x, 4", "never_negative", True),
        ("%r: f64[6] = pow %x, 3", "never_negative", False),
        ("%r: f64[6] = neg %n", "never_negative", True),
        ("%r: f64[6] = sub %x, %w", "never_positive", True),  # the softmax's argument
        ("%r: f64[6] = sub %w, %x", "never_positive", False),
        ("%r: f64[6] = sub %x, %h", "never_positive", True),
        ("%r: f64[6] = mul %x, %o", "never_positive", True),
        ("%r: f64[6] = mul %s, %n", "never_positive", True),
        ("%r: f64[6] = div %n, %s", "never_positive", True),
        ("%r: f64[6] = div %s, %n", "never_positive", True),
        ("%r: f64[6] = minimum %x, %n", "never_positive", True),
        ("%r: f64[6] = add %x, %n", "never_positive", False),
    ],
)
def test_proofs(line: str, name: str, proven: bool) -> None:
    assert judged(line, name) is proven


def test_a_safe_magnitude_is_positive_unless_it_is_a_negation() -> None:
    assert judged("%r: f64[6] = sin %x", "is_positive", safe="r")
    assert not judged("%r: f64[6] = neg %x", "is_positive", safe="r")


def test_a_proof_is_only_so_deep() -> None:
    line = "%a: f64[6] = copy %s\n  %b: f64[6] = copy %a\n  %r: f64[6] = copy %b"
    assert judged(line, "never_negative")
    with changed_costs(sign_search_levels=3):
        assert not judged(line, "never_negative")
