"""No pass changes what a function computes: random programs, with branches and loops, before and
after, run by the interpreter of the tests."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import AnyOperand, Function, Region, Value
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.parser import parse_functions
from autodiff_compiler.ir.printer import print_function, print_functions
from autodiff_compiler.ir.types import FLOAT, INT
from autodiff_compiler.ir.verify.structure import verify
from autodiff_compiler.passes.manager import PASSES, run_until_stable
from autodiff_compiler.passes.simplify.inline_calls import inline_calls
from autodiff_compiler.span import NOWHERE
from tests import interpreter

INPUTS = (0.75, -1.25)
#: Shrinking a program of this size takes minutes; the text of the failing one says enough.
PROFILE: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "phases": [Phase.explicit, Phase.reuse, Phase.generate],
}


class Writer:
    """Writes random code on floats: small numbers, so that nothing overflows."""

    def __init__(self, draw: st.DrawFn, callee: Function | None):
        self.draw, self.callee, self.builder = draw, callee, Builder()
        #: What branches so far said of the way that they took.
        self.flags: list[Value] = []

    def function(self, name: str) -> Function:
        params = tuple(Value(FLOAT, word, has_user_name=True) for word in "xy")
        with self.builder:
            yields = self.block(list(params), 2)
            returns = self.some(yields, self.draw(st.integers(1, 3)))
        body = Region(params, tuple(self.builder.ops), returns)
        return Function(name, body, NOWHERE)

    def some(self, scope: list[Any], count: int) -> tuple[AnyOperand, ...]:
        literals = st.sampled_from([0.0, 1.0, -1.0, 0.5])
        one = st.one_of(st.sampled_from(scope), st.sampled_from(scope), literals)
        return tuple(self.draw(one) for _ in range(count))

    def block(self, scope: list[Any], depth: int) -> list[Any]:
        scope, outer = list(scope), self.flags
        self.flags = list(outer)
        for _ in range(self.draw(st.integers(1, 4))):
            kinds = ["add", "sub", "mul", "neg", "copies"]
            kinds += ["if", "for", "while", "call"] if depth else []
            kind = self.draw(st.sampled_from(kinds))
            if kind == "copies":
                pair = OPERATORS["make_tuple"](scope[-1], *self.some(scope, 1))
                scope.append(OPERATORS["item"](pair, key=self.draw(st.integers(0, 1))))
            elif kind == "neg":
                scope.append(OPERATORS["neg"](self.draw(st.sampled_from(scope))))
            elif kind == "if":
                scope += self.branch(scope, depth - 1)
            elif kind in ("for", "while"):
                scope += self.loop(scope, kind, depth - 1)
            elif kind == "call":
                if self.callee is not None:
                    scope += self.builder.call(self.callee, (scope[-1], self.value(scope)))
            else:
                product = OPERATORS[kind](*self.some(scope, 2))
                scope.append(OPERATORS["mul"](product, 0.25) if kind == "mul" else product)
            scope = [thing for thing in scope if isinstance(thing, Value)]
            scope[-1].has_user_name = scope[-1].has_user_name or self.draw(st.booleans())
        self.flags = outer
        return scope

    def value(self, scope: list[Any]) -> Any:
        return self.draw(st.sampled_from(scope))

    def branch(self, scope: list[Any], depth: int) -> list[Value]:
        predicate = self.draw(st.sampled_from([None, None, True, False, *self.flags]))
        if predicate is None:
            predicate = OPERATORS["greater"](self.value(scope), 0.0)
        count = self.draw(st.integers(0, 2))
        regions = []
        for _ in range(2):
            with self.builder.block() as ops:
                yields = self.some(self.block(scope, depth), count)
            said = self.draw(st.sampled_from([True, False, predicate]))
            regions.append(Region((), tuple(ops), (*yields, said)))
        *found, flag = self.builder.branch(predicate, *regions)
        self.flags.append(flag)
        return found

    def loop(self, scope: list[Any], kind: str, depth: int) -> list[Value]:
        carries, stacks, reads = (self.draw(st.integers(0, 2)) for _ in range(3))
        until, reverse = self.draw(st.booleans()), self.draw(st.booleans())
        trips = self.draw(st.integers(0, 3))
        inits = list(self.some(scope, carries))
        sources = [OPERATORS["make_list"](*([self.value(scope)] * 3)) for _ in range(reads)]
        params = [Value(FLOAT, "p") for _ in range(carries + reads)]
        lead, condition, bounds = [Value(INT, "k")], None, None
        if kind == "for":
            lead.append(Value(INT, "i"))
            bounds = (0, trips, 1)
        else:
            # A first carry counts down, so that the loop ends.
            reverse, carries = False, carries + 1
            inits, params = [float(trips), *inits], [Value(FLOAT, "left"), *params]
            tested = tuple(Value(FLOAT, "t") for _ in range(carries))
            with self.builder.block() as ops:
                go = OPERATORS["greater"](tested[0], 0.0)
            condition = Region(tested, tuple(ops), (go,))
        with self.builder.block() as ops:
            down = (OPERATORS["sub"](params[0], 1.0),) if condition else ()
            inner = self.block([*scope, *params], depth)
            yields = (*down, *self.some(inner, carries - len(down) + stacks))
            if until:
                yields += (OPERATORS["greater"](self.value(inner), 0.5),)
        body = Region((*lead, *params), tuple(ops), yields)
        loop = self.builder.loop(bounds, inits, sources, body, condition, until, reverse)
        count = OPERATORS["mul"](loop.results[-1], 1.0)
        found = list(loop.results[:carries])
        if stacks and condition is None and trips and not until:
            found.append(OPERATORS["list_item"](loop.results[carries], 0))
        return [*found, count]


@st.composite
def programs(draw: st.DrawFn) -> Function:
    callee = Writer(draw, None).function("g")
    return Writer(draw, callee).function("f")


@pytest.mark.parametrize("names", [*((name,) for name in PASSES), tuple(PASSES), ("inline",)])
@settings(max_examples=25, **PROFILE)
@given(function=programs())
def test_the_meaning_stays(names: tuple[str, ...], function: Function) -> None:
    verify(function, "typed")
    before = print_functions(function)
    wanted = interpreter.run(function, INPUTS)
    if names == ("inline",):
        result = inline_calls(function, lambda call: True)
        assert "call" not in [op.name for op in result.body.walk()]
    else:
        result = run_until_stable(function, names)
    verify(result, "typed: after")
    assert interpreter.run(result, INPUTS) == wanted
    assert print_functions(function) == before


@settings(max_examples=25, **PROFILE)
@given(function=programs())
def test_text_keeps_the_meaning(function: Function) -> None:
    text = print_functions(function)
    again = list(parse_functions(text, OPERATORS).values())[-1]
    assert print_functions(again) == text
    assert print_function(again) == print_function(function)
    assert interpreter.run(again, INPUTS) == interpreter.run(function, INPUTS)
