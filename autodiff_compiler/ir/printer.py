"""Prints IR as text; the parser (``parser.py``) is the exact inverse: any stage can be read again.

    # title='Decay.construct'
    func @decay(%x!: f32[2,3], %w!: f32[3,3], %n!: int) -> (f32[2,3]) {  # decay.py:9
      %h!: f32[2,3], %count: int = for %k, %i! in (0, %n, 1) carry (%h_in: f32[2,3] = %x) {  # 11
        %u!: f32[2,3] = matmul %h_in, %w  # 12
        %a: f32[2,3] = tanh %u  # 14
        yield carry %a
      }
      return %h
    }

``!`` marks a user's name. A value or function whose name is taken already gets a suffix (``%x.1``),
which the parser removes. A comment holds the parts of an operation that do not change its meaning.
These are the user's line, its file if it is another one, and the role in the derivative, unless
``primal``. The source of the user's line is not kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value, type_of
from autodiff_compiler.ir.types import INT, Type
from autodiff_compiler.span import NOWHERE, Span

PADDING = 56
LOOP_ATTRS = ("carries", "until", "reverse")


def print_function(function: Function) -> str:
    """Prints ``function`` alone; its callees are only named."""
    return _Printer(_function_names(function)).function(function)


def print_functions(function: Function) -> str:
    """Prints ``function``, its callees before it."""
    printer = _Printer(_function_names(function))
    return "\n".join(printer.function(each) for each in (*function.callees(), function))


def _function_names(function: Function) -> _Names:
    names = _Names()
    for each in (*function.callees(), function):
        names.of(each, each.name)
    return names


class _Names:
    """A table of names: each object gets its wish, with a suffix if that is taken."""

    def __init__(self) -> None:
        self.chosen: dict[int, str] = {}
        self.taken: dict[str, int] = {}
        #: Objects are kept alive, since they are known by ``id``.
        self.objects: list[object] = []

    def of(self, thing: object, wish: str) -> str:
        name = self.chosen.get(id(thing))
        if name is None:
            base = "".join(char if char.isalnum() or char in "._" else "_" for char in wish) or "_"
            number = self.taken.get(base, 0)
            self.taken[base] = number + 1
            looks_suffixed = base.rpartition(".")[2].isdigit() and "." in base
            name = f"{base}.{number}" if number or looks_suffixed else base
            self.chosen[id(thing)] = name
            self.objects.append(thing)
        return name


class _Printer:
    def __init__(self, functions: _Names) -> None:
        self.functions = functions
        self.values = _Names()
        self.file = ""
        self.lines: list[str] = []

    def function(self, function: Function) -> str:
        self.values, self.lines = _Names(), []
        self.file = os.path.basename(function.span.file)
        facts = {
            "title": (function.title, ""),
            "role": (function.role, "primal"),
            "order": (function.order, 0),
        }
        facts_text = [f"{name}={fact!r}" for name, (fact, usual) in facts.items() if fact != usual]
        if facts_text:
            self.lines.append("# " + ", ".join(facts_text))
        params = self.definitions(function.params)
        returns = ", ".join(str(type_of(value)) for value in function.returns)
        head = f"func @{self.functions.of(function, function.name)}({params}) -> ({returns}) {{"
        span = function.span
        place = "" if span == NOWHERE else f"{os.path.basename(span.file)}:{span.line}"
        self.line(0, head, place)
        self.ops(function.body, 1)
        self.line(1, f"return {self.operands(function.returns)}")
        return "\n".join([*self.lines, "}", ""])

    def line(self, depth: int, text: str, comment: str = "") -> None:
        text = ("  " * depth + text).rstrip()
        self.lines.append(f"{text.ljust(PADDING)}  # {comment}" if comment else text)

    def ops(self, region: Region, depth: int) -> None:
        for op in region.ops:
            self.op(op, depth)

    def op(self, op: Op, depth: int) -> None:
        results = self.definitions(op.results)
        head = self.head(op)
        opening = self.openings(op)
        text = f"{results} = {head}" if results else head
        self.line(depth, text + next(opening, ""), self.comment(op.span, op.role))
        for region in op.regions:
            self.ops(region, depth + 1)
            self.line(depth + 1, "yield " + self.yields(op, region))
            self.line(depth, "}" + next(opening, ""))

    def head(self, op: Op) -> str:
        attrs = {name: value for name, value in op.attrs.items() if name != "callee"}
        if op.name in ("for", "while"):
            text = self.loop(Loop(op))
            attrs = {name: value for name, value in attrs.items() if name not in LOOP_ATTRS}
        elif "callee" in op.attrs:
            text = f"{op.name} {self.literal(op.attrs['callee'])}({self.operands(op.operands)})"
        else:
            text = f"{op.name} {self.operands(op.operands)}".rstrip()
        if attrs:
            pairs = (f"{name}={self.literal(attrs[name])}" for name in sorted(attrs))
            text += f" {{{', '.join(pairs)}}}"
        return text

    def loop(self, loop: Loop) -> str:
        parts = [f"{loop.op.name} {self.counter(loop.position)}"]
        if loop.index is not None:
            bounds = self.operands(loop.bounds)
            parts[0] += f", {self.counter(loop.index)} in ({bounds})"
        for port, params, operands in (
            ("carry", loop.carry_params, loop.inits),
            ("read", loop.read_params, loop.reads),
        ):
            if params:
                pairs = zip(params, operands)
                inner = ", ".join(f"{self.define(p)} = {self.operand(o)}" for p, o in pairs)
                parts.append(f"{port} ({inner})")
        return " ".join(parts + ["reverse"] * loop.runs_reversed)

    def openings(self, op: Op) -> Iterator[str]:
        """Yields the text that opens each region, after the line or the closing brace before it."""
        for number, region in enumerate(op.regions):
            if op.name == "for":
                yield " {"
            elif op.name == "while":
                yield " do {" if number else f" test ({self.definitions(region.params)}) {{"
            elif op.name == "if":
                yield " else {" if number else " {"
            else:
                yield f" region ({self.definitions(region.params)}) {{"

    def yields(self, op: Op, region: Region) -> str:
        if op.name not in ("for", "while") or region is not op.regions[-1]:
            return self.operands(region.yields)
        loop = Loop(op)
        ports = {"carry": loop.carry_yields, "stack": loop.stack_yields}
        parts = [f"{port} {self.operands(values)}" for port, values in ports.items() if values]
        if loop.has_until:
            parts.append(f"until {self.operand(loop.until)}")
        return " ".join(parts)

    def definitions(self, values: Iterable[Value]) -> str:
        return ", ".join(self.define(value) for value in values)

    def define(self, value: Value) -> str:
        return f"{self.operand(value)}{'!' if value.has_user_name else ''}: {value.type}"

    def counter(self, value: Value) -> str:
        text = self.define(value)
        return text.removesuffix(f": {INT}") if value.type == INT else text

    def operands(self, operands: Iterable[AnyOperand]) -> str:
        return ", ".join(self.operand(operand) for operand in operands)

    def operand(self, operand: AnyOperand) -> str:
        if isinstance(operand, Value):
            return f"%{self.values.of(operand, operand.name)}"
        return self.literal(operand)

    def literal(self, thing: Any) -> str:
        """Prints an attribute or a literal as Python text; the parser knows these forms only."""
        if isinstance(thing, Function):
            return f"@{self.functions.of(thing, thing.name)}"
        if isinstance(thing, Type):
            return f"type({str(thing)!r})"
        if isinstance(thing, complex):
            return f"complex({self.literal(thing.real)}, {self.literal(thing.imag)})"
        if isinstance(thing, float):
            return repr(float(thing))
        if isinstance(thing, slice):
            parts = (thing.start, thing.stop, thing.step)
            return f"slice({', '.join(self.literal(part) for part in parts)})"
        if isinstance(thing, (tuple, list)):
            inner = ", ".join(self.literal(item) for item in thing)
            if isinstance(thing, list):
                return f"[{inner}]"
            return f"({inner},)" if len(thing) == 1 else f"({inner})"
        if isinstance(thing, dict):
            pairs = (f"{self.literal(k)}: {self.literal(v)}" for k, v in thing.items())
            return f"{{{', '.join(pairs)}}}"
        return repr(thing)

    def comment(self, span: Span, role: str) -> str:
        parts = [] if role == "primal" else [role]
        if span != NOWHERE:
            file = os.path.basename(span.file)
            parts.insert(0, str(span.line) if file == self.file else f"{file}:{span.line}")
        return " ".join(parts)
