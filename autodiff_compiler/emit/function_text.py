"""The text of one function: its lines of code with their comments, before they are laid out."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from autodiff_compiler.emit.literal_sites import skeleton
from autodiff_compiler.emit.statements.nodes import (
    Assign,
    Block,
    Branch,
    Break,
    For,
    ParallelAssign,
    Return,
    SimpleStatement,
    Statement,
    TemplateLines,
    While,
    reads,
    rename_values,
)
from autodiff_compiler.emit.text.document import Document
from autodiff_compiler.emit.text.expressions import print_expression, print_statement
from autodiff_compiler.emit.text.line_breaking import STEP
from autodiff_compiler.ir.labels import WRITTEN_NEXT
from autodiff_compiler.ir.nodes import Function, Value
from autodiff_compiler.ir.types import TupleType
from autodiff_compiler.span import NOWHERE, Span

#: A statement that reads the last item of a list.
LAST_ITEM = re.compile(r"(\w+) = (\w+)\[-1\]")


class TextLine(NamedTuple):
    """A line of code, not broken yet.

    above   the comments on lines of their own before it.
    tag     the source line, shown behind the code.
    aside   a note shown behind the code, if there is no tag.
    origin  the place that the code was made from.
    """

    indent: int
    code: str
    above: tuple[str, ...] = ()
    tag: str | None = None
    aside: str = ""
    origin: Span | None = None


@dataclass(frozen=True)
class FunctionText:
    """The text of a function.

    names   the printed names of its values.
    params  the parameters as they stand in parentheses.
    """

    function: Function
    names: Mapping[Value, str]
    params: str
    lines: Sequence[TextLine]

    @cached_property
    def code(self) -> str:
        """The function under the name ``f``, without comments, one line for each statement."""
        body = [" " * STEP * line.indent + line.code for line in self.lines]
        return "\n".join([f"def f({self.params}):", *body])

    @cached_property
    def skeleton(self) -> str:
        """The code without its integer literals."""
        return skeleton(self.code)

    @cached_property
    def tags(self) -> tuple[tuple[tuple[str, ...], str | None], ...]:
        """The comments that must be equal if functions share their source: all but asides, which
        may tell shapes.
        """
        return tuple([(line.above, line.tag) for line in self.lines])

    def write(self, document: Document, name: str) -> None:
        """Writes the function under a name."""
        span = self.function.span
        head = f"def {name}({self.params}):"
        document.add(head, 0, origin=None if span == NOWHERE else span)
        for indent, code, above, tag, aside, origin in self.lines:
            for comment in above:
                document.comment(comment, indent)
            document.add(code, indent, tag or aside or None, origin)


def function_text(
    function: Function,
    block: Block,
    names: Mapping[Value, str],
    constants: Mapping[Value, str],
    callees: Mapping[str, str],
    home: str | None,
) -> FunctionText:
    """Returns the text of a function.

    constants  by a parameter, the text of its value, which is its default if possible.
    callees    the printed names of called functions.
    home       the file whose lines are shown without its name; None if no line has a name.
    """
    writer = _Writer(function, names, constants, callees, home)
    params = ", ".join(map(writer.parameter, function.params))
    writer.block(writer.without_self_copies(block), 1)
    return FunctionText(function, names, params, with_pops(writer.lines))


def with_pops(lines: Sequence[TextLine]) -> list[TextLine]:
    """Returns the lines with ``x = rows.pop()`` for ``x = rows[-1]`` and ``del rows[-1]``.

    >>> [line.code for line in with_pops([TextLine(1, "x = h[-1]"), TextLine(1, "del h[-1]")])]
    ['x = h.pop()']
    """
    joined: list[TextLine] = []
    for line in lines:
        before = joined[-1] if joined else line
        last = LAST_ITEM.fullmatch(before.code)
        bare = not (line.above or line.tag or line.aside)
        if last and bare and before.indent == line.indent and line.code == f"del {last[2]}[-1]":
            joined[-1] = before._replace(code=f"{last[1]} = {last[2]}.pop()")
        else:
            joined.append(line)
    return joined


def is_workspace(function: Function, param: Value) -> bool:
    """True if a parameter is the tuple of workspace buffers."""
    return any(op.name == "work_buffer" and op.operands[0] is param for op in function.body.ops)


def parameters_with_default(function: Function, constants: Mapping[Value, str]) -> set[Value]:
    """Returns the parameters with a known value, as far as no other parameter follows."""
    with_default: set[Value] = set()
    for param in reversed(function.params):
        if param in constants:
            with_default.add(param)
        elif not is_workspace(function, param):
            break
    return with_default


class _Writer:
    """Makes the lines of one function from its statements.

    shown  the user's line that the last comment showed, and if it was for an adjoint.
    """

    def __init__(
        self,
        function: Function,
        names: Mapping[Value, str],
        constants: Mapping[Value, str],
        callees: Mapping[str, str],
        home: str | None,
    ):
        self.function, self.names, self.callees, self.home = function, names, callees, home
        self.with_default = parameters_with_default(function, constants)
        self.shown: tuple[str, int, bool] | None = None
        self.lines: list[TextLine] = []

    def parameter(self, param: Value) -> str:
        """Returns a parameter, with a default for workspace buffers and constants."""
        name = self.names[param]
        if is_workspace(self.function, param):
            assert isinstance(param.type, TupleType)
            return f"{name}=(None,) * {len(param.type.items)}"
        return f"{name}={name}" if param in self.with_default else name

    # Assignments of a variable to itself

    def without_self_copies(self, block: Block) -> Block:
        """Returns ``block`` without assignments of a variable to itself, and without branches that
        are empty then."""
        rewritten = [self.without_self_copy(statement) for statement in block]
        return [statement for statement in rewritten if statement is not None]

    def without_self_copy(self, statement: Statement) -> Statement | None:
        if isinstance(statement, ParallelAssign):
            pairs = tuple(p for p in statement.pairs if self.text(p[1]) != self.names[p[0]])
            return replace(statement, pairs=pairs) if pairs else None
        if isinstance(statement, Assign) and isinstance(statement.value, ast.Name):
            return None if self.targets(statement) == self.text(statement.value) else statement
        if isinstance(statement, Branch):
            then = self.without_self_copies(statement.then)
            orelse = self.without_self_copies(statement.orelse)
            if then:
                return replace(statement, then=then, orelse=orelse)
            if not orelse:
                return None
            return replace(statement, test=_negated(statement.test), then=orelse, orelse=[])
        if isinstance(statement, While):
            head = self.without_self_copies(statement.head)
            return replace(statement, head=head, body=self.without_self_copies(statement.body))
        if isinstance(statement, For):
            return replace(statement, body=self.without_self_copies(statement.body))
        return statement

    # Statements

    def named(self, name: Any) -> str:
        return self.names[name] if isinstance(name, Value) else self.callees.get(name, name)

    def text(self, tree: ast.expr) -> str:
        return print_expression(rename_values(tree, self.named))

    def block(self, block: Block, indent: int) -> None:
        for statement in block:
            WRITERS[type(statement)](self, statement, indent)
        if not block:
            self.lines.append(TextLine(indent, "pass"))

    def for_(self, statement: For, indent: int) -> None:
        targets = ", ".join(self.names[target] for target in statement.targets)
        self.header(statement, f"for {targets} in {self.text(statement.items)}:", indent)
        self.block(statement.body, indent + 1)

    def break_(self, statement: Break, indent: int) -> None:
        self.line(statement, f"if {self.text(statement.test)}:", indent)
        self.line(statement, "break", indent + 1)

    def template(self, statement: TemplateLines, indent: int) -> None:
        self.template_lines(statement, statement.statements, indent)

    def template_lines(
        self, statement: TemplateLines, trees: Sequence[ast.stmt], indent: int
    ) -> None:
        """Writes the lines of a template, whose loops and branches may hold others."""
        for tree in trees:
            if isinstance(tree, ast.For):
                items = self.text(tree.iter)
                self.line(statement, f"for {self.bare(tree.target)} in {items}:", indent)
                self.template_lines(statement, tree.body, indent + 1)
            elif isinstance(tree, ast.If):
                self.line(statement, f"if {self.text(tree.test)}:", indent)
                self.template_lines(statement, tree.body, indent + 1)
                self.line(statement, "else:", indent)
                self.template_lines(statement, tree.orelse, indent + 1)
            else:
                text, span = print_statement(rename_values(tree, self.named)), statement.span
                if text.endswith(".copy()") and not span.aside:
                    statement = replace(statement, span=replace(span, aside=WRITTEN_NEXT))
                self.line(statement, text, indent)
                statement = replace(statement, span=span)

    def branch(self, statement: Branch, indent: int, word: str = "if") -> None:
        self.header(statement, f"{word} {self.text(statement.test)}:", indent)
        self.block(statement.then, indent + 1)
        rest = statement.orelse
        if len(rest) == 1 and isinstance(rest[0], Branch):
            self.branch(rest[0], indent, "elif")
        elif rest:
            self.lines.append(TextLine(indent, "else:"))
            self.block(rest, indent + 1)

    def while_(self, statement: While, indent: int) -> None:
        if not statement.head:
            self.header(statement, f"while {self.text(statement.test)}:", indent)
            self.block(statement.body, indent + 1)
            return
        self.header(statement, "while True:", indent)
        self.block(statement.head, indent + 1)
        self.line(statement, f"if {self.text(_negated(statement.test))}:", indent + 1)
        self.line(statement, "break", indent + 2)
        if statement.body:
            self.block(statement.body, indent + 1)

    def assign(self, statement: Assign, indent: int) -> None:
        text = f"{self.targets(statement)} = {self.bare(statement.value)}"
        self.line(statement, text, indent)

    def return_(self, statement: Return, indent: int) -> None:
        values = statement.values or (ast.Constant(None),)
        tree = values[0] if len(values) == 1 else ast.Tuple(list(values), ast.Load())
        self.line(statement, f"return {self.bare(tree)}", indent)

    def simple(self, statement: SimpleStatement, indent: int) -> None:
        text = print_statement(rename_values(statement.tree, self.named))
        self.line(statement, text, indent)

    def parallel_assign(self, statement: ParallelAssign, indent: int) -> None:
        """Writes one assignment after the other, or a tuple assignment if a later one reads an
        earlier target."""
        targets = [self.names[target] for target, _ in statement.pairs]
        needs = [{self.names[value] for value in reads(tree)} for _, tree in statement.pairs]
        values = [self.text(tree) for _, tree in statement.pairs]
        later = [set().union(*needs[position + 1 :]) for position in range(len(needs))]
        if any(target in needed for target, needed in zip(targets, later)):
            self.line(statement, f"{', '.join(targets)} = {', '.join(values)}", indent)
            return
        for target, value in zip(targets, values):
            self.line(statement, f"{target} = {value}", indent)

    def bare(self, tree: ast.expr) -> str:
        """Returns one side of a simple statement: a tuple of several items has no parentheses."""
        if isinstance(tree, ast.Tuple) and len(tree.elts) > 1:
            return ", ".join(self.text(item) for item in tree.elts)
        return self.text(tree)

    def targets(self, statement: Assign) -> str:
        names = ["_" if target is None else self.names[target] for target in statement.targets]
        return f"({names[0]},)" if statement.unpacks and len(names) == 1 else ", ".join(names)

    # Comments: each line of the user's once, behind its code or above its adjoint

    def header(self, statement: Statement, text: str, indent: int) -> None:
        self.line(statement, text, indent, behind=True)

    def line(self, statement: Statement, text: str, indent: int, behind: bool = False) -> None:
        span = statement.span
        bare = replace(span, aside="") if span.aside else span
        if bare in (NOWHERE, self.function.span):  # a line about the whole function has no tag
            self.lines.append(TextLine(indent, text, (), None, span.aside))
            return
        adjoint = statement.role == "adjoint" or self.function.role == "backward"
        behind = behind or not adjoint
        here = (span.file, span.line, adjoint)
        tag = None if self.shown == here else span.tag_in(self.home or span.file)
        self.shown = here
        note = (span.note,) if tag is not None and span.note else ()
        if behind and not span.aside:
            self.lines.append(TextLine(indent, text, note, tag, "", span))
        else:
            above = note if tag is None else (*note, tag)
            self.lines.append(TextLine(indent, text, above, None, span.aside, span))


WRITERS: dict[type[Statement], Callable[[_Writer, Any, int], None]] = {
    Assign: _Writer.assign,
    Branch: _Writer.branch,
    Break: _Writer.break_,
    For: _Writer.for_,
    ParallelAssign: _Writer.parallel_assign,
    Return: _Writer.return_,
    SimpleStatement: _Writer.simple,
    TemplateLines: _Writer.template,
    While: _Writer.while_,
}


def _negated(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(ast.Not(), test)
