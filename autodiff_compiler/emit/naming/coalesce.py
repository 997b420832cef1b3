"""Coalesces the values that can share a variable.

A loop's carry and what it is given, or the result of an ``if`` and what its branches give, share
one variable where their live ranges do not meet; the assignment between them then vanishes. Two
different names of the user are never made one: his own assignment is printed instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from autodiff_compiler.analysis.liveness import Step, live_ranges
from autodiff_compiler.emit.naming.identifiers import as_identifier
from autodiff_compiler.emit.statements.nodes import (
    Block,
    ParallelAssign,
    flow_of,
    value_in,
    walk,
)
from autodiff_compiler.ir.nodes import Function, Value

#: The order in which assignments are made to vanish.
KINDS = ("yield", "init", "branch")
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


def coalesce_variables(
    function: Function, block: Block, alias: Mapping[Value, Value]
) -> dict[Value, Variable]:
    """The variable of every value in ``block``."""
    ranges = live_ranges((Step((), function.params), *flow_of(block)))
    variables = {v: Variable([v], mask) for v, mask in ranges.items() if isinstance(v, Value)}
    for value in [*variables, *alias]:
        variable = variables.get(alias.get(value, value))
        # What a loop leaves is called as the variable that went round in it.
        known = value in alias and variable is not None and variable.given
        if variable is not None and value.name and not known:
            given = value.has_user_name or value in function.params
            (variable.given if given else variable.made).append(as_identifier(value.name))
    moves = [statement for statement in walk(block) if isinstance(statement, ParallelAssign)]
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


def remaining_copies(block: Block, variables: Mapping[Value, Variable]) -> set[Value]:
    """The values that an assignment still copies to another variable."""
    return {
        source
        for statement in walk(block)
        if isinstance(statement, ParallelAssign)
        for target, tree in statement.pairs
        if (source := value_in(tree)) is not None and variables[source] is not variables[target]
    }
