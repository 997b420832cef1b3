"""Parses IR text: the inverse of the printer (``printer.py``), which explains the form."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, Value
from autodiff_compiler.ir.opdef import OPERATORS, OpDef
from autodiff_compiler.ir.types import INT, Type, parse_type
from autodiff_compiler.span import NOWHERE, Span

STRING = r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\""
NUMBER = r"-?(?:\d[\d.]*(?:[eE][+-]?\d+)?|inf|nan)"
LITERAL = re.compile(rf"{STRING}|{NUMBER}|None|True|False|complex\({NUMBER}, {NUMBER}\)")
WORD = re.compile(r"\w+")
NAME = re.compile(r"[\w.]+")
SUFFIX = re.compile(r"\.\d+$")
BLANK = re.compile(r"(?:\s|#(?! (?:title|role|order)=)[^\n]*)*")
COMMENT = re.compile(
    r"[ ]*#[ ]*(?:(?:(?P<file>[^\n]+):)?(?P<line>\d+))?[ ]*(?P<role>primal|adjoint|tangent)?[ ]*$",
    re.MULTILINE,
)
FACTS = re.compile(r"# ((?:title|role|order)=[^\n]*)")
QUOTED_OR_FUNCTION = re.compile(rf"{STRING}|@[\w.]+")
ATTRS = re.compile(r"\{\s*\w+=")
LOOP_WORDS = ("for", "while")


class Reader:
    """A recursive-descent parser of ``text``, which it has read up to ``position``."""

    def __init__(self, text: str, operators: Mapping[str, OpDef]):
        self.text, self.operators = text, operators
        self.position = 0
        self.file = NOWHERE.file
        self.known: dict[str, Function] = {}
        self.values: dict[str, Value] = {}

    def functions(self) -> dict[str, Function]:
        """Reads every function of the text."""
        self.blank()
        while self.position < len(self.text):
            name, function = self.function()
            self.known[name] = function
            self.blank()
        return self.known

    def function(self) -> tuple[str, Function]:
        match = FACTS.match(self.text, self.position)
        facts = {}
        if match:
            facts = self.keywords(match[1])
            self.position = match.end()
            self.blank()
        self.take("func")
        self.take("@")
        name = self.match(NAME)
        self.values, self.file = {}, NOWHERE.file
        params = self.ports("")[0]
        self.take("->")
        self.balanced("{")
        self.take("{")
        span, _ = self.comment()
        self.file = span.file
        ops, yields, _ = self.block("return")
        body = Region(tuple(params), ops, tuple(yields))
        return name, Function(SUFFIX.sub("", name), body, span, **facts)

    def block(self, word: str) -> tuple[tuple[Op, ...], list[AnyOperand], list[int]]:
        """Reads operations, then ``word`` with the yields, then the closing brace.

        Returned last: the number of yields of each port of a loop (carry, stack, until).
        """
        ops: list[Op] = []
        self.blank()
        while not self.word_is(word):
            ops.append(self.op())
            self.blank()
        self.take(word)
        yields: list[AnyOperand] = []
        counts = []
        for port in ("carry", "stack", "until"):
            before = len(yields)
            if self.word_is(port):
                self.take(port)
                yields += self.operands()
            counts.append(len(yields) - before)
        if not any(counts):
            yields = self.operands()
        self.blank()
        self.take("}")
        return tuple(ops), yields, counts

    def op(self) -> Op:
        names = []
        while self.at("%"):
            names.append(self.definition())
            if not self.at(","):
                self.take("=")
                break
            self.take(",")
        name = self.match(WORD)
        if name not in self.operators:
            raise self.error(f"there is no operator {name}")
        opdef = self.operators[name]
        parts = (self.loop if name in LOOP_WORDS else self.plain)(opdef)
        operands, attrs, span, role, regions = parts
        results = tuple(self.declare(*named) for named in names)
        return Op(opdef, tuple(operands), attrs, results, span, role, regions)

    def plain(self, opdef: OpDef) -> tuple:
        attrs: dict[str, Any] = {}
        if self.at("@"):
            self.take("@")
            attrs["callee"] = self.callee(self.match(NAME))
            self.take("(")
            operands = self.operands()
            self.take(")")
        else:
            operands = self.operands()
        attrs |= self.attrs()
        regions = []
        if self.word_is("region") or self.at("{"):
            params, span, role = self.opening()
            regions.append(self.region(params))
            while self.word_is("region") or self.word_is("else"):
                params, _, _ = self.opening()
                regions.append(self.region(params))
        else:
            span, role = self.comment()
        return operands, attrs, span, role, tuple(regions)

    def opening(self) -> tuple[list[Value], Span, str]:
        params: list[Value] = []
        if self.word_is("region"):
            params = self.ports("region")[0]
        elif self.word_is("else"):
            self.take("else")
        self.take("{")
        return (params, *self.comment())

    def region(self, params: list[Value]) -> Region:
        ops, yields, _ = self.block("yield")
        return Region(tuple(params), ops, tuple(yields))

    def loop(self, opdef: OpDef) -> tuple:
        lead = [self.declare(*self.definition())]
        operands: list[AnyOperand] = []
        if opdef.name == "for":
            self.take(",")
            lead.append(self.declare(*self.definition()))
            self.take("in")
            self.take("(")
            operands = self.operands()
            self.take(")")
        carries, inits = self.ports("carry")
        reads, sources = self.ports("read")
        reverse = self.word_is("reverse")
        if reverse:
            self.take("reverse")
        attrs = self.attrs()
        regions = []
        if opdef.name == "while":
            tested = self.ports("test")[0]
            self.take("{")
            span, role = self.comment()
            regions.append(self.region(tested))
            self.take("do")
            self.take("{")
        else:
            self.take("{")
            span, role = self.comment()
        ops, yields, (_, _, until) = self.block("yield")
        regions.append(Region((*lead, *carries, *reads), ops, tuple(yields)))
        attrs |= {"carries": len(carries), "until": bool(until), "reverse": reverse}
        return [*operands, *inits, *sources], attrs, span, role, tuple(regions)

    def ports(self, word: str) -> tuple[list[Value], list[AnyOperand]]:
        """Reads ``word (%a: T, %b: T = %c)``: the values, and the operands after ``=``."""
        if word:
            if not self.word_is(word):
                return [], []
            self.take(word)
        params, operands = [], []
        self.take("(")
        while not self.at(")"):
            named = self.definition()
            if self.at("="):
                self.take("=")
                operands.append(self.operand())
            params.append(self.declare(*named))
            if self.at(","):
                self.take(",")
        self.take(")")
        return params, operands

    def definition(self) -> tuple[str, bool, Type]:
        """Reads ``%name!: type``; without a type it is int."""
        self.take("%")
        name = self.match(NAME)
        given = self.at("!")
        if given:
            self.take("!")
        if not self.at(":"):
            return name, given, INT
        self.take(":")
        self.spaces()
        return name, given, self.guarded(parse_type, self.balanced(" ,=)\n"))

    def declare(self, name: str, given: bool, type_: Type) -> Value:
        if name in self.values:
            raise self.error(f"%{name} is defined twice")
        wish = SUFFIX.sub("", name)
        self.values[name] = Value(type_, "" if wish == "_" else wish, given)
        return self.values[name]

    def operands(self) -> list[AnyOperand]:
        operands: list[AnyOperand] = []
        while self.at("%") or self.upcoming(LITERAL):
            operands.append(self.operand())
            if not self.at(","):
                break
            self.take(",")
        return operands

    def operand(self) -> AnyOperand:
        if not self.at("%"):
            return self.guarded(self.literal, self.match(LITERAL))
        self.take("%")
        name = self.match(NAME)
        if name not in self.values:
            raise self.error(f"%{name} is not defined")
        return self.values[name]

    def callee(self, name: str) -> Function:
        if name not in self.known:
            raise self.error(f"@{name} is not defined before it is called")
        return self.known[name]

    def attrs(self) -> dict[str, Any]:
        if not self.upcoming(ATTRS):
            return {}
        self.take("{")
        inner = self.balanced("}")
        self.take("}")
        return self.guarded(self.keywords, inner)

    def keywords(self, text: str) -> dict[str, Any]:
        """Reads ``a=1, b=@f`` to a dict."""
        text = QUOTED_OR_FUNCTION.sub(
            lambda match: f"function({match[0][1:]!r})" if match[0][0] == "@" else match[0], text
        )
        call = ast.parse(f"attrs({text})", mode="eval").body
        assert isinstance(call, ast.Call)
        return {str(word.arg): self.evaluate(word.value) for word in call.keywords}

    def literal(self, text: str) -> Any:
        return self.evaluate(ast.parse(text, mode="eval").body)

    def evaluate(self, node: ast.expr) -> Any:
        """Evaluates the few forms of expressions that the printer writes."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name) and node.id in ("inf", "nan", "Ellipsis"):
            return ... if node.id == "Ellipsis" else float(node.id)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self.evaluate(node.operand)
        if isinstance(node, (ast.Tuple, ast.List)):
            items = [self.evaluate(item) for item in node.elts]
            return items if isinstance(node, ast.List) else tuple(items)
        if isinstance(node, ast.Dict):
            keys = [self.evaluate(key) for key in node.keys if key is not None]
            return dict(zip(keys, map(self.evaluate, node.values)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            makers: dict[str, Callable[..., Any]] = {
                "complex": complex,
                "slice": slice,
                "type": parse_type,
                "function": self.callee,
            }
            if node.func.id in makers:
                return makers[node.func.id](*map(self.evaluate, node.args))
        raise ValueError(f"{ast.unparse(node)} cannot be read")

    def comment(self) -> tuple[Span, str]:
        """Reads the span and the role in a comment, if there is one."""
        match = COMMENT.match(self.text, self.position)
        if not match:
            return NOWHERE, "primal"
        self.position = match.end()
        role = match["role"] or "primal"
        if match["line"] is None:
            return NOWHERE, role
        return Span(match["file"] or self.file, int(match["line"]), 1, 2, ""), role

    # -- characters ------------------------------------------------------------------------------

    def blank(self) -> None:
        """Skips blanks, lines and comments without meaning."""
        match = BLANK.match(self.text, self.position)
        assert match
        self.position = match.end()

    def spaces(self) -> None:
        while self.text[self.position : self.position + 1] == " ":
            self.position += 1

    def at(self, sign: str) -> bool:
        self.spaces()
        return self.text.startswith(sign, self.position)

    def upcoming(self, pattern: re.Pattern[str]) -> bool:
        self.spaces()
        return pattern.match(self.text, self.position) is not None

    def word_is(self, word: str) -> bool:
        self.spaces()
        match = WORD.match(self.text, self.position)
        return match is not None and match[0] == word

    def take(self, sign: str) -> None:
        if not self.at(sign):
            raise self.error(f"expected {sign}")
        self.position += len(sign)

    def match(self, pattern: re.Pattern[str]) -> str:
        self.spaces()
        match = pattern.match(self.text, self.position)
        if not match:
            raise self.error("this cannot be read")
        self.position = match.end()
        return match[0]

    def balanced(self, stops: str) -> str:
        """Reads up to one of ``stops`` outside brackets and quotes, or to the end of the text."""
        start, depth = self.position, 0
        while self.position < len(self.text):
            char = self.text[self.position]
            if depth == 0 and char in stops:
                break
            if char in "'\"":
                self.match(re.compile(STRING))
                continue
            depth += (char in "([{") - (char in ")]}")
            self.position += 1
        return self.text[start : self.position]

    def guarded(self, function: Callable[[str], Any], text: str) -> Any:
        try:
            return function(text)
        except (ValueError, SyntaxError) as error:
            raise self.error(str(error)) from None

    def error(self, cause: str) -> ValueError:
        start = self.text.rfind("\n", 0, self.position) + 1
        stop = self.text.find("\n", self.position)
        line = self.text[start : stop if stop >= 0 else None].strip()
        return ValueError(f"line {self.text.count(chr(10), 0, start) + 1}: {cause}: {line}")


def parse_functions(text: str, operators: Mapping[str, OpDef]) -> dict[str, Function]:
    """Parses functions, by their names in ``text``; callees must come before callers.

    Raises ValueError, with the line of the text, if that is not possible.
    """
    return Reader(text, operators).functions()


def parse_function(text: str) -> Function:
    """Parses the last function of ``text``, with the operators that are declared so far."""
    return list(parse_functions(text, OPERATORS).values())[-1]
