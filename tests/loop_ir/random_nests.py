"""Random functions of loop nests: elementwise operations, reductions, gathers, loops."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff_compiler.ir.types import SHORT
from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Apply,
    Buffer,
    Expression,
    Function,
    Let,
    Literal,
    Load,
    Loop,
    Matrix,
    Product,
    Read,
    Scalar,
)
from autodiff_compiler.loops.core.state import Lowering, apply
from autodiff_compiler.loops.core.values import Array, row_major
from autodiff_compiler.loops.rules.reductions import reduced

UNARY = ("sin", "tanh", "abs", "neg", "square")
BINARY = ("add", "sub", "mul", "maximum")


def random_nests(seed: int) -> tuple[Function, list[Any]]:
    """Returns a random function with its inputs."""
    draw = random.Random(seed)
    rows, columns = draw.choice(((3, 4), (1, 5), (4, 4), (2, 9), (5, 2)))
    return _Program(draw, rows, columns, draw.choice(("float64", "float64", "float32"))).finish()


class _Program:
    """A program on arrays of ``rows`` and ``columns``, or of length one in their place."""

    def __init__(self, draw: random.Random, rows: int, columns: int, dtype: str) -> None:
        self.draw, self.rows, self.columns, self.dtype = draw, rows, columns, dtype
        self.low = Lowering({})
        self.arrays = [
            self.parameter("x", (rows, columns)),
            self.parameter("y", (1, columns)),
            self.parameter("z", (rows, 1)),
        ]
        self.places = Buffer("places", "int64", rows, "input")
        self.factor = Scalar("factor", "float64")
        for _ in range(draw.randint(3, 9)):
            self.arrays.append(draw.choice(self.STEPS)(self))

    def parameter(self, name: str, shape: tuple[int, int]) -> Array:
        buffer = Buffer(name, self.dtype, shape[0] * shape[1], "input")
        return Array(buffer, Affine(), shape, row_major(shape))

    def finish(self) -> tuple[Function, list[Any]]:
        outputs = []
        for number, array in enumerate(self.draw.sample(self.arrays[3:], 3)):
            buffer = Buffer(f"out{number}", self.dtype, array.shape[0] * array.shape[1], "output")
            out = Array(buffer, Affine(), array.shape, row_major(array.shape))
            self.low.nest(out.shape, lambda at: self.low.store(out, at, array.load(at)))  # noqa: B023
            outputs.append(buffer)
        parameters = (*(each.buffer for each in self.arrays[:3]), self.places, self.factor)
        rng = np.random.default_rng(self.draw.randrange(2**30))
        values: list[Any] = [rng.uniform(-1, 1, each.buffer.size).astype(self.dtype)
                             for each in self.arrays[:3]]  # fmt: skip
        values += [rng.integers(0, self.rows, self.rows), 0.75]
        function = Function("random_nests", parameters, tuple(outputs), tuple(self.low.blocks[0]))
        return function, values

    # ---- steps

    def any(self) -> Array:
        return self.draw.choice(self.arrays[-5:] + self.arrays[:2])

    def full(self) -> Array:
        wanted = (self.rows, self.columns)
        return self.draw.choice([each for each in self.arrays if each.shape == wanted])

    def map(self, shape: Sequence[int], element: Callable[[Any], Expression]) -> Array:
        return self.low.mapped("t", self.dtype, shape, element)

    def unary(self) -> Array:
        x, name = self.any(), self.draw.choice(UNARY)
        return self.map(x.shape, lambda at: apply(name, self.dtype, x.load(at)))

    def binary(self) -> Array:
        x, y, name = self.any(), self.any(), self.draw.choice(BINARY)
        shape = [max(pair) for pair in zip(x.shape, y.shape)]
        return self.map(shape, lambda at: apply(name, self.dtype, x.load(at), y.load(at)))

    def chosen(self) -> Array:
        x, y = self.full(), self.any()
        return self.map(x.shape, lambda at: self.choice(x.load(at), y.load(at)))

    def choice(self, x: Expression, y: Expression) -> Expression:
        scaled = apply("mul", self.dtype, y, Read(self.factor))
        return Apply("select", (Apply("less", (x, y), "bool"), scaled, x), self.dtype)

    def reduction(self) -> Array:
        x, axis = self.full(), self.draw.choice(((0,), (1,), (0, 1)))
        shape = [1 if each in axis else size for each, size in enumerate(x.shape)]
        result = self.low.new_array(self.dtype, shape, "total")
        combine = self.draw.choice(("add", "add", "maximum"))
        reduced(self.low, combine, x.load, x.shape, axis, result)
        return result

    def mean(self) -> Array:
        x = self.full()
        result = self.low.new_array(self.dtype, (1, self.columns), "mean")
        finish = lambda total: apply("div", self.dtype, total, self.rows)  # noqa: E731
        reduced(self.low, "add", x.load, x.shape, (0,), result, finish)
        return result

    def row_at(self, row: Affine) -> Affine:
        read = self.low.let("place", Load(self.places, row))
        assert isinstance(read, Read)
        return Affine.of(read.scalar)

    def gather(self) -> Array:
        x = self.full()
        return self.map(x.shape, lambda at: x.load([self.row_at(at[0]), at[1]]))

    def scatter(self) -> Array:
        x, zero = self.full(), Literal(0.0, self.dtype)
        result = self.map(x.shape, lambda at: zero)
        self.low.nest(x.shape, lambda at: self.low.store(
            result, [self.row_at(at[0]), at[1]], x.load(at), "add"))  # fmt: skip
        return result

    def flip(self) -> Array:
        x = self.full()
        return self.map(x.shape, lambda at: x.load([at[0], at[1] * -1 + (self.columns - 1)]))

    def transposed(self) -> Array:
        """A copy in Fortran order, seen in C order."""
        x = self.full()
        copy = self.low.mapped(
            "transposed", self.dtype, (self.columns, self.rows), lambda at: x.load([at[1], at[0]])
        )
        return Array(copy.buffer, Affine(), x.shape, copy.strides[::-1])

    def copied(self) -> Array:
        return self.low.copied(self.any(), "copied")

    def product(self) -> Array:
        x, y = self.full(), self.full()
        result = self.low.new_array(self.dtype, (self.rows, self.rows), "product")
        left = Matrix(x.buffer, x.at, (x.strides[0], x.strides[1]))
        right = Matrix(y.buffer, y.at, (y.strides[1], y.strides[0]))
        target = Matrix(result.buffer, Affine(), (self.rows, 1))
        self.low.add(Product(target, left, right, self.rows, self.rows, self.columns))
        column = Affine(self.rows - 1)
        return self.map((self.rows, 1), lambda at: result.load([at[0], column]))

    def recurrence(self) -> Array:
        """A state that a serial loop carries over the rows."""
        x, low = self.full(), self.low
        state = low.copied(x.item(Affine(self.rows - 1)), "state")
        index = Scalar("k", "int64")
        with low.block() as statements:
            row = x.item(Affine.of(index))
            total = lambda at: apply("add", self.dtype, state.load(at), row.load(at))  # noqa: E731
            element = lambda at: apply("tanh", self.dtype, total(at))  # noqa: E731
            after = low.mapped("next", self.dtype, state.shape, element)
            low.nest(state.shape, lambda at: low.store(state, at, after.load(at)))
        low.add(Loop(index, self.rows, tuple(statements), False))
        return state.with_axes((1, self.columns), (self.columns, 1))

    def history(self) -> Array:
        """The states that a serial loop computes, each in a row of its own, in reverse."""
        x, low = self.full(), self.low
        state = low.copied(x.item(Affine(0)), "state")
        past = low.new_array(self.dtype, x.shape, "past")
        index = Scalar("k", "int64")
        with low.block() as statements:
            row = x.item(Affine.of(index))
            part = low.mapped(
                "part", self.dtype, row.shape, lambda at: apply("square", self.dtype, row.load(at))
            )
            total = lambda at: apply("sub", self.dtype, state.load(at), part.load(at))  # noqa: E731
            after = low.mapped("next", self.dtype, state.shape, total)
            place = past.item(Affine(self.rows - 1) + Affine.of(index, -1))
            low.nest(state.shape, lambda at: low.store(place, at, after.load(at)))
            low.nest(state.shape, lambda at: low.store(state, at, after.load(at)))
        low.add(Loop(index, self.rows, tuple(statements), False))
        return past

    def joined(self) -> Array:
        """Two computed blocks of rows, one after the other."""
        x, y, low = self.full(), self.full(), self.low
        one = self.map(x.shape, lambda at: apply("sin", self.dtype, x.load(at)))
        other = self.map(y.shape, lambda at: apply("neg", self.dtype, y.load(at)))
        both = low.new_array(self.dtype, (2 * self.rows, self.columns), "both")
        end = Array(both.buffer, Affine(self.rows * self.columns), x.shape, both.strides)
        low.nest(one.shape, lambda at: low.store(both, at, one.load(at)))
        low.nest(other.shape, lambda at: low.store(end, at, other.load(at)))
        return Array(both.buffer, Affine(self.columns), x.shape, both.strides)

    def neighbours(self) -> Array:
        """Sums into shifted rows and columns of one array."""
        x, zero = self.full(), Literal(0.0, self.dtype)
        result = self.map(x.shape, lambda at: zero)
        down, right = self.draw.randrange(self.rows), self.draw.randrange(self.columns)
        for rows, columns in ((0, 0), (down, 0), (0, right)):
            part = (self.rows - rows, self.columns - columns)
            self.low.nest(part, lambda at: self.low.store(
                result, [at[0] + rows, at[1] + columns], x.load(at), "add"))  # noqa: B023  # fmt: skip
        return result

    def ordered(self) -> Array:
        """The rows with their elements in order, by calls of an algorithm."""
        x, low = self.low.copied(self.full(), "rows"), self.low
        order = low.new_array("int64", x.shape, "order")
        merged = low.new_array("int64", (self.columns,), "merged").part((), 1)
        name, choices = f"argsort_{SHORT[self.dtype]}", (self.columns, self.draw.randrange(2))
        low.nest((self.rows,), lambda at: low.call(
            name, choices, (order.part(at, 1), merged), (x.part(at, 1),)), False)  # fmt: skip

        def element(at: Sequence[Affine]) -> Expression:
            place = low.let("place", order.load(at))
            assert isinstance(place, Read)
            return x.load([at[0], Affine.of(place.scalar)])

        return self.map(x.shape, element)

    def number(self) -> Array:
        """A sum in a register, on an array of one element."""
        x, low = self.full(), self.low
        total = Scalar("total", self.dtype, mutable=True)
        low.add(Let(total, Literal(0.0, self.dtype)))
        low.nest(x.shape, lambda at: low.set(total, x.load(at), "add"))
        return self.map((1, 1), lambda at: Read(total))

    STEPS = (unary, unary, binary, binary, binary, chosen, reduction, reduction, mean, gather,
             scatter, flip, transposed, copied, product, recurrence, history, joined, neighbours,
             ordered, number)  # fmt: skip
