"""Prints functions as one module of NumPy source: the last stage of a compilation."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from autodiff_compiler.emit.naming.choose import Names, choose_names, reserved_words
from autodiff_compiler.emit.naming.coalesce import coalesce_variables, remaining_copies
from autodiff_compiler.emit.statements.builder import StatementBuilder
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
from autodiff_compiler.emit.text.templates import definitions
from autodiff_compiler.ir.nodes import Function, Value
from autodiff_compiler.ir.types import TupleType
from autodiff_compiler.span import NOWHERE, Span

UNBROADCAST = '''\
def unbroadcast(d, shape):
    """Sums d over the axes along which a value of this shape was broadcast."""
    lead = d.ndim - len(shape)
    axes = [i for i, n in enumerate(shape, lead) if i >= 0 and n == 1 and d.shape[i] != 1]
    return np.sum(d, axis=(*range(lead), *axes)).reshape(shape)
'''


#: From the printed names to the lines of the docstring.
Header = Callable[[Names], Sequence[str]]


@dataclass(frozen=True)
class Emitted:
    """The source of a module.

    line_map  the place in the user's source that each line was made from.
    names     the printed names.
    """

    source: str
    line_map: dict[int, Span]
    names: Names


def emit_module(
    functions: Sequence[Function],
    header: Header = lambda printed: (),
    silenced: Mapping[str, Sequence[str]] = MappingProxyType({}),
    constants: Mapping[Value, str] = MappingProxyType({}),
) -> Emitted:
    '''Returns the source of a module that defines ``functions`` (callees first).

    header     returns the lines of the docstring.
    silenced   by a function's name, the kinds of NumPy's warnings that it does not give.
    constants  by a parameter, the text of its value. The value is defined above the functions, and
               is the parameter's default if possible.

    The source imports nothing but NumPy, and ``ml_dtypes`` for the dtype bfloat16.

    >>> from autodiff_compiler.ir.builder import Builder
    >>> from autodiff_compiler.ir.types import array
    >>> from autodiff_compiler.operators.core.structure import sum_, transpose
    >>> with Builder() as builder:
    ...     x = Value(array("float32", 2, 3), "x")
    ...     out = sum_(transpose(x, perm=(1, 0)), axes=None, keepdims=False)
    >>> from autodiff_compiler.ir.nodes import Region
    >>> net = Function("net", Region((x,), tuple(builder.ops), (out,)), NOWHERE)
    >>> print(emit_module([net], lambda printed: [f"Net of {printed['net'][x]}"]).source, end="")
    """Net of x"""
    <BLANKLINE>
    import numpy as np
    <BLANKLINE>
    <BLANKLINE>
    def net(x):
        return x.T.sum()
    '''
    module = {function.name for function in functions}
    bodies = [_named_body(function, module) for function in functions]
    words = set().union(*(body.words for body in bodies))
    printed = {body.function.name: body.names for body in bodies}
    document = Document()
    _write_docstring(document, header(printed))
    _write_imports(document, words)
    _write_constants(document, words, bodies, constants)
    if "unbroadcast" in words:
        document.blank(2)
        first, *rest = UNBROADCAST.splitlines()
        document.add(first)
        for line in rest:
            document.text(line)
    for body in bodies:
        document.blank(2)
        function = body.function
        if function.title != functions[-1].title and function.span != NOWHERE:
            # The docstring is about the last function. The lines of this one are of another source.
            document.text(f"# {function.title} ({function.span.where.rpartition(':')[0]})")
        if kinds := silenced.get(function.name):
            settings = ", ".join(f'{kind}="ignore"' for kind in kinds)
            document.text(f"@np.errstate({settings})")
        _Writer(document, function, body.names, constants).write(body.block)
    return Emitted(document.render(), document.origins(), printed)


class _NamedBody(NamedTuple):
    """The statements of a function, the names of its values, and the names that are text."""

    function: Function
    block: Block
    names: dict[Value, str]
    words: set[str]


def _named_body(function: Function, reserved: set[str]) -> _NamedBody:
    """Builds the statements of ``function`` and names its values.

    Some values cannot share the variable that they are copied to. They are computed inside that
    copy, and the variables are coalesced again.
    """
    builder = StatementBuilder(function)
    block = builder.build()
    variables = coalesce_variables(function, block, builder.alias)
    into_copies = remaining_copies(block, variables) & builder.movable
    if into_copies:
        builder = StatementBuilder(function, into_copies)
        block = builder.build()
        variables = coalesce_variables(function, block, builder.alias)
    words = reserved_words(block)
    names = choose_names(function, block, variables, {*reserved, *words, "np", "ml_dtypes"})
    also = {value: names[stands] for value, stands in builder.alias.items() if stands in names}
    return _NamedBody(function, block, {**also, **names}, words)


def _write_docstring(document: Document, lines: Sequence[str]) -> None:
    quotes = '"""'
    if len(lines) == 1:
        document.text(quotes + lines[0] + quotes)
    else:
        for line in (quotes + lines[0], *lines[1:], quotes) if lines else ():
            document.text(line)
    if lines:
        document.blank()


