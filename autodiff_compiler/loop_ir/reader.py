"""Reads loop nests from text: the inverse of the printer (``printer.py``), which explains the form.

Each statement is a line. A line that opens a body ends in ``{``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping

from autodiff_compiler.loop_ir.line_reader import SUFFIX, LineReader
from autodiff_compiler.loop_ir.nodes import (
    Body,
    Buffer,
    Call,
    Fail,
    Function,
    If,
    Let,
    Loop,
    Matrix,
    Part,
    Product,
    Reserve,
    Scalar,
    Set,
    Statement,
    Store,
    While,
)
from autodiff_compiler.loop_ir.printer import CHANGES

HEAD = re.compile(r"func (\w+)\((.*)\) -> \((.*)\) \{")
LOOP = re.compile(r"(serial )?for ([\w.]+) in 0:([\w.]+) \{")
ALLOCATION = re.compile(r"(alloc|const) ([^=]*?)(?: at (\d+))?(?: = \[(.*)\])?")
LET = re.compile(r"(let|var) ([^=]*) = (.*)")
CHANGE = re.compile(r"(.*?) (\+|\*|max|min)?= (.*)")
MATRIX = re.compile(r"([\w.]+)\[(.*); (\d+)x(\d+) by (-?\d+),(-?\d+)\]")
PART = re.compile(r"([\w.]+)\[([^;]*); (\d+)\]")
CALL = re.compile(r"call (\w+)\(([^;]*); (.*\]|); (.*\]|)\)(?: or fail (\d+))?")
FAIL = re.compile(r"fail (\d+)(?: with (.*))?")
ELEMENT = re.compile(r"([\w.]+)\[(.*)\]")
COMBINES = {sign.removesuffix("="): name for name, sign in CHANGES.items()}
#: The lines that end a body.
ENDS = ("}", "} else {", "break unless ")


def read_nests(text: str) -> Function:
    """Reads a function of loop nests.

    Raises ValueError, with the line of the text, if that is not possible.
    """
    return _Reader(text).function()


class _Reader(LineReader):
    """Reads the statements of a function."""

    def function(self) -> Function:
        text, title = self.line(), ""
        if text.startswith("# title="):
            title = ast.literal_eval(text.removeprefix("# title="))
            text = self.line()
        name, inputs, outputs = self.match(HEAD, text).groups()
        span = self.span
        self.file = span.file
        parameters = [self.parameter(each) for each in filter(None, inputs.split(", "))]
        results = [self.buffer(each, "output") for each in filter(None, outputs.split(", "))]
        errors, offsets = self.declarations()
        body = self.body("}")
        if any(line.strip() for line in self.lines[self.place :]):
            raise self.error("there is text after the function")
        return Function(
            name,
            tuple(parameters),
            tuple(results),
            body,
            tuple(errors),
            tuple(offsets),
            title,
            span,
        )

    def parameter(self, text: str) -> Buffer | Scalar:
        return self.buffer(text, "input") if text.endswith("]") else self.define(text)

    def declarations(self) -> tuple[list[tuple[str, ...]], list[tuple[Buffer, int]]]:
        """Reads the errors and the local buffers, which stand before all statements."""
        errors: list[tuple[str, ...]] = []
        offsets: list[tuple[Buffer, int]] = []
        while True:
            start = self.place
            text = self.line()
            if text.startswith("error "):
                errors.append(ast.literal_eval(f"({text.partition(': ')[2]})"))
            elif text.startswith(("alloc ", "const ")):
                word, declared, offset, values = self.match(ALLOCATION, text).groups()
                numbers = tuple(map(self.value, filter(None, (values or "").split(", "))))
                role = "temporary" if word == "alloc" else "constant"
                buffer = self.buffer(declared, role, numbers)
                if offset is not None:
                    offsets.append((buffer, int(offset)))
            else:
                self.place = start
                return errors, offsets

    # ---- bodies

    def statements(self) -> tuple[Body, str]:
        """Reads statements up to the line that ends the body, and returns that line, too."""
        statements: list[Statement] = []
        while True:
            text = self.line()
            if text.startswith(ENDS):
                return tuple(statements), text
            statements.append(self.statement(text))

    def body(self, end: str) -> Body:
        """Reads statements up to the line ``end``, in a scope of their own."""
        self.scopes.append({})
        statements, text = self.statements()
        if text != end:
            raise self.error(f"expected {end}")
        self.scopes.pop()
        return statements

    def statement(self, text: str) -> Statement:
        for word, read in _STATEMENTS.items():
            if text.startswith(word):
                return read(self, text)
        if " @ " in text:
            return self.product(text)
        target, sign, value = self.match(CHANGE, text).groups()
        combine = COMBINES[sign or ""]
        if target.endswith("]"):
            name, at = self.match(ELEMENT, target).groups()
            buffer, position = self.array(name), self.position(at)
            return Store(buffer, position, self.expression(value), combine, self.span)
        return Set(self.scalar(target), self.expression(value), combine, self.span)

    def let(self, text: str) -> Statement:
        word, declared, value = self.match(LET, text).groups()
        expression = self.expression(value)
        return Let(self.define(declared, word == "var"), expression, self.span)

    def loop(self, text: str) -> Statement:
        serial, name, size = self.match(LOOP, text).groups()
        extent = int(size) if size.isdigit() else self.scalar(size)
        index, span = Scalar(SUFFIX.sub("", name), "int64"), self.span
        self.scopes.append({})
        self.declare(name, index)
        body = self.body("}")
        self.scopes.pop()
        return Loop(index, extent, body, serial is None, span)

    def repeat(self, text: str) -> Statement:
        span = self.span
        self.scopes.append({})
        test, end = self.statements()
        if not end.startswith("break unless "):
            raise self.error("a loop has no `break unless`")
        condition = self.expression(end.removeprefix("break unless "))
        body = self.body("}")
        self.scopes.pop()
        return While(test, condition, body, span)

    def branch(self, text: str) -> Statement:
        condition, span = self.expression(text.removeprefix("if ").removesuffix(" {")), self.span
        self.scopes.append({})
        then, end = self.statements()
        self.scopes.pop()
        if end not in ("}", "} else {"):
            raise self.error("a branch does not end")
        return If(condition, then, self.body("}") if end != "}" else (), span)

    # ---- statements without a body

    def product(self, text: str) -> Statement:
        target, sign, value = self.match(CHANGE, text).groups()
        texts = (target, *value.split(" @ "))
        (result, m, n), (left, rows, k), (right, inner, columns) = map(self.matrix, texts)
        if (rows, inner, columns) != (m, k, n):
            raise self.error("the sizes of the matrices do not fit")
        return Product(result, left, right, m, n, k, sign == "+", self.span)

    def matrix(self, text: str) -> tuple[Matrix, int, int]:
        name, at, rows, columns, first, second = self.match(MATRIX, text).groups()
        matrix = Matrix(self.array(name), self.position(at), (int(first), int(second)))
        return matrix, int(rows), int(columns)

    def reserve(self, text: str) -> Statement:
        name, _, size = text.removeprefix("reserve ").partition(" to ")
        return Reserve(self.array(name), self.position(size), self.span)

    def call(self, text: str) -> Statement:
        name, numbers, changed, read, error = self.match(CALL, text).groups()
        sizes = tuple(map(int, filter(None, numbers.split(", "))))
        parts = (self.parts(changed), self.parts(read))
        return Call(name, sizes, *parts, None if error is None else int(error), self.span)

    def parts(self, text: str) -> tuple[Part, ...]:
        groups = (each.groups() for each in PART.finditer(text))
        return tuple(Part(self.array(a), self.position(b), int(c)) for a, b, c in groups)

    def fail(self, text: str) -> Statement:
        error, details = self.match(FAIL, text).groups()
        return Fail(int(error), self.span, self.expressions(details or ""))


_STATEMENTS: Mapping[str, Callable[[_Reader, str], Statement]] = {
    "let ": _Reader.let,
    "var ": _Reader.let,
    "for ": _Reader.loop,
    "serial for ": _Reader.loop,
    "loop {": _Reader.repeat,
    "if ": _Reader.branch,
    "call ": _Reader.call,
    "reserve ": _Reader.reserve,
    "fail ": _Reader.fail,
}

__all__ = ["read_nests"]
