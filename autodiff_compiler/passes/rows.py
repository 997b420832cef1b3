"""What tables of rewrites share: a row, what it may ask, and the walk that applies rows.

A row applies where its function returns a replacement of the very same type. The replacement is
looked at anew, so that rows build on each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from autodiff_compiler.errors import CompileError
from autodiff_compiler.ir.build import Builder
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Value, type_of
from autodiff_compiler.ir.rewrite import substitute_op, users
from autodiff_compiler.ir.types import ArrayType, Type, is_floating
from autodiff_compiler.passes.sweep import sweep, with_body


class View:
    """An operation as a row sees it: it may ask what made an operand."""

    def __init__(self, op: Op, makers: dict[Value, Op], uses: Mapping[Value, int]):
        self.op, self.makers, self.uses = op, makers, uses

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


def signs_move(operand: AnyOperand, result: Type) -> bool:
    """Whether a sign of ``operand`` may as well be one of ``result``: not where integers are
    narrower than it, as ``-x`` is 255 where a byte x is 1."""
    type_ = type_of(operand)
    number = not isinstance(type_, ArrayType)
    alike = getattr(type_, "dtype", type_) == getattr(result, "dtype", result)
    return is_floating(type_) or alike or number and is_floating(result)


Rewrite = Callable[[View], Any]


@dataclass(frozen=True)
class Row:
    """``rewrite`` returns what stands for an operation called ``op``, or None."""

    name: str
    op: str
    rewrite: Rewrite
    fast_only: bool = False


def apply_rows(function: Function, rows: Sequence[Row], hit: Callable[[Row, Op], None]) -> Function:
    """Applies the rows until none applies, and tells ``hit`` of each that did, and where."""
    table: dict[str, list[Row]] = {}
    for row in rows:
        table.setdefault(row.op, []).append(row)
    if table.keys().isdisjoint(function.op_names):
        return function
    rewriter = _Rewriter(table, hit, users(function.body))
    return with_body(function, sweep(function.body, rewriter.mapping, rewriter.visit))


class _Rewriter:
    def __init__(
        self,
        table: Mapping[str, Sequence[Row]],
        hit: Callable[[Row, Op], None],
        uses: Mapping[Value, int],
    ):
        self.table, self.hit, self.uses = table, hit, uses
        self.mapping: dict[Value, AnyOperand] = {}
        self.makers: dict[Value, Op] = {}

    def visit(self, op: Op) -> Sequence[Op]:
        new = self.rewritten(op) if op.name in self.table else None
        if new is not None:
            # One of the new operations may be dropped in its turn.
            return [k for each in new for k in self.visit(substitute_op(each, self.mapping))]
        for result in op.results:
            self.makers[result] = op
        return (op,)

    def rewritten(self, op: Op) -> Sequence[Op] | None:
        """What the first row that applies makes of ``op``."""
        view, builder = View(op, self.makers, self.uses), Builder()
        with builder, builder.at(op.span, op.about):
            for row in self.table[op.name]:
                new = self.apply(row, view, builder)
                if new is not None:
                    self.hit(row, op)
                    return new
        return None

    def apply(self, row: Row, view: View, builder: Builder) -> Sequence[Op] | None:
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