def _write_imports(document: Document, words: set[str]) -> None:
    if "ml_dtypes" in words:
        document.add("import ml_dtypes")
    document.add("import numpy as np")


def _write_constants(
    document: Document,
    words: set[str],
    bodies: Sequence[_NamedBody],
    constants: Mapping[Value, str],
) -> None:
    lines = definitions(words)
    for function, _, names, _ in bodies:
        lines += [f"{names[p]} = {constants[p]}" for p in function.params if p in constants]
    if lines:
        document.blank()
    for line in lines:
        document.add(line)


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
    """Writes the statements of one function into a document.

    shown  the user's line that the last comment showed, and if it was for an adjoint.
    """

    def __init__(
        self,
        document: Document,
        function: Function,
        names: Mapping[Value, str],
        constants: Mapping[Value, str],
    ):
        self.document, self.function, self.names = document, function, names
        self.with_default = parameters_with_default(function, constants)
        self.shown: tuple[str, int, bool] | None = None

    def write(self, block: Block) -> None:
        params = ", ".join(map(self.parameter, self.function.params))
        span = self.function.span
        head = f"def {self.function.name}({params}):"
        self.document.add(head, 0, origin=None if span == NOWHERE else span)
        self.block(self.without_self_copies(block), 1)

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
        return self.names[name] if isinstance(name, Value) else name

    def text(self, tree: ast.expr) -> str:
        return print_expression(rename_values(tree, self.named))

    def block(self, block: Block, indent: int) -> None:
        for statement in block:
            WRITERS[type(statement)](self, statement, indent)
        if not block:
            self.document.add("pass", indent)

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
                self.line(statement, print_statement(rename_values(tree, self.named)), indent)

    def branch(self, statement: Branch, indent: int, word: str = "if") -> None:
        self.header(statement, f"{word} {self.text(statement.test)}:", indent)
        self.block(statement.then, indent + 1)
        rest = statement.orelse
        if len(rest) == 1 and isinstance(rest[0], Branch):
            self.branch(rest[0], indent, "elif")
        elif rest:
            self.document.add("else:", indent)
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
        if span in (NOWHERE, self.function.span):  # a line about the whole function has no comment
            self.document.add(text, indent)
            return
        adjoint = statement.role == "adjoint"
        behind = behind or not adjoint
        here = (span.file, span.line, adjoint)
        new_line = None if self.shown == here else span.tag
        self.shown = here
        if new_line is not None and span.note:
            self.document.comment(span.note, indent)
        if new_line is not None and not behind:
            self.document.comment(new_line, indent)
        comment = new_line if behind else span.aside or None
        self.document.add(text, indent, comment, origin=span)


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
