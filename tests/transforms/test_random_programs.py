"""Programs of random control flow, differentiated twice, in one function and in two."""

from __future__ import annotations

import random

import numpy as np
import pytest

from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import Function, Region, Value
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.types import BOOL, INT, ListType, Type, array
from autodiff_compiler.ir.verify.structure import verify
from autodiff_compiler.span import Span
from tests.transforms.numeric import check

HERE = Span("random.py", 1, 1, 2, "x")
VECTOR = array("float64", 3)
LOOSE = array("float64", None)


class Writer:
    """Writes one function; ``known`` are the arrays, ints and bools that can be seen."""

    def __init__(self, seed: int, type_: Type):
        self.random = random.Random(seed)
        self.builder = Builder()
        self.type = type_
        self.callee = self._callee()

    def _callee(self) -> Function:
        x, y = Value(self.type, "x"), Value(self.type, "y")
        builder = Builder()
        with builder, builder.at(HERE):
            out = OPERATORS["sin"](x * y) + x
        return Function("inner", Region((x, y), tuple(builder.ops), (out, y)), HERE)

    def function(self, depth: int = 3) -> Function:
        params = [Value(self.type, name) for name in "xyz"]
        n, flag = Value(INT, "n"), Value(BOOL, "flag")
        with self.builder, self.builder.at(HERE):
            known = self.block(list(params), [n], [flag], depth)
            out = self.one(known) * self.one(known)
        body = Region((*params, n, flag), tuple(self.builder.ops), (out,))
        return Function("f", body, HERE)

    def one(self, known: list[Value]) -> Value:
        return self.random.choice(known[-6:])

    def block(self, known: list, ints: list, flags: list, depth: int) -> list:
        """Adds some statements; returns what is known after them."""
        known, ints, flags = list(known), list(ints), list(flags)
        for _ in range(self.random.randint(2, 3)):
            kinds = ["plain", "plain", "call", "tuple"]
            kinds += ["if", "for", "while", "until"] * (depth > 0)
            known += getattr(self, f"write_{self.random.choice(kinds)}")(known, ints, flags, depth)
        return known

    def write_plain(self, known: list, ints: list, flags: list, depth: int) -> list:
        name = self.random.choice(["add", "mul", "sub", "sin", "tanh"])
        count = 1 if name in ("sin", "tanh") else 2
        return [OPERATORS[name](*(self.one(known) for _ in range(count)))]

    def write_call(self, known: list, ints: list, flags: list, depth: int) -> list:
        return list(self.builder.call(self.callee, [self.one(known), self.one(known)]))

    def write_tuple(self, known: list, ints: list, flags: list, depth: int) -> list:
        made = OPERATORS["make_tuple"](self.one(known), 3, self.one(known))
        flag = self.random.choice(flags)
        other = OPERATORS["make_tuple"](self.one(known), 4, self.one(known))
        regions = [Region((), (), (made,)), Region((), (), (other,))]
        (chosen,) = self.builder.branch(flag, *regions)
        return [OPERATORS["item"](chosen, key=0), OPERATORS["item"](chosen, key=2)]

    def region(self, params: list, known: list, ints: list, flags: list, depth: int,
               count: int, last: tuple = ()) -> Region:  # fmt: skip
        with self.builder.block() as ops:
            inner = self.block(known, ints, flags, depth - 1)
            yields = tuple(OPERATORS["tanh"](self.one(inner)) if self.random.random() < 0.5
                           else self.one(inner) for _ in range(count))  # fmt: skip
            extra = tuple(make() for make in last)
        return Region(tuple(params), tuple(ops), yields + extra)

    def write_if(self, known: list, ints: list, flags: list, depth: int) -> list:
        count = self.random.randint(1, 2)
        regions = [self.region([], known, ints, flags, depth, count) for _ in range(2)]
        return list(self.builder.branch(self.random.choice(flags), *regions))

    def loop(self, known: list, ints: list, flags: list, depth: int, until: bool) -> list:
        bounds = (0, self.random.choice([*ints, 0, 2]), self.random.choice([1, 2]))
        k, i = Value(INT, "k"), Value(INT, "i")
        carries = [Value(self.type, f"p{c}") for c in range(2)]
        last = (lambda: OPERATORS["greater"](i, 1),) if until else ()
        odd = Value(BOOL, "odd")
        with self.builder.block() as head:
            odd = OPERATORS["less"](k, 1)
        body = self.region([k, i, *carries], [*known, *carries], [*ints, i], [*flags, odd], depth,
                           3, last)  # fmt: skip
        body = Region(body.params, (*head, *body.ops), body.yields)
        inits = [self.one(known) for _ in range(2)]
        op = self.builder.loop(bounds, inits, [], body, until=until)
        first, second, tape, count = op.results
        return [first, second, *self.read(tape, count, known)]

    def read(self, tape: Value, count: Value, known: list) -> list:
        """A loop over a tape, or over as much of it as one iteration."""
        stop = count if self.random.random() < 0.7 else OPERATORS["minimum"](count, 1)
        assert isinstance(tape.type, ListType)
        k, i, item = Value(INT, "k"), Value(INT, "i"), Value(tape.type.item, "item")
        carry = Value(self.type, "r")
        with self.builder.block() as ops:
            out = OPERATORS["sin"](carry * item)
        body = Region((k, i, carry, item), tuple(ops), (out,))
        return [self.builder.loop((0, stop, 1), [self.one(known)], [tape], body).results[0]]

    def write_for(self, known: list, ints: list, flags: list, depth: int) -> list:
        return self.loop(known, ints, flags, depth, until=False)

    def write_until(self, known: list, ints: list, flags: list, depth: int) -> list:
        return self.loop(known, ints, flags, depth, until=True)

    def write_while(self, known: list, ints: list, flags: list, depth: int) -> list:
        k, at, tested, seen = (Value(INT, name) for name in ("k", "at", "tested", "seen"))
        carry, same = Value(self.type, "w"), Value(self.type, "w")
        with self.builder.block() as ops:
            goes_on = OPERATORS["less"](tested, self.random.choice([*ints, 2]))
        condition = Region((same, tested), tuple(ops), (goes_on,))
        body = self.region([k, carry, at], [*known, carry], ints, flags, depth, 1,
                           (lambda: OPERATORS["add"](at, 1),))  # fmt: skip
        inits = [self.one(known), 0]
        return [self.builder.loop(None, inits, [], body, condition).results[0]]


X = np.array([0.3, -0.5, 0.7])


@pytest.mark.parametrize("type_", [VECTOR, LOOSE], ids=str)
@pytest.mark.parametrize("seed", [*range(12), 46])
def test_random_program(seed: int, type_: Type) -> None:
    function = Writer(seed, type_).function()
    verify(function, "typed")
    for n, flag in ((0, True), (2, False), (3, True)):
        check(function, [X, X + 0.4, X - 0.6, n, flag], (0, 2), order=2 if n == 3 else 1)


def called(function: Function) -> Function:
    """A function that calls ``function``: so its residuals are handed on as values."""
    params = [Value(param.type, param.name) for param in function.params]
    builder = Builder()
    with builder, builder.at(HERE):
        (out,) = builder.call(function, params)
        out = out * params[0]
    return Function("main", Region(tuple(params), tuple(builder.ops), (out,)), HERE)


def test_third_order_of_values_that_one_path_does_not_set() -> None:
    function = called(Writer(108, LOOSE).function(depth=2))
    check(function, [X, X + 0.4, X - 0.6, 3, True], (0, 2), order=3)
