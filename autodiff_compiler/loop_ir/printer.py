"""Prints loop nests as text; the reader (``reader.py``) is the exact inverse.

    # title='Scaled.construct'
    func scaled(x: f64[24], n: i64) -> (out: f64[4]) {  # net.py:9
      alloc row: f64[6] at 128
      for i in 0:4 {                                    # 11
        var total: f64 = 0.0                            # 11
        for j in 0:6 {                                  # 11
          row[j] = exp(x[6*i + j] * 2.0)                # 11
          total += row[j]                               # 11
        }
        out[i] = total                                  # 12
      }
    }

A position in a buffer is a sum of integers. ``index(6*i + j)`` is the number that it stands for.
``alloc`` names the temporaries: ``at 128`` is the first byte in the workspace, ``[*]`` a buffer
that grows. ``const`` names tables. ``let`` defines a scalar, and ``var`` one that may change. The
iterations of a ``serial for`` run in order; those of a ``for`` are independent. ``loop`` repeats
its body up to ``break unless``. ``x[0; 4x6 by 6,1]`` is a matrix of 4 rows at 0, by its strides.
``call argsort_f32(9, 0; order[0; 9]; x[0; 9])`` has numbers, the parts that change, and others.

Numbers are f64, i64 or bool. Others end in their dtype: ``0.5_f32``. An operation whose dtype does
not follow from its operands names it: ``ldexp:f32(x, n)``. A name that is visible already gets a
suffix (``i.1``), which the reader removes. A comment holds the user's line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from autodiff_compiler.ir.types import SHORT
from autodiff_compiler.loop_ir.accesses import local_buffers
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
from autodiff_compiler.loop_ir.operations import result_dtype
from autodiff_compiler.span import NOWHERE, Span

PADDING = 64
#: Operations with a sign of their own, with their precedence.
INFIX: Mapping[str, tuple[str, int]] = {
    "mul": ("*", 5),
    "div": ("/", 5),
    "add": ("+", 4),
    "sub": ("-", 4),
    "less": ("<", 3),
    "less_equal": ("<=", 3),
    "greater": (">", 3),
    "greater_equal": (">=", 3),
    "equal": ("==", 3),
    "not_equal": ("!=", 3),
    "logical_and": ("and", 2),
    "logical_or": ("or", 1),
}
#: The precedence of a sign, and that of a name.
UNARY, PRIMARY = 6, 7
#: The sign of each combination.
CHANGES: Mapping[str, str] = {
    "": "=",
    "add": "+=",
    "mul": "*=",
    "maximum": "max=",
    "minimum": "min=",
}
#: Words that no name may be.
KEYWORDS = tuple(
    "alloc and at break call const error fail for func if in index inf let loop nan or reserve"
    " serial to True False unless var with".split()
)
NUMBERS = ("float64", "int64", "bool")


def print_nests(function: Function) -> str:
    """Prints a function of loop nests."""
    return _Printer(function).text()


class _Names:
    """The names that are visible. Each object gets its wish, with a suffix if that is taken."""

    def __init__(self) -> None:
        self.chosen: dict[object, str] = {}
        self.taken = set(KEYWORDS)

    def define(self, thing: object, wish: str) -> str:
        """Chooses the name of a thing from here on."""
        base = "".join(char if char.isalnum() or char in "._" else "_" for char in wish)
        base = base if base and not base[0].isdigit() else f"_{base}"
        name, number = base, 0
        looks_suffixed = base.rpartition(".")[2].isdigit()
        while name in self.taken or looks_suffixed:
            number, looks_suffixed = number + 1, False
            name = f"{base}.{number}"
        self.taken.add(name)
        self.chosen[thing] = name
        return name

    def forget(self, things: list[object]) -> None:
        """Ends the scope of things; their names are free again."""
        for thing in things:
            self.taken.discard(self.chosen[thing])


class _Printer:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.file = os.path.basename(function.span.file)
        self.names = _Names()
        self.scope: list[object] = []
        self.lines: list[str] = []

    # ---- the function

    def text(self) -> str:
        function = self.function
        if function.title:
            self.lines.append(f"# title={function.title!r}")
        inputs = ", ".join(map(self.declared, function.inputs))
        outputs = ", ".join(map(self.declared, function.outputs))
        span = function.span
        place = "" if span == NOWHERE else f"{self.file}:{span.line}"
        self.line(0, f"func {function.name}({inputs}) -> ({outputs}) {{", place)
        for number, row in enumerate(function.errors):
            self.line(1, f"error {number}: {', '.join(map(repr, row))}")
        offsets = dict(function.offsets)
        for buffer in local_buffers(function):
            self.allocation(buffer, offsets.get(buffer))
        self.body(function.body, 1)
        self.lines += ["}", ""]
        return "\n".join(self.lines)

    def line(self, depth: int, text: str, comment: str = "") -> None:
        text = "  " * depth + text
        self.lines.append(f"{text.ljust(PADDING)}  # {comment}" if comment else text)

    def allocation(self, buffer: Buffer, offset: int | None) -> None:
        text = self.declared(buffer)
        if buffer.role == "constant":
            values = ", ".join(_value(each, buffer.dtype) for each in buffer.values)
            self.line(1, f"const {text} = [{values}]")
        else:
            self.line(1, f"alloc {text}" + ("" if offset is None else f" at {offset}"))

    def declared(self, thing: Buffer | Scalar) -> str:
        size = ""
        if isinstance(thing, Buffer):
            size = "[*]" if thing.grows else f"[{thing.size}]"
        return f"{self.define(thing)}: {SHORT[thing.dtype]}{size}"

    def define(self, thing: Buffer | Scalar) -> str:
        self.scope.append(thing)
        return self.names.define(thing, thing.name)

    @contextmanager
    def block(self) -> Iterator[None]:
        """Opens a scope: names that are defined in it end with it."""
        outer, self.scope = self.scope, []
        yield
        self.names.forget(self.scope)
        self.scope = outer

    # ---- statements

    def body(self, body: Body, depth: int) -> None:
        for statement in body:
            _STATEMENTS[type(statement)](self, statement, depth)

    def statement(self, depth: int, text: str, statement: Statement) -> None:
        span: Span = statement.span
        place = ""
        if span != NOWHERE:
            file = os.path.basename(span.file)
            place = str(span.line) if file == self.file else f"{file}:{span.line}"
        self.line(depth, text, place)

    def let(self, let: Let, depth: int) -> None:
        word = "var" if let.scalar.mutable else "let"
        value = self.expression(let.value)
        self.statement(depth, f"{word} {self.declared(let.scalar)} = {value}", let)

    def set(self, change: Set, depth: int) -> None:
        target, sign = self.name(change.scalar), CHANGES[change.combine]
        self.statement(depth, f"{target} {sign} {self.expression(change.value)}", change)

    def store(self, store: Store, depth: int) -> None:
        target, sign = self.element(store.buffer, store.at), CHANGES[store.combine]
        self.statement(depth, f"{target} {sign} {self.expression(store.value)}", store)

    def loop(self, loop: Loop, depth: int) -> None:
        extent = loop.extent if isinstance(loop.extent, int) else self.name(loop.extent)
        word = "for" if loop.independent else "serial for"
        with self.block():
            self.statement(depth, f"{word} {self.define(loop.index)} in 0:{extent} {{", loop)
            self.body(loop.body, depth + 1)
        self.line(depth, "}")

    def repeat(self, loop: While, depth: int) -> None:
        with self.block():
            self.statement(depth, "loop {", loop)
            self.body(loop.test, depth + 1)
            self.line(depth + 1, f"break unless {self.expression(loop.condition)}")
            self.body(loop.body, depth + 1)
        self.line(depth, "}")

    def branch(self, branch: If, depth: int) -> None:
        self.statement(depth, f"if {self.expression(branch.condition)} {{", branch)
        with self.block():
            self.body(branch.then, depth + 1)
        if branch.orelse:
            self.line(depth, "} else {")
            with self.block():
                self.body(branch.orelse, depth + 1)
        self.line(depth, "}")

    def product(self, product: Product, depth: int) -> None:
        m, n, k = product.m, product.n, product.k
        left, right = self.matrix(product.left, m, k), self.matrix(product.right, k, n)
        sign = "+=" if product.adds else "="
        text = f"{self.matrix(product.result, m, n)} {sign} {left} @ {right}"
        self.statement(depth, text, product)

    def matrix(self, matrix: Matrix, rows: int, columns: int) -> str:
        strides = ",".join(map(str, matrix.strides))
        at = self.position(matrix.at)
        return f"{self.name(matrix.buffer)}[{at}; {rows}x{columns} by {strides}]"

    def reserve(self, reserve: Reserve, depth: int) -> None:
        text = f"reserve {self.name(reserve.buffer)} to {self.position(reserve.size)}"
        self.statement(depth, text, reserve)

    def call(self, call: Call, depth: int) -> None:
        numbers = ", ".join(map(str, call.numbers))
        changed, read = (", ".join(map(self.part, each)) for each in (call.changed, call.read))
        end = "" if call.error is None else f" or fail {call.error}"
        self.statement(depth, f"call {call.name}({numbers}; {changed}; {read}){end}", call)

    def part(self, part: Part) -> str:
        return f"{self.name(part.buffer)}[{self.position(part.at)}; {part.size}]"

    def fail(self, fail: Fail, depth: int) -> None:
        details = ", ".join(map(self.expression, fail.details))
        self.statement(depth, f"fail {fail.error}" + (f" with {details}" if details else ""), fail)

    # ---- expressions

    def name(self, thing: Buffer | Scalar) -> str:
        """Returns the name of a thing; that of an undefined one has a sign before it."""
        return self.names.chosen.get(thing) or repr(thing)

    def element(self, buffer: Buffer, at: Affine) -> str:
        return f"{self.name(buffer)}[{self.position(at)}]"

    def position(self, at: Affine) -> str:
        """Returns the text of a position: ``6*i - j + 2``."""
        parts = []
        for scalar, count in at.terms:
            name = self.name(scalar)
            parts.append((count < 0, name if abs(count) == 1 else f"{abs(count)}*{name}"))
        if at.constant or not parts:
            parts.append((at.constant < 0, str(abs(at.constant))))
        (negative, first), *rest = parts
        text = f"-{first}" if negative else first
        return text + "".join(f" {'-' if minus else '+'} {part}" for minus, part in rest)

    def expression(self, expression: Expression, least: int = 0) -> str:
        """Returns the text; in parentheses where its precedence is below ``least``."""
        text, precedence = self.parts(expression)
        return text if precedence >= least else f"({text})"

    def parts(self, expression: Expression) -> tuple[str, int]:
        """Returns the text of an expression, and its precedence."""
        if isinstance(expression, Literal):
            text = _value(expression.value, expression.dtype)
            suffix = "" if expression.dtype in NUMBERS else f"_{SHORT[expression.dtype]}"
            return text + suffix, PRIMARY
        if isinstance(expression, Read):
            return self.name(expression.scalar), PRIMARY
        if isinstance(expression, Load):
            return self.element(expression.buffer, expression.at), PRIMARY
        if isinstance(expression, Position):
            given = "" if expression.dtype == "int64" else f":{SHORT[expression.dtype]}"
            return f"index{given}({self.position(expression.at)})", PRIMARY
        return self.operation(expression)

    def operation(self, op: Apply) -> tuple[str, int]:
        fits = result_dtype(op.name, [each.dtype for each in op.operands]) == op.dtype
        if op.name in INFIX and fits and len(op.operands) == 2:
            sign, precedence = INFIX[op.name]
            left, right = op.operands
            first = self.expression(left, precedence)
            return f"{first} {sign} {self.expression(right, precedence + 1)}", precedence
        if op.name == "neg" and fits and not isinstance(op.operands[0], Literal):
            return f"-{self.expression(op.operands[0], UNARY)}", UNARY
        operands = ", ".join(map(self.expression, op.operands))
        if op.name == "cast" and len(op.operands) == 1:
            return f"{SHORT[op.dtype]}({operands})", PRIMARY
        given = "" if fits else f":{SHORT[op.dtype]}"
        return f"{op.name}{given}({operands})", PRIMARY


def _value(value: int | float | bool, dtype: str) -> str:
    """Returns a number as Python writes it."""
    if dtype.startswith("float"):
        return repr(float(value))
    return repr(bool(value)) if dtype == "bool" else str(int(value))


_STATEMENTS: Mapping[type, Callable[[_Printer, Any, int], None]] = {
    Let: _Printer.let,
    Set: _Printer.set,
    Store: _Printer.store,
    Loop: _Printer.loop,
    While: _Printer.repeat,
    If: _Printer.branch,
    Product: _Printer.product,
    Call: _Printer.call,
    Reserve: _Printer.reserve,
    Fail: _Printer.fail,
}

__all__ = ["print_nests"]
