"""Coalesces the values that can share a variable.

A loop's carry and its new value share a variable if their live ranges do not intersect; so do the
result of an ``if`` and the results of its branches. The copy between them is then not printed. Two
different names of the user's are never merged: the user's own assignment is printed instead.
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

#: The kinds of copies in the order in which their variables are merged.
KINDS = ("yield", "init", "branch")
UNNAMED = "value"


@dataclass(eq=False)
class Variable:
    """Values under one name.

    range            the live range.
    user_names       the names that the user gave, the earliest first.
    generated_names  the names made up by operators, the earliest first.
    """

    values: list[Value]
    range: int
    user_names: list[str] = field(default_factory=list)
    generated_names: list[str] = field(default_factory=list)

    @property
    def wish(self) -> str:
        return next(iter([*self.user_names, *self.generated_names]), UNNAMED)


def coalesce_variables(
    function: Function, block: Block, alias: Mapping[Value, Value]
) -> dict[Value, Variable]:
    """Returns the variable of every value in ``block``."""
    ranges = live_ranges((Step((), function.params), *flow_of(block)))
    variables = {v: Variable([v], mask) for v, mask in ranges.items() if isinstance(v, Value)}
    for value in [*variables, *alias]:
        variable = variables.get(alias.get(value, value))
        # The result of a loop has the name of its carry.
        known = value in alias and variable is not None and variable.user_names
        if variable is not None and value.name and not known:
            is_given = value.has_user_name or value in function.params
            (variable.user_names if is_given else variable.generated_names).append(
                as_identifier(value.name)
            )
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
    """Merges the variables of ``target`` and ``source`` if that is possible."""
    if source is None:
        return
    left, right = variables[target], variables[source]
    if left is right or left.range & right.range:
        return
    if len({*left.user_names, *right.user_names}) > 1:
        return
    if kind != "yield" and right.user_names and right.wish != left.wish:
        return
    left.range |= right.range
    left.values += right.values
    left.user_names += right.user_names
    left.generated_names += right.generated_names
    for value in right.values:
        variables[value] = left


def remaining_copies(block: Block, variables: Mapping[Value, Variable]) -> set[Value]:
    """Returns the values that are still copied to another variable."""
    return {
        source
        for statement in walk(block)
        if isinstance(statement, ParallelAssign)
        for target, tree in statement.pairs
        if (source := value_in(tree)) is not None and variables[source] is not variables[target]
    }
