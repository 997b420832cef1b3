"""A whole module of NumPy source from functions: the last stage, and the text that runs."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

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
from autodiff_compiler.span import NOWHERE, Span

UNBROADCAST = '''\
def unbroadcast(d, shape):
    """Sums d over the axes along which a value of this shape was stretched."""
    lead = d.ndim - len(shape)
    stretched = tuple(lead + i for i, n in enumerate(shape) if n == 1 and d.shape[lead + i] != 1)
    return np.sum(d, axis=(*range(lead), *stretched)).reshape(shape)
'''


#: From the printed names to the lines of the docstring.
Header = Callable[[Names], Sequence[str]]


@dataclass(frozen=True)
class Emitted:
    """A module's text, for each of its lines the place in the user's source it is about, and the
    printed names."""

    source: str
    line_map: dict[int, Span]
    names: Names


def emit_module(
    functions: Sequence[Function],
    header: Header = lambda printed: (),
    silenced: Mapping[str, Sequence[str]] = MappingProxyType({}),
    constants: Mapping[Value, str] = MappingProxyType({}),
) -> Emitted:
    '''The text of a module that defines ``functions`` (callees first) and needs NumPy alone.

    ``header`` gives the lines of its docstring from the printed names, ``silenced`` by a function's
    name the kinds of NumPy's warnings that it does not give, ``constants`` by a parameter the text
    of its value: that stands above the functions, and is the parameter's default where it can be.

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
    globals_ = {function.name for function in functions}
    bodies = [_name(function, globals_) for function in functions]
    used = set().union(*(words for _, _, words in bodies))
    document = Document()
    printed = {function.name: names for function, (_, names, _) in zip(functions, bodies)}
    lines = header(printed)
    if lines:
        quotes = '"""'
        for line in (quotes + lines[0], *lines[1:], *([] if len(lines) == 1 else [quotes])):
            document.text(line if len(lines) > 1 else line + quotes)
        document.blank()
    if "ml_dtypes" in used:
        document.add("import ml_dtypes")
    document.add("import numpy as np")
    above = definitions(used)
    for function in functions:
        names = printed[function.name]
        above += [f"{names[p]} = {constants[p]}" for p in function.params if p in constants]
    if above:
        document.blank()
        for line in above:
            document.add(line)
    if "unbroadcast" in used:
        document.blank(2)
        first, *rest = UNBROADCAST.splitlines()
        document.add(first)
        for line in rest:
            document.text(line)
    for function, (block, names, _) in zip(functions, bodies):
        document.blank(2)
        if function.title != functions[-1].title and function.span != NOWHERE:
            # The docstring speaks of the last function; line numbers here are of another text.
            document.text(f"# {function.title} ({function.span.where.rpartition(':')[0]})")
        if kinds := silenced.get(function.name):
            settings = ", ".join(f'{kind}="ignore"' for kind in kinds)
            document.text(f"@np.errstate({settings})")
        _Writer(document, function, names, constants).write(block)
    return Emitted(document.render(), document.origins(), printed)


def _name(function: Function, reserved: set[str]) -> tuple[Block, dict[Value, str], set[str]]:
    """The statements of ``function``, the names of its values, and those that stand as text.

    Where a value could not share the variable it is handed to, it is written inside the assignment
    that hands it on, and sharing is tried anew.
    """
    builder = StatementBuilder(function)
    block = builder.build()
    variables = coalesce_variables(function, block, builder.alias)
    into_moves = remaining_copies(block, variables) & builder.movable
    if into_moves:
        builder = StatementBuilder(function, into_moves)
        block = builder.build()
        variables = coalesce_variables(function, block, builder.alias)
    words = reserved_words(block)
    names = choose_names(function, block, variables, {*reserved, *words, "np", "ml_dtypes"})
    also = {value: names[token] for value, token in builder.alias.items() if token in names}
    return block, {**also, **names}, words


def is_lent(function: Function, param: Value) -> bool:
    """Whether a parameter holds work arrays."""
    return any(op.name == "lent" and op.operands[0] is param for op in function.body.ops)


def optional(function: Function, constants: Mapping[Value, str]) -> set[Value]:
    """The parameters with a known value that only such ones follow: they need not be given."""
    found: set[Value] = set()
    for param in reversed(function.params):
        if param in constants:
            found.add(param)
        elif not is_lent(function, param):
            break
    return found


