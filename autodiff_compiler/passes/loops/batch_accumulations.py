"""Loop fission: computes a sum of products over iterations as one product after the loop.

The cotangent of a matrix by which every iteration multiplies is ``d_w = d_w + h.T @ d_u``. Stacked,
the factors of all iterations give it in one product after the loop, ``H.T @ D_u``. The same holds
for a sum over the rows of a value that is stacked anyway. The terms are the same, added in another
order. The pass runs if the number of iterations is known, and the factors are small beside the
matrix.

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
  %product: f32[8,8] = matmul %i_rows_t, %j_rows
  %w: f32[8,8] = add %z, %product
  return %w
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from autodiff_compiler.analysis.trip_count import is_worth_stacking, trip_count
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.labels import composed
from autodiff_compiler.ir.nodes import (
    AnyOperand,
    Function,
    Loop,
    Op,
    Region,
    Value,
    array_type,
    expect_value,
    type_of,
)
from autodiff_compiler.ir.rewrite import fresh, producers_among, use_counts
from autodiff_compiler.ir.types import ArrayType, ListType
from autodiff_compiler.operators.core.structure import reshape, sum_, swap_last_axes
from autodiff_compiler.operators.linalg.products import matmul
from autodiff_compiler.operators.lists.loop_tapes import stack_rows
from autodiff_compiler.passes.core.traversal import rewrite_named


def batch_accumulations(function: Function) -> Function:
    """Moves sums of products out of the loops of ``function``."""

    def visit(op: Op) -> Sequence[Op]:
        return _LoopFission(op).rewritten() if trip_count(Loop(op)) else (op,)

    return rewrite_named(function, ("for",), visit)


@dataclass(frozen=True)
class _Accumulation:
    """A carry that only accumulates: ``add`` adds to it, ``term`` computes the summand.

    The stacks of ``factors`` over all iterations give the sum of all summands. They are a and b of
    ``a.T @ b``, or the rows that the summand adds up.
    """

    number: int
    add: Op
    term: Op
    factors: tuple[Value, ...]


class _LoopFission:
    """A loop whose accumulations become operations after it."""

    def __init__(self, op: Op):
        self.op, self.loop = op, Loop(op)
        self.steps = trip_count(self.loop) or 0
        body = self.loop.body
        self.makers = producers_among(body.ops)
        self.uses = use_counts(body)
        self.inside = {*body.params, *self.makers}
        self.tapes: dict[Value, Value] = {}
        self.arrays = {
            param: source
            for param, source in zip(self.loop.read_params, self.loop.reads)
            if isinstance(source, Value)
            and isinstance(source.type, ArrayType)
            and source.type.is_static
            and source.type.dims[:1] == (self.steps,)
        }

    def rewritten(self) -> Sequence[Op]:
        """Returns the loop, which stacks more values, and the operations after it."""
        accumulations = self.accumulations()
        if not accumulations:
            return (self.op,)
        builder, results = Builder(), list(self.op.results)
        for each in accumulations:
            old = results[each.number]
            results[each.number] = fresh(old)
            with builder, builder.at(each.add.span, each.add.role):
                total = self.total(each)
                builder.apply(each.add.opdef, (self.loop.inits[each.number], total), {})
            builder.ops[-1] = replace(builder.ops[-1], results=(old,))
        return (self.with_tapes(results), *builder.ops)

    def accumulations(self) -> list[_Accumulation]:
        """Returns the accumulations that one operation after the loop can compute."""
        candidates = [
            each for number in range(self.loop.carries) if (each := self.accumulation(number))
        ]
        products = [each for each in candidates if each.term.name == "matmul"]
        # A sum over rows is worth it only if these are stacked anyway.
        stacked: set[AnyOperand] = {factor for each in products for factor in each.factors}
        stacked.update(self.loop.stack_yields)
        stacked.update(self.arrays)
        return [each for each in candidates if each in products or each.factors[0] in stacked]

    def accumulation(self, number: int) -> _Accumulation | None:
        """Returns the accumulation of a carry, or None if the loop uses the carry otherwise."""
        param, after = self.loop.carry_params[number], self.loop.carry_yields[number]
        add = self.makers.get(after)
        if add is None or add.name != "add" or param not in add.operands:
            return None
        if self.loop.until is after:
            return None
        summand = add.operands[add.operands[0] is param]
        term = self.makers.get(summand)
        alone = all(self.uses.get(value) == 1 for value in (param, after, summand))
        if term is None or not alone or type_of(summand) != param.type:
            return None
        factors = self.factors_of(term)
        return _Accumulation(number, add, term, factors) if factors else None

    def factors_of(self, term: Op) -> tuple[Value, ...]:
        if term.name == "matmul":
            return self.product_factors(term)
        return self.summed_rows(term) if term.name == "sum" else ()

    def product_factors(self, product: Op) -> tuple[Value, ...]:
        """Returns a and b, if ``product`` is ``a.T @ b`` of this iteration and worth stacking."""
        transpose = self.makers.get(product.operands[0])
        if transpose is None or transpose.name not in ("swap_last_axes", "transpose"):
            return ()
        a, b = transpose.value_operand(0), product.operands[1]
        left, right = self.matrix_shape(a), self.matrix_shape(b)
        if left is None or right is None or not isinstance(b, Value):
            return ()
        (rows, inner), (_, columns) = left, right
        return (a, b) if is_worth_stacking(rows, inner, columns) else ()

    def summed_rows(self, total: Op) -> tuple[Value, ...]:
        """Returns the matrix of this iteration whose rows ``total`` adds up."""
        matrix, over_rows = total.operands[0], total.attrs["axes"] == (0,)
        if not over_rows or total.attrs["keepdims"] or not isinstance(matrix, Value):
            return ()
        return (matrix,) if self.matrix_shape(matrix) else ()

    def matrix_shape(self, operand: AnyOperand) -> tuple[int, ...] | None:
        """Returns the shape of a matrix that each iteration computes or reads."""
        type_ = type_of(operand)
        if operand not in self.inside or not isinstance(type_, ArrayType) or not type_.is_static:
            return None
        return type_.static_shape if type_.ndim == 2 else None

    def total(self, each: _Accumulation) -> Value:
        """Computes the sum of all summands from the stacks of their factors."""
        stacks = [self.all_rows(value) for value in each.factors]
        if len(stacks) == 2:
            return expect_value(matmul(swap_last_axes(stacks[0]), stacks[1]))
        return expect_value(sum_(stacks[0], axes=(0,), keepdims=False))

    def all_rows(self, value: Value) -> Value:
        """Returns the rows of all iterations, one below the other."""
        rows, width = array_type(value).static_shape
        source = self.arrays.get(value)
        if source is None:
            source = stack_rows(self.tape(value), length=self.steps)
        flat = expect_value(reshape(source, shape=(self.steps * rows, width)))
        flat.name = composed(value.name, "rows")
        return flat

    def tape(self, value: Value) -> Value:
        """Returns the list that collects ``value``."""
        for item, stacked in zip(self.loop.stack_yields, self.loop.stacked):
            if item is value:
                return stacked
        if value not in self.tapes:
            name = composed(value.name, "tape")
            self.tapes[value] = Value(ListType(value.type), name)
        return self.tapes[value]

    def with_tapes(self, results: Sequence[Value]) -> Op:
        """Returns the loop with stack ports for the new tapes."""
        body = self.loop.body
        body = Region(body.params, body.ops, (*body.yields, *self.tapes))
        results = (*results[:-1], *self.tapes.values(), results[-1])
        return replace(self.op, regions=(body,), results=results)
