"""Pattern rewriting: rules, and the walk that applies them up to a fixed point.

A rule applies where its function returns a replacement of exactly the type of the result. The walk
visits the replacement too, so that one rule can match what another one made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from autodiff_compiler.cost_model import Costs, costs
from autodiff_compiler.errors import CompileError
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Value, type_of
from autodiff_compiler.ir.rewrite import substitute_op, use_counts
from autodiff_compiler.ir.types import INT, ArrayType, Type, is_floating
from autodiff_compiler.passes.core.traversal import rewrite_region, with_body

#: The name of a table, the key that was looked up, and the answer.
_Query: TypeAlias = tuple[str, Any, Any]


class _RecordedQueries:
    """A table that records its queries with their answers."""

    def __init__(self, name: str, table: Mapping[Any, Any], queries: list[_Query]):
        self.name, self.table, self.queries = name, table, queries

    def get(self, key: Any, default: Any = None, /) -> Any:
        answer = self.table.get(key)
        self.queries.append((self.name, key, answer))
        return default if answer is None else answer


#: A table of facts about values.
Facts: TypeAlias = Mapping[Any, Any] | _RecordedQueries
_NO_FACTS: Mapping[Any, Any] = {}


class Match:
    """An operation that a rule may match, with the facts that the rule may query.

    makers           the operation that made each value
    uses             how often each value is read
    safe_magnitude   the values known to be neither tiny nor huge
    partial_sums     the sums over some axes of each value
    """

    def __init__(
        self,
        op: Op,
        makers: Facts,
        uses: Facts,
        safe_magnitude: Facts = _NO_FACTS,
        partial_sums: Facts = _NO_FACTS,
    ):
        self.op, self.makers, self.uses = op, makers, uses
        self.safe_magnitude, self.partial_sums = safe_magnitude, partial_sums

    @property
    def operands(self) -> tuple[Any, ...]:
        return self.op.operands

    def made_by(self, operand: AnyOperand, name: str) -> Op | None:
        """Returns the operation ``name`` that made ``operand``, or None if another one did."""
        maker = self.makers.get(operand) if isinstance(operand, Value) else None
        return maker if maker is not None and maker.name == name else None

    def argument_of(self, operand: AnyOperand, name: str) -> Any:
        """Returns x if ``operand`` is ``name(x, ...)``, else Ellipsis."""
        maker = self.made_by(operand, name)
        return ... if maker is None else maker.operands[0]

    def without_sign(self, operand: AnyOperand) -> Any:
        """Returns x if ``operand`` is ``-x`` and the result may carry the sign, else Ellipsis."""
        inner = self.argument_of(operand, "neg")
        return inner if inner is ... or may_move_sign(inner, self.op.result.type) else ...

    def untransposed(self, operand: AnyOperand) -> Any:
        """Returns the matrix that ``operand`` is the transpose of, else Ellipsis."""
        swapped, maker = (
            self.argument_of(operand, "swap_last_axes"),
            self.made_by(operand, "transpose"),
        )
        if maker is not None and tuple(maker.attrs["perm"]) == (1, 0):
            return maker.operands[0]
        return swapped if getattr(type_of(operand), "ndim", None) == 2 else ...

    def fill_value(self, operand: AnyOperand) -> Any:
        """Returns the number that fills an array made by ``full`` or ``full_like``, else None."""
        maker = self.made_by(operand, "full") or self.made_by(operand, "full_like")
        return None if maker is None else maker.attrs["value"]

    def has_safe_magnitude(self, operand: AnyOperand) -> bool:
        """True if a factor is known to be neither tiny nor huge, as a literal is."""
        number = not isinstance(operand, Value) or operand.type == INT
        return number or self.safe_magnitude.get(operand) is not None


def may_move_sign(operand: AnyOperand, result: Type) -> bool:
    """True if negating ``operand`` and negating ``result`` are the same.

    They differ for integers narrower than the result: ``-x`` is 255 if x is the byte 1.
    """
    type_ = type_of(operand)
    number = not isinstance(type_, ArrayType)
    alike = getattr(type_, "dtype", type_) == getattr(result, "dtype", result)
    return is_floating(type_) or alike or number and is_floating(result)


Rewrite = Callable[[Match], Any]


@dataclass(frozen=True)
class Rule:
    """A rewrite rule: ``rewrite`` returns the replacement of an operation ``op``, or None."""

    name: str
    op: str
    rewrite: Rewrite
    fast_only: bool = False


class RuleSet:
    """Rewrite rules by the operation that they match.

    A rule depends on nothing but its match and the thresholds. Where no rule applies, the set
    records the queries of all rules. It tries none of them again while the answers stay the same:
    from round to round most operations do not change.
    """

    def __init__(self, rules: Iterable[Rule]):
        self.rules: dict[str, list[Rule]] = {}
        for rule in rules:
            self.rules.setdefault(rule.op, []).append(rule)
        self.failed_queries: WeakKeyDictionary[Op, tuple[Costs, list[_Query]]] = WeakKeyDictionary()

    def rewrite(
        self,
        function: Function,
        on_hit: Callable[[Rule, Op], None] = lambda rule, op: None,
        safe_magnitude: Mapping[Any, Any] = _NO_FACTS,
        partial_sums: Mapping[Any, Any] = _NO_FACTS,
    ) -> Function:
        """Applies the rules to ``function`` up to the fixed point where none matches.

        Calls ``on_hit`` with each rule that applied and the operation that it replaced.
        """
        if self.rules.keys().isdisjoint(function.op_names):
            return function
        facts = {
            "uses": use_counts(function.body),
            "safe_magnitude": safe_magnitude,
            "partial_sums": partial_sums,
        }
        rewriter = _Rewriter(self, on_hit, facts)
        return with_body(function, rewrite_region(function.body, rewriter.mapping, rewriter.visit))


class _Rewriter:
    """The application of a rule set to a function."""

    def __init__(
        self,
        rule_set: RuleSet,
        on_hit: Callable[[Rule, Op], None],
        facts: Mapping[str, Mapping[Any, Any]],
    ):
        self.rule_set, self.on_hit, self.costs = rule_set, on_hit, costs()
        self.mapping: dict[Value, AnyOperand] = {}
        self.makers: dict[Value, Op] = {}
        self.facts: Mapping[str, Mapping[Any, Any]] = {"makers": self.makers, **facts}
        self.queries: list[_Query] = []
        self.recorded = {
            name: _RecordedQueries(name, table, self.queries) for name, table in self.facts.items()
        }

    def visit(self, op: Op) -> Sequence[Op]:
        new = self.rewritten(op) if op.name in self.rule_set.rules else None
        if new is not None:
            # Further rules may match the new operations.
            return [k for each in new for k in self.visit(substitute_op(each, self.mapping))]
        for result in op.results:
            self.makers[result] = op
        return (op,)

    def rewritten(self, op: Op) -> Sequence[Op] | None:
        """Returns the replacement of ``op`` by the first rule that applies, or None."""
        if self.fails_again(op):
            return None
        self.queries.clear()
        match, builder = Match(op, **self.recorded), Builder()
        with builder, builder.at(op.span, op.role):
            for rule in self.rule_set.rules[op.name]:
                new = self.apply(rule, match, builder)
                if new is not None:
                    self.on_hit(rule, op)
                    return new
        self.rule_set.failed_queries[op] = self.costs, list(self.queries)
        return None

    def fails_again(self, op: Op) -> bool:
        """True if no rule applied to ``op`` before and every query has the same answer still."""
        before = self.rule_set.failed_queries.get(op)
        return (
            before is not None
            and before[0] is self.costs
            and all([self.facts[name].get(key) == answer for name, key, answer in before[1]])
        )

    def apply(self, rule: Rule, match: Match, builder: Builder) -> Sequence[Op] | None:
        """Returns the operations that replace the match, or None if the rule does not apply.

        The sequence is empty where an existing value replaces the result.
        """
        op, ops = match.op, builder.ops
        ops.clear()
        try:
            replacement = rule.rewrite(match)
        except CompileError:
            return None  # the rewritten form is not for these dtypes
        if replacement is None or type_of(replacement) != op.result.type:
            return None
        if ops and ops[-1].results == (replacement,):
            # The new operation defines the old value, name and all.
            return [*ops[:-1], replace(ops[-1], results=op.results)]
        self.mapping[op.result] = replacement
        return ops
