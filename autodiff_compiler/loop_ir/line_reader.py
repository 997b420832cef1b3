"""Reads the lines, names and expressions of printed loop nests, for the reader (``reader.py``)."""

from __future__ import annotations

import ast
import re
from typing import Any

from autodiff_compiler.ir.types import LONG
from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Apply,
    Buffer,
    Expression,
    Literal,
    Load,
    Position,
    Read,
    Scalar,
)
from autodiff_compiler.loop_ir.operations import result_dtype
from autodiff_compiler.loop_ir.printer import INFIX, UNARY
from autodiff_compiler.span import NOWHERE, Span

COMMENT = re.compile(r"\s+# (?:(?P<file>[^:]+):)?(?P<line>\d+)$")
QUOTING = ("error ", "# title=")
SUFFIX = re.compile(r"\.\d+$")
DECLARED = re.compile(r"([\w.]+): (\w+)(?:\[(\d+|\*)\])?")
TERM = re.compile(r"([-+]?)(?:(?:(\d+)\*)?([^\W\d][\w.]*)|(\d+))")
TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d[\d.]*(?:e[+-]?\d+)?|inf|nan)(?:_(?P<dtype>[a-z]+\d+))?\b)"
    r"|(?P<name>[^\W\d][\w.]*)|(?P<sign>[<>=!]=|[-+*/<>()\[\],:]))"
)
#: Name and precedence of the operation with a sign.
SIGNS = {sign: (name, precedence) for name, (sign, precedence) in INFIX.items()}


class LineReader:
    """Reads printed loop nests line by line.

    place   the number of the next line.
    span    the place in the source of the line that was read last.
    scopes  the names that are visible, by block.
    """

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self.place = 0
        self.file = NOWHERE.file
        self.span: Span = NOWHERE
        self.scopes: list[dict[str, Scalar | Buffer]] = [{}]

    def line(self) -> str:
        """Returns the next line that is not empty, without its comment, which sets ``span``."""
        while self.place < len(self.lines) and not self.lines[self.place].strip():
            self.place += 1
        if self.place == len(self.lines):
            raise self.error("the text ends in a body")
        text = self.lines[self.place].strip()
        self.place += 1
        self.span = NOWHERE
        comment = None if text.startswith(QUOTING) else COMMENT.search(text)
        if comment:
            text = text[: comment.start()]
            file = comment["file"] or self.file
            self.span = Span(file, int(comment["line"]), 1, 2, "")
        return text

    def error(self, cause: str) -> ValueError:
        """Returns the error for the line that was read last."""
        number = max(self.place, 1)
        text = self.lines[number - 1].strip() if self.lines else ""
        return ValueError(f"line {number}: {cause}: {text}")

    def match(self, pattern: re.Pattern[str], text: str) -> re.Match[str]:
        match = pattern.fullmatch(text)
        if match is None:
            raise self.error("this cannot be read")
        return match

    # ---- names

    def define(self, text: str, mutable: bool = False) -> Scalar:
        """Defines the scalar of ``name: dtype``."""
        name, short, size = self.match(DECLARED, text).groups()
        if size is not None:
            raise self.error(f"{name} is no number")
        scalar = Scalar(SUFFIX.sub("", name), self.dtype(short), mutable)
        self.declare(name, scalar)
        return scalar

    def buffer(self, text: str, role: str, values: tuple[Any, ...] = ()) -> Buffer:
        """Defines the buffer of ``name: dtype[size]``."""
        name, short, size = self.match(DECLARED, text).groups()
        if size is None:
            raise self.error(f"{name} has no size")
        grows = size == "*"
        wish, length = SUFFIX.sub("", name), 0 if grows else int(size)
        buffer = Buffer(wish, self.dtype(short), length, role, values, grows)
        self.declare(name, buffer)
        return buffer

    def declare(self, name: str, thing: Scalar | Buffer) -> None:
        if any(name in scope for scope in self.scopes):
            raise self.error(f"{name} is defined twice")
        self.scopes[-1][name] = thing

    def dtype(self, short: str) -> str:
        if short not in LONG:
            raise self.error(f"there is no dtype {short}")
        return LONG[short]

    def scalar(self, name: str) -> Scalar:
        thing = self._named(name)
        if not isinstance(thing, Scalar):
            raise self.error(f"there is no scalar {name} here")
        return thing

    def array(self, name: str) -> Buffer:
        thing = self._named(name)
        if not isinstance(thing, Buffer):
            raise self.error(f"there is no buffer {name} here")
        return thing

    def _named(self, name: str) -> Scalar | Buffer | None:
        return next((scope[name] for scope in self.scopes if name in scope), None)

    # ---- positions and expressions

    def value(self, text: str) -> Any:
        """Returns a number as an expression writes it."""
        sign, number = (-1, text[1:]) if text.startswith("-") else (1, text)
        if number in ("inf", "nan"):
            return sign * float(number)
        try:
            value = ast.literal_eval(number)
        except SyntaxError:
            raise self.error(f"{number} is no number") from None
        return value if isinstance(value, bool) else sign * value

    def position(self, text: str) -> Affine:
        """Reads a position: ``6*i - j + 2``."""
        constant, terms, at = 0, [], 0
        text = text.replace(" + ", "+").replace(" - ", "-")
        while at < len(text):
            term = TERM.match(text, at)
            if term is None:
                raise self.error("this is no position")
            sign, count, name, number = term.groups()
            factor = -1 if sign == "-" else 1
            if name is None:
                constant += factor * int(number)
            else:
                terms.append((self.scalar(name), factor * int(count or 1)))
            at = term.end()
        return Affine(constant, tuple(terms))

    def expression(self, text: str) -> Expression:
        """Reads an expression."""
        reader = _ExpressionReader(self, text)
        expression = reader.expression()
        if reader.token is not None:
            raise self.error("there is text after an expression")
        return expression

    def expressions(self, text: str) -> tuple[Expression, ...]:
        """Reads expressions with commas between them."""
        reader, expressions = _ExpressionReader(self, text), []
        while reader.token is not None:
            expressions.append(reader.expression())
            if reader.sign() == ",":
                reader.advance()
        return tuple(expressions)


