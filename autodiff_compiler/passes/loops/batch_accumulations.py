"""Totals after the loop: a sum over steps of products is one product of what the steps collect.

The cotangent of a matrix that every step multiplies by is ``d_w = d_w + h.T @ d_u``, step by step.
Stacked, the factors of all steps give it in one product after the loop, ``H.T @ D_u``; likewise a
sum over the rows of what is stacked anyway. The terms are the same, added in another order. It is
done where the number of steps is known, and the factors are small beside the matrix.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%h: list[f32[1,8]], %u: list[f32[1,8]], %z: f32[8,8]) -> (f32[8,8]) {
...   %w: f32[8,8], %n: int = for %p, %k in (0, 9, 1) carry (%c: f32[8,8] = %z) \\
... read (%i: f32[1,8] = %h, %j: f32[1,8] = %u) {
...     %t: f32[8,1] = swap_last_axes %i
...     %m: f32[8,8] = matmul %t, %j
...     %s: f32[8,8] = add %c, %m
...     yield carry %s
...   }
...   return %w
... }
... ''')
>>> from autodiff_compiler.passes.simplify.dce import dce
>>> print(print_function(dce(batch_accumulations(before))), end='')
func @f(%h: list[f32[1,8]], %u: list[f32[1,8]], %z: f32[8,8]) -> (f32[8,8]) {
  %i_tape: list[f32[1,8]], %j_tape: list[f32[1,8]], %n: int = for %p, %k in (0, 9, 1) \
read (%i: f32[1,8] = %h, %j: f32[1,8] = %u) {
    yield stack %i, %j
  }
  %i_tape_stacked: f32[9,1,8] = stack_rows %i_tape {length=9}
  %i_rows: f32[9,8] = reshape %i_tape_stacked {shape=(9, 8)}
  %j_tape_stacked: f32[9,1,8] = stack_rows %j_tape {length=9}
  %j_rows: f32[9,8] = reshape %j_tape_stacked {shape=(9, 8)}
  %i_rows_t: f32[8,9] = swap_last_axes %i_rows
  %i_rows_t_matmul_j_rows: f32[8,8] = matmul %i_rows_t, %j_rows
  %w: f32[8,8] = add %z, %i_rows_t_matmul_j_rows
  return %w
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autodiff_compiler.analysis.trip_count import is_worth_stacking, trip_count
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value, type_of
from autodiff_compiler.ir.rewrite import fresh, use_counts
from autodiff_compiler.ir.types import ArrayType, ListType
from autodiff_compiler.operators.core.structure import reshape, sum_, swap_last_axes
from autodiff_compiler.operators.linalg.products import matmul
from autodiff_compiler.operators.lists.loop_tapes import stack_rows
from autodiff_compiler.passes.core.traversal import rewrite_named


def batch_accumulations(function: Function) -> Function:
    """Takes sums of products out of loops."""

    def visit(op: Op) -> Sequence[Op]:
        return _Loop(op).rewritten() if trip_count(Loop(op)) else (op,)

    return rewrite_named(function, ("for",), visit)


class _Loop:
    """One loop whose carries are looked at: which are totals, and of what."""

    def __init__(self, op: Op):
        self.op, self.loop = op, Loop(op)
        self.steps = trip_count(self.loop) or 0
        body = self.loop.body
        self.makers = {result: inner for inner in body.ops for result in inner.results}
        self.uses = use_counts(body)
        self.inside = {*body.params, *self.makers}
        self.tapes: dict[Value, Value] = {}
        self.arrays = {
            param: source
            for param, source in zip(self.loop.read_params, self.loop.reads)
            if isinstance(source, Value)
            and isinstance(source.type, ArrayType)
            and source.type.is_static
            and source.type.shape[:1] == (self.steps,)  # type: ignore[index]
        }

    def rewritten(self) -> Sequence[Op]:
        """What stands for the loop: the loop, collecting more, and totals of what it collects."""
        found = [(place, self.term(place)) for place in range(self.loop.carries)]
        products = {place: op for place, op in found if op is not None and op.name == "matmul"}
        wanted = {place: self.factors(op) for place, op in products.items()}
        collected = {v for pair in wanted.values() if pair for v in pair}
        collected |= {v for v in self.loop.stack_yields if isinstance(v, Value)}
        collected |= set(self.arrays)
        for place, op in found:
            if op is not None and op.name == "sum" and self.rows(op) in collected:
                wanted[place] = (self.rows(op),)  # type: ignore[assignment]
        wanted = {place: values for place, values in wanted.items() if values}
        if not wanted:
            return (self.op,)
        builder, results = Builder(), list(self.op.results)
        for place, values in sorted(wanted.items()):
            old, maker = results[place], self.makers[self.loop.carry_yields[place]]  # type: ignore[index]
            results[place] = fresh(old)
            with builder, builder.at(maker.span, maker.role):
                stacks = [self.all_rows(value) for value in values]  # type: ignore[union-attr]
                if len(stacks) == 2:
                    total = matmul(swap_last_axes(stacks[0]), stacks[1])
                else:
                    total = sum_(stacks[0], axes=(0,), keepdims=False)
                builder.apply(self.makers[self.loop.carry_yields[place]].opdef,  # type: ignore[index]
                              (self.loop.inits[place], total), {})  # fmt: skip
            builder.ops[-1] = replace(builder.ops[-1], results=(old,))
        return (self.collecting(results), *builder.ops)

    def term(self, place: int) -> Op | None:
        """What makes that which an iteration adds to a carry, if adding is all it does with it."""
        param, after = self.loop.carry_params[place], self.loop.carry_yields[place]
        maker = self.makers.get(after) if isinstance(after, Value) else None
        if maker is None or maker.name != "add" or param not in maker.operands:
            return None
        term = maker.operands[maker.operands[0] is param]
        made = self.makers.get(term) if isinstance(term, Value) else None
        alone = all(self.uses.get(v) == 1 for v in (param, after, term) if isinstance(v, Value))
        fits = made is not None and alone and type_of(term) == param.type
        return made if fits and not self.tested(place) else None

    def tested(self, place: int) -> bool:
        return self.loop.until is self.loop.carry_yields[place]

    def factors(self, product: Op) -> tuple[Value, Value] | None:
        """Rows and rows, where ``product`` is rows.T @ rows of this iteration."""
        left, right = product.operands
        turned = self.makers.get(left) if isinstance(left, Value) else None
        if turned is None or turned.name not in ("swap_last_axes", "transpose"):
            return None
        pair = (turned.operands[0], right)
        shapes = [self.matrix(operand) for operand in pair]
        if None in shapes:
            return None
        (rows, inner), (_, columns) = shapes  # type: ignore[misc]
        return pair if is_worth_stacking(rows, inner, columns) else None  # type: ignore[return-value]

    def rows(self, op: Op) -> AnyOperand:
        """The matrix whose rows ``op`` sums over."""
        over = op.attrs["axes"] == (0,) and not op.attrs["keepdims"]
        return op.operands[0] if over and self.matrix(op.operands[0]) else None

    def matrix(self, operand: AnyOperand) -> tuple | None:
        """The shape of a matrix that is another one in each iteration."""
        type_ = type_of(operand)
        if operand not in self.inside or not isinstance(type_, ArrayType) or not type_.is_static:
            return None
        return type_.shape if type_.ndim == 2 else None

    def all_rows(self, value: Value) -> Value:
        """The rows of every iteration, one below the other."""
        rows, width = value.type.shape  # type: ignore[attr-defined]
        source = self.arrays.get(value)
        if source is None:
            source = stack_rows(self.tape(value), length=self.steps)
        flat = reshape(source, shape=(self.steps * rows, width))
        flat.name = f"{value.name}_rows" if value.name else "rows"
        return flat

    def tape(self, value: Value) -> Value:
        """The list that collects ``value``."""
        for item, stacked in zip(self.loop.stack_yields, self.loop.stacked):
            if item is value:
                return stacked
        if value not in self.tapes:
            name = f"{value.name}_tape" if value.name else "tape"
            self.tapes[value] = Value(ListType(value.type), name)
        return self.tapes[value]

    def collecting(self, results: Sequence[Value]) -> Op:
        """The loop with stack ports for what is to be collected."""
        body, more = self.loop.body, (*self.tapes,)
        body = Region(body.params, body.ops, (*body.yields, *more))
        results = (*results[:-1], *self.tapes.values(), results[-1])
        return replace(self.op, regions=(body,), results=results)
