"""Python's data model, method by method. Value and gradient agree with Python, or the program is
refused at the user's line."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.errors import CompileError
from tests.frontend.expressions import modelled
from tests.frontend.expressions.modelled import CHANGING, X

#: Of an object ``o`` from outside, and of one that the text makes.
OF_AN_OBJECT = """
hasattr(o, "none") * x + x | getattr(o, "none", 3.0) * x
len(o) * x | x * 2 if 2 in o else x | x * 2 if 3 in o else x | sum([a * x for a in o])
[a * x for a in reversed(o)][0] | o[2] * x | x if o == 3 else x * 2 | x if o != 3 else x * 2
x if 3 == o else x * 2 | x if o < 3 else x * 2 | x if 3 < o else x * 2 | o(x)
o + x | x + o | o - x | x - o | o * x | x * o | o @ x | x @ o | o / x | x / o | o ** x | x ** o
o // x | o % x | divmod(o, x)[1] | -o * x | +o * x | abs(o) * x | ~o * x | round(o) * x
int(o) * x | float(o) * x | x * 2 if o else x | x if not o else x * 2 | o.found * x
type(o)[3] * x | x * len(str(o)) | x * len(list(o)) | hash(o) * x | x * {o: 2.0}[o]
x * list(range(o))[0] + x | x * len(tuple(o)) | sum([a.sum() for i, a in enumerate(o)]) * x
[a * b for a, b in zip(o, o)][1] * x | np.sum(list(o)) * x | x * isinstance(o, Full)
x * callable(o) | operator.add(o, x) | bool(o) * x + x | x * (o is o) | o.__len__() * x
Full.__len__(o) * x | o or x | x * bool(o and 1) + x
"""
#: What is refused for an object of either kind, or for one that the text makes.
REFUSED_OF_AN_OBJECT = """
[1.0, 2.0, 3.0][o] * x
math.floor(o) * x | complex(o).imag * x
"""
OF_OTHERS = """
DEFAULTING["z"] * x | DEFAULTING["a"] * x | DEFAULTING.get("z", 3.0) * x | DOUBLING["a"] * x
DOUBLING.get("a") * x | list(DOUBLING.values())[0] * x | sum([a.sum() for a in GOING]) * x
list(GOING)[0] * x | GOING[0] * x | (JOINING + [x]) * x | x * (5 in JOINING)
x * 2 if JOINING else x | JOINING.total() * x | ROW[0] * x | (ROW + (1,)) * x
NUMBER * x | x * NUMBER | NUMBER + x | x + NUMBER | -NUMBER * x | NUMBER * 2.0 * x
2.0 * NUMBER * x | x.sum() * NUMBER * x | NUMBER * x.sum() * x | NUMBER * x[0] * x
WHOLE * x | x * WHOLE | WHOLE * 2.0 * x | x * (WHOLE == 77)
x * 2 if Colour.RED is Colour.RED else x | Colour.RED.value * x | Colour.GREEN.twice * x
Colour.RED.of(x) | Colour["GREEN"].value * x | Colour(2.0).value * x | len(Colour) * x
sum([each.value for each in Colour]) * x | x * (Colour.RED == Colour.GREEN)
BASE.of_class(x) | Base.of_class(x) | BELOW.of_class(x) | Below.of_class(x) | BASE.alone(x)
BASE.cached * x | BASE.number * x | Base.number * x | BASE.shared * x | BELOW.shared * x
BASE.method(x) | BELOW.method(x) | BASE.part(x) | PART(x) | PART.func(x, x)
functools.partial(BASE.method, y=5)(x) | functools.reduce(lambda a, b: a * b, [x, x, x])
operator.attrgetter("number")(BASE) * x | Base.method(BASE, x) | type(BASE).number * x
BASE.__dict__["number"] * x | super(Below, BELOW).method(x) | isinstance(BELOW, Base) * x
LONGER[0] * x | [a * x for a in LONGER][0] | len(LONGER) * x | Kind.SECOND * x | x + Kind.SECOND
"""
REFUSED = """
np.multiply(x, ARRAY) | np.asarray(ARRAY) * x | x + UNIVERSAL | UNIVERSAL + x | x * ELEMENTWISE
"""
STATEMENTS = {
    "in-place operator": "o = changing\no += x\nreturn (o.held * x).sum()",
    "another in its place": "o = changing\no -= x\nreturn (o * x).sum()",
    "item": "changing[2] = x\nreturn (changing.held * x).sum()",
    "item and operator": "changing[2] += x\nreturn (changing.held * x).sum()",
    "with": "with full as held:\n    return (held * x).sum()",
    "for": "t = 0.0\nfor a in full:\n    t = t + (a * x).sum()\nreturn t",
    "backward": "t = 0.0\nfor a in reversed(full):\n    t = t + (a * x).sum()\nreturn t",
    "unpacked": "a, b = full\nreturn (a * x + b).sum()",
    "starred": "a, *b = full\nreturn (a * x + b[0]).sum()",
    "while": "t = x\nwhile full:\n    t = t * 2\nreturn t.sum()",
}


def rows(text: str) -> list[str]:
    return [row for line in text.strip().splitlines() for row in line.split(" | ")]


def compiled(body: str) -> Callable[..., Any]:
    """Returns a function of ``x`` with this body."""
    text = "def program(x):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    file = f"<data model {text}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope = dict(vars(modelled))
    exec(compile(text, file, "exec"), scope)
    return scope["program"]


def check(program: Callable[..., Any]) -> None:
    def fresh(x):
        vars(CHANGING)["held"] = np.ones(3)
        return float(program(x))

    want = fresh(X)
    steps = np.eye(3) * 1e-6
    slope = [(fresh(X + step) - fresh(X - step)) / 2e-6 for step in steps]
    fresh(X)
    vars(CHANGING)["held"] = np.ones(3)
    value, found = ms.value_and_grad(program)(X)
    np.testing.assert_allclose(value, want)
    np.testing.assert_allclose(found, slope, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("made", ["FULL", "Full(x * 2)"])
@pytest.mark.parametrize("expression", rows(OF_AN_OBJECT))
def test_an_expression_of_an_object(expression: str, made: str) -> None:
    check(compiled(f"o = {made}\nreturn np.sum({expression})"))


@pytest.mark.parametrize("expression", rows(REFUSED_OF_AN_OBJECT))
def test_an_expression_that_is_refused_for_an_object_of_compiled_code(expression: str) -> None:
    program = compiled(f"o = Full(x * 2)\nreturn np.sum({expression})")
    with pytest.raises(CompileError) as caught:
        ms.value_and_grad(program)(X)
    assert "data model" in str(caught.value) and "cure:" in str(caught.value)


@pytest.mark.parametrize("expression", rows(OF_OTHERS))
def test_an_expression_of_others(expression: str) -> None:
    check(compiled(f"return np.sum({expression})"))


@pytest.mark.parametrize("expression", rows(REFUSED))
def test_an_expression_that_is_refused(expression: str) -> None:
    with pytest.raises(CompileError) as caught:
        ms.value_and_grad(compiled(f"return np.sum({expression})"))(X)
    assert "data model" in str(caught.value) and "cure:" in str(caught.value)


@pytest.mark.parametrize(
    "made", ["full, changing = FULL, CHANGING", "full, changing = Full(x * 2), Changing(x * 3)"]
)
@pytest.mark.parametrize("statements", STATEMENTS)
def test_statements(statements: str, made: str) -> None:
    check(compiled(f"{made}\n{STATEMENTS[statements]}"))


def test_reversed_of_an_object_without_the_method_is_refused() -> None:
    class Only:
        def __iter__(self):
            return iter([X])

    thing = Only()
    with pytest.raises(CompileError, match="__reversed__"):
        ms.jit(lambda x: sum((a * x).sum() for a in reversed(thing)))(X)
    with pytest.raises(TypeError):
        reversed(thing)