class _Writer:
    """Writes the statements of one function into a document."""

    def __init__(
        self,
        document: Document,
        function: Function,
        names: Mapping[Value, str],
        constants: Mapping[Value, str],
    ):
        self.document, self.function, self.names = document, function, names
        self.optional = optional(function, constants)
        self.told: tuple[str, int, bool] | None = None

    def write(self, block: Block) -> None:
        params = ", ".join(map(self.parameter, self.function.params))
        span = self.function.span
        head = f"def {self.function.name}({params}):"
        self.document.add(head, 0, origin=None if span == NOWHERE else span)
        self.block(self.tidy(block), 1)

    def parameter(self, param: Value) -> str:
        """A parameter; work arrays need not be lent, and constants have a value."""
        name = self.names[param]
        if is_lent(self.function, param):
            return f"{name}=(None,) * {len(param.type.items)}"  # type: ignore[attr-defined]
        return f"{name}={name}" if param in self.optional else name

    # What is left when assignments of a variable to itself are gone

    def tidy(self, block: Block) -> Block:
        """``block`` without what does nothing."""
        kept = [self.tidied(statement) for statement in block]
        return [statement for statement in kept if statement is not None]

    def tidied(self, statement: Statement) -> Statement | None:
        if isinstance(statement, ParallelAssign):
            pairs = tuple(p for p in statement.pairs if self.text(p[1]) != self.names[p[0]])
            return replace(statement, pairs=pairs) if pairs else None
        if isinstance(statement, Assign) and isinstance(statement.value, ast.Name):
            return None if self.targets(statement) == self.text(statement.value) else statement
        if isinstance(statement, Branch):
            then, orelse = self.tidy(statement.then), self.tidy(statement.orelse)
            if then:
                return replace(statement, then=then, orelse=orelse)
            return replace(statement, test=_negated(statement.test), then=orelse, orelse=[]) \
                if orelse else None  # fmt: skip
        if isinstance(statement, While):
            head, body = self.tidy(statement.head), self.tidy(statement.body)
            return replace(statement, head=head, body=body)
        if isinstance(statement, For):
            return replace(statement, body=self.tidy(statement.body))
        return statement

    # Lines

    def named(self, name: Any) -> str:
        return self.names[name] if isinstance(name, Value) else name

    def text(self, tree: ast.expr) -> str:
        return print_expression(rename_values(tree, self.named))

    def block(self, block: Block, indent: int) -> None:
        for statement in block:
            self.statement(statement, indent)
        if not block:
            self.document.add("pass", indent)

    def statement(self, statement: Statement, indent: int) -> None:
        if isinstance(statement, Branch):
            self.branch(statement, indent)
        elif isinstance(statement, For):
            targets = ", ".join(self.names[target] for target in statement.targets)
            self.header(statement, f"for {targets} in {self.text(statement.items)}:", indent)
            self.block(statement.body, indent + 1)
        elif isinstance(statement, While):
            self.loop(statement, indent)
        elif isinstance(statement, Break):
            self.line(statement, f"if {self.text(statement.test)}:", indent)
            self.line(statement, "break", indent + 1)
        elif isinstance(statement, TemplateLines):
            self.lines(statement, statement.trees, indent)
        else:
            for text in self.simple(statement):
                self.line(statement, text, indent)

    def lines(self, statement: TemplateLines, trees: Sequence[ast.stmt], indent: int) -> None:
        """The lines of a template; one of them may be the head of a loop or a branch."""
        for tree in trees:
            if isinstance(tree, ast.For):
                items = self.text(tree.iter)
                self.line(statement, f"for {self.bare(tree.target)} in {items}:", indent)
                self.lines(statement, tree.body, indent + 1)
            elif isinstance(tree, ast.If):
                self.line(statement, f"if {self.text(tree.test)}:", indent)
                self.lines(statement, tree.body, indent + 1)
                self.line(statement, "else:", indent)
                self.lines(statement, tree.orelse, indent + 1)
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

    def loop(self, statement: While, indent: int) -> None:
        if not statement.head:
            self.header(statement, f"while {self.text(statement.test)}:", indent)
            self.block(statement.body, indent + 1)
            return
        self.header(statement, "while True:", indent)
        self.block(statement.head, indent + 1)
        self.line(statement, f"if {self.text(_negated(statement.test))}:", indent + 1)
        self.line(statement, "break", indent + 2)
        for inner in statement.body:
            self.statement(inner, indent + 1)

    def simple(self, statement: Statement) -> list[str]:
        """The lines of a statement without blocks."""
        if isinstance(statement, Assign):
            return [f"{self.targets(statement)} = {self.bare(statement.value)}"]
        if isinstance(statement, ParallelAssign):
            return self.parallel_assign(statement)
        if isinstance(statement, Return):
            values = statement.values or (ast.Constant(None),)
            tree = values[0] if len(values) == 1 else ast.Tuple(list(values), ast.Load())
            return [f"return {self.bare(tree)}"]
        assert isinstance(statement, SimpleStatement)
        return [print_statement(rename_values(statement.tree, self.named))]

    def bare(self, tree: ast.expr) -> str:
        """One side of a simple statement: a tuple of two or more stands without parentheses."""
        if isinstance(tree, ast.Tuple) and len(tree.elts) > 1:
            return ", ".join(self.text(item) for item in tree.elts)
        return self.text(tree)

    def targets(self, statement: Assign) -> str:
        names = ["_" if target is None else self.names[target] for target in statement.targets]
        return f"({names[0]},)" if statement.unpacks and len(names) == 1 else ", ".join(names)

    def parallel_assign(self, statement: ParallelAssign) -> list[str]:
        """One assignment after the other, or all in one where a later one reads an earlier one."""
        targets = [self.names[target] for target, _ in statement.pairs]
        needs = [{self.names[value] for value in reads(tree)} for _, tree in statement.pairs]
        values = [self.text(tree) for _, tree in statement.pairs]
        later = [set().union(*needs[position + 1 :]) for position in range(len(needs))]
        if any(target in needed for target, needed in zip(targets, later)):
            return [f"{', '.join(targets)} = {', '.join(values)}"]
        return [f"{target} = {value}" for target, value in zip(targets, values)]

    # Comments: every line of the user's once, behind what it does or above what undoes it

    def header(self, statement: Statement, text: str, indent: int) -> None:
        self.line(statement, text, indent, behind=True)

    def line(self, statement: Statement, text: str, indent: int, behind: bool = False) -> None:
        span = statement.span
        if span in (NOWHERE, self.function.span):  # what is about the whole needs no tag
            self.document.add(text, indent)
            return
        adjoint = statement.role == "adjoint"
        behind = behind or not adjoint
        here = (span.file, span.line, adjoint)
        news = None if self.told == here else span.tag
        self.told = here
        if news is not None and span.note:
            self.document.comment(span.note, indent)
        if news is not None and not behind:
            self.document.comment(news, indent)
        comment = news if behind else span.aside or None
        self.document.add(text, indent, comment, origin=span)


def _negated(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(ast.Not(), test)