class _ExpressionReader:
    """A recursive-descent reader of an expression; ``token`` is the next one."""

    def __init__(self, lines: LineReader, text: str) -> None:
        self.lines, self.text, self.end = lines, text.strip(), 0
        self.token: re.Match[str] | None = None
        self.advance()

    def advance(self) -> None:
        self.token = TOKEN.match(self.text, self.end)
        if self.token is not None:
            self.end = self.token.end()
        elif self.text[self.end :].strip():
            raise self.lines.error("this cannot be read")

    def sign(self) -> str:
        """Returns the next sign or word; nothing before a number, or at the end."""
        return "" if self.token is None else self.token["sign"] or self.token["name"] or ""

    def take(self, sign: str) -> None:
        if self.sign() != sign:
            raise self.lines.error(f"expected {sign}")
        self.advance()

    def expression(self, least: int = 0) -> Expression:
        left = self.unary()
        while self.sign() in SIGNS and SIGNS[self.sign()][1] >= least:
            name, precedence = SIGNS[self.sign()]
            self.advance()
            left = self.applied(name, (left, self.expression(precedence + 1)))
        return left

    def unary(self) -> Expression:
        if self.sign() != "-":
            return self.primary()
        self.advance()
        if self.token is not None and self.token["number"]:
            return self.number("-")
        return self.applied("neg", (self.expression(UNARY),))

    def primary(self) -> Expression:
        token = self.token
        if token is None:
            raise self.lines.error("an expression is missing")
        if token["number"]:
            return self.number("")
        if token["sign"]:
            self.take("(")
            inner = self.expression()
            self.take(")")
            return inner
        name = token["name"]
        self.advance()
        if name in ("True", "False"):
            return Literal(name == "True", "bool")
        if self.sign() == "[":
            return Load(self.lines.array(name), self.position("]"))
        return self.call(name) if self.sign() in ("(", ":") else Read(self.lines.scalar(name))

    def position(self, end: str) -> Affine:
        """Reads a position up to the sign ``end``."""
        start, stop = self.end, self.text.find(end, self.end)
        if stop < 0:
            raise self.lines.error(f"expected {end}")
        self.end = stop + 1
        self.advance()
        return self.lines.position(self.text[start:stop])

    def number(self, sign: str) -> Expression:
        assert self.token is not None
        text, short = self.token["number"], self.token["dtype"]
        self.advance()
        value = self.lines.value(sign + (text.removesuffix(f"_{short}") if short else text))
        dtype = "float64" if isinstance(value, float) else "int64"
        return Literal(value, dtype if short is None else self.lines.dtype(short))

    def call(self, name: str) -> Expression:
        dtype = None
        if self.sign() == ":":
            self.advance()
            dtype = self.lines.dtype(self.sign())
            self.advance()
        if name == "index":
            return Position(self.position(")"), dtype or "int64")
        self.take("(")
        operands = [self.expression()]
        while self.sign() == ",":
            self.advance()
            operands.append(self.expression())
        self.take(")")
        if name in LONG and dtype is None:
            return Apply("cast", tuple(operands), LONG[name])
        return self.applied(name, tuple(operands), dtype)

    def applied(
        self, name: str, operands: tuple[Expression, ...], dtype: str | None = None
    ) -> Expression:
        dtype = dtype or result_dtype(name, [each.dtype for each in operands])
        if dtype is None:
            raise self.lines.error(f"the operands of {name} do not fit")
        return Apply(name, operands, dtype)


__all__ = ["LineReader"]
