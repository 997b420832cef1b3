"""Runs loop nests: one statement after the other, on lists of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Apply,
    Body,
    Buffer,
    Call,
    Expression,
    Fail,
    Function,
    If,
    Let,
    Literal,
    Load,
    Loop,
    Matrix,
    Part,
    Position,
    Product,
    Read,
    Reserve,
    Scalar,
    Set,
    Statement,
    Store,
    While,
)

OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "floor_div": np.floor_divide,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "exp": np.exp,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "tanh_slope": lambda x: 1.0 - np.tanh(x) ** 2,
    "abs": np.abs,
    "square": np.square,
    "sqrt": np.sqrt,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "copy": lambda x: x,
    "select": lambda c, x, y: x if c else y,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_not": np.logical_not,
}


def _sort(numbers: Sequence[int], changed: list, read: list) -> None:
    size, descending = numbers
    rising = np.argsort(read[0], kind="stable")
    falling = size - 1 - np.argsort(read[0][::-1], kind="stable")[::-1]
    changed[0][:] = falling if descending else rising


def _solve(numbers: Sequence[int], changed: list, read: list) -> bool:
    size, columns = numbers
    right, equations = changed[0].reshape(size, columns), changed[1].reshape(size, size)
    try:
        right[:] = np.linalg.solve(equations, right)
    except np.linalg.LinAlgError:
        return True
    changed[1][:] = changed[2][:] = 77
    return False


#: The algorithms of C that are run here. They return True if they fail.
ALGORITHMS: Mapping[str, Callable[..., bool | None]] = {"argsort": _sort, "solve": _solve}


class Failed(Exception):
    """Raised by ``Fail``, with the number of the error."""


def run_nests(function: Function, inputs: Sequence[Any]) -> list[np.ndarray]:
    """Runs a function. Returns its outputs as flat arrays."""
    return _Run(function, inputs).outputs()


class _Run:
    """Local memory begins as NaN, or as a number that no program computes with."""

    def __init__(self, function: Function, inputs: Sequence[Any]) -> None:
        self.function = function
        self.numbers: dict[Scalar, Any] = {}
        self.memory: dict[Buffer, np.ndarray] = {}
        for thing, value in zip(function.inputs, inputs, strict=True):
            if isinstance(thing, Scalar):
                self.numbers[thing] = np.dtype(thing.dtype).type(value)
            else:
                self.memory[thing] = np.array(value, thing.dtype).reshape(-1)
                assert self.memory[thing].size == thing.size

    def outputs(self) -> list[np.ndarray]:
        with np.errstate(all="ignore"):
            self.body(self.function.body)
        return [self.cells(each) for each in self.function.outputs]

    def cells(self, buffer: Buffer) -> np.ndarray:
        if buffer not in self.memory:
            values = buffer.values if buffer.role == "constant" else _unset(buffer)
            self.memory[buffer] = np.array(values, buffer.dtype)
        return self.memory[buffer]

    def body(self, body: Body) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, statement: Statement) -> None:
        if isinstance(statement, Let):
            self.numbers[statement.scalar] = self.value(statement.value)
        elif isinstance(statement, Set):
            value = self.value(statement.value)
            before = self.numbers[statement.scalar]
            self.numbers[statement.scalar] = _combined(statement.combine, before, value)
        elif isinstance(statement, Store):
            cells, at = self.cells(statement.buffer), self.position(statement.at)
            assert 0 <= at < len(cells), statement
            cells[at] = _combined(statement.combine, cells[at], self.value(statement.value))
        elif isinstance(statement, Loop):
            extent = statement.extent
            for index in range(extent if isinstance(extent, int) else int(self.numbers[extent])):
                self.numbers[statement.index] = np.int64(index)
                self.body(statement.body)
        elif isinstance(statement, While):
            self.body(statement.test)
            while self.value(statement.condition):
                self.body(statement.body)
                self.body(statement.test)
        elif isinstance(statement, If):
            self.body(statement.then if self.value(statement.condition) else statement.orelse)
        elif isinstance(statement, Product):
            self.product(statement)
        elif isinstance(statement, Call):
            self.call(statement)
        elif isinstance(statement, Reserve):
            self.reserve(statement)
        else:
            assert isinstance(statement, Fail), statement
            raise Failed(statement.error, *map(self.value, statement.details))

    def call(self, call: Call) -> None:
        changed, read = ([*map(self.part, each)] for each in (call.changed, call.read))
        if ALGORITHMS[call.name.rpartition("_")[0]](call.numbers, changed, read):
            raise Failed(call.error)

    def part(self, part: Part) -> np.ndarray:
        start = self.position(part.at)
        assert 0 <= start <= start + part.size <= len(self.cells(part.buffer)), part
        return self.cells(part.buffer)[start : start + part.size]

    def product(self, product: Product) -> None:
        left = self.cells(product.left.buffer)[self.places(product.left, product.m, product.k)]
        right = self.cells(product.right.buffer)[self.places(product.right, product.k, product.n)]
        places = self.places(product.result, product.m, product.n)
        cells = self.cells(product.result.buffer)
        cells[places] = left @ right + (cells[places] if product.adds else 0)

    def places(self, matrix: Matrix, rows: int, columns: int) -> np.ndarray:
        row, column = np.arange(rows)[:, None], np.arange(columns)
        return self.position(matrix.at) + row * matrix.strides[0] + column * matrix.strides[1]

    def reserve(self, statement: Reserve) -> None:
        cells, size = self.cells(statement.buffer), self.position(statement.size)
        if size > len(cells):
            more = np.full(size - len(cells), 77, statement.buffer.dtype)
            self.memory[statement.buffer] = np.concatenate([cells, more])

    def position(self, at: Affine) -> int:
        return at.constant + sum(count * int(self.numbers[each]) for each, count in at.terms)

    def value(self, expression: Expression) -> Any:
        kind = np.dtype(expression.dtype).type
        if isinstance(expression, Literal):
            return kind(expression.value)
        if isinstance(expression, Read):
            return self.numbers[expression.scalar]
        if isinstance(expression, Load):
            cells, at = self.cells(expression.buffer), self.position(expression.at)
            assert 0 <= at < len(cells), expression
            return cells[at]
        if isinstance(expression, Position):
            return np.int64(self.position(expression.at))
        assert isinstance(expression, Apply)
        if expression.name == "select":
            condition, left, right = expression.operands
            return self.value(left if self.value(condition) else right)
        operands = [self.value(each) for each in expression.operands]
        return kind(operands[0] if expression.name == "cast" else
                    OPERATIONS[expression.name](*operands))  # fmt: skip


def _combined(combine: str, before: Any, value: Any) -> Any:
    return OPERATIONS[combine](before, value) if combine else value


def _unset(buffer: Buffer) -> list[Any]:
    return [math.nan if buffer.dtype.startswith("float") else 77] * buffer.size
