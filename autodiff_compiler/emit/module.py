"""Prints functions as one module of NumPy source: the last stage of a compilation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from autodiff_compiler.emit.function_text import function_text
from autodiff_compiler.emit.naming.choose import Names, choose_names, reserved_words
from autodiff_compiler.emit.naming.coalesce import coalesce_variables, remaining_copies
from autodiff_compiler.emit.naming.identifiers import MODULES
from autodiff_compiler.emit.naming.residuals import saved_names
from autodiff_compiler.emit.shared_functions import SharedFunctions
from autodiff_compiler.emit.statements.builder import StatementBuilder
from autodiff_compiler.emit.statements.nodes import Block
from autodiff_compiler.emit.text.document import Document
from autodiff_compiler.ir.nodes import Function, Value
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
    entries: Collection[str] = (),
) -> Emitted:
    '''Returns the source of a module that defines ``functions`` (callees first).

    header     returns the lines of the docstring.
    silenced   by a function's name, the kinds of NumPy's warnings that it does not give.
    constants  by a parameter, the text of its value. The value is defined above the functions, and
               is the parameter's default if possible.
    entries    the functions that are called from outside the module, which keep their names.

    Other functions of equal source are printed once (see ``shared_functions``). The source imports
    nothing but NumPy, and ``ml_dtypes`` for the dtype bfloat16.

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
    bodies: list[_NamedBody] = []
    for function in functions:
        saved = saved_names(function, [(body.function, body.names) for body in bodies])
        bodies.append(_named_body(function, module, saved))
    words = set().union(*(body.words for body in bodies))
    printed = {body.function.name: body.names for body in bodies}
    document = Document()
    _write_docstring(document, header(printed))
    _write_imports(document, words)
    _write_constants(document, bodies, constants)
    if "unbroadcast" in words:
        document.blank(2)
        first, *rest = UNBROADCAST.splitlines()
        document.add(first)
        for line in rest:
            document.text(line)
    home = next((f.span.file for f in reversed(functions) if f.span != NOWHERE), None)
    shared = SharedFunctions(functions, entries)
    for body in bodies:
        shared.add(function_text(*body[:3], constants, shared.names, home))
    for name, text in shared.texts():
        document.blank(2)
        function = text.function
        if function.title != functions[-1].title and function.span != NOWHERE:
            # The docstring is about the last function. The lines of this one are of another source.
            document.text(f"# {function.title} ({function.span.where.rpartition(':')[0]})")
        if kinds := silenced.get(name):
            settings = ", ".join(f'{kind}="ignore"' for kind in kinds)
            document.text(f"@np.errstate({settings})")
        text.write(document, name)
    return Emitted(document.render(), document.origins(), printed)


class _NamedBody(NamedTuple):
    """The statements of a function, the names of its values, and the names that are text."""

    function: Function
    block: Block
    names: dict[Value, str]
    words: set[str]


def _named_body(function: Function, reserved: set[str], saved: Mapping[Value, str]) -> _NamedBody:
    """Builds the statements of ``function`` and names its values; those in ``saved`` have names.

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
    names = choose_names(function, block, variables, {*reserved, *words, *MODULES}, saved)
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
    document: Document, bodies: Sequence[_NamedBody], constants: Mapping[Value, str]
) -> None:
    lines = [
        f"{names[param]} = {constants[param]}"
        for function, _, names, _ in bodies
        for param in function.params
        if param in constants
    ]
    if lines:
        document.blank()
    for line in lines:
        document.add(line)
