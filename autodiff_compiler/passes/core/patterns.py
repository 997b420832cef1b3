"""What tables of rewrites share: a row, what it may ask, and the walk that applies rows.

A row applies where its function returns a replacement of the very same type. The replacement is
looked at anew, so that rows build on each other.
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

#: The table that was asked, what for, and the answer.
_Question: TypeAlias = tuple[str, Any, Any]


class _RecordedQueries:
    """A table that notes what it is asked, and what it answers."""

    def __init__(self, name: str, table: Mapping[Any, Any], noted: list[_Question]):
        self.name, self.table, self.noted = name, table, noted

    def get(self, key: Any, default: Any = None, /) -> Any:
        found = self.table.get(key)
        self.noted.append((self.name, key, found))
        return default if found is None else found


#: What is known of values.
Known: TypeAlias = Mapping[Any, Any] | _RecordedQueries
_NOTHING: Mapping[Any, Any] = {}


class Match:
    """An operation as a row sees it: it may ask what made an operand, how often one is read, and
    what else a table is applied with: which values are ``magnitude``, which ``sums`` of one there
    are."""

    def __init__(
        self,
        op: Op,
        makers: Known,
        uses: Known,
        safe_magnitude: Known = _NOTHING,
        sums: Known = _NOTHING,
    ):
        self.op, self.makers, self.uses = op, makers, uses
        self.safe_magnitude, self.sums = safe_magnitude, sums

    @property
    def operands(self) -> tuple[Any, ...]:
        return self.op.operands

    def made_by(self, operand: AnyOperand, name: str) -> Op | None:
        """The operation ``name`` that made ``operand``, if it did."""
        maker = self.makers.get(operand) if isinstance(operand, Value) else None
        return maker if maker is not None and maker.name == name else None

    def inner(self, operand: AnyOperand, name: str) -> Any:
        """What ``name`` was applied to to make ``operand``; Ellipsis where it did not."""
        maker = self.made_by(operand, name)
        return ... if maker is None else maker.operands[0]

    def positive(self, operand: AnyOperand) -> Any:
        """What ``operand`` is the negative of, if the result may have the sign in its place;
        Ellipsis where it is none, or may not."""
        inner = self.inner(operand, "neg")
        return inner if inner is ... or signs_move(inner, self.op.result.type) else ...

    def turned(self, operand: AnyOperand) -> Any:
        """The matrix that ``operand`` is the transpose of; Ellipsis where it is none."""
        swapped, maker = self.inner(operand, "swap_last_axes"), self.made_by(operand, "transpose")
        if maker is not None and tuple(maker.attrs["perm"]) == (1, 0):
            return maker.operands[0]
        return swapped if getattr(type_of(operand), "ndim", None) == 2 else ...

    def filled(self, operand: AnyOperand) -> Any:
        """The number that an array made by ``full`` is filled with, or None."""
        maker = self.made_by(operand, "full") or self.made_by(operand, "full_like")
        return None if maker is None else maker.attrs["value"]

    def has_safe_magnitude(self, operand: AnyOperand) -> bool:
        """Whether a factor is known to be neither tiny nor huge, as numbers in a text are."""
        number = not isinstance(operand, Value) or operand.type == INT
        return number or self.safe_magnitude.get(operand) is not None


def signs_move(operand: AnyOperand, result: Type) -> bool:
    """Whether a sign of ``operand`` may as well be one of ``result``: not where integers are
    narrower than it, as ``-x`` is 255 where a byte x is 1."""
    type_ = type_of(operand)
    number = not isinstance(type_, ArrayType)
    alike = getattr(type_, "dtype", type_) == getattr(result, "dtype", result)
    return is_floating(type_) or alike or number and is_floating(result)


Rewrite = Callable[[Match], Any]


@dataclass(frozen=True)
class Rule:
    """``rewrite`` returns what stands for an operation called ``op``, or None."""

    name: str
    op: str
    rewrite: Rewrite
    fast_only: bool = False


class RuleSet:
    """Rows, by the operation that they are for.

    A row knows what its view tells it and the thresholds, and no more. So where none applies it is
    noted what they asked, and as long as the answers are the same, they are not tried again: round
    after round, most operations come back as they were.
    """

    def __init__(self, rows: Iterable[Rule]):
        self.rows: dict[str, list[Rule]] = {}
        for row in rows:
            self.rows.setdefault(row.op, []).append(row)
        self.in_vain: WeakKeyDictionary[Op, tuple[Costs, list[_Question]]] = WeakKeyDictionary()

    def applied(
        self,
        function: Function,
        hit: Callable[[Rule, Op], None] = lambda row, op: None,
        safe_magnitude: Mapping[Any, Any] = _NOTHING,
        sums: Mapping[Any, Any] = _NOTHING,
    ) -> Function:
        """``function`` after the rows were applied until none applies; ``hit`` is told of each that
        did, and where. The rest is what a view tells besides."""
        if self.rows.keys().isdisjoint(function.op_names):
            return function
        known = {"uses": use_counts(function.body), "safe_magnitude": safe_magnitude, "sums": sums}
        rewriter = _Rewriter(self, hit, known)
        return with_body(function, rewrite_region(function.body, rewriter.mapping, rewriter.visit))


class _Rewriter:
    def __init__(
        self,
        table: RuleSet,
        hit: Callable[[Rule, Op], None],
        known: Mapping[str, Mapping[Any, Any]],
    ):
        self.table, self.hit, self.costs = table, hit, costs()
        self.mapping: dict[Value, AnyOperand] = {}
        self.makers: dict[Value, Op] = {}
        self.known = {"makers": self.makers, **known}
        self.noted: list[_Question] = []
        self.asked = {
            key: _RecordedQueries(key, each, self.noted) for key, each in self.known.items()
        }

    def visit(self, op: Op) -> Sequence[Op]:
        new = self.rewritten(op) if op.name in self.table.rows else None
        if new is not None:
            # One of the new operations may be dropped in its turn.
            return [k for each in new for k in self.visit(substitute_op(each, self.mapping))]
        for result in op.results:
            self.makers[result] = op
        return (op,)

    def rewritten(self, op: Op) -> Sequence[Op] | None:
        """What the first row that applies makes of ``op``."""
        before = self.table.in_vain.get(op)
        if (
            before is not None
            and before[0] is self.costs
            and all([self.known[name].get(key) == answer for name, key, answer in before[1]])
        ):
            return None
        self.noted.clear()
        view, builder = Match(op, **self.asked), Builder()
        with builder, builder.at(op.span, op.role):
            for row in self.table.rows[op.name]:
                new = self.apply(row, view, builder)
                if new is not None:
                    self.hit(row, op)
                    return new
        self.table.in_vain[op] = self.costs, list(self.noted)
        return None

    def apply(self, row: Rule, view: Match, builder: Builder) -> Sequence[Op] | None:
        """The operations that stand for that of ``view`` (none where a value at hand does), or
        None."""
        op, ops = view.op, builder.ops
        ops.clear()
        try:
            found = row.rewrite(view)
        except CompileError:
            return None  # the rewritten form is not for these dtypes
        if found is None or type_of(found) != op.result.type:
            return None
        if ops and ops[-1].results == (found,):
            # The new operation gives the old value, name and all.
            return [*ops[:-1], replace(ops[-1], results=op.results)]
        self.mapping[op.result] = found
        return ops
