"""Which values share a variable, and what every variable is called.

A loop's carry and what it is given, or the result of an ``if`` and what its branches give, share
one variable where their live ranges do not meet; the assignment between them then vanishes. Two
different names of the user are never made one: his own assignment is printed instead.
"""

from __future__ import annotations

import ast
import keyword
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from autodiff_compiler.analysis.liveness import Step, live_ranges
from autodiff_compiler.emit.statements import (
    Block,
    Moves,
    Return,
    flow_of,
    is_value,
    targets_of,
    trees_of,
    value_in,
    walk,
)
from autodiff_compiler.ir.nodes import Function, Value
from autodiff_compiler.trees import nodes_in

#: The order in which assignments are made to vanish.
KINDS = ("yield", "init", "branch")
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
UNNAMED = "value"


@dataclass(eq=False)
class Variable:
    """Values under one name. ``range`` is their live range, ``wishes`` what they want to be called:
    the user's names before made-up ones, the earliest first."""

    values: list[Value]
    range: int
    given: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)

    @property
    def wish(self) -> str:
        return next(iter([*self.given, *self.made]), UNNAMED)


def share(function: Function, block: Block, alias: Mapping[Value, Value]) -> dict[Value, Variable]:
    """The variable of every value in ``block``."""
    ranges = live_ranges((Step((), function.params), *flow_of(block)))
    variables = {v: Variable([v], mask) for v, mask in ranges.items() if isinstance(v, Value)}
    for value in [*variables, *alias]:
        variable = variables.get(alias.get(value, value))
        # What a loop leaves is called as the variable that went round in it.
        known = value in alias and variable is not None and variable.given
        if variable is not None and value.name and not known:
            given = value.given or value in function.params
            (variable.given if given else variable.made).append(clean(value.name))
    moves = [statement for statement in walk(block) if isinstance(statement, Moves)]
    for kind in KINDS:
        for statement in moves:
            if statement.kind == kind:
                for target, tree in statement.pairs:
                    _unite(variables, target, value_in(tree), kind)
    return variables


def _unite(
    variables: dict[Value, Variable], target: Value, source: Value | None, kind: str
) -> None:
    """Makes one variable of ``target`` and ``source`` where that is possible."""
    if source is None:
        return
    left, right = variables[target], variables[source]
    if left is right or left.range & right.range:
        return
    if len({*left.given, *right.given}) > 1:
        return
    if kind != "yield" and right.given and right.wish != left.wish:
        return
    left.range |= right.range
    left.values += right.values
    left.given += right.given
    left.made += right.made
    for value in right.values:
        variables[value] = left


def unshared(block: Block, variables: Mapping[Value, Variable]) -> set[Value]:
    """The values that an assignment still copies to another variable."""
    return {
        source
        for statement in walk(block)
        if isinstance(statement, Moves)
        for target, tree in statement.pairs
        if (source := value_in(tree)) is not None and variables[source] is not variables[target]
    }


def choose(
    function: Function,
    block: Block,
    variables: Mapping[Value, Variable],
    reserved: Iterable[str],
) -> dict[Value, str]:
    """The name of every value: parameters first, then the user's names, then made-up ones."""
    taken = {"_", *reserved}
    order = _ordered(function, block, variables)
    names: dict[Variable, str] = {}
    lead = {variables[param] for param in function.params}
    tried: dict[str, int] = {}
    exact = [variable for variable in order if variable in lead or variable.given]
    for variable in exact:
        if variable.wish not in taken:
            taken.add(variable.wish)
            names[variable] = variable.wish
    for variable in [*exact, *order]:
        if variable not in names:
            names[variable] = distinct(variable.wish, taken, tried)
            taken.add(names[variable])
    return {value: names[variable] for value, variable in variables.items()}


def _ordered(
    function: Function, block: Block, variables: Mapping[Value, Variable]
) -> list[Variable]:
    """Variables in the order in which they choose: as they appear, but what a backward function
    returns comes right after the parameters (the input's cotangent is ``d_x``)."""
    values: list[Value | None] = list(function.params)
    if function.role in ("backward", "gradient"):
        ends = [statement for statement in block if isinstance(statement, Return)]
        values += [value_in(tree) for statement in ends for tree in statement.values]
    values += [value for statement in walk(block) for value in targets_of(statement)]
    found = [variables[value] for value in values if value is not None]
    return list(dict.fromkeys(found))


def clean(name: str) -> str:
    """``name`` as Python reads it, or made an identifier; ``_`` stands for what nobody reads, and
    a count that backward reads is called ``i``.

    >>> clean("lambda"), clean("2 x"), clean("h"), clean("_")
    ('lambda_', '_2_x', 'h', 'i')
    """
    if not name.strip("_"):
        return "i"
    name = unicodedata.normalize("NFKC", name)
    if not name.isidentifier():
        name = "".join(char if f"_{char}".isidentifier() else "_" for char in name)
        name = name if name.isidentifier() else f"_{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def distinct(wish: str, taken: set[str], tried: dict[str, int]) -> str:
    """``wish``, or ``wish_1``, ``wish_2`` and so on: the first that is free. ``tried`` knows where
    the search for such a name ended before: what was taken stays taken."""
    name, number = wish, 0
    if name in taken:
        number = tried.get(wish, 1)
        while (name := f"{wish}_{number}") in taken:
            number += 1
    tried[wish] = number + 1
    return name


def texts(block: Block) -> set[str]:
    """The names that stand in templates as text, which no variable may take: ``np``, ``range``.

    What a comprehension calls its items is its own affair, unless a value is read inside of it.
    """
    found: set[str] = set()
    for statement in walk(block):
        for tree in trees_of(statement):
            found |= _texts(tree)
    return found


def _texts(tree: ast.AST) -> set[str]:
    nodes = list(nodes_in(tree))
    found = {n.id for n in nodes if isinstance(n, ast.Name) and not is_value(n)}
    for node in nodes:
        if isinstance(node, COMPREHENSIONS) and not _inner_values(node):
            for generator in node.generators:
                found -= {n.id for n in nodes_in(generator.target) if isinstance(n, ast.Name)}
    return found


def _inner_values(node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> bool:
    """Whether a value is read anywhere but in the iterable that is computed outside."""
    return _count_values(node) > _count_values(node.generators[0].iter)


def _count_values(tree: ast.AST) -> int:
    return sum(isinstance(node, ast.Name) and is_value(node) for node in nodes_in(tree))


__all__: Sequence[str] = ("Variable", "choose", "share", "unshared")
