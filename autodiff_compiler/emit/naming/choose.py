"""The names of variables: parameters first, then the user's names, then names that were made up.

The user's name stands as it is, unless it hides one of Python's (``input_``). ``ir/labels.py``
names the values without one. A second variable of the same name gets a number.

Values that a forward function saves have the same names in its backward function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from autodiff_compiler.emit.naming.coalesce import Variable
from autodiff_compiler.emit.naming.identifiers import unique_name
from autodiff_compiler.emit.statements.nodes import (
    Block,
    Return,
    value_in,
    walk,
)
from autodiff_compiler.fast_ast import nodes_in
from autodiff_compiler.ir.nodes import Function, Value

#: The printed names of values, by the name of the function that they are in.
Names = Mapping[str, Mapping[Value, str]]

#: The name of the saved values: the first parameter of a backward function. The residuals of
#: callees have numbers, in forward functions too.
RESIDUALS = "residuals"

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def choose_names(
    function: Function,
    block: Block,
    variables: Mapping[Value, Variable],
    reserved: Iterable[str],
    saved: Mapping[Value, str] = MappingProxyType({}),
) -> dict[Value, str]:
    """Returns the name of every value. Parameters choose first, then variables with a user's
    name.

    saved  the names of saved values in the forward function, which they keep if they are free.
    """
    used = {"_", *reserved}
    order = _ordered(function, block, variables)
    names: dict[Variable, str] = {}
    if function.role == "forward":
        is_users = any(each.user_names and each.wish == RESIDUALS for each in order)
        used.update(() if is_users else (RESIDUALS,))
    elif saved:
        opened = variables[function.params[0]]
        names[opened] = RESIDUALS
        used.add(RESIDUALS)
        for value, name in saved.items():
            if value in variables and name not in used and variables[value] not in names:
                names[variables[value]] = name
                used.add(name)
    lead = {variables[param] for param in function.params}
    tried: dict[str, int] = {}
    exact = [variable for variable in order if variable in lead or variable.user_names]
    for variable in exact:
        if variable not in names and variable.wish not in used:
            used.add(variable.wish)
            names[variable] = variable.wish
    for variable in [*exact, *order]:
        if variable not in names:
            names[variable] = unique_name(variable.wish, used, tried)
            used.add(names[variable])
    return {value: names[variable] for value, variable in variables.items()}


def _ordered(
    function: Function, block: Block, variables: Mapping[Value, Variable]
) -> list[Variable]:
    """Returns the variables in the order in which they choose a name.

    The order is that of appearance. In a backward function the results come right after the
    parameters: the cotangent of the input is ``d_x``.
    """
    values: list[Value | None] = list(function.params)
    if function.role in ("backward", "gradient"):
        ends = [statement for statement in block if isinstance(statement, Return)]
        values += [value_in(tree) for statement in ends for tree in statement.values]
    values += [value for statement in walk(block) for value in statement.written]
    ordered = [variables[value] for value in values if value is not None]
    return list(dict.fromkeys(ordered))


def reserved_words(block: Block) -> set[str]:
    """Returns the names in templates that no variable may have: ``np``, ``range``.

    A name bound by a comprehension is free, unless the comprehension reads a value inside.
    """
    words: set[str] = set()
    for statement in walk(block):
        for tree in statement.trees:
            words |= _texts(tree)
    return words


def _texts(tree: ast.AST) -> set[str]:
    nodes = list(nodes_in(tree))
    names = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.id, Value)}
    for node in nodes:
        if isinstance(node, COMPREHENSIONS) and not _inner_values(node):
            for generator in node.generators:
                names -= {n.id for n in nodes_in(generator.target) if isinstance(n, ast.Name)}
    return names


def _inner_values(node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> bool:
    """True if a comprehension reads a value outside its first iterable."""
    return _count_values(node) > _count_values(node.generators[0].iter)


def _count_values(tree: ast.AST) -> int:
    return sum(value_in(node) is not None for node in nodes_in(tree))
